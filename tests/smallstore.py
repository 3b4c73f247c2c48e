"""A small store with known contents, made from dumps as a user would have them."""

from datetime import UTC, datetime
from pathlib import Path

import workbench as wb

T0_MS = 1_772_323_200_000  # 2026-03-01T00:00:00Z
T0 = datetime(2026, 3, 1, tzinfo=UTC)
MINUTES = 60
NFS = (3, 13, 23, 33, 43, 53)  # minutes at which node01 waits for its file server

MAPPING = """
[[file]]
match = "jobs.csv"
shape = "jobs"

[[file]]
match = "kern/(?P<host>[^/]+)\\\\.log"
"""


def exposition(later_ms: int = 0) -> str:
    """Two hosts of two GPUs: power 500 + minute + 100 x gpu; errors rise by 6 a minute on GPU 1, reset at minute 30.

    node02 is silent from minute 20 to 29.
    """
    lines = ["# TYPE DCGM_FI_DEV_POWER_USAGE gauge", "# TYPE DCGM_FI_DEV_ECC_SBE_VOL_TOTAL counter"]
    for minute in range(MINUTES):
        for host in ("node01", "node02"):
            if host == "node02" and 20 <= minute < 30:
                continue
            for gpu in range(2):
                who = f'gpu="{gpu}",UUID="GPU-{host}-{gpu}",pci_bus_id="00000000:{gpu + 1:02X}:00.0",Hostname="{host}"'
                errors = 6 * (minute if minute < 30 else minute - 30) * gpu
                stamp = T0_MS + 60_000 * minute + later_ms
                lines.append(f"DCGM_FI_DEV_POWER_USAGE{{{who}}} {500 + minute + 100 * gpu} {stamp}")
                lines.append(f"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL{{{who}}} {errors} {stamp}")
    return "\n".join(lines) + "\n"


def kernel(host: str, minutes: list[int]) -> str:
    """One Xid 79 on GPU 1 at each of the minutes, between a first and a last line of the log."""
    lines = [f"kern  :info  : 2026-03-01T00:00:00,000000+00:00 {host} log begins"]
    lines += [
        f"kern  :err   : 2026-03-01T00:{m:02d}:30,000000+00:00 NVRM: Xid (PCI:0000:02:00): 79, pid=1, GPU has fallen off the bus."
        for m in minutes
    ]
    if minutes:
        lines += [
            f"kern  :warn  : 2026-03-01T00:{m:02d}:10,000000+00:00 nfs: server home not responding, still trying"
            for m in NFS
        ]
    lines.sort(key=lambda line: line.split()[2])
    lines += [f"kern  :info  : 2026-03-01T00:{MINUTES - 1}:59,000000+00:00 log ends"]
    return "\n".join(lines) + "\n"


def make_dumps(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gpu.prom").write_text(exposition())
    (folder / "kern").mkdir()
    (folder / "kern" / "node01.log").write_text(kernel("node01", [10, 40]))
    (folder / "kern" / "node02.log").write_text(kernel("node02", []))
    (folder / "topology.csv").write_text("host,rack\nnode01,r1\nnode02,r2\n")
    (folder / "jobs.csv").write_text(
        "job,start,end,state,user,nodes\n77,2026-03-01T00:05:00Z,2026-03-01T00:45:00Z,COMPLETED,ann,node01\n"
    )
    (folder.parent / "mapping.toml").write_text(MAPPING)
    return folder


def small_store(folder: Path):
    """Give the store of these dumps."""
    dumps = make_dumps(folder / "dumps")
    store = wb.open(folder / "store")
    report = store.ingest([dumps], mapping=folder / "mapping.toml")
    assert report.exit_code == 0, report.summary
    return store
