"""Tables read from their bytes say the same as tables read column by column, whatever stands in them."""

import io
import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.model.context import Context
from workbench.readers import delimited, jsontable
from workbench.readers.cellgrid import table
from workbench.readers.cells import parse_numbers
from workbench.readers.source import Source
from workbench.readers.table import READER

_HEAD = "time,host,gpu,power,energy\n"
_TIMES = ("2026-01-02T03:04:05Z", "2026-01-02 03:04:05.25+01:00", "1767323045", "1767323045123", "2026/01/02 03:04")
_NUMBERS = ("1", "-0", "007", "26.0", "0.1", "123.456", "9007199254740993", "1e5", "0.30000000000000004", "-273.15")
_ODD = ("", " 5", "5 W", "1.2 kW", "N/A", "NaN", "inf", "-999", "2147483632", "9223372036854775794", "1e400", ".5", "5.",
        "+5", "1,2", "0x1F", "5 MiB", "140737488355328", "18446744073709551615", "٣", "-", "1-2", "1.2.3", "12345678901234567890123")  # fmt: skip
_BAD_LINES = ("", "   ", "# c", _HEAD.strip(), "1,2,3", ",,,,", "Total,,,1,2", '"2026-01-02T03:04:05Z",a,0,1,2',
              "yesterday,a,0,1,2", "2026-01-02T03:04:05Z,,,1,2", "2026-01-02T03:04:05Z,a,0,1,2,", "\ta,b,c,d,e", "time,host,x,y,z")  # fmt: skip


def _told(text, large, monkeypatch, **stated):
    """Read a table; give all that the reading says, apart from where its batches end."""
    monkeypatch.setattr(delimited, "LARGE_BYTES", large)
    monkeypatch.setattr(jsontable, "LARGE_BYTES", large)
    rows, notes, tables = 0, [], {}
    for batch in READER.read(Source(io.BytesIO(text.encode())), Context(**stated)):
        rows += batch.rows
        notes += batch.notes
        numbered = batch.samples.join(batch.series, on="series", how="left").drop("series")
        for name in ("skips", "rejects", "absent", "links", "aliases"):
            tables.setdefault(name, []).append(getattr(batch, name))
        tables.setdefault("samples", []).append(numbered)
    whole = {name: pl.concat(parts) for name, parts in tables.items()}
    whole["skips"] = whole["skips"].group_by("rule").agg(pl.col("count").sum())
    whole["absent"] = whole["absent"].group_by("metric", "reason").agg(pl.col("count").sum())
    spans = whole["aliases"].columns[:-2]
    whole["aliases"] = whole["aliases"].group_by(spans).agg(pl.col("valid_from").min(), pl.col("valid_to").max())
    whole["links"] = whole["links"].unique()
    return rows, sorted(notes), {name: part.sort(part.columns).rows() for name, part in whole.items()}


def _line(rng, odd):
    cells = [rng.choice(_NUMBERS if rng.random() > odd else _ODD) for _ in range(2)]
    return f"{rng.choice(_TIMES)},n{rng.randrange(3)},{rng.randrange(2)},{','.join(cells)}"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("odd", [0.0, 0.3])
def test_bytes_and_columns_say_the_same(seed, odd, monkeypatch):
    rng = random.Random(seed)
    lines = [_line(rng, odd) for _ in range(40)]
    lines += rng.choices(lines, k=3)
    if seed % 3:
        lines += rng.choices(_BAD_LINES, k=seed)
        rng.shuffle(lines)
    text = _HEAD + "\n".join(lines) + "\n"
    for stated in ({"zone": "UTC"}, {}):
        assert _told(text, 1, monkeypatch, **stated) == _told(text, 1 << 40, monkeypatch, **stated)


@pytest.mark.parametrize(
    "times", [["2025-11-02 01:30:00"] * 2 + ["2025-11-02 01:10:00"], ["2025-03-09 02:30:00"], ["2025-11-03 01:30"]]
)
def test_local_times_that_come_twice_or_never_are_read_in_order(times, monkeypatch):
    text = _HEAD + "".join(f"{time},a,0,{n},1\n" for n, time in enumerate(times))
    stated = {"zone": "America/New_York"}
    assert _told(text, 1, monkeypatch, **stated) == _told(text, 1 << 40, monkeypatch, **stated)


