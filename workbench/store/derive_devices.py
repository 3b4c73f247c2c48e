"""Derived events of devices: throttling, links that flap, what vanishes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from workbench.store.derive_rows import Ask, Row, Settings, host_of, rows_of, samples_sql
from workbench.store.seen import join_intervals
from workbench.timebase import MICROS

__all__ = ["link_flaps", "power_throttles", "thermal_throttles", "vanished"]

_REASONS = "gpu.clock_event_reasons"
_THERMAL = (
    ("sw", _REASONS, 32), ("hw", _REASONS, 64), ("sw", "gpu.clock_event_sw_thermal", None),
    ("hw", "gpu.clock_event_hw_thermal", None), ("violation", "gpu.thermal_violation_total", 0),
)  # fmt: skip
_POWER = (
    ("sw", _REASONS, 4), ("hw", _REASONS, 128), ("sw", "gpu.clock_event_sw_power_cap", None),
    ("hw", "gpu.clock_event_hw_power_brake", None), ("violation", "gpu.power_violation_total", 0),
)  # fmt: skip
_LINKS = "select entity, code, epoch_us(ts)::bigint as us from events where kind = 'link' and code in ('down', 'up') order by entity, us, code"
_OBSERVED = (
    "select entity, what, reader, start, \"end\", interval_s, count from observed where what not in ('events', 'jobs')"
)
_SERIES = """
select entity, "table", metric, epoch_us(min(first))::bigint as first, epoch_us(max(last))::bigint as last,
       median(interval_s) as interval_s, sum(count)::bigint as n
