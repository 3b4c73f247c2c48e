"""Forms of journalctl and syslog beside the plain ones: pretty, cut, empty, with notes between."""

import json

import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers import fabric_manager_log, journald_json, kernel_log, syslog
from workbench.readers.registry import recognise

XID = "NVRM: Xid (PCI:0000:18:00): 79, pid=7, name=a, GPU has fallen off the bus."
STATED = Context(host="n1", zone="UTC", year=2026)


def record(number, **fields):
    told = {"__CURSOR": str(number), "__REALTIME_TIMESTAMP": str(1767225605000000 + number), "_HOSTNAME": "n1"}
    return {**told, "_TRANSPORT": "kernel", "PRIORITY": "3", "MESSAGE": XID, **fields}


def pretty(*records):
    """As journalctl prints it: tabs, and blanks about the colon."""
    return "".join(
        "{\n" + ",\n".join(f"\t{json.dumps(name)} : {json.dumps(value)}" for name, value in one.items()) + "\n}\n"
        for one in records
    )


RECORDS = [
    record(0),
    record(1, MESSAGE=[104, 105, 255]),
    record(2, MESSAGE="a\nb", _TRANSPORT="syslog"),
    record(3, MESSAGE=None),
]


@pytest.mark.parametrize("block_bytes", [64, 10_000])
def test_pretty_records_say_what_those_on_one_line_say(tmp_path, block_bytes):
    plain = "".join(json.dumps(one) + "\n" for one in RECORDS).encode()
    many = pretty(*RECORDS).encode()
    assert recognise(many, STATED)[0].name == "journald_json"
    one = read_bytes(journald_json.READER, plain, STATED, tmp_path).frame("events").drop("line")
    reading = read_bytes(journald_json.READER, many, STATED, tmp_path, block_bytes=block_bytes)
    assert reading.frame("events").drop("line").equals(one)
    assert (reading.records, reading.rows) == (4, 4)


def test_a_cut_pretty_file_loses_its_last_record_alone(tmp_path):
    data = pretty(*RECORDS).encode()
    reading = read_bytes(journald_json.READER, data[:-30], STATED, tmp_path)
    assert reading.rows == 3
    assert 1 <= reading.rejects().height <= 2
    assert read_bytes(journald_json.READER, data[:-1], STATED, tmp_path).rows == 4, "the brace ends it"


def test_notes_and_a_broken_record_between_pretty_ones(tmp_path):
    data = (
        pretty(record(0))
        + '-- Boot 9aa1 --\n\n{\n\t"__CURSOR" : \n'
        + pretty(record(1))
        + "stray\n"
        + pretty(record(2))
    )
    reading = read_bytes(journald_json.READER, data.encode(), STATED, tmp_path)
    assert (reading.rows, reading.skips()) == (3, {"metadata": 1, "blank": 1})
    assert reading.rejects().height == 2
    assert reading.records == 7


@pytest.mark.parametrize("lead", ["\x1e", "data: "])
def test_records_with_a_lead(tmp_path, lead):
    data = "".join(lead + json.dumps(record(number)) + "\n" for number in range(2)).encode()
    assert recognise(data, STATED)[0].name == "journald_json"
    assert read_bytes(journald_json.READER, data, STATED, tmp_path).frame("events")["kind"].to_list() == ["xid"] * 2


@pytest.mark.parametrize("text", ["-- No entries --\n", "-- Boot 0aa1bb22 --\n-- No entries --\n"])
def test_a_journal_without_entries_is_read_and_is_empty(tmp_path, text):
    reader, _ = recognise(text.encode(), Context())
    reading = read_bytes(reader, text.encode(), Context(), tmp_path)
    assert (reader.name, reading.rows, reading.skips()) == ("syslog", 0, {"metadata": text.count("\n")})


@pytest.mark.parametrize(
    ("stamp", "reader"),
    [
        ("Jan 01 00:00:05 n1 kernel: ", syslog),
        ("Jan 01 00:00:05.123456 n1 kernel: ", syslog),
        ("2026-01-01T00:00:05+0000 n1 kernel: ", syslog),
        ("2026-01-01T00:00:05.123456+0000 n1 kernel: ", syslog),
        ("[    5.123456] n1 kernel: ", kernel_log),
    ],
)
def test_short_forms_of_journalctl(tmp_path, stamp, reader):
    data = f"-- Boot 0aa1bb22 --\n{stamp}{XID}\n-- Boot 0aa1bb23 --\n{stamp.replace('05', '06').replace(' 5.', ' 6.')}{XID}\n".encode()
    context = Context(zone="UTC", year=2026, boot_at_us=1_767_225_600_000_000)
    reading = read_bytes(reader.READER, data, context, tmp_path)
    assert reading.frame("events").select("host", "kind", "code").rows() == [("n1", "xid", "79")] * 2
    assert reading.skips() == {"metadata": 2}


