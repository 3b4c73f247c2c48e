"""Traps of training logs: units by fork, progress bars, prefixes, stamps without year and zone, who is silent."""

import pytest
from readings import read_bytes

from workbench.model.context import Columns, Context
from workbench.readers.training_log import READER
from workbench.readers.training_steps import step_of

UTC = Context(zone="UTC", year=2025)
WATCHDOG = (
    "[rank{rank}]:[E1102 {at} ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn=3, NumelOut=3, Timeout(ms)=600000) ran for {ran} milliseconds before timing out.\n"
)


def told(text, tmp_path, context=UTC, **more):
    return read_bytes(READER, text.encode(), context, tmp_path, **more)


def watchdogs(*ranks, at="04:14:01.500000", ran=600_000):
    return "".join(WATCHDOG.format(rank=rank, at=at, seq=seq, ran=ran) for rank, seq in ranks)


def suspects(found):
    events = found.frame("events").filter(kind="nccl.suspect")
    return sorted(zip(events["attributes"].str.json_path_match("$.rank").cast(int), events["code"], strict=True))


@pytest.mark.parametrize(("unit", "cell"), [("ms", "1500.0"), ("s", "1.5"), ("(s)", None)])
def test_step_times_carry_the_unit_of_their_fork(unit, cell, tmp_path):
    step = step_of(f"iteration 1/ 2 | elapsed time per iteration ({unit}): {cell} | lm loss: 2 |")
    assert step.numbers.get("elapsed_time_per_iteration") == ((cell, unit) if cell else None)


@pytest.mark.parametrize(
    "prefix",
    ["", "[default7]:", "vm-07-05: ", "[80746] ", "12: ", "vm-07-05: [default7]: ", "10%|# | 1/9 [00:10<01:30]\r"],
)
def test_prefixes_of_launchers_are_no_part_of_the_step(prefix, tmp_path):
    text = f"{prefix}[2025-11-02 03:00:00] iteration 7/ 9 | lm loss: 2.5 |\n"
    found = told(text, tmp_path).frame("samples").filter(metric="lm_loss")
    assert found["value"].to_list() == [2.5]


def test_the_cause_of_a_time_out_began_when_the_collective_did(tmp_path):
    event = (
        told(watchdogs((0, 5), ran=1_800_042), tmp_path).frame("events").filter(kind="nccl.timeout").row(0, named=True)
    )
    assert (event["ts"] - event["ts_low"]).total_seconds() == pytest.approx(1800.042)


@pytest.mark.parametrize(
    ("reports", "world", "found"),
    [
        ([(1, 9), (2, 9), (3, 9)], 4, [(0, "silent")]),
        ([(0, 9), (1, 9), (2, 8), (3, 9)], 4, [(2, "behind")]),
        ([(0, 9), (1, 9), (2, 9), (3, 9)], 4, []),
        ([(0, 9)], 64, []),  # a log of one rank says nothing of the others
        ([(1, 9), (2, 8), (3, 9)], None, [(0, "silent"), (2, "behind")]),
    ],
)
def test_who_waited_is_no_suspect(reports, world, found, tmp_path):
    head = f"[2025-11-02 03:00:00,100] [INFO] [launch.py:163:main] dist_world_size={world}\n" if world else ""
    assert suspects(told(head + watchdogs(*reports), tmp_path)) == found


def test_two_hangs_of_one_log_are_two(tmp_path):
    text = watchdogs((1, 9), (2, 9), at="04:14:01.500000") + watchdogs((0, 19), (2, 19), at="08:14:01.500000")
    found = told(text, tmp_path)
    assert found.frame("events").filter(kind="nccl.hang")["ts"].dt.hour().to_list() == [4, 8]
    assert suspects(found) == [(0, "silent"), (1, "silent")]


def test_ranks_are_placed_by_what_the_launcher_and_nccl_say(tmp_path):
    text = (
        "[2025-11-02 03:00:00] iteration 1/ 9 | lm loss: 2 |\n"
        "node-a01:7:9 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 1b000 - Init COMPLETE\n"
        "node-a02:7:9 [0] NCCL INFO comm 0x55 rank 1 nranks 2 cudaDev 0 busId 1b000 - Init COMPLETE\n"
    ) + watchdogs((1, 9))
    event = told(text, tmp_path).frame("events").filter(kind="nccl.suspect").row(0, named=True)
    assert (event["host"], event["code"]) == ("node-a01", "silent")


