"""A small store in memory with the methods of the real one, and a cluster whose truth is known.

Sixteen hosts of four GPUs in two racks, one job on eight of them. GPU 2 of node03 warms up from
30 minutes before its Xid 79, and its corrected memory errors burst; nothing else happens.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

from workbench.hypotheses.rows import ROWS
from workbench.model.incident import Incident, Incidents
from workbench.model.provenance import Provenance
from workbench.model.selector import Selector
from workbench.store.clocks import CLOCKS

T0 = datetime(2026, 3, 1, tzinfo=UTC)
FELL_AT = T0 + timedelta(hours=12, seconds=7)
VICTIM = "c1/node03/gpu:GPU-0302"
HOSTILE = '<script>alert("x")</script> \x1b[31mred\x1b[0m \u202egnp.exe'
UTC_US = pl.Datetime("us", "UTC")
STEP_S = 30


def hosts() -> list[str]:
    return [f"c1/node{number:02d}" for number in range(16)]


def gpus() -> list[str]:
    return [f"{host}/gpu:GPU-{number:02d}{index:02d}" for number, host in enumerate(hosts()) for index in range(4)]


def _stamps(seconds: np.ndarray) -> pl.Series:
    micros = seconds.astype(np.int64) * 1_000_000 + round(T0.timestamp()) * 1_000_000
    return pl.Series(micros).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


def _gpu_frame(rng: np.random.Generator, hours: int) -> pl.DataFrame:
    count = hours * 3600 // STEP_S
    second = np.arange(count) * STEP_S
    names = gpus()
    shape = (len(names), count)
    power = 600 + 20 * rng.standard_normal(shape)
    heat = 55 + 0.5 * rng.standard_normal(shape)
    errors = np.zeros(shape, dtype=np.int64)
    fell = int((FELL_AT - T0).total_seconds())
    victim = names.index(VICTIM)
    since = np.clip(second - (fell - 1800), 0, None)
    heat[victim] += since / 1800 * 15
    errors[victim] = np.where(second > fell - 900, (second - (fell - 900)) // STEP_S * 7, 0)
    heat[victim, second > fell] = np.nan  # fell off the bus: nothing more is observed
    heat[5, (second > fell - 5400) & (second < fell - 3600)] = np.nan  # a gap elsewhere
    frame = pl.DataFrame(
        {
            "ts": _stamps(np.tile(second, len(names))),
            "entity": np.repeat(names, count).tolist(),
            "power_w": power.ravel(),
            "temperature_c": heat.ravel(),
            "ecc_sbe_total": errors.ravel(),
        }
    )
    return frame.with_columns(pl.col("temperature_c").fill_nan(None))


def _host_frame(rng: np.random.Generator, hours: int) -> pl.DataFrame:
    names, count = hosts(), hours * 60
    second = np.arange(count) * 60
    return pl.DataFrame(
        {
            "ts": _stamps(np.tile(second, len(names))),
            "entity": np.repeat(names, count).tolist(),
            "vendor_thing": rng.normal(10, 1, len(names) * count),
        }
    )


def _events() -> pl.DataFrame:
    def row(
        at: datetime, entity: str, kind: str, code: str | None, message: str, before_s: float = 0.0
    ) -> dict[str, object]:
        return {
            "ts": at, "ts_low": at - timedelta(seconds=before_s), "ts_high": at, "entity": entity, "kind": kind,
            "code": code, "severity": "err", "message": message, "template": message[:20], "attributes": "{}", "source": "kern.log",
        }  # fmt: skip

    rows = [row(FELL_AT, VICTIM, "xid", "79", "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.", 20.0)]
    rows += [row(FELL_AT + timedelta(seconds=5 * n), "c1/node03", "kernel", None, HOSTILE) for n in range(40)]
    rows += [row(T0 + timedelta(hours=n), f"c1/node{n % 16:02d}", "link", "down", "link down", 0.0) for n in range(18)]
    rows += [row(FELL_AT + timedelta(minutes=3), "c1/job:8841", "job", "NODE_FAIL", "job 8841 ended NODE_FAIL", 60.0)]
    rows += [row(FELL_AT - timedelta(minutes=20), "c1/nfs:home", "nfs", "stall", "nfs: server not responding", 0.0)]
    return pl.DataFrame(rows, schema_overrides={"ts": UTC_US, "ts_low": UTC_US, "ts_high": UTC_US}).sort("ts")


def _jobs() -> pl.DataFrame:
    end = FELL_AT + timedelta(minutes=3)
    row = {
        "job": "8841", "entity": "c1/job:8841", "attempt": 1, "submitted": T0, "start": T0 + timedelta(hours=2), "end": end,
        "state": "NODE_FAIL", "exit": "1:0", "user": "alice", "name": "llama", "entities": hosts()[:8],
    }  # fmt: skip
    return pl.DataFrame([row], schema_overrides=dict.fromkeys(("submitted", "start", "end"), UTC_US))


def _links() -> pl.DataFrame:
    rows = [{"entity": host, "relation": "in", "to_entity": f"c1/rack:r{at // 8}"} for at, host in enumerate(hosts())]
    return pl.DataFrame(rows).with_columns(valid_from=pl.lit(None, UTC_US), valid_to=pl.lit(None, UTC_US))


def _catalog(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    facts = [
        ("gpu.power_w", "gpu", "power_w", "W", "gauge", 30.0, "DCGM_FI_DEV_POWER_USAGE"),
        ("gpu.temperature_c", "gpu", "temperature_c", "Cel", "gauge", 30.0, "DCGM_FI_DEV_GPU_TEMP"),
        ("gpu.ecc_sbe_total", "gpu", "ecc_sbe_total", "1", "counter", 30.0, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"),
        ("host.vendor_thing", "host", "vendor_thing", None, "gauge", 60.0, "vendor_thing"),
    ]
    rows = []
    for metric, kind, column, unit, semantics, interval, raw in facts:
        seen = tables[kind].drop_nulls(column)
        rows.append(
            {
                "metric": metric, "entity_kind": kind, "table": kind, "column": column, "unit": unit, "kind": semantics,
                "role": None, "drives": [], "raw_names": [raw], "interval_s": interval, "width_bits": 64, "bits": 64,
                "saturates": False,
                "series": seen["entity"].n_unique(), "first": seen["ts"].min(), "last": seen["ts"].max(), "rows": seen.height,
            }
        )  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"drives": pl.List(pl.String)})


@dataclass
class FakeInfo:
    """What the account of a store says."""

    frame: pl.DataFrame

    def table(self) -> pl.DataFrame:
        return self.frame


class FakeStore:
    """The methods that views and write-ups use, on DuckDB in memory."""

    def __init__(self, *, hours: int = 18, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.path, self.version = Path("case-042"), "7"
        tables = {"gpu": _gpu_frame(rng, hours), "host": _host_frame(rng, hours)}
        self._catalog = _catalog(tables)
        entities = [*gpus(), *hosts(), "c1/rack:r0", "c1/rack:r1", "c1/job:8841", "c1/nfs:home"]
        tables["entities"] = pl.DataFrame(
            {"entity": entities, "kind": ["gpu"] * 64 + ["host"] * 16 + ["rack", "rack", "job", "nfs"]}
        )
        tables |= {"events": _events(), "jobs": _jobs(), "links": _links()}
        tables["aliases"] = pl.DataFrame(
            {
                "kind": ["host", "host", "gpu"], "name": ["node03.dc.example", "spare7", "0000:9b:00"],
                "same_as": ["node03", "node07", "GPU-0302"], "rule": ["host name", "host name", "PCI"],
            }
        )  # fmt: skip
        tables["files"] = pl.DataFrame(
            {
                "source": ["s1", "s2"], "digest": ["ab12", "cd34"], "path": ["dumps/dcgm.prom", "dumps/kern.log"],
                "bytes": [9_000_000, 9_000], "reader": ["prometheus", "kernel"], "rule": ["HELP line", "NVRM line"],
                "status": ["read", "read"], "records": [138_252, 62], "rows": [138_240, 60], "skipped": [12, 0],
                "rejected": [0, 2], "curable": [0, 2], "samples": [414_720, 0], "skips": ['{"comment": 12}', "{}"],
                "batch": [1, 2],
            }
        )  # fmt: skip
        tables["rejects"] = pl.DataFrame(
            {
                "source": ["s2"] * 2, "line": [7, 9], "reason": ["no year", "no year"],
                "text": [HOSTILE, "Nov  2 03:14"], "curable": ["year", "year"],
            }
        )  # fmt: skip
        tables["ledger"] = pl.DataFrame(schema=ROWS)
        tables["observed"] = pl.DataFrame(
            {
                "entity": ["c1/node03", "c1/node03"], "what": ["gpu", "kernel"], "reader": ["prometheus", "kernel"],
                "interval_s": [30.0, None], "start": [T0, T0],
                "end": [T0 + timedelta(hours=hours), T0 + timedelta(hours=hours)],
            }
        )  # fmt: skip
        self._tables = tables
        self._connection = duckdb.connect()
        self._connection.execute("set timezone = 'UTC'")
        for name, frame in tables.items():
            self._connection.register(f"_{name}", frame.to_arrow())
            self._connection.execute(f"create table {name} as from _{name}")

    def sql(self, query: str, parameters: object = None) -> pl.DataFrame:
        return pl.from_arrow(self._connection.sql(query, params=parameters).to_arrow_table())  # type: ignore[return-value]

    def frame(self, query: str, parameters: object = None) -> pl.DataFrame:
        return self.sql(query, parameters)

    def catalog(self, pattern: str = "*") -> pl.DataFrame:
        return self._catalog

    def event_kinds(self) -> pl.DataFrame:
        return self.sql(
            "select kind, code, count(*) as count, min(ts) as first, max(ts) as last from events group by all order by all"
        )

    def events(self, selector: Selector | None = None) -> pl.DataFrame:
        return self._tables["events"]

    def jobs(self) -> pl.DataFrame:
        return self._tables["jobs"]

    def entities(self) -> pl.DataFrame:
        return self._tables["entities"]

    def links(self) -> pl.DataFrame:
        return self._tables["links"]

    def observed(self) -> pl.DataFrame:
        return self._tables["observed"]

    def clocks(self) -> pl.DataFrame:
        return pl.DataFrame(schema=CLOCKS)

    def ledger_rows(self) -> pl.DataFrame:
        return self._tables["ledger"]

    def info(self) -> FakeInfo:
        return FakeInfo(pl.DataFrame({"what": ["span", "files"], "value": ["18h", "2"]}))

    def incidents(self, selector: Selector | str) -> Incidents:
        outcome = selector if isinstance(selector, Selector) else Selector.parse(selector)
        return Incidents(
            outcome=outcome, items=(incident(),), provenance=Provenance(function="incidents", inputs="case-042@7")
        )


def incident() -> Incident:
    return Incident(
        id="a1b2c3d4e5f6", kind="xid", code="79", entity=VICTIM, host="c1/node03", rack="c1/rack:r0", job="c1/job:8841",
        ts=FELL_AT, ts_low=FELL_AT - timedelta(seconds=20), ts_high=FELL_AT, message="GPU has fallen off the bus.",
    )  # fmt: skip


@cache
def shared_store(hours: int = 18) -> FakeStore:
    """Give a store that tests of one process share; they only read it."""
    return FakeStore(hours=hours)
