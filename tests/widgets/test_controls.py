import pytest
from fakestore import VICTIM, incident, shared_store

import workbench as wb
from workbench.widgets.controls import ControlPanel


@pytest.fixture(scope="module")
def store():
    return shared_store()


@pytest.fixture
def panel(store):
    view = wb.explore(incident(), store)
    assert view.widget is view.widget
    return view._panel


def test_what_is_drawn_on_the_board_moves_every_view(panel):
    low, high = panel.explorer.window.span
    chosen = [low + 3600 * 10**6, high - 1800 * 10**6]
    before = panel.board.body
    panel.board.window = chosen
    assert list(panel.explorer.window.span) == chosen
    assert panel.range.value == "2026-03-01T11:00:07Z .. 2026-03-01T12:00:07Z"
    assert panel.board.body != before
    panel.buttons["back"].click()
    assert panel.explorer.window.span == (low, high)
    assert list(panel.board.window) == [low, high]
    panel.buttons["forward"].click()
    assert list(panel.explorer.window.span) == chosen
    panel.buttons["reset"].click()
    assert panel.explorer.window.span == (low, high)


def test_controls_set_the_state(panel):
    panel.group.value = "rack"
    panel.baseline.value = 8.0
    panel.metrics.value = ["gpu.power_w"]
    panel.range.value = "-15m .. +1m"
    state = panel.explorer.state
    assert (state["peers"], state["baseline"], state["metrics"]) == ("rack", 8.0, ["gpu.power_w"])
    assert state["start"] == "2026-03-01T11:45:07Z"
    panel.entity.value = "c1/node03"
    assert panel.explorer.state["entity"] == "c1/node03"


def test_the_state_sets_the_controls(panel):
    panel.explorer.show(entity=f"{VICTIM[:-1]}3", baseline=3.0, window="-5m .. +5m", metrics=["gpu.temperature_c"])
    assert panel.entity.value.endswith("GPU-0303")
    assert panel.baseline.value == 3.0
    assert panel.range.value == "2026-03-01T11:55:07Z .. 2026-03-01T12:05:07Z"
    assert list(panel.metrics.value) == ["gpu.temperature_c"]


@pytest.mark.parametrize(
    ("message", "check"),
    [
        ({"type": "zoom", "factor": 0.5}, lambda was, now: (now[1] - now[0]) * 2 == was[1] - was[0]),
        ({"type": "pan", "share": -0.5}, lambda was, now: now[0] == was[0] - (was[1] - was[0]) // 2),
        ({"type": "reset"}, lambda was, now: was == now),
    ],
)
def test_keys_move_the_window(panel, message, check):
    was = panel.explorer.window.span
    panel.receive(message)
    assert check(was, panel.explorer.window.span)


def test_rows_pick_entity_and_metric(panel):
    panel.receive({"type": "metric", "name": "host.vendor_thing"})
    assert panel.explorer.state["metrics"][-1] == "host.vendor_thing"
    panel.receive({"type": "metric", "name": "host.vendor_thing"})
    assert "host.vendor_thing" not in panel.explorer.state["metrics"]
    panel.receive({"type": "entity", "name": "c1/node01/gpu:GPU-0100"})
    assert panel.explorer.state["entity"] == "c1/node01/gpu:GPU-0100"
    panel.receive({"type": "step", "by": 1})
    assert panel.explorer.state["entity"] == "c1/node01/gpu:GPU-0100"


def test_a_mistake_is_said_and_changes_nothing(panel):
    before = panel.explorer.state
    panel.range.value = "soon"
    assert "no range" in panel.board.status
    assert panel.explorer.state == before
    assert panel.range.value == "2026-03-01T10:00:07Z .. 2026-03-01T12:30:07Z"
    panel.receive({"type": "format disk"})
    assert "unknown message" in panel.board.status


def test_every_drawing_is_told_complete(panel):
    before = panel.board.drawn
    panel.receive({"type": "zoom", "factor": 0.9})
    assert panel.board.drawn == before + 1
    assert "drawn in" in panel.board.status


def test_keeping_renews_the_copy(panel):
    class Handle:
        shown = None

        def update(self, words):
            self.shown = words.data

    panel.copy = Handle()
    panel.receive({"type": "keep"})
    assert panel.explorer.permalink in panel.copy.shown.replace("&amp;", "&")
    assert len(panel.explorer.kept) == 1


def test_without_a_browser_nothing_of_the_widget_is_loaded(store):
    view = wb.explore(incident(), store)
    assert view._panel is None
    assert isinstance(ControlPanel(view), ControlPanel)
