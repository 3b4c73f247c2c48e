"""Change points over a fleet: who changed, who changed together, and what cannot be told."""

import numpy as np
import polars as pl
import pytest
from analyses import T0_US

import workbench as wb
from workbench.errors import DataError, UnknownNameError, UsageError
from workbench.model.panel import Panel
from workbench.model.provenance import Provenance

METRIC = "gpu.temperature_c"


def panel_of(values, names=None):
    names = names or tuple(f"c1/node{at // 4:02d}/gpu:{at % 4}" for at in range(values.shape[0]))
    return Panel(
        values=values[:, None, :], entities=names, metrics=(METRIC,), ts_us=T0_US + np.arange(values.shape[1]) * 60_000_000,
        step_s=60.0, units={METRIC: "C"}, provenance=Provenance(function="wb.panel", inputs="case@1"),
    )  # fmt: skip


def noise(seed, entities=16, cells=600):
    return 60 + 4 * np.random.default_rng([seed, 80]).normal(size=(entities, cells))


def at_cell(found, cell):
    moment = pl.Series([T0_US + cell * 60_000_000]).cast(pl.Datetime("us", "UTC"))[0]
    return found.filter((pl.col("ts_low") <= moment) & (pl.col("ts_high") >= moment))


def test_one_a_host_and_the_fleet_are_told_apart():
    values = noise(1)
    values[2, 150:] += 12
    values[4:8, 300:] += 12
    values[:, 450:] -= 8
    found = wb.change_points(panel_of(values), METRIC, seed=7)
    scopes = {cell: set(at_cell(found.believed, cell)["scope"]) for cell in (150, 300, 450)}
    assert scopes == {150: {"one"}, 300: {"group"}, 450: {"fleet"}}
    assert at_cell(found.believed, 450)["together"].min() == 16
    assert at_cell(found.believed, 450)["p_together"].max() <= 0.01
    assert "rollout" in found.sentence
    assert found.unit == "C"
    step = at_cell(found.believed, 150).row(0, named=True)
    assert (step["entity"], step["kind"], step["excursion"]) == ("c1/node00/gpu:2", "level", False)
    assert step["after"] - step["before"] == pytest.approx(12, abs=1.5)


def test_no_change_is_said_of_those_that_can_be_judged():
    values = noise(2)
    values[3] = np.cumsum(np.random.default_rng(1).normal(size=600))
    values[5, 10:] = np.nan
    found = wb.change_points(panel_of(values), METRIC, seed=7)
    assert found.believed.filter(pl.col("q") <= 0.05).height == 0
    told = {row["entity"]: row for row in found.entities.iter_rows(named=True)}
    assert not told["c1/node00/gpu:3"]["holds"]
    assert told["c1/node01/gpu:1"]["why"] == "too few cells"
    assert found.table()["entity"].n_unique() == 16, "an entity without changes has a row, too"
    assert "cannot be judged" in found.sentence
    assert "too few cells (1)" in found.sentence
    assert found.entities["holds"].sum() >= 12


def test_gaps_are_left_out_and_said():
    values = noise(3, entities=2)
    values[0, 300:] += 12
    values[0, 260:340] = np.nan
    values[1, ::3] = np.nan
    found = wb.change_points(panel_of(values), METRIC, seed=7)
    (step,) = found.believed.filter(entity="c1/node00/gpu:0").iter_rows(named=True)
    assert step["ts"] == pl.Series([T0_US + 340 * 60_000_000]).cast(pl.Datetime("us", "UTC"))[0]
    assert any("not observed" in note for note in found.notes)


def test_a_rate_of_events_is_a_level_of_counts():
    rng = np.random.default_rng(9)
    values = rng.poisson(1.0, size=(4, 600)).astype(float)
    values[1, 350:] = rng.poisson(3.0, size=250)
    found = wb.change_points(panel_of(values), METRIC, seed=7)
    assert found.believed.filter(pl.col("q") <= 0.05)["entity"].to_list() == ["c1/node00/gpu:1"]


def test_what_cannot_be_asked_says_why():
    panel = panel_of(noise(4, entities=2, cells=100))
    with pytest.raises(UnknownNameError, match=r"gpu\.temperature_c"):
        wb.change_points(panel, "gpu.temperatur_c", seed=7)
    with pytest.raises(UsageError, match="kind='jump'"):
        wb.change_points(panel, METRIC, seed=7, kind="jump")
    with pytest.raises(UsageError, match="alpha"):
        wb.change_points(panel, METRIC, seed=7, alpha=2.0)
    with pytest.raises(UsageError, match="takes a panel"):
        wb.change_points("case-042", METRIC, seed=7)
    with pytest.raises(DataError, match="20 cells"):
        wb.change_points(panel_of(noise(4, cells=12)), METRIC, seed=7)


def test_groups_can_be_stated():
    values = noise(5, entities=8)
    names = tuple(f"c1/node{at:02d}" for at in range(8))
    values[:3, 300:] += 12
    racks = {name: f"r{at // 3}" for at, name in enumerate(names)}
    found = wb.change_points(panel_of(values, names), METRIC, seed=7, groups=racks)
    assert set(at_cell(found.believed, 300)["scope"]) == {"group"}


def test_hostile_names_stay_text():
    values = noise(6, entities=1)
    values[0, 300:] += 12
    html = wb.change_points(panel_of(values, ("<script>x</script>",)), METRIC, seed=7)._repr_html_()
    assert "<script>x" not in html
