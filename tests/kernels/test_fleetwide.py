import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.kernels.fleetwide import without_fleet


def by_loop(values, least):
    out = np.full(values.shape, np.nan)
    for t in range(values.shape[1]):
        known = sorted(v for v in values[:, t] if np.isfinite(v))
        if len(known) < max(least, 1):
            continue
        middle = (known[(len(known) - 1) // 2] + known[len(known) // 2]) / 2
        for e in range(values.shape[0]):
            if np.isfinite(values[e, t]):
                out[e, t] = values[e, t] - middle
    return out


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 6), st.integers(0, 6))
def test_equals_a_loop_over_cells(seed, entities, least):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(entities, 5))
    values[rng.random(values.shape) < 0.3] = np.nan
    values[rng.random(values.shape) < 0.1] = np.inf
    np.testing.assert_allclose(without_fleet(values, least), by_loop(values, least), rtol=1e-12)
