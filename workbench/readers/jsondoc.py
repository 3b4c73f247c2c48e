"""JSON documents of a file: one, or several one after another, each whole or rejected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from workbench.errors import DataError
from workbench.readers.source import Source

__all__ = ["LIMIT", "Document", "document_at", "documents_of", "outer_keys", "streamed"]

#: Bytes of a file that is read whole. What is longer has to come as JSON lines.
LIMIT = 64 * 1024 * 1024
_MARK = "\ufeff"
_FIRST_KEY = re.compile(rb'\s*[\[{][\s\[{]*"((?:[^"\\]|\\.){1,200})"\s*:')
_BEGINS = re.compile(r"^[{\[]", re.MULTILINE)
_BETWEEN = re.compile(r"[\s,\x00]*")
_DIGITS = 400  # no counter has more; Python refuses from 4,300 on
_SHOWN = 2000
_PATIENCE = 100  # broken documents after which the rest of a file is given up: looking on costs each time


@dataclass(frozen=True, eq=False, kw_only=True)
class Document:
    """One value of the outermost level.

    Attributes
    ----------
    line : int
        Where it begins, 1-based.
    value : object
        Of :func:`json.loads`; None where ``why`` is given. Numbers may be NaN or infinite.
    why : str or None
        Why the text is no document: reject it.
    text : str
        The first 2,000 characters.
    """

    line: int
    value: Any
    why: str | None
    text: str


def documents_of(source: Source, *, limit: int = LIMIT) -> Iterator[Document]:
    r"""Read the documents of a file; then ``source.damage`` is known.

    After text that is no document, reading goes on at the next line that begins with a bracket.

    Examples
    --------
    >>> import io
    >>> source = Source(io.BytesIO(b'{"a": 1}\n{"a": NaN,\n}\n{\n"a": [2]}'))
    >>> [(found.line, found.value) for found in documents_of(source)]
    [(1, {'a': 1}), (2, None), (4, {'a': [2]})]
    """
    try:
        text = source.read_all(limit).decode(errors="backslashreplace").removeprefix(_MARK)
    except DataError as error:
        yield Document(line=1, value=None, why=str(error), text="")
        return
    decoder = json.JSONDecoder(parse_int=_whole)
    place, line, counted, broken = 0, 1, 0, 0
    while (place := _after(text, place)) < len(text):
        line += text.count("\n", counted, place)
        counted = place
        value, why, end = _decoded(decoder, text, place)
        broken += why is not None
        end = len(text) if broken == _PATIENCE else end
        yield Document(line=line, value=value, why=why, text=text[place : min(end, place + _SHOWN)])
        place = end


def streamed(source: Source, *, limit: int = LIMIT) -> Iterator[Document]:
    r"""Read the documents of a file, line by line where its first line is one; then ``source.damage`` is known.

    JSON lines may be of any size this way. Blank lines are no documents.

    Examples
    --------
    >>> import io
    >>> source = Source(io.BytesIO(b'{"a": 1}\n\n{"a": \n{"a": 2}'))
    >>> [(found.line, found.value) for found in streamed(source)]
    [(1, {'a': 1}), (3, None), (4, {'a': 2})]
    """
    head = source.head().removeprefix(b"\xef\xbb\xbf").lstrip()
    first = head.split(b"\n", 1)[0].strip()
    if b"\n" not in head.rstrip() or not first.endswith((b"}", b"]")) or document_at(first, 1).why is not None:
        yield from documents_of(source, limit=limit)
        return
    for block in source.blocks():
        overlong = set(block.overlong)
        for line, text in enumerate(block.text.removesuffix(b"\n").split(b"\n"), start=block.first_line):
            if line in overlong:
                yield Document(
                    line=line, value=None, why="line is longer than 4 MiB", text=text.decode(errors="replace")
                )
            elif text.strip(b" \t\r\0"):
                yield document_at(text.strip(b" \t\r\0"), line)


def document_at(text: bytes, line: int, *, whole: bool = True) -> Document:
    """Read the document that a text is, or (not ``whole``) begins with.

    Examples
    --------
    >>> document_at(b'{"a": NaN}', 1).value, document_at(b"[1] 2", 7).why
    ({'a': nan}, 'no JSON: more text after the document at column 4')
    >>> document_at(b"[1] 2", 7, whole=False).value
    [1]
    """
    shown = text[:_SHOWN].decode(errors="backslashreplace")
    try:
        return Document(line=line, value=orjson.loads(text), why=None, text=shown)
    except orjson.JSONDecodeError:
        pass  # perhaps NaN, or bytes that are not UTF-8: the other decoder tells
    written = text.decode(errors="backslashreplace")
    value, why, end = _decoded(json.JSONDecoder(parse_int=_whole), written, 0)
    if whole and why is None and written[end:].strip(" ,"):
        value, why = None, f"no JSON: more text after the document at column {end + 1}"
    return Document(line=line, value=value, why=why, text=shown)


def _after(text: str, place: int) -> int:
    found = _BETWEEN.match(text, place)
    return place if found is None else found.end()


def _decoded(decoder: json.JSONDecoder, text: str, place: int) -> tuple[Any, str | None, int]:
    """Give a value, why there is none, and where the next may begin."""
    try:
        value, end = decoder.raw_decode(text, place)
    except json.JSONDecodeError as error:
        why = f"no JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    except RecursionError:
        why = "no JSON that can be read: nested too deep"
    else:
        return value, None, end
    following = _BEGINS.search(text, place + 1)
    return None, why, len(text) if following is None else following.start()


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else float(digits)


@lru_cache(maxsize=2)  # every reader of JSON asks of the same head
def outer_keys(head: bytes) -> frozenset[str]:
    """Give the keys of the first document's outermost level, and of the first object in it.

    Where the head is cut inside of the document, the keys that show in its first level.

    Examples
    --------
    >>> sorted(outer_keys(b'{"status": "success", "data": {"resultType": "mat'))
    ['data', 'status']
    >>> sorted(outer_keys(b'[{"labels": {}, "fingerprint": "a"}]'))
    ['fingerprint', 'labels']
    """
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text.startswith((b"{", b"[")) or b"\0" in text:
        return frozenset()
    line = text.split(b"\n", 1)[0]
    for part in (text, line):
        try:
            found = orjson.loads(part)
        except orjson.JSONDecodeError:
            continue
        found = found[0] if isinstance(found, list) and found else found
        return frozenset(found) if isinstance(found, dict) else frozenset()
    return _keys_of_cut(text)


def _keys_of_cut(text: bytes) -> frozenset[str]:
    """Walk a document that does not end: strings and brackets are all that matters."""
    keys: set[str] = set()
    if _FIRST_KEY.match(text) is None:
        return frozenset()
    inside = text.find(b"{")
    depth = 0
    for found in re.finditer(rb'"((?:[^"\\]|\\.)*)"(\s*:)?|[{}\[\]]', text[inside:]):
        token = found[0]
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and found[2]:
            keys.add(found[1].decode(errors="replace"))
        if depth <= 0:
            break
    return frozenset(keys)
