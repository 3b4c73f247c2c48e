"""How one reads these dumps without this package: the short routes through kept libraries, as one would write them.

Each gives the number of rows. They give typed times and values and leave it at that: no labels
resolved, no bad line kept apart, no duplicate told, the whole file in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

Route = Callable[[Path], int]


def _lines(path: Path) -> pl.LazyFrame:
    return pl.scan_csv(
        path, has_header=False, separator="\x01", quote_char=None, new_columns=["text"], schema_overrides=[pl.String]
    )


def polars_prometheus(path: Path) -> int:
    """One regex over all lines; the labels of each series once."""
    groups = pl.col("text").str.extract_groups(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} (\S+)(?: (-?\d+))?$")
    frame = _lines(path).filter(~pl.col("text").str.starts_with("#")).select(g=groups).collect().unnest("g")
    return _series(frame.select(metric="1", labels="2", value="3", stamp="4"))


def polars_promtool(path: Path) -> int:
    groups = pl.col("text").str.extract_groups(r"^(\{)(.*)\} (\S+) (-?\d+)$")
    frame = _lines(path).select(g=groups).collect().unnest("g")
    return _series(frame.select(metric="1", labels="2", value="3", stamp="4"))


def _series(frame: pl.DataFrame) -> int:
    frame = frame.with_columns(
        pl.col("value").cast(pl.Float64, strict=False), ts=pl.from_epoch(pl.col("stamp").cast(pl.Int64), "ms")
    )
    series = frame.select("metric", "labels").unique().with_row_index("series")
    series.select("series", pl.col("labels").str.extract_all(r'[a-zA-Z_]+="[^"]*"')).explode("labels")
    return frame.join(series, on=["metric", "labels"]).select("series", "ts", "value").height


def duckdb_prometheus(path: Path) -> int:
    return _duckdb(
        f"""create table t as with lines as (select text from read_csv('{path}', delim='\x01', quote='', escape='',
        auto_detect=false, header=false, columns={{'text': 'VARCHAR'}}) where text not like '#%'),
        parts as (select regexp_extract(text, '^([a-zA-Z_:][a-zA-Z0-9_:]*)\\{{(.*)\\}} (\\S+)(?: (-?[0-9]+))?$',
        ['metric', 'labels', 'value', 'stamp']) p from lines)
        select p.metric, p.labels, try_cast(p.value as double) v, make_timestamp(try_cast(p.stamp as bigint) * 1000) ts from parts"""
    )


def _duckdb(query: str, table: str = "t") -> int:
    import duckdb

    base = duckdb.connect()
    base.execute("set threads=1")
    base.execute("set timezone='UTC'")
    base.execute(query)
    (count,) = base.execute(f"select count(*) from {table}").fetchone()  # type: ignore[misc]
    return int(count)


def prometheus_client(path: Path) -> int:
    """Line by line; a file of scrapes without stamps is what it is made for."""
    from prometheus_client.parser import text_string_to_metric_families

    return sum(len(family.samples) for family in text_string_to_metric_families(path.read_text()))


def duckdb_query_json(path: Path) -> int:
    return _duckdb(
        f"""create table t as with r as (select unnest(data.result) r from read_json('{path}', maximum_object_size=4000000000,
        columns={{data: 'STRUCT(result STRUCT(metric MAP(VARCHAR,VARCHAR), "values" JSON[])[])'}})),
        p as (select r.metric m, unnest(r.values) p from r)
        select m, make_timestamp(((p->>'$[0]')::double * 1000000)::bigint) ts, try_cast(p->>'$[1]' as double) v from p"""
    )


def orjson_query_json(path: Path) -> int:
    import orjson

    found = orjson.loads(path.read_bytes())["data"]["result"]
    rows = [(place, moment, float(value)) for place, series in enumerate(found) for moment, value in series["values"]]
    return pl.DataFrame(rows, schema=["series", "t", "v"], orient="row").height


def line_protocol_parser(path: Path) -> int:
    from line_protocol_parser import parse_line  # type: ignore[import-not-found]

    rows = []
    with path.open() as file:
        for line in file:
            point = parse_line(line)
            tags = tuple(sorted(point["tags"].items()))
            rows += [
                (point["measurement"], tags, field, value, point["time"]) for field, value in point["fields"].items()
            ]
    return len(rows)


_DMESG = r"^\[ *(\d+\.\d+)\] (.*)$"
_XID = r"NVRM: Xid \(PCI:([0-9a-f:.]+)\): (\d+)"


def polars_dmesg(path: Path) -> int:
    groups = pl.col("text").str.extract_groups(_DMESG)
    frame = _lines(path).select(g=groups).collect().unnest("g").rename({"1": "up", "2": "message"})
    frame = frame.with_columns(pl.col("up").cast(pl.Float64), xid=pl.col("message").str.extract_groups(_XID))
    return frame.height


def duckdb_dmesg(path: Path) -> int:
    return _duckdb(
        f"""create table t as with lines as (select text from read_csv('{path}', delim='\x01', quote='', escape='',
        auto_detect=false, header=false, columns={{'text': 'VARCHAR'}})),
        parts as (select regexp_extract(text, '^\\[ *([0-9.]+)\\] (.*)$', ['up', 'message']) p from lines)
        select p.up::double up, p.message, regexp_extract(p.message, '{_XID}', ['pci', 'code']) xid from parts"""
    )


_JOURNAL = (
    "__REALTIME_TIMESTAMP",
    "_HOSTNAME",
    "_TRANSPORT",
    "PRIORITY",
    "SYSLOG_IDENTIFIER",
    "_PID",
    "_SYSTEMD_UNIT",
    "MESSAGE",
)


def polars_journal(path: Path) -> int:
    frame = pl.read_ndjson(path, schema=dict.fromkeys(_JOURNAL, pl.String()))
    return frame.with_columns(
        ts=pl.from_epoch(pl.col("__REALTIME_TIMESTAMP").cast(pl.Int64), "us"),
        xid=pl.col("MESSAGE").str.extract_groups(_XID),
    ).height


def duckdb_journal(path: Path) -> int:
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in _JOURNAL)
    return _duckdb(
        f"""create table t as select *, make_timestamp(__REALTIME_TIMESTAMP::bigint) ts,
        regexp_extract(MESSAGE, '{_XID}', ['pci', 'code']) xid
        from read_json('{path}', format='newline_delimited', columns={{{columns}}})"""
    )


def polars_sacct(path: Path) -> int:
    frame = pl.read_csv(path, separator="|", quote_char=None, infer_schema=False, truncate_ragged_lines=True)
    frame = frame.filter(~pl.col("JobIDRaw").str.contains(".", literal=True))
    return frame.with_columns(
        pl.col("Submit", "Start", "End").str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False)
    ).height


def pandas_sacct(path: Path) -> int:
    import pandas as pd

    frame = pd.read_csv(path, sep="|", dtype=str, quoting=3)
    frame = frame[~frame["JobIDRaw"].str.contains(".", regex=False)].copy()
    for name in ("Submit", "Start", "End"):
        frame[name] = pd.to_datetime(frame[name], format="%Y-%m-%dT%H:%M:%S", errors="coerce")
    return len(frame)


def polars_nvidia_smi(path: Path) -> int:
    frame = pl.read_csv(path, infer_schema=False)
    frame = frame.rename({name: name.strip() for name in frame.columns}).with_columns(pl.all().str.strip_chars())
    values = [name for name in frame.columns if name not in ("timestamp", "index", "uuid", "pci.bus_id")]
    return (
        frame.with_columns(
            pl.col("timestamp").str.to_datetime("%Y/%m/%d %H:%M:%S%.f"),
            *(pl.col(name).str.extract(r"^(-?[0-9.]+)").cast(pl.Float64, strict=False) for name in values),
        )
        .unpivot(values, index=["timestamp", "uuid"])
        .height
    )


def polars_csv(path: Path) -> int:
    frame = pl.read_csv(path).with_columns(pl.col("time").str.to_datetime("%Y-%m-%dT%H:%M:%SZ"))
    return frame.unpivot(frame.columns[3:], index=["time", "host", "gpu"]).height


def pandas_csv(path: Path) -> int:
    import pandas as pd

    frame = pd.read_csv(path, dtype={"host": "category"})
    frame["time"] = pd.to_datetime(frame["time"], format="%Y-%m-%dT%H:%M:%SZ")
    return len(frame.melt(id_vars=["time", "host", "gpu"]))


def polars_ndjson(path: Path) -> int:
    frame = pl.read_ndjson(path).with_columns(pl.col("time").str.to_datetime("%Y-%m-%dT%H:%M:%SZ"))
    return frame.unpivot(frame.columns[3:], index=["time", "host", "gpu"]).height


def duckdb_ndjson(path: Path) -> int:
    return _duckdb(
        f"""create table w as select * from read_json('{path}', format='newline_delimited');
        create table t as unpivot (select time, host, gpu, power_w::double power_w, temperature_c::double temperature_c,
        util_percent::double util_percent, energy_mj::double energy_mj from w)
        on power_w, temperature_c, util_percent, energy_mj into name metric value v"""
    )


def polars_parquet(path: Path) -> int:
    frame = pl.read_parquet(path)
    return frame.unpivot(frame.columns[3:], index=["time", "host", "gpu"]).height


#: For each format the routes that its users take.
PEERS: dict[str, dict[str, Route]] = {
    "prometheus_text": {"Polars regex": polars_prometheus, "DuckDB regex": duckdb_prometheus, "prometheus_client": prometheus_client},
    "promtool_tsdb_dump": {"Polars regex": polars_promtool},
    "prometheus_query_json": {"DuckDB unnest": duckdb_query_json, "orjson": orjson_query_json},
    "influx_line_protocol": {"line-protocol-parser": line_protocol_parser},
    "kernel_log": {"Polars regex": polars_dmesg, "DuckDB regex": duckdb_dmesg},
    "journald_json": {"Polars read_ndjson": polars_journal, "DuckDB read_json": duckdb_journal},
    "slurm_sacct": {"Polars read_csv": polars_sacct, "pandas": pandas_sacct},
    "nvidia_smi_csv": {"Polars read_csv": polars_nvidia_smi},
    "generic_csv": {"Polars read_csv": polars_csv, "pandas": pandas_csv},
    "json_lines": {"Polars read_ndjson": polars_ndjson, "DuckDB read_json": duckdb_ndjson},
    "parquet": {"Polars read_parquet": polars_parquet},
}  # fmt: skip
