"""Aligned telemetry: entity x metric x time on a stated grid, gaps as NaN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.errors import UnknownNameError
from workbench.model.provenance import Provenance

__all__ = ["Panel"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Panel:
    """Aligned telemetry.

    Attributes
    ----------
    values : (entity, metric, time) float64
        Mean over each grid cell (counters: rate per second). NaN: not observed.
    entities, metrics : tuple of str
    ts_us : (time,) int64
        Left edge of each cell, UTC microseconds.
    step_s : float
        Width of a cell.
    units : mapping of metric to unit
        "" where the unit is not known.
    interval_s : mapping of metric to seconds
        Typical sampling interval of the source; the guard of a test needs it.
    provenance : Provenance
    """

    values: NDArray[np.float64]
    entities: tuple[str, ...]
    metrics: tuple[str, ...]
    ts_us: NDArray[np.int64]
    step_s: float
    provenance: Provenance
    units: Mapping[str, str] = field(default_factory=dict)
    interval_s: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        expected = (len(self.entities), len(self.metrics), self.ts_us.size)
        if self.values.shape != expected:
            raise ValueError(f"values are {self.values.shape}, labels say {expected}")

    @property
    def observed(self) -> NDArray[np.bool_]:
        """(entity, metric, time) bool: where somebody was looking."""
        return np.isfinite(self.values)

    def metric(self, name: str) -> NDArray[np.float64]:
        """Give (entity, time) of one metric.

        Raises
        ------
        UnknownNameError
            With the nearest names.
        """
        if name not in self.metrics:
            raise UnknownNameError("metric", name, self.metrics, "See panel.metrics.")
        return self.values[:, self.metrics.index(name), :]

    def __repr__(self) -> str:
        shape = f"{len(self.entities)} entities x {len(self.metrics)} metrics x {self.ts_us.size} cells of {self.step_s:g} s"
        seen = f"{self.observed.mean():.0%} observed" if self.values.size else "empty"
        return f"Panel: {shape}, {seen} ({', '.join(self.metrics[:6])}{', ...' if len(self.metrics) > 6 else ''})"

    def table(self) -> pl.DataFrame:
        """One row per observed cell: ts, entity, metric, value, unit."""
        who, what, when = np.nonzero(self.observed)
        return pl.DataFrame(
            {
                "ts": pl.Series(self.ts_us[when]).cast(pl.Datetime("us")).dt.replace_time_zone("UTC"),
                "entity": np.asarray(self.entities, dtype=object)[who].tolist(),
                "metric": np.asarray(self.metrics, dtype=object)[what].tolist(),
                "value": self.values[who, what, when],
                "unit": [self.units.get(self.metrics[index], "") for index in what.tolist()],
            }
        )
