"""Who wrote a line, whether it fits, and what shares it: Xids that are none, odd ones, glued ones."""

import json

import orjson
import polars as pl
import pytest
from readings import read_bytes

from workbench.model.context import Context
from workbench.readers import journald_json, kernel_log, syslog
from workbench.timebase import parse_time

BOOT = Context(boot_at_us=parse_time("2026-01-01T00:00:00Z"), host="n1", zone="UTC", year=2026)
XID = "NVRM: Xid (PCI:0000:18:00): 79, pid=7, name=a, GPU has fallen off the bus."
PEER = "NVRM: Xid (PCI:0000:2a:00): 45, pid=8, name=a, Ch 00000008"
QUOTES = [
    'python[12]: saw "NVRM: Xid (PCI:0000:18:00): 79"',
    'python[12]: saw "[    5.000000] NVRM: Xid (PCI:0000:18:00): 79, gone"',
    f"python[12]: {XID}",
    "agent[3]: nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Non-fatal, Link 32",
    "agent[3]: pcieport 0000:15:01.0: AER: Corrected error received: 0000:15:01.0",
    "agent[3]: EDAC MC0: 1 CE memory read error on DIMM0 (channel:1)",
    "agent[3]: mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: 8c00004000010090",
    "agent[3]: Out of memory: Killed process 9 (a) total-vm:1kB",
    "agent[3]: mlx5_core 0000:5e:00.0 ibp94s0: Link down",
    "agent[3]: nfs: server a not responding, still trying",
]


def journal(text, **fields):
    return (
        orjson.dumps({"__REALTIME_TIMESTAMP": "1767225605000000", "_HOSTNAME": "n1", "MESSAGE": text, **fields}) + b"\n"
    )


def forms(text):
    """One line in every form in which a program's words reach a log."""
    program, _, words = text.partition("[")
    return [
        (kernel_log, f"[    5.000000] {text}\n".encode()),
        (kernel_log, f"[Thu Jan  1 00:00:05 2026] {text}\n".encode()),
        (kernel_log, f"user  :info  : 2026-01-01T00:00:05,000000+00:00 {text}\n".encode()),
        (kernel_log, f"12,7,5000000,-;{text}\n".encode()),
        (syslog, f"<13>Jan  1 00:00:05 n1 {text}\n".encode()),
        (syslog, f"2026-01-01T00:00:05+00:00 n1 {text}\n".encode()),
        (journald_json, journal(words.partition(": ")[2], _TRANSPORT="stdout", SYSLOG_IDENTIFIER=program)),
        (journald_json, journal(words.partition(": ")[2], _TRANSPORT="kernel", SYSLOG_IDENTIFIER=program, SYSLOG_FACILITY="1")),
    ]  # fmt: skip


@pytest.mark.parametrize("text", QUOTES)
def test_what_a_program_says_is_no_event_of_the_kernel(text, tmp_path):
    for module, data in forms(text):
        reading = read_bytes(module.READER, data, BOOT, tmp_path)
        assert reading.frame("events")["kind"].to_list() == ["log"], data


def test_what_the_kernel_says_of_a_program_is_the_kernel_s(tmp_path):
    text = "python[12]: segfault at 7f7 ip 00007f7c sp 00007f7c error 4 in libnccl.so.2[7f7c7ac00000+d3d3000]"
    events = read_bytes(kernel_log.READER, f"[    5.000000] {text}\n".encode(), BOOT, tmp_path).frame("events")
    assert events.select("kind", "message").rows() == [("segfault", text)]


