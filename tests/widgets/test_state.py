import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import SpecificationError, UsageError
from workbench.timebase import to_us
from workbench.widgets.state import TimeWindow, ViewState

T0 = to_us(datetime(2026, 3, 1, 12, tzinfo=UTC))
SPAN = st.tuples(st.integers(0, 10**9), st.integers(1_000, 10**9)).map(
    lambda pair: (T0 + pair[0], T0 + pair[0] + pair[1])
)


def _state(**changes):
    values = {
        "incident": "a1", "outcome": "xid:79", "entity": "c1/n1/gpu:GPU-1", "metrics": ("gpu.power_w", "x&y=z"), "peers": "job",
        "window": TimeWindow(start_us=T0, end_us=T0 + 10**9), "version": "7",
    }  # fmt: skip
    return ViewState(**{**values, **changes})


@given(st.lists(SPAN, min_size=1, max_size=8))
def test_going_back_undoes_every_step_and_forward_redoes_it(spans):
    first = TimeWindow(start_us=T0 - 5_000, end_us=T0 - 1)
    window = first
    for span in spans:
        window = window.to(*span)
    last = window
    while window.earlier:
        window = window.back()
    assert window.span == first.span
    while window.later:
        window = window.forward()
    assert window.span == last.span


def test_a_new_choice_forgets_what_lay_ahead():
    window = TimeWindow(start_us=0, end_us=10_000).to(0, 5_000).back().to(0, 7_000)
    assert window.later == ()
    assert window.forward() is window


@given(SPAN, st.floats(0.1, 10))
def test_zoom_keeps_the_middle_and_scales_the_length(span, factor):
    window = TimeWindow(start_us=span[0], end_us=span[1])
    other = window.zoom(factor)
    assert abs((other.end_us - other.start_us) - max(1000, factor * (window.end_us - window.start_us))) <= 1
    assert abs(sum(other.span) - sum(window.span)) <= 2 + 1000


def test_typed_ranges_absolute_and_relative():
    window = TimeWindow(start_us=T0, end_us=T0 + 10**6)
    assert window.typed("2026-03-01T12:00:00Z .. 2026-03-01T13:30:00+01:00", T0).span == (T0, T0 + 1800 * 10**6)
    assert window.typed("-90s..+1h30m", T0).span == (T0 - 90 * 10**6, T0 + 5400 * 10**6)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "12:00 .. 13:00", "+1h .. -1h", "2026-03-01T12:00:00 .. +1h", "-1x .. +1h"]
)
def test_ranges_that_are_none_say_how_to_write_one(text):
    with pytest.raises(UsageError):
        TimeWindow(start_us=0, end_us=10_000).typed(text, T0)


def test_permalink_is_one_line_of_plain_text():
    link = _state().permalink
    assert link.startswith("workbench:explore?")
    assert link.isascii()
    assert " " not in link
    assert "\n" not in link


@given(
    st.text(min_size=1, max_size=30), st.lists(st.text(min_size=1, max_size=30), max_size=4), SPAN, st.floats(0.5, 50)
)
def test_permalink_round_trip_of_any_names(entity, metrics, span, baseline):
    state = _state(
        entity=entity, metrics=tuple(metrics), window=TimeWindow(start_us=span[0], end_us=span[1]), baseline=baseline
    )
    try:
        link = state.permalink
    except UnicodeEncodeError:  # unpaired surrogates are no text
        return
    assert ViewState.from_permalink(link) == state
    assert ViewState.from_dict(json.loads(json.dumps(state.to_dict()))) == state


@pytest.mark.parametrize("link", ["", "http://x/explore?incident=1", "workbench:other?x=1", "javascript:alert(1)"])
def test_other_links_are_refused(link):
    with pytest.raises(UsageError, match="no link to a view"):
        ViewState.from_permalink(link)


def test_all_missing_parts_are_named():
    with pytest.raises(SpecificationError) as caught:
        ViewState.from_permalink("workbench:explore?incident=a1&metric=x")
    assert len(caught.value.mistakes) == 5


@pytest.mark.parametrize("baseline", ["0", "-1", "nan", "inf", "many"])
def test_baselines_that_make_no_sense_are_refused(baseline):
    with pytest.raises(UsageError):
        ViewState.from_permalink(_state().permalink.replace("baseline=4.0", f"baseline={baseline}"))
