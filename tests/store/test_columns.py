"""Units of metrics that no catalogue knows: converted, kept apart, or told; never dropped."""

import polars as pl
import pytest

from workbench.store.columns import Columns, RawName
from workbench.store.layout import empty_fixed


def _raw(unit, name="temp"):
    return RawName(route="host", entity_kind="host", name=name, stated_kind="gauge", unit=unit)


def _steps(units):
    """Place units one step after another; each step starts from what the table of metrics holds."""
    rows, placed, notes = [], {}, []
    for step in units:
        table = (
            pl.DataFrame(rows, schema=empty_fixed("metrics").schema, orient="row") if rows else empty_fixed("metrics")
        )
        columns = Columns(table)
        found = columns.place([_raw(unit) for unit in step])
        placed |= {
            raw.unit: (one.column.metric.id, one.column.metric.unit, one.conversion.factor)
            for raw, one in found.items()
        }
        rows += columns.new
        notes += columns.notes
    return placed, notes


@pytest.mark.parametrize("units", [[[None], ["degF"]], [[None, "degF"]], [["degF", None]]])
def test_a_unit_beside_values_without_one_makes_a_metric_of_its_own(units):
    placed, notes = _steps(units)
    assert placed == {None: ("temp", "", 1.0), "degF": ("temp [F]", "F", 1.0)}
    assert len(notes) == 1
    assert notes[0].startswith("temp [F]: values known before state no unit")


def test_values_without_a_unit_are_taken_in_the_known_one_and_that_is_told():
    placed, notes = _steps([["degF"], [None]])
    assert placed == {"degF": ("temp", "F", 1.0), None: ("temp", "F", 1.0)}
    assert len(notes) == 1
    assert notes[0].startswith("temp [F]: some values state no unit")


@pytest.mark.parametrize("units", [[["W"], ["kW"]], [["W", "kW"]]])
def test_units_that_convert_are_one_metric_in_one_ingest_and_in_two(units):
    placed, notes = _steps(units)
    assert {metric for metric, _, _ in placed.values()} == {"temp"}
    kept = placed["W"][1]
    assert placed["kW"][2] / placed["W"][2] == 1000.0
    assert kept in {"W", "kW"}
    assert notes == []


@pytest.mark.parametrize("units", [[["W"], ["degC"]], [["W", "degC"]], [["W"], ["degC"], ["degC"]]])
def test_units_that_do_not_convert_are_two_metrics(units):
    placed, notes = _steps(units)
    assert len({metric for metric, _, _ in placed.values()}) == 2
    assert notes == []
