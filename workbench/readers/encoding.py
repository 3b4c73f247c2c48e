r"""What stands between the bytes of a file and lines of UTF-8: UTF-16, UTF-32, and lines that end in a lone return."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field

__all__ = ["Decoder", "decoder_for"]

_MARKS = (
    (b"\xff\xfe\0\0", "utf-32-le"),
    (b"\0\0\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_LOOKED_AT = 4096
_FEW_RETURNS = 2


@dataclass
class Decoder:
    r"""Turns bytes of a file, piece by piece, into UTF-8 with lines that end in ``\n``.

    Attributes
    ----------
    encoding : str
        Such as ``utf-16-le``; "" where the bytes are taken as they are.
    returns : bool
        Lines end in a lone ``\r``.

    Examples
    --------
    >>> decoder = Decoder(encoding="utf-16-le")
    >>> decoder.feed("a\n".encode("utf-16-le")[:3]) + decoder.feed("a\n".encode("utf-16-le")[3:], final=True)
    b'a\n'
    """

    encoding: str = ""
    returns: bool = False
    _text: codecs.IncrementalDecoder | None = field(default=None, repr=False)
    _held: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        if self.encoding:
            self._text = codecs.getincrementaldecoder(self.encoding)(errors="backslashreplace")

    @property
    def plain(self) -> bool:
        """Whether bytes come out as they went in."""
        return not self.encoding and not self.returns

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know."""
        told = [f"the file is {self.encoding.upper()}; it was read as text all the same"] if self.encoding else []
        told += ["its lines end in a lone carriage return"] if self.returns else []
        return tuple(told)

    def feed(self, data: bytes, *, final: bool = False) -> bytes:
        """Give what the bytes so far say."""
        if self._text is not None:
            data = self._text.decode(data, final).encode("utf-8", "backslashreplace")
        if not self.returns:
            return data
        data = self._held + data
        self._held = b""
        if data.endswith(b"\r") and not final:  # its newline may come with the next piece
            data, self._held = data[:-1], b"\r"
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def decoder_for(head: bytes) -> tuple[Decoder, int]:
    r"""Choose by the first bytes of a file; give also how many bytes its byte-order mark takes.

    Lines end in a lone ``\r`` where the head holds several of them and no newline: one line with
    returns (a progress bar) that ends in a newline within the head stays one line.

    Examples
    --------
    >>> decoder_for(b"\xff\xfea\0\n\0")[0].encoding, decoder_for(b"a\rb\rc\r")[0].returns
    ('utf-16-le', True)
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return _with_returns(encoding, head[len(mark) :]), len(mark)
    return _with_returns(_unmarked(head[:_LOOKED_AT]), head), 0


def _unmarked(head: bytes) -> str:
    """Tell UTF-16 without a mark: in ASCII text every second byte is zero, and none of the others."""
    pairs = len(head) // 2
    if pairs < 4:
        return ""
    even, odd = head[: 2 * pairs : 2].count(0), head[1 : 2 * pairs : 2].count(0)
    if odd >= 0.9 * pairs and not even:
        return "utf-16-le"
    return "utf-16-be" if even >= 0.9 * pairs and not odd else ""


def _with_returns(encoding: str, head: bytes) -> Decoder:
    text = head if not encoding else Decoder(encoding=encoding).feed(head)
    old = b"\n" not in text and b"\0" not in text and text.count(b"\r") >= _FEW_RETURNS
    return Decoder(encoding=encoding, returns=old)