from series where labels = '{}' group by all
"""
_FEWEST = 10  # values of a metric that can vanish


def thermal_throttles(ask: Ask, settings: Settings) -> pl.DataFrame:
    """Give ``throttle.thermal``."""
    return _throttles(ask, settings, _THERMAL)


def power_throttles(ask: Ask, settings: Settings) -> pl.DataFrame:
    """Give ``throttle.power``."""
    return _throttles(ask, settings, _POWER)


def _throttles(ask: Ask, settings: Settings, signs: Sequence[tuple[str, str, int | None]]) -> pl.DataFrame:
    found = [_onsets(ask, metric, _condition(mask, settings), settings["quiet_s"]).with_columns(
        code=pl.lit(code), metric=pl.lit(metric)) for code, metric, mask in signs]  # fmt: skip
    # The mask and the single flags of one GPU say the same: the first of them counts.
    onsets = (
        pl.concat(found).sort("entity", "code", "us").with_columns(last=pl.col("us").shift(1).over("entity", "code"))
    )
    quiet = round(settings["quiet_s"] * MICROS)
    fresh = onsets.filter(pl.col("last").is_null() | (pl.col("us") - pl.col("last") > quiet))
    rows: list[Row] = []
    for entity, us, before, value, code, metric in fresh.select(
        "entity", "us", "before", "value", "code", "metric"
    ).iter_rows():
        attributes: Mapping[str, Any] = {"metric": metric, "value": value}
        rows.append((us, before, us, entity, code, f"throttling begins: {metric} is {value:g}", attributes))
    return rows_of(rows)


def _condition(mask: int | None, settings: Settings) -> str:
    if mask is None:
        return "value > 0"
    if mask:
        return f"value >= 0 and value < 9e18 and (value::bigint & {mask}) > 0"
    return f"value > before_value + {settings['least']!r}"


def _onsets(ask: Ask, metric: str, condition: str, quiet_s: float | None) -> pl.DataFrame:
    """Give the samples at which a condition begins to hold after it did not for a time (None: at which it holds).

    The first sample of all tells nothing: what it shows began before.
    """
    begins = "true"
    if quiet_s is not None:
        begins = f"not coalesce(held, false) and (last_us is null or us - last_us > {round(quiet_s * MICROS)})"
    return ask(
        f"""
        with told as (select *, lag(us) over one as before, lag(value) over one as before_value
                      from ({samples_sql([metric])}) window one as (partition by entity order by us)),
        judged as (select *, coalesce({condition}, false) as holds from told),
        known as (select *, lag(holds) over (partition by entity order by us) as held, max(case when holds then us end) over
                  (partition by entity order by us rows between unbounded preceding and 1 preceding) as last_us from judged)
        select entity, us, before, value from known
        where holds and before is not null and {begins} order by entity, us
        """
    )


def link_flaps(ask: Ask, settings: Settings) -> pl.DataFrame:
    """Give ``link.flap``: down and up again, and counters of it that rise."""
    window = round(settings["window_s"] * MICROS)
    rows: list[Row] = []
    for (entity,), events in ask(_LINKS).group_by(["entity"], maintain_order=True):
        rows += [_flap(str(entity), pairs) for pairs in _flaps(events.select("code", "us").rows(), window)]
    onsets = _onsets(ask, "port.link_downed_total", "value > before_value", None)
    for entity, us, before, value in onsets.iter_rows():
        message = f"the count of times that the link went down rose to {value:g}"
        rows.append((us, before, us, entity, "counter", message, {"value": value}))
    return rows_of(rows)


def _flaps(events: list[tuple[str, int]], window: int) -> list[list[tuple[int, int]]]:
    """Pair each down with the next up, and chain pairs that follow within the window."""
    flaps: list[list[tuple[int, int]]] = []
    down: int | None = None
    for code, us in events:
        if code == "down":
            down = us if down is None or us - down > window else down
        elif down is not None:
            if us - down <= window:
                if flaps and down - flaps[-1][-1][1] <= window:
                    flaps[-1].append((down, us))
                else:
                    flaps.append([(down, us)])
            down = None
    return flaps


def _flap(entity: str, pairs: list[tuple[int, int]]) -> Row:
    down_s = sum(up - down for down, up in pairs) / MICROS
    first = pairs[0][0]
    message = f"link went down and up {len(pairs)} times, {down_s:g} s down in all"
    attributes = {"times": len(pairs), "down_s": down_s, "until_us": pairs[-1][1]}
    return first, first, first, entity, "log", message, attributes


def vanished(ask: Ask, settings: Settings) -> pl.DataFrame:
    """Give ``vanished``: devices and metrics that fall silent while what is beside them goes on."""
    entities, silent = _vanished_entities(ask, settings)
    return pl.concat([rows_of(entities), rows_of(_vanished_metrics(ask, settings, silent))])


def _vanished_entities(ask: Ask, settings: Settings) -> tuple[list[Row], set[tuple[str, int]]]:
    seen = ask(_OBSERVED).with_columns(source=pl.lit(None, pl.String))
    by = ["entity", "what", "reader"]
    stretches = (
        join_intervals(seen, [*by, "source"]).with_columns(pl.col("start", "end").dt.timestamp("us")).sort(*by, "start")
    )
    beside: dict[tuple[str, str], list[tuple[int, int, str]]] = defaultdict(list)
    for entity, reader, start, end in stretches.select("entity", "reader", "start", "end").iter_rows():
        if (host := host_of(entity)) is not None:
            beside[host, reader].append((start, end, entity))
    told = stretches.with_columns(back=pl.col("start").shift(-1).over(by))
    rows: list[Row] = []
    silent: set[tuple[str, int]] = set()
    for row in told.iter_rows(named=True):
        host, grace = host_of(row["entity"]), _grace(row["interval_s"], settings)
        if host is None or host == row["entity"] or (row["back"] is not None and row["back"] <= row["end"] + grace):
            continue
        others = beside[host, row["reader"]]
        if any(s <= row["end"] and e >= row["end"] + grace and other != row["entity"] for s, e, other in others):
            silent.add((row["entity"], row["end"]))
            rows.append(
                _silence(
                    row["entity"],
                    "entity",
                    (row["end"], row["interval_s"]),
                    {"table": row["what"], "back_us": row["back"]},
                )
            )
    return rows, silent


def _vanished_metrics(ask: Ask, settings: Settings, silent: set[tuple[str, int]]) -> list[Row]:
    """Find metrics that end before others of the same thing that began with them, as those of one source do."""
    gone = {entity for entity, _ in silent}
    rows: list[Row] = []
    for (entity, _), series in (
        ask(_SERIES).sort("entity", "table", "metric").group_by(["entity", "table"], maintain_order=True)
    ):
        told = series.select("metric", "first", "last", "interval_s", "n").rows()
        for metric, first, last, interval_s, n in told:
            grace = _grace(interval_s, settings)
            goes_on = any(abs(begun - first) <= grace and until >= last + grace for _, begun, until, _, _ in told)
            if n >= _FEWEST and goes_on and entity not in gone:
                rows.append(_silence(str(entity), "metric", (last, interval_s), {"metric": metric}))
    return rows


def _grace(interval_s: float | None, settings: Settings) -> int:
    return round(max(settings["intervals"] * (interval_s or 0.0), settings["least_s"]) * MICROS)


def _silence(entity: str, code: str, last: tuple[int, float | None], attributes: Mapping[str, Any]) -> Row:
    at, interval_s = last
    missing = at + round((interval_s or 0.0) * MICROS)
    what = attributes.get("metric") or "all that was told of it"
    message = f"{what} stops while its host goes on being told of"
    return missing, at, missing, entity, code, message, {**attributes, "interval_s": interval_s}
