"""Which kinds of event come before which others, at the same place or along links, all ordered pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from workbench.analysis.mixedevents import MixedEvents, Same, looked_at, mixed_events, store_events
from workbench.analysis.occurrences import DEFAULT, Places, Rules
from workbench.analysis.propagationpairs import Asked, Progress
from workbench.analysis.propagationresult import ALPHA, Propagation
from workbench.errors import DataError, ResourceError, UsageError
from workbench.kernels.multiplicity import adjusted_p
from workbench.model.provenance import Provenance
from workbench.timebase import MICROS, format_us, parse_duration
from workbench.version import __version__

if TYPE_CHECKING:
    from workbench.model.selector import Selector
    from workbench.store.store import Store

__all__ = ["Propagation", "propagation", "propagation_of"]

Fdr = Literal["bh", "by"]

#: Bursts of a kind below which it is not asked: nothing could come of it.
LEAST_EVENTS = 5
_MOST_KINDS = 2000
_TIED = 0.02  # share of events with a stamp shared between kinds at one place that is worth a word


def propagation_of(
    events: MixedEvents,
    places: Places,
    *,
    span_us: tuple[int, int],
    within_s: float,
    seed: int,
    rules: Rules = DEFAULT,
    fdr: Fdr = "by",
    progress: Progress | None = None,
) -> Propagation:
    """Count, for every ordered pair of kinds, how often one comes before the other, and what chance would give.

    Parameters
    ----------
    events : MixedEvents
    places : Places
        Only places of one class stand in for each other.
    span_us : (start, end)
        When somebody was looking, UTC microseconds.
    within_s : float
        Longest lead that counts.
    seed : int
        Of the shifts.
    rules : Rules
    fdr : {"by", "bh"}
        q over pairs: Benjamini-Yekutieli, under any dependence, or Benjamini-Hochberg.
    progress : callable, optional
        Called with kinds done, kinds in all, and the kind.

    Returns
    -------
    Propagation

    Raises
    ------
    UsageError
        A window that is empty, or too long for the span.
    DataError
        Nothing with a known place within the span; no two kinds that could meet.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> ts, place = rng.integers(0, 30 * 86_400 * MICROS, 40), rng.integers(0, 50, 40)
    >>> ts = np.concatenate([ts, ts + 60 * MICROS])
    >>> events = MixedEvents(names=("warn", "fail"), kind=np.repeat([0, 1], 40), place=np.tile(place, 2), ts_us=ts,
    ...                      low_us=ts, high_us=ts)
    >>> found = propagation_of(events, Places(names=tuple(map(str, range(50)))), span_us=(0, 31 * 86_400 * MICROS),
    ...                        within_s=3600.0, seed=7)
    >>> found.holding.select("a", "b", "share_preceded", "delay_s").rows()
    [('warn', 'fail', 1.0, 60.0)]
    """
    window = _window(within_s, rules.guard_s, span_us)
    inside = events.inside(span_us)
    first = inside.bursts(round(rules.burst_s * MICROS))
    first = first.take(np.bincount(first.kind, minlength=len(first.names))[first.kind] >= LEAST_EVENTS)
    names, number = np.unique(first.kind, return_inverse=True)
    if names.size > _MOST_KINDS:
        raise ResourceError(
            f"{names.size} kinds of event are too many for all pairs of them; name at most {_MOST_KINDS}."
        )
    chosen = replace(first, names=tuple(events.names[at] for at in names.tolist()), kind=number.astype(np.int64))
    asked = Asked(events=chosen, places=places, window=window, span_us=span_us, rules=rules)
    tested = asked.can_meet()
    if not tested.any():
        raise DataError(
            f"No two kinds of event with {LEAST_EVENTS} or more bursts each are ever at one place; take a wider place, "
            "such as same='rack', or look at more data."
        )
    null, notes = asked.shifted(tested, seed)
    pairs = asked.table(tested, null, progress)
    q = adjusted_p(pairs["p_matched"].to_numpy(), dependent=fdr == "by", tested=int(tested.sum()))
    pairs = pairs.with_columns(q=pl.Series(q))
    pairs = pairs.with_columns(holds=(pl.col("q") <= ALPHA) & (pl.col("p_family") <= ALPHA))
    return Propagation(
        within_s=within_s,
        guard_s=rules.guard_s,
        same=places.word,
        kinds=len(chosen.names),
        tested=int(tested.sum()),
        pairs=_ordered(pairs),
        notes=(*notes, *_left_out(events, inside, first), *_ties(chosen), *_both_ways(pairs)),
        provenance=_provenance(events, span_us, within_s=within_s, seed=seed, rules=rules, fdr=fdr),
    )


def _window(within_s: float, guard_s: float, span_us: tuple[int, int]) -> tuple[int, int]:
    least, most, span = max(round(guard_s * MICROS), 1), round(within_s * MICROS), span_us[1] - span_us[0]
    if most < least:
        raise UsageError(f"within is {within_s:g} s and the guard {guard_s:g} s: no lead lies between them.")
    if 4 * most >= span:
        raise UsageError(
            f"The window of {within_s:g} s is more than a quarter of the {max(span, 0) / MICROS:g} s that were looked at; "
            "take a shorter window or a longer span."
        )
    return least, most


def _ordered(pairs: pl.DataFrame) -> pl.DataFrame:
    worst = pl.max_horizontal(pl.col("q").fill_nan(2.0), pl.col("p_family"))
    return pairs.sort(~pl.col("holds"), worst, pl.col("p_matched").fill_nan(2.0), "a", "b")


def _left_out(events: MixedEvents, inside: MixedEvents, asked: MixedEvents) -> list[str]:
    notes, gone = [], events.kind.size - inside.kind.size
    if gone:
        notes.append(f"{gone} of {events.kind.size} events have no known place or lie outside the span: left out.")
    rare = len(np.unique(inside.kind)) - len(np.unique(asked.kind))
    if rare:
        notes.append(f"{rare} {'kind has' if rare == 1 else 'kinds have'} fewer than {LEAST_EVENTS} bursts: not asked.")
    return notes


def _ties(events: MixedEvents) -> list[str]:
    """Tell of stamps that several kinds share at one place: they are in no order and do not meet."""
    spots = np.stack([events.place, events.ts_us], axis=1)
    _, inverse, count = np.unique(spots, axis=0, return_inverse=True, return_counts=True)
    tied = count[inverse.ravel()] > 1
    if tied.mean() < _TIED or tied.sum() < 3:
        return []
    return [f"{tied.mean():.0%} of events share stamp and place with one of another kind: in no order, so not counted."]


def _both_ways(pairs: pl.DataFrame) -> list[str]:
    held = pairs.filter("holds", pl.col("reverse") >= pl.col("preceded"))
    told = ", ".join(f"{row['b']} before {row['a']}" for row in held.head(3).iter_rows(named=True))
    return [f"As often the other way round: {told}."] if held.height else []


def _provenance(
    events: MixedEvents, span_us: tuple[int, int], *, within_s: float, seed: int, rules: Rules, fdr: str
) -> Provenance:
    digest = sha256("\n".join(events.names).encode())
    for part in (events.kind, events.place, events.ts_us, events.low_us, events.high_us):
        digest.update(np.ascontiguousarray(part, dtype=np.int64).tobytes())
    settings = {name: value for name, value in asdict(rules).items() if name != "span"}
    return Provenance(
        function="wb.propagation",
        inputs=f"sha256:{digest.hexdigest()}",
        parameters={
            "within_s": within_s, "fdr": fdr, "from": format_us(span_us[0]), "to": format_us(span_us[1]), **settings,
        },
        seed=seed,
        version=__version__,
    )  # fmt: skip


def propagation(  # noqa: PLR0913 -- which kinds, where, which leads, how counted
    store: Store,
    *,
    within: str | float,
    seed: int,
    kinds: Sequence[Selector | str] | None = None,
    same: Same = "host",
    guard: str | float = 0.0,
    rules: Rules = DEFAULT,
    fdr: Fdr = "by",
    progress: Progress | None = None,
) -> Propagation:
    """Ask of a store which kinds of event come before which others more often than chance.

    Parameters
    ----------
    store : Store
    within, guard : duration
        Longest and shortest lead that counts.
    seed : int
        Of the shifts; the same seed gives the same answer.
    kinds : sequence of Selector or str, optional
        Such as ``["xid:122", "xid:31", "link"]``; each is one kind. Not given: every kind and code.
    same : {"entity", "host", "rack", "linked"}
        Where the two must be. ``linked``: the first on one device, the second on the host or switch
        at the other end of one of its links; a host or switch has all links of its ports.
    rules : Rules
        Everything else; ``guard`` here goes before the one in it.
    fdr, progress
        As :func:`propagation_of`.

    Returns
    -------
    Propagation

    Raises
    ------
    UnknownNameError, NothingToDoError
        No events of a kind; no links for ``same="linked"``.
    UsageError, DataError, ResourceError
        As :func:`propagation_of`.
    """
    rules = replace(rules, guard_s=parse_duration(guard) or rules.guard_s)
    span_us = looked_at(store, rules)
    events, places = mixed_events(store, store_events(store, kinds), same, span_us)
    found = propagation_of(
        events, places, span_us=span_us, within_s=parse_duration(within), seed=seed, rules=rules, fdr=fdr, progress=progress
    )  # fmt: skip
    written = None if kinds is None else [str(one) for one in kinds]
    told = replace(
        found.provenance,
        inputs=f"{store.path}@{store.version}",
        parameters={**found.provenance.parameters, "kinds": written, "same": same},
    )
    return replace(found, same=same, provenance=told)
