"""One thing has one id under all its names; what cannot be told apart stays apart, and is counted."""

import polars as pl
import pytest

from workbench.errors import SpecificationError
from workbench.model import frames
from workbench.model.mapping import load_mapping
from workbench.store.identity import Identity, parent_of
from workbench.store.layout import empty_fixed

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z
A, B = "GPU-aaaaaaaa-0000-0000-0000-000000000001", "GPU-bbbbbbbb-0000-0000-0000-000000000002"


def identity():
    return Identity.of(empty_fixed("aliases"))


def aliases(*rows):
    """(host, name, same as, from s, to s)"""
    us = [
        (h, "gpu", name, same, "", *(None if t is None else t * 10**6 for t in span)) for h, name, same, *span in rows
    ]
    plain = {name: pl.Int64() if kind == frames.TS else kind for name, kind in frames.ALIASES.items()}
    frame = pl.DataFrame(us, schema=plain, orient="row")
    return frame.with_columns(
        pl.col(c).cast(pl.Datetime("us")).dt.replace_time_zone("UTC") for c in ("valid_from", "valid_to")
    )


@pytest.mark.parametrize(
    "name", ["node07", "NODE07", "Node07.dc1.example", "node07:9100", "node07.dc1.example.:9400", " node07 "]
)
def test_a_host_has_one_id_under_all_spellings(name):
    assert identity().resolve((name, "host", None)).entity == "cluster/node07"


def test_two_domains_of_one_short_name_stay_apart_and_are_noted():
    who = identity()
    ids = [who.resolve((name, "host", None)).entity for name in ("n1.east.x", "n1", "n1.west.x", "n1.east.x")]
    assert ids == ["cluster/n1", "cluster/n1", "cluster/n1.west.x", "cluster/n1"]
    assert "n1.west.x" in who.notes[0]


@pytest.mark.parametrize("name", ["10.0.0.7:9400", "10.0.0.7"])
def test_an_address_is_not_cut_at_its_first_dot(name):
    assert identity().resolve((name, "host", None)).entity == "cluster/10.0.0.7"


@pytest.mark.parametrize(
    "name",
    ["3", "nvidia3", "gpu3", "00000000:3A:00.0", "0000:3a:00", "0000:3A:00.0", A, A.upper().replace("GPU", "gpu")],
)
def test_every_name_of_a_gpu_leads_to_its_uuid(name):
    who = identity()
    who.learn(aliases(("n1", "3", A, None, None), ("N1.dc", "00000000:3A:00.0", "nvidia3", None, None)))
    assert who.resolve(("n1", "gpu", name)).entity == f"cluster/n1/gpu:{A}"
    assert who.resolve(("n1", "gpu", name)).stable


def test_a_gpu_known_by_index_only_stays_as_written_and_counts_as_unresolved():
    found = identity().resolve(("n1", "gpu", "nvidia3"))
    assert (found.entity, found.stable) == ("cluster/n1/gpu:3", False)


def test_the_same_index_on_another_host_is_another_gpu():
    who = identity()
    who.learn(aliases(("n1", "0", A, None, None)))
    assert who.resolve(("n2", "gpu", "0")).entity == "cluster/n2/gpu:0"


def test_a_swapped_gpu_is_told_apart_by_time():
    who = identity()
    who.learn(aliases(("n1", "0", A, 0, 100), ("n1", "0", A, 110, 200), ("n1", "0", B, 300, 400)))
    found = who.resolve(("n1", "gpu", "0"))
    at = [
        next((e for start, end, e in found.spans if start <= s * 10**6 < end), found.entity)
        for s in (-50, 0, 105, 200, 250, 300, 900)
    ]
    assert at == [f"cluster/n1/gpu:{x}" for x in (A, A, A, A, "0", B, B)]


def test_names_that_lead_to_two_gpus_at_one_time_stay_unresolved():
    who = identity()
    who.learn(aliases(("n1", "0", A, 0, 100), ("n1", "0", B, 50, 150)))
    assert who.resolve(("n1", "gpu", "0")).entity == "cluster/n1/gpu:0"


def test_aliases_in_a_circle_end():
    who = identity()
    who.learn(aliases(("n1", "0000:01:00", "0000:02:00", None, None), ("n1", "0000:02:00", "0000:01:00", None, None)))
    assert who.resolve(("n1", "gpu", "0000:01:00")).entity.startswith("cluster/n1/gpu:0000:0")


