"""Dumps of schedulers, Kubernetes and training jobs: every key of the reference's ``expected.json`` is checked."""

import json
import re
from collections import Counter
from dataclasses import replace

import polars as pl
import pytest
from readings import read
from shared import shared_exists, shared_path

from workbench.model.context import Columns, Context
from workbench.readers.registry import recognise
from workbench.readers.source import open_source
from workbench.timebase import format_us, parse_time

FOLDERS = ("slurm_sacct", "slurm_nodes", "slurmctld_log", "k8s_events", "training_log")
STATED = Context(zone="UTC", year=2025, host="node-x", taken_at_us=parse_time("2025-11-02T04:00:00Z"))
READERS = {
    "sacct_json_v0.0.37.json": "slurm_json", "sinfo_json.json": "slurm_json", "squeue_fallback.txt": "slurm_json",
}  # fmt: skip


def cases():
    if not shared_exists("formats"):
        return [pytest.param("", "", {}, marks=pytest.mark.skip("reference data are not here; set WORKBENCH_SHARED"))]
    return [
        pytest.param(folder, file, expected, id=f"{folder}/{file}")
        for folder in FOLDERS
        for file, expected in json.loads(shared_path("formats", folder, "expected.json").read_text()).items()
    ]


@pytest.mark.parametrize(("folder", "file", "expected"), cases())
def test_every_stated_fact_is_read(folder, file, expected):
    path = shared_path("formats", folder, file)
    context = replace(STATED, columns=Columns(roles={"job": "=j1"})) if folder == "training_log" else STATED
    with open_source(path) as source:
        found = recognise(source.head(), context)
    assert found is not None
    assert found[0].name == READERS.get(file, folder), found[1].rule
    reading, text = read(found[0], path, context), path.read_text(errors="replace")
    for key, value in expected.items():
        CHECKS[key](reading, value, text, expected)


def _text(told):
    return lambda reading, value, text, expected: _same(told(text), value)


def _reading(told):
    return lambda reading, value, text, expected: _same(told(reading), value)


def _same(found, value):
    assert found == value


def _nonempty(reading, value, text, expected):
    assert sum(bool(line.strip()) for line in text.splitlines()) == value
    assert reading.records - reading.skips().get("blank", 0) in (value, expected.get("jobs"), expected.get("nodes"))


def _matching(reading, value, text, expected):
    for pattern, count in value.items():
        assert len(re.findall(pattern, text)) == count, pattern  # places, not lines: one line may hold several
    iterations = reading.frame("samples").filter(metric="iteration")
    steps = value.get(r"iteration\s+\d+/\s*\d+ \|", 0)
    assert iterations.height == steps
    timeouts = reading.frame("events").filter(kind="nccl.timeout")
    assert timeouts.height == value.get("Watchdog caught collective", 0)


def _jobs(reading, value, text, expected):
    jobs = {int(job) for job in reading.frame("jobs")["job"]}
    told = reading.frame("events").filter(device_kind="job")["device"].drop_nulls()
    if isinstance(value, list):
        assert jobs | {int(job) for job in told} == set(value)
    else:
        assert reading.count("jobs") == value


def _exact_first(reading, value, text, expected):
    job = reading.frame("jobs").sort("line", "job").row(0, named=True)
    assert (job["state"], job["nodes"]) == (value["state"]["current"], [value["nodes"]])
    assert job["start"].timestamp() == value["start"]
    assert value["state"]["reason"] in text  # the reason of a state is not kept


def _nodes(reading, value, text, expected):
    if isinstance(value, int):
        assert reading.frame("entities").filter(device_kind="host").height == value
    elif reading.count("jobs"):
        assert reading.frame("jobs").explode("nodes")["nodes"].unique().sort().to_list() == sorted(value)
    else:
        assert reading.frame("entities").filter(device_kind="host")["host"].to_list() == value


def _nodes_of_4411(reading, value, text, expected):
    assert reading.frame("jobs").filter(job="4411")["nodes"].to_list() == [value]


def _node_down(reading, value, text, expected):
    host, at, lost_s, first = re.fullmatch(r"(\S+) at (\S+); last contact lost (\d+) s before at (\S+)", value).groups()
    down = reading.frame("events").filter(kind="node", code="down").row(0, named=True)
    assert down["host"] == host
    assert format_us(parse_time(f"2025-11-02T{at}Z")) == down["ts"].isoformat().replace("+00:00", "Z").replace(
        "377000", "377"
    )
    assert (down["ts"] - down["ts_low"]).total_seconds() == float(lost_s)
    assert str(down["ts_low"])[11:23] == first


