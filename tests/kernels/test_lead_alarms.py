"""Lead and alarms against planted onsets and events."""

import numpy as np
import pytest

from workbench.kernels.alarms import count_alarms, running_feature, upward_crossings
from workbench.kernels.lead import best_hinge, best_step, lead_time, strongest_stretch

BINS = 22


def profiles(rng, kind: str, sets: int = 60) -> tuple[np.ndarray, float]:
    """Case-minus-controls profiles of which 60 % are planted; and the median onset in bins."""
    x = rng.normal(0, 1, (sets, BINS))
    onsets = []
    for row in x[: round(0.6 * sets)]:
        lead = int(rng.integers(6, 19))
        onsets.append(lead)
        if kind == "burst":
            row[BINS - lead : BINS - lead + 3] += 6.0
        elif kind == "ramp":
            row[BINS - lead :] += 6.0 * np.linspace(0, 1, lead)
        else:
            row[BINS - lead :] += 2.5
    return x, float(np.median(onsets))


@pytest.mark.parametrize(("kind", "tolerance"), [("burst", 1.5), ("ramp", 5.0), ("step", 3.0)])
def test_shape_and_onset(kind, tolerance):
    fits, truths = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, truth = profiles(rng, kind)
        fits.append(lead_time(x, np.ones(BINS), spread=False, rng=rng))
        truths.append(truth)
    errors = np.array([fit.bins for fit in fits]) - truths
    assert np.mean([fit.quality == kind for fit in fits]) >= 0.8
    assert np.median(np.abs(errors)) <= tolerance
    assert np.mean([fit.low <= truth <= fit.high for fit, truth in zip(fits, truths, strict=True)]) >= 0.8
    assert all(fit.low <= fit.bins <= fit.high for fit in fits)


def test_spread_is_fitted_by_a_step_only():
    x, _ = profiles(np.random.default_rng(1), "burst")
    assert lead_time(x, np.ones(BINS), spread=True, rng=np.random.default_rng(1)).quality == "step"


def test_too_little_gives_no_lead():
    fit = lead_time(np.zeros((1, BINS)), np.ones(BINS), spread=False, rng=np.random.default_rng(1))
    assert np.isnan(fit.bins)
    assert fit.quality == ""


def test_fits_of_clean_shapes_are_exact():
    time = np.arange(BINS)
    for start in (3, 10, 20):
        assert best_step((time >= start).astype(float)) == start
        assert best_hinge(np.maximum(0.0, time - start + 1.0)) == start
        start_found, length, _ = strongest_stretch(((time >= start) & (time < start + 2)).astype(float)[None, :])
        assert (start_found[0], length[0]) == (start, 2)


def test_running_features_by_brute_force():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3, 120))
    x[1, 40:50] = np.nan
    for family in ("level", "spread", "peak", "any"):
        feature = running_feature(x, width=4, gap=1, window=10, family=family)
        for t in (60, 90, 119):
            near, base = x[:, t - 5 : t - 1], x[:, t - 30 : t - 10]
            if family == "level":
                expected = near.mean(axis=1) - np.nanmean(base, axis=1)
            elif family == "peak":
                expected = near.max(axis=1) - np.nanmean(base, axis=1)
            elif family == "any":
                expected = (near > 0).mean(axis=1) - np.nanmean(np.where(np.isfinite(base), base > 0, np.nan), axis=1)
            else:
                assert np.argsort(feature[:, t] - np.log(near.std(axis=1) / np.nanstd(base, axis=1))).size == 3
                continue
            np.testing.assert_allclose(feature[:, t], expected, atol=1e-9)
    gap = running_feature(x, width=4, gap=0, window=10, family="level")
    assert np.isnan(gap[1, 50])
    assert np.isfinite(gap[0, 50])


def test_an_alarm_never_sees_its_own_moment():
    x = np.zeros((1, 60))
    x[0, 50] = 9.0
    feature = running_feature(x, width=2, gap=0, window=10, family="level")
    entity, cell = upward_crossings(feature, 1.0, rest=10)
    assert (entity.tolist(), cell.tolist()) == ([0], [51])


def test_alarms_and_episodes_are_counted_by_entity_and_window():
    alarms = (np.array([0, 0, 1, 2]), np.array([10, 80, 10, 10]))
    events = (np.array([0, 2, 2]), np.array([15, 10, 500]))
    count = count_alarms(alarms, events, least=1, most=20)
    assert (count.alarms, count.right, count.episodes, count.warned) == (4, 1, 3, 1)
