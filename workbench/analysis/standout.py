"""What stands out before an incident: each metric against its own past and against its peers.

For exploring only. One incident proves nothing: the list is ordered by how far things lie from
what was usual, and no line of it is a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.kernels.deviation import centre_and_scale, deviation_from_past, deviation_from_peers
from workbench.model.panel import Panel
from workbench.model.provenance import Provenance
from workbench.timebase import format_duration, from_us

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["Deviation", "StandOut", "stand_out"]

Span = tuple[int, int]

#: A deviation counts once it lasts this many cells; one odd sample does not.
_RUN = 3
#: With fewer peers than this nothing is said of what is usual among them.
_FEWEST_PEERS = 5
_SHOWN = 40


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """How far one metric of one entity lies from what was usual. NaN: not known.

    Attributes
    ----------
    entity, metric, unit : str
        ``unit`` is "" where it is not known; of a counter it is per second.
    z_own : float
        Against its own baseline; infinite where the baseline was constant.
    z_past : float
        The largest that the same statistic reached within the baseline.
    z_peers : float
        Against the peers at the same moments.
    peers : int
        Peers that were observed.
    value, usual : float
        Mean over the most deviating run; median of the baseline.
    start_us : int or None
        Start of that run, UTC microseconds.
    observed : float
        Share of window cells observed.
    state : str
        What a reader must know: "too few peers (3)", "constant before", ... "" where nothing.
    """

    entity: str
    metric: str
    unit: str
    z_own: float
    z_past: float
    z_peers: float
    peers: int
    value: float
    usual: float
    start_us: int | None
    observed: float
    state: str

    @property
    def unusual(self) -> bool:
        """Whether it strays farther than it ever did in its own baseline."""
        return abs(self.z_own) > abs(self.z_past)

    @property
    def score(self) -> float:
        """The smaller of both distances; the own one alone where peers are not known."""
        if math.isnan(self.z_peers):
            return abs(self.z_own)
        return min(abs(self.z_own), abs(self.z_peers))


@dataclass(frozen=True, eq=False, kw_only=True)
class StandOut:
    """Metrics in the order in which they stand out; for exploring, never a verdict.

    Attributes
    ----------
    rows : tuple of Deviation
        Farther than ever in its own baseline first, then by ``score``, ties by name.
    window, baseline : (low, high)
        UTC microseconds; the baseline lies just before the window.
    step_s : float
        Width of a cell.
    provenance : Provenance
    """

    rows: tuple[Deviation, ...]
    window: Span
    baseline: Span
    step_s: float
    provenance: Provenance

    @property
    def formula(self) -> str:
        """How the numbers are made, in words."""
        cell = format_duration(self.step_s)
        return (
            f"z own = mean over the {_RUN} consecutive {cell} cells that lie farthest of (value − median of the baseline) / "
            "(1.4826 × median absolute deviation of the baseline; its standard deviation where more than half of it is equal). "
            "z peers = the same against the median of the peers at that moment, in units of their spread. "
            "z past = the farthest that the baseline itself strayed. "
            "Order: beyond z past first, then the smaller of |z own| and |z peers|."
        )

    @property
    def luck(self) -> str:
        """How many rows would come first if nothing had happened at all."""
        share = (self.window[1] - self.window[0]) / max(1, self.window[1] - self.baseline[0])
        known = sum(not math.isnan(row.z_own) for row in self.rows)
        beyond = sum(row.unusual for row in self.rows)
        return (
            f"{beyond} of {known} metrics stray farther than in their own baseline; about {share * known:.0f} would do so "
            "by luck alone. This is for exploring: wb.screen and wb.judge test."
        )

    def table(self) -> pl.DataFrame:
        """One row per entity and metric, in order."""
        schema = pl.Schema(
            {
                "entity": pl.String(),
                "metric": pl.String(),
                "unit": pl.String(),
                **dict.fromkeys(("z_own", "z_past", "z_peers"), pl.Float64()),
                "peers": pl.Int64(),
                "value": pl.Float64(),
                "usual": pl.Float64(),
                "since": pl.Datetime("us", "UTC"),
                "observed": pl.Float64(),
                "state": pl.String(),
            }
        )
        rows = [
            {
                **{name: getattr(row, name) for name in schema if name != "since"},
                "since": None if row.start_us is None else from_us(row.start_us),
            }
            for row in self.rows
        ]
        return pl.DataFrame(rows, schema=schema)

    def plot(self) -> Figure:
        """Draw the first forty rows: distance from the own baseline and from the peers."""
        from workbench.figures.standout import standout_figure

        shown = self.rows[:_SHOWN]
        own, peers, past = (np.array([getattr(row, name) for row in shown]) for name in ("z_own", "z_peers", "z_past"))
        return standout_figure([f"{row.metric} ({row.entity})" for row in shown], own, peers, past)

    def _repr_html_(self) -> str:
        from workbench.figures.html import card_html, table_html

        table = self.table().head(_SHOWN)
        rows = table_html(table.columns, table.rows(), limit=_SHOWN)
        return card_html("What stands out", self.luck, notes=[self.formula], parts=[rows])


def stand_out(
    panels: Iterable[tuple[Panel, str]],
    *,
    window: tuple[int, int],
    baseline: tuple[int, int],
) -> StandOut:
    """Rank metrics by how far they lie from their own baseline and from their peers.

    Parameters
    ----------
    panels : iterable of (Panel, entity)
        Each panel holds the named entity, and its peers as the other entities, over window and
        baseline on one grid.
    window, baseline : (low, high)
        UTC microseconds, ``high`` not within. To look for what came before an incident, end the
        window at its earliest possible time.

    Returns
    -------
    StandOut

    Notes
    -----
    The baseline of four times the window follows Netdata's metric correlations. Against luck
    stands the baseline itself: the same statistic of it is shown beside (``z_past``).

    Examples
    --------
    >>> minute = 60 * 10**6
    >>> values = np.tile([1.0, 2, 3, 2], 5)[None, None, :].repeat(7, axis=0)
    >>> values[0, 0, 17:] = 9.0
    >>> panel = Panel(values=values, entities=tuple("abcdefg"), metrics=("gpu.power_w",), step_s=60.0,
    ...     ts_us=np.arange(20) * minute, provenance=Provenance(function="example", inputs=""))
    >>> top = stand_out([(panel, "a")], window=(16 * minute, 20 * minute), baseline=(0, 16 * minute)).rows[0]
    >>> top.peers, top.usual, round(top.z_own, 1), top.unusual
    (6, 2.0, 9.4, True)
    """
    rows: list[Deviation] = []
    inputs: list[str] = []
    step_s = math.nan
    for panel, entity in panels:
        rows += _deviations(panel, entity, window, baseline)
        inputs.append(panel.provenance.inputs)
        step_s = panel.step_s
    rows.sort(key=_order)
    parameters = {"window": list(window), "baseline": list(baseline), "run": _RUN}
    told = Provenance(function="stand_out", inputs="; ".join(dict.fromkeys(inputs)), parameters=parameters)
    return StandOut(rows=tuple(rows), window=window, baseline=baseline, step_s=step_s, provenance=told)


def _order(row: Deviation) -> tuple[bool, bool, float, str, str]:
    unknown = math.isnan(row.z_own)
    return unknown, not row.unusual, 0.0 if unknown else -row.score, row.metric, row.entity


def _deviations(panel: Panel, entity: str, window: Span, baseline: Span) -> list[Deviation]:
    if entity not in panel.entities:
        return []
    at = panel.entities.index(entity)
    inside = (panel.ts_us >= window[0]) & (panel.ts_us < window[1])
    before = (panel.ts_us >= baseline[0]) & (panel.ts_us < baseline[1])
    own, past = panel.values[at][:, inside], panel.values[at][:, before]
    others = np.delete(panel.values, at, axis=0)[:, :, inside]
    z_own, z_past, start = deviation_from_past(own, past, _RUN)
    seen = np.isfinite(others).any(axis=-1).sum(axis=0)
    z_peers = np.where(seen >= _FEWEST_PEERS, deviation_from_peers(own, others, _RUN), np.nan)
    usual, scale = centre_and_scale(past)
    times = panel.ts_us[inside]
    result = []
    for index, metric in enumerate(panel.metrics):
        first = int(start[index])
        result.append(
            Deviation(
                entity=entity,
                metric=metric,
                unit=panel.units.get(metric, ""),
                z_own=float(z_own[index]),
                z_past=float(z_past[index]),
                z_peers=float(z_peers[index]),
                peers=int(seen[index]),
                value=_mean(own[index, first : first + _RUN]) if first >= 0 else math.nan,
                usual=float(usual[index]),
                start_us=int(times[first]) if first >= 0 else None,
                observed=float(np.isfinite(own[index]).mean()) if own.shape[-1] else 0.0,
                state=_state(int(seen[index]), own[index], float(scale[index])),
            )
        )
    return result


def _mean(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan


def _state(peers: int, own: NDArray[np.float64], scale: float) -> str:
    said: Sequence[str] = (
        "not observed in the window" if not np.isfinite(own).any() else "",
        "not observed in the baseline" if math.isnan(scale) else "",
        "constant before" if scale == 0 else "",
        f"too few peers ({peers})" if peers < _FEWEST_PEERS else "",
    )
    return ", ".join(part for part in said if part)