@pytest.mark.parametrize(
    ("module", "data"),
    [
        (kernel_log, f"4,7,5000000,-;{XID}\n"),
        (kernel_log, f"<4>[    5.000000][  T291] {XID}\n"),
        (kernel_log, f"[    5.000000] [ T291] {XID}\n"),
        (kernel_log, f"kern  :warn  : 2026-01-01T00:00:05,000000+00:00 {XID}\n"),
        (kernel_log, f"2026-01-01T00:00:05,000000+00:00 [ T291] {XID}\n"),
        (kernel_log, f"[Thu Jan  1 00:00:05 2026] [ T291] {XID}\n"),
        (kernel_log, f"[    5.000000] node-7.lab kernel: {XID}\n"),
        (syslog, f"<4>Jan  1 00:00:05 n1 {XID}\n"),
        (syslog, f"Jan  1 00:00:05 n1 kernel: {XID}\n"),
        (syslog, f"Jan  1 00:00:05 n1 kernel: [    5.000000][ T291] {XID}\n"),
        (syslog, f"<4>1 2026-01-01T00:00:05Z n1 kernel - - - {XID}\n"),
        (syslog, f"<3444>Jan  1 00:00:05 n1 kernel: {XID}\n"),
    ],
)
def test_what_the_kernel_says_is_an_event_in_every_form(module, data, tmp_path):
    events = read_bytes(module.READER, data.encode(), BOOT, tmp_path).frame("events")
    assert events.select("kind", "code", "device", "message").rows() == [("xid", "79", "0000:18:00", XID)]
    if "node-7" in data:
        assert events["host"].to_list() == ["node-7.lab"]


def test_kernel_lines_of_a_forwarded_journal(tmp_path):
    data = journal(XID, _TRANSPORT="syslog", SYSLOG_IDENTIFIER="kernel", SYSLOG_FACILITY="0") + journal(
        XID, SYSLOG_IDENTIFIER="kernel", __CURSOR="2"
    )
    assert read_bytes(journald_json.READER, data, BOOT, tmp_path).frame("events")["code"].to_list() == ["79", "79"]


@pytest.mark.parametrize(
    ("text", "code", "device"),
    [
        ("NVRM: NVRM: Xid (PCI:0001:00:00.0): 79, GPU has fallen off the bus", "79", "0001:00:00"),
        ("NVRM: Xid (PCI:0000:00:01.0): 79, pid='<unknown>', name='<unknown>', gone", "79", "0000:00:01"),
        ("NVRM: Xid (PCI:0000:65:00): 48", "48", "0000:65:00"),
        ("NVRM: Xid (0000:03:00): 13, 0001 00000000 0000a097", "13", "0000:03:00"),
        ("nvrm:  XID  (pci: 0000:1B:00 ) : 62 , pid=9, name=b", "62", "0000:1b:00"),
        ("NVRM: Xid (PCI:0000:65:00 GPU-I:02 GPU-CI:01): 43, pid=9, name=b, Ch 8", "43", "0000:65:00"),
        ("NVRM:Xid(PCI:00000000:65:00.0):31, pid=9", "31", "0000:65:00"),
    ],
)  # fmt: skip
def test_spellings_of_an_xid(text, code, device, tmp_path):
    events = read_bytes(kernel_log.READER, f"[    5.000000] {text}\n".encode(), BOOT, tmp_path).frame("events")
    assert events.select("kind", "code", "device", "message").rows() == [("xid", code, device, text)]


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:18:00): 99999999999, pid=7, name=a, x",
        "NVRM: Xid (PCI:0000:18:00): abc, pid=7",
        "NVRM: Xid (PCI:0000:18:00): 0, pid=7",
        "NVRM: Xid (PCI:0000:18:00): 12x, pid=7",
        "NVRM: Xid (PCI:nowhere): 79, pid=7",
        "NVRM: Xid 79",
        'usb 1-1: said "NVRM: Xid (PCI:0000:18:00): 79"',
    ],
)
def test_an_xid_that_does_not_fit_is_a_line_with_a_note_and_told(text, tmp_path):
    reading = read_bytes(kernel_log.READER, f"[    5.000000] {text}\n".encode(), BOOT, tmp_path)
    row = reading.frame("events").row(0, named=True)
    assert (row["kind"], row["code"], row["message"]) == ("log", None, text)
    assert "no event of its own" in json.loads(row["attributes"])["note"]
    assert [note for note in reading.notes if "spelling that is not known" in note]


def test_an_absurd_sxid_is_a_line(tmp_path):
    text = "nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12345678901, Non-fatal, Link 32"
    events = read_bytes(kernel_log.READER, f"[    5.000000] {text}\n".encode(), BOOT, tmp_path).frame("events")
    assert events.select("kind", "code").rows() == [("log", None)]


