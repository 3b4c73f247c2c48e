import numpy as np
import pytest

from workbench.analysis.standout import stand_out
from workbench.model.panel import Panel
from workbench.model.provenance import Provenance

MINUTE = 60 * 10**6
WINDOW, BASELINE = (240 * MINUTE, 300 * MINUTE), (0, 240 * MINUTE)


def _panel(values, metrics, entities=None):
    names = entities or tuple(f"c1/n{at:02d}" for at in range(values.shape[0]))
    return Panel(
        values=values, entities=tuple(names), metrics=tuple(metrics), ts_us=np.arange(values.shape[2]) * MINUTE, step_s=60.0,
        provenance=Provenance(function="test", inputs="test"),
    )  # fmt: skip


def _noise(entities=12, metrics=5, seed=1):
    return np.random.default_rng(seed).normal(size=(entities, metrics, 300))


def test_what_is_planted_comes_first():
    values = _noise()
    values[3, 2, 280:] += 8
    found = stand_out([(_panel(values, "abcde"), "c1/n03")], window=WINDOW, baseline=BASELINE)
    top = found.rows[0]
    assert top.metric == "c"
    assert top.z_own > 5
    assert top.z_peers > 5
    assert 277 * MINUTE <= top.start_us < 300 * MINUTE


def test_what_moves_with_all_peers_stands_behind_what_moves_alone():
    values = _noise()
    values[:, 0, 280:] += 20
    values[3, 4, 280:] += 6
    found = stand_out([(_panel(values, "abcde"), "c1/n03")], window=WINDOW, baseline=BASELINE)
    assert found.rows[0].metric == "e"
    shared = next(row for row in found.rows if row.metric == "a")
    assert abs(shared.z_own) > 10 > abs(shared.z_peers)


def test_too_few_peers_give_no_score_against_them():
    values = _noise(entities=4)
    found = stand_out([(_panel(values, "abcde"), "c1/n03")], window=WINDOW, baseline=BASELINE)
    assert all(np.isnan(row.z_peers) and row.state == "too few peers (3)" for row in found.rows)
    assert found.table()["z_peers"].is_nan().all()


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (lambda v: v.__setitem__((3, 0, slice(240, None)), np.nan), "not observed in the window"),
        (lambda v: v.__setitem__((3, 0, slice(0, 240)), np.nan), "not observed in the baseline"),
        (lambda v: v.__setitem__((3, 0, slice(0, 240)), 7.0), "constant before"),
    ],
)
def test_honest_states(change, state):
    values = _noise()
    change(values)
    found = stand_out([(_panel(values, "abcde"), "c1/n03")], window=WINDOW, baseline=BASELINE)
    assert next(row for row in found.rows if row.metric == "a").state == state


def test_luck_is_told_and_true():
    """On noise as many rows stray beyond their baseline as the sentence says: a fifth."""
    values = _noise(entities=2, metrics=2000)
    found = stand_out([(_panel(values, [f"m{at}" for at in range(2000)]), "c1/n00")], window=WINDOW, baseline=BASELINE)
    assert "about 400 would do so by luck alone" in found.luck
    beyond = sum(row.unusual for row in found.rows)
    assert abs(beyond - 400) < 4 * np.sqrt(2000 * 0.2 * 0.8)


def test_an_entity_that_is_not_there_gives_no_rows():
    assert stand_out([(_panel(_noise(), "abcde"), "c1/n99")], window=WINDOW, baseline=BASELINE).rows == ()


def test_words_never_claim_more_than_order():
    found = stand_out([(_panel(_noise(), "abcde"), "c1/n03")], window=WINDOW, baseline=BASELINE)
    for word in ("SUPPORTED", "cause", "because"):
        assert word not in found.formula + found.luck


def test_it_shows_itself_small_and_without_scripts():
    values = _noise()
    values[3, 0, :240] = 7.0
    values[4:, 1] = np.nan
    found = stand_out([(_panel(values, ["a", "<script>", "c", "d", "e"]), "c1/n03")], window=WINDOW, baseline=BASELINE)
    html = found._repr_html_()
    assert "<script" not in html
    assert len(html) < 100_000
    own = next(trace for trace in found.plot().data if trace.name == "against own baseline")
    assert len(own.x) == 5
    assert np.isfinite(own.x).all()
