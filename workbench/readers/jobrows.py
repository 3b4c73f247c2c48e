"""Jobs and how they ended, from the columns of an accounting dump.

Records of a scheduler stand in the order of job ids, not of time, so that file order says nothing
about the repeated hour of autumn; the elapsed time of a job does.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from workbench.model import frames
from workbench.model.nodelist import expand
from workbench.readers.cells import clean_text
from workbench.readers.stamps import to_utc
from workbench.readers.text import Seen, json_rows
from workbench.readers.timecells import Clocks, TimeRule, wall_times
from workbench.timebase import MICROS, LocalClock

__all__ = ["MOST_NODES", "Attempts", "job_parts", "job_times"]

#: A longer node list is refused: no job has as many hosts.
MOST_NODES = 100_000
#: Names in one batch, so that memory stays flat whatever a file claims.
_NAMES_A_BATCH = 2_000_000
#: States of a job that goes on.
_RUNNING = (
    "RUNNING", "PENDING", "SUSPENDED", "CONFIGURING", "COMPLETING", "RESIZING", "REQUEUE_HOLD", "REQUEUE_FED",
    "RESV_DEL_HOLD", "SIGNALING", "STAGE_OUT", "STOPPED", "SPECIAL_EXIT", "QUEUED", "HELD", "WAITING",
)  # fmt: skip
_NO_NODES = ("none assigned", "none", "(null)", "")
_PLAIN_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}$"
_TIMES = ("submitted", "start", "end")


class Attempts:
    """Numbers the attempts of a job: the same id with another start is a requeue.

    Examples
    --------
    >>> attempts = Attempts()
    >>> attempts.number(pl.Series(["7", "8", "7", "7"]), pl.Series([10, 11, 99, 10])).to_list()
    [1, 1, 2, 1]
    >>> attempts.number(pl.Series(["7", "7"]), pl.Series([200, 99])).to_list()
    [3, 2]
    """

    def __init__(self) -> None:
        self._jobs = Seen(limit=None)
        self._known: list[pl.DataFrame] = []  # job, start and attempt of the records of each call

    def number(self, job: pl.Series, start: pl.Series) -> pl.Series:
        """Give the attempt of each record, counted from 1 in the order of the file."""
        rows = pl.DataFrame({"job": job.hash(seed=5), "start": start.cast(pl.Int64)})
        again = rows["job"].filter(~self._jobs.is_new(rows["job"])).unique()
        if not again.len():
            self._known.append(rows.with_columns(attempt=pl.lit(1, pl.Int64)))
            return self._known[-1]["attempt"].alias("attempt")
        several = rows["job"].is_in(again.implode())
        known = pl.concat([_NO_ATTEMPTS, *(part.filter(pl.col("job").is_in(again.implode())) for part in self._known)])
        numbered = _numbered(rows.filter(several), known)
        attempt = pl.repeat(1, rows.height, dtype=pl.Int64, eager=True).scatter(several.arg_true(), numbered)
        self._known.append(rows.with_columns(attempt=attempt).unique(maintain_order=True))
        return attempt.alias("attempt")


_NO_ATTEMPTS = pl.DataFrame(schema={"job": pl.UInt64(), "start": pl.Int64(), "attempt": pl.Int64()})


def _numbered(rows: pl.DataFrame, known: pl.DataFrame) -> pl.Series:
    """Number the starts of each job that are not known yet after those that are."""
    on = ["job", "start"]
    new = rows.unique(maintain_order=True).join(known, on=on, how="anti", nulls_equal=True, maintain_order="left")
    before = known.group_by("job").agg(before=pl.col("attempt").max())
    numbered = new.join(before, on="job", how="left", maintain_order="left").select(
        *on, attempt=pl.int_range(1, pl.len() + 1).over("job") + pl.col("before").fill_null(0)
    )
    known = pl.concat([known, numbered]).unique(on, keep="first")
    return rows.join(known, on=on, how="left", nulls_equal=True, maintain_order="left")["attempt"]


def job_times(cells: pl.Series, rule: TimeRule) -> pl.DataFrame:
    """Read times whose order in the file means nothing; what is missing has neither time nor reason.

    Returns
    -------
    polars.DataFrame
        ``ts``, ``ts_low``, ``ts_high`` (Int64 microseconds), ``reason`` and ``curable``.

    Examples
    --------
    >>> job_times(pl.Series(["2025-11-02T03:14:00Z", "Unknown"]), TimeRule()).select("ts", "reason").rows()
    [(1762053240000000, None), (None, None)]
    """
    text, walls = cells, _plain_walls(cells) if rule.time_format is None else None
    if walls is None and cells.dtype == pl.String:
        text = clean_text(cells)
        walls = _plain_walls(text) if rule.time_format is None else None
    if walls is None:
        walls = wall_times(text, rule)
    parts = walls.select("wall", "offset", "resolution")
    if Clocks(rule=rule).repeats(walls):
        # A fresh clock over ascending times sees no fall: both passes of a repeated hour stay open.
        rows = parts.with_row_index("row").sort("wall")
        told = to_utc(rows, LocalClock(rule.zone) if rule.zone else None).sort("row").drop("row")
    else:
        told = to_utc(parts, LocalClock(rule.zone) if rule.zone else None)
    missing = text.is_null()
    return told.with_columns(
        reason=pl.when(missing).then(None).otherwise(pl.coalesce(walls["why"], told["reason"])),
        curable=pl.when(missing).then(None).otherwise(pl.coalesce(walls["cure"], told["curable"])),
    )


def _plain_walls(text: pl.Series) -> pl.DataFrame | None:
    """Read times that all are written as ``2025-11-02T03:14:00`` or missing, as ``wall_times`` does; None for others."""
    if text.dtype != pl.String or not bool((text.str.contains(_PLAIN_TIME) | text.is_null()).all()):
        return None
    wall = text.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False).cast(pl.Int64)
    none = pl.lit(None, pl.String)
    return pl.DataFrame({"wall": wall}).with_columns(
        offset=pl.lit(None, pl.Int64), resolution=pl.lit(MICROS, pl.Int64), why=none, cure=none
    )


def job_parts(
    fields: pl.DataFrame, lines: pl.DataFrame, rule: TimeRule, attempts: Attempts
) -> Iterator[tuple[dict[str, pl.DataFrame], pl.DataFrame]]:
    """Turn accounting records into jobs and the events of their ends, a bounded number at a time.

    Parameters
    ----------
    fields : polars.DataFrame
        ``job submitted start end state exit user name nodes attempt elapsed_s`` as written; columns
        may be missing, ``job`` not.
    lines : polars.DataFrame
        ``line`` and ``text`` of each record.
    rule : TimeRule
    attempts : Attempts
        Kept from call to call.

    Yields
    ------
    dict of polars.DataFrame, polars.DataFrame
        ``jobs`` and ``events``; and ``line``, ``text``, ``reason``, ``curable`` of each record,
        ``reason`` null where it is a job.
    """
    given = fields.select(
        *(pl.col(name) if name in fields.columns else pl.lit(None, pl.String).alias(name) for name in _FIELDS)
    )
    done = 0
    for nodes in _stretches(_node_text(given["nodes"])):
        part, told = given.slice(done, nodes.code.len()), lines.slice(done, nodes.code.len())
        done += nodes.code.len()
        yield _jobs(part, told, nodes, (rule, attempts))


_FIELDS = (*_TIMES, "job", "state", "exit", "user", "name", "nodes", "attempt", "elapsed_s")


def _node_text(nodes: pl.Series) -> pl.Series:
    if isinstance(nodes.dtype, pl.List):
        joined = [None if item is None else ",".join(str(name) for name in item) for item in nodes.to_list()]
        return pl.Series(joined, dtype=pl.String)
    return nodes.cast(pl.String).str.strip_chars()


@dataclass(frozen=True, eq=False, kw_only=True)
class _Nodes:
    """Hosts of some records: each list that is written once, what is wrong with one that gives none, and whose it is."""

    code: pl.Series
    names: list[list[str]]
    wrong: list[str | None]

    def of_rows(self, values: Sequence[Any], kind: pl.DataType) -> pl.Series:
        """Give what belongs to the list of each record."""
        return pl.Series(values, dtype=kind).gather(self.code)

    def names_of_rows(self) -> pl.Series:
        """Give the host names of each record, as lists."""
        flat = pa.array(itertools.chain.from_iterable(self.names), pa.large_string())
        edges = np.cumsum([0, *map(len, self.names)])
        lists = pl.from_arrow(pa.LargeListArray.from_arrays(pa.array(edges, pa.int64()), flat))
        return pl.Series(lists).gather(self.code)


def _stretches(texts: pl.Series) -> Iterator[_Nodes]:
    """Cut records so that the node names of each stretch fit in memory; expand each list once."""
    texts = texts.fill_null("")
    while texts.len():
        known = texts.unique(maintain_order=True)
        names, wrong = _lists(known)
        places = pl.DataFrame({"text": known.head(len(names))}).with_row_index("code")
        found = pl.DataFrame({"text": texts}).join(places, on="text", how="left", maintain_order="left")["code"]
        sizes = pl.Series([len(some) for some in names], dtype=pl.Int64).gather(found)
        # A list that is not expanded stands behind the record with which the names are too many.
        stop = int((sizes.fill_null(0).cum_sum() <= _NAMES_A_BATCH).sum()) + 1
        yield _Nodes(code=found.head(stop), names=names, wrong=wrong)
        texts = texts[stop:]


def _lists(texts: pl.Series) -> tuple[list[list[str]], list[str | None]]:
    """Expand lists until the names are too many for one batch."""
    names: list[list[str]] = []
    wrong: list[str | None] = []
    total = 0
    for text in texts:
        hosts, why = _expanded(text)
        names.append(hosts)
        wrong.append(why)
        total += len(hosts)
        if total > _NAMES_A_BATCH:
            break
    return names, wrong


def _expanded(text: str) -> tuple[list[str], str | None]:
    if text.strip().lower() in _NO_NODES:
        return [], None
    try:
        return expand(re.sub(r"[\s;]+", ",", text.strip()), limit=MOST_NODES), None
    except ValueError as error:
        return [], str(error)


def _jobs(
    given: pl.DataFrame, lines: pl.DataFrame, nodes: _Nodes, kept_over: tuple[TimeRule, Attempts]
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    rule, attempts = kept_over
    job = clean_text(given["job"])
    times = {name: job_times(given[name], rule) for name in _TIMES}
    reason, curable = _faults(job, times, nodes.of_rows(nodes.wrong, pl.String()))
    told = lines.select("line", "text").with_columns(reason.alias("reason"), curable.alias("curable"))
    ends = _ends(times["start"], times["end"], given["elapsed_s"])
    names = nodes.names_of_rows()
    hosts = nodes.of_rows([json.dumps(some, separators=(",", ":")) for some in nodes.names], pl.String())
    start, submitted, number = times["start"]["ts"], times["submitted"]["ts"], lines["line"]
    good = reason.is_null()
    if not good.all():
        given, ends = given.filter(good), ends.filter(good)
        job, names, hosts, start, submitted, number = (
            column.filter(good) for column in (job, names, hosts, start, submitted, number)
        )
    stated = clean_text(given["attempt"]).cast(pl.Int64, strict=False)
    numbered = attempts.number(job, start)
    state = clean_text(given["state"])
    jobs = pl.DataFrame(
        {
            "job": job,
            "attempt": stated.fill_null(numbered) if stated.null_count() else stated,
            "submitted": submitted.cast(frames.TS),
            "start": start.cast(frames.TS),
            "end": ends["ts"].cast(frames.TS),
            "state": _of_distinct(state, _state),
            **{name: clean_text(given[name]) for name in ("exit", "user", "name")},
            "nodes": names,
            "line": number,
        }
    ).cast(frames.JOBS)
    return {"jobs": jobs, "events": _end_events(jobs, ends, state, hosts)}, told


def _of_distinct(text: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Change texts of which few differ, each once."""
    known = text.unique()
    return text.replace_strict(known, change(known), return_dtype=pl.String) if known.len() < 1000 else change(text)


