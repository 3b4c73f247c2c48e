"""The grammar of kernel messages: lines of one or many hosts in, events out, and nothing lost.

Shared by every reader whose format carries kernel lines. A line becomes an event of a known kind,
or more of the event before it (a continuation), or an event of kind ``log``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.readers.kernel_gpu import ODD_XID_NOTE, xid_details
from workbench.readers.kernel_groups import FAMILIES, Family, Fate, Memory, Row, family_rows
from workbench.readers.kernel_lines import one_message_a_line
from workbench.readers.kernel_rule import parsed
from workbench.readers.kernel_rules import LINE_RULES
from workbench.readers.text import json_rows

__all__ = ["LINE", "KernelGrammar", "Told", "events_frame"]

#: What the grammar reads: times are UTC microseconds; ``extra`` marks what shares its record with
#: the line before; ``repeated`` is how often the message came, where the log says so.
LINE = pl.Schema(
    {
        "line": pl.Int64(),
        "extra": pl.Boolean(),
        "ts": pl.Int64(),
        "ts_low": pl.Int64(),
        "ts_high": pl.Int64(),
        "host": pl.String(),
        "severity": pl.String(),
        "repeated": pl.Int64(),
        "text": pl.String(),
    }
)
_BASE = {*LINE, "row", "role", "kind", "code", "device", "device_kind"}
#: One of these stands in every line that some rule may know: plain texts, which are looked for all at once.
_MARKS = (
    *map("".join, itertools.product("xX", "iI", "dD")),
    *("NVRM:", "AER: ", "PCIe Bus Error", "error status/mask", "TLP Header", "   [", "[Hardware Error]"),
    *("oom", "ut of memory"),
    *(rule.find for rule in LINE_RULES),
)
_CANDIDATE = "|".join(re.escape(mark) for mark in dict.fromkeys(_MARKS))
_LISTED = frozenset({"error"})  # attributes that one event may have many of
_ODD_XIDS = "some lines say NVRM: Xid in a spelling that is not known: they are events of kind log, with a note"


@dataclass(frozen=True, eq=False, kw_only=True)
class Told:
    """What some lines said.

    Attributes
    ----------
    events : polars.DataFrame
        As :data:`workbench.model.frames.EVENTS`, in the order of the lines.
    aliases : polars.DataFrame
        As :data:`workbench.model.frames.ALIASES`: names that one line gives to one device.
    odd_xids : bool
        Some lines say that they are Xids, and do not fit.
    rows, continuations : int
        Records that are events, and records that only tell more of one. An event that may go on
        is told, and counted, with a later block.
    """

    events: pl.DataFrame
    aliases: pl.DataFrame
    rows: int
    continuations: int
    odd_xids: bool = False

    def batch(self, skips: pl.DataFrame, rejects: pl.DataFrame, notes: Sequence[str] = ()) -> Batch:
        """Make a batch of these lines and of those that the reader skipped or refused."""
        more = pl.DataFrame({"rule": ["continuation"], "count": [self.continuations]}, schema=frames.SKIPS)
        skips = pl.concat([skips, more.filter(pl.col("count") > 0)]).group_by("rule", maintain_order=True).sum()
        records = self.rows + int(skips["count"].sum()) + rejects.height
        return Batch(
            records=records,
            rows=self.rows,
            events=self.events,
            aliases=self.aliases,
            skips=skips,
            rejects=rejects,
            notes=(*notes, _ODD_XIDS) if self.odd_xids else tuple(notes),
        )


@dataclass
class _Found:
    """What one call has found so far."""

    plain: list[pl.DataFrame] = field(default_factory=list)
    told: list[pl.DataFrame] = field(default_factory=list)
    aliases: list[pl.DataFrame] = field(default_factory=list)
    continuations: int = 0

    def all_told(self) -> Told:
        drivers = [_aliases(named, "nic") for frame in self.told if (named := _netdevs(frame)) is not None]
        parts = [part for part in (*self.plain, *self.told) if part.height]
        rows = sum(int((~part["extra"]).sum()) for part in parts)
        shaped = [events_frame(part) for part in parts]
        events = pl.concat(shaped).sort("row").drop("row") if shaped else frames.empty(frames.EVENTS)
        names = pl.concat([frames.empty(frames.ALIASES), *self.aliases, *drivers])
        odd = any("note" in part.columns and part["note"].null_count() < part.height for part in parts)
        return Told(events=events, aliases=names, rows=rows, continuations=self.continuations, odd_xids=odd)


@dataclass
class KernelGrammar:
    """Reads kernel lines in the order of a file; remembers what may go on from block to block.

    Examples
    --------
    >>> text = "nfs: server 10.20.0.5 not responding, still trying"
    >>> line = {"line": 1, "extra": False, "ts": 0, "ts_low": 0, "ts_high": 0, "host": "node07", "severity": "err"}
    >>> told = KernelGrammar().feed(pl.DataFrame([{**line, "repeated": None, "text": text}], schema=LINE))
    >>> told.events.select("host", "kind", "code", "attributes").rows()
    [('node07', 'nfs', 'not_responding', '{"server":"10.20.0.5"}')]
    """

    _memories: tuple[Memory, ...] = field(default_factory=lambda: tuple(Memory() for _ in FAMILIES))
    _held: dict[int, pl.DataFrame] = field(default_factory=dict)
    _latest: dict[str | None, int] = field(default_factory=dict)
    _row: int = 0

    def feed(self, lines: pl.DataFrame) -> Told:
        """Tell what the next lines say.

        Parameters
        ----------
        lines : polars.DataFrame
            In the shape of ``LINE``.
        """
        candidate = _candidates(lines)
        apart = one_message_a_line(lines, candidate)
        if apart is not lines:
            lines, candidate = apart, _candidates(apart)
        rows = pl.int_range(self._row, self._row + lines.height, dtype=pl.Int64, eager=True)
        self._row += lines.height
        lines = lines.with_columns(row=rows)
        last = lines.group_by("host").agg(pl.col("ts").last())
        self._latest.update(zip(last["host"].to_list(), last["ts"].to_list(), strict=True))
        if self._memories[-1].groups or lines["text"].filter(candidate).str.contains("oom-killer", literal=True).any():
            candidate = lines["text"].is_not_null()
        found = _Found(plain=[lines.filter(~candidate)])
        rest = lines.filter(candidate)
        for index in range(len(FAMILIES) - 1):
            rest = self._family(index, rest, found)
        known = _finds(rest["text"])
        for rule in LINE_RULES:
            if rule.find not in known:
                continue
            hits = rest.filter(pl.col("text").str.contains(rule.find, literal=True))
            if hits.height:
                told = _backdated(parsed(hits, rule), rule.backdate)
                found.told.append(told)
                rest = _without(rest, told["row"])
        # The report of an out-of-memory kill is what no other rule knows.
        found.plain.append(self._family(len(FAMILIES) - 1, rest, found))
        return found.all_told()

    def finish(self) -> Told:
        """Tell the events that were held back because they might have gone on."""
        held = list(self._held.values())
        self._held = {}
        return _Found(told=held).all_told()

    def _family(self, index: int, lines: pl.DataFrame, found: _Found) -> pl.DataFrame:
        """Take the lines of one family out; give the rest."""
        memory, family = self._memories[index], FAMILIES[index]
        rows = family_rows(lines, family, goes_on=bool(memory.groups))
        if rows.is_empty():
            found.told += self._release(index, family, rows)
            return lines
        placed = rows.with_columns(_fates(family.place(_rows(rows), memory)))
        found.aliases.append(_named(placed, family))
        member = pl.col("owner") != pl.col("row")
        first = placed.filter(~member & pl.col("kind").is_not_null())
        more = placed.filter(member)
        found.told += self._release(index, family, _event_columns(first, family), more)
        found.continuations += int((~more["extra"]).sum())
        return _without(lines, pl.concat([first["row"], more["row"]]))

    def _release(
        self, index: int, family: Family, first: pl.DataFrame, more: pl.DataFrame | None = None
    ) -> list[pl.DataFrame]:
        """Give the events that are over, with all that was told of them; hold the others back."""
        going_on = self._memories[index].forget(self._latest, family.window_us)
        if not family.enriched:
            return [first] if first.height else []
        held = self._held.pop(index, None)
        events = first if held is None else pl.concat([held, first], how="diagonal") if first.height else held
        if more is not None and more.height:
            events = _enriched(events, more)
        if events.is_empty():
            return []
        waits = pl.col("row").is_in(list(going_on))
        still = events.filter(waits)
        if still.height:
            self._held[index] = still
        return [events.filter(~waits)]


def _finds(texts: pl.Series) -> set[str]:
    """Give the first tests that some line passes, in one pass for all rules: of many rules few are met."""
    finds = list(dict.fromkeys(rule.find for rule in LINE_RULES))
    return set(texts.str.extract_many(finds, overlapping=True).explode().drop_nulls().unique().to_list())


def _without(lines: pl.DataFrame, taken: pl.Series) -> pl.DataFrame:
    """Leave out lines that are told; ``row`` ascends."""
    rows = lines["row"].to_numpy()
    stays = np.ones(rows.size, dtype=bool)
    stays[np.searchsorted(rows, taken.to_numpy())] = False
    return lines.filter(pl.Series(stays))


def _candidates(lines: pl.DataFrame) -> pl.Series:
    """Tell which lines some rule may know."""
    return lines["text"].str.contains(_CANDIDATE).fill_null(value=False)


def _rows(found: pl.DataFrame) -> list[Row]:
    columns = ("row", "host", "ts", "role", "device", "code", "upstream")
    return list(map(Row._make, found.select(columns).rows()))


def _fates(fates: list[Fate]) -> list[pl.Series]:
    return [
        pl.Series("owner", [fate.owner for fate in fates], dtype=pl.Int64),
        pl.Series("kind", [fate.kind for fate in fates], dtype=pl.String),
        pl.Series("placed", [fate.device for fate in fates], dtype=pl.String),
        pl.Series("uuid", [fate.uuid for fate in fates], dtype=pl.String),
        pl.Series("serial", [fate.serial for fate in fates], dtype=pl.String),
    ]


def _event_columns(first: pl.DataFrame, family: Family) -> pl.DataFrame:
    code = pl.col("code")
    if family.device_kind == "pci":
        nonfatal, fatal = code.str.contains("Non-Fatal", literal=True), code.str.contains("Fatal", literal=True)
        code = (
            pl.when(nonfatal).then(pl.lit("nonfatal")).when(fatal).then(pl.lit("fatal")).otherwise(pl.lit("corrected"))
        )
    elif family.device_kind == "host":
        code = pl.lit(None, pl.String)
    elif family.device_kind == "gpu":
        odd = pl.col("role") == "odd"
        first = first.with_columns(
            code=pl.when(pl.col("role") == "xid").then(code), note=pl.when(odd).then(pl.lit(ODD_XID_NOTE))
        )
        first = xid_details(first)
    if "multiple" in first.columns:
        first = first.with_columns(multiple=pl.when(pl.col("multiple").is_not_null()).then(pl.lit(value=True)))
    device = pl.col("placed")
    return first.with_columns(
        code=code,
        device=device,
        device_kind=pl.when(device.is_null()).then(pl.lit("host")).otherwise(pl.lit(family.device_kind)),
    ).drop("owner", "placed")


def _enriched(events: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Lay what later lines told beside the events; what stands first is kept."""
    told = [
        name
        for name in more.columns
        if name not in _BASE | {"owner", "placed", "upstream", "pci", "uuid", "serial"}
        and more[name].null_count() < more.height
    ]
    gathered = [_listed(name) if name in _LISTED else pl.col(name).drop_nulls().first() for name in told]
    by_event = more.group_by("owner").agg(gathered)
    joined = events.join(by_event, left_on="row", right_on="owner", how="left", suffix="_more")
    both = [name for name in told if f"{name}_more" in joined.columns]
    return joined.with_columns([_either(name) for name in both]).drop([f"{name}_more" for name in both])


