"""Size and speed of the store's layout beside the defaults of DuckDB, Polars and pyarrow, in one run.

Usage: python benchmarks/store_layout.py [--gpus 256] [--hours 4] [--step 10] [--metrics 40]

The mix: a third counters, a third small integers, a third doubles of 3 decimals, a tenth of all constant;
times jitter by milliseconds. Every file is read back and compared value by value. Machines and their
load differ: read the ratios.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import workbench as wb
from workbench.model import frames
from workbench.model.batch import Batch
from workbench.readers.base import Match, Reader

START_US = 1_772_323_200_000_000
MADE: dict[str, pl.DataFrame] = {}


def synthetic(gpus: int, hours: float, step_s: int, metrics: int) -> pl.DataFrame:
    """Wide rows of a fleet, ordered by entity and time."""
    rng = np.random.default_rng(5)
    scrapes = int(hours * 3600 / step_s)
    ts = START_US + np.arange(scrapes) * step_s * 1_000_000 + rng.integers(-20, 20, (gpus, scrapes)) * 1000
    columns: dict[str, np.ndarray] = {}
    for number in range(metrics):
        constant = number % 10 == 9
        if number % 3 == 0:
            rate = 0 if constant else 10 ** rng.integers(1, 8)
            values = rng.integers(0, 2**40, (gpus, 1)) + np.cumsum(rng.poisson(rate, (gpus, scrapes)), axis=1)
            columns[f"c{number}_total"] = values.astype(np.int64)
        elif number % 3 == 1:
            walk = 50 + np.cumsum(rng.integers(-1, 2, (gpus, scrapes)), axis=1) * (0 if constant else 1)
            columns[f"DCGM_FI_{number}_state"] = walk.astype(np.float64)
        else:
            level = 400 + 0 if constant else 400 + 80 * rng.standard_normal((gpus, scrapes))
            columns[f"g{number}"] = np.round(np.broadcast_to(level, (gpus, scrapes)), 3).astype(np.float64)
    names = [f"cluster/node{g // 8:04d}/gpu:GPU-{g:08x}-0000-0000-0000-000000000000" for g in range(gpus)]
    frame = pl.DataFrame(
        {"entity": np.repeat(names, scrapes).tolist(), **{name: values.ravel() for name, values in columns.items()}}
    )
    stamps = pl.Series("ts", np.sort(ts, axis=1).ravel()).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    return frame.insert_column(0, stamps)


def as_batches(wide: pl.DataFrame, rows: int = 20_000) -> Iterator[Batch]:
    """The same samples as a reader hands them over, some scrapes at a time."""
    metrics = [name for name in wide.columns if name not in ("ts", "entity")]
    by_time = wide.sort("ts", "entity")
    for start in range(0, by_time.height, rows):
        part = by_time.slice(start, rows)
        entities = part["entity"].unique(maintain_order=True)
        number = pl.DataFrame({"entity": entities, "_who": np.arange(entities.len(), dtype=np.uint32)})
        who = part.join(number, on="entity", maintain_order="left")["_who"].to_numpy()
        parts = []
        for column, name in enumerate(metrics):
            whole = part[name].dtype == pl.Int64 or (part[name] == part[name].round()).all()
            parts.append(
                pl.DataFrame(
                    {
                        "series": (who + column * entities.len()).astype(np.uint32),
                        "ts": part["ts"],
                        "value": part[name].cast(pl.Float64),
                        "value_int": part[name].cast(pl.Int64)
                        if whole
                        else pl.Series([None] * part.height, dtype=pl.Int64),
                    },
                    schema=frames.SAMPLES,
                )
            )
        device = entities.str.split(":").list.last()
        host = entities.str.split("/").list.get(1)
        series = (
            pl.concat(
                pl.DataFrame(
                    {
                        "metric": [name] * entities.len(),
                        "host": host,
                        "device_kind": ["gpu"] * entities.len(),
                        "device": device,
                    }
                )
                for name in metrics
            )
            .with_columns(labels=pl.lit("{}"), unit=pl.lit(None, pl.String), kind=pl.lit(None, pl.String))
            .with_row_index("series")
        )
        yield Batch(
            records=part.height,
            rows=part.height,
            series=series.select(frames.SERIES.names()).cast(frames.SERIES),
            samples=pl.concat(parts),
        )


def same(found: pl.DataFrame, wide: pl.DataFrame) -> bool:
    """Compare value by value, whatever the order of rows and columns."""
    ordered = found.select(wide.columns).sort("entity", "ts")
    return all((ordered[name].cast(wide[name].dtype) == wide[name]).all() for name in wide.columns)


def timed(action: Callable[[], object], repeat: int = 3) -> float:
    """Best wall time of a few runs, seconds."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - begin)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, kind, default in (("gpus", int, 256), ("hours", float, 4.0), ("step", int, 10), ("metrics", int, 40)):
        parser.add_argument(f"--{name}", type=kind, default=default)
    options = parser.parse_args()
    wide = synthetic(options.gpus, options.hours, options.step, options.metrics)
    count = wide.height * options.metrics
    long = wide.unpivot(index=["ts", "entity"], variable_name="metric", value_name="value").sort(
        "metric", "entity", "ts"
    )
    arrow_long, arrow_wide = long.to_arrow(), wide.to_arrow()
    connection = duckdb.connect()
    connection.register("long", arrow_long)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def peer(title: str, write: Callable[[Path], object], lossless: bool | None = None) -> None:
            path = folder / f"{len(rows)}.parquet"
            took = timed(lambda: write(path), 1)
            read = timed(lambda: pl.read_parquet(path))
            rows.append(
                {
                    "layout": title,
                    "bytes_per_sample": path.stat().st_size / count,
                    "write_M_s": count / took / 1e6,
                    "read_M_s": count / read / 1e6,
                    "lossless": lossless,
                }
            )

        peer(
            "DuckDB, long, default zstd",
            lambda p: connection.execute(f"copy long to '{p}' (format parquet, compression zstd)"),
        )
        peer(
            "DuckDB, long, v2 zstd",
            lambda p: connection.execute(f"copy long to '{p}' (format parquet, compression zstd, parquet_version v2)"),
        )
        peer("Polars, long, default", long.write_parquet)
        peer("pyarrow, long, default", lambda p: pq.write_table(arrow_long, p))
        peer("Polars, wide, default", wide.write_parquet)
        peer("pyarrow, wide, default", lambda p: pq.write_table(arrow_wide, p))
        (folder / "made").write_text("made")
        batches = list(as_batches(wide))
        reader = Reader(
            name="made",
            recognise=lambda *_: Match(confidence=1.0, rule="made"),
            read=lambda *_: iter(batches),
        )
        store = wb.open(folder / "store")
        took = timed(lambda: store.ingest(folder / "made", readers=[reader]), 1)
        paths = sorted((folder / "store" / "tables" / "gpu").rglob("*.parquet"))
        size = sum(path.stat().st_size for path in paths)
        read = timed(lambda: [pl.read_parquet(path) for path in paths])
        columns = ", ".join(f'"{name}"' for name in wide.columns)
        exact = same(store.frame(f"select {columns} from gpu"), wide)
        rows.append(
            {
                "layout": "workbench store (whole ingest)",
                "bytes_per_sample": size / count,
                "write_M_s": count / took / 1e6,
                "read_M_s": count / read / 1e6,
                "lossless": exact,
            }
        )
        print(pl.DataFrame(rows).with_columns(of_duckdb=pl.col("bytes_per_sample") / rows[0]["bytes_per_sample"]))
        queries(store, connection, folder / "0.parquet", wide)


