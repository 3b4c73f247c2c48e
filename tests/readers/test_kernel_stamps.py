"""Stamps read from bytes say what the pattern of a stamp says, wherever they say anything."""

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.kernel_log import READER
from workbench.readers.kernel_stamps import padded_stamps
from workbench.readers.text import Seen

_STAMP = re.compile(r"\[ *([0-9]{1,10})\.([0-9]{6})\] (?!\[)")
_LINES = st.lists(
    st.one_of(
        st.builds(lambda s, us, text: f"[{s:5d}.{us:06d}] {text}", st.integers(0, 10**8), st.integers(0, 10**6 - 1), st.text(max_size=20)),
        st.text(alphabet="[]. 0123456789T\té", max_size=30),
        st.just(""),
    ),
    max_size=20,
)  # fmt: skip


@given(_LINES)
def test_what_is_read_is_what_the_pattern_reads(lines):
    told = padded_stamps(pl.Series(lines, dtype=pl.String))
    for line, (uptime, begin) in zip(lines, told.rows(), strict=True):
        found = _STAMP.match(line)
        assert uptime is None or (uptime, begin) == (int(found[1]) * 1_000_000 + int(found[2]), found.end())


@pytest.mark.parametrize("seconds", [0, 1, 99_999, 100_000, 1_234_567])
def test_stamps_of_any_length_are_read_where_more_lines_follow(seconds):
    line = f"[{seconds:5d}.000007] a message"
    told = padded_stamps(pl.Series([line, line, "short", line, "what follows is long enough"]))
    assert told["uptime"].to_list() == [seconds * 1_000_000 + 7] * 2 + [None, seconds * 1_000_000 + 7, None]
    assert line[told["begin"][0] :] == "a message"


def test_stamps_in_slices_and_chunks_are_read_alike():
    lines = pl.Series([f"[{n:5d}.000000] message number {n}" for n in range(50)])
    chunked = pl.concat([lines[:20], lines[20:]], rechunk=False)
    assert padded_stamps(chunked)["uptime"].head(40).to_list() == [n * 1_000_000 for n in range(40)]
    assert padded_stamps(lines[10:])["uptime"].head(30).to_list() == [n * 1_000_000 for n in range(10, 40)]
    assert padded_stamps(pl.Series([], dtype=pl.String)).rows() == []
    assert padded_stamps(pl.Series([None, "[    1.000000] a message of some length"]))["uptime"][0] is None


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab")), max_size=20), st.integers(0, 20))
def test_what_is_new_in_order_is_what_is_new(pairs, cut):
    pairs.sort(key=lambda pair: pair[0])
    bound = pairs[cut][0] if cut < len(pairs) else 9
    plain, ordered = Seen(), Seen()
    for part in ([pair for pair in pairs if pair[0] < bound], [pair for pair in pairs if pair[0] >= bound]):
        keys = pl.Series([f"{order} {text}" for order, text in part], dtype=pl.String)
        order = pl.Series([order for order, _ in part], dtype=pl.Int64)
        assert ordered.is_new_in_order(keys, order).to_list() == plain.is_new(keys).to_list()
    everything = pl.Series([f"{order} {text}" for order in range(6) for text in "ab"])
    assert ordered.is_known(everything).to_list() == plain.is_known(everything).to_list()


def test_a_dump_that_is_appended_to_itself_is_told_once_whatever_the_blocks(tmp_path):
    lines = "".join(f"[{n:5d}.000000] usb 1-1: message {n}\n[{n:5d}.000000] usb 1-1: more\n" for n in range(40))
    context = Context(host="node1", boot_at_us=1_760_000_000_000_000)
    for size in (300, 10**6):
        reading = read_bytes(READER, (lines + lines).encode(), context, tmp_path, block_bytes=size)
        assert (reading.rows, reading.skips()["duplicate"]) == (80, 80)


def test_lines_of_one_moment_are_told_apart_over_blocks(tmp_path):
    lines = "".join(f"[    0.000000] ACPI: table number {n % 20}\n" for n in range(60))
    context = Context(host="node1", boot_at_us=1_760_000_000_000_000)
    for size in (300, 10**6):
        reading = read_bytes(READER, lines.encode(), context, tmp_path, block_bytes=size)
        assert (reading.rows, reading.skips()["duplicate"]) == (20, 40)
