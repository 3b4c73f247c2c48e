"""The grammar of kernel messages: what is an event, what is more of one, and what stays a line."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.readers.kernel_messages import LINE, KernelGrammar

AER = (
    "pcieport 0000:15:01.0: AER: Corrected error received: 0000:15:01.0",
    "pcieport 0000:15:01.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
    "pcieport 0000:15:01.0:   device [8086:352a] error status/mask=00001000/00002000",
    "pcieport 0000:15:01.0:    [12] Timeout               ",
)
SXID = (
    "nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
    "nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Severity 0 Engine instance 32 Sub-engine instance 00",
    "nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Data {0x000001c0, 0x00bd5c8a}",
)
LOST = (
    "NVRM: GPU at PCI:0000:18:00: GPU-1f0c2c55-0b1e-4a3e-9d55-7c1f6b8a9d10",
    "NVRM: Xid (PCI:0000:18:00): 79, pid=918273, name=python3, GPU has fallen off the bus.",
    "NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.",
)
OOM = (
    "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "CPU: 17 PID: 2024380 Comm: python3 Tainted: P           OE     5.15.0-112-generic",
    "Call Trace:",
    " dump_stack+0x10/0x16",
    "memory: usage 512kB, limit 512kB, failcnt 9",
    "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
    "[ 918273]  1001 918273  1234    5678   90      0             0 python3",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,oom_memcg=/job,task=python3,pid=918273,uid=1001",
    "Memory cgroup out of memory: Killed process 918273 (python3) total-vm:5kB, anon-rss:4kB, UID:1001",
    "oom_reaper: reaped process 918273 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
)
PLAIN = (
    "usb 1-1: new device",
    "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
    "ata3: SATA link down (SStatus 0 SControl 300)",
)


def lines(*entries, host="n1", step_us=10):
    """Entries are texts, or (microseconds, host, text)."""
    rows = []
    for number, entry in enumerate(entries, start=1):
        ts, own, text = entry if isinstance(entry, tuple) else (number * step_us, host, entry)
        rows.append(
            {
                "line": number,
                "extra": False,
                "ts": ts,
                "ts_low": ts,
                "ts_high": ts,
                "host": own,
                "severity": None,
                "repeated": None,
                "text": text,
            }
        )
    return pl.DataFrame(rows, schema=LINE)


def told(frame, *, size=10**9):
    """Events in order of their lines, and the number of continuations."""
    grammar = KernelGrammar()
    parts = [grammar.feed(frame[start : start + size]) for start in range(0, frame.height, size)] + [grammar.finish()]
    events = pl.concat(part.events for part in parts).sort("line", maintain_order=True)
    assert sum(part.rows for part in parts) == events.height
    return events, sum(part.continuations for part in parts)


def facts(frame, **stated):
    events, continuations = told(lines(*frame) if not isinstance(frame, pl.DataFrame) else frame, **stated)
    return [(line, kind, code) for line, kind, code in events.select("line", "kind", "code").iter_rows()], continuations


def attributes(events, kind):
    return [json.loads(text) for text in events.filter(kind=kind)["attributes"]]


@given(st.lists(st.sampled_from([AER, SXID, LOST, OOM, PLAIN]), max_size=4), st.integers(2, 9), st.data())
@settings(max_examples=25, deadline=None)
def test_what_is_told_does_not_depend_on_blocks_nor_on_other_hosts(groups, size, data):
    """Two hosts, their lines shuffled into each other, each in its own order."""
    own = [text for group in groups for text in group]
    entries, places = [], {"a": 0, "b": 0}
    for place in range(2 * len(own)):
        host = "a" if places["b"] >= len(own) or (places["a"] < len(own) and data.draw(st.booleans())) else "b"
        entries.append((place * 10, host, own[places[host]]))
        places[host] += 1
    whole, more = told(lines(*entries))
    parts, same = told(lines(*entries), size=size)
    assert parts.equals(whole)
    assert same == more
    alone, alone_more = told(lines(*own))
    for host in "ab":
        mine = whole.filter(host=host)
        assert mine.select("kind", "code", "device", "message", "attributes").equals(
            alone.select("kind", "code", "device", "message", "attributes")
        )
    assert more == 2 * alone_more
    assert whole.height + more == 2 * len(own)


@given(st.lists(st.sampled_from([*AER, *SXID, *LOST, *OOM, *PLAIN]), max_size=20), st.data())
@settings(max_examples=40, deadline=None)
def test_the_beginning_of_a_log_tells_the_beginning_of_its_story(texts, data):
    cut = data.draw(st.integers(0, len(texts)))
    whole, _ = told(lines(*texts))
    part, _ = told(lines(*texts[:cut]))
    columns = ["line", "kind", "code", "device", "message"]
    assert part.select(columns).equals(whole.filter(pl.col("line") <= cut).select(columns))
    for less, full in zip(part["attributes"], whole["attributes"], strict=False):
        known = json.loads(full)
        assert all(str(known[name]).startswith(str(value)) for name, value in json.loads(less).items())


def test_an_error_of_pcie_is_one_event_of_four_lines():
    events, more = told(lines(*AER, *AER, *PLAIN))
    assert (events["kind"].to_list(), more) == (["aer", "aer", "log", "log", "log"], 6)
    assert attributes(events, "aer")[1] == {
        "agent": "Transmitter ID", "driver": "pcieport", "error": "Timeout", "layer": "Data Link Layer", "mask": "00002000",
        "pci": "0000:15:01.0", "status": "00001000", "upstream": "0000:15:01",
    }  # fmt: skip


def test_bus_errors_without_a_headline_are_events_and_late_details_are_lines():
    assert facts((AER[1], AER[2], AER[1])) == ([(1, "aer", "corrected"), (3, "aer", "corrected")], 1)
    late = [(0, "n1", AER[0]), (200_000, "n1", AER[2]), (200_001, "n2", AER[3])]
    assert facts(lines(*late)) == ([(1, "aer", "corrected"), (2, "log", None), (3, "log", None)], 0)


def test_two_devices_under_one_headline_are_two_events():
    other = AER[1].replace("0000:15:01.0", "0000:16:00.0")
    assert facts((AER[0], AER[1], other)) == ([(1, "aer", "corrected"), (3, "aer", "corrected")], 1)


def test_the_second_part_of_an_sxid_without_the_first_is_a_line():
    assert facts((SXID[1], SXID[2])) == ([(1, "log", None), (2, "log", None)], 0)
    other = SXID[1].replace("12028", "20034")
    assert facts((SXID[0], other, SXID[2])) == ([(1, "sxid", "12028"), (2, "log", None)], 1)


def test_a_lost_gpu_is_told_once_with_or_without_an_xid():
    assert facts(LOST) == ([(1, "log", None), (2, "xid", "79")], 1)
    assert facts((LOST[2], LOST[2])) == ([(1, "gpu_lost", None)], 1)
    later = [(0, "n1", LOST[1]), (5_000_000, "n1", LOST[2])]
    assert facts(lines(*later)) == ([(1, "xid", "79"), (2, "gpu_lost", None)], 0)
    three = (
        "NVRM: The NVIDIA GPU 0000:5d:00.0",
        "NVRM: (PCI ID: 10de:2330) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    )
    events, _ = told(lines(*three))
    assert events.select("kind", "device").rows() == [("log", None), ("log", None), ("gpu_lost", "0000:5d:00")]


def test_names_of_a_gpu_are_remembered_by_host():
    entries = [(0, "a", LOST[0]), (1, "b", LOST[1]), (2, "a", LOST[1])]
    events, _ = told(lines(*entries))
    assert [told_.get("uuid") for told_ in attributes(events, "xid")] == [
        None,
        "GPU-1f0c2c55-0b1e-4a3e-9d55-7c1f6b8a9d10",
    ]


def test_an_out_of_memory_kill_is_one_event_and_strangers_stay():
    events, more = told(lines(*OOM[:5], PLAIN[0], *OOM[5:], OOM[2]))
    assert (events["kind"].to_list(), more) == (["oom", "log", "log"], 9)
    assert attributes(events, "oom") == [
        {
            "cgroup": "/job",
            "constraint": "CONSTRAINT_MEMCG",
            "killed": "python3",
            "killed_pid": 918273,
            "name": "python3",
            "scope": "cgroup",
        }
    ]
    assert events["message"].to_list()[1:] == [PLAIN[0], OOM[2]], "a trace after the kill is another's"


REPORT = """CPU: 3 PID: 1 Comm: python3 Tainted: P           OE     5.15.0-112-generic #122-Ubuntu
Hardware name: Maker Model, BIOS 2.1 02/28/2024
Call Trace:
 <TASK>
 dump_stack_lvl+0x4a/0x63
 ? __alloc_pages+0x17d/0x320