def queries(store: wb.open, connection: duckdb.DuckDBPyConnection, long: Path, wide: pl.DataFrame) -> None:
    """Three questions, asked of the store and of DuckDB's own long file."""
    entity, low = wide["entity"][0], "2026-03-01T01:00:00Z"
    gauge = next(name for name in wide.columns if name.startswith("g"))
    high = "2026-03-01T03:00:00Z"
    inside = f"ts >= '{low}' and ts < '{high}'"
    asked = {
        "one GPU, all metrics, 2 h": (
            f"select * from gpu where entity = '{entity}' and {inside}",
            f"select * from '{long}' where entity = '{entity}' and {inside}",
        ),
        "one metric, all GPUs": (
            f'select ts, entity, "{gauge}" from gpu',
            f"select ts, entity, value from '{long}' where metric = '{gauge}'",
        ),
        "samples of one metric": (
            f"select ts, entity, value from samples where metric = '{gauge}'",
            f"select ts, entity, value from '{long}' where metric = '{gauge}'",
        ),
    }
    rows = []
    for title, (ours, theirs) in asked.items():
        mine = timed(lambda ours=ours: store.sql(ours), 5)
        other = timed(lambda theirs=theirs: connection.sql(theirs).to_arrow_table(), 5)
        rows.append({"query": title, "store_ms": mine * 1e3, "duckdb_long_ms": other * 1e3, "ratio": other / mine})
    print(pl.DataFrame(rows))


if __name__ == "__main__":
    pl.Config.set_tbl_cols(12)
    pl.Config.set_tbl_width_chars(160)
    pl.Config.set_fmt_str_lengths(60)
    pa.set_cpu_count(2)
    main()
