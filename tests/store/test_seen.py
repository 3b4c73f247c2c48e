"""When somebody was looking: stretches end where it falls silent, and go on over files."""

import itertools

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from workbench.store.seen import join_intervals, runs_of, stretches

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z


def spans(frame, entity):
    rows = frame.filter(pl.col("entity") == entity).sort("start")
    return [
        (round(a.timestamp()) - T0, round(b.timestamp()) - T0, n)
        for a, b, n in rows.select("start", "end", "count").iter_rows()
    ]


def test_a_gap_ends_a_stretch_and_files_that_follow_each_other_are_one(store, write, load):
    write("a", *[f"S {T0 + t} n1 gpu 0 x {t}" for t in (0, 10, 20, 30, 200, 210, 220)])
    write("b", *[f"S {T0 + t} n1 gpu 0 x {t}" for t in (230, 240)])
    load()
    write("c", *[f"S {T0 + t} n1 gpu 0 x {t}" for t in (250, 260, 900, 910)])
    load()
    assert spans(store.observed(), "cluster/n1/gpu:0") == [(0, 30, 4), (200, 260, 7), (900, 910, 2)]


def test_single_scrapes_in_files_of_their_own_are_one_stretch(store, write, load):
    for t in (0, 15, 30, 45, 300):
        write(f"scrape{t}", f"S {T0 + t} n1 gpu 0 x 1")
    load()
    assert spans(store.observed(), "cluster/n1/gpu:0") == [(0, 45, 4), (300, 300, 1)]


def test_a_log_is_looked_at_from_its_first_to_its_last_stamp(store, write, load):
    write("a", f"E {T0} n1 - - log - x", f"E {T0 + 500} n2 - - log - x", f"E {T0 + 900} n1 - - log - x")
    write("b", f"E {T0 + 90000} n1 - - log - x")
    load()
    assert spans(store.observed(), "cluster/n1") == [(0, 900, 2), (90000, 90000, 1)]
    assert spans(store.observed(), "cluster/n2") == [(0, 900, 1)]


def test_series_know_their_spacing(store, write, load):
    write(
        "a",
        *[f"S {T0 + 10 * t} n1 gpu 0 fast {t}" for t in range(60)],
        *[f"S {T0 + 60 * t} n1 gpu 0 slow {t}" for t in range(10)],
    )
    load()
    assert dict(store.catalog().select("metric", "interval_s").iter_rows()) == {"fast": 10.0, "slow": 60.0}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2000)), min_size=1, max_size=60))
def test_runs_agree_with_a_plain_loop(pairs):
    rows = sorted(pairs)
    group, ts = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    runs = runs_of(group, ts * 10**6)
    for number, which in enumerate(sorted({g for g, _ in rows})):
        mine = [t for g, t in rows if g == which]
        steps = sorted(b - a for a, b in itertools.pairwise(mine) if b > a)
        assert runs.count[number] == len(mine)
        assert (runs.first_us[number], runs.last_us[number]) == (mine[0] * 10**6, mine[-1] * 10**6)
        assert steps == [] or runs.interval_s[number] == steps[(len(steps) - 1) // 2]
    assert stretches(group, ts * 10**6).count.sum() == len(rows)


@given(st.lists(st.integers(0, 500), min_size=1, max_size=40))
def test_joining_loses_and_invents_nothing(starts):
    at = pl.from_epoch(pl.Series(sorted(starts)), "s").dt.replace_time_zone("UTC").cast(pl.Datetime("us", "UTC"))
    count = len(starts)
    pieces = pl.DataFrame(
        {"entity": ["a"] * count, "start": at, "end": at, "interval_s": [10.0] * count, "count": [1] * count}
    )
    joined = join_intervals(pieces, ["entity"])
    assert joined["count"].sum() == count
    assert joined["start"].min() == at.min()
    assert joined["end"].max() == at.max()
    gaps = (joined["start"].shift(-1) - joined["end"]).drop_nulls().dt.total_seconds()
    assert (gaps > 30).all()
