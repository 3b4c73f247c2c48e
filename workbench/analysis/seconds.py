"""Does one kind of event come within seconds before the outcome at the same device, and in that order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.checks import FAILED, PASSED, Check
from workbench.analysis.evidence import Blocked, Evidence
from workbench.analysis.settings import Settings
from workbench.kernels.coincidence import coalesce
from workbench.kernels.effect import Share
from workbench.kernels.seconds import Ordered, Together, ordered, sign_p, together
from workbench.model.incident import Incident
from workbench.model.verdict import Lead, Reading
from workbench.panel.peers import host_of, kind_of
from workbench.panel.seconds import SecondsView
from workbench.timebase import MICROS, format_duration, to_us

__all__ = ["LEAST_DEVICES", "NEEDED", "WITHIN_S", "measure_seconds"]

#: Checks that must have passed before SUPPORTED.
NEEDED = ("order", "devices", "top_device")
WITHIN_S = 5.0
LEAST_DEVICES = 3
LEAST_ORDERED = 5  # 2^-5 = .03; four cannot reach .05
_BURST_US = 5 * MICROS
Ints = NDArray[np.int64]
Progress = Callable[[float, float, str], None]


def measure_seconds(
    view: SecondsView,
    incidents: Sequence[Incident],
    *,
    before_s: float,
    seed: int,  # noqa: ARG001 -- every procedure takes it; here each p is exact and nothing is drawn
    settings: Settings | None = None,
    hypotheses: int | None = None,  # noqa: ARG001 -- likewise
    progress: Progress | None = None,
) -> list[Evidence]:
    """Measure of every kind of event whether it comes within seconds before the outcome, at the same device.

    Parameters
    ----------
    view : SecondsView
    incidents : sequence of Incident
        Of one outcome; best not merged over more than 5 s, for what was merged away is in no pair.
    before_s : float
        Longest lead that counts, seconds; more than 5 is asked as 5, as it was measured.
    seed, hypotheses
        Not used: every p is exact.
    settings : Settings, optional
    progress : callable, optional
        Called with kinds done, kinds in all, and the kind.

    Returns
    -------
    list of Evidence
        One per kind, by name, of scale ``seconds``.

    Notes
    -----
    "Together" and "a then b" are two readings: minutes that are rich in both, and a hidden cause of
    both, go together without an order. SUPPORTED needs both, three devices, and the order without the
    device that has most pairs (scopes.md, section 4). It is propagation: a lead shorter than an alarm
    takes is no early warning.
    """
    asked = settings or Settings()
    found = []
    order = sorted(range(len(view.signals)), key=lambda at: view.signals[at].name)
    for number, at in enumerate(order):
        found.append(_Pair.of(view, incidents, at, min(before_s, WITHIN_S)).evidence(asked))
        if progress is not None:
            progress(number + 1, len(order), view.signals[at].name)
    return found


@dataclass(frozen=True, eq=False, kw_only=True)
class _Pair:
    """One kind and the outcome at places they may share; bursts are one, events too blurred are gone."""

    view: SecondsView
    at: int
    incidents: int
    places: tuple[str, ...]
    scope: str
    a: tuple[Ints, Ints]
    b: tuple[Ints, Ints]
    within_s: float
    unsure_s: float
    why_unsure: str
    blurred: int
    coverage: float

    @classmethod
    def of(cls, view: SecondsView, incidents: Sequence[Incident], at: int, within_s: float) -> _Pair:
        """Put both on devices: the very entities where both are of one kind, else their hosts."""
        mine = view.kind == at
        scope = view.signals[at].scope
        kinds = [kind_of(one.entity) for one in incidents]
        same = bool(kinds) and kinds.count(scope) > len(kinds) / 2
        where = [view.entities[k] if same else host_of(view.entities[k]) or "" for k in view.entity[mine].tolist()]
        hits = [(name, one) for one in incidents for name in _places_of(one, same=same)]
        names = tuple(sorted({*where, *(name for name, _ in hits)} - {""}))
        index = {name: number for number, name in enumerate(names)} | {"": -1}
        moments = np.array([[to_us(one.ts), to_us(one.ts_high) - to_us(one.ts_low)] for _, one in hits], dtype=np.int64)
        ts_b, blur_b = moments.reshape(-1, 2).T
        a = _sharp((_numbers(where, index), view.ts_us[mine]), (view.high_us - view.low_us)[mine], within_s)
        b = _sharp((_numbers([name for name, _ in hits], index), ts_b), blur_b, within_s)
        unsure_s, why = _unsure(view.between_s(at), a[1] + b[1], within_s)
        looked = [
            view.looked(host_of(names[k]) or names[k], ts)
            for k, ts in zip(*(part.tolist() for part in b[0]), strict=True)
        ]
        return cls(
            view=view, at=at, incidents=len(incidents), places=names, scope=scope if same else "host", a=a[0], b=b[0],
            within_s=within_s, unsure_s=unsure_s, why_unsure=why, blurred=a[2] + b[2],
            coverage=float(np.mean(looked)) if looked else 0.0,
        )  # fmt: skip

    def evidence(self, settings: Settings) -> Evidence:
        """Measure it, or say why it cannot be measured."""
        start = Evidence(
            info=replace(self.view.signals[self.at], scope=self.scope), scope=self.scope, incidents=self.incidents,
            episodes=int(self.b[0].size), scale="seconds", needed=NEEDED, least=LEAST_ORDERED, guard_s=self.unsure_s,
            coverage=self.coverage, near_s=self.unsure_s, far_s=self.unsure_s + self.within_s,
            feature=f"onset up to {format_duration(self.within_s)} before, same {self.scope}",
        )  # fmt: skip
        shared = min(int(np.isin(self.a[0], self.b[0]).sum()), int(np.isin(self.b[0], self.a[0]).sum()))
        if shared < LEAST_ORDERED:
            why = f"{shared} episodes on a {self.scope} that had both, {LEAST_ORDERED} are the fewest"
            return replace(start, blocked=Blocked(reading=Reading.NOT_ENOUGH.value, why=why))
        reach = round((self.within_s + self.unsure_s) * MICROS)
        met = together(self.a, self.b, reach=reach)
        if self.why_unsure:
            order = Ordered(
                forward=np.zeros_like(met.near), backward=np.zeros_like(met.near), gap_us=np.full(met.near.size, np.nan)
            )
        else:
            order = ordered(self.a, self.b, unsure=round(self.unsure_s * MICROS), window=round(self.within_s * MICROS))
        return self._read(start, met, order, settings)

    def _read(self, start: Evidence, met: Together, order: Ordered, settings: Settings) -> Evidence:
        forward, backward, size = int(order.forward.sum()), int(order.backward.sum()), int(self.a[0].size)
        reverse = sign_p(backward, forward)
        there = _Devices.of(self.a[0], order.forward, order.backward, self.places)
        back = _Devices.of(self.a[0], order.backward, order.forward, self.places)
        lag = float(np.nanmedian(order.gap_us)) / MICROS if forward else float("nan")
        measured = replace(
            start, z=(forward - backward) / max(forward + backward, 1) ** 0.5, p=met.p,
            p_unguarded=max(met.p, reverse), sets=forward + backward if forward + backward >= LEAST_ORDERED else int(met.near.sum()),
            share=_share(forward, size), moved=self._words(met, order, lag),
            lead=Lead(median=lag, low=max(lag - self.unsure_s, 0.0), high=lag + self.unsure_s) if forward else Lead(),
            notes={
                "a_episodes": float(size), "together": float(met.near.sum()), "together_expected": float(met.chance.sum()),
                "forward": float(forward), "backward": float(backward), "p_together": met.p, "p_order": order.p,
                "p_reverse": reverse, "devices": float(there.count), "unsure_s": self.unsure_s, "blurred_left_out": float(self.blurred),
            },
        )  # fmt: skip
        if reverse <= settings.alpha and back.count >= LEAST_DEVICES and back.p_without_top <= settings.alpha:
            check = Check(state=FAILED, about="it follows the outcome", numbers={"p": reverse})
            return replace(measured, p=max(met.p, order.p), reversed_unguarded=check)
        if order.p > settings.alpha:
            return replace(
                measured, if_found=Blocked(reading=Reading.CANDIDATE.value, why=self._unordered(forward, backward))
            )
        return replace(measured, p=max(met.p, order.p), **_checks(order.p, there, settings))

    def _unordered(self, forward: int, backward: int) -> str:
        if self.why_unsure:
            return f"together, order unknown ({self.why_unsure})"
        return f"together, order unknown ({forward} before and {backward} after the outcome by more than {self.unsure_s:.3g} s)"

    def _words(self, met: Together, order: Ordered, lag: float) -> str:
        name, size = self.view.signals[self.at].name, int(self.a[0].size)
        text = (
            f"{int(met.near.sum())} of {size} episodes of {name} have the outcome on the same {self.scope} within "
            f"{self.within_s + self.unsure_s:.3g} s either way; {met.chance.sum():.2g} would if moved about within minutes."
        )
        forward = int(order.forward.sum())
        if not forward:
            return text
        share = _share(forward, size)
        return (
            f"{text} It follows {forward} of them ({share.estimate:.0%}, {share.low:.0%} to {share.high:.0%}), median lag "
            f"{lag:.3g} s give or take {self.unsure_s:.2g} s, and comes before {int(order.backward.sum())}. This is propagation: a "
            "lead shorter than an alarm takes is no early warning."
        )


@dataclass(frozen=True, kw_only=True)
class _Devices:
    """On how many devices pairs are in one order, and the sign test without the one that has most."""

    count: int
    top: str
    p_without_top: float

    @classmethod
    def of(cls, place: Ints, one: NDArray[np.bool_], other: NDArray[np.bool_], names: tuple[str, ...]) -> _Devices:
        per = np.bincount(place[one], minlength=1)
        top = int(per.argmax())
        rest = place != top
        p = sign_p(int((one & rest).sum()), int((other & rest).sum()))
        return cls(count=int((per > 0).sum()), top=names[top] if per.any() else "", p_without_top=p)


def _checks(p_order: float, there: _Devices, settings: Settings) -> dict[str, Any]:
    """The checks of an order, and the reading where too few devices show it."""
    enough = there.count >= LEAST_DEVICES
    stands = there.p_without_top <= settings.alpha
    checks = {
        "order": Check(state=PASSED, numbers={"p": p_order}),
        "devices": Check(
            state=PASSED if enough else FAILED, about=f"{there.count} devices", numbers={"devices": float(there.count)}
        ),
        "top_device": Check(
            state=PASSED if stands else FAILED,
            about=f"without {there.top} the order has p = {there.p_without_top:.2g}",
            numbers={"p": there.p_without_top},
        ),
    }
    if enough:
        return {"checks": checks}
    why = f"one device: {there.top}" if there.count == 1 else f"{there.count} devices, {LEAST_DEVICES} are the fewest"
    return {"checks": checks, "if_found": Blocked(reading=Reading.COINCIDENCE.value, why=why)}


def _places_of(one: Incident, *, same: bool) -> tuple[str, ...]:
    if same:
        return (one.entity,)
    return one.hosts or ((one.host,) if one.host is not None else ())


def _numbers(names: Sequence[str], index: dict[str, int]) -> Ints:
    return np.array([index[name] for name in names], dtype=np.int64)


def _sharp(at: tuple[Ints, Ints], blur_us: Ints, within_s: float) -> tuple[tuple[Ints, Ints], float, int]:
    """Give first events of bursts, how blurred they are, and how many were left out as too blurred.

    Events that may lie anywhere within more than the window are left out where at least half are
    sharper; else all are kept, and their order cannot be asked.
    """
    known = at[0] >= 0
    place, ts, blur = at[0][known], at[1][known], blur_us[known]
    sharp = blur <= round(within_s * MICROS)
    if sharp.sum() * 2 < sharp.size:
        sharp = np.ones(sharp.size, bool)
    place, ts, kept = place[sharp], ts[sharp], blur[sharp]
    first = coalesce(place, ts, _BURST_US)
    width = float(kept[first].max(initial=0)) / MICROS
    return (place[first], ts[first]), width, int(known.sum() - sharp.sum())


def _unsure(clock_s: float, width_s: float, within_s: float) -> tuple[float, str]:
    """Give u, and why the order cannot be asked; "" where it can."""
    if not np.isfinite(clock_s):
        return within_s, "their clocks differ by an unknown time"
    unsure_s = clock_s + width_s
    if unsure_s >= within_s:
        return within_s, f"clocks, resolution and delays leave {unsure_s:.3g} s in doubt"
    return unsure_s, ""


def _share(count: int, of: int) -> Share:
    """Wilson interval."""
    from scipy.stats import binomtest

    if not of:
        return Share(estimate=float("nan"), low=float("nan"), high=float("nan"))
    bounds = binomtest(count, of).proportion_ci(0.95, method="wilson")
    return Share(estimate=count / of, low=float(bounds.low), high=float(bounds.high))
