"""Peak memory of ingesting one large Prometheus text file.

Usage: python benchmarks/ingest_memory.py [--gb 1.0] [--memory 2GB] [--gpus 512]

Writes the text to a temporary folder, ingests it in a process of its own, and prints time, rate,
peak resident memory of that process, and the size of the store. Memory must not grow with the file.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METRICS = (
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", lambda s, g: f"{500 + (s * 7 + g * 13) % 2000 / 10:.3f}"),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", lambda s, g: f"{50 + (s + g) % 30}"),
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", lambda s, g: f"{1980 - (s * g) % 3 * 15}"),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", lambda s, g: f"{(s * 3 + g) % 101}"),
    ("DCGM_FI_DEV_FB_USED", "gauge", lambda _, g: f"{70_000 + g}"),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", lambda s, g: f"{2**53 + s * 6_000_000 + g}"),
    ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", lambda s, _: f"{s // 50}"),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", lambda *_: "0"),
    ("DCGM_FI_PROF_SM_ACTIVE", "gauge", lambda s, g: f"{(s * 17 + g * 3) % 1000 / 1000:.6f}"),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", lambda s, g: f"{(s * 11 + g) % 1000 / 1000:.6f}"),
)


def generate(path: Path, size: float, gpus: int) -> int:
    """Write scrapes of a fleet, one after the other, until the file is large enough; give the samples."""
    labels = [
        f'{{gpu="{g % 8}",UUID="GPU-{g:08x}-0000-0000-0000-000000000000",device="nvidia{g % 8}",Hostname="node{g // 8:04d}"}}'
        for g in range(gpus)
    ]
    scrape = samples = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            stamp = 1_772_323_200_000 + scrape * 10_000
            for name, kind, value in METRICS:
                file.write(f"# HELP {name} x\n# TYPE {name} {kind}\n")
                file.write("".join(f"{name}{labels[g]} {value(scrape, g)} {stamp}\n" for g in range(gpus)))
            samples += gpus * len(METRICS)
            scrape += 1
    return samples


def measure(text: Path, store: Path, memory: str) -> None:
    """Ingest in this process; print what it took as JSON."""
    import workbench as wb
    from workbench.readers.prometheus_text import READER

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin, cpu = time.perf_counter(), time.process_time()
    report = wb.open(store).ingest(text, memory=memory, readers=[READER])
    took, used = time.perf_counter() - begin, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stored = sum(file.stat().st_size for file in (store / "tables" / "gpu").rglob("*.parquet"))
    facts = {
        "samples": report.total("samples"), "seconds": took, "cpu_s": used, "peak_mb": peak / 1024, "before_mb": before / 1024,
        "stored_bytes": stored, "status": report.files[0].status,
    }  # fmt: skip
    print(json.dumps(facts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gb", type=float, default=1.0)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--gpus", type=int, default=512)
    parser.add_argument("--measure", nargs=2, metavar=("TEXT", "STORE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(Path(options.measure[0]), Path(options.measure[1]), options.memory)
        return
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "dcgm.prom"
        samples = generate(text, options.gb * 1e9, options.gpus)
        command = [
            sys.executable,
            __file__,
            "--memory",
            options.memory,
            "--measure",
            str(text),
            str(Path(folder) / "store"),
        ]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        facts = json.loads(run.stdout.splitlines()[-1])
        size = text.stat().st_size
    assert facts["samples"] == samples, (facts, samples)
    print(f"text {size / 1e9:.2f} GB, {samples / 1e6:.1f} M samples, --memory {options.memory}")
    print(
        f"time {facts['seconds']:.1f} s (CPU {facts['cpu_s']:.1f} s): {size / facts['seconds'] / 1e6:.0f} MB/s, {samples / facts['seconds'] / 1e6:.2f} M samples/s"
    )
    print(f"peak resident memory {facts['peak_mb']:.0f} MB ({facts['before_mb']:.0f} MB before the ingest)")
    print(f"store {facts['stored_bytes'] / 1e6:.1f} MB: {facts['stored_bytes'] / samples:.2f} B/sample")


if __name__ == "__main__":
    main()
