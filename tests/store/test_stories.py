"""Events told twice, in bursts, and after one another: planted, with the truth beside."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.store.stories import FOLLOWS, bursts, follows, told_once

T0 = 1_772_323_200  # 2026-03-01T00:00:00Z
GPU = "c/n{}/gpu:{}"
JOBS = pl.DataFrame(
    schema={
        "entity": pl.String,
        "entities": pl.List(pl.String),
        "start": pl.Datetime("us", "UTC"),
        "end": pl.Datetime("us", "UTC"),
    }
)


def table(*rows):
    """Rows are (seconds, entity, kind, code, and optionally message, source, attributes, blur in seconds)."""
    told = []
    for line, (second, entity, kind, code, *more) in enumerate(rows, start=1):
        message, source, attributes, blur = (*more, *("m", "f", "{}", 0.0)[len(more) :])
        us = round(second * 1e6)
        told.append((us, us, us + round(blur * 1e6), entity, kind, code, "err", message, attributes, line, source))
    frame = pl.DataFrame(
        told,
        schema=[
            "ts",
            "ts_low",
            "ts_high",
            "entity",
            "kind",
            "code",
            "severity",
            "message",
            "attributes",
            "line",
            "source",
        ],
        schema_overrides={"code": pl.String},
        orient="row",
    )
    return frame.with_columns(pl.col("ts", "ts_low", "ts_high").cast(pl.Datetime("us")).dt.replace_time_zone("UTC"))


def jobs(*runs):
    rows = [{"entity": job, "entities": list(hosts), "start": 0, "end": 10**9} for job, *hosts in runs]
    flat = pl.DataFrame(
        rows, schema={"entity": pl.String, "entities": pl.List(pl.String), "start": pl.Int64, "end": pl.Int64}
    )
    return flat.with_columns(pl.col("start", "end").cast(pl.Datetime("us")).dt.replace_time_zone("UTC"))


def said(events, runs=JOBS, **stated):
    rows = follows(events, runs, **stated)
    assert rows.schema == FOLLOWS
    return [
        (code, after, entity[-1], round(lag, 3))
        for code, after, entity, lag in rows.select("code", "after_code", "after_entity", "lag_s").iter_rows()
    ]


def test_clean_up_on_the_device_and_on_peers_follows_the_failure():
    a, b, c = GPU.format(1, 0), GPU.format(1, 1), GPU.format(2, 0)
    events = table(
        (100.0, a, "xid", "79"), (100.1, a, "xid", "154"), (100.2, b, "xid", "45"), (101.0, c, "xid", "45"),
        (101.5, c, "xid", "13"), (200.0, b, "xid", "45"),
    )  # fmt: skip
    runs = jobs(("c/job:7", "c/n1", "c/n2"))
    assert said(events, runs) == [
        ("154", "79", "0", 0.1),
        ("45", "79", "0", 0.2),
        ("45", "79", "0", 1.0),
        ("13", "79", "0", 1.5),
    ]
    rules = follows(events, runs)["rule"].to_list()
    assert rules == [
        "xid 154 follows xid:79 on the same device",
        "xid 45 follows xid:79 on a peer of the same host",
        "xid 45 follows xid:79 on a peer of the same job",
        "xid 13 of a program after a failure (xid:79) on a peer of the same job",
    ]


def test_devices_of_no_common_job_do_not_follow_one_another():
    a, c = GPU.format(1, 0), GPU.format(2, 0)
    events = table((100.0, a, "xid", "79"), (100.5, c, "xid", "45"))
    assert said(events) == []
    assert said(events, jobs(("c/job:7", "c/n1"), ("c/job:8", "c/n2"))) == []


def test_a_failure_of_a_program_is_its_own_where_no_gpu_failed():
    a, b = GPU.format(1, 0), GPU.format(1, 1)
    assert said(table((1.0, a, "xid", "13"), (1.1, b, "xid", "13"))) == []
    assert said(table((1.0, a, "xid", "13"), (1.1, a, "xid", "43"))) == [("43", "13", "0", 0.1)]


def test_what_names_its_cause_is_believed_for_a_minute():
    a, b = GPU.format(1, 0), GPU.format(1, 1)
    caused = '{"caused_by":149,"pid":7}'
    events = table(
        (0.0, b, "xid", "149"), (30.0, a, "xid", "45", "m", "f", caused), (95.0, a, "xid", "45", "m", "f", caused)
    )
    assert said(events) == [("45", "149", "1", 30.0)]
    assert follows(events, JOBS)["rule"].to_list() == ["names its cause: caused by previous Xid"]


def test_the_span_is_what_was_asked_for():
    a = GPU.format(1, 0)
    events = table((0.0, a, "xid", "48"), (5.0, a, "xid", "63"), (5.1, a, "xid", "94"))
    assert said(events) == [("63", "48", "0", 5.0)]
    assert said(events, within_s=6.0) == [("63", "48", "0", 5.0), ("94", "48", "0", 5.1)]
    with pytest.raises(ValueError, match="within_s"):
        follows(events, JOBS, within_s=float("nan"))


def test_an_empty_store_tells_nothing():
    none = table((0.0, "a", "xid", "1")).clear()
    assert follows(none, JOBS).height == bursts(none, gap_s=1).height == told_once(none).height == 0


@given(
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from("ab"), st.sampled_from(["13", None])), max_size=30),
    st.integers(0, 5),
)
@settings(max_examples=40, deadline=None)
def test_bursts_are_what_a_loop_finds(rows, gap):
    events = table(*((float(second), entity, "xid", code) for second, entity, code in rows))
    found = {}
    for second, entity, code in sorted(rows, key=lambda row: row[0]):
        runs = found.setdefault((entity, code), [])
        if runs and second - runs[-1][-1] <= gap:
            runs[-1].append(second)
        else:
            runs.append([second])
    expected = sorted(
        (run[0], run[-1], len(run), entity, code or "") for (entity, code), runs in found.items() for run in runs
    )
    told = bursts(events, gap_s=gap)
    seconds = [told[name].dt.timestamp("us") // 10**6 for name in ("ts", "last")]
    assert sorted(zip(*seconds, told["count"], told["entity"], told["code"].fill_null(""), strict=True)) == expected


def test_one_event_in_three_logs_is_one_with_its_sources():
    a = GPU.format(1, 0)
    events = table(
        (100.25, a, "xid", "79", "gone", "kernel"), (100.26, a, "xid", "79", "gone", "journal"),
        (101.0, a, "xid", "79", "gone", "syslog", "{}", 0.999999), (300.0, a, "xid", "79", "gone", "syslog"),
        (100.25, a, "xid", "79", "other words", "app"), (7.0, a, "xid", "31", "x", "kernel"), (7.5, a, "xid", "31", "x", "kernel"),
    )  # fmt: skip
    told = told_once(events)
    seen = [(round(ts.timestamp(), 2), sources) for ts, sources in told.select("ts", "sources").iter_rows()]
    assert seen == [
        (7.0, ["kernel"]), (7.5, ["kernel"]), (100.25, ["journal", "kernel", "syslog"]), (100.25, ["app"]), (300.0, ["syslog"]),
    ]  # fmt: skip


def test_what_a_log_repeats_is_paired_one_by_one():
    a = GPU.format(1, 0)
    events = table(
        *((100.0 + n / 2, a, "xid", "31", "x", source) for n in range(3) for source in ("kernel", "journal"))
    )
    assert told_once(events)["sources"].to_list() == [["journal", "kernel"]] * 3


def test_an_error_of_a_switch_in_two_wordings_is_one():
    switch = "c/n1/nvswitch:0000:86:00"
    events = table((10.0, switch, "sxid", "12028", "kernel's", "k"), (10.0, switch, "sxid", "12028", "manager's", "m"))
    assert told_once(events)["sources"].to_list() == [["k", "m"]]


def test_kinds_tell_rates_meaning_and_noise(store, write, load):

    lines = [f"E {T0 + n * 3600} n1 gpu {n % 2} xid 79 gone" for n in range(49)]  # two days of two devices
    lines += [f"E {T0 + n} n1 nic mlx link init up" for n in range(3)] + [f"E {T0} n1 - - log - a"]
    write("day", *lines)
    load()
    kinds = store.event_kinds()
    xid = kinds.filter(kind="xid").row(0, named=True)
    assert (xid["count"], xid["noise"], xid["name"], xid["role"]) == (49, 0, "GPU fell off the bus", "root")
    assert xid["per_1000_entity_days"] == pytest.approx(49 * 1000 / (2 * 2))
    assert kinds.filter(kind="link").select("count", "noise", "name").rows() == [(3, 3, None)]
    (store.path / "noise.toml").write_text(
        '[[noise]]\nkind = "link"\nnoise = false\n[[noise]]\nkind = "xid"\ncodes = [79]\n'
    )
    own = store.event_kinds()
    assert own.filter(pl.col("noise") > 0).select("kind", "noise").rows() == [("xid", 49)]
    assert own["count"].sum() == kinds["count"].sum() == 53, "nothing is dropped"