def test_a_uuid_without_host_finds_its_host():
    who = identity()
    who.learn(aliases(("n1", "0", A, None, None)))
    assert who.resolve((None, "gpu", A)).entity == f"cluster/n1/gpu:{A}"
    assert who.resolve((None, "gpu", B)).entity == f"cluster/gpu:{B}"


@pytest.mark.parametrize(
    ("who", "entity"),
    [
        ((None, "rack", "r7"), "cluster/rack:r7"), ((None, "job", "4411"), "cluster/job:4411"), ((None, None, None), "cluster"),
        (("n1", "port", "mlx5_0/1"), "cluster/n1/port:mlx5_0:1"), ((None, "host", "n1"), "cluster/n1"), (("n1", "gpu", None), "cluster/n1"),
        (("a/b", "host", None), "cluster/a%2fb"), ((None, "cluster", "x"), "cluster"), (("", "rack", ""), "cluster/rack:unnamed"),
    ],
)  # fmt: skip
def test_ids_say_what_they_are(who, entity):
    assert identity().resolve(who).entity == entity


def test_what_was_learnt_is_kept_over_ingests(store, write, load):
    write("a", f"A n1 gpu 3 {A}")
    load()
    write("b", f"S {T0} N1.dc gpu nvidia3 x 1.5")
    load()
    assert store.sql("select entity from gpu")["entity"].to_list() == [f"cluster/n1/gpu:{A}"]


def test_one_ingest_resolves_whatever_the_order_of_its_files(store, write, load):
    write("a", f"S {T0} n1 gpu 3 x 1.5", f"E {T0} n1 gpu 0000:3a:00 xid 79 x")
    write("z", f"A n1 gpu 3 {A}", f"A n1 gpu 00000000:3A:00.0 {A}")
    load()
    assert store.sql("select entity from gpu union select entity from events")["entity"].to_list() == [
        f"cluster/n1/gpu:{A}"
    ]
    assert store.info().kinds.filter(pl.col("kind") == "gpu")["unresolved"].to_list() == [0]


def test_an_alias_that_comes_later_is_seen_at_once_in_all_views(store, write, load):
    write("a", f"S {T0} n1 gpu 3 x 1.5", f"E {T0} n1 gpu 3 xid 79 x", f"S {T0} n1 gpu 3 y 1")
    load()
    assert store.info().kinds.filter(pl.col("kind") == "gpu")["unresolved"].to_list() == [1]
    write("b", f"A n1 gpu 3 {A}", f"S {T0 + 60} n1 gpu 3 x 2.5")
    load()
    resolved = f"cluster/n1/gpu:{A}"
    for view in ("gpu", "events", "samples", "series", "observed"):
        assert store.sql(f"select distinct entity from {view} where entity like '%gpu:%'")["entity"].to_list() == [
            resolved
        ], view
    assert store.sql("select entity from entities where kind = 'gpu'")["entity"].to_list() == [resolved]
    assert store.incidents("xid")[0].entity == resolved
    assert store.info().kinds.filter(pl.col("kind") == "gpu")["unresolved"].to_list() == [0]
    assert store.at(1).sql("select entity from gpu")["entity"].to_list() == ["cluster/n1/gpu:3"]


def test_a_late_alias_for_a_time_renames_that_time_only(store, write, load):
    write("a", f"S {T0} n1 gpu 3 x 1.5", f"S {T0 + 1000} n1 gpu 3 x 2.5", f"S {T0 + 5000} n1 gpu 3 x 3.5")
    load()
    write("b", f"A n1 gpu 3 {A} {T0} {T0 + 10}", f"A n1 gpu 3 {B} {T0 + 4000} {T0 + 6000}")
    load()
    assert store.sql("select entity from gpu order by ts")["entity"].to_list() == [
        f"cluster/n1/gpu:{x}" for x in (A, "3", B)
    ]


