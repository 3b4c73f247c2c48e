"""Together and in order within seconds: the reference case, draws as an oracle, ends and places."""

import json

import numpy as np
import pytest
from scipy.stats import binom
from shared import shared_path

from workbench.kernels.seconds import ordered, sign_p, together

A = [10.0, 50.2, 90.1, 130.0, 170.5, 300.0, 400.0]
B = [10.4, 51.0, 89.0, 131.2, 172.0, 301.1, 700.0]


def at(seconds, place=0):
    ts = np.round(np.asarray(seconds) * 1e6).astype(np.int64)
    return np.full(ts.size, place, np.int64), ts


def test_reference_case_s4():
    forward, backward, p = json.loads(shared_path("method/refs_scopes.json").read_text())["S4 order within 5 s"][
        "expected"
    ]
    found = ordered(at(A), at(B), unsure=200_000, window=5_000_000)
    assert (found.forward.sum(), found.backward.sum()) == (forward, backward)
    assert found.p == pytest.approx(p, abs=1e-12)
    assert np.nanmedian(found.gap_us) == pytest.approx(1.1e6, abs=1)


def test_order_is_the_mirror_of_the_other_order():
    one, other = (ordered(x, y, unsure=200_000, window=5_000_000) for x, y in ((at(A), at(B)), (at(B), at(A))))
    assert (one.forward.sum(), one.backward.sum()) == (other.backward.sum(), other.forward.sum())


@pytest.mark.parametrize(("forward", "backward"), [(5, 0), (4, 0), (30, 12), (0, 3)])
def test_sign_p_is_the_binomial(forward, backward):
    assert sign_p(forward, backward) == pytest.approx(binom.sf(forward - 1, forward + backward, 0.5), abs=1e-12)


def test_chance_of_a_moved_event_agrees_with_moving_it():
    rng = np.random.default_rng(1)
    place_a, place_b = rng.integers(0, 3, 40), rng.integers(0, 3, 300)
    a, b = (place_a, rng.integers(0, 600_000_000, 40)), (place_b, rng.integers(0, 600_000_000, 300))
    reach, jitter, draws = 2_000_000, 60_000_000, 20_000
    found = together(a, b, reach=reach)
    for k in range(0, 40, 8):
        moved = a[1][k] + rng.choice([-1, 1], draws) * rng.uniform(2 * reach, jitter, draws)
        mine = np.sort(b[1][place_b == place_a[k]])
        near = np.searchsorted(mine, moved + reach, "right") > np.searchsorted(mine, moved - reach, "left")
        assert abs(near.mean() - found.chance[k]) < 5 * np.sqrt(0.25 / draws)
        assert found.near[k] == bool((np.abs(mine - a[1][k]) <= reach).any())


def test_p_of_unrelated_events_is_not_too_small():
    rng = np.random.default_rng(2)
    p = []
    for _ in range(200):
        a, b = ((rng.integers(0, 5, size), rng.integers(0, 3_600_000_000, size)) for size in (60, 400))
        p.append(together(a, b, reach=5_000_000).p)
    assert binom.sf(sum(one <= 0.05 for one in p) - 1, 200, 0.05) > 0.01


def test_places_do_not_mix_and_nothing_is_no_pair():
    assert not together(at(A, 0), at(A, 1), reach=5_000_000).near.any()
    assert not ordered(at(A, 1), at(A, 0), unsure=0, window=5_000_000).forward.any()
    none = at([])
    for a, b in ((none, at(B)), (at(A), none), (none, none)):
        assert together(a, b, reach=5_000_000).p == 1.0
        assert ordered(a, b, unsure=0, window=5_000_000).p == 1.0


def test_equal_stamps_are_in_no_order():
    found = ordered(at(A), at(A), unsure=0, window=5_000_000)
    assert not (found.forward | found.backward).any()
    assert together(at(A), at(A), reach=5_000_000).near.all()
