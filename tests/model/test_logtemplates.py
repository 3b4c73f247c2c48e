"""Templates depend on the set of lines alone, group as well as known templates do, and bear any text."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loglines import grouping_accuracy

from workbench.model.logtemplates import OPEN, mine, template_id
from workbench.model.masking import LONGEST
from workbench.simulator.daemon_text import labelled_lines

WORDS = st.sampled_from(
    ["link", "up", "down", "node7", "0x1f", "ann", "bob", "user", "state=on", "12 ms", "/a/b", "<x>", "'q'"]
)
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), min_size=1, max_size=40)


def found(lines):
    answer = mine(pl.Series(lines, dtype=pl.String))
    return dict(answer.select("message", "template").iter_rows())


@given(LINES, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_and_repetition_change_nothing(lines, random):
    shuffled = [*lines, *lines[::2]]
    random.shuffle(shuffled)
    assert found(shuffled) == found(lines)


@pytest.mark.parametrize("seed", [1, 2])
def test_order_changes_nothing_among_many_templates(seed):
    lines, _ = labelled_lines(1500, seed=seed)
    assert found(lines[::-1]) == found(sorted(lines)) == found(lines)


@pytest.mark.parametrize(
    ("line", "template"),
    [
        ("read 4096 bytes from /dev/sda1 in 3.5 ms", "read <size> from <path> in <duration>"),
        ("at 2026-03-01T00:00:00.5Z from 10.0.0.7:22", "at <time> from <ip>"),
        ("GPU-8d5f1c1e-8a3b-11ee-b9d1-0242ac120002 of 0000:3b:00.0", "GPU-<uuid> of <pci>"),
        ("mac 0c:42:a1:ff:00:01 hex 0xdeadbeef_00 a1b2c3d4", "mac <mac> hex <hex> <hex>"),
        ('job "a b c" of user=ann: -12 of 3', 'job "<str>" of user=<name>: <num> of <num>'),
        ("node[001-004,009] not responding", "<nodes> not responding"),
        ("<num> is written by no one", "< num> is written by no one"),
        ("a\x00\x1b[31m b\r\n\u202ec", "a b c"),
    ],
)
def test_values_get_typed_marks(line, template):
    assert found([line]) == {line: template}


def test_words_that_mean_something_stay_and_names_do_not():
    ports = [f"mlx5_core 0000:{bus}:00.0 ib{bus}: Link {state}" for bus in (10, 23, 42) for state in ("up", "down")]
    users = [f"session closed for user {user}" for user in ("ann", "bob")]
    said = found(ports + users)
    assert set(said.values()) == {
        "mlx<num>_core <pci> ib<num>: Link up",
        "mlx<num>_core <pci> ib<num>: Link down",
        f"session closed for user {OPEN}",
    }


@pytest.mark.parametrize(("count", "floor"), [(500, 0.88), (4000, 0.95)])
def test_lines_of_known_templates_are_grouped(count, floor):
    accuracies = []
    for seed in (11, 12, 13):
        lines, labels = labelled_lines(count, seed=seed)
        said = found(lines)
        accuracies.append(grouping_accuracy([said[line] for line in lines], labels))
    assert min(accuracies) >= floor, accuracies


def test_hostile_lines_are_only_text():
    lines = [
        "x" * 4_000_000,
        "A " * 2_000_000,
        "<script>alert(1)</script>",
        "'; drop table events; --",
        "\x00\x1b\x07",
        "",
        "\ud7ff\U0010ffff " * 50,
        "((((" * 3000,
    ]
    said = found([*lines, None])
    assert set(said) == set(lines) - {"\x00\x1b\x07", ""}
    assert max(map(len, said.values())) <= 2 * LONGEST
    assert "<script" not in said["<script>alert(1)</script>"]
    assert found([]) == {}


def test_ids_are_digests_of_the_text():
    row = mine(pl.Series(["nfs: server home OK"])).row(0, named=True)
    assert row["template_id"] == template_id(row["template"])


def test_groups_are_exact_sets():
    assert grouping_accuracy("aabbc", [1, 1, 2, 2, 2]) == pytest.approx(0.4)
    assert grouping_accuracy("aabb", "xxyy") == 1.0