def test_join_rates_say_how_many_hosts_two_sources_share(store, write, load):
    write(
        "a",
        f"S {T0} n1 gpu 0 x 1.5",
        f"S {T0} n2 gpu 0 x 1.5",
        f"E {T0} n1 - - xid 79 x",
        f"E {T0} n9 - - xid 79 x",
        f"J 7 {T0} - n1,n2,n3,n4 RUNNING",
    )
    load()
    rates = {(a, b): rate for a, b, rate in store.info().joins.select("from", "to", "rate").iter_rows()}
    assert rates["hosts with events", "hosts with samples"] == 0.5
    assert rates["hosts of jobs", "hosts with samples"] == 0.5


def test_a_mapping_names_the_cluster(store, write, load, tmp_path):
    mapping = tmp_path / "map.toml"
    mapping.write_text('[[file]]\nglob = "east*"\ncluster = "east"\n')
    write("east.txt", f"S {T0} n1 gpu 0 x 1.5")
    write("other.txt", f"S {T0} n1 gpu 0 x 2.5")
    load(mapping=mapping)
    assert store.sql("select entity from gpu order by entity")["entity"].to_list() == [
        "cluster/n1/gpu:0",
        "east/n1/gpu:0",
    ]


def mapping(tmp_path, text):
    file = tmp_path / "map.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_stated_name_of_a_host_joins_what_is_there_and_what_comes(store, write, load, tmp_path):
    """The BMC calls node07 by the chassis; jobs, events, links and samples must all be of one host."""
    write("a", f"S {T0} chassis-9 host - temp 30", f"E {T0} CHASSIS-9.mgmt gpu 3 xid 79 x", f"J 7 {T0} - chassis-9,n2 RUNNING",
          "L chassis-9 host - rack r1")  # fmt: skip
    write("b", f"S {T0} node07 host - load1 2.5", f"A node07 gpu 3 {A}")
    load()
    assert set(store.sql("select distinct entity from host")["entity"]) == {"cluster/chassis-9", "cluster/node07"}
    stated = mapping(tmp_path, '[[alias]]\nname = "Chassis-9"\nsame_as = "node07.dc1"\n')
    load(mapping=stated)  # the same files: only the statement is new
    node = "cluster/node07"
    assert store.sql("select distinct entity from host")["entity"].to_list() == [node]
    assert store.sql("select distinct entity from events")["entity"].to_list() == [f"{node}/gpu:{A}"]
    assert sorted(store.jobs()["entities"][0]) == ["cluster/n2", node]
    assert store.links().select("entity", "to_entity").rows() == [(node, "cluster/rack:r1")]
    assert store.entities().filter(pl.col("kind") == "host")["entity"].sort().to_list() == ["cluster/n2", node]
    write("c", f"S {T0 + 60} chassis-9.mgmt host - temp 31")
    load()
    assert store.sql("select count(*) as n, count(distinct entity) as e from host").row(0) == (3, 1)
    version = store.version
    load(mapping=stated)
    assert store.version == version


def test_a_statement_that_was_wrong_is_taken_back_by_the_next_one(store, write, load, tmp_path):
    write("a", f"S {T0} bmc-1 host - temp 30")
    for name in ("n7", "n8"):
        load(mapping=mapping(tmp_path, f'[[alias]]\nname = "bmc-1"\nsame_as = "{name}"\n'))
        assert store.sql("select entity from host")["entity"].to_list() == [f"cluster/{name}"]
    assert store.sql("from aliases where rule = 'stated'").height == 1


def test_stated_names_of_devices_hold_for_their_time_and_go_before_what_dumps_say(store, write, load, tmp_path):
    write("a", *(f"E {T0 + s} n1 gpu 0 xid 79 x" for s in (0, 500, 900)), f"A n1 gpu 0 {A}")
    names = tmp_path / "names.csv"
    names.write_text(
        f"kind,host,name,same_as,from,to\ngpu,n1,0,{A},,2026-03-01T00:05:00Z\ngpu,n1,0,{B},2026-03-01T00:10:00Z,\n"
    )
    load(mapping=mapping(tmp_path, '[[alias]]\nfile = "names.csv"\n'))
    assert [one.rpartition(":")[2] for one in store.events()["entity"]] == [A, "0", B]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[alias]]\nname = "a"\n', "line 1: alias 1: same_as: expected a text"),
        ('[[alias]]\nname = "3"\nsame_as = "GPU-1"\nkind = "gpu"\n', "say on which host"),
        ('[[alias]]\nnam = "a"\nsame_as = "b"\n', "did you mean name?"),
        ('[[alias]]\nname = "a"\nsame_as = "b"\nfrom = 2026-01-01T00:00:00Z\n', "holds for all times"),
        ('[[alias]]\nkind="nic"\nhost="n1"\nname = "a"\nsame_as = "b"\nfrom = "2026-01-01T00:00:00"\n', "has no zone"),
        ('[[alias]]\nfile = "none.csv"\n', "none.csv cannot be read"),
        ("alias = 3\n", "two brackets"),
    ],
)  # fmt: skip
def test_mistakes_of_stated_names_are_told(tmp_path, text, said):
    with pytest.raises(SpecificationError, match=said):
        load_mapping(mapping(tmp_path, text))


