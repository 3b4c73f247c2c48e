"""Whether what failed fails again more often than the time it was observed gives, and which places stand out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.analysis.exposure import Exposure, known_exposure, stated_exposure
from workbench.analysis.mixedevents import looked_at, mixed_events, store_events
from workbench.analysis.occurrences import DEFAULT, Occurrences, Places, Rules
from workbench.analysis.recurrenceresult import ALPHA, Recurrence
from workbench.errors import DataError, UsageError
from workbench.kernels.coincidence import coalesce
from workbench.kernels.multiplicity import adjusted_p
from workbench.kernels.propagate import tail
from workbench.kernels.recur import RiskSets, again_within, poisson_bounds, risk_sets, same_pairs, shrunken
from workbench.kernels.surrogate import add_one_p, spawn
from workbench.model.provenance import Provenance
from workbench.timebase import MICROS, format_us, parse_duration
from workbench.version import __version__

if TYPE_CHECKING:
    from workbench.model.selector import Selector
    from workbench.store.store import Store

__all__ = ["Recurrence", "recurrence", "recurrence_of"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_DAY_US = 86_400 * MICROS
_HORIZONS_S = (3600, 4 * 3600, 86400, 3 * 86400, 7 * 86400, 30 * 86400, 90 * 86400, 365 * 86400)
_LEAST = 3  # failures of which anything could be told


def recurrence_of(
    failures: Occurrences,
    places: Places,
    *,
    span_us: tuple[int, int],
    seed: int,
    exposure: Exposure | None = None,
    burst_s: float = 3600.0,
    rules: Rules = DEFAULT,
) -> Recurrence:
    """Hold repeated failures of the same place against failures dealt out by chance to what was at risk.

    Parameters
    ----------
    failures : Occurrences
    places : Places
        Every place at risk; only places of one class stand in for each other.
    span_us : (start, end)
        When somebody was looking, UTC microseconds.
    seed : int
        Of the draws.
    exposure : Exposure, optional
        When each place was observed; the whole span if not given.
    burst_s : float
        Failures at one place, each within this of the one before, are one.
    rules : Rules
        ``episode_s`` (in one rack, else place) and ``shifts`` (here: draws).

    Returns
    -------
    Recurrence

    Raises
    ------
    DataError
        Fewer than three failures with a known place that was observed then.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> place = np.append(rng.integers(0, 200, 30), np.full(6, 77))
    >>> ts = rng.integers(0, 90 * _DAY_US, 36)
    >>> failed = Occurrences(name="xid:79", place=place, ts_us=ts, low_us=ts, high_us=ts)
    >>> found = recurrence_of(failed, Places(names=tuple(map(str, range(200)))), span_us=(0, 90 * _DAY_US), seed=7)
    >>> found.holds, found.standing_out["place"].to_list()
    (True, ['77'])
    """
    total = len(places.names)
    seen = (exposure or Exposure.whole(total, span_us)).within(span_us)
    kept, notes = _kept(failures, places, seen, span_us)
    one = kept.take(coalesce(kept.place, kept.ts_us, round(burst_s * MICROS)))
    one = _by_name(one, places)
    if one.place.size < _LEAST:
        raise DataError(
            f"{one.place.size} failures {failures.name} (bursts count once) at observed places; {_LEAST} are the fewest that "
            "can tell of repetition."
        )
    stretches = (_rank(places)[seen.place], seen.start_us, seen.end_us)
    classes = np.empty(total, np.int64)
    classes[_rank(places)] = places.classes()
    sets = risk_sets(stretches, (_rank(places)[one.place], one.ts_us), classes)
    draw_rng, pick_rng = spawn(seed, 2)
    cases = _one_of_each(one, places, round(rules.episode_s * MICROS), pick_rng)
    repeats = _Repeats.of(one, cases, sets, places=places, span_us=span_us, draws=rules.shifts, rng=draw_rng)
    return Recurrence(
        outcome=failures.name,
        same=places.word,
        failures=one.place.size,
        episodes=cases.size,
        places=int(np.unique(seen.place).size),
        pairs=repeats.pairs,
        draws=repeats.drawn,
        p=add_one_p(float(repeats.pairs), repeats.drawn.astype(np.float64)),
        gaps=repeats.gaps,
        lemons=_lemons(one, sets, seen.days(total), places),
        notes=(*notes, *repeats.notes),
        provenance=_provenance(failures, seen, span_us, seed=seed, burst_s=burst_s, rules=rules),
    )


def _rank(places: Places) -> Ints:
    """(place,) int64: position of each name in order, so that the order of places changes no draw."""
    rank: Ints = np.argsort(np.argsort(np.array(places.names, dtype=object), kind="stable"), kind="stable")
    return rank


def _by_name(failures: Occurrences, places: Places) -> Occurrences:
    return failures.take(np.lexsort((_rank(places)[failures.place], failures.ts_us)))


def _kept(
    failures: Occurrences, places: Places, seen: Exposure, span_us: tuple[int, int]
) -> tuple[Occurrences, list[str]]:
    inside = (failures.place >= 0) & (failures.place < len(places.names))
    inside &= (failures.ts_us >= span_us[0]) & (failures.ts_us <= span_us[1])
    known = failures.take(inside)
    order = np.argsort(seen.place, kind="stable")
    starts = np.searchsorted(seen.place[order], np.arange(len(places.names) + 1))
    observed = np.zeros(known.place.size, bool)
    for at, (place, ts) in enumerate(zip(known.place.tolist(), known.ts_us.tolist(), strict=True)):
        own = order[starts[place] : starts[place + 1]]
        observed[at] = bool(((seen.start_us[own] <= ts) & (seen.end_us[own] >= ts)).any())
    notes = []
    if not inside.all():
        gone = int((~inside).sum())
        notes.append(f"{gone} of {inside.size} {failures.name} have no known place or lie outside the span: left out.")
    if not observed.all():
        notes.append(
            f"{int((~observed).sum())} more happened where and when nobody is said to have observed: left out."
        )
    return known.take(observed), notes


def _one_of_each(failures: Occurrences, places: Places, gap_us: int, rng: np.random.Generator) -> Ints:
    """Choose one failure of each episode of a group, any of them: what a rack did at once is one witness."""
    group = places.groups()[failures.place]
    order = np.lexsort((failures.ts_us, group))
    fresh = np.ones(order.size, bool)
    fresh[1:] = (np.diff(group[order]) != 0) | (np.diff(failures.ts_us[order]) > gap_us)
    episode = np.cumsum(fresh) - 1
    first = np.lexsort((rng.random(group.size)[order], episode))
    chosen = order[first[np.unique(episode[first], return_index=True)[1]]]
    return np.sort(chosen)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Repeats:
    """Pairs at one place and how soon, observed and drawn."""

    pairs: int
    drawn: Ints
    gaps: pl.DataFrame
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        failures: Occurrences,
        cases: Ints,
        sets: RiskSets,
        *,
        places: Places,
        span_us: tuple[int, int],
        draws: int,
        rng: np.random.Generator,
    ) -> _Repeats:
        rank = _rank(places)
        groups = np.empty(rank.size, np.int64)
        groups[rank] = places.groups()
        place, time = rank[failures.place[cases]], failures.ts_us[cases]
        dealt = RiskSets(of=sets.of[cases], starts=sets.starts, places=sets.places)
        length = span_us[1] - span_us[0]
        horizons = np.array(
            [h * MICROS for h in _HORIZONS_S if 2 * h * MICROS <= length] or [length // 4], dtype=np.int64
        )
        counts = np.zeros((draws, 2 + horizons.size), np.int64)
        for at in range(draws):
            counts[at] = _measures(dealt.deal(rng), time, groups, horizons=horizons, end=span_us[1])
        observed = _measures(place, time, groups, horizons=horizons, end=span_us[1])
        of = [int((time <= span_us[1] - h).sum()) for h in horizons.tolist()]
        gaps = _gap_table(horizons, observed[2:], of, counts[:, 2:])
        apart = add_one_p(float(observed[1]), counts[:, 1].astype(np.float64))
        notes: tuple[str, ...] = ()
        if apart <= ALPHA:
            ratio = observed[1] / max(counts[:, 1].mean(), 1e-9)
            more = f"Different places of one rack also repeat ({ratio:.1f} times chance, p = {apart:.2g})"
            notes = (f"{more}: a place may stand out for its rack.",)
        return cls(pairs=int(observed[0]), drawn=counts[:, 0], gaps=gaps, notes=notes)


def _measures(place: Ints, time: Ints, groups: Ints, *, horizons: Ints, end: int) -> Ints:
    """Give pairs at one place, pairs at different places of one group, and repeats within each horizon."""
    same = same_pairs(place)
    return np.array([same, same_pairs(groups[place]) - same, *again_within(place, time, horizons, end)], dtype=np.int64)


def _gap_table(horizons: Ints, again: Ints, of: list[int], drawn: Ints) -> pl.DataFrame:
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return pl.DataFrame(
        {
            "within_s": horizons / MICROS,
            "again": again,
            "of": of,
            "share": [
                count / total if total else float("nan") for count, total in zip(again.tolist(), of, strict=True)
            ],
            "expected": drawn.mean(axis=0),
            "expected_low": low,
            "expected_high": high,
            "p": [add_one_p(float(one), draws.astype(np.float64)) for one, draws in zip(again, drawn.T, strict=True)],
        }
    )


def _lemons(failures: Occurrences, sets: RiskSets, days: Floats, places: Places) -> pl.DataFrame:
    rank, total = _rank(places), len(places.names)
    count = np.bincount(failures.place, minlength=total)
    expected = sets.expected(total)[rank]
    p = np.where(expected > 0, 1.0, np.nan)
    for at in np.flatnonzero(count).tolist():
        p[at] = tail(sets.chances(int(rank[at])), int(count[at]))
    low, high = poisson_bounds(count, days)
    ratio, shrunk_low, shrunk_high, _ = shrunken(count, expected)
    with np.errstate(invalid="ignore", divide="ignore"):
        table = pl.DataFrame(
            {
                "place": list(places.names),
                "failures": count,
                "exposure_days": days,
                "rate_per_day": np.where(days > 0, count / days, np.nan),
                "rate_low": low,
                "rate_high": high,
                "expected": expected,
                "ratio": np.where(expected > 0, count / expected, np.nan),
                "shrunken": ratio,
                "shrunken_low": shrunk_low,
                "shrunken_high": shrunk_high,
                "p": p,
                "q": adjusted_p(p, dependent=False),
            }
        )
    table = table.filter((pl.col("exposure_days") > 0) | (pl.col("failures") > 0))
    return table.sort(pl.col("p").fill_nan(2.0), -pl.col("failures"), "place")


def _provenance(
    failures: Occurrences, seen: Exposure, span_us: tuple[int, int], *, seed: int, burst_s: float, rules: Rules
) -> Provenance:
    digest = sha256()
    for part in (failures.place, failures.ts_us, seen.place, seen.start_us, seen.end_us):
        digest.update(np.ascontiguousarray(part, dtype=np.int64).tobytes())
    settings = {name: value for name, value in asdict(rules).items() if name in ("episode_s", "shifts")}
    return Provenance(
        function="wb.recurrence",
        inputs=f"sha256:{digest.hexdigest()}",
        parameters={
            "outcome": failures.name, "burst_s": burst_s, "from": format_us(span_us[0]), "to": format_us(span_us[1]), **settings,
        },
        seed=seed,
        version=__version__,
    )  # fmt: skip


def recurrence(
    store: Store,
    *,
    outcome: Selector | str,
    seed: int,
    same: Literal["entity", "host", "rack"] = "entity",
    burst: str | float = "1h",
    exposure: pl.DataFrame | None = None,
    rules: Rules = DEFAULT,
) -> Recurrence:
    """Ask of a store whether the same devices fail again more than their exposure gives, and which stand out.

    Parameters
    ----------
    store : Store
    outcome : Selector or str
        Such as ``"xid:48,94,95"``.
    seed : int
        Of the draws; the same seed gives the same answer.
    same : {"entity", "host", "rack"}
        What fails again.
    burst : duration
        Failures at one place, each within this of the one before, are one: a repair takes time.
    exposure : polars.DataFrame, optional
        ``place, start, end`` (UTC): when each place was in service. Not given: from the first to the
        last time that the store knows anything of the place or its host, the whole span where it
        knows nothing.
    rules : Rules
        ``span``, ``episode_s`` and ``shifts`` (here: draws).

    Returns
    -------
    Recurrence

    Raises
    ------
    UnknownNameError, NothingToDoError
        No such events.
    UsageError, DataError, ResourceError
        As :func:`recurrence_of`.
    """
    if same not in ("entity", "host", "rack"):
        raise UsageError(f"same={same!r} is not known; take entity, host or rack.")
    span_us = looked_at(store, rules)
    events, places = mixed_events(store, store_events(store, [outcome]), same, span_us)
    failures = Occurrences(
        name=events.names[0], place=events.place, ts_us=events.ts_us, low_us=events.low_us, high_us=events.high_us
    )
    seen = known_exposure(store, places, failures, span_us) if exposure is None else stated_exposure(exposure, places)
    found = recurrence_of(
        failures, places, span_us=span_us, seed=seed, exposure=seen, burst_s=parse_duration(burst), rules=rules
    )
    told = replace(
        found.provenance,
        inputs=f"{store.path}@{store.version}",
        parameters={**found.provenance.parameters, "same": same, "exposure": "known" if exposure is None else "stated"},
    )
    return replace(found, provenance=told)