def _states(reading, value, text, expected):
    jobs = reading.frame("jobs")
    assert reading.skips().get("duplicate", 0) + jobs.height == sum(value.values())
    assert jobs["state"].drop_nulls().is_in(list(value)).all()


def _sacct_lines(reading, value, text, expected):
    assert len(text.splitlines()) == value
    skipped = reading.skips()
    assert reading.records == value
    assert skipped["header"] == 1


def _logical(reading, value, text, expected):
    """One of the four records is cut short where a whole one follows it: its lines are rejected."""
    steps = reading.skips().get("job step", 0)
    assert reading.rows + steps + (reading.rejects().height > 0) == value


def _first_time(reading, value, text, expected):
    events = reading.frame("events")
    assert _local(events["ts"].min()) == value.replace("T", " ").rstrip("Z")[:23]


def _last_time(reading, value, text, expected):
    assert (
        _local(reading.frame("events")["ts"].max())[: len(value.rstrip("Z"))]
        == value.replace("T", " ").rstrip("Z")[:23]
    )


def _local(moment):
    return str(moment).removesuffix("+00:00")[:23]


def _one_an_event(reading):
    """Events by what they say: of one with a count, the first and the last are told."""
    return reading.frame("events").unique(["device", "code", "message"], maintain_order=True)


def _reasons(reading, value, text, expected):
    assert dict(Counter(_one_an_event(reading)["code"])) == value


def _count_sum(reading, value, text, expected):
    counts = _one_an_event(reading)["attributes"].str.json_path_match("$.count").cast(pl.Int64)
    assert counts.sum() == value, "an event without a count is one; a series tells its own"


def _null_last(reading, value, text, expected):
    assert sum(item["lastTimestamp"] is None for item in json.loads(text)["items"]) == value
    assert reading.rejects().height == 0, "they have an eventTime, or a series"


def _conditions(reading, value, text, expected):
    assert reading.frame("events").height == value, "all three hold, or are not known to"


def _gpus(part):
    def check(reading, value, text, expected):
        told = reading.frame("entities").filter(host="node-a01")["attributes"][0]
        assert json.loads(told)[f"{part} nvidia.com/gpu"] == str(value)
        assert reading.frame("samples").filter(metric=f"gpu_{part}")["value_int"].to_list() == [value]

    return check


def _transition(reading, value, text, expected):
    name, status, since = re.fullmatch(r"(\S+) (\S+) since (\S+)", value).groups()
    assert reading.has("events", {"code": name, "ts": since, "attributes": {"status": status}})


def _iteration(place):
    def check(reading, value, text, expected):
        assert reading.frame("samples").filter(metric="iteration")["value_int"].to_list()[place] == value

    return check


def _missing_iterations(reading, value, text, expected):
    low, high = (int(number) for number in re.findall(r"\d+", value))
    steps = set(reading.frame("samples").filter(metric="iteration")["value_int"])
    assert not steps & set(range(low, high + 1))
    assert {low - 1, high + 1} <= steps


def _exact(reading, value, text, expected):
    metrics = {"elapsed_s": ("elapsed_time_per_iteration", "s"), "elapsed_ms": ("elapsed_time_per_iteration", "ms")}
    samples = reading.frame("samples")
    for number, facts in value.items():
        at = samples.filter(metric="iteration", value_int=int(number))["ts"][0]
        mine = samples.filter(ts=at)
        for name, wanted in facts.items():
            metric, unit = metrics.get(name, (name, None))
            row = mine.filter(metric=metric).row(0, named=True)
            assert (row["value"], row["unit"]) == (wanted, unit), name


def _unit(reading, value, text, expected):
    units = reading.frame("samples").filter(metric="elapsed_time_per_iteration")["unit"].unique().to_list()
    assert units == [value.split("(")[1].rstrip(")")]


def _hosts(reading, value, text, expected):
    told = reading.frame("entities").filter(device_kind="job")["attributes"][0]
    assert json.loads(told) == {"hosts": ",".join(value), "ranks": "16"}


def _metric(name):
    return _reading(lambda reading: reading.frame("samples").filter(metric=name)["value"].item())


def _reports(reading, value, text, expected):
    rows = reading.frame("events").filter(kind="nccl.timeout").sort("line")["attributes"].to_list()
    told = [json.loads(row) for row in rows]
    assert [[row["rank"], row["sequence"], row["ran_ms"]] for row in told] == value


def _hang(reading):
    return json.loads(reading.frame("events").filter(kind="nccl.hang")["attributes"].item())


def _behind(reading, value, text, expected):
    assert list(_hang(reading)["behind"]) == [str(value)]
    assert reading.has("events", {"kind": "nccl.suspect", "code": "behind", "attributes": {"rank": value}})


