"""Every reference dump: known by its content, every record told, and what cannot be read says what to state.

What each ``expected.json`` states is asked in ``test_shared_*.py``, family by family; this one asks
that no folder and no file is forgotten.
"""

import json
from pathlib import Path

import pytest
from readings import read
from shared import ROOT, shared_exists, shared_path

from workbench.model.context import Context
from workbench.readers.registry import recognise
from workbench.readers.source import open_source
from workbench.timebase import parse_time

STATED = Context(
    zone="UTC", year=2025, host="node-x", interval_s=1.0, taken_at_us=parse_time("2026-01-01T00:00:00Z"),
    boot_at_us=parse_time("2025-10-23T09:00:40Z"),
)  # fmt: skip
#: Readers of the files of a folder that are not of the folder's own name.
OTHERS = {
    "compressed": {"prometheus_text"},
    "dcgm_exporter_text": {"prometheus_text"},
    "entity_map": {"ib_topology", "prometheus_text", "entity_map", "kernel_log", "nvidia_smi_query_csv"},
    "ethtool_S": {"ethtool_s"},
    "ib_perfquery": {"ib_perfquery", "ibswinfo"},
    "inventory": {"inventory", "redfish"},
    "ipmi": {"ipmi_sel", "ipmi_sel_info", "ipmi_sensor"},
    "openmetrics": {"prometheus_text"},
    "slurm_nodes": {"slurm_nodes", "slurm_json"},
    "slurm_sacct": {"slurm_sacct", "slurm_json"},
    "syslog_generic": {"syslog"},
    "wide_long_generic": {"table"},
}
#: Files of which no row can be read before something more is stated, and what their rejects say.
WAITING = {
    "collectd_csv/load__load-2026-11-30": "only the path says",
    "collectd_csv/memory__memory-used-2026-11-30": "only the path says",
    "ethtool_S/rhel_tg3.txt": "state device",
    "fault_trace/infinitehbd_fault_trace_tail.json": "state epoch and epoch_origin",
    "ipmi/sel_list_verbose.txt": "dump 'sel elist' instead",
    "lustre_proc/job_stats.txt": "state device",
    "lustre_proc/ost_stats.txt": "state device",
    "mlxlink/mlxlink_c.txt": "state device",
    "mlxlink/module_dom_ranges.txt": "state device",
    "nvme_smart_log_json/nvme_cli_smart_log.json": "state device",
    "power_cooling_csv/cdu_trend.csv": "state time_format",
    "prometheus_query_json/qr_error.json": "the query failed",
    "promtool_tsdb_dump/dump_test2.txt": "time outside of 2000 to 2100",
    "sysstat_text/centos-7.7_mpstat-A-2-5.out": "state time_format",
}
LEFT_OUT = ("PROVENANCE.md", "expected.json")


def cases():
    if not shared_exists("formats"):
        return [pytest.param(Path(), marks=pytest.mark.skip("reference data are not here; set WORKBENCH_SHARED"))]
    folder = shared_path("formats")
    return [
        pytest.param(path, id=path.relative_to(folder).as_posix())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in LEFT_OUT
    ]


@pytest.mark.parametrize("path", cases())
def test_every_dump_is_known_and_accounted_for(path):
    folder = path.parent.name
    with open_source(path) as source:
        found = recognise(source.head(), STATED)
    assert found is not None
    assert found[0].name in OTHERS.get(folder, {folder})
    reading = read(found[0], path, STATED)
    assert reading.records == reading.rows + sum(reading.skips().values()) + reading.rejects().height
    waits = WAITING.get(f"{folder}/{path.name}")
    if waits is None:
        assert reading.rows > 0
    else:
        assert reading.rows == 0
        assert any(waits in reason for reason in reading.reject_counts())


def test_every_folder_has_a_test_of_what_it_states():
    if not shared_exists("formats"):
        pytest.skip("reference data are not here; set WORKBENCH_SHARED")
    told = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "tests" / "readers").glob("test_*.py")
        if path != Path(__file__)
    )
    folders = [path.parent.name for path in shared_path("formats").glob("*/expected.json")]
    assert len(folders) > 50
    assert not [name for name in folders if f'"{name}"' not in told]
    assert all(json.loads((shared_path("formats") / name / "expected.json").read_text()) for name in folders)