def test_messages_lost_on_the_way_are_counted(tmp_path):
    lines = [
        "rsyslogd: imjournal: 4411 messages lost due to rate-limiting",
        "rsyslogd: imuxsock lost 12 messages from pid 33 due to rate-limiting",
        "systemd-journald[44]: Suppressed 123 messages from nvidia.service",
        "systemd-journald[44]: Missed 9 kernel messages",
    ]
    data = "".join(f"2026-01-01T00:00:05Z n1 {line}\n" for line in lines).encode()
    events = read_bytes(syslog.READER, data, STATED, tmp_path).frame("events")
    assert events["kind"].to_list() == ["log.lost"] * 4
    assert [json.loads(text)["count"] for text in events["attributes"]] == [4411, 12, 123, 9]


def test_checks_of_a_file_system_at_boot(tmp_path):
    data = (
        b"2026-01-01T00:00:05Z n1 systemd-fsck[812]: /dev/nvme0n1p2: recovering journal\n"
        b"2026-01-01T00:00:06Z n1 systemd-fsck[812]: /dev/nvme0n1p2: clean, 11/65536 files, 8859/262144 blocks\n"
        b"2026-01-01T00:00:07Z n1 app[9]: /dev/nvme0n1p2: recovering journal\n"
    )
    events = read_bytes(syslog.READER, data, STATED, tmp_path).frame("events").sort("line")
    assert events.select("kind", "code", "device").rows() == [
        ("filesystem", "fsck_recovering", "nvme0n1p2"), ("filesystem", "fsck_clean", "nvme0n1p2"), ("log", None, None),
    ]  # fmt: skip


def test_an_error_of_a_switch_in_the_log_of_fabric_manager(tmp_path):
    stamp = "[Feb 27 2025 15:10:02] [ERROR] [tid 12727] "
    data = (
        f"{stamp}detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 61\n"
        f"{stamp}detected NVSwitch fatal error 99999999 on fid 0 on NVSwitch pci bus id 00000000:86:00.0\n"
    ).encode()
    events = read_bytes(fabric_manager_log.READER, data, STATED, tmp_path).frame("events")
    assert events.select("kind", "code", "device_kind", "device").rows() == [
        ("sxid", "12028", "nvswitch", "0000:86:00"), ("fabric_manager", None, "host", None),
    ]  # fmt: skip
    assert json.loads(events["attributes"][0]) == {
        "fatality": "Non-fatal", "fid": 0, "pci": "00000000:86:00.0", "physical_id": 3, "port": 61, "tid": 12727,
    }  # fmt: skip


def test_deep_and_hostile_records_are_rejected(tmp_path):
    data = (
        b'{"__REALTIME_TIMESTAMP": "1", "MESSAGE": ' + b"[" * 5000 + b"]" * 5000 + b"}\n"
        b'{"__REALTIME_TIMESTAMP": true, "MESSAGE": "a"}\n'
        b'{"__REALTIME_TIMESTAMP": "1e400", "MESSAGE": "a"}\n'
        b'{"__REALTIME_TIMESTAMP": "\\ud800", "MESSAGE": "a"}\n'
    )
    reading = read_bytes(journald_json.READER, data, STATED, tmp_path)
    assert (reading.records, reading.rows) == (4, 0)


def test_lone_surrogates_are_written_as_escapes(tmp_path):
    texts = ["a\ud800b", "c\udc00", "d\U0001f600"]
    records = [
        record(n, MESSAGE=text, _TRANSPORT="syslog", SYSLOG_IDENTIFIER="x\ud800") for n, text in enumerate(texts)
    ]
    data = "".join(json.dumps(one) + "\n" for one in records).encode()
    reading = read_bytes(journald_json.READER, data, STATED, tmp_path)
    assert (reading.rows, reading.rejects().height) == (3, 0)
    assert reading.frame("events")["message"].to_list() == ["a\\ud800b", "c\\udc00", "d\U0001f600"]


def test_a_record_of_two_hosts_is_of_none(tmp_path):
    hosts = [["n1", "n2"], ["n3", "n3"], ["n4"], [110, 53], []]
    data = "".join(json.dumps(record(n, _HOSTNAME=host)) + "\n" for n, host in enumerate(hosts)).encode()
    reading = read_bytes(journald_json.READER, data, Context(), tmp_path)
    assert reading.rejects().select("line", "reason").rows() == [(1, "_HOSTNAME has several values")]
    assert set(reading.frame("events").drop_nulls("host")["host"]) == {"n3", "n4", "n5"}
