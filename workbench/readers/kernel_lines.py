"""Which lines of a kernel's log the kernel wrote, and which messages share a line."""

from __future__ import annotations

import polars as pl

from workbench.readers.kernel_gpu import XID_AFTER_XID, taken_apart

__all__ = ["one_message_a_line", "program_rows", "programs_of"]

_TAG = r"^(?P<tag>(?P<program>[A-Za-z0-9_.@/+-]{1,64})\[(?P<pid>[0-9]{1,10})\]: ?)"
_FAULT = r"^\S{1,64}\[[0-9]{1,10}\]: (?:segfault at |bad frame in )"  # what the kernel says of a program
_USER = 8  # priorities from here on are of other facilities than the kernel's


def programs_of(lines: pl.DataFrame) -> pl.Series:
    """Tell which lines a program wrote into the kernel's log (``/dev/kmsg`` takes what root writes).

    Parameters
    ----------
    lines : polars.DataFrame
        ``text`` (the message without its stamp), ``priority`` (syslog's: facility x 8 + severity) and
        ``facility`` (its name, of ``dmesg --decode``); null where not told.

    Examples
    --------
    >>> lines = pl.DataFrame({"text": ["systemd[1]: Started a", "a.out[7]: segfault at 0 ip 1", "usb 1-1: new", "hello"]})
    >>> lines = lines.with_columns(priority=pl.Series([None, None, 6, 12]), facility=pl.lit(None, pl.String))
    >>> programs_of(lines).to_list()
    [True, False, False, True]
    """
    told = lines["text"].str.contains(_TAG).fill_null(value=False)
    if told.any():
        told &= ~lines["text"].str.contains(_FAULT).fill_null(value=True)
    if lines["priority"].count():
        told |= (lines["priority"] >= _USER).fill_null(value=False)
    if lines["facility"].count():
        told |= (lines["facility"] != "kern").fill_null(value=False)
    return told


def program_rows(lines: pl.DataFrame) -> pl.DataFrame:
    """Split ``systemd[1]: Started a`` into program, pid and message."""
    caught = lines.with_columns(pl.col("text").str.extract_groups(_TAG).struct.unnest())
    message = pl.col("text").str.strip_prefix(pl.col("tag").fill_null(""))
    return caught.with_columns(text=message, pid=pl.col("pid").cast(pl.Int64, strict=False)).drop("tag")


def one_message_a_line(lines: pl.DataFrame, candidates: pl.Series) -> pl.DataFrame:
    """Take lines apart in which one Xid stands behind another; the others stay as they are.

    Parameters
    ----------
    lines : polars.DataFrame
        In the shape of ``kernel_messages.LINE``.
    candidates : polars.Series of bool
        Lines to look at.
    """
    some = lines["text"].filter(candidates)
    if not some.str.contains(XID_AFTER_XID).any():
        return lines
    several = candidates & lines["text"].str.contains(XID_AFTER_XID).fill_null(value=False)
    parts = []
    ordered = lines.with_row_index("order")
    for row in ordered.filter(several).iter_rows(named=True):
        first, *later = taken_apart(row["text"])
        parts += [{**row, "text": first}, *({**row, "text": text, "extra": True} for text in later)]
    split = pl.DataFrame(parts, schema=ordered.schema)
    return pl.concat([ordered.filter(~several), split]).sort("order", maintain_order=True).drop("order")
