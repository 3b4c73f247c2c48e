"""What is installed where, as inventories tell it: attributes, and a dated statement of each version."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.readers.graph import Node
from workbench.readers.told import Told

__all__ = ["tell_installed", "word"]

_NOT_WORD = re.compile(r"[^a-z0-9]+")
#: Attributes that name the thing and are no version of anything.
_IDENTITY = frozenset(
    {
        "model",
        "serial",
        "uuid",
        "sku",
        "part number",
        "psid",
        "guid",
        "mac",
        "description",
        "module",
        "protocol",
        "capacity bytes",
        "update status",
    }
)


def word(text: str) -> str | None:
    """Give a text as one word of lower-case letters, digits and underlines; None where none is left.

    Examples
    --------
    >>> word("Upper Critical - going high"), word("--")
    ('upper_critical_going_high', None)
    """
    return _NOT_WORD.sub("_", text.lower()).strip("_") or None


def tell_installed(told: Told, who: Node, attributes: Mapping[str, str], *, line: int, taken_at_us: int | None) -> None:
    """Tell an entity with its attributes; and, where the inventory has a time, its versions then.

    A version is an event ``inventory`` whose code is the component: two of them that differ are a
    change somewhere between their times. Versions are text: ``96.00.74.00.0b`` is no number.

    Examples
    --------
    >>> told = Told()
    >>> tell_installed(told, ("n1", "host", None), {"model": "X", "bios": "1.10"}, line=1, taken_at_us=0)
    >>> told.batch().events.select("kind", "code", "message").rows()
    [('inventory', 'bios', 'bios 1.10')]
    """
    told.graph.entity(who, attributes)
    if taken_at_us is None:
        return
    for component, version in attributes.items():
        if component not in _IDENTITY and not component.endswith(" available"):
            told.event(
                who,
                "inventory",
                f"{component} {version}",
                span_us=(taken_at_us, taken_at_us),
                line=line,
                code=word(component),
                attributes={"component": component, "version": version},
            )
