"""XML documents of a file, one after another; entities, which could grow without end, are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat  # its handlers below refuse declarations of entities

__all__ = ["Element", "XmlDocument", "root_of", "xml_documents"]

_MOST_ELEMENTS = 500_000
_DEEPEST = 100
_START = re.compile(rb"<\?xml\b")
_ROOT = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,2000}?-->\s*)*(?:<!DOCTYPE[^>\[]{0,300}>\s*)?<([A-Za-z_][\w.-]{0,60})",
    re.DOTALL,
)
_LONGEST_TAG = 100_000


class _RefusedError(Exception):
    pass


@dataclass(eq=False)
class Element:
    """One element that was closed.

    Attributes
    ----------
    tag : str
    line : int
        1-based.
    attributes : dict
    children : list of Element
    text : str
        Of the element itself, stripped.
    """

    tag: str
    line: int
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def find(self, tag: str) -> Element | None:
        """Give the first child of a tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def every(self, tag: str) -> Iterator[Element]:
        """Give all elements of a tag inside of this one, in the order of the document."""
        stack = list(reversed(self.children))
        while stack:
            element = stack.pop()
            if element.tag == tag:
                yield element
            stack += reversed(element.children)

    def leaves(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Give path and text of all elements without children."""
        stack: list[tuple[tuple[str, ...], Element]] = [((child.tag,), child) for child in reversed(self.children)]
        while stack:
            path, element = stack.pop()
            if not element.children:
                yield path, element.text
            stack += [((*path, child.tag), child) for child in reversed(element.children)]


@dataclass(frozen=True, eq=False, kw_only=True)
class XmlDocument:
    """One document, or what there is of it.

    Attributes
    ----------
    line : int
    root : Element or None
        With the children that were closed; None where not even the root was opened.
    why : str or None
        Why the document is not whole.
    """

    line: int
    root: Element | None
    why: str | None


def root_of(head: bytes) -> str | None:
    r"""Give the tag of the root, by the first bytes of a file.

    Examples
    --------
    >>> root_of(b'<?xml version="1.0" ?>\n<!DOCTYPE a SYSTEM "a.dtd">\n<a><b/>'), root_of(b"a < b")
    ('a', None)
    """
    found = _ROOT.match(head.removeprefix(b"\xef\xbb\xbf"))
    return found[1].decode() if found else None


def xml_documents(data: bytes) -> Iterator[XmlDocument]:
    r"""Read the documents of a file.

    After one that is broken, reading goes on at the next ``<?xml``.

    Examples
    --------
    >>> found = list(xml_documents(b'<?xml version="1.0"?>\n<a><b>1</b></a>\n<?xml version="1.0"?>\n<a><b>2</b><b>3'))
    >>> [(one.line, [child.text for child in one.root.children], one.why) for one in found]
    [(1, ['1'], None), (3, ['2'], 'no whole XML: no element found at line 4')]
    >>> bomb = b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'
    >>> [one.why for one in xml_documents(bomb)]
    ['XML that declares entities is refused']
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        data = data.decode(errors="backslashreplace").encode()
    view = memoryview(data)
    place, line = 0, 1
    while place < len(data):
        rest = re.compile(rb"[\s\0]*").match(data, place)
        start = rest.end() if rest else place
        line += data.count(b"\n", place, start)
        if start == len(data):
            return
        builder = _Builder(line)
        end, why = builder.read(view[start:])
        following = start + end
        if why is not None:
            found = _START.search(data, start + 1)
            following = found.start() if found else len(data)
        yield XmlDocument(line=line, root=builder.root, why=why)
        line += data.count(b"\n", start, following)
        place = following


@dataclass(eq=False)
class _Builder:
    first_line: int
    root: Element | None = None
    _open: list[Element] = field(default_factory=list)
    _texts: list[list[str]] = field(default_factory=list)
    _count: int = 0
    _closed: bool = False
    _ends: int = 0

    def read(self, data: memoryview) -> tuple[int, str | None]:
        """Give how far the document goes, and why it is not whole."""
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        self._parser, self._data = parser, data
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refuse
        parser.StartDoctypeDeclHandler = self._doctype
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            if self._closed:  # what follows is another document, or rubbish
                return self._ends, None
            message = expat.ErrorString(error.code)
            return 0, f"no whole XML: {message} at line {self.first_line + error.lineno - 1}"
        except _RefusedError as error:
            return 0, str(error)
        return len(data), None

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > _MOST_ELEMENTS or len(self._open) >= _DEEPEST:
            raise _RefusedError(f"XML beyond {_MOST_ELEMENTS} elements or {_DEEPEST} levels is refused")
        element = Element(tag=tag, line=self.first_line + self._parser.CurrentLineNumber - 1, attributes=attributes)
        if self.root is None:
            self.root = element
        self._open.append(element)
        self._texts.append([])

    def _end(self, tag: str) -> None:
        del tag
        element, texts = self._open.pop(), self._texts.pop()
        element.text = "".join(texts).strip()
        if self._open:
            self._open[-1].children.append(element)
        else:
            self._closed = True
            tail = bytes(self._data[self._parser.CurrentByteIndex :][:_LONGEST_TAG])
            self._ends = self._parser.CurrentByteIndex + tail.find(b">") + 1

    def _text(self, text: str) -> None:
        if self._texts:
            self._texts[-1].append(text)

    def _refuse(self, *declared: object) -> None:
        del declared
        raise _RefusedError("XML that declares entities is refused")

    def _doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        del name, system, public
        if internal:
            raise _RefusedError("XML that declares entities is refused")
