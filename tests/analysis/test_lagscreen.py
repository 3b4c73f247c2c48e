from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from nullworlds import first_order
from scipy.stats import binom

from workbench.analysis.lag import lag_correlation
from workbench.analysis.lagscreen import lag_screen
from workbench.errors import DataError, UnknownNameError, UsageError
from workbench.model.panel import Panel
from workbench.model.provenance import Provenance

METRICS = ("a", "b", "c", "d", "e")


def panel(values, step_s=60.0):
    return Panel(
        values=values,
        entities=tuple(f"c1/node{at:02d}" for at in range(values.shape[0])),
        metrics=tuple("abcdefgh"[: values.shape[1]]),
        ts_us=np.arange(values.shape[2]) * round(step_s * 1e6),
        step_s=step_s,
        provenance=Provenance(function="wb.panel", inputs="noise@1"),
    )


def noise(seed, entities=3, metrics=5, width=400, phi=0.8):
    return first_order(np.random.default_rng([seed, 70]), phi, (entities, metrics, width))


def ask(values, seed=1, **more):
    return lag_screen(panel(values), max_lag="6m", seed=seed, **({"shifts": 499} | more))


@pytest.mark.parametrize("x", ["a", None])
def test_false_claims_over_all_pairs_and_lags_stay_within_the_exact_bound(x):
    runs = 60
    claims = sum(ask(noise(seed), seed, x=x).claims.height > 0 for seed in range(runs))
    assert claims <= binom.ppf(0.999, runs, 0.05)


def test_two_planted_pairs_are_found_with_their_lags_among_all_pairs():
    values = noise(3)
    values[:, 1, 4:] += 0.6 * values[:, 0, :-4]
    values[:, 4, :-2] += 0.6 * values[:, 3, 2:]
    found = ask(values, shifts=9999)
    assert {row[:3] for row in found.claims.select("x", "y", "lag_s").rows()} == {("a", "b", 240.0), ("d", "e", -120.0)}
    assert found.pairs.height == 10
    assert "a goes before b by 4m" in found.sentence
    assert "d follows e by 2m" in found.sentence
    assert found.r.shape == (10, 13)
    best = found.r[0][np.abs(found.r[0]).argmax()]
    assert best == found.pairs["r_max"][0]
    assert found.entities.height == 30
    assert found.entities.filter(x="a", y="b")["q"].max() < 0.05


def test_one_pair_is_that_of_lag_correlation():
    values = noise(5, metrics=2)
    values[:, 1, 4:] += 0.3 * values[:, 0, :-4]
    values[0, 1, 100:150] = np.nan
    screen, alone = ask(values, transform="raw"), lag_correlation(
        panel(values), x="a", y="b", max_lag="6m", seed=1, transform="raw", shifts=499
    )  # fmt: skip
    row = screen.pairs.row(0, named=True)
    for ours, theirs in (
        ("r_max", "r_max"),
        ("lag_s", "lag_max_s"),
        ("effective_n", "effective_n"),
        ("pairs", "pairs"),
    ):
        assert row[ours] == pytest.approx(getattr(alone, theirs), rel=1e-12)
    assert row["p_family"] == row["p"] == row["q"]
    # one true peak: all shifts that have it within reach of a lag are as large, and no other
    assert row["p"] == pytest.approx(13 / 400)
    assert alone.p == 1 / 376
    np.testing.assert_array_equal(screen.r[0], alone.r)
    assert screen.entities.drop("x", "y").equals(alone.entities)


def test_family_wise_p_counts_the_pairs():
    values = noise(8, metrics=8)
    found = ask(values).pairs
    assert found.height == 28
    assert (found["p_family"] >= found["p"] - 1e-12).all()
    assert (found["q"] >= found["p"]).all()
    assert found["p_family"].is_sorted()
    bh = ask(values, fdr="bh").pairs
    assert (bh["q"] <= found["q"] + 1e-12).all()


