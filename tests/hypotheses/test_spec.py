"""A claim as data: one normal form, a digest of what is tested, and all mistakes at once."""

import hashlib
import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.errors import SpecificationError, UsageError
from workbench.hypotheses.fields import CONTROLS, DIRECTIONS, WORDS
from workbench.hypotheses.spec import Hypothesis
from workbench.model.signal import Signal

CLAIM = {
    "name": "ecc burst precedes loss",
    "when": wb.rate("gpu.ecc_sbe_total", per="1m") > 5,
    "then": wb.event("xid", codes=[48, 79]),
    "within": "1h",
    "adjust_for": ["gpu.power_w", "job.age"],
    "controls": ["time_shift", "healthy_twin"],
}

words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)
metrics = st.from_regex(r"[a-z]{1,5}\.[a-z_]{1,8}", fullmatch=True)
selectors = st.builds(
    lambda kind, codes, where: kind + (":" + ",".join(codes) if codes else "") + (f"@{where}" if where else ""),
    st.from_regex(r"[a-z][a-z0-9_.]{0,6}", fullmatch=True),
    st.lists(st.from_regex(r"[A-Za-z0-9_.*-]{1,4}", fullmatch=True), max_size=3),
    st.none() | words,
)
seconds = st.floats(1e-3, 1e7) | st.integers(1, 10**7)
bounds = st.floats(-1e12, 1e12)


@st.composite
def signals(draw):
    kind = draw(st.sampled_from(["level", "rate", "change", "event"]))
    if kind == "event":
        return wb.event(
            draw(st.from_regex(r"[a-z]{1,6}", fullmatch=True)), codes=draw(st.lists(st.integers(0, 99), max_size=2))
        )
    make = {
        "level": wb.level,
        "rate": lambda m: wb.rate(m, per=draw(seconds)),
        "change": lambda m: wb.change(m, over=draw(seconds)),
    }
    signal = make[kind](draw(metrics))
    low, high = sorted([draw(bounds), draw(bounds)])
    if draw(st.booleans()) and low < high:
        signal = signal > low
        return signal < high if draw(st.booleans()) else signal
    return signal


@st.composite
def claims(draw):
    signal = draw(signals())
    within = draw(st.integers(10, 10**6))
    return Hypothesis(
        name=draw(words),
        when=signal,
        then=draw(selectors),
        within=within,
        guard=draw(st.none() | st.floats(0, within / 2)),
        adjust_for=[m for m in draw(st.lists(metrics, max_size=3)) if m != getattr(signal, "name", None)],
        controls=draw(st.lists(st.sampled_from(sorted(CONTROLS)), max_size=4)),
        smallest_effect=draw(st.none() | st.floats(1e-3, 10)),
        direction=draw(st.sampled_from(["up", "either"])),
        scope=draw(st.none() | st.sampled_from(["gpu", "host"])),
        expect=draw(st.none() | st.sampled_from(WORDS)),
        family=draw(st.none() | words),
        text=draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=40)),
    )


@given(claim=claims())
@settings(max_examples=100, deadline=None)
def test_toml_there_and_back_gives_the_same_claim(claim):
    again = Hypothesis.from_toml(claim.to_toml())
    assert again == claim
    assert again.digest == claim.digest
    assert hash(again) == hash(claim)
    assert again.to_toml() == claim.to_toml()


@given(claim=claims())
@settings(max_examples=50, deadline=None)
def test_a_claim_made_of_its_own_fields_is_itself(claim):
    again = Hypothesis(**{name: getattr(claim, name) for name in claim.__dataclass_fields__})
    assert again == claim


def test_digest_is_sha256_of_canonical_json_that_anyone_can_write():
    canonical = {
        "schema": "workbench.hypothesis/1",
        "when": {"kind": "rate", "name": "gpu.ecc_sbe_total", "per_s": 60.0, "above": 5.0, "below": None},
        "then": "xid:48,79",
        "within_s": 3600.0,
        "guard_s": None,
        "adjust_for": ["gpu.power_w", "job.age"],
        "controls": ["healthy_twin", "time_shift"],
        "smallest_effect": None,
        "direction": "either",
        "scope": None,
    }
    text = json.dumps(canonical, sort_keys=True, separators=(",", ":"))
    assert Hypothesis(**CLAIM).digest == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "same",
    [
        {"name": "other", "text": "why", "expect": "REFUTED", "family": "ecc"},
        {"within": "60m"},
        {"within": 3600},
        {"then": "xid:79,48"},
        {"then": "xid:48,79,48"},
        {"controls": ["healthy_twin", "time_shift", "time_shift"]},
        {"adjust_for": ("job.age", "gpu.power_w")},
        {"when": wb.rate("gpu.ecc_sbe_total", per="60s") > 5.0},
    ],
)
def test_what_says_the_same_has_the_same_digest(same):
    assert Hypothesis(**{**CLAIM, **same}).digest == Hypothesis(**CLAIM).digest


