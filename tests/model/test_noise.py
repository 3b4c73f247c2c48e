"""Rules for noise: which events they mean, who decides, and what is said of a wrong file."""

import polars as pl
import pytest

from workbench.errors import NothingToDoError, SpecificationError
from workbench.model.noise import is_noise, known_noise, load_noise, parse_noise

EVENTS = pl.DataFrame(
    [
        ("link", "init", "info", "Port: 1 Link INIT"),
        ("link", "down", "err", "Link down"),
        ("peermem", None, "info", "nvidia-peermem f:1 ERROR detected invalid context, skipping"),
        ("peermem", None, "err", "nvidia-peermem f:1 ERROR something else"),
        ("xid", "79", "warn", "NVRM: Xid"),
        ("fabric_manager", None, "info", "multicast group 0 is freed."),
        ("fabric_manager", None, "error", "multicast group 0 is lost."),
        ("log", None, None, None),
    ],
    schema=["kind", "code", "severity", "message"],
    orient="row",
)


def marks(rules):
    return EVENTS.select(is_noise(rules)).to_series().to_list()


def test_known_noise_is_marked_and_nothing_else():
    assert marks(known_noise()) == [True, False, True, False, False, True, False, False]


def test_the_last_rule_that_fits_decides():
    own = parse_noise('[[noise]]\nkind = "link"\nnoise = false\n[[noise]]\nkind = "xid"\ncodes = [79]\n')
    assert marks((*known_noise(), *own)) == [False, False, True, False, True, True, False, False]


def test_no_rules_mark_nothing():
    assert marks(()) == [False] * EVENTS.height


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[noise]", "it is no TOML"),
        ("noise = 3", "write each rule as a table"),
        ("[[noise]]", "name the kind of event"),
        ('[[noise]]\nkind = "a"\ncodes = "b"', "codes is a list of texts"),
        ('[[noise]]\nkind = "a"\ncodes = [true]', "codes is a list of texts"),
        ('[[noise]]\nkind = "a"\npattern = "("', "pattern is no regular expression"),
        ('[[noise]]\nkind = "a"\npattern = 3', "pattern is a text"),
        ('[[noise]]\nkind = "a"\nnoise = "no"', "noise is true or false"),
    ],
)
def test_mistakes_are_told(text, said):
    with pytest.raises(SpecificationError, match="noise rules") as caught:
        parse_noise(text)
    assert said in str(caught.value)


def test_files(tmp_path):
    with pytest.raises(NothingToDoError, match="no file of noise rules"):
        load_noise(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecificationError, match="UTF-8"):
        load_noise(tmp_path / "bad.toml")
    (tmp_path / "good.toml").write_text('[[noise]]\nkind = "log"\n', encoding="utf-8")
    assert load_noise(tmp_path / "good.toml")[0].kind == "log"
