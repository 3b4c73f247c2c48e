"""A table of events: kind, code, severity and message, and everything else as attributes."""

from __future__ import annotations

import json

import polars as pl

from workbench.model import frames
from workbench.readers.cells import clean_text
from workbench.readers.tablestate import TableState
from workbench.readers.text import json_object
from workbench.readers.timecells import Clocks, read_times
from workbench.readers.who import Who

__all__ = ["attribute_text", "event_kind", "event_rows"]


def event_kind(text: pl.Expr) -> pl.Expr:
    """Write a kind as selectors want it: lower case, digits, ``_`` and ``.``; null where nothing is left.

    Examples
    --------
    >>> pl.DataFrame({"k": ["Link is Down", "XID", "!"]}).select(event_kind(pl.col("k")))["k"].to_list()
    ['link_is_down', 'xid', None]
    """
    plain = text.str.to_lowercase().str.replace_all(r"[^a-z0-9_.]+", "_").str.strip_chars("_.")
    lettered = pl.when(plain.str.contains("^[a-z]")).then(plain).otherwise(pl.concat_str(pl.lit("event_"), plain))
    return pl.when(plain != "").then(lettered)


def event_rows(
    frame: pl.DataFrame, times: pl.DataFrame, who: Who, state: TableState
) -> tuple[dict[str, pl.DataFrame], pl.Series]:
    """Give ``events``, and why a row is none (null where it is one).

    Parameters
    ----------
    frame : polars.DataFrame
        The rows that have a time and a place.
    times : polars.DataFrame
        ``ts``, ``ts_low``, ``ts_high`` and ``line``.
    who : Who
    state : TableState
    """
    layout = state.layout
    written = _told(frame, layout.roles.get("kind"))
    kind = pl.DataFrame({"kind": written}).select(event_kind(pl.col("kind"))).to_series()
    attributes = {name: frame[name] for name in layout.rest}
    if end := layout.column("end"):
        attributes |= _ends(frame[end], end, state)
    attributes["kind"] = written.set((kind == written).fill_null(value=True), None)
    events = pl.DataFrame(
        {
            **{name: times[name].cast(frames.TS) for name in ("ts", "ts_low", "ts_high")},
            **{name: who.of(name) for name in ("host", "device_kind", "device")},
            "kind": kind,
            **{name: _told(frame, layout.roles.get(name)) for name in ("code", "severity", "message")},
            "attributes": attribute_text(attributes, frame.height),
            "line": times["line"],
        }
    ).cast(frames.EVENTS)
    lost = events.select(pl.when(pl.col("kind").is_null()).then(pl.lit("row names no kind of event"))).to_series()
    return {"events": events.filter(pl.col("kind").is_not_null())}, lost


def _told(frame: pl.DataFrame, role: str | None) -> pl.Series:
    if role is None or role.startswith("="):
        return pl.repeat(role[1:] if role else None, frame.height, dtype=pl.String, eager=True)
    return clean_text(frame[role])


def _ends(cells: pl.Series, name: str, state: TableState) -> dict[str, pl.Series]:
    """Keep the end of an event: in UTC where it is a time, else as written."""
    found = read_times(clean_text(cells), Clocks(rule=state.clocks.rule))
    utc = found["ts"].cast(frames.TS).dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ")
    return {"end": utc, name: clean_text(cells).set(found["ts"].is_not_null(), None)}


def attribute_text(attributes: dict[str, pl.Series], height: int) -> pl.Series:
    r"""Write columns as one JSON object a row; what is missing is left out.

    Examples
    --------
    >>> attribute_text({"b": pl.Series([1, None]), 'a"': pl.Series(["x", "N/A"])}, 2).to_list()
    ['{"a\\"":"x","b":1}', '{}']
    """
    columns = []
    for name, cells in attributes.items():
        key = json.dumps(name, ensure_ascii=False)[1:-1]
        whole = cells.dtype.is_integer() or cells.dtype == pl.Boolean
        columns.append((cells if whole else clean_text(cells)).alias(key))
    if not columns:
        return pl.repeat("{}", height, dtype=pl.String, eager=True)
    table = pl.DataFrame(columns)
    return table.select(json_object(dict(table.schema))).to_series()