@pytest.mark.parametrize(
    "header", ["time,host,uuid,gpu,a", "time,a,host", "ts;host;a", "time,rack,host,power [W],temp:3"]
)
def test_other_headers(header, monkeypatch):
    mark = ";" if ";" in header else ","
    width = header.count(mark) + 1
    lines = [
        mark.join([f"17673230{n % 7:02d}", *(f"{n % 3 + place}" for place in range(width - 1))]) for n in range(30)
    ]
    text = header + "\n" + "\n".join(lines) + "\n"
    stated = {"host": "h"} if "host" not in header else {}
    assert _told(text, 1, monkeypatch, **stated) == _told(text, 1 << 40, monkeypatch, **stated)


_JSON_NUMBERS = ("1", "26.0", "0.1", "-273.15", "9007199254740993", "1e5", "0.30000000000000004", "1e300", "2.0")
_JSON_ODD = ("null", "true", "NaN", "-0", "007", "-0.0", "-999", "2147483632", "9223372036854775794", "1e400", '"5 W"',
             '"7"', '""', "[1]", '{"x":1}', "18446744073709551615", "12345678901234567890123", "1.", '"\\u00e9"')  # fmt: skip
_JSON_BAD = ("", "  ", "{", '{"time":5}', '{"host":"n1","time":"2026-01-02T03:04:05Z","power":7}', "[]", '{"time":"x"} ',
             '{"time":"2026-01-02T03:04:05Z","host":"n1","gpu":1,"power":1,"energy":2,"more":3}',
             '{"time":"never","host":"n1","gpu":1,"power":1,"energy":2}')  # fmt: skip


def _object(rng, odd):
    time = rng.choice([f'"{time}"' for time in _TIMES[:2]] if odd < 1 else ["1767323045", "1767323046"])
    cells = [rng.choice(_JSON_NUMBERS if rng.random() > odd % 1 else _JSON_ODD) for _ in range(2)]
    gpu = rng.randrange(2) if rng.random() > odd % 1 / 4 else rng.choice(("007", "1.0", '"1"', "null"))
    return f'{{"time":{time},"host":"n{rng.randrange(3)}","gpu":{gpu},"power":{cells[0]},"energy":{cells[1]}}}'


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("odd", [0.0, 0.05, 0.3, 1.0, 1.1])
def test_bytes_and_objects_say_the_same(seed, odd, monkeypatch):
    rng = random.Random(seed)
    lines = [_object(rng, odd) for _ in range(30)]
    lines += rng.choices(lines, k=3)
    if seed % 3:
        lines += rng.choices(_JSON_BAD, k=seed)
        rng.shuffle(lines)
    text = "\n".join([_object(random.Random(1), 0.0), *lines]) + "\n"
    assert _told(text, 1, monkeypatch) == _told(text, 1 << 40, monkeypatch)


@given(st.lists(st.sampled_from((*_NUMBERS, "")) | st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.integers().map(str), min_size=1, max_size=30))  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_numbers_are_rounded_as_a_cast_rounds_them(cells):
    found = table("".join(f"x,{cell}\n" for cell in cells).encode(), 1, ["a", "b"], delimiter=",", header="a,b")
    grid = found[0].grid
    assert grid.cells("b").to_list() == [cell or None for cell in cells]
    numbers, told = grid.numbers("b", whole=False), parse_numbers(pl.Series(cells))
    if numbers is not None:
        assert [repr(value) for value in numbers.value.to_list()] == [repr(value) for value in told.value.to_list()]
        assert numbers.exact.to_list() == told.exact.to_list()
        assert numbers.reason.to_list() == told.reason.to_list()


def test_rows_are_numbered_in_the_order_in_which_their_cells_are_met():
    rng = random.Random(5)
    cells = [(str(rng.randrange(40)), "é" * rng.randrange(9)) for _ in range(500)]
    grid = table("".join(f"{a},{b}\n" for a, b in cells).encode(), 1, ["a", "b"], delimiter=",", header="x")[0].grid
    code, first = grid.distinct(["a", "b"])
    order = {cell: place for place, cell in enumerate(dict.fromkeys(cells))}
    assert code.tolist() == [order[cell] for cell in cells]
    assert [cells[row] for row in first] == list(order)
    assert grid.line_texts().to_list() == [f"{a},{b}" for a, b in cells]
