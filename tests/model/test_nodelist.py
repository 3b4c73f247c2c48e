import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.model.nodelist import expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node077", ["node077"]),
        ("node[1-3]", ["node1", "node2", "node3"]),
        ("node[098-101]", ["node098", "node099", "node100", "node101"]),
        ("a1,b[2,4-5]-ib0", ["a1", "b2-ib0", "b4-ib0", "b5-ib0"]),
        ("rack[1-2]node[1-2]", ["rack1node1", "rack1node2", "rack2node1", "rack2node2"]),
        ("", []),
    ],
)
def test_lists_as_slurm_writes_them(text, names):
    """Spellings and meanings from the manual page of scontrol show hostnames."""
    assert expand(text) == names


BOMBS = [
    "node[1-999999999]",
    "a[1-1000]b[1-1000]",
    "n[" + ",".join(["1-99999"] * 9) + "]",
    "n" * 100_000 + "[1-99999]",
    "n[" + "0" * 100_000 + "1-99999]",
]


@pytest.mark.parametrize("text", [*BOMBS, "n[1-", "n]1[", "n[[1]]", "n[x]", "n[5-1]", "n[]"])
def test_bombs_and_nonsense_are_refused_before_they_are_built(text):
    with pytest.raises(ValueError, match=r"names more than|brackets|number or range|backwards"):
        expand(text)


@given(st.text(max_size=60))
def test_any_text_gives_names_or_a_value_error(text):
    try:
        names = expand(text, limit=1000)
    except ValueError:
        return
    assert len(names) <= 1000
