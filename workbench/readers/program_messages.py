"""What a log says beside the kernel's own lines: programs, repeats, and messages that were lost."""

from __future__ import annotations

import polars as pl

from workbench.model import frames
from workbench.readers.kernel_messages import Told, events_frame

__all__ = ["LEVELS", "program_events", "severity_of", "told_with", "unrepeated"]

#: Names of the syslog severities, 0 to 7.
LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
_REPEATED = r"^message repeated (\d{1,9}) times: \[ ?(.*)\]\s*$"
_LAST_REPEATED = r"^last message repeated (\d{1,9}) times"
#: What checks of file systems say at boot, by the program that runs them.
_CHECKERS = ("systemd-fsck", "fsck", "e2fsck", "fsck.ext4", "fsck.ext3", "xfs_repair")
_CHECKED = (
    r"^(?:/dev/)?(?P<device>[A-Za-z0-9_.:/-]{1,128}): (?P<said>recovering journal|clean,|\*{3,} FILE SYSTEM WAS MODIFIED|"
    r"UNEXPECTED INCONSISTENCY|Clearing orphaned inode|was not cleanly unmounted)"
)
_FSCK = {
    "recovering journal": "fsck_recovering",
    "clean,": "fsck_clean",
    "UNEXPECTED INCONSISTENCY": "fsck_inconsistent",
    "Clearing orphaned inode": "fsck_repaired",
    "was not cleanly unmounted": "fsck_unclean",
}
_LOST = (
    r"(\d{1,9}) messages? (?:lost|dropped|discarded|suppressed)\b",
    r"\b(?:lost|[Ss]uppressed|[Mm]issed|dropped) (\d{1,9}) (?:kernel )?messages?\b",
)


def severity_of(priority: pl.Expr) -> pl.Expr:
    """Give the name of the severity in a syslog priority (facility x 8 + severity); null beyond 191.

    Examples
    --------
    >>> pl.DataFrame({"pri": [34, 3444, None]}).select(severity_of(pl.col("pri"))).to_series().to_list()
    ['crit', None, None]
    """
    level = pl.when(priority <= 191).then(priority % 8)
    return level.replace_strict(dict(enumerate(LEVELS)), return_dtype=pl.String)


def unrepeated(lines: pl.DataFrame) -> pl.DataFrame:
    """Put the message itself in the place of ``message repeated 3 times: [ ... ]``, and count it.

    Examples
    --------
    >>> lines = pl.DataFrame({"text": ["message repeated 3 times: [ nfs: server a OK]", "last message repeated 2 times"]})
    >>> unrepeated(lines.with_columns(repeated=pl.lit(None, pl.Int64))).rows()
    [('nfs: server a OK', 3), ('last message repeated 2 times', 2)]
    """
    if not lines["text"].str.contains("message repeated ", literal=True).any():
        return lines
    text = pl.col("text")
    count = text.str.extract(_REPEATED).fill_null(text.str.extract(_LAST_REPEATED))
    return lines.with_columns(
        text=text.str.extract(_REPEATED, 2).fill_null(text),
        repeated=count.cast(pl.Int64, strict=False).fill_null(pl.col("repeated")),
    )


def program_events(lines: pl.DataFrame) -> pl.DataFrame:
    """Make events of lines that programs wrote.

    ``log.lost`` where messages were lost, ``filesystem`` where a check of one tells, else ``log``.
    No program makes an event of the kernel, whatever it quotes.

    Parameters
    ----------
    lines : polars.DataFrame
        The columns of ``kernel_messages.LINE``; others, such as ``program``, become attributes.
    """
    text = pl.col("text")
    if "program" in lines.columns:
        checks = lines["program"].is_in(list(_CHECKERS)) & lines["text"].str.contains(_CHECKED)
        if checks.fill_null(value=False).any():
            checked = _checked(lines.filter(checks.fill_null(value=False)))
            return pl.concat([program_events(lines.filter(~checks.fill_null(value=False))), checked])
    if not lines["text"].str.contains(r"messages? |messages?$").any():
        return events_frame(lines)
    count = pl.coalesce(text.str.extract(pattern) for pattern in _LOST).cast(pl.Int64, strict=False)
    lost = lines.with_columns(count=count)
    kind = pl.when(pl.col("count").is_not_null()).then(pl.lit("log.lost")).otherwise(pl.lit("log"))
    return events_frame(lost.with_columns(kind=kind))


def _checked(lines: pl.DataFrame) -> pl.DataFrame:
    told = lines.with_columns(pl.col("text").str.extract_groups(_CHECKED).struct.unnest())
    code = pl.col("said").replace_strict(_FSCK, default="fsck_modified", return_dtype=pl.String)
    kinds = {"kind": pl.lit("filesystem"), "device_kind": pl.lit("disk"), "code": code}
    return events_frame(told.with_columns(**kinds).drop("said"))


def told_with(kernel: Told, programs: pl.DataFrame) -> Told:
    """Put what the kernel and what programs said together, in the order of the lines.

    Parameters
    ----------
    kernel : Told
    programs : polars.DataFrame
        Events, one a record.
    """
    events = pl.concat([kernel.events, programs.cast(frames.EVENTS)]).sort("line", maintain_order=True)
    return Told(
        events=events,
        aliases=kernel.aliases,
        rows=kernel.rows + programs.height,
        continuations=kernel.continuations,
        odd_xids=kernel.odd_xids,
    )
