"""``journalctl -o json``, ``json-pretty``, ``json-seq`` and ``json-sse``: objects whose numbers are strings.

Kernel records carry the time at which the journal received them, and the monotonic time at which
the kernel wrote them: the difference is how much earlier they may have happened. Other programs
state the time themselves (``_SOURCE_REALTIME_TIMESTAMP``). Fields are those of
systemd.journal-fields(7).
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.model.context import Context
from workbench.readers.base import Match, Reader
from workbench.readers.journal_documents import Documents, is_pretty
from workbench.readers.jsondoc import document_at
from workbench.readers.jsonvalues import clean
from workbench.readers.kernel_messages import LINE, KernelGrammar
from workbench.readers.program_messages import program_events, severity_of, told_with, unrepeated
from workbench.readers.source import Source, damage_batches
from workbench.readers.stamps import OUTSIDE, possible
from workbench.readers.text import Lines, Seen, lines_of, matched_share, rejected, skipped

__all__ = ["READER"]

_FIELDS = (
    "__CURSOR",
    "__REALTIME_TIMESTAMP",
    "__MONOTONIC_TIMESTAMP",
    "_SOURCE_REALTIME_TIMESTAMP",
    "_SOURCE_MONOTONIC_TIMESTAMP",
    "_TRANSPORT",
    "_HOSTNAME",
    "PRIORITY",
    "SYSLOG_IDENTIFIER",
    "SYSLOG_FACILITY",
    "_COMM",
    "SYSLOG_PID",
    "_PID",
    "_SYSTEMD_UNIT",
    "MESSAGE",
)
_SCHEMA = pl.Schema(dict.fromkeys(_FIELDS, pl.String()))
_ODD = r'"\s*:\s*[\[{]|"MESSAGE"\s*:\s*null|\\u[dD][89a-fA-F]'  # Polars reads a lone surrogate as NUL
_WHOLE = frozenset({"}"})  # a last line that ends a record
_LEAD = r"^(?:\x1e|data: )"
_TOO_LATE_US = 86_400_000_000  # a journal that claims to be later than a day is not believed
_NO_OBJECT = "not a JSON object"
_TWO_HOSTS = "_HOSTNAME has several values"
_NO_TIME = "no possible __REALTIME_TIMESTAMP"


def _recognise(head: bytes, context: Context) -> Match | None:
    del context
    if is_pretty(head, share=0.5):
        return Match(confidence=0.95, rule="JSON objects over many lines, with __REALTIME_TIMESTAMP")
    share = matched_share(head, r'^(?:\x1e|data: )?\{.*"__REALTIME_TIMESTAMP"\s*:')
    if share < 0.6:
        return None
    return Match(confidence=0.95, rule=f"{share:.0%} of the first lines are JSON objects with __REALTIME_TIMESTAMP")


def _read(source: Source, context: Context) -> Iterator[Batch]:
    grammar, seen = KernelGrammar(), Seen()
    documents = Documents() if is_pretty(source.head()) else None
    for block in source.blocks():
        lines = lines_of(block, complete=_WHOLE)
        if documents is not None:
            lines = replace(lines, frame=documents.feed(lines.frame))
        changed = documents is not None or lines.rejects.height or lines.broken or b"\0" in block.text
        yield _batch(lines, context.host, (grammar, seen), None if changed else block.text)
    if documents is not None:
        last = documents.rest()
        yield _batch(
            Lines(frame=last, rejects=frames.empty(frames.REJECTS), records=last.height), context.host, (grammar, seen)
        )
    yield grammar.finish().batch(skipped({}), frames.empty(frames.REJECTS))
    yield from damage_batches(source)


def _batch(lines: Lines, host: str | None, kept: tuple[KernelGrammar, Seen], content: bytes | None = None) -> Batch:
    """Make a batch of lines; ``content`` holds the same lines and nothing else."""
    grammar, seen = kept
    text = pl.col("text")
    frame, counts = _objects(lines.frame)
    records, odd = _records(frame, content if frame is lines.frame else None)
    timed = _timed(records)
    bad = timed.filter(pl.col("ts").is_null())
    good = timed.filter(pl.col("ts").is_not_null()) if bad.height else timed
    fresh = seen.is_new(good.select(pl.col("__CURSOR").fill_null(text)).to_series())
    rows = _shaped(good.filter(fresh), host)
    kernel = rows["kernel"]
    told = grammar.feed(rows.filter(kernel).select(LINE.names()).cast(LINE))
    told = told_with(told, program_events(rows.filter(~kernel).drop("kernel")))
    counts["duplicate"] = int((~fresh).sum())
    return told.batch(skipped(counts), pl.concat([lines.rejects, odd, rejected(bad, _no_time())]).sort("line"))


def _objects(lines: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Give the lines that should be objects, and count the others."""
    if lines["text"].str.starts_with("{").all():
        return lines, {}
    lines = lines.with_columns(pl.col("text").str.replace(_LEAD, ""))
    blank = lines["text"].str.strip_chars() == ""
    note = lines["text"].str.starts_with("-- ")
    return lines.filter(~blank & ~note), {"blank": int(blank.sum()), "metadata": int(note.sum())}