def _listed(name: str) -> pl.Expr:
    """Put all that lines tell in one text; null where they tell nothing."""
    told = pl.col(name).drop_nulls().str.join(",")
    return pl.when(told != "").then(told).alias(name)


def _either(name: str) -> pl.Expr:
    """Put what was told before and what is told now together; what may stand once stands first."""
    if name not in _LISTED:
        return pl.coalesce(name, f"{name}_more").alias(name)
    told = pl.concat_str(name, f"{name}_more", separator=",", ignore_nulls=True)
    return pl.when(told != "").then(told).alias(name)


def _backdated(found: pl.DataFrame, times: int) -> pl.DataFrame:
    """Let the event have happened before the line that tells it, where the line says so."""
    if not times:
        return found
    return found.with_columns(ts_low=pl.col("ts_low") - (pl.col("seconds").fill_null(0) * times * 1_000_000))


def _named(placed: pl.DataFrame, family: Family) -> pl.DataFrame:
    """Give the second names of devices that these lines tell."""
    if family.device_kind == "gpu":
        told = placed.filter((pl.col("role") == "uuid") & pl.col("host").is_not_null())
        pairs = told.select("host", "ts", device="device", same_as="code", rule=pl.lit("NVRM: GPU at PCI"))
    elif family.device_kind == "nvswitch":
        told = placed.filter((pl.col("role") == "first") & pl.col("host").is_not_null())
        pairs = told.select("host", "ts", device="switch", same_as="device", rule=pl.lit("SXid line"))
    else:
        return frames.empty(frames.ALIASES)
    return _aliases(pairs, family.device_kind)


