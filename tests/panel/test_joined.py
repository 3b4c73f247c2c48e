"""What does not join is refused, with the names and what to state; what was not measured is not refused."""

import pytest
from toyreader import TOY

import workbench as wb
from workbench.errors import JoinError
from workbench.panel.joined import require_joined

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z


@pytest.fixture
def load(tmp_path):
    store = wb.open(tmp_path / "store")

    def make(*lines, **stated):
        (tmp_path / "dump").write_text("toy\n" + "".join(f"{line}\n" for line in lines), encoding="utf-8")
        store.ingest(tmp_path / "dump", readers=[TOY], **stated)
        return store

    return make


def uuid(host, gpu):
    return f"GPU-{host:08d}-0000-0000-0000-{gpu:012d}"


def fleet(name="n{}", hosts=6):
    return [f"S {T0 + t} {name.format(h)} gpu {uuid(h, 0)} x 1.5" for h in range(hosts) for t in (0, 60)]


def test_gpus_that_logs_name_by_address_and_metrics_by_uuid_are_refused_until_stated(load, tmp_path):
    store = load(*fleet(), *(f"E {T0 + h} n{h} gpu 0000:18:00 xid 79 x" for h in range(6)))
    with pytest.raises(JoinError, match=r"0 of the 6 GPUs .*cluster/n0/gpu:0000:18:00.*\[\[alias\]\] kind = \"gpu\""):
        wb.screen(store, outcome="xid:79", before="1h", seed=1)
    (row,) = store.info().joins.filter(to="GPUs with samples").to_dicts()
    assert (row["rate"], row["missing"][0]) == (0.0, "cluster/n0/gpu:0000:18:00")
    names = tmp_path / "names.csv"
    names.write_text(
        "kind,host,name,same_as\n" + "".join(f"gpu,n{h},0000:18:00.0,{uuid(h, 0)}\n" for h in range(6)), "utf-8"
    )
    (tmp_path / "map.toml").write_text('[[alias]]\nfile = "names.csv"\n', "utf-8")
    store.ingest(tmp_path / "dump", readers=[TOY], mapping=tmp_path / "map.toml")
    require_joined(store, store.incidents("xid:79"))
    assert store.info().joins.filter(to="GPUs with samples")["rate"].to_list() == [1.0]


def test_hosts_under_two_naming_schemes_are_refused(load):
    store = load(*fleet(), *(f"E {T0 + h} rack1-slot{h} host - oom global x" for h in range(6)))
    with pytest.raises(JoinError, match=r"rack1-slot0.*cluster/n0"):
        require_joined(store, store.incidents("oom"))


def test_hosts_that_were_not_measured_are_not_refused(load):
    """One rack has an exporter; its hosts are known to the logs too, so names join."""
    store = load(*fleet(hosts=3), *(f"E {T0 + h} n{h} host - oom global x" for h in range(20)))
    require_joined(store, store.incidents("oom"))
    require_joined(store, ())


def test_a_store_without_metrics_is_not_refused_for_its_names(load):
    store = load(f"E {T0} n1 gpu 0 xid 79 x")
    require_joined(store, store.incidents("xid"))
