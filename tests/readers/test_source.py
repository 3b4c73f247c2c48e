"""Bytes of a file: every one before the damage, whole lines, bounded memory."""

import gzip
import io
import tracemalloc
import zlib

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import DataError
from workbench.readers.source import BLOCK_LINES, MAX_LINE_BYTES, Source, damage_batches, open_source
from workbench.readers.streams import GzipStream, StreamDamageError, ZstdStream
from workbench.readers.text import lines_of

LINES = b"".join(b"line %d of some text that repeats\n" % number for number in range(20_000))


def drained(stream):
    """All bytes, and the damage."""
    parts = []
    try:
        while part := stream.read(1 << 16):
            parts.append(part)
    except StreamDamageError as error:
        return b"".join(parts), str(error)
    return b"".join(parts), None


def lines_in(data, block_bytes):
    """(number, text) of every line, and the numbers of those without end or too long."""
    source = Source(io.BytesIO(data), block_bytes=block_bytes)
    whole, refused = [], {}
    for block in source.blocks():
        told = lines_of(block)
        whole += told.frame.rows()
        refused |= dict(told.rejects.select("line", "reason").iter_rows())
        assert told.records == told.frame.height + told.rejects.height
    return whole, refused


@given(
    st.lists(st.text(alphabet="ab\r\u00e9{", max_size=9), max_size=12),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(3, 40),
)
@settings(max_examples=300, deadline=None)
def test_blocks_hold_the_lines_of_the_file_wherever_they_end(lines, ended, newline, block_bytes):
    lines = [line.rstrip("\r") for line in lines]
    data = newline.join(lines) + (newline if ended else "")
    old = "\n" not in data and data.count("\r") > 1
    expected = data.replace("\r\n", "\n").replace("\r" if old else "", "\n" if old else "").split("\n")
    tail = expected.pop()
    whole, refused = lines_in(data.encode(), block_bytes)
    assert whole == list(enumerate(expected, start=1))
    assert refused == ({len(expected) + 1: "last line has no newline: it may be cut"} if tail else {})


def test_a_lone_return_is_part_of_its_line_and_the_mark_is_none():
    assert lines_in(b"\xef\xbb\xbf10%\r50%\r100%\nnext\r\n", 1000)[0] == [(1, "10%\r50%\r100%"), (2, "next")]


@pytest.mark.parametrize("block_bytes", [3, 1000])
def test_lines_that_end_in_a_lone_return_throughout_are_lines(block_bytes):
    whole, refused = lines_in(b"a,b\r1,2\r\r3,4\r", block_bytes)
    assert whole == [(1, "a,b"), (2, "1,2"), (3, ""), (4, "3,4")]
    assert not refused


