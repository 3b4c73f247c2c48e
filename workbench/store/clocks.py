"""How far the clocks of hosts are off, from what several of them saw; nothing that is kept is rewritten.

Three comparisons, each with its own rows in the view ``clocks``:

* **shared events**: moments at which at least three hosts wrote the same kind of event within
  seconds (a job is torn down, a file server stops answering). The host is compared with the others.
* **BMC and OS**: events of a host's BMC beside those of its operating system.
* **Xid gauge**: the metric that repeats the last Xid changed between two scrapes, give or take one;
  the kernel says when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from workbench.kernels.clocks import Moments, Offset, agreed_overlap, offset_of, shared_moments
from workbench.timebase import MICROS

__all__ = ["CLOCKS", "SHIFTS", "clock_shifts", "clocks", "readers_of"]

Ask = Callable[..., pl.DataFrame]
#: Readers whose times are those of a BMC; and of no host's clock: schedulers, servers, people.
_BMC = ("ipmi_sel", "ipmi_sel_info", "ipmi_sensor", "redfish")
_ELSEWHERE = (
    "slurm_sacct", "slurm_json", "slurm_nodes", "change_log", "fault_trace", "inventory", "alertmanager_json", "table",
    "parquet", "topology", "prometheus_text", "promtool_tsdb_dump", "prometheus_query_json", "slurmctld_log",
    "k8s_events", "grafana_csv", "datadog_csv", "power_cooling_csv", "ufm", "ibdiagnet", "ib_topology", "lldp",
)  # fmt: skip
CLOCKS = pl.Schema(
    {
        "host": pl.String(), "clock": pl.String(), "against": pl.String(), "offset_s": pl.Float64(),
        "low_s": pl.Float64(), "high_s": pl.Float64(), "shared": pl.Int64(), "confidence": pl.Float64(),
        "noise_s": pl.Float64(), "method": pl.String(), "off": pl.Boolean(),
    }
)  # fmt: skip
SHIFTS = pl.Schema(
    {"host": pl.String(), "clock": pl.String(), "shift_us": pl.Int64(), "low_us": pl.Int64(), "high_us": pl.Int64()}
)
_HOST = "regexp_extract(e.entity, '^([^/]+/[^/:]+)(/|$)', 1)"
# The first of what one host tells of one kind and code within 15 s: its eight GPUs tell it together.
_EVENTS = f"""
with told as (select {_HOST} as host, e.kind, coalesce(e.code, '') as code, e.ts, e.ts_low, e.ts_high, f.reader
    from events e join (select distinct source, reader from files) f on e.source = f.source
    where e.kind not in ('log', 'job', 'alert', 'change', 'inventory', 'sensor', 'smart'))
select host, kind, code, epoch_us(ts_low) as low, epoch_us(ts_high) as high,
    case when list_contains(?, reader) then 'bmc' else 'os' end as clock
from told where host <> '' and not list_contains(?, reader)
qualify coalesce(ts - lag(ts) over (partition by host, kind, code, list_contains(?, reader) order by ts) >= interval 15 second, true)
order by host, kind, code, ts
"""
_GAUGE = 'select distinct "column" from metrics where metric = \'gpu.xid_last\' and "table" = \'gpu\' and "column" is not null'
_CHANGES = """
with seen as (select entity, ts, {column} as value, lag({column}) over w as old, lag(ts) over w as before
    from gpu where {column} is not null window w as (partition by entity order by ts)),