@pytest.mark.parametrize(
    "other",
    [
        {"within": "2h"},
        {"guard": "10m"},
        {"then": "xid:48"},
        {"then": "xid:48,79@rack:r1"},
        {"when": wb.rate("gpu.ecc_sbe_total", per="1m") > 6},
        {"when": wb.rate("gpu.ecc_sbe_total", per="2m") > 5},
        {"when": wb.level("gpu.ecc_sbe_total") > 5},
        {"when": wb.event("aer")},
        {"controls": []},
        {"adjust_for": []},
        {"direction": "up"},
        {"scope": "gpu"},
        {"smallest_effect": 0.2},
    ],
)
def test_what_is_tested_otherwise_has_another_digest(other):
    assert Hypothesis(**{**CLAIM, **other}).digest != Hypothesis(**CLAIM).digest


def test_an_event_may_be_the_signal():
    claim = Hypothesis(name="a", when=wb.event("aer", at="rack:r7"), then="xid")
    assert claim.when == Signal(kind="event", name="aer@rack:r7")
    assert claim.within == "2h"


def test_every_mistake_of_a_call_is_reported_at_once():
    with pytest.raises(SpecificationError) as caught:
        Hypothesis(
            name="",
            when=(wb.level("gpu.temperature_c") > 9) < 3,
            then="XID",
            within="soon",
            controls=["time_shfit"],
            direction="sideways",
            smallest_effect=-1,
            expect="MAYBE",
        )
    text = str(caught.value)
    for part in (
        "'name'",
        "at once is never true",
        "'XID'",
        "'soon'",
        "did you mean time_shift",
        "'sideways'",
        "-1",
        "'MAYBE'",
    ):
        assert part in text
    assert len(caught.value.mistakes) == 8


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"direction": "down"}, "contradicts"),
        ({"adjust_for": ["gpu.ecc_sbe_total"]}, "the tested signal itself"),
        ({"guard": "1h"}, "leaves nothing"),
        ({"within": 0}, "longer than nothing"),
        ({"within": float("nan")}, "a duration"),
        ({"within": True}, "a duration"),
        ({"smallest_effect": float("inf")}, "a finite number"),
        ({"when": Signal(kind="level", name="a.b", above=float("nan"))}, "a finite number"),
        ({"when": Signal(kind="sum", name="a.b")}, "expected one of level"),
        ({"when": Signal(kind="rate", name="a.b")}, "longer than nothing"),
        ({"when": "gpu.power_w"}, "rate ="),
        ({"then": 79}, "a selector"),
        ({"controls": "time_shift"}, "a list"),
        ({"name": "a\nb"}, "one line"),
        ({"text": "\ud800"}, "UTF-8"),
        ({"scope": "GPU 3"}, "a kind of entity"),
    ],
)
def test_each_wrong_field_is_told_with_what_was_expected(wrong, says):
    with pytest.raises(SpecificationError, match=says) as caught:
        Hypothesis(**{**CLAIM, **wrong})
    assert len(caught.value.mistakes) == 1


class Names:
    """The two questions that are asked of a store."""

    def catalog(self, pattern="*"):
        return pl.DataFrame({"metric": ["gpu.power_w", "gpu.ecc_sbe_total"]})

    def event_kinds(self):
        return pl.DataFrame({"kind": ["xid", "aer"]})


def test_names_that_the_store_does_not_know_come_with_the_nearest_ones():
    Hypothesis(**CLAIM).check_against(Names())
    wrong = Hypothesis(name="a", when=wb.level("gpu.powr_w"), then="xdi", adjust_for=["gpu.ecc_sbe", "job.age"])
    with pytest.raises(SpecificationError) as caught:
        wrong.check_against(Names())
    assert list(caught.value.mistakes) == [
        "no metric 'gpu.powr_w' in the store; did you mean gpu.power_w?",
        "no metric 'gpu.ecc_sbe' in the store; did you mean gpu.ecc_sbe_total?",
        "no event kind 'xdi' in the store; did you mean xid?",
    ]
    with pytest.raises(SpecificationError, match="did you mean aer"):
        Hypothesis(name="a", when=wb.event("aerr"), then="xid").check_against(Names())


def test_a_claim_shows_itself_with_hostile_text_escaped():
    claim = Hypothesis(**{**CLAIM, "name": "<script>alert(1)</script>", "expect": "SUPPORTED"})
    shown = claim._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert str(claim).endswith("; expected SUPPORTED")


def test_from_toml_reads_paths_and_refuses_several_claims(tmp_path):
    claim = Hypothesis(**CLAIM)
    file = tmp_path / "claim.toml"
    file.write_text(claim.to_toml(), encoding="utf-8-sig")  # editors of Windows add a mark
    assert Hypothesis.from_toml(file) == claim
    assert Hypothesis.from_toml(str(file)) == claim
    with pytest.raises(UsageError, match="holds 2 hypotheses"):
        Hypothesis.from_toml(claim.to_toml() * 2)
    with pytest.raises(UsageError, match="Cannot read"):
        Hypothesis.from_toml(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(UsageError, match="not UTF-8"):
        Hypothesis.from_toml(tmp_path / "latin.toml")


def test_public_choices_are_those_of_the_verdict():
    from workbench.model.verdict import Word

    assert set(WORDS) == {str(word) for word in Word}
    assert DIRECTIONS == ("up", "down", "either")