RIP: 0033:0x7f1b2c0a1e2a
Code: Unable to access opcode bytes at RIP 0x7f1b2c0a1e00.
RSP: 002b:00007ffd4bdb2ab8 EFLAGS: 00010206
R10: 0000000000000000 R11: 0000000000000246 R12: 0000000000000000
 </TASK>
Mem-Info:
active_anon:1 inactive_anon:2 isolated_anon:0
 active_file:3 inactive_file:4 isolated_file:0
 unevictable:0 dirty:0 writeback:0
 slab_reclaimable:1 slab_unreclaimable:2
 mapped:5 shmem:6 pagetables:7 bounce:0
 kernel_misc_reclaimable:0
 free:123 free_pcp:0 free_cma:0
Node 0 active_anon:1kB inactive_anon:2kB
Node 0 DMA free:11264kB boost:0kB min:4kB
lowmem_reserve[]: 0 1 2 3 4
Node 0 DMA: 0*4kB 0*8kB 1*16kB
Node 0 hugepages_total=0 hugepages_free=0 hugepages_surp=0 hugepages_size=2048kB
1234 total pagecache pages
0 pages in swap cache
Swap cache stats: add 0, delete 0, find 0/0
Free swap  = 0kB
Total swap = 0kB
16777216 pages RAM
0 pages HighMem/MovableOnly
262144 pages reserved
0 pages hwpoisoned
memory: usage 1048576kB, limit 1048576kB, failcnt 1234
Memory cgroup stats for /system.slice/slurmstepd.scope/job_77:
anon 1073000448
kernel_stack 65536
pagetables 2211840
percpu 0
sock 0
vmalloc 0
zswap 0
slab_unreclaimable 0
workingset_refault_anon 0
pgfault 3000
thp_fault_alloc 1
Tasks state (memory values in pages):
[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
[   4242]  1001  4242   300000   262000  2211840        0             0 python3""".splitlines()


def test_a_long_report_is_one_event_that_says_whose_memory_ran_out():
    end = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task=python3,pid=4242,uid=1"
    killed = "Out of memory: Killed process 4242 (python3) total-vm:5kB, anon-rss:4kB, UID:1001"
    assert len(REPORT) >= 48
    events, more = told(lines(OOM[0], *REPORT, end, killed, OOM[9]))
    assert (events["kind"].to_list(), more) == (["oom"], len(REPORT) + 3)
    (said,) = attributes(events, "oom")
    assert (said["scope"], said["killed"], said["killed_pid"], said["name"]) == ("global", "python3", 4242, "python3")
    alone, _ = told(lines("Memory cgroup out of memory: Killed process 7 (a) total-vm:1kB"))
    assert attributes(alone, "oom")[0]["scope"] == "cgroup"


def test_kills_minutes_apart_are_events_of_their_own():
    entries = [(minute * 60_000_000, "n1", text) for minute, text in enumerate((OOM[9], OOM[7], OOM[8], OOM[8]))]
    assert facts(lines(*entries)) == ([(1, "oom", None), (2, "oom", None), (3, "oom", None), (4, "oom", None)], 0)


def test_machine_checks_are_told_bank_by_bank():
    logged = "mce: [Hardware Error]: Machine check events logged"
    bank = "mce: [Hardware Error]: CPU {}: Machine Check: 0 Bank 7: 8c00004000010090"
    more = "mce: [Hardware Error]: TSC 0 ADDR 3f2a1040 MISC 200000c020002086 "
    events, rest = told(lines(logged, bank.format(12), more, bank.format(13), more))
    assert (events["line"].to_list(), rest) == ([1, 4], 3)
    assert [told_["cpu"] for told_ in attributes(events, "mce")] == [12, 13]
    firmware = (
        "{3}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1",
        "{3}[Hardware Error]: event severity: recoverable",
        "{4}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1",
    )
    assert facts(firmware) == ([(1, "mce", None), (3, "mce", None)], 1)


SINGLE = [
    ("infiniband mlx5_0: Port: 1 Link DOWN", "link", "down", "nic", "mlx5_0", {"port": 1}),
    ("mlx5_core 0000:9d:00.0: Port: 1 Link INIT", "link", "init", "nic", "0000:9d:00", {"port": 1}),
    ("mlx5_core 0000:5e:00.0: temp_warn:188:(pid 0): High temperature on sensors with bit set 0 1", "nic_health", "temperature", "nic", "0000:5e:00", {}),
    ("mlx5_core 0000:5e:00.0: cmd_work_handler:1009: ACCESS_REG(0x805) op_mod(0x1) failed, status bad parameter(0x3)", "nic_health", "command_failed", "nic", "0000:5e:00", {}),
    ("pcieport 0000:15:01.0: pciehp: Slot(5): Link Down", "pcie", "link_down", "pci", "0000:15:01", {"slot": "5"}),
    ("pcieport 0000:15:01.0: DPC: containment event, status:0x1f01 source:0x0000", "pcie", "contained", "pci", "0000:15:01", {}),
    ("pcieport 0000:15:01.0: AER: device recovery failed", "pcie", "recovery_failed", "pci", "0000:15:01", {}),
    ("lockd: server 10.0.0.1 not responding, still trying", "nfs", "not_responding", "host", None, {"server": "10.0.0.1"}),
    ("Lustre: 2345:0:(client.c:2169:ptlrpc_expire_one_request()) @@@ Request sent has timed out for slow reply: [sent 1508144508/real 1508144510]  req@ffff8803 x158/t0(0) o8->fs-OST0004-osc-ffff880345@10.0.0.1@o2ib:28/4 lens 520/544", "lustre", "timeout", "host", None, {"sent": 1508144508, "real": 1508144510, "target": "fs-OST0004", "nid": "10.0.0.1@o2ib"}),
    ("Lustre: 2345:0:(client.c:2169:ptlrpc_expire_one_request()) Skipped 31 previous similar messages", "lustre", "skipped", "host", None, {"skipped": 31}),
    ("Lustre: fs-OST0004: Will be in recovery for at least 5:00, or until 3 clients reconnect", "lustre", "recovery", "host", None, {"target": "fs-OST0004"}),
    ("Lustre: fs-OST0004: Recovery over after 0:32, of 3 clients 3 recovered and 0 were evicted.", "lustre", "recovered", "host", None, {"took": "0:32"}),
    ("Lustre: fs-MDT0000: haven't heard from client 4f (at 10.0.0.9@o2ib) in 227 seconds. I think it's dead, and I am evicting it.", "lustre", "evicting", "host", None, {"seconds": 227, "nid": "10.0.0.9@o2ib"}),
    ("EXT4-fs (nvme0n1p2): INFO: recovery required on readonly filesystem", "filesystem", "recovery_required", "disk", "nvme0n1p2", {}),
    ("EXT4-fs (nvme0n1p2): recovery complete", "filesystem", "recovered", "disk", "nvme0n1p2", {}),
    ("EXT4-fs (nvme0n1p2): mounted filesystem 1f-2e ro with ordered data mode. Quota mode: none.", "filesystem", "mounted", "disk", "nvme0n1p2", {}),
    ("XFS (sdb1): Mounting V5 Filesystem", "filesystem", "mounting", "disk", "sdb1", {"type": "XFS"}),
    ("XFS (sdb1): Starting recovery (logdev: internal)", "filesystem", "recovery", "disk", "sdb1", {}),
    ("XFS (sdb1): Ending recovery (logdev: internal)", "filesystem", "recovered", "disk", "sdb1", {}),
    ("XFS (sdb1): Filesystem has been shut down due to log error (0x2).", "filesystem", "shutdown", "disk", "sdb1", {}),
    ("Aborting journal on device sda1-8.", "filesystem", "journal_aborted", "disk", "sda1", {}),
    ("JBD2: recovery failed", "filesystem", "recovery_failed", "host", None, {}),
    ("printk: 24 messages suppressed.", "log.lost", None, "host", None, {"count": 24}),
    ("NVRM: GPU at 0000:3b:00.0 has fallen off the bus.", "gpu_lost", None, "gpu", "0000:3b:00", {}),
    ("nvidia-nvswitch0: SXid (PCI:0000:c5:00.0): 11001 Fatal", "sxid", "11001", "nvswitch", "0000:c5:00", {"fatality": "Fatal"}),
    ("mlx5_core 0000:9d:00.0: Port: 1 Link ACTIVE", "link", "up", "nic", "0000:9d:00", {"port": 1}),
    ("ixgbe 0000:03:00.1 eth1: NIC Link is Down", "link", "down", "nic", "0000:03:00.1", {"netdev": "eth1"}),
    ("bond0: (slave eth0): link status definitely down, disabling slave", "link", "down", "nic", "eth0", {"bond": "bond0"}),
    ("bonding: bond0: link status definitely up for interface eth1, 100000 Mbps", "link", "up", "nic", "eth1", {"netdev": "eth1"}),
    ("mlx5_core 0000:41:00.1: Port module event[error]: module 1, Cable error, High Temperature", "cable", "error", "nic", "0000:41:00.1", {"detail": "High Temperature"}),
    ("EDAC MC0: 1 CE memory read error on any memory (channel:0 slot:0)", "edac", "CE", "host", None, {"count": 1}),
    ("nfs: server nfs-01 not responding, timed out", "nfs", "timed_out", "host", None, {"server": "nfs-01"}),
    ("Lustre: scratch-OST0004-osc-ffff8881: Connection restored to 10.0.0.5@o2ib (at 10.0.0.5@o2ib)", "lustre", "restored", "host", None, {"target": "scratch-OST0004", "nid": "10.0.0.5@o2ib"}),
    ("Lustre: Lustre: Build Version: 2.15.3", "log", None, "host", None, {}),
    ("nvme nvme0: controller is down; will reset: CSTS=0xffffffff", "nvme", "down", "disk", "nvme0", {}),
    ("blk_update_request: I/O error, dev nvme0n1, sector 2048 op 0x0:(READ)", "io_error", "io", "disk", "nvme0n1", {"sector": 2048}),
    ("EXT4-fs (nvme0n1p2): Remounting filesystem read-only", "filesystem", "readonly", "disk", "nvme0n1p2", {"type": "EXT4-fs"}),
    ("watchdog: Watchdog detected hard LOCKUP on cpu 3", "lockup", "hard", "host", None, {"cpu": 3}),
    ("rcu: INFO: rcu_sched self-detected stall on CPU", "lockup", "rcu", "host", None, {}),
    ("CPU12: Package temperature above threshold, cpu clock throttled (total events = 9)", "cpu_throttle", "package", "host", None, {"cpu": 12}),
    ("NVRM: GPU 0000:9b:00.0: RmInitAdapter failed! (0x24:0x65:1423)", "gpu_init", "failed", "gpu", "0000:9b:00", {}),
    ("NVRM: Xid (0000:03:00): 31, Ch 00000010", "xid", "31", "gpu", "0000:03:00", {}),
    ("NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000)", "xid", "149", "gpu", "0008:01:00", {"link": 8}),
    ("NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.90.07", "log", None, "host", None, {}),
    ("EXT4-fs (nvme0n1p2): re-mounted. Quota mode: none.", "log", None, "host", None, {}),
    (PLAIN[1], "log", None, "host", None, {}),
    (PLAIN[2], "log", None, "host", None, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind", "code", "device_kind", "device", "known"), SINGLE, ids=[text[:40] for text, *_ in SINGLE]
)
def test_single_lines(text, kind, code, device_kind, device, known):
    events, more = told(lines(text))
    row = events.row(0, named=True)
    assert (row["kind"], row["code"], row["device_kind"], row["device"], row["message"], more) == (
        kind,
        code,
        device_kind,
        device,
        text,
        0,
    )
    assert known.items() <= json.loads(row["attributes"]).items()
    assert (row["attributes"] == "{}") == (kind == "log" or not json.loads(row["attributes"]))


def test_attributes_are_canonical_json_whatever_stands_in_them():
    text = 'NVRM: Xid (PCI:0000:18:00): 13, pid=7, name=</script>"\\\t, Graphics'
    (written,) = told(lines(text))[0]["attributes"]
    assert json.loads(written) == {"name": '</script>"\\\t', "pci": "0000:18:00", "pid": 7}
    assert written == json.dumps(json.loads(written), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def test_numbers_that_fit_no_integer_are_left_out():
    events, _ = told(lines(f"NVRM: Xid (PCI:0000:18:00): 13, pid={'9' * 30}, name=a, x"))
    assert json.loads(events["attributes"][0]) == {"name": "a", "pci": "0000:18:00"}


def test_a_line_without_text_stays_a_line():
    events, _ = told(lines(None, ""))
    assert events.select("kind", "message").rows() == [("log", None), ("log", "")]


def test_second_names_of_devices_are_told_where_the_host_is_known():
    grammar = KernelGrammar()
    link = "mlx5_core 0000:5e:00.0 ibp94s0: Link down"
    entries = [(0, host, text) for host in ("a", None) for text in (LOST[0], SXID[0], link)]
    aliases = grammar.feed(lines(*entries)).aliases
    aliases = pl.concat([aliases, grammar.finish().aliases])
    assert sorted(aliases.select("host", "device_kind", "device", "same_as").rows()) == [
        ("a", "gpu", "0000:18:00", "GPU-1f0c2c55-0b1e-4a3e-9d55-7c1f6b8a9d10"),
        ("a", "nic", "ibp94s0", "0000:5e:00"),
        ("a", "nvswitch", "nvidia-nvswitch1", "0000:84:00"),
    ]