@pytest.mark.parametrize(
    ("context", "cure"),
    [
        (Context(), "clock"),
        (Context(zone="UTC"), "year"),
        (Context(year=2025), "clock"),
        (Context(zone="UTC", year=2025), None),
    ],
)
def test_a_stamp_of_glog_needs_year_and_zone(context, cure, tmp_path):
    found = told(watchdogs((1, 9)), tmp_path, context)
    assert found.rejects()["curable"].to_list() == ([cure] if cure else [])


def test_the_year_is_that_of_other_stamps_of_the_log(tmp_path):
    text = "[2024-12-31 23:00:00,100] [INFO] [a.py:1:b] x\n" + watchdogs((1, 9)).replace("E1102", "E101")
    found = told(text, tmp_path, Context(zone="UTC")).frame("events").filter(kind="nccl.timeout")
    assert [str(moment)[:10] for moment in found["ts"]] == ["2025-01-01"]


def test_months_without_a_leading_zero_are_read(tmp_path):
    found = told(watchdogs((1, 9)).replace("E1102", "E626"), tmp_path).frame("events")
    assert {str(moment)[:10] for moment in found["ts"]} == {"2025-06-26"}


def test_steps_without_any_time_go_on_from_the_stated_one_until_they_start_again(tmp_path):
    line = "iteration {n}/ 99 | elapsed time per iteration (ms): 10000.0 | lm loss: {n} |\n"
    text = "".join(line.format(n=n) for n in (5, 6, 9, 7, 10))
    found = told(text, tmp_path, Context(taken_at_us=1_762_053_240_000_000, columns=Columns(roles={"job": "=j1"})))
    loss = found.frame("samples").filter(metric="lm_loss")
    assert loss["ts"].dt.epoch("s").to_list() == [1_762_053_240, 1_762_053_250, 1_762_053_280]
    assert loss["device"].unique().to_list() == ["j1"]
    assert found.rejects()["line"].to_list() == [4, 5]


def test_a_bar_that_draws_itself_again_is_one_step(tmp_path):
    bar = "Epoch 0: 1%|#| 1/9 [00:10<01:30, reduced_train_loss=10.20, global_step=9.0, train_step_timing in s=1.23]"
    found = told("[2025-11-02 03:00:00] iteration 1/ 9 | lm loss: 2 |\n" + "\r".join([bar] * 5) + "\n", tmp_path)
    assert found.frame("samples").filter(metric="train_step_timing")["value"].to_list() == [1.23]


@pytest.mark.parametrize("cell", ["nan", "NaN", "inf", "-inf"])
def test_a_loss_that_is_no_number_is_an_event_and_no_zero(cell, tmp_path):
    found = told(f"[2025-11-02 03:00:00] iteration 7/ 9 | lm loss: {cell} | loss scale: 1.0 |\n", tmp_path)
    assert found.frame("samples").filter(metric="lm_loss").height == 0
    assert found.frame("events").select("kind", "code").rows() == [("loss", "nan")]


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("    save-checkpoint ................................: (1.15, 16610.00)", 16.61),
        ("Global Checkpoint Save : Rank: 0 : Iteration: 100 : Start time: 1714557.1s : Save duration: 12.345s", 12.345),
        ("Checkpoint save for step 7 took 3.5s", 3.5),
    ],
)
def test_how_long_a_checkpoint_took(line, seconds, tmp_path):
    found = told(f"[2025-11-02 03:00:00] x\n{line}\n", tmp_path)
    assert found.frame("samples")["value"].to_list() == [seconds]
    assert found.frame("events").select("kind", "code").rows() == [("checkpoint", "took")]


def test_a_job_that_nobody_names_is_marked(tmp_path):
    found = told("[2025-11-02 03:00:00] iteration 7/ 9 | lm loss: 1 |\n", tmp_path)
    assert found.frame("samples")["device"].unique().to_list() == ["unknown"]
    assert any("does not name its job" in note for note in found.notes)


def test_lines_that_would_be_slow_to_match_are_not(tmp_path):
    hostile = [
        "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(" + "(" * 20000,
        "iteration 1/ 2 |" + "a:" * 30000,
        "global_rank_mapping=defaultdict(" + "{" * 20000 + "})",
        "[" * 30000 + "train_step_timing",
        "n1:1:1 [0] NCCL WARN NET/IB : Got completion with status=12" + " vendor" * 9000,
    ]
    found = told("\n".join(hostile) + "\n", tmp_path)
    assert found.records == len(hostile)