@pytest.mark.parametrize(
    ("module", "data", "seconds"),
    [
        (kernel_log, f"[    5.000000] {XID}{PEER}\n", [5, 5]),
        (kernel_log, f"[    5.000000] {XID}[    7.000000] {PEER}\n", [5, 7]),
        (kernel_log, f"[Thu Jan  1 00:00:05 2026] {XID}[Thu Jan  1 00:00:07 2026] {PEER}\n", [5, 7]),
        (kernel_log, f"kern  :warn  : 2026-01-01T00:00:05,000000+00:00 {XID}kern  :warn  : 2026-01-01T00:00:07,000000+00:00 {PEER}\n", [5, 7]),
        (kernel_log, f"<4>[    5.000000] {XID}<4>[    7.000000] {PEER}\n", [5, 7]),
        (syslog, f"Jan  1 00:00:05 n1 kernel: [    5.000000] {XID} [    7.000000] {PEER}\n", [5, 5]),
        (journald_json, journal(f"{XID} {PEER}", _TRANSPORT="kernel").decode(), [5, 5]),
    ],
)  # fmt: skip
def test_two_xids_on_one_line_both_come_out(module, data, seconds, tmp_path):
    reading = read_bytes(module.READER, data.encode(), BOOT, tmp_path)
    events = reading.frame("events")
    assert (reading.records, reading.rows) == (1, 1)
    assert events.select("kind", "code", "device", "message").rows() == [
        ("xid", "79", "0000:18:00", XID), ("xid", "45", "0000:2a:00", PEER),
    ]  # fmt: skip
    began = pl.lit(parse_time("2026-01-01T00:00:00Z"))
    assert events.select((pl.col("ts").dt.timestamp("us") - began) // 1_000_000).to_series().to_list() == seconds


def test_a_stamp_with_the_wrong_weekday_is_refused(tmp_path):
    data = f"[Fri Mar  1 00:00:00 2026] {XID}\n[Sun Mar  1 00:00:00 2026] {XID}\n".encode()
    for context in (BOOT, Context()):
        reading = read_bytes(kernel_log.READER, data, context, tmp_path)
        wrong = reading.rejects().filter(line=1)
        assert wrong.select("reason", "curable").rows() == [("the day of the week does not fit the date", None)]
    assert read_bytes(kernel_log.READER, data, BOOT, tmp_path).rows == 1


def test_what_the_text_of_an_xid_tells(tmp_path):
    texts = [
        "NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)",
        "NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149",
        "NVRM: Xid (PCI:0000:02:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
        "NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
    ]  # fmt: skip
    data = "".join(f"[    5.{number:06d}] {text}\n" for number, text in enumerate(texts)).encode()
    told = [
        json.loads(text) for text in read_bytes(kernel_log.READER, data, BOOT, tmp_path).frame("events")["attributes"]
    ]
    assert told[0] == {
        "error_status": "0x00000008", "fatality": "Non-fatal", "intr_info": "0x0409a0c2", "link": 13, "pci": "0018:01:00",
        "unit": "RLW_RXPIPE", "words": "0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004",
    }  # fmt: skip
    assert (told[1]["caused_by"], told[1]["pid"]) == (149, 1818990)
    assert (told[2]["action_from"], told[2]["action"]) == ("None", "Node Reboot Required")
    assert (told[3]["link"], told[3]["fatality"]) == (-1, "Fatal")


def test_what_a_process_calls_itself_is_no_second_xid(tmp_path):
    text = b"[   12.000000] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=NVRM: Xid (PCI:0000:5e:00): 63\n"
    context = Context(host="n1", boot_at_us=parse_time("2026-01-01T00:00:00Z"))
    events = read_bytes(kernel_log.READER, text, context, tmp_path).frame("events").filter(kind="xid")
    assert events["code"].to_list() == ["79"]


def test_the_kernel_has_no_process_id(tmp_path):
    lines = b"".join(
        b"2026-03-01T00:00:0%d+00:00 n1 %s: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, lost\n" % (at, tag)
        for at, tag in enumerate((b"kernel", b"kernel[1]"))
    )
    events = read_bytes(syslog.READER, lines, Context(), tmp_path).frame("events")
    assert events.sort("ts")["kind"].to_list() == ["xid", "log"]
