import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from workbench.errors import ResourceError
from workbench.kernels.coincidence import Meeting, coalesce, leads, meet, naive_p, shifted_meetings

WINDOW = Meeting(least=1, most=10)


def lone(times):
    return np.zeros(len(times), np.int64), np.array(times, dtype=np.int64)


def drawn(seed, count=(60, 50), places=5, span=1000):
    rng = np.random.default_rng(seed)
    return tuple((rng.integers(0, places, n), rng.integers(0, span, n)) for n in count)


def by_pairs(a, b, window, span=None):
    """Every pair in turn; on a circle a lead is taken modulo its length."""
    triggering, preceded = np.zeros(a[0].size, bool), np.zeros(b[0].size, bool)
    for i in range(a[0].size):
        for j in range(b[0].size):
            lead = int(b[1][j] - a[1][i])
            lead = lead % span if span else lead
            if a[0][i] == b[0][j] and window.least <= lead <= window.most:
                triggering[i] = preceded[j] = True
    return triggering, preceded


def test_reference_r2_every_shift_of_a_circle():
    events, failures = [41, 42, 54, 74, 123, 128, 168, 227], [20, 29, 48, 49, 61, 81, 118]
    shifts = np.arange(240)
    preceded = shifted_meetings(lone(events), lone(failures), WINDOW, span=240, shifts=shifts)[1]
    assert preceded[0] == 4
    assert np.mean(preceded >= 4) == pytest.approx(0.0916666667, abs=1e-10)


def test_reference_r1_poisson():
    p = naive_p(np.zeros(20, np.int64), np.zeros(12, np.int64), 5, Meeting(least=0, most=60), span=5760)
    assert p == pytest.approx(0.05877999998, abs=1e-10)


def test_naive_p_mixes_places_with_and_without_causes():
    place_b = np.array([0] * 6 + [1] * 4 + [7] * 3)
    window = Meeting(least=0, most=60)
    ours = naive_p(np.array([0, 0, 1, 9]), place_b, 2, window, span=1000)
    first, second = (1 - (1 - 0.06) ** n for n in (2, 1))
    exact = sum(binom.pmf(i, 6, first) * binom.pmf(j, 4, second) for i in range(7) for j in range(5) if i + j >= 2)
    assert ours == pytest.approx(exact, rel=1e-12)
    assert naive_p(np.empty(0, np.int64), place_b, 1, window, span=1000) == 0.0


def test_meet_and_leads_equal_all_pairs():
    a, b = drawn(1)
    for ours, expected in zip(meet(a, b, WINDOW), by_pairs(a, b, WINDOW), strict=True):
        np.testing.assert_array_equal(ours, expected)
    nearest = []
    for place, ts in zip(*b, strict=True):
        lead = ts - a[1][a[0] == place]
        lead = lead[(lead >= 1) & (lead <= 10)]
        nearest += [lead.min()] if lead.size else []
    np.testing.assert_array_equal(leads(a, b, WINDOW), nearest)


@pytest.mark.parametrize("compiled", [False, True])
def test_shifts_equal_all_pairs_on_the_circle(compiled):
    a, b = drawn(2)
    shifts = np.array([0, 1, 9, 250, 500, 990, 999])
    got = shifted_meetings(a, b, WINDOW, span=1000, shifts=shifts, compiled=compiled)
    for at, shift in enumerate(shifts.tolist()):
        triggering, preceded = by_pairs(a, (b[0], b[1] + shift), WINDOW, span=1000)
        assert (got[0][at], got[1][at]) == (triggering.sum(), preceded.sum())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 99)), max_size=12),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 99)), max_size=12),
    st.integers(0, 99),
    st.integers(1, 98),
)
def test_any_events_agree_with_all_pairs(first, second, shift, most):
    a, b = (
        (np.array([e[0] for e in part], np.int64), np.array([e[1] for e in part], np.int64)) for part in (first, second)
    )
    window = Meeting(least=1, most=most)
    triggering, preceded = by_pairs(a, (b[0], b[1] + shift), window, span=100)
    got = shifted_meetings(a, b, window, span=100, shifts=np.array([shift]))
    assert (got[0][0], got[1][0]) == (triggering.sum(), preceded.sum())
    for ours, expected in zip(meet(a, b, window), by_pairs(a, b, window), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_bursts_chain_and_keep_the_first():
    place, ts = np.array([0, 0, 0, 1, 0]), np.array([0, 8, 16, 5, 40])
    assert coalesce(place, ts, 10).tolist() == [0, 4, 3]
    assert coalesce(place, ts, 0).tolist() == [0, 1, 2, 4, 3]
    assert coalesce(place[:0], ts[:0], 10).size == 0


def test_more_than_integers_hold_is_refused():
    places = np.arange(10**5, dtype=np.int64)
    with pytest.raises(ResourceError, match="shorter span"):
        shifted_meetings((places, places), (places, places), WINDOW, span=10**14, shifts=np.array([1]))
