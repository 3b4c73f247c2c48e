"""How the NVIDIA driver writes an Xid, and what stands in its text.

Spellings are those of the open kernel modules and of public dumps from driver 390 to 590: with or
without ``PCI:``, function, MIG instances, ``pid`` and ``name``; white space and case may differ.
"""

from __future__ import annotations

import re

import polars as pl

from workbench.readers.kernel_rule import PCI

__all__ = ["NVRM", "ODD_XID", "ODD_XID_NOTE", "XID", "XID_AFTER_XID", "taken_apart", "xid_details"]

#: The cheap first test.
NVRM = r"NVRM:|(?i:nvrm:)"
_HEAD = rf"(?:NVRM:\s*)+Xid\s*\(\s*(?:PCI\s*:\s*)?{PCI}[^)]{{0,40}}\)\s*:\s*[0-9]"
#: A code has at most three digits; the driver knows fewer than 200.
XID = (
    rf"(?i)^\s*(?:NVRM:\s*)+Xid\s*\(\s*(?:PCI\s*:\s*)?(?P<device>{PCI})(?:[ ,]+GPU-I:\s*(?P<gpu_instance>[0-9]{{1,4}}))?"
    r"(?:[ ,]+GPU-CI:\s*(?P<compute_instance>[0-9]{1,4}))?\s*\)\s*:\s*(?P<code>[1-9][0-9]{0,2})(?:[\s,:;.]|$)"
    r"(?:\s*pid\s*=\s*(?:'?<unknown>'?|'?(?P<pid>[0-9]+)'?))?"
    r"(?:,?\s*name\s*=\s*(?:'?<unknown>'?|(?P<name>[^,]*)))?"
)
#: A line that says so and does not fit: it is kept, with a note.
ODD_XID = r"(?i)\bNVRM:\s*Xid\b"
ODD_XID_NOTE = "says NVRM: Xid, but not as the driver writes it: no event of its own"
#: An Xid behind another one: a newline was lost between them.
XID_AFTER_XID = rf"(?i)^\s*{_HEAD}.*\S\s*{_HEAD}"
_LAST_OF_STAMP = r"(?:\s*\[\s*[0-9]{1,10}\.[0-9]{6}\])?\s*$"
#: What a process calls itself (``name=...``) is no message of the driver.
_INSIDE = re.compile(rf"(?i)(name=\s*)?{_HEAD}")
_NVLINK_XIDS = ["74", *(str(code) for code in range(144, 151))]
_WORDS = r"\((0x[0-9a-fA-F]{1,8}(?:[ ,]+0x[0-9a-fA-F]{1,8}){5})\)"
_ACTION = r"recovery action changed from 0x[0-9a-fA-F]+ \(([^)]*)\) to 0x[0-9a-fA-F]+ \(([^)]*)\)"
_UNIT = r"\): [0-9]+, ([A-Z][A-Z0-9_]{1,40})\s+(?i:non-?fatal|fatal|nonfatal)\b"


def taken_apart(text: str) -> list[str]:
    """Split a line in which several Xids stand one behind the other.

    Examples
    --------
    >>> taken_apart("NVRM: Xid (PCI:0000:18:00): 79, lost.NVRM: Xid (PCI:0000:2a:00): 45, Ch 8")
    ['NVRM: Xid (PCI:0000:18:00): 79, lost.', 'NVRM: Xid (PCI:0000:2a:00): 45, Ch 8']
    """
    marked = _INSIDE.sub(lambda found: found[0] if found[1] else "\0" + found[0], text).split("\0")
    parts: list[str] = pl.Series(marked).str.replace(_LAST_OF_STAMP, "").to_list()
    return [part for part in parts if part.strip()]


def xid_details(rows: pl.DataFrame) -> pl.DataFrame:
    """Add what the text of Xids tells: link, NVLink words, cause, recovery action.

    Parameters
    ----------
    rows : polars.DataFrame
        With ``code`` and ``text``; rows without a code tell nothing.

    Returns
    -------
    polars.DataFrame
        With ``link``, ``caused_by`` (the Xid that this one names as its cause), ``action_from`` and
        ``action`` (Xid 154), and of NVLink Xids (144 to 150) ``unit``, ``fatality``, ``words``,
        ``intr_info`` (the first word) and ``error_status`` (the second).

    Examples
    --------
    >>> text = "NVRM: Xid (PCI:0000:18:00): 45, pid=7, name=a, Ch 00000001 caused by previous Xid 149"
    >>> xid_details(pl.DataFrame({"code": ["45"], "text": [text]}))["caused_by"].to_list()
    [149]
    """
    text = pl.col("text")
    told = {
        "link": (_NVLINK_XIDS, text.str.extract(r"\b[Ll]ink (-?\d{1,4})\b").cast(pl.Int64, strict=False)),
        "unit": (_NVLINK_XIDS, text.str.extract(_UNIT)),
        "fatality": (_NVLINK_XIDS, _fatality(text)),
        "words": (_NVLINK_XIDS, text.str.extract(_WORDS)),
        "intr_info": (_NVLINK_XIDS, text.str.extract(_WORDS).str.extract(r"^(\S+?),? ")),
        "error_status": (_NVLINK_XIDS, text.str.extract(_WORDS).str.extract(r"^\S+ +(\S+?),? ")),
        "action_from": (["154"], text.str.extract(_ACTION)),
        "action": (["154"], text.str.extract(_ACTION, 2)),
        "caused_by": (None, text.str.extract(r"caused by previous Xid (\d{1,3})\b").cast(pl.Int64, strict=False)),
    }
    codes = set(rows["code"].drop_nulls().to_list())
    added = []
    for name, (where, value) in told.items():
        if where is None:
            added.append(pl.when(pl.col("code").is_not_null()).then(value).alias(name))
        elif codes & set(where):
            added.append(pl.when(pl.col("code").is_in(where)).then(value).alias(name))
    return rows.with_columns(added)


def _fatality(text: pl.Expr) -> pl.Expr:
    said = text.str.extract(r"(?i)\b(non-?fatal|fatal)\b").str.to_lowercase().str.replace("-", "", literal=True)
    return said.replace_strict({"nonfatal": "Non-fatal", "fatal": "Fatal"}, default=None, return_dtype=pl.String)
