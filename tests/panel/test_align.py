"""Counters on a grid: what a stuck counter does not tell stays unknown."""

import numpy as np
import polars as pl

from workbench.panel.align import Grid, align

MINUTE = 60_000_000


def _rows(values):
    ts = pl.Series([index * MINUTE for index in range(len(values))]).cast(pl.Datetime("us", "UTC"))
    return pl.DataFrame({"entity": ["a"] * len(values), "ts": ts, "link_downed_total": values})


def _rates(values, **facts):
    grid = Grid(start_us=0, step_us=MINUTE, cells=len(values) - 1)
    rows = _rows(values)
    return align(rows, "link_downed_total", grid, entities={"a": 0}, kind="counter", interval_s=60.0, **facts)[0]


def test_the_rate_of_a_stuck_counter_is_not_zero_but_unknown():
    told = _rates([250, 253, 255, 255, 255, 2, 5], width_bits=8, saturates=True)
    np.testing.assert_allclose(told, [3 / 60, np.nan, np.nan, np.nan, np.nan, 3 / 60])


def test_a_counter_of_8_bits_that_starts_again_wraps():
    np.testing.assert_allclose(_rates([250, 253, 3], width_bits=8), [3 / 60, 6 / 60])
