"""Hypothesis files: every mistake of every file, each at its line."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import NothingToDoError, SpecificationError
from workbench.hypotheses.lines import raw_hypotheses
from workbench.hypotheses.spec import Hypothesis
from workbench.hypotheses.toml import load_hypotheses, template, write_hypotheses

FIVE = """\
# five mistakes, one a line
[[hypothesis]]
name = "first"
when = { rate = "gpu.ecc_sbe_total", per = "1 fortnight", above = 5 }
then = "xid:48"
withn = "1h"

[[hypothesis]]
name = "second"
when = { level = "gpu.temperature_c", above = 90, below = 80 }
then = "xid:48"
controls = [
    "time_shift",
    "helthy_twin",
]

[[hypothesis]]
name = "third"
when = { event = "aer" }
"""


class Names:
    def catalog(self, pattern="*"):
        return pl.DataFrame({"metric": ["gpu.power_w"]})

    def event_kinds(self):
        return pl.DataFrame({"kind": ["xid"]})


def test_a_file_with_five_mistakes_reports_five(tmp_path):
    file = tmp_path / "claims.toml"
    file.write_text(FIVE)
    with pytest.raises(SpecificationError) as caught:
        load_hypotheses([file])
    told = [str(mistake).removeprefix(f"{file} ") for mistake in caught.value.mistakes]
    assert told == [
        "line 4: 'when.per' is '1 fortnight'; expected a duration such as 90s, 15m, 2h or 3d",
        "line 6: unknown key 'withn'; did you mean within?",
        "line 10: above 90 and below 80 at once is never true; expected above < below",
        (
            "line 12: 'controls' is 'helthy_twin'; expected one of crossover, guard, healthy_twin, leave_one_out, placebo, "
            "proxy, reversed_time, time_shift; did you mean healthy_twin?"
        ),
        "line 17: 'then' is missing; expected a selector such as xid:48,79",
    ]


def test_mistakes_of_all_files_come_together_with_their_files(tmp_path):
    good, bad, broken = (tmp_path / f"{name}.toml" for name in ("good", "bad", "broken"))
    good.write_text('name = "a"\nwhen = { level = "gpu.power_w" }\nthen = "xid"\n')
    bad.write_text('\n\nname = "a"\nwhen = 3\nthen = "xid"\nwithin = 3600\n')
    broken.write_text('name = "b"\nwhen = { level = "gpu.power_w"\nthen = "xid"\n')
    with pytest.raises(SpecificationError) as caught:
        load_hypotheses([good, bad, broken, tmp_path / "absent.toml"])
    text = str(caught.value)
    assert "the set of 4 hypothesis files has 5 mistakes" in text
    assert f"{bad} line 3: the name 'a' is used already ({good} line 1)" in text
    assert f"{bad} line 4: 'when' is 3" in text
    assert f"{bad} line 6: 'within' is 3600 without a unit; expected a duration such as 3600s" in text
    assert f"{broken} line 2: not TOML" in text
    assert "absent.toml: No such file" in text


def test_names_are_checked_against_a_store_even_in_claims_that_are_wrong_already(tmp_path):
    file = tmp_path / "claim.toml"
    file.write_text(
        'name = "a"\nwhen = { level = "gpu.powr_w" }\nthen = "xdi"\nwithin = "soon"\nadjust_for = ["job.age"]\n'
    )
    with pytest.raises(SpecificationError) as caught:
        load_hypotheses([file], store=Names())
    told = [str(mistake).partition(" line ")[2] for mistake in caught.value.mistakes]
    assert told == [
        "2: no metric 'gpu.powr_w' in the store; did you mean gpu.power_w?",
        "3: no event kind 'xdi' in the store; did you mean xid?",
        "4: 'within' is 'soon'; expected a duration such as 90s, 15m, 2h or 3d",
    ]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "nothing stands here"),
        ("hypothesis = 3\n", 1, "holds no table"),
        ('seed = 7\n[[hypothesis]]\nname = "a"\nwhen = { event = "aer" }\nthen = "xid"\n', 1, "stands outside"),
        ('[[hypothesis]]\nname = "a"\nname = "b"\n', 3, "not TOML"),
        (
            '[[hypothesis]]\nname = "a"\nwhen = { event = "aer", above = 3 }\nthen = "xid"\n',
            3,
            "does not go with an event",
        ),
        (
            '[[hypothesis]]\nname = "a"\nwhen = { level = "a.b", rate = "a.c" }\nthen = "xid"\n',
            3,
            "names both level and rate",
        ),
        ('[[hypothesis]]\nname = "a"\nwhen = {}\nthen = "xid"\n', 3, "names no signal"),
        ('[[hypothesis]]\nname = "a"\nwhen = { change = "a.b" }\nthen = "xid"\n', 3, "'when.over' is missing"),
        (
            '[[hypothesis]]\nname = "a"\nthen = "xid"\n[hypothesis.when]\nlevel = "a.b"\nabve = 3\n',
            6,
            "did you mean above",
        ),
        ('[[hypothesis]]\nname = "a"\nwhen.level = "a.b"\nwhen.below = "x"\nthen = "xid"\n', 4, "'when.below' is 'x'"),
    ],
)
def test_each_kind_of_mistake_has_its_line(text, line, says):
    _claims, mistakes = Hypothesis.read_all(text)
    assert [place for place, _ in mistakes] == [line]
    assert says in mistakes[0][1]


def test_header_forms_are_equal():
    body = 'name = "a"\nwhen = { level = "gpu.power_w" }\nthen = "xid"\n'
    read = [Hypothesis.from_toml(text) for text in (body, "[hypothesis]\n" + body, "[[hypothesis]]\n" + body)]
    assert read[0] == read[1] == read[2]


def test_strings_that_look_like_keys_do_not_mislead_the_scan():
    text = (
        "[[hypothesis]]\r\n"
        'text = """\r\n[[hypothesis]]\r\nname = "no"\r\n"""\r\n'
        "family = '''a\nwithin = 3'''  # within = 4\n"
        'name = "yes # [[hypothesis]]"\nwhen = { level = "a.b" }\nthen = "xid"\n"with" = 1\n'
    )
    claims, mistakes = Hypothesis.read_all(text)
    assert not claims
    assert [line for line, _ in mistakes] == [6, 11]


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(texts=st.lists(names, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_lines_are_found_whatever_the_strings_hold(texts):
    """Each claim's deliberate mistake stands on a line of its own that we count ourselves."""
    lines, wanted = [], []
    for number, text in enumerate(texts):
        claim = Hypothesis(name=f"n{number}", when={"level": "a.b"}, then="xid", text=text)
        lines += claim.to_toml().split("\n")[:-1]
        lines.append("oops = 1")
        wanted.append(len(lines))
    document = "\n".join(lines) + "\n"
    tables, mistakes = raw_hypotheses(document)
    assert not mistakes
    assert [table.line_of("oops") for table in tables] == wanted


def test_template_is_a_file_that_loads(tmp_path):
    file = tmp_path / "new.toml"
    file.write_text(template(), encoding="utf-8")
    (claim,) = load_hypotheses([file])
    assert claim.controls == ("healthy_twin", "time_shift")
    uncommented = "\n".join(
        line.removeprefix("# ") if line.startswith("# ") and " = " in line.split("#")[1] and "{" not in line else line
        for line in template().splitlines()
    )
    assert Hypothesis.from_toml(uncommented).family == "ecc"


def test_many_claims_are_written_as_one_file(tmp_path):
    claims = [Hypothesis(name=name, when={"level": "a.b"}, then="xid") for name in "abc"]
    file = tmp_path / "many.toml"
    file.write_text(write_hypotheses(claims))
    assert list(load_hypotheses([file])) == claims


def test_no_file_is_nothing_to_do():
    with pytest.raises(NothingToDoError, match="hypothesis new"):
        load_hypotheses([])
