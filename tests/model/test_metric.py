"""What metrics mean: every entry of the catalogue is well formed, names are clear, units convert."""

import pytest

from workbench.model.metric import KINDS, by_id, catalogue, describe, find
from workbench.model.units import conversion, tidy_unit


def test_names_and_fields_of_the_catalogue_are_unique():
    names = [source.name for metric in catalogue() for source in metric.names]
    assert len(names) == len(set(names))
    fields = [number for metric in catalogue() for number in metric.fields]
    assert len(fields) == len(set(fields))


@pytest.mark.parametrize("metric", catalogue(), ids=lambda metric: metric.id)
def test_every_entry_is_well_formed(metric):
    assert metric.kind in KINDS
    assert metric.role in ("", "load", "temperature")
    assert set(metric.drives) <= {"load", "temperature"}
    assert metric.id == f"{metric.entity_kind}.{metric.column}"
    assert metric.kind == "counter" or not metric.saturates
    assert all(metric.written_as(source.name, None) is not None for source in metric.names)
    assert tidy_unit(metric.unit) == metric.unit
    if metric.column.endswith("_total"):
        assert metric.kind == "counter"


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "gpu.ecc_sbe_total"), ("DCGM_FI_310", "gpu.ecc_sbe_total"), ("dcgm_field_310", "gpu.ecc_sbe_total"),
        ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "gpu.remapped_rows_uncorrectable_total"),
        ("DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL", "gpu.remapped_rows_uncorrectable_total"), ("DCGM_FI_393", "gpu.remapped_rows_uncorrectable_total"),
        ("DCGM_FI_DEV_BOARD_POWER_WATTS", "gpu.power_w"), ("symbol_error", "port.symbol_errors_total"), ("node_load1", "host.load1"),
    ],
)  # fmt: skip
def test_every_generation_of_names_leads_to_one_metric(name, id_):
    assert find(name).id == id_


def test_the_last_xid_is_a_code_that_sticks_and_never_a_count():
    assert by_id("gpu.xid_last").kind == "sticky"


def test_power_is_load_and_drives_temperature():
    assert (by_id("gpu.power_w").role, by_id("gpu.power_w").drives) == ("load", ("temperature",))
    assert by_id("gpu.temperature_c").role == "temperature"


def test_narrow_counters_stick_at_their_maximum():
    assert (by_id("port.link_downed_total").bits, by_id("port.link_downed_total").saturates) == (8, True)


def test_infiniband_words_become_bytes_and_stay_whole():
    assert find("port_xmit_data").written_as("port_xmit_data", None).factor == 4.0
    assert find("port_xmit_data").written_as("port_xmit_data", None).exact
    assert find("port_xmit_data").written_as("node_infiniband_port_data_transmitted_bytes_total", None).factor == 1.0


@pytest.mark.parametrize(
    ("name", "kind", "stated", "expected"),
    [
        ("foo_total", "host", None, ("foo_total", "counter", "suffix")), ("foo", "host", "counter", ("foo", "counter", "type line")),
        ("foo", "host", None, ("foo", "gauge", "not known")), ("foo_sum", "host", "summary", ("foo_sum", "histogram", "type line")),
        ("power_w", "gpu", None, ("gpu.power_w", "gauge", "catalogue")), ("gpu.power_w", "gpu", None, ("gpu.power_w", "gauge", "catalogue")),
        ("DCGM_FI_DEV_POWER_USAGE", "mig", None, ("mig.power_w", "gauge", "catalogue")), ("power_w", "rack", None, ("power_w", "gauge", "not known")),
        ("foo", "host", "state", ("foo", "state", "stated")),
    ],
)  # fmt: skip
def test_unknown_metrics_keep_their_name_and_get_a_kind(name, kind, stated, expected):
    metric = describe(name, kind, stated_kind=stated)
    assert (metric.id, metric.kind, metric.known_by) == expected


def test_a_unit_that_does_not_convert_makes_another_metric():
    assert describe("temperature.gpu", "gpu", stated_unit="W").id == "temperature.gpu"
    assert describe("temperature.gpu", "gpu", stated_unit="F").id == "gpu.temperature_c"


@pytest.mark.parametrize(
    ("written", "kept", "value", "expected"),
    [
        ("kW", "W", 1.2, 1200.0), ("mW", "W", 631_950, 631.95), ("°F", "C", 212.0, 100.0), ("K", "C", 300.0, 26.85), ("GiB", "MiB", 2, 2048),
        ("J", "mJ", 3, 3000), ("us", "s", 5, 5e-6), ("%", "ratio", 50, 0.5), ("", "W", 7, 7), ("GPM", "L/min", 1, 3.785411784),
    ],
)  # fmt: skip
def test_units_convert_by_their_definition(written, kept, value, expected):
    step = conversion(written, kept)
    assert value * step.factor + step.offset == pytest.approx(expected, rel=1e-12)
