"""Templates of the log lines of a store: what nobody has a rule for, counted by what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import polars as pl

from workbench.errors import UnknownNameError
from workbench.model.logtemplates import TEMPLATE, mine
from workbench.model.provenance import Provenance
from workbench.model.selector import Selector
from workbench.store.report import html_table
from workbench.version import __version__

__all__ = [
    "KINDS",
    "MOST_SIGNALS",
    "SIGNAL_ENTITIES",
    "SIGNAL_EVENTS",
    "Templates",
    "gather_templates",
    "template_events",
    "templates",
]

#: Kinds of events whose message is free text; those that have a code are known already.
KINDS = ("log", "syslog", "journal", "message", "messages")
#: A template is tested by a screen where it was seen so often, on so many entities: what is rarer
#: cannot carry a claim that holds without each one of them.
SIGNAL_EVENTS, SIGNAL_ENTITIES = 10, 3
#: ... and of those at most so many, on most entities first: each more costs all others some power.
MOST_SIGNALS = 100

_FREE = "kind in (select unnest(?)) and code is null and message is not null"
_COUNTED = f"""
select message, entity, count(*)::bigint as count, min(ts) as first, max(ts) as last,
min(struct_pack(ts := ts, source := source, line := line)) as told from events where {_FREE} group by message, entity
"""
_EVENTS = f"from events where {_FREE} order by ts, entity, kind, line"
_PATHS = "select source, min(path) as path from files group by source"
_SHOWN = 300
Ask = Callable[..., pl.DataFrame]


class _Store(Protocol):
    def templates(self) -> Templates: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Templates:
    """The templates of a store's log lines.

    Attributes
    ----------
    frame : polars.DataFrame
        As :meth:`table` gives it.
    lines : polars.DataFrame
        ``message, template_id``: each message once.
    provenance : Provenance
    """

    frame: pl.DataFrame
    lines: pl.DataFrame
    provenance: Provenance

    def table(self) -> pl.DataFrame:
        """One row per template, most frequent first.

        Returns
        -------
        polars.DataFrame
            ``template_id, template, count`` (events), ``entities`` (that wrote it), ``hosts``, ``first, last,
            example`` (its first line, cut), ``path, line`` (where that stands; null where a format has no
            lines), ``signal`` (a screen tests it by default).
        """
        return self.frame

    @property
    def signals(self) -> tuple[str, ...]:
        """Ids of the templates that a screen tests by default, on most entities first."""
        return tuple(_widest(self.frame.filter("signal"))["template_id"].to_list())

    def text(self, template_id: str) -> str:
        """Give the words of a template.

        Raises
        ------
        UnknownNameError
            Where there is none of that id.
        """
        found = self.frame.filter(pl.col("template_id") == template_id)
        if found.is_empty():
            raise _unknown([template_id], self.frame)
        return str(found["template"][0])

    def require(self, selector: Selector) -> None:
        """Make sure that each code of ``template:ID,ID`` means a template.

        Raises
        ------
        UnknownNameError
            With the nearest ids.
        """
        for code in selector.codes:
            one = Selector(TEMPLATE, (code,))
            if not any(one.matches_code(known) for known in self.frame["template_id"]):
                raise _unknown([code], self.frame)

    def _repr_html_(self) -> str:
        head = f"{self.frame.height:,} templates of {int(self.frame['count'].sum()):,} log lines"
        return f"<p>{head}</p>{html_table(self.frame.drop('first', 'signal'), 40)}"


def templates(store: _Store) -> Templates:
    """Find the templates of the log lines that no rule knows.

    Lines that differ only in numbers, addresses, names and the like are one template; see
    :func:`workbench.model.logtemplates.mine`. Templates depend on the set of lines that the store holds, and
    not on the order in which these came. The selector ``template:ID`` means the events of one, for
    ``wb.screen``, ``wb.judge``, ``store.events`` and ``store.incidents`` alike.

    Parameters
    ----------
    store : Store

    Returns
    -------
    Templates

    Examples
    --------
    >>> import tempfile
    >>> import workbench as wb
    >>> templates(wb.open(tempfile.mkdtemp() + "/case")).table().height
    0
    """
    return store.templates()


def gather_templates(ask: Ask, inputs: str, *, kinds: Sequence[str] = KINDS) -> Templates:
    """Mine what a store holds.

    Parameters
    ----------
    ask : callable
        ``(query, parameters) -> polars.DataFrame``, on the views of a store.
    inputs : str
        Store and version, for the provenance.
    kinds : sequence of str
        Kinds of events whose message is free text.
    """
    counted = ask(_COUNTED, [list(kinds)])
    mined = mine(counted["message"])
    host = pl.col("entity").str.extract(r"^([^/]*/[^/]*)").fill_null(pl.col("entity"))
    found = (
        counted.join(mined, on="message")
        .sort("told", "message")
        .group_by("template_id", "template", maintain_order=True)
        .agg(
            pl.col("count").sum(),
            pl.col("entity").n_unique().cast(pl.Int64).alias("entities"),
            host.n_unique().cast(pl.Int64).alias("hosts"),
            pl.col("first").min(),
            pl.col("last").max(),
            pl.col("message").first().str.slice(0, _SHOWN).alias("example"),
            pl.col("told").struct.field("source").first(),
            pl.col("told").struct.field("line").first(),
        )
        .join(ask(_PATHS), on="source", how="left")
        .sort(pl.col("count"), "template", descending=[True, False])
    )
    often = found.filter((pl.col("count") >= SIGNAL_EVENTS) & (pl.col("entities") >= SIGNAL_ENTITIES))
    tested = _widest(often)["template_id"].head(MOST_SIGNALS).to_list()
    table = found.select(
        "template_id", "template", "count", "entities", "hosts", "first", "last", "example", "path", "line",
        pl.col("template_id").is_in(tested).alias("signal"),
    )  # fmt: skip
    told = Provenance(function="wb.templates", inputs=inputs, parameters={"kinds": list(kinds)}, version=__version__)
    return Templates(frame=table, lines=mined.select("message", "template_id"), provenance=told)


def template_events(ask: Ask, found: Templates, selector: Selector, *, kinds: Sequence[str] = KINDS) -> pl.DataFrame:
    """Give the events of templates as events of the kind ``template``, with the id as code.

    Raises
    ------
    UnknownNameError
        Where the selector names a template that is not there, with the nearest.
    """
    found.require(selector)
    lines = found.lines.filter(pl.col("template_id").is_in(_meant(selector, found.lines["template_id"].unique())))
    events = ask(_EVENTS, [list(kinds)])
    return (
        events.join(lines, on="message", maintain_order="left")
        .with_columns(pl.lit(TEMPLATE).alias("kind"), pl.col("template_id").alias("code"))
        .select(events.columns)
    )


def _meant(selector: Selector, ids: Iterable[str]) -> list[str]:
    return [name for name in ids if selector.matches_code(name)]


def _widest(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort("entities", "count", "template_id", descending=[True, True, False])


def _unknown(names: Sequence[str], frame: pl.DataFrame) -> UnknownNameError:
    return UnknownNameError(
        "template", ",".join(names), frame["template_id"].to_list(), "See workbench templates, or wb.templates(store)."
    )
