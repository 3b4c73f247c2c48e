"""Every reader: all records accounted for, nothing invented, nothing raised, whatever the bytes."""

import gzip
import json
import os
import random
from functools import cache
from importlib import import_module

import pytest
import zstandard
from contract.registry import BINARY, READERS
from readings import TABLES, context_of, invented, read, read_bytes
from shared import ROOT

from workbench.model.context import Context
from workbench.readers.registry import recognise
from workbench.readers.source import MAX_LINE_BYTES

FIXTURES = ROOT / "data_samples" / "fixtures"


def _files():
    for name in READERS:
        told = FIXTURES / name / "expected.json"
        if told.exists():
            for file, expected in json.loads(told.read_text(encoding="utf-8")).items():
                yield pytest.param(name, FIXTURES / name / file, expected, id=f"{name}/{file}")


FILES = list(_files())
TEXT_FILES = [file for file in FILES if file.values[0] not in BINARY]
CUTS = 50 if os.environ.get("WORKBENCH_EXAMPLES") == "fresh" else 3  # places a file
every_file = pytest.mark.parametrize(("name", "path", "expected"), FILES)
every_text = pytest.mark.parametrize(("name", "path", "expected"), TEXT_FILES)


def _reader(name):
    return import_module(f"workbench.readers.{name}").READER


@cache
def _whole(name, path):
    expected = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))[path.name]
    return read(_reader(name), path, _context(expected))


def _unless(expected, what):
    """Skip where the file says why this cannot hold of it."""
    if what in expected.get("except", {}):
        pytest.skip(expected["except"][what])


def _context(expected):
    return context_of(expected.get("context", {}))


@pytest.mark.parametrize("name", READERS)
def test_every_reader_has_fixtures_that_say_what_to_expect(name):
    folder = FIXTURES / name
    told = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert sorted(told) == sorted(file.name for file in folder.iterdir() if file.name != "expected.json")
    assert _reader(name).name == name


@every_file
def test_what_the_file_says_is_read(name, path, expected):
    reading = _whole(name, path)
    assert reading.records == expected["records"]
    assert reading.rows == expected["rows"]
    assert reading.skips() == expected.get("skips", {})
    assert reading.reject_counts() == expected.get("rejects", {})
    for table, count in expected.get("counts", {}).items():
        assert reading.count(table) == count, table
    if "absent" in expected:
        assert reading.absent() == expected["absent"]
    for table, rows in expected.get("has", {}).items():
        missing = [row for row in rows if not reading.has(table, row)]
        assert not missing, table
    for line, curable in expected.get("curable", {}).items():
        assert reading.rejects().filter(line=int(line))["curable"].to_list() == [curable]


@every_file
def test_content_is_recognised_whatever_the_name(name, path, expected):
    head = gzip.decompress(path.read_bytes()) if path.read_bytes()[:2] == b"\x1f\x8b" else path.read_bytes()
    found = recognise(head[:65536], _context(expected))
    assert found is not None
    assert found[0].name == name, found[1].rule
    assert 0 < found[1].confidence <= 1


@every_file
def test_same_bytes_same_result(name, path, expected):
    one, two = _whole(name, path), read(_reader(name), path, _context(expected))
    assert one.tables() == two.tables()
    assert one.rejects().equals(two.rejects())
    assert one.notes == two.notes


@every_text
def test_the_result_does_not_depend_on_where_blocks_end(name, path, expected):
    _unless(expected, "blocks")
    whole = _whole(name, path)
    parts = read(_reader(name), path, _context(expected), block_bytes=211)
    assert parts.tables() == whole.tables()
    assert parts.records == whole.records
    assert parts.skips() == whole.skips()
    assert parts.rejects().sort("line", "reason").equals(whole.rejects().sort("line", "reason"))


