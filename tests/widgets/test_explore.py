import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import polars as pl
import pytest
from fakestore import FELL_AT, HOSTILE, VICTIM, incident, shared_store

import workbench as wb
from workbench.errors import UnknownNameError, UsageError
from workbench.timebase import to_us
from workbench.widgets.desk import focus_of
from workbench.widgets.explore import Explorer
from workbench.widgets.page import body_html, strip_data

VOID = {"meta", "img", "br", "input", "link"}


@pytest.fixture(scope="module")
def store():
    return shared_store()


@pytest.fixture
def view(store):
    return wb.explore(incident(), store)


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def _tags(html):
    parser = _Tags()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


def _no_script(html):
    parser = _tags(html)
    assert "script" not in parser.tags
    assert not [name for name, _ in parser.attributes if name.startswith("on")]
    assert not [
        v
        for name, v in parser.attributes
        if name in ("src", "href") and not (v or "").startswith(("data:image/svg", "#"))
    ]


def test_planted_metrics_stand_out_and_are_drawn(view):
    assert view.state["metrics"][:2] == ["gpu.ecc_sbe_total", "gpu.temperature_c"]
    top = view.table("stand_out").row(0, named=True)
    assert (top["entity"], top["metric"]) == (VICTIM, "gpu.ecc_sbe_total")
    assert datetime(2026, 3, 1, 11, 38, tzinfo=UTC) <= top["since"] <= datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_the_victim_leads_its_peers(view):
    view.show(metrics=["gpu.temperature_c"])
    assert view.table("entities")["entity"][0] == VICTIM
    assert view.table("entities").height == 32


def test_deviations_are_sought_only_before_the_incident(store):
    """A change after the incident cannot have announced it."""
    view = wb.explore(incident(), store)
    window, baseline = view._desk.spans(view.current)
    assert window[1] == to_us(incident().ts_low)
    assert (window[0] - baseline[0]) == 4 * (window[1] - window[0])


def test_every_query_gives_its_table_again(view, store):
    for one in view.sql:
        assert store.sql(one.sql).equals(one.frame), one.name


def test_one_window_holds_for_every_view(view):
    view.show(window="-10m .. +5m")
    low, high = view.window.span
    assert (to_us(FELL_AT) - low, high - to_us(FELL_AT)) == (600 * 10**6, 300 * 10**6)
    for name in view.views:
        frame = view.table(name)
        if "ts" in frame.columns and frame.height:
            assert frame["ts"].dt.timestamp("us").is_between(low, high - 1).all(), name
    view.back()
    assert view.state["start"] == "2026-03-01T10:00:07Z"
    view.forward()
    assert view.window.span == (low, high)


def test_a_permalink_opens_the_same_view_in_another_session(view, store):
    view.show(window="-30m .. +5m", metrics=["gpu.power_w"], group="rack", baseline=2.0)
    again = Explorer.from_permalink(view.permalink, shared_store())
    assert again.state == view.state
    for name in view.views:
        assert again.table(name).equals(view.table(name)), name
    assert again.to_html() == view.to_html()


def test_a_permalink_to_what_is_not_there_says_so(view, store):
    for old, new in (("gpu.power_w", "gpu.powr_w"), ("peers=job", "peers=jobs"), ("GPU-0302", "GPU-9999")):
        link = view.show(metrics=["gpu.power_w"]).permalink
        assert old in link
        with pytest.raises(UnknownNameError):
            Explorer.from_permalink(link.replace(old, new), store)


def test_a_mistake_changes_nothing(view):
    before = view.state
    for wrong in (
        {"metrics": ["gpu.powr_w"]},
        {"group": "rock"},
        {"entity": "c1/none"},
        {"window": "soon"},
        {"baseline": -1.0},
    ):
        with pytest.raises((UnknownNameError, UsageError)):
            view.show(**wrong)
    assert view.state == before


def test_another_entity_brings_its_own_metrics(view):
    view.show(entity="c1/node03", metrics=["host.vendor_thing"])
    assert view.state["entity"] == "c1/node03"
    assert view.table("peers").height == 7


def test_the_page_stands_alone_and_runs_nothing(view):
    html = view.to_html()
    _no_script(html)
    assert "default-src 'none'" in html
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert len(html) < 400_000


def test_log_text_is_shown_and_never_run(view):
    html = view.to_html()
    assert HOSTILE not in html
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;" in html
    assert "␛[31m" in html
    assert "⟨U+202E⟩" in html


def test_what_a_notebook_keeps_is_small_and_needs_no_script(view):
    html = view._repr_html_()
    _no_script(html)
    assert len(html.encode()) < 100_000
    assert view.permalink in html.replace("&amp;", "&")


def test_the_browser_gets_pixels_not_rows(view):
    sent = len(json.dumps(strip_data(view.board))) + len(body_html(view.board).encode())
    assert sent < 1_000_000
    assert all(len(lane["own"]) == 600 for lane in strip_data(view.board)["lanes"])


def test_honest_states(store):
    view = wb.explore(incident(), store).show(window="+7h .. +8h")
    html = view.to_html()
    assert "no rows from" in html
    assert "nothing observed here" in html
    assert view.table("events").is_empty()


def test_too_few_peers_are_said(store):
    html = wb.explore(incident(), store, group="host", metrics=["gpu.power_w"]).to_html()
    assert html.count("too few peers (3)") >= 2


def test_unit_unknown_and_clock_uncertainty_are_said(store):
    html = wb.explore(incident(), store, metrics=["host.vendor_thing"]).to_html()
    assert "[unit?]" in html
    assert "(−20s)" in html
    assert "may have happened at any time in this bar" in html


def test_never_a_verdict(view):
    text = re.sub(r"<[^>]+>", " ", view.to_html())
    for word in ("SUPPORTED", "REFUTED", "caused", "causes"):
        assert word not in text


def test_wrong_use(store):
    with pytest.raises(UsageError, match="one incident"):
        wb.explore(store.incidents("xid:79"), store)
    with pytest.raises(UnknownNameError, match=r"Did you mean gpu\.power_w"):
        wb.explore(incident(), store, metrics=["gpu.powr_w"])
    with pytest.raises(UnknownNameError):
        wb.explore(incident(), store, group="rock")


def test_an_incident_of_a_job_is_seen_on_a_host_of_it(store):
    from dataclasses import replace

    job = replace(
        incident(),
        kind="job",
        code="NODE_FAIL",
        entity="c1/job:8841",
        host=None,
        rack=None,
        hosts=("c1/node00", "c1/node03"),
    )
    assert focus_of(store, job) == "c1/node00"
    events = wb.explore(job, store).table("events")
    assert set(events.filter(events["own"])["entity"]) == {VICTIM, "c1/node03", "c1/job:8841"}


def test_kept_views_name_their_tables_by_digest(view):
    kept = view.keep("temperature first")
    assert kept["note"] == "temperature first"
    assert set(kept["digests"]) >= {"events", "timeline", "jobs"}
    assert view.keep()["digests"] == kept["digests"]


def test_the_text_form_has_the_link(view):
    assert view.permalink in repr(view)
    assert "31 peers by job" in repr(view)


def test_tables_are_polars_by_name(view):
    assert all(isinstance(view.table(name), pl.DataFrame) for name in view.views)
    with pytest.raises(UnknownNameError, match="Did you mean events"):
        view.table("event")
