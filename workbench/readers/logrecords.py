"""Log records that carry labels (Loki, OTLP): the same rules for their messages as for syslog and journals.

Which program wrote a line is said by labels, or by a syslog prefix in the line itself; what the
kernel wrote goes through the grammar of kernel messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from workbench.model import frames
from workbench.model.batch import Batch
from workbench.readers.exposition_lines import Parsed
from workbench.readers.exposition_series import LabelledSeries
from workbench.readers.kernel_messages import LINE, KernelGrammar
from workbench.readers.program_messages import program_events, told_with, unrepeated
from workbench.readers.stamps import possible
from workbench.readers.text import Seen, rejected, skipped

__all__ = ["LogRecord", "LogRecords"]

_PROGRAM = (
    *("syslog_identifier", "SYSLOG_IDENTIFIER", "program", "app", "application", "container", "container_name"),
    *("unit", "systemd_unit", "service_name", "service.name", "job", "job_name"),
)
_SAYS_KERNEL = ("transport", "_TRANSPORT", "facility", "syslog_facility", "source")
_KERNEL = frozenset({"kernel", "kern", "dmesg", "kmsg", "klog"})
_KERNEL_FILES = ("kern.log", "dmesg", "kmsg")
_LEVEL = ("level", "detected_level", "severity", "severity_text", "priority_keyword")
_PREFIX = r"^(?:<\d{1,4}>)?(?:1 )?(?:\S+ +){1,5}?kernel(?: - - - -)?: ?"
_STAMP = r"^(?:<\d{1,4}>)?\[ *\d{1,10}\.\d{6}\](?:\[ *[CT]\d+\])? ?"
_OWN = r"^(?:NVRM: |nvidia-nvswitch\d+: |mlx5_core [0-9a-f]{4}:|EDAC [A-Z]+|mce: |LustreError: |Out of memory: Kill)"
_BAD_TIME = "impossible time stamp"


@dataclass(frozen=True, kw_only=True)
class LogRecord:
    """One line of a log: UTC microseconds (None where its stamp is none), labels, text, severity if stated.

    ``stamp`` is the time as it is written: equal lines of two nanoseconds are two.
    """

    line: int
    ts_us: int | None
    labels: Mapping[str, str]
    text: str
    severity: str | None = None
    stamp: str = ""


@dataclass
class LogRecords:
    """Turns records into events; kernel messages that span lines are put together.

    Attributes
    ----------
    host : str or None
        What the user stated.
    """

    host: str | None
    grammar: KernelGrammar = field(default_factory=KernelGrammar)
    _seen: Seen = field(default_factory=Seen)
    _count: int = 0

    def batch(self, records: list[LogRecord], skips: Mapping[str, int], rejects: pl.DataFrame) -> Batch:
        """Make a batch of records in the order of their time.

        Parameters
        ----------
        records : list of LogRecord
        skips : mapping of rule to count
        rejects : polars.DataFrame
            What the reader refused.
        """
        rows = self._rows(records)
        bad = rows.filter(pl.col("ts").is_null())
        good = rows.filter(pl.col("ts").is_not_null())
        fresh = self._seen.is_new(
            good.select(pl.struct("ts", "stamp", "labels", "host", "text")).to_series().struct.json_encode()
        )
        new = unrepeated(good.filter(fresh).drop("labels", "stamp"))
        kernel = new["kernel"]
        told = self.grammar.feed(new.filter(kernel).select(LINE.names()).cast(LINE))
        plain = new.filter(~kernel).drop("kernel")
        told = told_with(told, program_events(plain))
        counts = skipped({**skips, "duplicate": int((~fresh).sum())})
        return told.batch(counts, pl.concat([rejects, rejected(bad, _BAD_TIME)]))

    def finish(self) -> Batch:
        """Tell the messages that could have gone on."""
        return self.grammar.finish().batch(skipped({}), frames.empty(frames.REJECTS))

    def _rows(self, records: list[LogRecord]) -> pl.DataFrame:
        sets: dict[str, int] = {}
        keys = [sets.setdefault(repr(sorted(record.labels.items())), len(sets)) for record in records]
        distinct = {key: record.labels for key, record in zip(keys, records, strict=True)}
        who = self._who(distinct)
        frame = pl.DataFrame(
            {
                "line": pl.int_range(self._count + 1, self._count + len(records) + 1, eager=True, dtype=pl.Int64),
                "id": pl.Series(keys, dtype=pl.UInt64),
                "ts": pl.Series([record.ts_us for record in records], dtype=pl.Int64),
                "stamp": pl.Series([record.stamp for record in records], dtype=pl.String),
                "severity": pl.Series([record.severity for record in records], dtype=pl.String),
                "text": pl.Series([record.text for record in records], dtype=pl.String),
            }
        )
        self._count += len(records)
        rows = frame.join(who, on="id", how="left", maintain_order="left")
        prefixed = pl.col("text").str.contains(_PREFIX)
        kernel = pl.col("kernel") | prefixed | pl.col("text").str.contains(_OWN)
        bare = pl.col("text").str.replace(_PREFIX, "").str.replace(_STAMP, "")
        return rows.select(
            "line",
            *(pl.when(possible(pl.col("ts"))).then("ts").alias(name) for name in ("ts", "ts_low", "ts_high")),
            "host",
            severity=pl.col("severity").fill_null(pl.col("level")).str.to_lowercase(),
            repeated=pl.lit(None, pl.Int64),
            extra=pl.lit(value=False),
            text=pl.when(kernel).then(bare).otherwise("text"),
            kernel=kernel,
            program=pl.when(~kernel).then("program"),
            labels="labels",
            stamp="stamp",
            stream=pl.when(pl.col("labels") != "{}").then("labels"),
        )

    def _who(self, distinct: Mapping[int, Mapping[str, str]]) -> pl.DataFrame:
        """Tell host, program and level of each set of labels."""
        told = [(key, label, value) for key, labels in distinct.items() for label, value in labels.items()]
        labels = pl.DataFrame(told, schema={"id": pl.UInt64, "label": pl.String, "value": pl.String}, orient="row")
        names = pl.DataFrame({"id": pl.Series(list(distinct), dtype=pl.UInt64)}).with_columns(
            metric=pl.lit("log"), first=pl.lit(1, pl.Int64)
        )
        parsed = Parsed(samples=names.clear(), names=names, labels=labels, rejects=frames.empty(frames.REJECTS))
        who = LabelledSeries(host=self.host).identified(parsed).select("id", "host", "labels")
        said = [
            (key, _first(labels, _PROGRAM), _first(labels, _LEVEL), _is_kernel(labels))
            for key, labels in distinct.items()
        ]
        schema = {"id": pl.UInt64, "program": pl.String, "level": pl.String, "kernel": pl.Boolean}
        return who.join(pl.DataFrame(said, schema=schema, orient="row"), on="id", how="left")


def _first(labels: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((labels[name] for name in names if labels.get(name)), None)


def _is_kernel(labels: Mapping[str, str]) -> bool:
    said = (_first(labels, _PROGRAM) or "", *(labels.get(name, "") for name in _SAYS_KERNEL))
    return any(name.lower() in _KERNEL for name in said) or labels.get("filename", "").endswith(_KERNEL_FILES)
