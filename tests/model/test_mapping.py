from pathlib import Path

import pytest
from shared import ROOT

from workbench.errors import NothingToDoError, SpecificationError
from workbench.model import mapping_check
from workbench.model.context import ROLES, Columns, Context
from workbench.model.mapping import load_mapping, parse_mapping
from workbench.timebase import parse_time

EXAMPLE = ROOT / "examples" / "mapping.toml"


def _mistakes(text, **more):
    with pytest.raises(SpecificationError) as told:
        parse_mapping(text, **more)
    return list(told.value.mistakes)


def test_the_example_shows_every_field_and_holds_no_mistake():
    text = EXAMPLE.read_text(encoding="utf-8")
    load_mapping(EXAMPLE, readers=["kernel_log", "table"])
    for field in (*mapping_check._FIELDS, *mapping_check._TABLES):
        assert f"{field} = " in text or f"[file.{field}]" in text, field


def test_named_groups_and_the_zone_of_the_rule_make_the_time_of_a_name():
    context = load_mapping(EXAMPLE).context_for("node07/sensors_20260301T110000.txt")
    assert context.host == "node07"
    assert context.taken_at_us == parse_time("2026-03-01T10:00:00Z")


def test_later_rules_override_field_by_field_and_all_override_what_was_stated_before():
    mapping = parse_mapping(
        """
        [[file]]
        glob = "*.csv"
        zone = "UTC"
        year = 2025
        [file.columns]
        ts = "t"
        host = "n"
        [[file]]
        glob = "a/*.csv"
        zone = "Asia/Tokyo"
        [file.columns]
        host = "=x"
        """
    )
    base = Context(zone="Europe/Berlin", host="stays")
    one = mapping.context_for("a/b/c.csv", base)
    assert (one.zone, one.year, one.host) == ("Asia/Tokyo", 2025, "stays")
    assert dict(one.columns.roles) == {"ts": "t", "host": "=x"}
    assert mapping.context_for("d.csv", base).zone == "UTC"
    assert mapping.context_for("d.txt", base) == base
    assert Columns().stated is False
    assert one.columns.stated


def test_a_glob_without_a_slash_is_about_the_name_alone():
    mapping = parse_mapping('[[file]]\nglob = "s?nsor[0-9].csv"\nhost = "h"\n')
    assert mapping.context_for("deep/er/sensor7.csv").host == "h"
    assert mapping.context_for("sensorx.csv").host is None


def test_all_mistakes_are_told_at_once_with_line_place_and_nearest_name():
    told = _mistakes(
        """[[file]]
globb = "*.csv"
shape = "wyde"
zone = "Mars/Olympus"
year = "2025"
taken_at = "noon"
labels = "a"
pattern = "gpu(?P<devise>x)"
[file.columns]
tss = "time"
host = 7
[file.kinds]
energy = "countr"
[[file]]
match = "("
glob = "a"
reader = "tabel"
device_kind = "GPU"
decimal = ";"
epoch = "sec"
boot_at = 7
""",
        readers=["table", "parquet"],
    )
    expected = {
        "line 1: file rule 1: expected one of match (a regular expression) or glob, found neither",
        "line 2: file rule 1: there is no 'globb'; did you mean glob?",
        "line 3: file rule 1: shape: expected one of wide, long, events, jobs, topology, found 'wyde'; did you mean wide?",
        "line 5: file rule 1: year: expected a whole number such as 2025, found '2025'",
        "line 6: file rule 1: taken_at: 'noon' is not a time; write it as 2026-03-01T12:00:00Z",
        "line 7: file rule 1: labels: expected a list of column names, found 'a'",
        "line 8: file rule 1: pattern: there is no named group 'devise'; did you mean device?; known: metric, device",
        "line 11: file rule 1: columns: 'host': expected a text in quotes, found 7",
        "line 13: file rule 1: kinds: 'energy': expected gauge or counter, found 'countr'; did you mean counter?",
        "line 14: file rule 2: expected one of match (a regular expression) or glob, found both",
        "line 17: file rule 2: reader: there is no 'tabel'; did you mean table?; known: table, parquet",
        "line 18: file rule 2: device_kind: expected a kind such as gpu, in lower case, found 'GPU'",
        "line 19: file rule 2: decimal: expected ',' or '.', found ';'",
        "line 20: file rule 2: epoch: expected one of ns, us, ms, s, min, h, d, found 'sec'",
        "line 21: file rule 2: boot_at: expected a time such as 2026-03-01T12:00:00Z, found 7",
    }
    assert expected <= set(told)
    assert len(told) == 18
    assert [t for t in told if t.startswith("line 4: file rule 1: zone: 'Mars/Olympus' is not a time zone")]
    assert [t for t in told if t.startswith("line 10: file rule 1: columns: there is no role 'tss'; did you mean ts?")]
    assert [t for t in told if t.startswith("line 15: file rule 2: match: '(' is not a regular expression")]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "it has no rule"),
        ("[[files]]\n", "there is no 'files'; did you mean file?"),
        ("[file]\nglob = 'a'\n", "two brackets"),
        ("[[file]\n", "not TOML"),
        ("[[file]]\nglob = 'a'\ncolumns = 3\n", "expected a table [file.columns]"),
        ("[[file]]\nmatch = '(?P<hots>a)'\n", "did you mean host?"),
        ("[[file]]\nglob = 'a'\npattern = '(?P<metric>a)'\n", "expected the groups"),
        ("[[file]]\nglob = 'a'\nepoch_origin = 2026-01-01T00:00:00Z\n", "epoch_origin: state epoch"),
    ],
)
def test_files_that_are_no_mapping_say_what_is_wrong(text, part):
    assert any(part in mistake for mistake in _mistakes(text))


def test_what_a_name_catches_may_be_wrong_only_when_a_path_is_known():
    mapping = parse_mapping("[[file]]\nmatch = '(?P<taken_at>\\d+)'\n")
    with pytest.raises(SpecificationError, match=r"path 'x99999999\.csv': taken_at: '99999999' is not a time"):
        mapping.context_for("x99999999.csv")
    zones = parse_mapping("[[file]]\nmatch = '^(?P<zone>[^.]+)'\n")
    with pytest.raises(SpecificationError, match="zone: 'nowhere' is not a time zone"):
        zones.context_for("nowhere.csv")


def test_a_time_without_a_zone_needs_one():
    mapping = parse_mapping("[[file]]\nglob = 'a'\ntaken_at = 2026-03-01T12:00:00\n")
    with pytest.raises(SpecificationError, match="has no zone"):
        mapping.context_for("a")
    assert mapping.context_for("a", Context(zone="UTC")).taken_at_us == parse_time("2026-03-01T12:00:00Z")


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path):
    with pytest.raises(NothingToDoError, match="no mapping file"):
        load_mapping(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecificationError, match="UTF-8"):
        load_mapping(tmp_path / "bad.toml")


def test_roles_are_told_apart():
    assert len(set(ROLES)) == len(ROLES)
