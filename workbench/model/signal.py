"""What to watch: a level, a rate or a change of a metric, or the events of a selector."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.errors import UsageError
from workbench.timebase import format_duration, parse_duration

__all__ = ["Signal", "change", "level", "rate"]


@dataclass(frozen=True, kw_only=True)
class Signal:
    """A description; nothing is read yet.

    Attributes
    ----------
    kind : str
        ``level`` (the value itself), ``rate`` (increase of a counter), ``change`` (difference to
        the value one ``per_s`` earlier) or ``event``.
    name : str
        Metric id, or for events the written selector.
    per_s : float
        Seconds that a rate or change refers to; 0 for levels and events.
    above, below : float or None
        Threshold; None: the signal is used as it is, with no threshold.

    Examples
    --------
    >>> signal = rate("gpu.ecc_sbe_total", per="1m") > 5
    >>> signal.above, str(signal)
    (5.0, 'rate of gpu.ecc_sbe_total per 1m > 5')
    """

    kind: str
    name: str
    per_s: float = 0.0
    above: float | None = None
    below: float | None = None

    def __gt__(self, threshold: float) -> Signal:
        return replace(self, above=float(threshold))

    def __lt__(self, threshold: float) -> Signal:
        return replace(self, below=float(threshold))

    def __bool__(self) -> bool:
        raise UsageError("A signal only describes; wb.judge reads the data. Chained comparisons are not supported.")

    def __str__(self) -> str:
        text = {"level": self.name, "event": f"event {self.name}"}.get(
            self.kind, f"{self.kind} of {self.name} per {format_duration(self.per_s)}"
        )
        if self.above is not None:
            text += f" > {self.above:g}"
        return text + (f" < {self.below:g}" if self.below is not None else "")


def level(metric: str) -> Signal:
    """Watch the value of a metric.

    Examples
    --------
    >>> str(level("gpu.temperature_c") > 85)
    'gpu.temperature_c > 85'
    """
    return Signal(kind="level", name=metric)


def rate(metric: str, *, per: str | float = "1s") -> Signal:
    """Watch the increase of a counter per ``per``.

    Examples
    --------
    >>> rate("port.symbol_errors_total", per="1h").per_s
    3600.0
    """
    return Signal(kind="rate", name=metric, per_s=parse_duration(per))


def change(metric: str, *, over: str | float) -> Signal:
    """Watch the difference to the value ``over`` earlier.

    Examples
    --------
    >>> str(change("host.power_w", over="15m") < -200)
    'change of host.power_w per 15m < -200'
    """
    return Signal(kind="change", name=metric, per_s=parse_duration(over))
