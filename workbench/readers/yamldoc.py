"""YAML documents of a file, one after another, without types, references or surprises.

Scalars stay text (an unquoted ``no`` or ``2025-11-02`` means what the format says, not what YAML
guesses); aliases, which can make gigabytes of a line, are refused, and so is what is nested too deep.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from workbench.errors import DataError
from workbench.readers.jsondoc import Document
from workbench.readers.source import Source

__all__ = ["YAML_LIMIT", "yaml_document", "yaml_documents"]

#: Bytes of a file that is read whole.
YAML_LIMIT = 64 * 1024 * 1024
_DEEPEST = 64
_SHOWN = 2000
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CUT = "the last document does not end with a newline: it may be cut"


class _RefusedError(Exception):
    pass


def yaml_documents(source: Source, *, limit: int = YAML_LIMIT) -> Iterator[Document]:
    r"""Read the documents of a file, each whole or rejected; then ``source.damage`` is known.

    Examples
    --------
    >>> import io
    >>> source = Source(io.BytesIO(b"kind: Node\n---\na: [\n---\na: &x 1\nb: *x\n"))
    >>> [(found.line, found.value, found.why) for found in yaml_documents(source)][:2]
    [(1, {'kind': 'Node'}, None), (3, None, 'no YAML: did not find expected node content at line 4')]
    """
    try:
        text = source.read_all(limit).decode(errors="backslashreplace").replace("\r\n", "\n")
    except DataError as error:
        yield Document(line=1, value=None, why=str(error), text="")
        return
    whole = text.endswith("\n") and source.damage is None
    parts = list(_parts(text))
    for index, (line, part) in enumerate(parts):
        if index == len(parts) - 1 and not whole:
            yield Document(line=line, value=None, why=_CUT, text=part[:_SHOWN])
        else:
            yield yaml_document(part, line)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Cut at ``---``; what holds comments and blanks only is no document."""
    begin = 1
    held: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.rstrip() in {"---", "..."} or line.startswith("--- #"):
            if _says_something(held):
                yield begin, "\n".join(held)
            begin, held = number + 1, []
        else:
            held.append(line)
    if _says_something(held):
        yield begin, "\n".join(held)


def _says_something(lines: list[str]) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)


def yaml_document(text: str, line: int) -> Document:
    r"""Read one document.

    Examples
    --------
    >>> yaml_document("a: {b: 1, c: null, d: yes}", 1).value
    {'a': {'b': '1', 'c': None, 'd': 'yes'}}
    >>> yaml_document("a: &x [1]\nb: *x", 7).why
    'no YAML that is read: it holds an alias (*x)'
    """
    try:
        value = _built(text)
    except yaml.MarkedYAMLError as error:
        place = f" at line {line + error.problem_mark.line}" if error.problem_mark else ""
        return _refused(line, f"no YAML: {error.problem}{place}", text)
    except yaml.YAMLError as error:
        return _refused(line, f"no YAML: {str(error).splitlines()[0][:200]}", text)
    except _RefusedError as error:
        return _refused(line, f"no YAML that is read: {error}", text)
    return Document(line=line, value=value, why=None, text=text[:_SHOWN])


def _refused(line: int, why: str, text: str) -> Document:
    return Document(line=line, value=None, why=why, text=text[:_SHOWN])


class _Builder:
    """Values as they are told: an open list or object takes what closes inside of it."""

    def __init__(self) -> None:
        self.root: Any = None
        self._open: list[Any] = []
        self._keys: list[Any] = []

    def add(self, value: Any) -> None:
        if not self._open:
            self.root = value
        elif isinstance(self._open[-1], list):
            self._open[-1].append(value)
        elif self._keys[-1] is None:
            if not isinstance(value, str):
                value = "null" if value is None else repr(value)[:80]
            self._keys[-1] = value
        else:
            self._open[-1].setdefault(self._keys[-1], value)
            self._keys[-1] = None

    def begin(self, value: Any) -> None:
        if len(self._open) >= _DEEPEST:
            raise _RefusedError("nested too deep")
        self._open.append(value)
        self._keys.append(None)

    def end(self) -> None:
        value = self._open.pop()
        self._keys.pop()
        self.add(value)


def _built(text: str) -> Any:
    builder = _Builder()
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise _RefusedError(f"it holds an alias (*{event.anchor[:40]})")
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0]
            builder.add(None if plain and event.value in _NULLS else event.value)
        elif isinstance(event, yaml.MappingStartEvent):
            builder.begin({})
        elif isinstance(event, yaml.SequenceStartEvent):
            builder.begin([])
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            builder.end()
    return builder.root