def test_what_the_whole_fleet_does_makes_no_pair_once_it_is_taken_out():
    claims = {None: 0, "fleet": 0}
    for seed in range(12):
        values = noise(seed, entities=10, metrics=3)
        values += 2.0 * first_order(np.random.default_rng([seed, 71]), 0.8, (1, 1, 400))
        for remove in claims:
            claims[remove] += ask(values, seed, remove=remove).claims.height > 0
    assert claims[None] == 12
    assert claims["fleet"] <= 4


def test_a_link_within_entities_is_still_found_when_the_fleet_is_taken_out():
    values = noise(2, entities=10, metrics=3)
    values[:, 1, 3:] += 0.5 * values[:, 0, :-3]
    values += 2.0 * first_order(np.random.default_rng(72), 0.8, (1, 1, 400))
    found = ask(values, remove="fleet")
    assert found.claims.select("x", "y", "lag_s").rows() == [("a", "b", 180.0)]
    few = ask(values[:5], remove="fleet")
    assert any("Fewer than 8 entities have a, b, c" in note for note in few.notes)


def test_pairs_whose_p_does_not_hold_are_told_and_claimed_by_nobody():
    values = noise(4, metrics=3)
    values[:, 1:] = np.cumsum(values[:, 1:], axis=2)
    found = ask(values, transform="raw")
    bad = found.pairs.filter(~pl.col("holds"))
    assert bad.select("x", "y").rows() != []
    assert bad["p"].is_nan().all()
    assert (bad["why"] != "").all()
    assert "so nothing is told" in found.sentence
    assert "(p does not hold)" in " ".join(found.plot().layout.yaxis.ticktext)


def test_metrics_that_no_entity_has_together_are_told_apart():
    values = noise(4, metrics=3)
    values[0, 0], values[1:, 1] = np.nan, np.nan
    found = ask(values)
    assert found.pairs.filter(pl.col("why") == "no entity has both").select("x", "y").rows() == [("a", "b")]
    assert any("1 of 3 pairs are on no entity together" in note for note in found.notes)
    values[:, 2] = np.nan
    with pytest.raises(DataError, match="No entity has both"):
        ask(values)


def test_order_of_metrics_changes_nothing_but_the_order_of_rows():
    values = noise(6)
    values[:, 1, 4:] += 0.6 * values[:, 0, :-4]
    one, other = (
        ask(values, x="a"),
        lag_screen(panel(values), x="a", ys=["e", "b", "d", "c"], max_lag="6m", seed=1, shifts=499),
    )
    assert one.pairs.sort("y").equals(other.pairs.sort("y"))


def test_progress_and_the_notebook():
    told = []
    found = ask(noise(1), progress=lambda done, total, what: told.append((done, total, what)))
    assert [one[:2] for one in told] == [(at, 10) for at in range(1, 11)]
    assert [one[2] for one in told] == [f"{x} and {y}" for x, y in combinations(METRICS, 2)]
    assert len(found._repr_html_()) < 100_000
    assert any("go by p_family" in note for note in found.notes)


def test_wrong_use_says_what_would_be_right():
    values = noise(1)
    with pytest.raises(UnknownNameError, match="zz"):
        ask(values, x="zz")
    with pytest.raises(UsageError, match="take a list"):
        ask(values, ys="a")
    with pytest.raises(UsageError, match="No pair"):
        ask(values, x="a", ys=["a"])
    with pytest.raises(UsageError, match="take fleet"):
        ask(values, remove="rack")
    with pytest.raises(UsageError, match="bh or by"):
        ask(values, fdr="none")
    with pytest.raises(UsageError, match="takes a panel"):
        lag_screen(values, max_lag="6m", seed=1)
    uneven = replace(panel(values), ts_us=np.r_[0, 5, np.arange(2, 400) * 60_000_000])
    with pytest.raises(UsageError, match="not regular"):
        lag_screen(uneven, max_lag="6m", seed=1)
