"""SQL on a store: it only reads, only this store, in UTC, and reads no more than a query needs."""

import os
import subprocess
import sys
from datetime import UTC, datetime

import polars as pl
import pytest
from toyreader import TOY

import workbench as wb
from workbench.errors import StoreError, UsageError
from workbench.store.asked import asked_of

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z


@pytest.fixture(scope="module")
def filled(make_store):
    """Two GPUs and a host, twenty metrics, some of them long."""
    lines = []
    for n in range(4):
        lines += [f"S {T0 + 60 * n} n1 gpu {g} m{m:02d} {n + m}.5" for g in range(2) for m in range(15)]
        lines += [f"S {T0 + 60 * n} n1 gpu 0 c{m}_total {2**53 + n + m}" for m in range(2)]
        lines += [f'S {T0 + 60 * n} n1 host - cpu_total {n} {{"cpu":"1"}}', f"S {T0 + 60 * n} n1 host - load {n}.25"]
    return make_store(*lines, f"E {T0} n1 - - xid 79 x")


@pytest.mark.parametrize(
    "query",
    [
        "drop table events", "create table t(a int)", "insert into events values (1)", "delete from gpu", "update gpu set m00 = 1",
        "copy gpu to '/tmp/x.csv'", "attach '/tmp/x.db'", "install httpfs", "load httpfs", "set threads = 1", "pragma database_list",
        "call pragma_version()", "export database '/tmp/x'", "select 1; select 2", "", "  ", "begin", "checkpoint", "vacuum",
        "explain analyze create table t(a int)", "explain copy gpu to '/tmp/x'", "/* c */ explain analyze drop table gpu", "prepare p as select 1",
    ],
)  # fmt: skip
def test_only_one_query_that_reads_is_answered(filled, query):
    with pytest.raises(UsageError):
        filled.sql(query)


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_text('/etc/passwd')", "select * from read_csv('/etc/passwd')", "select * from glob('/etc/*')",
        "select * from '/etc/passwd'", "select * from read_parquet('http://127.0.0.1/x.parquet')", "select * from secret",
    ],
)  # fmt: skip
def test_nothing_outside_the_store_is_within_reach(filled, query):
    secret = pl.DataFrame({"a": [1]})  # a Python variable is no table
    with pytest.raises((UsageError, StoreError)):
        filled.sql(query)
    del secret


@pytest.mark.parametrize(
    "query",
    [
        "with a as (select 1 as b) from a",
        "describe gpu",
        "show tables",
        "summarize host",
        "explain select 1",
        "values (1)",
        "-- c\nselect 1",
    ],
)
def test_every_way_to_read_works(filled, query):
    assert filled.sql(query).height > 0


def test_a_wrong_name_brings_the_near_ones(filled):
    with pytest.raises(UsageError, match="m00"):
        filled.sql("select m0 from gpu")
    with pytest.raises(UsageError, match="samples, "):
        filled.sql("from nothing_there")


def test_parameters_are_bound_not_pasted(filled):
    assert filled.sql("select count(*) as n from gpu where entity = ?", ["cluster/n1/gpu:0' or true --"])["n"][0] == 0
    assert filled.sql("select count(*) as n from gpu where entity = $who", {"who": "cluster/n1/gpu:0"})["n"][0] == 4


QUERIES = [
    "select * from samples where metric = 'm03'",
    "select * from samples s where s.metric in ('m01', 'c0_total') and value > 3",
    "select * from samples where metric = ?",
    "with a as (select * from samples where metric = 'cpu_total') select * from a",
    "select s.* from samples s join entities e on e.entity = s.entity where s.metric = 'load' and e.kind = 'host'",
    "select * from samples where metric = 'm01' or metric = 'm02'",
    "select * from samples where metric <> 'm01'",
    "select * from samples where metric like 'c%'",
    "select * from samples where metric = 'm01' union all select * from samples where metric = 'load'",
    "select * from samples where metric = 'm01' and metric = 'm02'",
    "select * from samples where entity in (select entity from samples where metric = 'load')",
    "select * from samples where metric = 'not there'",
]


@pytest.mark.parametrize("query", QUERIES)
def test_pruning_never_changes_an_answer(filled, query):
    parameters = ["m07"] if "?" in query else None
    whole = filled.frame("select * from samples")
    filled.entities()  # its view is made when it is first named
    table = filled._engine.cursor()
    table.register("everything", whole.to_arrow())
    expected = pl.from_arrow(table.sql(query.replace("samples", "everything"), params=parameters).to_arrow_table())
    found = filled.sql(query, parameters)
    assert found.sort(found.columns).equals(expected.sort(expected.columns))


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        (QUERIES[0], {"m03"}), (QUERIES[1], {"c0_total", "m01"}), (QUERIES[2], {"m07"}), (QUERIES[4], {"load"}), (QUERIES[5], None),
        (QUERIES[6], None), (QUERIES[7], None), (QUERIES[8], {"load", "m01"}), (QUERIES[9], set()), (QUERIES[10], None),
        ("select * from samples_of(['a', 'b']) where metric in ('b', 'c')", {"b"}),
        ("select * from samples s join series r on s.entity = r.entity where metric = 'm01'", None),
        ("select * from events anti join samples on true where metric = 'm01'", None),
    ],
)  # fmt: skip
def test_what_a_query_asks_of_samples(filled, query, asked):
    assert asked_of(filled._engine.cursor(), query, ["m07"]).metrics == asked


