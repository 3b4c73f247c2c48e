"""The shapes of the tables that readers hand over and the store keeps.

A device is written as three columns: ``host`` (as the source names it, null where unknown),
``device_kind`` (``host gpu nic port switch rack pdu loop job user cluster ...``) and ``device``
(its name as written; null for the host itself). The store resolves them to one entity id.
"""

from __future__ import annotations

import polars as pl

__all__ = [
    "ABSENT",
    "ALIASES",
    "ENTITIES",
    "EVENTS",
    "JOBS",
    "LINKS",
    "REJECTS",
    "SAMPLES",
    "SERIES",
    "SKIPS",
    "TS",
    "empty",
]

TS = pl.Datetime("us", "UTC")
_WHO = {"host": pl.String(), "device_kind": pl.String(), "device": pl.String()}

#: One row per series of a batch; ``series`` is an index local to that batch.
SERIES = pl.Schema(
    {
        "series": pl.UInt32(),
        "metric": pl.String(),  # name as written
        **_WHO,
        "labels": pl.String(),  # what is left of the labels, canonical JSON, "{}" where none
        "unit": pl.String(),  # as written, null where not stated
        "kind": pl.String(),  # gauge | counter | histogram | summary | info | null (not stated)
    }
)
#: One row per observation. ``value_int`` holds integers exactly, null where there is none.
SAMPLES = pl.Schema({"series": pl.UInt32(), "ts": TS, "value": pl.Float64(), "value_int": pl.Int64()})
#: ``ts_low`` to ``ts_high``: when it may have happened, given how it was recorded.
EVENTS = pl.Schema(
    {
        "ts": TS,
        "ts_low": TS,
        "ts_high": TS,
        **_WHO,
        "kind": pl.String(),  # xid sxid aer link nfs oom mce nccl job drain log ...
        "code": pl.String(),  # "79"; null where the kind has none
        "severity": pl.String(),  # as the source puts it
        "message": pl.String(),
        "attributes": pl.String(),  # canonical JSON object
        "line": pl.Int64(),  # 1-based line or record number in the file
    }
)
#: ``nodes`` are host names as written; ``end`` is null while the job runs or was never seen to end.
JOBS = pl.Schema(
    {
        "job": pl.String(),
        "attempt": pl.Int64(),
        "submitted": TS,
        "start": TS,
        "end": TS,
        "state": pl.String(),
        "exit": pl.String(),
        "user": pl.String(),
        "name": pl.String(),
        "nodes": pl.List(pl.String()),
        "line": pl.Int64(),
    }
)
ENTITIES = pl.Schema({**_WHO, "attributes": pl.String(), "valid_from": TS, "valid_to": TS})
#: ``relation``: ``in`` (child in parent: host in rack, gpu in host) or ``connected`` (port to port).
LINKS = pl.Schema(
    {
        **_WHO,
        "relation": pl.String(),
        "to_host": pl.String(),
        "to_kind": pl.String(),
        "to_device": pl.String(),
        "valid_from": TS,
        "valid_to": TS,
    }
)
#: ``device`` and ``same_as`` name one device of ``host``; ``same_as`` is the stabler name.
ALIASES = pl.Schema({**_WHO, "same_as": pl.String(), "rule": pl.String(), "valid_from": TS, "valid_to": TS})
SKIPS = pl.Schema({"rule": pl.String(), "count": pl.Int64()})
#: ``curable``: what the user can state so that the record is read (``clock year host taken_at interval map``).
REJECTS = pl.Schema({"line": pl.Int64(), "reason": pl.String(), "text": pl.String(), "curable": pl.String()})
#: Cells that hold no number, by metric and reason; they are nulls, never zeros.
ABSENT = pl.Schema({"metric": pl.String(), "reason": pl.String(), "count": pl.Int64()})


def empty(schema: pl.Schema) -> pl.DataFrame:
    """Give a table with no rows.

    Examples
    --------
    >>> empty(SKIPS).shape
    (0, 2)
    """
    known = _EMPTY.get(id(schema))
    return pl.DataFrame(schema=schema) if known is None else known.clone()


#: Made once: each batch has several.
_EMPTY = {
    id(schema): pl.DataFrame(schema=schema)
    for schema in (SERIES, SAMPLES, EVENTS, JOBS, ENTITIES, LINKS, ALIASES, SKIPS, REJECTS, ABSENT)
}
