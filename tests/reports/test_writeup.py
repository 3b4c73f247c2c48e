import json
import re
from html import unescape
from html.parser import HTMLParser

import polars as pl
import pytest
from fakestore import HOSTILE, FakeStore, incident, shared_store
from verdicts import one_of_each, verdict

import workbench as wb
from workbench.errors import ResourceError, UsageError
from workbench.hypotheses.rows import ROWS, SCREENED
from workbench.hypotheses.verdicts import verdict_to_json
from workbench.model.verdict import Observed, Reading
from workbench.reports.verify import verify

VOID = {"meta", "img", "br"}


class _Page(HTMLParser):
    """Collects tags, attributes, and the text that a reader sees."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.open, self.words = [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def store():
    return shared_store()


@pytest.fixture(scope="module")
def page(store, tmp_path_factory):
    to = tmp_path_factory.mktemp("writeup") / "case.html"
    wb.write_up(store, incident=incident(), verdicts=one_of_each(), to=to)
    return to


def test_it_says_what_happened_what_was_tested_and_what_is_not_known(page):
    text = _Page(page.read_text(encoding="utf-8")).text
    for part in (
        "xid 79 on c1/node03/gpu:GPU-0302",
        "11 signals screened: 1 supported, 3 refuted, 7 undecided",
        "it precedes the outcome, and is not explained by what was recorded",
        "34 incidents in 21 episodes; it moved before 61 % of them (95 %: 42 % to 78 %)",
        "21 cases and 210 controls entered the test; 97 % of their windows were observed",
        "odds ratio per sd, time matching alone 9 odds ratio per sd, adjusted for what was recorded 8.1",
        "Not done: Does it add something beside what is supported already?",
        "When exactly it happened: between 2026-03-01T11:59:47Z and 2026-03-01T12:00:07Z",
        "workbench screen --outcome xid:79 --store case-042 --before 2h --seed 7",
        "2 of 138,314 records were not understood",
        "What was recorded nowhere can stand behind any of this",
        "dumps/kern.log",
    ):
        assert part in text, part


@pytest.mark.parametrize("ending", ["html", "md"])
def test_our_own_text_never_says_that_one_thing_led_to_another(store, tmp_path, ending):
    to = wb.write_up(store, incident=incident(), verdicts=one_of_each(), to=tmp_path / f"case.{ending}")
    assert not re.findall(r"(?i)\bcaus(?:e|es|ed|ing|al)\b", to.read_text(encoding="utf-8"))


def test_every_reading_has_words_and_its_own_word(page):
    facts = verify(page).facts
    for told, one in zip(facts["verdicts"], one_of_each(), strict=True):
        assert told["word"] == one.word.value
        assert told["meaning"].startswith(one.word.value.capitalize())
    assert len({told["meaning"] for told in facts["verdicts"]}) == len(Reading)


def test_it_stands_alone(page):
    html = page.read_text(encoding="utf-8")
    parsed = _Page(html)
    scripts = [attributes for tag, attributes in parsed.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "workbench-facts"}]
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert not [v for n, v in parsed.attributes if n in ("src", "href", "action") and not v.startswith("#")]
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in html
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert "@import" not in html
    assert page.stat().st_size < 500_000


def test_log_text_is_shown_and_never_run(page):
    html = page.read_text(encoding="utf-8")
    assert "<script>alert" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "␛[31mred␛[0m ⟨U+202E⟩gnp.exe" in _Page(html).text


@pytest.mark.parametrize("ending", ["html", "md"])
@pytest.mark.parametrize(
    "hostile",
    [
        "</script><script>alert(1)</script>",
        "{{ 7*7 }}{% raw %}",
        "```\n# x",
        "-->",
        "<!-- workbench-digest: sha256:" + "0" * 64,
        "\ud800",
        "| a | b |",
    ],
)
def test_hostile_names_break_nothing(store, tmp_path, ending, hostile):
    one = verdict(
        hypothesis=hostile,
        sentence=hostile,
        signal=hostile,
        details={hostile: {hostile: [hostile]}, "placebo": hostile},
    )
    to = wb.write_up(store, verdicts=[one], to=tmp_path / f"case.{ending}")
    found = verify(to)
    assert found.unaltered
    assert found.facts["verdicts"][0]["title"] == hostile
    if ending == "html":
        parsed = _Page(to.read_text(encoding="utf-8"))
        assert [tag for tag, _ in parsed.tags].count("script") == 1
    assert "49" not in found.facts["verdicts"][0]["title"]


def test_the_machine_part_holds_everything_that_was_tested(page):
    machine = verify(page).facts["machine"]
    assert [one["reading"] for one in machine] == [reading.value for reading in Reading]
    assert machine[0]["effect"]["odds_ratio"] == 8.1
    assert machine[0] == {"word": "SUPPORTED", **json.loads(verdict_to_json(one_of_each()[0]))}


def test_same_input_same_bytes(store, tmp_path):
    paths = [wb.write_up(store, incident=incident(), verdicts=one_of_each(), to=tmp_path / f"{n}.html") for n in "ab"]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_of_very_many_all_are_listed_and_the_telling_are_explained(store, tmp_path):
    many = [verdict(Reading.NO_EFFECT, signal=f"gpu.signal_{at}") for at in range(400)] + [
        verdict(),
        verdict(Reading.UNSTABLE),
    ]
    to = wb.write_up(store, verdicts=many, to=tmp_path / "many.html")
    facts = verify(to).facts
    assert len(facts["tested"]["rows"]) == 402
    assert [one["word"] for one in facts["verdicts"]] == ["SUPPORTED", "UNDECIDED"]
    assert "2 of 402 in detail" in _Page(to.read_text(encoding="utf-8")).text
    assert to.stat().st_size < 1_500_000


def test_unknown_numbers_are_dashes_and_low_coverage_is_said(store, tmp_path):
    bare = verdict(
        Reading.NOT_OBSERVED, p=float("nan"), q=float("nan"), observed=Observed(cases=3, controls=9, coverage=0.4)
    )
    facts = verify(wb.write_up(store, verdicts=[bare], to=tmp_path / "bare.html")).facts
    assert facts["tested"]["rows"][0]["p"] == "–"
    assert "Only 40 % of the windows were observed." in facts["verdicts"][0]["open"]
    assert facts["machine"][0]["p"] is None


def test_without_verdicts_the_ledger_speaks(tmp_path):
    store = FakeStore(hours=1)
    one = verdict()
    row = {
        "status": SCREENED, "at": incident().ts, "ledger_id": "abc123", "registration": "abc123", "kind": "screen", "hypothesis": "d",
        "rows": "r", "method": "m", "inputs": "case-042@7", "batch": "b", "batch_size": 1, "name": "n", "signal": one.signal,
        "outcome": one.outcome, "scope": "gpu", "seed": 7, "rule": "screen", "p": one.p, "q": one.q, "tested": 1,
        "word": "SUPPORTED", "reading": "precursor", "provenance": "{}", "verdict": verdict_to_json(one),
    }  # fmt: skip
    store._tables["ledger"] = pl.DataFrame([row], schema=ROWS)
    facts = verify(wb.write_up(store, incident=incident(), to=tmp_path / "led.html")).facts
    assert facts["tested"]["ledger"]["count"] == 1
    assert facts["tested"]["count"] == 1
    assert facts["machine"][0]["word"] == "SUPPORTED"


def test_nothing_tested_is_said(tmp_path):
    text = _Page(
        wb.write_up(shared_store(), incident=incident(), to=tmp_path / "x.html").read_text(encoding="utf-8")
    ).text
    assert "Nothing was tested" in text
    assert "no evidence of what led to it" in text


def test_markdown_says_the_same(store, tmp_path):
    to = wb.write_up(store, incident=incident(), verdicts=one_of_each(), to=tmp_path / "case.md")
    text = to.read_text(encoding="utf-8")
    assert (
        verify(to).facts
        == verify(wb.write_up(store, incident=incident(), verdicts=one_of_each(), to=tmp_path / "c.html")).facts
    )
    body = text[: text.index("```json")]
    assert not re.findall(r"<(?!!--)", body)
    assert HOSTILE not in text
    assert 'alert("x")' in unescape(body)


def test_pictures_show_the_metrics_that_verdicts_speak_of(store, tmp_path):
    told = [verdict(Reading.CONFOUNDED, signal="gpu.power_w"), verdict()]
    html = wb.write_up(store, incident=incident(), verdicts=told, to=tmp_path / "p.html").read_text(encoding="utf-8")
    drawn = re.findall(r'aria-label="(gpu\.\w+)', html)
    assert drawn == ["gpu.ecc_sbe_total", "gpu.power_w"]


def test_wrong_names_and_sizes_write_nothing(store, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"\.html or \.md"):
        wb.write_up(store, to=tmp_path / "case.pdf")
    monkeypatch.setattr("workbench.reports.writeup.MOST_BYTES", 1000)
    with pytest.raises(ResourceError, match="limit is 8 MB"):
        wb.write_up(store, to=tmp_path / "case.html")
    assert list(tmp_path.iterdir()) == []
