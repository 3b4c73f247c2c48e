"""Derived events of hosts: starts after life, and versions that changed."""

from __future__ import annotations

from collections import defaultdict

import polars as pl

from workbench.store.derive_rows import Ask, Row, Settings, host_of, rows_of, samples_sql
from workbench.store.places import kind_of
from workbench.timebase import MICROS

__all__ = ["changes", "reboots"]

_STARTS = """
select entity, kind, code, epoch_us(ts)::bigint as us, attributes from events where kind = 'boot' or (kind = 'node' and code = 'rebooted')
"""
_DRAINS = "select entity, kind, epoch_us(ts)::bigint as us from events where kind in ('drain', 'resume') order by us"
_INVENTORY = """
select entity, code, epoch_us(ts)::bigint as us, attributes from events where kind = 'inventory' order by entity, code, us
"""
_CHANGES = "select entity, code, epoch_us(ts)::bigint as at from events where kind = 'change'"
_ALIVE = """
with asked as (select unnest(?::varchar[]) as host, unnest(?::bigint[]) as us),
told as (select regexp_extract(entity, '^[^/]+/[^/:]+') as host, epoch_us(ts)::bigint as us from events where kind <> 'boot')
select a.host, a.us, max(t.us) as alive from asked a join told t on t.host = a.host and t.us < a.us group by all
"""
_OBSERVED = """
select entity, epoch_us(start)::bigint as start, epoch_us("end")::bigint as "end", interval_s from observed where what not in ('events', 'jobs')
"""
_CENTURY_US = (946_684_800 * MICROS, 4_102_444_800 * MICROS)


def reboots(ask: Ask, settings: Settings) -> pl.DataFrame:
    """Give ``reboot``: hosts that told something, and start again."""
    starts = _starts(ask, settings)
    if not starts:
        return rows_of([])
    alive = _alive(ask, starts)
    drains: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for entity, kind, us in ask(_DRAINS).iter_rows():
        drains[entity].append((us, kind))
    reach, planned = round(settings["alive_s"] * MICROS), round(settings["drain_s"] * MICROS)
    rows: list[Row] = []
    for host, us, signs in starts:
        last = alive.get((host, us))
        if last is None or us - last > reach:
            continue
        said = [kind for at, kind in drains[host] if us - planned <= at <= us]
        code = "drained" if said and said[-1] == "drain" else "unplanned"
        message = f"host started again ({', '.join(signs)}), {(us - last) / MICROS:.0f} s after its last sign of life"
        rows.append((us, last, us, host, code, message, {"signs": list(signs), "silent_s": (us - last) / MICROS}))
    return rows_of(rows)


def _starts(ask: Ask, settings: Settings) -> list[tuple[str, int, tuple[str, ...]]]:
    """Give the starts of hosts, each with its signs; what lies close together is one."""
    told: list[tuple[str, int, str]] = []
    for entity, kind, code, us, attributes in ask(_STARTS).iter_rows():
        if kind_of(entity) == "host":
            stated = _boot_time(attributes) if kind == "node" else None
            told.append((entity, stated or us, "controller" if kind == "node" else code or "kernel"))
    moved = ask(
        f"""
        select entity, value from (select *, lag(value) over (partition by entity order by us) as before
        from ({samples_sql(["host.boot_time_s"])})) where abs(value - before) > {settings["step_s"]!r} and value > before
        """
    )
    told += [(entity, round(value * MICROS), "boot time") for entity, value in moved.iter_rows()]
    same = round(settings["same_s"] * MICROS)
    starts: list[tuple[str, int, tuple[str, ...]]] = []
    for host, us, sign in sorted(told):
        if not _CENTURY_US[0] <= us < _CENTURY_US[1]:
            continue
        if starts and starts[-1][0] == host and us - starts[-1][1] <= same:
            starts[-1] = (host, starts[-1][1], tuple(dict.fromkeys((*starts[-1][2], sign))))
        else:
            starts.append((host, us, (sign,)))
    return starts


def _boot_time(attributes: str) -> int | None:
    found = pl.Series([attributes]).str.json_path_match("$.boot_time").cast(pl.Int64, strict=False)[0]
    return None if found is None else int(found) * MICROS


def _alive(ask: Ask, starts: list[tuple[str, int, tuple[str, ...]]]) -> dict[tuple[str, int], int]:
    """Give the last sign of life before each start: an event, or a sample of the host or of what is in it."""
    asked = ([host for host, *_ in starts], [us for _, us, _ in starts])
    found = {(host, us): alive for host, us, alive in ask(_ALIVE, asked).iter_rows()}
    spans: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for entity, start, end, interval_s in ask(_OBSERVED).iter_rows():
        if (host := host_of(entity)) is not None:
            spans[host].append((start, end, round((interval_s or 0.0) * MICROS)))
    for host, us, _ in starts:
        # Within a stretch the sample before the start is at most one interval away.
        seen = [max(min(end, us - interval), start) for start, end, interval in spans[host] if start < us]
        if seen:
            found[host, us] = max(*seen, found.get((host, us), seen[0]))
    return found


def changes(ask: Ask, settings: Settings) -> pl.DataFrame:
    """Give ``change``: two statements of a version that differ."""
    del settings
    told = ask(_INVENTORY)
    if told.is_empty():
        return rows_of([])
    said = [pl.col("attributes").str.json_path_match(f"$.{name}") for name in ("version", "to")]
    versions = told.with_columns(version=pl.coalesce(said)).drop_nulls("version")
    key = ("entity", "code")
    pairs = versions.with_columns(
        old=pl.col("version").shift(1).over(key), since=pl.col("us").shift(1).over(key)
    ).filter(pl.col("old").is_not_null() & (pl.col("old") != pl.col("version")))
    known = pairs.join(ask(_CHANGES), on=key).filter(pl.col("at").is_between("since", "us"))
    pairs = pairs.join(known, on=[*key, "us"], how="anti", maintain_order="left")
    rows: list[Row] = []
    for entity, code, us, version, old, since in pairs.select(
        "entity", "code", "us", "version", "old", "since"
    ).iter_rows():
        message = f"{code} changed from {old} to {version}"
        rows.append((us, since, us, entity, code, message, {"from": old, "to": version}))
    return rows_of(rows)
