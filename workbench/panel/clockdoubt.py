"""How far the order of outcome and signal is in doubt because clocks differ: part of the guard."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from workbench.model.incident import Incident

__all__ = ["clock_doubt_s"]

#: Outcomes that a BMC or a scheduler tells, by its own clock; all others are of the host's.
_CLOCK_OF = {"sel": "bmc", "sel.cleared": "bmc", "bmc": "bmc", "job": "scheduler", "drain": "scheduler"}


def clock_doubt_s(clocks: pl.DataFrame, incidents: Sequence[Incident], signal: str) -> float:
    """Give by how many seconds clocks may turn around the order of a signal and the outcome.

    Two records of one host's own clock are in order whatever that clock shows. Where the outcome
    was told by another clock (scheduler, BMC), or the metrics carry another one than the logs, all
    that is known of their difference counts.

    Parameters
    ----------
    clocks : polars.DataFrame
        ``store.clocks()``.
    incidents : sequence of Incident
    signal : str
        ``metric`` or ``event``.

    Returns
    -------
    float
        The largest bound over the hosts of the incidents; 0 where no clock is known to be off.

    Examples
    --------
    >>> from workbench.store.clocks import CLOCKS
    >>> clock_doubt_s(pl.DataFrame(schema=CLOCKS), [], "metric")
    0.0
    """
    told = {_CLOCK_OF.get(incident.kind, "os") for incident in incidents}
    hosts = {host for incident in incidents for host in (*incident.hosts, incident.host) if host}
    between: set[tuple[str, str]] = set()
    if signal == "metric":
        between.add(("metrics", "os"))
    if "scheduler" in told:
        between.add(("os", "other hosts"))
    if "bmc" in told:
        between |= {("bmc", "os"), ("bmc", "other hosts"), ("os", "other hosts")}
    off = clocks.filter(pl.col("off") & pl.col("host").is_in(list(hosts)))
    bounds = [
        max(abs(low), abs(high))
        for clock, against, low, high in off.select("clock", "against", "low_s", "high_s").iter_rows()
        if (clock, against) in between
    ]
    return max(bounds, default=0.0)
