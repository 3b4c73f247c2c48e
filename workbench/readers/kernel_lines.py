"""Which lines of a kernel's log the kernel wrote, and which messages share a line."""

from __future__ import annotations

import polars as pl

from workbench.readers.kernel_gpu import XID_AFTER_XID, taken_apart

__all__ = ["of_program", "one_message_a_line", "program_rows"]

_TAG = r"^(?P<tag>(?P<program>[A-Za-z0-9_.@/+-]{1,64})\[(?P<pid>[0-9]{1,10})\]: ?)"
_FAULT = r"^\S{1,64}\[[0-9]{1,10}\]: (?:segfault at |bad frame in )"  # what the kernel says of a program
_USER = 8  # priorities from here on are of other facilities than the kernel's


def of_program(text: pl.Expr, priority: pl.Expr, facility: pl.Expr) -> pl.Expr:
    """Tell which lines a program wrote into the kernel's log (``/dev/kmsg`` takes what root writes).

    Parameters
    ----------
    text : expression
        The message without its stamp.
    priority : expression
        Syslog priority (facility x 8 + severity); null where not told.
    facility : expression
        Name of the facility (``dmesg --decode``); null where not told.

    Examples
    --------
    >>> lines = pl.DataFrame({"text": ["systemd[1]: Started a", "a.out[7]: segfault at 0 ip 1", "usb 1-1: new", "hello"]})
    >>> lines = lines.with_columns(pri=pl.Series([None, None, 6, 12]), facility=pl.lit(None, pl.String))
    >>> lines.select(of_program(pl.col("text"), pl.col("pri"), pl.col("facility"))).to_series().to_list()
    [True, False, False, True]
    """
    tagged = text.str.contains(_TAG) & ~text.str.contains(_FAULT)
    stated = (priority >= _USER).fill_null(value=False) | (facility != "kern").fill_null(value=False)
    return stated | tagged.fill_null(value=False)


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