def _aliases(pairs: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Make aliases, valid while they were told; one row a pair."""
    spans = pairs.group_by("host", "device", "same_as", "rule", maintain_order=True).agg(
        valid_from=pl.col("ts").min().cast(frames.TS), valid_to=pl.col("ts").max().cast(frames.TS)
    )
    return spans.with_columns(device_kind=pl.lit(kind)).select(frames.ALIASES.names()).cast(frames.ALIASES)


def events_frame(lines: pl.DataFrame) -> pl.DataFrame:
    """Shape lines as events; columns beyond those of an event are its attributes.

    Parameters
    ----------
    lines : polars.DataFrame
        The columns of ``LINE`` and, where known, ``kind``, ``code``, ``device_kind``, ``device``.
    """
    own = {
        "kind": pl.lit("log"),
        "code": pl.lit(None, pl.String),
        "device_kind": pl.lit("host"),
        "device": pl.lit(None, pl.String),
    }
    lines = lines.with_columns(**{name: told for name, told in own.items() if name not in lines.columns})
    extra = [name for name in lines.columns if name not in _BASE or name == "repeated"]
    return lines.select(
        *(pl.col(name).cast(frames.TS) for name in ("ts", "ts_low", "ts_high")),
        "host",
        "device_kind",
        "device",
        "kind",
        "code",
        "severity",
        pl.col("text").alias("message"),
        json_rows(lines, extra).alias("attributes"),
        "line",
        *(["row"] if "row" in lines.columns else []),
    )


def _netdevs(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Give the names of network devices that link messages tell beside the PCI address."""
    if not {"netdev", "pci", "kind"} <= set(frame.columns):
        return None
    told = frame.filter(pl.col("netdev").is_not_null() & pl.col("pci").is_not_null() & pl.col("host").is_not_null())
    return told.select("host", "ts", device="netdev", same_as="device", rule=pl.lit("driver message"))