def _records(lines: pl.DataFrame, content: bytes | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Give the fields of every line that is an object, and the rejects of the others."""
    text = lines["text"]
    odd = _odd(text) | ~(text.str.starts_with("{") & text.str.ends_with("}"))
    plain = lines.filter(~odd) if odd.any() else lines
    fields = _fields(plain["text"], content if plain is lines else None)
    if fields is None:
        odd, plain = pl.repeat(value=True, n=lines.height, eager=True), plain.clear()
        fields = pl.DataFrame(schema=_SCHEMA)
    slow, rejects = _one_by_one(lines.filter(odd))
    fast = plain.hstack(fields.with_columns(too_large=pl.lit(None, pl.Boolean)))
    return pl.concat([fast, slow]).sort("line") if slow.height else fast, rejects


def _odd(text: pl.Series) -> pl.Series:
    """Tell which lines are to be read one by one; those that could fit the pattern are found at less cost than by it."""
    inside = text.str.slice(1)
    near = inside.str.contains("[", literal=True) | inside.str.contains("{", literal=True)
    near |= inside.str.contains("null", literal=True) | inside.str.contains(r"\u", literal=True)
    rows = near.arg_true()
    odd = pl.repeat(value=False, n=text.len(), eager=True)
    return odd.scatter(rows, text.gather(rows).str.contains(_ODD)) if rows.len() else odd


def _fields(texts: pl.Series, content: bytes | None) -> pl.DataFrame | None:
    """Read lines together; None where one of them is no JSON after all."""
    if texts.is_empty():
        return pl.DataFrame(schema=_SCHEMA)
    try:
        content = content or texts.str.join("\n")[0].encode()
        fields = pl.read_ndjson(io.BytesIO(content), schema=_SCHEMA)
    except pl.exceptions.PolarsError:
        return None
    return fields if fields.height == texts.len() else None


def _one_by_one(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows: list[dict[str, Any]] = []
    bad: list[tuple[int, str, str]] = []
    for line, text in lines.iter_rows():
        record, why = _record(text)
        if record is None:
            bad.append((line, text, why))
            continue
        told = {name: _written(record.get(name)) for name in _FIELDS}
        too_large = True if "MESSAGE" in record and record["MESSAGE"] is None else None
        rows.append({"line": line, "text": text, **told, "too_large": too_large})
    schema = pl.Schema({"line": pl.Int64(), "text": pl.String(), **_SCHEMA, "too_large": pl.Boolean()})
    refused = pl.DataFrame(bad, schema={"line": pl.Int64, "text": pl.String, "reason": pl.String}, orient="row")
    return pl.DataFrame(rows, schema=schema), rejected(refused, pl.col("reason"))


def _record(text: str) -> tuple[dict[str, Any] | None, str]:
    """Read one line; else say why it gives no record."""
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        record = document_at(text.encode(), 1).value  # one with a lone surrogate, perhaps
        if record is None:
            return None, f"{_NO_OBJECT}: {error}"
    if not isinstance(record, dict):
        return None, _NO_OBJECT
    host = record.get("_HOSTNAME")
    if isinstance(host, list) and len({str(name) for name in host}) > 1 and not _is_bytes(host):
        return None, _TWO_HOSTS
    return record, ""


def _is_bytes(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(byte, int) and 0 <= byte <= 255 for byte in value)


def _written(value: Any) -> str | None:
    """Give a field as text: bytes are decoded, of a repeated field the first stands."""
    if value is None or isinstance(value, str):
        return None if value is None else clean(value)
    if isinstance(value, list):
        if _is_bytes(value):
            return bytes(value).decode(errors="backslashreplace")
        return _written(value[0]) if value else None
    return clean(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def _no_time() -> pl.Expr:
    number = pl.col("__REALTIME_TIMESTAMP").cast(pl.Int64, strict=False).is_not_null()
    return pl.when(number).then(pl.lit(OUTSIDE)).otherwise(pl.lit(_NO_TIME))


def _timed(records: pl.DataFrame) -> pl.DataFrame:
    """Add when it happened, and how early it may have happened."""
    whole = {name: pl.col(name).cast(pl.Int64, strict=False) for name in _FIELDS if name.endswith("_TIMESTAMP")}
    received = whole["__REALTIME_TIMESTAMP"]
    delay = whole["__MONOTONIC_TIMESTAMP"] - whole["_SOURCE_MONOTONIC_TIMESTAMP"]
    known = pl.when(delay.is_between(0, _TOO_LATE_US)).then(delay).otherwise(0)
    kernel = _of_kernel()
    moment = pl.when(kernel).then(received).otherwise(whole["_SOURCE_REALTIME_TIMESTAMP"].fill_null(received))
    moment = pl.when(possible(moment)).then(moment)
    return records.with_columns(ts=moment, ts_low=moment - pl.when(kernel).then(known).otherwise(0), ts_high=moment)


def _of_kernel() -> pl.Expr:
    """Tell which records the kernel wrote: not those that a program wrote into its log."""
    facility = pl.col("SYSLOG_FACILITY").fill_null("0") == "0"
    forwarded = pl.col("_TRANSPORT").fill_null("syslog").is_in(["syslog", "journal"])
    named = (pl.col("SYSLOG_IDENTIFIER") == "kernel").fill_null(value=False)
    return ((pl.col("_TRANSPORT") == "kernel").fill_null(value=False) | (forwarded & named)) & facility


def _shaped(records: pl.DataFrame, host: str | None) -> pl.DataFrame:
    process = pl.coalesce("_PID", "SYSLOG_PID").cast(pl.Int64, strict=False)
    rows = records.select(
        "line",
        "ts",
        "ts_low",
        "ts_high",
        "too_large",
        kernel=_of_kernel(),
        host=pl.col("_HOSTNAME").fill_null(pl.lit(host, pl.String)),
        severity=severity_of(pl.col("PRIORITY").cast(pl.Int64, strict=False)),
        repeated=pl.lit(None, pl.Int64),
        extra=pl.lit(value=False),
        text=pl.col("MESSAGE"),
        program=pl.coalesce("SYSLOG_IDENTIFIER", "_COMM"),
        pid=process,
        unit=pl.col("_SYSTEMD_UNIT"),
    )
    return unrepeated(rows)


READER = Reader(name="journald_json", recognise=_recognise, read=_read)
