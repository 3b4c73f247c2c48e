"""Offsets of clocks: planted ones are found with an interval that covers them; right clocks are not called off."""

import numpy as np
import pytest

from workbench.kernels.clocks import Moments, agreed_overlap, offset_of, shared_moments


def fleet(rng, *, hosts=12, moments=24, ahead=(), noise_s=3.0, chatter=6):
    """(host, ts) of a fleet: 8 hosts see each moment; every host also writes on its own."""
    host, ts = [], []
    for at in np.sort(rng.uniform(0, 5 * 86_400, moments)):
        for one in rng.choice(hosts, 8, replace=False):
            host.append(one)
            ts.append(at + rng.uniform(0, noise_s) + dict(ahead).get(int(one), 0.0))
    for one in range(hosts):
        host += [one] * chatter
        ts += list(rng.uniform(0, 5 * 86_400, chatter))
    return np.array(host), np.array(ts)


def offsets(host, ts):
    moments = shared_moments(host, ts)
    return {int(one): offset_of(moments, one, ts[host == one], ts[host == one], hosts=12) for one in np.unique(host)}


@pytest.mark.parametrize("planted", [90.0, -47.0, 600.0, -3600.0, 21_600.0])
def test_a_planted_offset_is_found_and_covered(planted):
    covered = off = 0
    for seed in range(20):
        found = offsets(*fleet(np.random.default_rng(seed), ahead={5: planted}.items()))
        one = found[5]
        covered += one is not None and one.low_s - 3.0 <= planted <= one.high_s + 3.0
        off += sum(o is not None and abs(o.offset_s) > 6.0 for place, o in found.items() if place != 5)
    assert covered >= 19
    assert off == 0


def test_hosts_that_share_nothing_get_no_offset():
    rng = np.random.default_rng(3)
    host, ts = np.repeat(np.arange(12), 30), rng.uniform(0, 5 * 86_400, 360)
    assert shared_moments(host, ts).at_s.size <= 1
    assert sum(one is not None for one in offsets(host, ts).values()) <= 1


def test_three_hosts_that_err_together_do_not_make_the_others_wrong():
    found = offsets(*fleet(np.random.default_rng(5), moments=60, ahead={1: 90.0, 2: 90.0, 3: 90.0}.items()))
    assert {place: round(one.offset_s, -1) for place, one in found.items() if abs(one.offset_s) > 6} == {
        1: 90.0, 2: 90.0, 3: 90.0,
    }  # fmt: skip


def test_events_of_one_host_are_no_shared_moment():
    assert shared_moments(np.zeros(9, np.int64), np.arange(9.0)).at_s.size == 0
    assert shared_moments(np.zeros(0, np.int64), np.zeros(0)).at_s.size == 0


def test_the_interval_of_a_median_is_that_of_order_statistics():
    at = np.arange(20) * 3600.0
    nobody = np.zeros(0, np.int64)
    moments = Moments(at_s=at, hosts=np.full(20, 3), member=nobody, member_of=nobody, member_s=np.zeros(0))
    late = at + 40.0 + np.arange(20) / 10
    found = offset_of(moments, 0, late, late, hosts=3)
    # Conover, table of the sign test: 20 values, ranks 4 and 17 hold the median with 99.74 %.
    assert (found.low_s, found.high_s, round(found.confidence, 4)) == (pytest.approx(40.3), pytest.approx(41.6), 0.9974)


def test_intervals_that_contradict_give_the_stretch_that_most_allow():
    assert agreed_overlap(np.zeros(0), np.zeros(0)) is None
    found = agreed_overlap(np.array([10.0, 12.0, -500.0]), np.array([20.0, 15.0, -400.0]))
    assert (found.low_s, found.high_s, found.shared) == (12.0, 15.0, 2)
