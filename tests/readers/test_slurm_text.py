"""Traps of Slurm's text and JSON: spellings of numbers and states, limits that look like ends, free text."""

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers import slurm_json, slurm_nodes
from workbench.readers.scontrol_fields import fields_of
from workbench.readers.slurm_fields import flags_of, number_of

UTC = Context(zone="UTC")
META = '{"meta": {"Slurm": {"release": "24.05"}}, "errors": [], '


def of_json(text, tmp_path, context=UTC):
    return read_bytes(slurm_json.READER, (META + text + "}").encode(), context, tmp_path)


def of_text(text, tmp_path, context=UTC):
    return read_bytes(slurm_nodes.READER, text.encode(), context, tmp_path)


@pytest.mark.parametrize("start", ["1762053239", '{"set": true, "infinite": false, "number": 1762053239}'])
@pytest.mark.parametrize(
    "state", ['"FAILED"', '["FAILED"]', '{"current": "FAILED"}', '{"current": ["FAILED"], "reason": ""}']
)
def test_every_version_of_the_data_parser_gives_the_same_job(start, state, tmp_path):
    told = of_json(
        f'"jobs": [{{"job_id": 7, "state": {state}, "time": {{"start": {start}, "end": 1762053371}}}}]', tmp_path
    )
    (job,) = told.frame("jobs").to_dicts()
    assert (job["job"], job["state"], str(job["start"]), job["end"] is None) == (
        "7",
        "FAILED",
        "2025-11-02 03:13:59+00:00",
        False,
    )
    assert told.frame("events")["code"].to_list() == ["FAILED"]


def test_an_end_of_zero_and_the_limit_of_a_running_job_are_no_ends(tmp_path):
    jobs = (
        '{"job_id": 1, "state": "RUNNING", "time": {"start": 1762053239, "end": 0}},'
        '{"job_id": 2, "job_state": ["RUNNING"], "start_time": 1762053239, "end_time": {"set": true, "number": 1962053239}},'
        '{"job_id": 3, "job_state": "PENDING", "start_time": 1762153239, "end_time": 1962053239}'
    )
    told = of_json(f'"jobs": [{jobs}]', tmp_path).frame("jobs").sort("job")
    assert told["end"].null_count() == 3
    assert told["start"].is_null().to_list() == [False, False, True]


@pytest.mark.parametrize(
    ("status", "written"),
    [
        ("0", "0:0"),
        ("256", "1:0"),
        ("9", "0:9"),
        ('{"return_code": 2}', "2:0"),
        ('{"return_code": {"set": false}}', None),
        ("-1", None),
    ],
)
def test_exit_codes_are_written_as_sacct_does(status, written, tmp_path):
    told = of_json(f'"jobs": [{{"job_id": 1, "exit_code": {status}}}]', tmp_path)
    assert told.frame("jobs")["exit"].to_list() == [written]


@pytest.mark.parametrize(
    "number", ["1e999", "-1e999", "NaN", "true", '"x"', "[]", "1.5", '{"number": {"number": 1}}', "9" * 400]
)
def test_numbers_that_are_none_give_neither_times_nor_jobs(number, tmp_path):
    told = of_json(f'"jobs": [{{"job_id": {number}, "start_time": {number}, "end_time": {number}}}]', tmp_path)
    assert told.count("jobs") == 0
    nodes = f'"nodes": [{{"name": "n1", "state": "DOWN", "reason": "x", "reason_changed_at": {number}, "boot_time": {number}}}]'
    told = of_json(nodes, tmp_path)
    assert (told.rows, told.count("events")) == (1, 0)
    assert any("since when" in note for note in told.notes)


def test_sinfo_of_new_versions_lists_nodes_inside_of_rows(tmp_path):
    row = (
        '{"node": {"state": ["DOWN", "NOT_RESPONDING"]}, "nodes": {"nodes": ["n1", "n2"]}, "reason": {"description": "psu",'
        ' "time": {"set": true, "infinite": false, "number": 1762053600}, "user": "root"}}'
    )
    told = of_json(f'"sinfo": [{row}]', tmp_path)
    assert told.frame("events")["host"].to_list() == ["n1", "n2"]
    assert told.has("events", {"kind": "node", "code": "down", "attributes": {"reason": "psu", "by": "root"}})


def test_states_in_all_spellings():
    assert flags_of("IDLE+DRAIN") == flags_of(["IDLE", "DRAIN"]) == flags_of({"current": ["IDLE", "DRAIN"]})
    assert flags_of("drng@") == flags_of("drained") == ("DRAIN",)
    assert flags_of([1, None, "\ud800"])[0].startswith("\\UD800")
    assert number_of({"set": True, "infinite": False, "number": float("inf")}) is None


def test_free_text_cannot_pose_as_fields():
    fields = fields_of("JobId=1 JobName=x JobState=COMPLETED EndTime=2025-01-01T00:00:00 UserId=a(1) JobState=FAILED")
    assert (fields["JobState"], "EndTime" in fields) == ("FAILED", False)
    assert "State" not in fields_of("   Comment=State=DOWN Reason=x")
    assert fields_of("   Reason=a [b] c [root@2025-11-02T03:20:00]")["Reason"] == "a [b] c"


def test_local_times_wait_for_a_zone(tmp_path):
    text = "NodeName=n1 State=DOWN\n   Reason=x [root@2025-11-02T03:20:00]\n"
    told = of_text(text, tmp_path, Context())
    assert told.rejects()["curable"].to_list() == ["clock"]
    assert of_text(text, tmp_path).count("events") == 1


def test_a_node_listed_for_each_partition_is_told_once(tmp_path):
    text = "HOSTNAMES|STATE|TIMESTAMP|REASON|PARTITION\n" + "".join(
        f"n1|drain|2025-11-02T03:20:00|psu|{p}\n" for p in "abc"
    )
    told = of_text(text, tmp_path)
    assert (told.rows, told.count("events")) == (3, 1)


def test_node_lists_that_would_fill_memory_are_refused(tmp_path):
    text = (
        "REASON               USER      TIMESTAMP           NODELIST\n"
        + "x root 2025-11-02T03:20:00 n[0-999999999]\n" * 3
    )
    told = of_text(text, tmp_path)
    assert told.rejects().height == 3
