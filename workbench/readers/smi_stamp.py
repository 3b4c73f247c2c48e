"""The times that nvidia-smi writes: local, and without a zone."""

from __future__ import annotations

import re

from workbench.readers.stamps import MONTHS

__all__ = ["iso_stamp"]

_CTIME = re.compile(r"(?:[A-Z][a-z]{2} )([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d) (\d{4})")


def iso_stamp(text: str) -> str:
    """Write ``Tue Jul 14 08:12:53 2026`` as ISO; what is no such stamp stays as it is.

    Examples
    --------
    >>> iso_stamp("Tue Jul  4 08:12:53 2026"), iso_stamp("2026/07/14 08:12:53.353")
    ('2026-07-04 08:12:53', '2026/07/14 08:12:53.353')
    """
    found = _CTIME.fullmatch(text.strip())
    if found is None or found[1] not in MONTHS:
        return text
    return f"{found[4]}-{MONTHS.index(found[1]) + 1:02d}-{int(found[2]):02d} {found[3]}"