changed as (select entity, ts, before, value::bigint::varchar as code from seen where value <> old and value > 0)
select regexp_extract(c.entity, '^([^/]+/[^/:]+)(/|$)', 1) as host, epoch_us(c.before) as before, epoch_us(c.ts) as after, epoch_us(e.ts_low) as low, epoch_us(e.ts_high) as high
from changed c join events e on e.entity = c.entity and e.kind = 'xid' and e.code = c.code and abs(epoch_us(e.ts) - epoch_us(c.ts)) < 900_000_000
where c.ts - c.before <= interval 15 minute
qualify row_number() over (partition by c.entity, c.ts order by abs(epoch_us(e.ts) - epoch_us(c.ts))) = 1
order by all
"""
_BMC_NOISE_S = 5.0  # a BMC tells whole seconds, and polls
_FEWEST = 3  # shared events, before a clock is called off
#: Beyond so many events, kinds that come most often are left out: they say the least of one moment.
_MOST_EVENTS = 400_000
_METHODS = {("other hosts", False): "shared events", ("os", False): "BMC and OS", ("os", True): "Xid gauge"}
_APART_S = 1e10  # kinds are kept apart on one axis of time


def readers_of(clock: str) -> tuple[str, ...]:
    """Name the readers whose times are of a clock: ``bmc``, or ``elsewhere`` (of no host).

    Examples
    --------
    >>> "ipmi_sel" in readers_of("bmc"), "slurm_sacct" in readers_of("elsewhere")
    (True, True)
    """
    return _BMC if clock == "bmc" else _ELSEWHERE


def clocks(ask: Ask) -> pl.DataFrame:
    """Estimate how far each host's clocks are ahead.

    Parameters
    ----------
    ask : callable
        Answers a query on the views of a store.

    Returns
    -------
    polars.DataFrame
        In the shape of ``CLOCKS``, a row for each host and comparison that had enough in common:
        ``offset_s`` (above 0: the clock is ahead) with ``low_s`` to ``high_s``, from ``shared``
        events; ``noise_s`` is how far clocks that agree are usually apart in what they tell, by
        which the interval is widened; ``off`` where it does not hold 0.
    """
    events = ask(_EVENTS, [list(_BMC), list(_ELSEWHERE), list(_BMC)])
    rows = [*_against_hosts(events, "os"), *_against_hosts(events, "bmc"), *_against_os(events), *_gauge(ask)]
    told = pl.DataFrame(rows, schema=dict(CLOCKS), orient="row") if rows else pl.DataFrame(schema=CLOCKS)
    return told.sort("host", "clock", "against", "method")


def _row(host: str, between: tuple[str, str], found: Offset, noise: float) -> tuple[object, ...]:
    low, high = found.low_s - noise, found.high_s + noise
    off = found.shared >= _FEWEST and (low > 0 or high < 0)
    return (
        host,
        *between,
        found.offset_s,
        low,
        high,
        found.shared,
        found.confidence,
        noise,
        _METHODS[between[1], between[0] == "metrics"],
        off,
    )


def _against_hosts(events: pl.DataFrame, clock: str) -> Iterator[tuple[object, ...]]:
    mine = _rare(events.filter(pl.col("clock") == clock))
    if mine.is_empty():
        return
    names = mine["host"].unique().sort().to_list()
    number = {name: place for place, name in enumerate(names)}
    host = mine["host"].replace_strict(number, return_dtype=pl.Int64).to_numpy()
    kind = mine.select(pl.struct("kind", "code").rank("dense").alias("of")).to_series().to_numpy()
    apart = kind.astype(np.float64) * _APART_S
    low, high = (mine[name].to_numpy() / MICROS for name in ("low", "high"))
    middle = (low + high) / 2
    moments = _joined(
        [shared_moments(host[kind == one], middle[kind == one] + one * _APART_S) for one in np.unique(kind)]
    )
    if not moments.at_s.size:
        return
    noise = float(np.quantile(np.abs(moments.member_s - moments.at_s[moments.member_of]), 0.95))
    for place, name in enumerate(names):
        own = host == place
        found = offset_of(moments, place, low[own] + apart[own], high[own] + apart[own], hosts=len(names))
        if found is not None:
            yield _row(name, (clock, "other hosts"), found, noise)


def _rare(events: pl.DataFrame) -> pl.DataFrame:
    """Leave out the kinds that come most often, until few enough events are left."""
    if events.height <= _MOST_EVENTS:
        return events
    counts = events.group_by("kind", "code").len().sort("len", "kind", "code")
    kept = counts.filter(pl.col("len").cum_sum() <= _MOST_EVENTS).select("kind", "code")
    return events.join(kept, on=["kind", "code"], how="semi", maintain_order="left")


def _joined(parts: list[Moments]) -> Moments:
    start = np.cumsum([0, *(part.at_s.size for part in parts)])
    return Moments(
        at_s=np.concatenate([part.at_s for part in parts]),
        hosts=np.concatenate([part.hosts for part in parts]),
        member=np.concatenate([part.member for part in parts]),
        member_of=np.concatenate([part.member_of + shift for part, shift in zip(parts, start, strict=False)]),
        member_s=np.concatenate([part.member_s for part in parts]),
    )


def _against_os(events: pl.DataFrame) -> Iterator[tuple[object, ...]]:
    """Compare a host's BMC with its operating system: whatever both write at one moment."""
    with_bmc = events.filter(pl.col("clock") == "bmc")["host"].unique().sort().to_list()
    nobody = np.zeros(0, np.int64)
    for name in with_bmc:
        mine = events.filter(pl.col("host") == name).sort("low")
        system, bmc = mine.filter(pl.col("clock") == "os"), mine.filter(pl.col("clock") == "bmc")
        at = np.unique(system.select((pl.col("low") + pl.col("high")) / 2 / MICROS).to_series().to_numpy())
        if not at.size:
            continue
        apart = np.concatenate(([True], np.diff(at) > 15.0))
        at = at[apart]
        moments = Moments(
            at_s=at, hosts=np.full(at.size, _FEWEST), member=nobody, member_of=nobody, member_s=np.zeros(0)
        )
        low, high = (bmc[side].to_numpy() / MICROS for side in ("low", "high"))
        found = offset_of(moments, -1, low, high, hosts=len(with_bmc))
        if found is not None:
            yield _row(name, ("bmc", "os"), found, _BMC_NOISE_S)


