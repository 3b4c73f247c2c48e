"""Derived events as signals: only where they are named, and quiet only where something was told."""

import numpy as np
from toyreader import TOY

import workbench as wb
from workbench.panel.load import fleets

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z


def _store(tmp_path):
    (tmp_path / "dumps").mkdir()
    for host in range(6):  # a file each: a file is looked at from its first to its last stamp
        lines = [f"S {T0 + 60 * n} n{host} - - load {n}" for n in range(600 if host < 5 else 300)]
        lines.append(f"E {T0 + 3600 * host + 900} n{host} - - boot - Linux version 6")
        lines.append(f"E {T0 + 3600 * host + 1500} n{host} - - fault x broke")
        (tmp_path / "dumps" / str(host)).write_text("toy\n" + "".join(f"{line}\n" for line in lines))
    store = wb.open(tmp_path / "store")
    store.ingest(tmp_path / "dumps", readers=[TOY])
    return store


def test_a_derived_kind_is_a_signal_where_it_is_named(tmp_path):
    store = _store(tmp_path)
    assert store.derived("reboot")["entity"].to_list() == [f"cluster/n{host}" for host in range(6)]
    incidents = list(store.incidents("fault"))
    (fleet,) = fleets(store, incidents, before_s=3600, signals=["load", "reboot:unplanned"])
    assert [info.name for info in fleet.signals] == ["load", "reboot:unplanned"]
    counts = fleet.load("reboot:unplanned")
    assert np.nansum(counts, axis=1).tolist() == [1.0] * 6
    row = fleet.entities.index("cluster/n5")
    at = int(np.searchsorted(fleet.ts_us, (T0 + 400 * 60) * 10**6))
    assert np.isnan(counts[row, at])  # nothing was told of it any more
    assert counts[fleet.entities.index("cluster/n0"), at] == 0.0


def test_no_derived_kind_is_a_signal_unasked(tmp_path):
    store = _store(tmp_path)
    (fleet,) = fleets(store, list(store.incidents("fault")), before_s=3600)
    assert not any(info.name.startswith("reboot") for info in fleet.signals)
