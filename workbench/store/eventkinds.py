"""What kinds of events a store holds: counts, base rates, meaning, and what is noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from workbench.model.eventcode import meanings
from workbench.model.noise import NoiseRule, is_noise, known_noise, load_noise

__all__ = ["NOISE_FILE", "event_kinds", "marked", "noise_of"]

#: Rules of a store's own, beside its tables.
NOISE_FILE = "noise.toml"
_LAST = "regexp_extract(entity, '[^/]*$')"
_KIND = f"case when contains({_LAST}, ':') then split_part({_LAST}, ':', 1) when contains(entity, '/') then 'host' else 'cluster' end"
_PLAIN = (
    f"select kind, code, count(*)::bigint as count, count(distinct entity)::bigint as entities, "
    f"list(distinct {_KIND}) as entity_kinds, min(ts) as first, max(ts) as last from events group by kind, code order by kind, code"
)
#: Noise is decided on what differs: a message that comes a million times is looked at once.
_NOISY = "select kind, code, severity, message, count(*)::bigint as count from events where kind in (select unnest(?)) group by all"
_OBSERVED = "select entity, start, \"end\" from observed where what = 'events' order by entity, start"
_ENTITIES = "select distinct entity, kind, host from entities"
_DAY_US = 86_400_000_000
_FEWEST_DAYS = 1.0  # a rate over less says nothing


def noise_of(root: Path, more: Path | str | None = None) -> tuple[NoiseRule, ...]:
    """Give the rules that hold for a store: those that come along, those of its own, and ``more``.

    Parameters
    ----------
    root : pathlib.Path
        Of the store; a file ``noise.toml`` there adds rules or takes some back.
    more : path, optional
        Another file of rules, which decides last.

    Raises
    ------
    NothingToDoError
        Where ``more`` is not there.
    SpecificationError
        Where a file is wrong; with every mistake.
    """
    own = root / NOISE_FILE
    rules = known_noise() + (load_noise(own) if own.is_file() else ())
    return rules if more is None else rules + load_noise(more)


def marked(events: pl.DataFrame, rules: Sequence[NoiseRule]) -> pl.DataFrame:
    """Add ``noise`` (bool) and the ``name`` and ``role`` of known codes to events; no row is dropped."""
    known = meanings().select("kind", "code", "name", "role")
    return events.with_columns(is_noise(rules)).join(known, on=["kind", "code"], how="left", maintain_order="left")


def event_kinds(ask: Callable[..., pl.DataFrame], rules: Sequence[NoiseRule]) -> pl.DataFrame:
    """Count events by kind and code.

    Parameters
    ----------
    ask : callable
        ``(query, parameters) -> polars.DataFrame``, on the views of a store.
    rules : sequence of NoiseRule

    Returns
    -------
    polars.DataFrame
        ``kind, code, count, noise`` (how many of them are noise), ``entities`` (that have one),
        ``per_1000_entity_days``, ``name, meaning, origin, role, action`` (null for codes that no
        catalogue knows), ``first, last``. The base rate is over the known entities of the kinds that
        have such events, for as long as the logs of their host were looked at; null below
        one day of them all together.
    """
    counted = ask(_PLAIN)
    days = _entity_days(ask(_OBSERVED), ask(_ENTITIES))
    over = (
        counted.select("kind", "code", "entity_kinds")
        .explode("entity_kinds")
        .join(days, left_on="entity_kinds", right_on="entity_kind", how="left")
        .group_by("kind", "code", maintain_order=True)
        .agg(pl.col("days").sum())
    )
    rate = pl.when(pl.col("days") >= _FEWEST_DAYS).then(pl.col("count") * 1000.0 / pl.col("days"))
    told = (
        counted.join(over, on=["kind", "code"], how="left", nulls_equal=True, maintain_order="left")
        .join(_noisy(ask, rules), on=["kind", "code"], how="left", nulls_equal=True, maintain_order="left")
        .join(meanings(), on=["kind", "code"], how="left", maintain_order="left")
    )
    return told.select(
        "kind",
        "code",
        "count",
        pl.col("noise").fill_null(0),
        "entities",
        rate.alias("per_1000_entity_days"),
        "name",
        "meaning",
        "origin",
        "role",
        "action",
        "first",
        "last",
    )


def _noisy(ask: Callable[..., pl.DataFrame], rules: Sequence[NoiseRule]) -> pl.DataFrame:
    kinds = sorted({rule.kind for rule in rules if rule.noise})
    rows = ask(_NOISY, [kinds])
    some = rows.filter(is_noise(rules)) if rows.height else rows
    return some.group_by("kind", "code").agg(pl.col("count").sum().alias("noise"))


def _entity_days(observed: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """Give, by kind of entity, for how many days all of them together were looked at."""
    start, end = (observed[name].dt.timestamp("us") for name in ("start", "end"))
    spans = pl.DataFrame({"host": observed["entity"], "start": start, "end": end}).sort("host", "start")
    reached = pl.col("end").cum_max().shift(1).over("host").fill_null(pl.col("start"))
    alone = pl.col("end") - pl.max_horizontal("start", reached)  # what logs that overlap saw together counts once
    looked = spans.with_columns(alone.clip(lower_bound=0).alias("us")).group_by("host").agg(pl.col("us").sum())
    hosts = entities.with_columns(pl.coalesce("host", "entity").alias("host")).unique(["entity"])
    return hosts.join(looked, on="host").group_by(entity_kind="kind").agg((pl.col("us").sum() / _DAY_US).alias("days"))