def _faults(job: pl.Series, times: dict[str, pl.DataFrame], wrong: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Give why a record is no job (null where it is one), and what the user can state to cure that."""
    if not (job.null_count() or wrong.count() or any(times[name]["reason"].count() for name in _TIMES)):
        return wrong, wrong
    named = (pl.lit(f"{name}: ") + times[name]["reason"] for name in _TIMES)
    whys = [pl.when(times[name]["reason"].is_not_null()).then(why) for name, why in zip(_TIMES, named, strict=True)]
    nobody = pl.when(job.is_null()).then(pl.lit("record names no job"))
    reason = pl.select(pl.coalesce(wrong, nobody, *whys)).to_series()
    curable = pl.select(pl.coalesce(*(times[name]["curable"] for name in _TIMES))).to_series()
    return reason, curable.set(reason.is_null() | wrong.is_not_null(), None)


def _state(text: pl.Series) -> pl.Series:
    """Give the bare state: ``CANCELLED by 1001`` and ``CANCELLED+`` are CANCELLED."""
    bare = text.str.replace(r"(?i)\s+by\s+.*$", "").str.strip_chars(" +").str.to_uppercase()
    return bare.str.replace_all(r"[^A-Z0-9_.]+", "_")


def _ends(start: pl.DataFrame, end: pl.DataFrame, elapsed: pl.Series) -> pl.DataFrame:
    """Choose the pass of a repeated hour that the elapsed time agrees with."""
    pass_s = 3600 * 1_000_000
    if not ((end["ts_high"] - end["ts_low"]) >= pass_s).any():
        return end.select("ts", "ts_low", "ts_high")
    spent = elapsed.cast(pl.Int64, strict=False) * 1_000_000
    late = end["ts_low"] != end["ts"]
    off = (end["ts"] - start["ts"] - spent).abs()
    later = (end["ts"] + pass_s - start["ts"] - spent).abs()
    open_hour = (end["ts_high"] - end["ts_low"]) >= pass_s
    fits = (open_hour & (later < off) & ~late).fill_null(value=False)
    sure = (open_hour & spent.is_not_null() & ((later < 2_000_000) | (off < 2_000_000))).fill_null(value=False)
    shift = pl.Series(np.where(fits.to_numpy(), pass_s, 0))
    return pl.DataFrame({"ts": end["ts"] + shift}).with_columns(
        ts_low=pl.when(sure).then(pl.col("ts")).otherwise(end["ts_low"]),
        ts_high=pl.when(sure).then(pl.col("ts") + 999_999).otherwise(end["ts_high"]),
    )


def _end_events(jobs: pl.DataFrame, ends: pl.DataFrame, written: pl.Series, hosts: pl.Series) -> pl.DataFrame:
    """Give one event for each job that ended, with its hosts in the attributes."""
    ended = jobs["end"].is_not_null() & jobs["state"].is_not_null() & ~jobs["state"].is_in(_RUNNING)
    rows = jobs.with_columns(
        written.str.extract(r"(?i)\s+by\s+(\S+)", 1).alias("by"),
        hosts.alias("nodes"),
        *(ends[name].alias(name) for name in ("ts_low", "ts_high")),
    ).filter(ended)
    attributes = json_rows(rows, ("attempt", "by", "exit", "name", "nodes", "user"), raw="nodes")
    parts = [pl.lit("job "), pl.col("job"), pl.lit(" ended "), pl.col("state")]
    for before, name in ((" by ", "by"), (", exit ", "exit")):
        more = pl.concat_str(pl.lit(before), name)
        parts += [more.fill_null("")] if rows[name].count() else []
    return rows.select(
        ts="end",
        ts_low=pl.col("ts_low").cast(frames.TS),
        ts_high=pl.col("ts_high").cast(frames.TS),
        host=pl.lit(None, pl.String),
        device_kind=pl.lit("job"),
        device="job",
        kind=pl.lit("job"),
        code="state",
        severity=pl.lit(None, pl.String),
        message=pl.concat_str(parts),
        attributes=attributes,
        line="line",
    )
