import polars as pl
import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers.jobrows import Attempts
from workbench.readers.sacctlines import header_of
from workbench.readers.slurm_sacct import READER

UTC = Context(zone="UTC")


def _read(tmp_path, text, context=UTC, **how):
    return read_bytes(READER, text if isinstance(text, bytes) else text.encode(), context, tmp_path, **how)


@pytest.mark.parametrize(
    ("line", "delimiter"),
    [
        ("JobID|State|End", "|"),
        ("State|#JobIDRaw|#Start", "|#"),
        ("JobID,State,End", ","),
        ("JobID|State|End|", "|"),
        ("JobID\tState\tEnd", None),
        ("JobID^State^End", "^"),
    ],
)
def test_headers(line, delimiter):
    found = header_of(line.encode() + b"\n")
    assert (found.delimiter if found else None) == delimiter


@pytest.mark.parametrize(
    "text",
    [
        b"job|state\n1|x\n",
        b'{"meta": {"Slurm": {}}, "jobs": []}\n',
        b"JobID State End\n1 x y\n",
        b"Start|End|Value\n1|2|3\n",
        b"",
    ],
)
def test_other_text_is_not_claimed(text):
    assert READER.recognise(text, Context()) is None


def test_trailing_delimiters_of_parsable(tmp_path):
    reading = _read(tmp_path, "JobID|State|End|\n1|FAILED|2026-03-01T10:00:00|\n2|TIMEOUT|2026-03-01T10:00:00|\n")
    assert reading.frame("jobs")["state"].to_list() == ["FAILED", "TIMEOUT"]


def test_steps_before_their_allocation_are_steps_all_the_same(tmp_path):
    lines = [
        "JobID|Start|State|End",
        "7.0|2026-03-01T10:00:00|FAILED|2026-03-01T11:00:00",
        "7|2026-03-01T10:00:00|FAILED|2026-03-01T11:00:00",
    ]
    text = "\n".join(lines) + "\n"
    for size in (30, 10**6):
        reading = _read(tmp_path, text, block_bytes=size)
        assert (reading.records, reading.rows, reading.skips()) == (3, 1, {"header": 1, "job step": 1})
        assert reading.has("jobs", {"job": "7", "state": "FAILED"})


def test_jobs_known_by_their_steps_alone_span_them_and_have_no_state(tmp_path):
    text = "JobID|NodeList|Start|State|End\n9.batch|n1|2026-03-01T10:00:00|COMPLETED|2026-03-01T11:00:00\n9.1|n[1-3]|2026-03-01T10:05:00|FAILED|2026-03-01T12:00:00\n"
    reading = _read(tmp_path, text)
    assert reading.has(
        "jobs",
        {
            "job": "9",
            "start": "2026-03-01T10:00:00Z",
            "end": "2026-03-01T12:00:00Z",
            "state": None,
            "nodes": ["n1", "n2", "n3"],
        },
    )
    assert reading.count("events") == 0
    assert any("known by their steps alone" in note for note in reading.notes)


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("CANCELLED by 1001", "CANCELLED"),
        ("CANCELLED+", "CANCELLED"),
        ("NODE_FAIL", "NODE_FAIL"),
        ("OUT_OF_MEMORY", "OUT_OF_MEMORY"),
        ("REQUEUED", "REQUEUED"),
        ("COMPLETED", "COMPLETED"),
    ],
)
def test_every_end_is_an_event(tmp_path, state, code):
    reading = _read(tmp_path, f"JobID|State|NodeList|End\n1|{state}|n[1-2]|2026-03-01T10:00:00\n")
    assert reading.has(
        "events",
        {
            "ts": "2026-03-01T10:00:00Z",
            "kind": "job",
            "code": code,
            "device": "1",
            "attributes": {"nodes": ["n1", "n2"]},
        },
    )


@pytest.mark.parametrize("end", ["Unknown", "None", ""])
@pytest.mark.parametrize("state", ["RUNNING", "PENDING"])
def test_what_goes_on_has_no_end_and_no_event(tmp_path, state, end):
    reading = _read(tmp_path, f"JobID|State|End|User\n1|{state}|{end}|ada\n")
    assert reading.frame("jobs")["end"].to_list() == [None]
    assert reading.count("events") == 0


def test_the_repeated_hour_is_told_by_the_elapsed_time_or_stays_open(tmp_path):
    """Berlin, 25 October 2026: 02:30 comes twice, at 00:30 and at 01:30 UTC."""
    head = "JobID|ElapsedRaw|Start|End|State\n"
    rows = [("1", "3600"), ("2", "7200"), ("3", "")]
    text = head + "".join(f"{job}|{spent}|2026-10-25T01:30:00|2026-10-25T02:30:00|FAILED\n" for job, spent in rows)
    events = {
        row["device"]: row
        for row in _read(tmp_path, text, Context(zone="Europe/Berlin")).frame("events").iter_rows(named=True)
    }
    assert [events[job]["ts"].hour for job in "123"] == [0, 1, 0]
    assert [(events[job]["ts_high"] - events[job]["ts_low"]).total_seconds() for job in "123"] == [
        0.999999,
        0.999999,
        3600.999999,
    ]


def test_a_requeue_is_another_attempt_and_a_repeated_record_is_not():
    attempts = Attempts()
    assert attempts.number(pl.Series(["a", "b", "a"]), pl.Series([1, 1, 2])).to_list() == [1, 1, 2]
    assert attempts.number(pl.Series(["a", "a", "a"]), pl.Series([2, 3, None])).to_list() == [2, 3, 4]