def test_a_progress_bar_of_one_line_stays_one_line():
    bar = b"".join(b"\r%d%%" % share for share in range(101))
    assert lines_in(bar + b"\nnext\n", 1000)[0] == [(1, bar.decode()), (2, "next")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_wide_characters_are_read_as_text(encoding, newline, tmp_path):
    lines = [f"2026-03-01 line {number} of some text \u00e9" for number in range(5000)]
    path = tmp_path / "wide.txt"
    path.write_bytes((newline.join(lines) + newline).encode(encoding))
    with open_source(path, block_bytes=1001) as source:
        found = [text for block in source.blocks() for text in lines_of(block).frame["text"]]
        assert "UTF-" in source.notes[0]
    assert found == lines


def test_lone_surrogates_and_half_a_character_are_shown_not_raised():
    data = b"\xff\xfe" + "one\ntwo".encode("utf-16-le") + b"\x00\xd8" + "\n".encode("utf-16-le") + b"x"
    text = b"".join(block.text for block in Source(io.BytesIO(data)).blocks())
    assert text.startswith(b"one\ntwo\\x00\\xd8\n")


def test_a_block_has_no_more_lines_than_columns_can_bear():
    blocks = list(Source(io.BytesIO(b"\n" * (2 * BLOCK_LINES + 5))).blocks())
    assert [(b.first_line, b.text.count(b"\n")) for b in blocks] == [
        (1, BLOCK_LINES), (BLOCK_LINES + 1, BLOCK_LINES), (2 * BLOCK_LINES + 1, 5),
    ]  # fmt: skip


def test_blocks_of_zstd_before_the_cut_come_out():
    packed = zstandard.compress(LINES * 3)
    plain, damage = drained(ZstdStream(io.BytesIO(packed[: len(packed) // 2])))
    assert len(plain) >= 3 * 131_072
    assert (LINES * 3).startswith(plain)
    assert damage == "zstd stream damaged: cut inside a frame"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress])
def test_what_is_verified_ends_with_the_last_member_whose_checksum_holds(pack):
    good, bad = pack(b"good\n" * 9), bytearray(pack(LINES))
    bad[len(bad) // 2] ^= 0x10
    stream = (GzipStream if pack is gzip.compress else ZstdStream)(io.BytesIO(good + bytes(bad)))
    plain, damage = drained(stream)
    assert plain.startswith(b"good\n" * 9)
    assert damage
    assert stream.verified == 45


@pytest.mark.parametrize("block_bytes", [70_000, 3 * MAX_LINE_BYTES])
def test_a_line_without_end_is_one_reject(block_bytes):
    data = (
        b"before\n"
        + b"x" * (MAX_LINE_BYTES + 1)
        + b"\nafter\n"
        + b"y" * MAX_LINE_BYTES
        + b"\n"
        + b"z" * (MAX_LINE_BYTES + 9)
    )
    whole, refused = lines_in(data, block_bytes)
    assert [(number, text[:6], len(text)) for number, text in whole] == [
        (1, "before", 6),
        (3, "after", 5),
        (4, "yyyyyy", MAX_LINE_BYTES),
    ]
    assert list(refused) == [2, 5]
    assert all(reason.startswith("line is longer than 4 MiB") for reason in refused.values())


class Endless:
    """A file of one line, far larger than memory should ever be."""

    def __init__(self, size):
        self.left = size

    def read(self, size):
        size = min(size, self.left)
        self.left -= size
        return b"x" * size

    def close(self):
        pass


def test_a_line_far_over_the_limit_costs_neither_memory_nor_a_crash():
    tracemalloc.start()
    source = Source(Endless(3 * 10**8))
    told = [lines_of(block) for block in source.blocks()]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [lines.records for lines in told] == [1]
    assert told[0].rejects["line"].to_list() == [1]
    assert peak < 100e6


def test_many_gzip_members_and_zero_padding_are_one_stream():
    packed = gzip.compress(b"a\n") + gzip.compress(b"") + bytes(9000) + gzip.compress(b"b\n") + bytes(3)
    assert drained(GzipStream(io.BytesIO(packed))) == (b"a\nb\n", None)


def test_every_byte_before_the_cut_comes_out():
    packed = gzip.compress(LINES)
    for place in (len(packed) // 2, len(packed) - 1, len(packed) - 9, 3):
        whole = zlib.decompressobj(wbits=31).decompress(packed[:place])
        assert drained(GzipStream(io.BytesIO(packed[:place]))) == (whole, "gzip stream damaged: cut inside a member")


def test_what_precedes_a_wrong_checksum_is_kept():
    packed = bytearray(gzip.compress(b"short\n"))
    packed[-5] ^= 1
    plain, damage = drained(GzipStream(io.BytesIO(bytes(packed))))
    assert plain == b"short\n"
    assert "incorrect" in damage


def test_what_follows_the_last_member_and_is_no_gzip_is_damage():
    plain, damage = drained(GzipStream(io.BytesIO(gzip.compress(b"a\n") + b"rubbish")))
    assert (plain, damage) == (b"a\n", "gzip stream damaged: what follows the last member is no gzip")


@pytest.mark.parametrize("checksum", [True, False])
def test_frames_of_zstd_are_one_stream_and_every_cut_is_seen(checksum):
    packer = zstandard.ZstdCompressor(level=3, write_checksum=checksum)
    skippable = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
    streamed = packer.compressobj()
    pieces = [packer.compress(b"one\n" * 99), skippable, streamed.compress(b"two\n" * 99) + streamed.flush()]
    packed = b"".join(pieces)
    assert drained(ZstdStream(io.BytesIO(packed))) == (b"one\n" * 99 + b"two\n" * 99, None)
    ends = {len(pieces[0]), len(pieces[0]) + len(pieces[1]), len(packed)}
    for place in range(5, len(packed)):
        plain, damage = drained(ZstdStream(io.BytesIO(packed[:place])))
        assert (damage is None) == (place in ends)
        assert (b"one\n" * 99 + b"two\n" * 99).startswith(plain)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_bomb_costs_time_not_memory(pack):
    packed = pack(bytes(60_000_000))
    tracemalloc.start()
    stream = (GzipStream if pack is gzip.compress else ZstdStream)(io.BytesIO(packed))
    size = 0
    while part := stream.read(1 << 20):
        size += len(part)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == 60_000_000
    assert peak < 40e6


def test_what_a_cut_stream_lost_is_one_more_record(tmp_path):
    path = tmp_path / "wrong.suffix"
    path.write_bytes(gzip.compress(LINES)[:-2000])
    with open_source(path, block_bytes=1 << 16) as source:
        assert source.container == "gzip"
        assert source.path is None
        told = [lines_of(block) for block in source.blocks()]
        extra = list(damage_batches(source))
    count = sum(lines.frame.height for lines in told)
    assert LINES.splitlines()[:count] == [text.encode() for lines in told for text in lines.frame["text"]]
    assert count > 15_000
    assert [batch.records for batch in extra] == [1]
    assert extra[0].rejects["line"][0] == count + 1
    assert (
        extra[0].rejects["reason"][0] == f"gzip stream damaged: cut inside a member; what follows line {count} is lost"
    )


def test_a_whole_file_has_no_damage(tmp_path):
    path = tmp_path / "plain.gz"
    path.write_bytes(b"no gzip at all\n")
    with open_source(path) as source:
        assert (source.container, source.path) == ("plain", path)
        assert [block.text for block in source.blocks()] == [b"no gzip at all\n"]
        assert list(damage_batches(source)) == []


def test_a_disk_that_fails_is_damage_not_a_crash():
    class Failing(Endless):
        def read(self, size):
            if self.left < 1000:
                raise OSError(5, "Input/output error")
            return super().read(min(size, 1000)) and b"line\n"

    source = Source(Failing(5000))
    assert sum(block.text.count(b"\n") for block in source.blocks()) == 5
    assert "Input/output error" in next(damage_batches(source)).rejects["reason"][0]


def test_a_head_is_not_consumed_and_a_document_has_a_limit():
    source = Source(io.BytesIO(b"ab" * 100))
    assert source.head() == b"ab" * 100
    assert source.head(3) == b"aba"
    assert source.read_all(200) == b"ab" * 100
    with pytest.raises(DataError, match="199 bytes"):
        Source(io.BytesIO(b"ab" * 100)).read_all(199)