@pytest.mark.parametrize("name", ["mlx5_0", "ibp94s0", "0000:5e:00.0", "0x9c0591030011aa00", "9C0591030011AA00"])
def test_an_adapter_has_one_id_under_all_its_names(name):
    who, guid = identity(), "0x9c0591030011aa00"
    rows = aliases(("n1", "ibp94s0", "0000:5e:00.0", None, None), ("n1", "mlx5_0", "0000:5e:00.0", 0, 50),
                   ("n1", "mlx5_0", guid, None, None))  # fmt: skip
    who.learn(rows.with_columns(device_kind=pl.lit("nic")))
    assert who.resolve(("n1", "nic", name)).entity == f"cluster/n1/nic:{guid}"
    assert who.resolve(("n2", "nic", "mlx5_0")).entity == "cluster/n2/nic:mlx5_0"
    assert who.resolve((None, "nic", "mlx5_0")).entity == "cluster/nic:mlx5_0", "a name that every host has"
    assert who.resolve((None, "nic", guid)).entity == f"cluster/n1/nic:{guid}"


def test_a_port_and_a_slice_go_with_what_they_lie_in():
    who, guid = identity(), "0x9c0591030011aa00"
    who.learn(aliases(("n1", "mlx5_0", guid, None, None)).with_columns(device_kind=pl.lit("nic")))
    who.learn(aliases(("n1", "3", A, 0, 100), ("n1", "3", B, 300, 400)))
    assert who.resolve(("n1", "port", "mlx5_0/1")).entity == f"cluster/n1/port:{guid}:1"
    spans = who.resolve(("n1", "gpu_instance", "3:2")).spans
    assert [entity.rpartition("/")[2] for _, _, entity in spans] == [f"gpu_instance:{A}:2", f"gpu_instance:{B}:2"]
    assert who.resolve(("n1", "gpu_instance", f"{A}:2")).stable
    assert not who.resolve(("n1", "gpu_instance", "1:2")).stable


def test_numbers_of_switches_are_joined_by_address_only():
    who = identity()
    rows = aliases(("n1", "nvidia-nvswitch1", "0000:06:00.0", 0, 9)).with_columns(device_kind=pl.lit("nvswitch"))
    who.learn(rows)
    assert who.resolve(("n1", "nvswitch", "nvidia-nvswitch1")).entity == "cluster/n1/nvswitch:0000:06:00"
    found = who.resolve(("n1", "nvswitch", "1"))
    assert (found.entity, found.stable) == ("cluster/n1/nvswitch:1", False)


def test_an_undated_word_does_not_blot_out_what_was_seen_at_a_time():
    who = identity()
    who.learn(aliases(("n1", "0", A, None, None), ("n1", "0", A, 0, 100), ("n1", "0", B, 300, 400)))
    assert {entity for _, _, entity in who.resolve(("n1", "gpu", "0")).spans} == {
        f"cluster/n1/gpu:{A}", f"cluster/n1/gpu:{B}",
    }  # fmt: skip


def test_a_slash_in_the_name_of_a_host_does_not_make_it_another_host():
    identity = Identity()
    ids = [identity.resolve((name, "host", None)).entity for name in ("a/b", "a-b", "a:b", "A/b")]
    assert ids == ["cluster/a%2fb", "cluster/a-b", "cluster/a%3ab", "cluster/a%2fb"]
    assert parent_of(ids[0]) == "cluster"
    assert identity.host("a%2fb") == identity.host("a/b")
    assert [identity.resolve((name, "gpu", "0")).entity for name in ("a/b", "a-b")] == [
        f"{one}/gpu:0" for one in ids[:2]
    ]