def _began(reading, value, text, expected):
    low = reading.frame("events").filter(kind="nccl.hang")["ts_low"].item()
    assert str(low)[11:19] == value.split(" ")[0]


def _ib(reading, value, text, expected):
    status, vendor, nic, host = re.fullmatch(r"status=(\d+) vendor err (\d+) on (\S+) of (\S+)", value).groups()
    wanted = {"kind": "nccl.ib", "code": status, "host": host, "device": nic, "attributes": {"vendor_err": int(vendor)}}
    assert reading.has("events", wanted)


def _trap(reading, value, text, expected):
    assert value == "68 identical step rows of one job: dedup on JobIDRaw+step"
    assert reading.count("jobs") == 1


CHECKS = {
    "bytes": _text(lambda text: len(text.encode())),
    "ends_with_newline": _text(lambda text: text.endswith("\n")),
    "valid_utf8": _text(lambda text: "\ufffd" not in text),
    "nonempty_lines": _nonempty,
    "lines_matching": _matching,
    "physical_lines": _sacct_lines,
    "physical_lines_without_header": _text(lambda text: len(text.splitlines()) - 1),
    "lines_with_full_column_count": lambda reading, value, text, expected: _same(
        sum(line.count(expected["delimiter"]) >= expected["header_columns"] - 1 for line in text.splitlines()[1:])
        + (expected["lines_with_full_column_count"] > len(text.splitlines()) - 1 - expected["lines_not_matching"]),
        value,
    ),
    "lines_not_matching": lambda reading, value, text, expected: _same(
        sum(line.count(expected["delimiter"]) < expected["header_columns"] - 1 for line in text.splitlines()[1:]), value
    ),
    "delimiter": lambda reading, value, text, expected: _same(value in text.splitlines()[0], True),
    "header_columns": lambda reading, value, text, expected: _same(
        len(text.splitlines()[0].removesuffix(expected["delimiter"]).split(expected["delimiter"])), value
    ),
    "logical_records": _logical,
    "states": _states,
    "distinct_job_ids": _reading(lambda reading: reading.frame("jobs")["job"].n_unique()),
    "first_start_local": _reading(lambda reading: str(reading.frame("jobs")["start"].min())[:19].replace(" ", "T")),
    "last_end_local": _reading(lambda reading: str(reading.frame("jobs")["end"].max())[:19].replace(" ", "T")),
    "trap": _trap,
    "errors": _reading(lambda reading: len([note for note in reading.notes if "Slurm tells of errors" in note])),
    "slurm_release": lambda reading, value, text, expected: _same(json.loads(text)["meta"]["Slurm"]["release"], value),
    "jobs": _jobs,
    "job_ids": _reading(lambda reading: [int(job) for job in reading.frame("jobs")["job"]]),
    "job_id": _reading(lambda reading: int(reading.frame("jobs")["job"].item())),
    "state": _reading(lambda reading: reading.frame("jobs")["state"].item()),
    "exact_first": _exact_first,
    "nodes": _nodes,
    "node_names": _nodes,
    "records": lambda reading, value, text, expected: _same(
        reading.records - reading.skips().get("header", 0), value
    ),
    "kind": lambda reading, value, text, expected: _same((value, reading.rejects().height), ("JSON lines", 2)),
    "first_time_local": _first_time,
    "last_time_local": _last_time,
    "first_line_head": _text(lambda text: text.splitlines()[0][:60]),
    "last_line_head": _text(lambda text: text.splitlines()[-1][:60]),
    "nodes_of_4411": _nodes_of_4411,
    "node_down": _node_down,
    "events": _reading(lambda reading: reading.rows),
    "first_time": _first_time,
    "last_time": _last_time,
    "null_lastTimestamp": _null_last,
    "reasons": _reasons,
    "count_sum": _count_sum,
    "warning": _reading(lambda reading: _one_an_event(reading).filter(severity="warning").height),
    "documents": _reading(lambda reading: reading.records),
    "conditions": _conditions,
    "gpu_capacity": _gpus("capacity"),
    "gpu_allocatable": _gpus("allocatable"),
    "transition": _transition,
    "iterations": _reading(lambda reading: reading.frame("samples").filter(metric="iteration").height),
    "first_iteration": _iteration(0),
    "last_iteration": _iteration(-1),
    "missing_iterations": _missing_iterations,
    "exact": _exact,
    "unit": _unit,
    "hosts": _hosts,
    "avg_busbw_gb_s": _metric("nccl_avg_busbw"),
    "out_of_bounds": _metric("nccl_out_of_bounds"),
    "watchdog_reports": _reports,
    "silent_ranks": _reading(lambda reading: _hang(reading)["silent"]),
    "behind_rank": _behind,
    "hang_began_local": _began,
    "ib_error": _ib,
}  # fmt: skip