DAY = 86_400_000_000
START = 1_772_323_200_000_000


@pytest.mark.parametrize(
    ("where", "span"),
    [
        ("ts >= '2026-03-01' and ts < '2026-03-02'", (START, START + DAY)), ("ts = '2026-03-01 00:00:00+01:00'", (START - DAY // 24, START - DAY // 24)),
        ("ts between '2026-03-01' and timestamptz '2026-03-02T00:00:00Z'", (START, START + DAY)), ("'2026-03-01' <= ts", (START, None)),
        ("ts > ? and ts > '2026-02-01'", (START + DAY, None)), ("ts > '2026-03-01' or true", (None, None)), ("not ts > '2026-03-01'", (None, None)),
        ("ts > now()", (None, None)), ("gpu.ts > '2026-03-01'", (START, None)), ("other.ts > '2026-03-01'", (None, None)),
    ],
)  # fmt: skip
def test_what_a_query_asks_of_time(filled, where, span):
    moment = datetime(2026, 3, 2, tzinfo=UTC)
    assert asked_of(filled._engine.cursor(), f"select * from gpu where {where}", [moment]).spans["gpu"] == span


def test_two_mentions_of_a_view_ask_for_both_times(filled):
    query = "select * from gpu where ts < '2026-03-01' union all select * from gpu where ts > '2026-03-02' and ts < '2026-03-03'"
    assert asked_of(filled._engine.cursor(), query, None).spans["gpu"] == (None, START + 2 * DAY)


def test_pruning_by_time_never_changes_an_answer(store, write, load):
    for day in range(10):
        write(f"d{day}", *[f"S {T0 + 86400 * day + 3600 * hour} n1 gpu 0 x {day}.{hour}" for hour in range(0, 24, 6)])
        load()
    day = "'2026-03-04'"
    assert store.sql(f"select count(*) as n from gpu where ts < {day}")["n"][0] == 12
    assert store.sql(f"select count(*) as n from samples where metric = 'x' and ts >= {day}")["n"][0] == 28
    assert store.sql(f"select count(*) as n from gpu a, gpu b where a.ts = b.ts and a.ts < {day}")["n"][0] == 12
    assert (
        store.sql(f"select count(*) as n from events e right join gpu g on g.ts = e.ts where g.ts < {day}")["n"][0]
        == 12
    )


def test_samples_has_the_columns_promised(filled):
    assert filled.sql("select * from samples where metric = 'c0_total'").schema == {
        "ts": pl.Datetime("us", "UTC"), "entity": pl.String, "metric": pl.String, "value": pl.Float64, "value_int": pl.Int64,
        "labels": pl.String, "unit": pl.String, "kind": pl.String, "source": pl.String,
    }  # fmt: skip


def test_samples_of_reads_the_metrics_named(filled):
    found = filled.sql(
        "select metric, count(*) as n from samples_of(['m01', 'c0_total', 'cpu_total', 'none']) group by all order by all"
    )
    assert found.rows() == [("c0_total", 4), ("cpu_total", 4), ("m01", 8)]


def test_times_are_utc_in_every_zone_of_the_machine(filled):
    code = (
        "import sys, workbench as wb; s = wb.open(sys.argv[1]);"
        "f = s.sql(\"select distinct ts, ts::date as d, date_trunc('day', ts) as t from gpu where ts = '2026-03-01 00:01:00'\");"
        "print(f.height, f.schema['ts'], f['d'][0], f['t'][0].isoformat())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(filled.path)],
        env={**os.environ, "TZ": "America/New_York"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (
        run.stdout.split("\n")[0] == "1 Datetime(time_unit='us', time_zone='UTC') 2026-03-01 2026-03-01T00:00:00+00:00"
    )


def test_an_empty_store_answers(tmp_path):
    store = wb.open(tmp_path / "s")
    assert store.sql("select count(*) as n from samples")["n"][0] == 0
    for view in ("events", "jobs", "entities", "links", "aliases", "observed", "files", "rejects", "series", "metrics"):
        assert store.sql(f"select * from {view}").height == 0
    assert store.catalog().height == store.event_kinds().height == store.jobs().height == store.observed().height == 0
    assert store.info().table().height > 0
    assert "<table>" in store._repr_html_()


def test_versions_stay_as_they_were(store, write, load):
    write("a", f"S {T0} n1 gpu 0 x 1.5")
    load()
    write("b", f"S {T0} n1 gpu 0 y 2.5", f"S {T0} n2 gpu 0 x 2.5")
    load()
    old = store.at("1")
    assert store.version == "2"
    assert old.version == "1"
    assert store.catalog()["metric"].to_list() == ["x", "y"]
    assert old.catalog()["metric"].to_list() == ["x"]
    assert old.sql("select * from gpu").height == 1
    with pytest.raises(StoreError, match="no version 9"):
        store.at(9)


def test_a_store_keeps_its_version_while_another_loads(store, write, load):
    other = wb.open(store.path)
    write("a", f"S {T0} n1 gpu 0 x 1.5")
    load()
    assert other.catalog().height == 0
    other.refresh()
    assert other.catalog().height == 1


def test_the_ledger_grows_and_is_not_part_of_a_version(store, write, load):
    write("a", f"S {T0} n1 gpu 0 x 1.5")
    load()
    version = store.version
    store.append_ledger(pl.DataFrame({"id": ["L1"], "at": [datetime(2026, 1, 1, tzinfo=UTC)], "tags": [["a", "b"]]}))
    store.append_ledger(pl.DataFrame({"id": ["L2"], "p": [0.5]}))
    assert store.version == version
    assert store.ledger_rows().select("id", "p").rows() == [("L1", None), ("L2", 0.5)]
    assert store.sql("select count(*) as n from ledger")["n"][0] == 2
    with pytest.raises(StoreError, match="does not fit"):
        store.append_ledger(pl.DataFrame({"id": [7]}))
    assert store.ledger_rows().height == 2


def test_any_delta_reader_reads_the_tables(filled):
    frame = pl.read_delta(str(filled.path / "tables" / "gpu"))
    assert frame.height == 8
    assert frame["c0_total"].dtype == pl.Int64
    assert frame["c0_total"].drop_nulls().sort().to_list() == [2**53 + n for n in range(4)]


@pytest.mark.parametrize("what", ["file", "other folder", "newer", "damaged", "missing"])
def test_what_is_no_store_is_refused_with_advice(tmp_path, what):
    path = tmp_path / "s"
    if what == "file":
        path.write_text("x")
    elif what == "other folder":
        path.mkdir()
        (path / "x").write_text("x")
    elif what in ("newer", "damaged"):
        wb.open(path)
        (path / "workbench.json").write_text(
            '{"format": 99, "written_by": "workbench 9.0"}' if what == "newer" else "{"
        )
    with pytest.raises(StoreError) as caught:
        wb.open(path, create=what != "missing")
    assert {
        "file": "is a file",
        "other folder": "not a store",
        "newer": "workbench 9.0",
        "damaged": "Restore",
        "missing": "ingest PATH",
    }[what] in str(caught.value)


def test_a_missing_file_of_the_store_is_a_store_error(store, write, load):
    write("a", f"S {T0} n1 gpu 0 x 1.5")
    load()
    next((store.path / "tables" / "gpu").rglob("*.parquet")).unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        wb.open(store.path).sql("select * from gpu")


def test_a_metric_that_lies_wide_and_long_is_told_of_once(store, write, load):
    write(
        "a", f"S {T0} n1 gpu 0 x 1.5", f'S {T0} n1 gpu 0 x 2.5 {{"lane":"1"}}', f'S {T0} n1 gpu 1 x 2.5 {{"lane":"1"}}'
    )
    load()
    facts = store.catalog().select("metric", "table", "column", "labels", "series", "rows")
    assert facts.rows() == [("x", "gpu", "x", True, 3, 3)]
    assert store.sql("select count(*) as n from samples where metric = 'x'")["n"][0] == 3


@pytest.mark.parametrize("name", ["it's", 'a "b"', "run[1]", "100%", "a*b?", "{a,b}", "größe 7"])
def test_a_store_may_lie_under_any_name(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "dump").write_text(f"toy\nS {T0} n1 gpu 0 x 1.5\nE {T0} n1 - - log - x\n")
    wb.open(folder / "store").ingest(folder / "dump", readers=[TOY])
    store = wb.open(folder / "store")
    assert store.sql("select x from gpu")["x"].to_list() == [1.5]
    assert store.events().height == 1
    assert store.compact().is_empty()
    with pytest.raises((UsageError, StoreError)):
        store.sql("select * from read_text('/etc/passwd')")


def test_a_path_that_delta_would_misread_is_refused(tmp_path):
    with pytest.raises(StoreError, match="Choose another folder"):
        wb.open(tmp_path / "a%20b")
