"""How many of the names that one source gives another source knows too."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from workbench.store.clocks import readers_of
from workbench.store.samples import literal

__all__ = ["JOINS", "MISSING_SHOWN", "join_rates"]

#: So many of the names that do not join are listed.
MISSING_SHOWN = 10
JOINS = pl.Schema(
    {
        "from": pl.String(), "to": pl.String(), "names": pl.Int64(), "found": pl.Int64(),
        "rate": pl.Float64(), "missing": pl.List(pl.String()),
    }
)  # fmt: skip
_HOST = "regexp_extract(entity, '^([^/]+/[^/:]+)(/|$)', 1)"
_BMC = f"[{', '.join(map(literal, readers_of('bmc')))}]"
#: Which names a source gives.
_SOURCES = {
    "hosts with samples": f"select distinct {_HOST} as name from series",
    "hosts with events": f"select distinct {_HOST} as name from events",
    "hosts of jobs": "select distinct unnest(entities) as name from jobs",
    "hosts in racks": "select distinct entity as name from links where relation = 'in' and to_entity like '%/rack:%'",
    "hosts of BMCs": f"select distinct {_HOST} as name from observed where list_contains({_BMC}, reader)",
    "hosts of other sources": f"select distinct {_HOST} as name from observed where not list_contains({_BMC}, reader) "
    "union select distinct unnest(entities) as name from jobs",
} | {
    f"{what} with {rows}": f"select distinct entity as name from {view} where entity like '%/{kind}:%'"
    for kind, what in (("gpu", "GPUs"), ("nic", "adapters"), ("port", "ports"), ("nvswitch", "NVSwitches"))
    for rows, view in (("samples", "series"), ("events", "events"))
}
_PAIRS = (
    ("hosts with events", "hosts with samples"),
    ("hosts with samples", "hosts with events"),
    ("hosts of jobs", "hosts with samples"),
    ("hosts of jobs", "hosts with events"),
    ("hosts with samples", "hosts of jobs"),
    ("hosts with samples", "hosts in racks"),
    ("hosts of BMCs", "hosts of other sources"),
    *((f"{what} with events", f"{what} with samples") for what in ("GPUs", "adapters", "ports", "NVSwitches")),
)


def join_rates(ask: Callable[[str], pl.DataFrame]) -> pl.DataFrame:
    """Count, for pairs of sources, how many names of the first the second knows.

    Parameters
    ----------
    ask : callable
        Answers a query on the views of a store.

    Returns
    -------
    polars.DataFrame
        ``from, to, names, found, rate, missing`` (ten at most, in order); pairs of which either
        source gives no name are left out.
    """
    known = {source: {name for name in ask(query)["name"] if name} for source, query in _SOURCES.items()}
    rows = []
    for one, other in _PAIRS:
        names = known[one]
        if names and known[other]:
            missing = sorted(names - known[other])
            found = len(names) - len(missing)
            rows.append((one, other, len(names), found, found / len(names), missing[:MISSING_SHOWN]))
    return pl.DataFrame(rows, schema=JOINS, orient="row")
