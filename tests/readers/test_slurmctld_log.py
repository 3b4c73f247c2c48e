"""Traps of the logs of Slurm's daemons: what began before it was told, who is quoted, hostile lists, the repeated hour."""

from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.slurmctld_log import READER

UTC = Context(zone="UTC")


def told(text, tmp_path, context=UTC, **more):
    return read_bytes(READER, text.encode(), context, tmp_path, **more)


def test_a_node_that_answers_again_was_not_silent_since_long_ago(tmp_path):
    text = (
        "[2025-11-02T01:00:00.000] error: Nodes n1 not responding\n"
        "[2025-11-02T01:01:00.000] Node n1 now responding\n"
        "[2025-11-02T03:00:00.000] error: Nodes n1 not responding\n"
        "[2025-11-02T03:05:00.000] error: Nodes n1 not responding\n"
        "[2025-11-02T03:10:00.000] error: Nodes n1 not responding, setting DOWN\n"
    )
    down = told(text, tmp_path).frame("events").filter(code="down").row(0, named=True)
    assert (down["ts"] - down["ts_low"]).total_seconds() == 600


def test_the_hour_that_autumn_repeats_is_told_apart_by_file_order(tmp_path):
    text = (
        "[2025-10-26T02:50:00.000] error: Nodes n1 not responding\n"
        "[2025-10-26T02:10:00.000] error: Nodes n1 not responding, setting DOWN\n"
        "[2025-10-26T03:10:00.000] Node n1 now responding\n"
    )
    for block_bytes in (60, 10**6):
        events = told(text, tmp_path, Context(zone="Europe/Berlin"), block_bytes=block_bytes).frame("events")
        assert [str(moment)[11:19] for moment in events["ts"]] == ["00:50:00", "01:10:00", "02:10:00"]


def test_a_node_list_that_is_a_bomb_stays_one_name(tmp_path):
    text = "[2025-11-02T03:00:00.000] error: Nodes n[0-99999999] not responding\n" * 3
    events = told(text, tmp_path).frame("events")
    assert events["host"].to_list() == ["n[0-99999999]"] * 3


def test_a_reason_is_that_of_its_own_node_and_ends_with_its_return(tmp_path):
    stamp = "[2025-11-02T03:00:00.000] update_node: node"
    text = (
        f"{stamp} n1 reason set to: a\n{stamp} n2 state set to DRAINED\n{stamp} n1 state set to DOWN\n"
        f"{stamp} n1 state set to IDLE\n{stamp} n1 state set to DRAINING\n"
    )
    events = told(text, tmp_path).frame("events").filter(host="n1")
    reasons = events["attributes"].str.json_path_match("$.reason").to_list()
    assert list(zip(events["kind"], reasons, strict=True)) == [
        ("node", "a"), ("node", "a"), ("resume", None), ("drain", None),
    ]  # fmt: skip
    assert told(text, tmp_path).frame("events").filter(host="n2")["attributes"].to_list() == ['{"state":"DRAINED"}']


def test_a_script_that_exits_tells_how_the_job_ended(tmp_path):
    lines = [
        "sched: Allocate JobId=7 NodeList=n1 #CPUs=1 Partition=p", "_job_complete: JobId=7 WEXITSTATUS 3", "_job_complete: JobId=7 done",
        "sched: Allocate JobId=8 NodeList=n1 #CPUs=1 Partition=p", "_job_complete: JobId=8 WEXITSTATUS 0", "_job_complete: JobId=8 done",
        "sched: Allocate JobId=9 NodeList=n1 #CPUs=1 Partition=p", "_job_complete: JobId=9 WEXITSTATUS 0",
    ]  # fmt: skip
    text = "".join(f"[2025-11-02T03:00:{second:02}.500] {line}\n" for second, line in enumerate(lines))
    jobs = told(text, tmp_path).frame("jobs").sort("job")
    assert jobs["state"].to_list() == ["FAILED", "COMPLETED", None]
    assert jobs["end"].is_null().to_list() == [False, False, True]
    assert jobs["start"].dt.microsecond().to_list() == [0, 0, 0]
