"""What differs from one log line to the next of its kind: numbers, addresses, paths, names; each by a typed mark."""

from __future__ import annotations

import polars as pl

__all__ = ["LONGEST", "masked"]

#: Characters of a message that are looked at; what follows (a dump, a stack, hostile filling) tells no template apart.
LONGEST = 1000
_HEX = "[0-9a-fA-F]"
#: After these and ``=`` stands a name that somebody gave, not a word of the program.
_NAMED = (
    "user|ruser|logname|name|host|hostname|rhost|node|pod|container|image|comm|exe|task|process|device|dev|iface|"
    "interface|job|jobname|partition|account|group|service|unit|path|file|reason"
)
#: In this order: a later rule sees what earlier ones left. Rust's syntax, linear in the text.
_RULES: tuple[tuple[str, str], ...] = (
    (r"\x1b\[[0-9;]*[A-Za-z]", ""),  # colours
    (r"[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+", " "),
    (r"<([\w*])", "< $1"),  # no text of a log passes for a mark of ours
    (r'"[^"]*"', '"<str>"'),
    (r"(^|[\s=(\[:,])'[^']*'", "$1'<str>'"),
    (rf"\b{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}\b", "<uuid>"),
    (rf"\b(?:{_HEX}{{2}}:){{5,19}}{_HEX}{{2}}\b", "<mac>"),
    (rf"\b{_HEX}{{4,8}}:{_HEX}{{2}}:{_HEX}{{2}}(?:\.[0-7])?\b", "<pci>"),
    (r"\b[a-zA-Z][a-zA-Z0-9+]*://[^\s,;)\]>]+", "<url>"),
    (r"\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", "<time>"),
    (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
    (r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?::\d{1,5})?\b", "<ip>"),
    (rf"(^|[\s=(\[,])(?:{_HEX}{{0,4}}:){{2,7}}{_HEX}{{1,4}}(?:%\w+|/\d+)?", "${1}<ip>"),
    (r"(^|[\s=:(\[,'])(?:/[\w.+@%~:*-]+)+/?", "${1}<path>"),
    (r"\b[A-Za-z][\w.-]*\[\d+(?:[,-]\d+)+\](?:[\w.-]|\[[\d,-]+\])*", "<nodes>"),
    (r"\b[A-Za-z0-9+/]{32,}={0,2}", "<blob>"),
    (rf"\b((?:{_NAMED})=)[^\s,;)<>'\"]*[^\s,;:)<>'\"]", "${1}<name>"),
    (rf"\b0[xX]{_HEX}+(?:_{_HEX}+)*\b", "<hex>"),
    (rf"\b(?:[0-9]+[a-fA-F]|[a-fA-F]+[0-9]){_HEX}{{4,}}\b", "<hex>"),
    (r"\b\d+(?:\.\d+)? ?(?:[KMGTPEkmgtpe]i?[Bb]|bytes?|Bytes?)\b", "<size>"),
    (r"\b\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d)\b", "<duration>"),
    (r"\b\d+(?:\.\d+)? (?:ns|us|µs|ms|msecs?|jiffies|secs?|seconds?|mins?|minutes?|hours?|days?)\b", "<duration>"),
    (r"(^|[\s=(:,\[])[-+](\d)", "$1$2"),
    (r"\d+(?:[.,]\d+)*(?:[eE][+-]?\d+)?%?", "<num>"),
    (r"<num>(?:[,;:x-]<num>)+", "<num>"),  # lists, ranges, versions: as long as they like
)


def masked(text: pl.Expr) -> pl.Expr:
    r"""Put typed marks in the place of what varies, and one blank for any white or control characters.

    Marks are ``<num> <hex> <size> <duration> <time> <ip> <mac> <pci> <uuid> <path> <url> <str> <name> <nodes>
    <blob>``.

    Parameters
    ----------
    text : polars.Expr
        Messages; the first ``LONGEST`` characters of each are looked at.

    Examples
    --------
    >>> lines = pl.DataFrame({"m": ["read 4096 bytes\tfrom /dev/sda1 in 3 ms", "eth0 <b>: user=ann, took -1.5e3"]})
    >>> lines.select(masked(pl.col("m"))).to_series().to_list()
    ['read <size> from <path> in <duration>', 'eth<num> < b>: user=<name>, took <num>']
    """
    said = text.str.slice(0, LONGEST)
    for pattern, mark in _RULES:
        said = said.str.replace_all(pattern, mark)
    return said.str.strip_chars()