def _gauge(ask: Ask) -> Iterator[tuple[object, ...]]:
    """Compare scrapes with the kernel: the gauge of the last Xid changed after one and before the next."""
    named = ask(_GAUGE)
    if named.is_empty():
        return
    column = '"' + named.item(0, 0).replace('"', '""') + '"'
    changes = ask(_CHANGES.format(column=column))
    for (host,), mine in changes.group_by("host", maintain_order=True):
        before, after, low, high = (mine[name].to_numpy() / MICROS for name in ("before", "after", "low", "high"))
        step = after - before  # exporters serve what they collected up to a step ago; resampling stamps up to one early
        found = agreed_overlap(before - step - high, after + step - low)
        if found is not None:
            yield _row(str(host), ("metrics", "os"), found, 0.0)


def clock_shifts(told: pl.DataFrame) -> pl.DataFrame:
    """Give what to take off the times of clocks that are off, and the bounds of it (``SHIFTS``).

    A BMC that is compared with its operating system is off by both differences.
    """
    off = told.filter("off")
    system = off.filter(pl.col("clock") == "os")
    bmc = off.filter((pl.col("clock") == "bmc") & (pl.col("against") == "other hosts"))
    beside = told.filter((pl.col("clock") == "bmc") & (pl.col("against") == "os"))
    both = (
        beside.join(system.select("host", o="offset_s", l="low_s", h="high_s"), on="host", how="left")
        .filter(pl.col("off") | pl.col("o").is_not_null())
        .join(bmc, on="host", how="anti")
        .with_columns(
            pl.col("offset_s") + pl.col("o").fill_null(0.0),
            pl.col("low_s") + pl.col("l").fill_null(0.0),
            pl.col("high_s") + pl.col("h").fill_null(0.0),
        )
    )
    columns = ["host", "clock", "offset_s", "low_s", "high_s"]
    rows = pl.concat([part.select(columns) for part in (system, bmc, both)]).unique(
        ["host", "clock"], maintain_order=True
    )
    return rows.select(
        "host",
        "clock",
        *(
            (pl.col(name) * MICROS).round().cast(pl.Int64).alias(as_name)
            for name, as_name in (("offset_s", "shift_us"), ("low_s", "low_us"), ("high_s", "high_us"))
        ),
    ).sort("host", "clock")
