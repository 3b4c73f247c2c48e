"""Which events are meant: ``kind[:code,code][@glob]``, such as ``xid:48,94,95@rack:rack7``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from workbench.errors import SpecificationError

__all__ = ["Selector", "event"]

_KIND = re.compile(r"[a-z][a-z0-9_.]*")
_CODE = re.compile(r"[A-Za-z0-9_.+*?\[\]-]+")


@dataclass(frozen=True)
class Selector:
    """Which events are meant.

    Attributes
    ----------
    kind : str
        Event kind, such as ``xid`` or ``job``.
    codes : tuple of str
        Codes, any of which will do; may hold ``*``. Empty: every code.
    where : str or None
        Glob on the entity id, or on ``kind:name`` of the entity or of any ancestor.

    Examples
    --------
    >>> Selector.parse("xid:48,94@rack:rack7")
    Selector(kind='xid', codes=('48', '94'), where='rack:rack7')
    >>> str(event("xid", codes=[48, 94]))
    'xid:48,94'
    """

    kind: str
    codes: tuple[str, ...] = ()
    where: str | None = None

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Read the written form.

        Raises
        ------
        SpecificationError
            With every mistake in the text.
        """
        body, at, where = text.strip().partition("@")
        kind, colon, codes_text = body.partition(":")
        codes = tuple(part.strip() for part in codes_text.split(",")) if colon else ()
        mistakes = []
        if not _KIND.fullmatch(kind):
            mistakes.append(f"'{kind}' is no event kind: lower-case letters, digits, dots, such as xid")
        mistakes += [
            f"'{code}' is no code: expected such as 79 or NODE_FAIL" for code in codes if not _CODE.fullmatch(code)
        ]
        if at and not where:
            mistakes.append("nothing stands after '@': expected an entity id or kind:name, such as rack:rack7")
        if mistakes:
            raise SpecificationError(f"selector '{text}'", mistakes)
        return cls(kind, codes, where or None)

    def matches_code(self, code: str | None) -> bool:
        """Tell whether an event of this kind with ``code`` is meant."""
        return not self.codes or (code is not None and any(fnmatchcase(code, pattern) for pattern in self.codes))

    def __str__(self) -> str:
        codes = ":" + ",".join(self.codes) if self.codes else ""
        return f"{self.kind}{codes}" + (f"@{self.where}" if self.where else "")


def event(kind: str, *, codes: int | str | Iterable[int | str] = (), at: str | None = None) -> Selector:
    """Name events by kind, codes and place; nothing is read yet.

    Parameters
    ----------
    kind : str
        Such as ``xid``; ``store.event_kinds()`` lists those that a store holds.
    codes : code or several
        Any of which will do; ``*`` stands for any letters. None: every code.
    at : str, optional
        Glob on the entity id, or on ``kind:name`` of the entity or of any ancestor: ``rack:r7``.

    Examples
    --------
    >>> event("job", codes=["NODE_FAIL"]).matches_code("NODE_FAIL")
    True
    """
    codes = (codes,) if isinstance(codes, (int, str)) else tuple(codes)
    written = f"{kind}:{','.join(str(code) for code in codes)}" if codes else kind
    return Selector.parse(written + (f"@{at}" if at else ""))