def test_without_a_zone_every_job_waits_and_steps_are_steps(tmp_path):
    text = "JobID|State|End\n1|FAILED|2026-03-01T10:00:00\n1.0|FAILED|2026-03-01T10:00:00\n"
    reading = _read(tmp_path, text, Context())
    assert reading.skips() == {"header": 1, "job step": 1}
    assert reading.rejects()["curable"].to_list() == ["clock"]


def test_bombs_cost_a_reject_and_many_lists_stay_bounded(tmp_path):
    rows = "".join(f"{job}|FAILED|n[1-90000]|2026-03-01T10:00:00\n" for job in range(60))
    rows += "99|FAILED|n[1-90000],m[1-90000]|2026-03-01T10:00:00\n"
    reading = _read(tmp_path, "JobID|State|NodeList|End\n" + rows)
    assert reading.rows == 60
    assert reading.rejects()["reason"].to_list() == ["the node list names more than 100000 hosts"]
    assert max(int(batch.jobs["nodes"].list.len().sum() or 0) for batch in reading.batches) <= 2_100_000


def test_fields_that_hold_the_delimiter_cost_their_record_and_say_how_to_export(tmp_path):
    reading = _read(
        tmp_path, "JobID|JobName|State|End\n1|a|b|FAILED|2026-03-01T10:00:00\n2|ok|FAILED|2026-03-01T10:00:00\n"
    )
    assert reading.frame("jobs")["job"].to_list() == ["2"]
    assert "export with --delimiter" in reading.rejects()["reason"][0]


def test_a_last_line_without_its_newline_counts_only_where_it_is_whole(tmp_path):
    whole = "JobID|State|End\n1|FAILED|2026-03-01T10:00:00"
    assert _read(tmp_path, whole).rows == 1
    assert _read(tmp_path, whole[:-1]).rows == 0
    assert _read(tmp_path, "JobID|End|State\n1|2026-03-01T10:00:00|FAILED").rows == 1
    assert _read(tmp_path, "JobID|End|State\n1|2026-03-01T10:00:00|FAIL").rows == 0
    assert _read(tmp_path, "JobID|State|End|WorkDir\n1|FAILED|2026-03-01T10:00:00|/ho").rows == 1


@pytest.mark.parametrize(
    ("odd", "skips", "lines"),
    [
        ("\n2|FAILED|x|2026-03-01T10:00:00\n", {"blank": 1, "header": 1}, [4]),  # delimiters as many as in two records
        ("JobID|State|End\n", {"repeated header": 1, "header": 1}, []),
        ("1|FAILED|2026-03-01T10:00:00\n", {"duplicate": 1, "header": 1}, []),
        ("2|FAI\rLED|2026-03-01T10:00:00\n", {"header": 1}, []),
        ("3|FAI\nLED|2026-03-01T10:00:00\n", {"continuation": 1, "header": 1}, []),
        ("2|FAILED\n", {"header": 1}, [3]),
        ("2|FAILED|2026-03-01T10:00:00|\n", {"header": 1}, []),  # a trailing delimiter on one line alone
    ],
)
def test_one_odd_line_between_plain_ones_costs_no_other(tmp_path, odd, skips, lines):
    plain = [f"{n}|FAILED|2026-03-01T10:00:00\n" for n in (1, 4, 5)]
    reading = _read(tmp_path, "JobID|State|End\n" + plain[0] + odd + "".join(plain[1:]))
    assert (reading.skips(), reading.frame("rejects")["line"].to_list()) == (skips, lines)
    assert {"1", "4", "5"} <= set(reading.frame("jobs")["job"])


def test_requeues_are_numbered_over_blocks_whatever_else_is_there():
    attempts = Attempts()
    assert attempts.number(pl.Series(["1", "2", "3"]), pl.Series([10, 10, None])).to_list() == [1, 1, 1]
    assert attempts.number(pl.Series(["4", "2", "5", "2"]), pl.Series([10, 20, 10, 10])).to_list() == [1, 2, 1, 1]
    assert attempts.number(pl.Series(["2", "3", "3", "4"]), pl.Series([30, 5, None, 10])).to_list() == [3, 2, 1, 1]


@pytest.mark.parametrize("mark", ["|", "|#"])
@pytest.mark.parametrize("block_bytes", [64, 1 << 20])
@pytest.mark.parametrize("again", ["JobID|End|Start|State", "State|JobID|Start", "JobID|Start|End|State|NodeList"])
def test_a_header_with_other_columns_ends_what_is_read(tmp_path, mark, block_bytes, again):
    header = "JobID|Start|End|State"
    row = "{}|2026-01-05T0{}:00:00|2026-01-05T0{}:00:00|COMPLETED"
    lines = [header, row.format(1, 1, 2), row.format("JobID_7", 2, 3), header, row.format(2, 3, 4)]
    lines += [again, row.format(3, 9, 8), "", header, row.format(4, 1, 2)]
    reading = _read(tmp_path, "".join(f"{line.replace('|', mark)}\n" for line in lines), block_bytes=block_bytes)
    assert (reading.records, reading.rows) == (10, 3)
    assert reading.skips() == {"header": 1, "repeated header": 1, "blank": 1}
    rejects = reading.rejects().sort("line")
    assert rejects["line"].to_list() == [6, 7, 9, 10]
    assert set(rejects["reason"]) == {"another header stands at line 6, with other columns: split the file there"}
    assert rejects["curable"].null_count() == 4


def test_jobs_that_end_before_they_start_are_told(tmp_path):
    text = "JobID|Start|End|State\n1|2026-01-05T02:00:00|2026-01-05T01:00:00|FAILED\n2|2026-01-05T02:00:00|Unknown|RUNNING\n"
    reading = _read(tmp_path, text)
    assert reading.rows == 2
    assert reading.notes == {"1 jobs end before they start: the times stand as they are written"}
