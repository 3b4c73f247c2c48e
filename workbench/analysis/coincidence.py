"""Does one event come before another more often than chance: in shifted times, and elsewhere at that minute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.analysis.coincidenceresult import Coincidence, Rate
from workbench.analysis.occurrences import DEFAULT, Occurrences, Places, Rules
from workbench.errors import DataError, NothingToDoError, UsageError
from workbench.kernels.coincidence import Meeting, coalesce, leads, meet, naive_p, shifted_meetings
from workbench.kernels.exposure import Sets, episode_starts, matched_sets
from workbench.kernels.surrogate import add_one_p, random_shifts, spawn
from workbench.model.incident import Incident
from workbench.model.provenance import Provenance
from workbench.timebase import MICROS, format_duration, format_us, parse_duration, to_us
from workbench.version import __version__

if TYPE_CHECKING:
    from workbench.model.selector import Selector
    from workbench.store.store import Store

__all__ = ["Coincidence", "Occurrences", "Places", "Rules", "coincidence", "coincidence_of"]

Ints = NDArray[np.int64]
_TIED = 0.02  # share of events with a stamp shared between places that is worth a word


def coincidence_of(
    a: Occurrences,
    b: Occurrences,
    places: Places,
    *,
    span_us: tuple[int, int],
    within_s: float,
    seed: int,
    rules: Rules = DEFAULT,
) -> Coincidence:
    """Count how often a comes before b at the same place, and what chance would give.

    Parameters
    ----------
    a, b : Occurrences
    places : Places
    span_us : (start, end)
        When somebody was looking, UTC microseconds.
    within_s : float
        Longest lead that counts.
    seed : int
        Of the shifts.
    rules : Rules

    Returns
    -------
    Coincidence

    Raises
    ------
    UsageError
        A window that is empty, or too long for the span.
    DataError
        No a or no b with a known place within the span.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> ts = np.sort(rng.integers(0, 30 * 86_400 * MICROS, 40))
    >>> place = rng.integers(0, 50, 40)
    >>> warn = Occurrences(name="warn", place=place, ts_us=ts, low_us=ts, high_us=ts)
    >>> fail = Occurrences(name="fail", place=place, ts_us=ts + 60 * MICROS, low_us=ts + 60 * MICROS, high_us=ts + 60 * MICROS)
    >>> found = coincidence_of(warn, fail, Places(names=tuple(map(str, range(50)))), span_us=(0, 31 * 86_400 * MICROS),
    ...                        within_s=3600.0, seed=7)
    >>> found.precursor.share, found.holds
    (1.0, True)
    """
    window = _window(within_s, rules.guard_s, span_us)
    kept_a, kept_b = (_inside(one, span_us, len(places.names)) for one in (a, b))
    first_a, first_b = (
        one.take(coalesce(one.place, one.ts_us, round(rules.burst_s * MICROS))) for one in (kept_a, kept_b)
    )
    at_a, at_b = (first_a.place, first_a.high_us), (first_b.place, first_b.low_us)
    triggering, preceded = meet(at_a, at_b, window)
    shifted = _Shifted.draw(at_a, at_b, window, span_us=span_us, rules=rules, seed=seed)
    sets = _sets(at_a, at_b, window, places=places, rules=rules)
    lead = leads(at_a, at_b, window) / MICROS
    followed = int(meet((first_b.place, first_b.high_us), (first_a.place, first_a.low_us), window)[0].sum())
    notes = [
        *shifted.notes, *_left_out(a, kept_a), *_left_out(b, kept_b), *_ties(first_a), *_ties(first_b),
        *_order_notes(first_a, first_b, window, preceded), *_direction(a.name, b.name, followed, int(preceded.sum())),
        *_carried(first_b, preceded, places),
    ]  # fmt: skip
    return Coincidence(
        a=a.name,
        b=b.name,
        within_s=within_s,
        guard_s=rules.guard_s,
        same=places.word,
        precursor=_rate(int(preceded.sum()), preceded.size),
        trigger=_rate(int(triggering.sum()), triggering.size),
        cases=_rate(int(sets.exposed.sum()), sets.exposed.size),
        shift_draws=shifted.preceded[1:],
        p_shift=add_one_p(float(shifted.preceded[0]), shifted.preceded[1:].astype(np.float64)),
        p_trigger=add_one_p(float(shifted.triggering[0]), shifted.triggering[1:].astype(np.float64)),
        matched_expected=float(sets.share.sum()),
        p_matched=sets.p,
        p_naive=naive_p(first_a.place, first_b.place, int(preceded.sum()), window, span=span_us[1] - span_us[0]),
        followed=followed,
        lead_s=np.quantile(lead, [0.25, 0.5, 0.75]) if lead.size else np.full(3, np.nan),
        by_place=_by_place(places, (first_a, triggering), (first_b, preceded)),
        notes=tuple(notes),
        provenance=_provenance(a, b, span_us, within_s=within_s, seed=seed, rules=rules),
    )


def _window(within_s: float, guard_s: float, span_us: tuple[int, int]) -> Meeting:
    window = Meeting(least=max(round(guard_s * MICROS), 1), most=round(within_s * MICROS))
    if window.most < window.least:
        raise UsageError(f"within is {within_s:g} s and the guard {guard_s:g} s: no lead lies between them.")
    span = span_us[1] - span_us[0]
    if 2 * window.most >= span:
        raise UsageError(
            f"The window of {within_s:g} s is more than half of the {max(span, 0) / MICROS:g} s that were looked at; take "
            "a shorter window or a longer span."
        )
    return window


def _inside(events: Occurrences, span_us: tuple[int, int], places: int) -> Occurrences:
    inside = (events.place >= 0) & (events.place < places) & (events.ts_us >= span_us[0]) & (events.ts_us <= span_us[1])
    if not inside.any():
        raise DataError(
            f"None of the {events.place.size} events of {events.name} has a known place and lies between "
            f"{format_us(span_us[0])} and {format_us(span_us[1])}."
        )
    return events.take(inside)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Shifted:
    """Counts on the circle: the observed one first, then the draws."""

    triggering: Ints
    preceded: Ints
    notes: tuple[str, ...]

    @classmethod
    def draw(
        cls,
        at_a: tuple[Ints, Ints],
        at_b: tuple[Ints, Ints],
        window: Meeting,
        *,
        span_us: tuple[int, int],
        rules: Rules,
        seed: int,
    ) -> _Shifted:
        span = span_us[1] - span_us[0]
        wanted = round(rules.least_shift_s * MICROS)
        reach = max(min(wanted, span // 4), window.most + 1)
        notes: tuple[str, ...] = ()
        if wanted > span // 4:
            notes = (
                f"The span is short: shifts of {format_duration(round(reach / MICROS))} and more, not {format_duration(rules.least_shift_s)}.",
            )
        shifts = random_shifts(span, reach, rules.shifts, spawn(seed, 1)[0])
        start = span_us[0]
        counts = shifted_meetings(
            (at_a[0], at_a[1] - start), (at_b[0], at_b[1] - start), window, span=span, shifts=np.append(0, shifts)
        )
        return cls(triggering=counts[0], preceded=counts[1], notes=notes)


def _sets(at_a: tuple[Ints, Ints], at_b: tuple[Ints, Ints], window: Meeting, *, places: Places, rules: Rules) -> Sets:
    apart = max(round(rules.episode_s * MICROS), window.most)
    cases = episode_starts(places.groups()[at_b[0]], at_b[1], apart)
    return matched_sets(
        at_a, at_b, cases=cases, places=len(places.names), window=(window.least, window.most), apart=apart
    )


def _rate(count: int, of: int) -> Rate:
    from scipy.stats import binomtest

    if not of:
        return Rate(count=0, of=0, low=float("nan"), high=float("nan"))
    bounds = binomtest(count, of).proportion_ci(0.95, method="exact")
    return Rate(count=count, of=of, low=float(bounds.low), high=float(bounds.high))


def _left_out(before: Occurrences, after: Occurrences) -> list[str]:
    gone = before.place.size - after.place.size
    return (
        [f"{gone} of {before.place.size} {before.name} have no known place or lie outside the span: left out."]
        if gone
        else []
    )


def _ties(events: Occurrences) -> list[str]:
    """Tell of stamps that several places share: entered as a batch, or one cause."""
    stamps, inverse = np.unique(events.ts_us, return_inverse=True)
    spots = np.unique(np.stack([inverse, events.place], axis=1), axis=0)
    tied = (np.bincount(spots[:, 0], minlength=stamps.size) > 1)[inverse]
    if tied.mean() < _TIED or tied.sum() < 3:
        return []
    share = f"{tied.mean():.0%} of {events.name} share their exact stamp with another place"
    return [f"{share}: a batch entry or one cause, not so many witnesses."]


def _order_notes(a: Occurrences, b: Occurrences, window: Meeting, preceded: NDArray[np.bool_]) -> list[str]:
    recorded = meet((a.place, a.ts_us), (b.place, b.ts_us), window)[1]
    unsure = int((recorded & ~preceded).sum())
    if not unsure:
        return []
    return [f"{unsure} more {b.name} follow {a.name} as recorded, but their clocks cannot tell the order: not counted."]


def _direction(a: str, b: str, followed: int, preceded: int) -> list[str]:
    if not followed or followed < preceded:
        return []
    return [f"{b} is followed by {a} as often ({followed} times) as preceded: {a} may be the consequence."]


def _carried(b: Occurrences, preceded: NDArray[np.bool_], places: Places) -> list[str]:
    """Tell where one place makes most of it."""
    counts = np.bincount(b.place[preceded], minlength=len(places.names))
    most = int(counts.argmax()) if counts.size else 0
    if counts.size < 2 or counts.sum() < 3 or counts[most] <= counts.sum() / 2:
        return []
    return [
        f"{counts[most]} of the {counts.sum()} preceded {b.name} are on {places.names[most]}: one place carries it."
    ]


def _by_place(
    places: Places, a: tuple[Occurrences, NDArray[np.bool_]], b: tuple[Occurrences, NDArray[np.bool_]]
) -> pl.DataFrame:
    size = len(places.names)
    count = {
        "a": np.bincount(a[0].place, minlength=size),
        "b": np.bincount(b[0].place, minlength=size),
        "preceded": np.bincount(b[0].place[b[1]], minlength=size),
        "triggering": np.bincount(a[0].place[a[1]], minlength=size),
    }
    table = pl.DataFrame({"place": list(places.names), **count}).filter(pl.col("a") + pl.col("b") > 0)
    return table.sort("preceded", "b", "a", "place", descending=[True, True, True, False])


def _provenance(
    a: Occurrences, b: Occurrences, span_us: tuple[int, int], *, within_s: float, seed: int, rules: Rules
) -> Provenance:
    digest = sha256()
    for one in (a, b):
        for part in (one.place, one.ts_us, one.low_us, one.high_us):
            digest.update(np.ascontiguousarray(part, dtype=np.int64).tobytes())
    settings = {name: value for name, value in asdict(rules).items() if name != "span"}
    return Provenance(
        function="wb.coincidence",
        inputs=f"sha256:{digest.hexdigest()}",
        parameters={
            "a": a.name, "b": b.name, "within_s": within_s, "from": format_us(span_us[0]), "to": format_us(span_us[1]), **settings,
        },
        seed=seed,
        version=__version__,
    )  # fmt: skip


def coincidence(
    store: Store,
    *,
    a: Selector | str,
    b: Selector | str,
    within: str | float,
    seed: int,
    same: Literal["host", "entity"] = "host",
    guard: str | float = 0.0,
    rules: Rules = DEFAULT,
) -> Coincidence:
    """Ask of a store whether a comes before b more often than chance.

    Parameters
    ----------
    store : Store
    a, b : Selector or str
        Such as ``wb.event("aer")`` or ``"xid:79"``.
    within, guard : duration
        Longest and shortest lead that counts.
    seed : int
        Of the shifts; the same seed gives the same answer.
    same : {"host", "entity"}
        Where a and b must meet: on one host, or on the very same entity.
    rules : Rules
        Everything else; ``guard`` here goes before the one in it.

    Returns
    -------
    Coincidence

    Raises
    ------
    UnknownNameError, NothingToDoError
        No events of that kind, code or place.
    UsageError, DataError
        As :func:`coincidence_of`.

    Notes
    -----
    Events that concern several hosts at once, such as a job's end, are left out and counted: for
    them ``wb.judge`` compares jobs.
    """
    if same not in ("host", "entity"):
        raise UsageError(f"same={same!r} is not known; take host or entity.")
    found_a, found_b = (store.incidents(selector, collapse_s=0.0) for selector in (a, b))
    rules = replace(rules, guard_s=parse_duration(guard) or rules.guard_s)
    span_us = _span(store, rules)
    places = _places(store, [*found_a.items, *found_b.items], same, span_us)
    index = {name: at for at, name in enumerate(places.names)}
    first, second = (_occurrences(str(one.outcome), one.items, index, same) for one in (found_a, found_b))
    result = coincidence_of(
        first, second, places, span_us=span_us, within_s=parse_duration(within), seed=seed, rules=rules
    )
    told = replace(
        result.provenance,
        inputs=f"{store.path}@{store.version}",
        parameters={**result.provenance.parameters, "same": same},
    )
    return replace(result, provenance=told)


def _place_of(incident: Incident, same: str) -> str | None:
    return incident.entity if same == "entity" else incident.host


def _occurrences(name: str, items: Sequence[Incident], index: dict[str, int], same: str) -> Occurrences:
    place = [index.get(_place_of(one, same) or "", -1) for one in items]
    times = [[to_us(moment) for moment in (one.ts, one.ts_low, one.ts_high)] for one in items]
    ts, low, high = np.array(times, dtype=np.int64).reshape(-1, 3).T
    return Occurrences(name=name, place=np.array(place, dtype=np.int64), ts_us=ts, low_us=low, high_us=high)


def _span(store: Store, rules: Rules) -> tuple[int, int]:
    if rules.span is not None:
        low, high = (to_us(moment) for moment in rules.span)
        return low, high
    seen = store.observed().filter(pl.col("what").is_in(["events", "jobs"]))
    first, last = seen["start"].min(), seen["end"].max()
    if not isinstance(first, datetime) or not isinstance(last, datetime):
        raise NothingToDoError("The store does not say when anybody looked for events; give Rules(span=(start, end)).")
    return to_us(first), to_us(last)


def _places(store: Store, items: Sequence[Incident], same: str, span_us: tuple[int, int]) -> Places:
    """Give every place of the kinds that the events name, with its rack."""
    from workbench.store.places import Places as Links
    from workbench.store.places import kind_of

    named = {place for one in items if (place := _place_of(one, same)) is not None}
    kinds = {kind_of(place) for place in named}
    known = store.entities().filter(pl.col("kind").is_in(sorted(kinds)))["entity"].to_list()
    names = tuple(sorted(named | set(known)))
    links, middle = Links.of(store.links()), (span_us[0] + span_us[1]) // 2
    racks = [links.rack(name, middle) for name in names]
    number = {rack: at for at, rack in enumerate(sorted({rack for rack in racks if rack}))}
    group = np.array([number[rack] if rack else -1 for rack in racks], dtype=np.int64)
    return Places(names=names, group=group, word=same)