@every_text
def test_crlf_and_a_byte_order_mark_change_nothing(name, path, expected, tmp_path):
    _unless(expected, "crlf")
    data = path.read_bytes().replace(b"\r\n", b"\n")
    plain = read_bytes(_reader(name), data, _context(expected), tmp_path)
    other = read_bytes(_reader(name), b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"), _context(expected), tmp_path)
    assert other.tables() == plain.tables()
    assert other.records == plain.records
    assert other.reject_counts() == plain.reject_counts()


@every_file
def test_a_cut_file_tells_nothing_that_the_whole_one_does_not(name, path, expected, tmp_path):
    _unless(expected, "cut")
    data = path.read_bytes()
    whole = _whole(name, path)
    rng = random.Random(path.name)
    for place in sorted({len(data) - 1, *(rng.randrange(len(data)) for _ in range(CUTS))}):
        cut = read_bytes(_reader(name), data[:place], _context(expected), tmp_path)
        assert not invented(cut, whole), place
        assert cut.records <= whole.records + 1, "one more where a compressed stream is cut"


@every_file
def test_a_flipped_byte_loses_no_record_and_raises_nothing(name, path, expected, tmp_path):
    data = path.read_bytes()
    whole = _whole(name, path)
    rng = random.Random(path.name)
    for _ in range(CUTS):
        place = rng.randrange(len(data))
        spoiled = bytearray(data)
        spoiled[place] ^= rng.randrange(1, 256)
        reading = read_bytes(_reader(name), bytes(spoiled), _context(expected), tmp_path)
        assert reading.records == reading.rows + sum(reading.skips().values()) + reading.rejects().height
        if name not in BINARY and ord("\n") not in (data[place], spoiled[place]) and spoiled[:2] != b"\x1f\x8b":
            assert abs(reading.records - whole.records) <= expected.get("records_a_byte_can_change", 0), place


@every_text
def test_a_file_after_itself_invents_nothing(name, path, expected, tmp_path):
    _unless(expected, "twice")
    data = path.read_bytes()
    data += b"" if data.endswith(b"\n") else b"\n"
    once = read_bytes(_reader(name), data, _context(expected), tmp_path)
    twice = read_bytes(_reader(name), data * 2, _context(expected), tmp_path)
    assert not invented(twice, once)
    assert twice.records == 2 * once.records


@every_text
def test_a_cut_stream_keeps_its_lines_and_counts_the_loss(name, path, expected, tmp_path):
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        pytest.skip("compressed already")
    whole = _whole(name, path)
    for packed in (gzip.compress(data), zstandard.compress(data)):
        assert read_bytes(_reader(name), packed, _context(expected), tmp_path).tables() == whole.tables()
        cut = read_bytes(_reader(name), packed[:-5], _context(expected), tmp_path)
        assert "cut" in expected.get("except", {}) or not invented(cut, whole)
        assert cut.rejects()["reason"].str.contains("stream damaged: cut").sum() == 1


HOSTILE = {
    "nothing": b"",
    "newlines": b"\n\n\n",
    "noise": random.Random(1).randbytes(5000),
    "zeros": bytes(3000),
    "utf16": "\ufeff[   12.345678] NVRM: Xid (PCI:0000:18:00): 79, gone\n".encode("utf-16-le") * 9,
    "markup": b"<script>alert(1)</script>\n'; drop table samples; --\n${jndi:ldap://x}\n" * 5,
    "brackets": b"[" * 20000 + b"\n" + b"{" * 20000 + b"\n",
    "quotes": b'"' * 9999 + b"\n" + b"\\" * 9999 + b"\n",
    "long line": b"x" * (MAX_LINE_BYTES + 100) + b"\nshort\n",
    "bad utf8": b"\xff\xfe\xc3\x28 \xa0\xa1\n" * 20,
    "numbers": b"9" * 400 + b" " + b"1e999 -1e999 nan inf 0x1p9\n",
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("name", READERS)
def test_hostile_bytes_raise_nothing_and_are_accounted_for(name, what, tmp_path):
    stated = Context(zone="Europe/Berlin", year=2025, host="n1", taken_at_us=10**15, boot_at_us=10**15)
    for context in (Context(), stated):
        reading = read_bytes(_reader(name), HOSTILE[what], context, tmp_path)
        assert reading.records == reading.rows + sum(reading.skips().values()) + reading.rejects().height


@pytest.mark.parametrize("what", ["noise", "zeros", "utf16", "bad utf8"])
def test_no_reader_claims_what_is_no_text(what):
    assert recognise(HOSTILE[what], Context()) is None


@every_text
def test_hostile_lines_between_good_ones_spoil_only_themselves(name, path, expected, tmp_path):
    _unless(expected, "disturbed")
    data = path.read_bytes()
    whole = _whole(name, path)
    worse = data.rstrip(b"\n") + b"\n" + b"".join(HOSTILE[what] for what in ("noise", "markup", "bad utf8", "quotes"))
    kept = read_bytes(_reader(name), worse, _context(expected), tmp_path).tables()
    for table in TABLES:
        assert not whole.table(table) - kept[table], table
