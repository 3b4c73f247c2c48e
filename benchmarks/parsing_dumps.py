"""Large dumps to time readers on, written as their tools write them: a fleet of GPUs, some faults."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

START_S = 1_772_323_200
METRICS = (
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", lambda s, g: f"{500 + (s * 7 + g * 13) % 2000 / 10:.3f}"),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", lambda s, g: f"{50 + (s + g) % 30}"),
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", lambda s, g: f"{1980 - (s * g) % 3 * 15}"),
    ("DCGM_FI_DEV_FB_USED", "gauge", lambda _, g: f"{70_000 + g}"),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", lambda s, g: f"{2**53 + s * 6_000_000 + g}"),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", lambda *_: "0"),
    ("DCGM_FI_PROF_SM_ACTIVE", "gauge", lambda s, g: f"{(s * 17 + g * 3) % 1000 / 1000:.6f}"),
)
GPUS = 256


def _uuid(g: int) -> str:
    return f"GPU-{g:08x}-0000-0000-0000-000000000000"


def _labels(g: int) -> str:
    return (
        f'gpu="{g % 8}",UUID="{_uuid(g)}",pci_bus_id="00000000:{g % 8 + 16:02X}:00.0",device="nvidia{g % 8}",'
        f'modelName="NVIDIA H100 80GB HBM3",Hostname="node{g // 8:04d}"'
    )


def prometheus_text() -> Iterator[str]:
    labels = [_labels(g) for g in range(GPUS)]
    for s in range(10**9):
        stamp = (START_S + s * 10) * 1000
        for name, kind, value in METRICS:
            yield f"# HELP {name} x\n# TYPE {name} {kind}\n"
            yield "".join(f"{name}{{{labels[g]}}} {value(s, g)} {stamp}\n" for g in range(GPUS))


def promtool_tsdb_dump() -> Iterator[str]:
    for block in range(10**9):
        for g in range(GPUS):
            labels = _labels(g).replace(",", ", ")
            for name, _, value in METRICS:
                head = f'{{__name__="{name}", {labels}}} '
                yield "".join(
                    f"{head}{value(s, g)} {(START_S + s * 10) * 1000}\n" for s in range(block * 60, block * 60 + 60)
                )


def prometheus_query_json() -> Iterator[str]:
    yield '{"status":"success","data":{"resultType":"matrix","result":['
    mark = ""
    for block in range(10**9):
        for g in range(GPUS):
            for name, _, value in METRICS:
                pairs = ",".join(f'[{START_S + s * 10},"{value(s, g)}"]' for s in range(block * 500, block * 500 + 500))
                labels = _labels(g).replace("=", ":").replace(",", ',"').replace(":", '":', 0)
                told = ",".join(
                    f'"{part.split(":")[0]}":{part.split(":", 1)[1]}' for part in labels.replace(',"', ",").split(",")
                )
                yield f'{mark}{{"metric":{{"__name__":"{name}",{told}}},"values":[{pairs}]}}'
                mark = ","


def influx_line_protocol() -> Iterator[str]:
    for s in range(10**9):
        stamp = (START_S + s * 10) * 10**9
        yield "".join(
            f"nvidia_smi,host=node{g // 8:04d},index={g % 8},uuid={_uuid(g)} temperature_gpu={50 + (s + g) % 30}i,"
            f"power_draw={500 + (s * 7 + g * 13) % 2000 / 10:.2f},utilization_gpu={(s + g) % 101}i,memory_used={70_000 + g}i {stamp}\n"
            for g in range(GPUS)
        )


def kernel_log() -> Iterator[str]:
    for n in range(10**9):
        at = f"[{100 + n * 0.01:12.6f}]"
        yield (
            f"{at} NVRM: Xid (PCI:0000:{n % 8 + 16:02x}:00): 79, pid=1, GPU has fallen off the bus.\n"
            if n % 500 == 0
            else f"{at} IPv6: ADDRCONF(NETDEV_CHANGE): veth{n % 977:04x}: link becomes ready for the container network {n}\n"
        )


def journald_json() -> Iterator[str]:
    for n in range(10**9):
        text = (
            f"NVRM: Xid (PCI:0000:{n % 8 + 16:02x}:00): 79, pid=1, gone"
            if n % 500 == 0
            else f"Started session {n} of user u{n % 97}."
        )
        kernel = n % 500 == 0
        yield (
            f'{{"__CURSOR":"s=a;i={n:x}","__REALTIME_TIMESTAMP":"{START_S * 10**6 + n * 1000}","__MONOTONIC_TIMESTAMP":"{n * 1000 + 5}",'
            f'"_BOOT_ID":"0123456789abcdef0123456789abcdef","_TRANSPORT":"{"kernel" if kernel else "syslog"}","_HOSTNAME":"node{n % 32:04d}",'
            f'"PRIORITY":"6","SYSLOG_IDENTIFIER":"{"kernel" if kernel else "systemd-logind"}","_PID":"{n % 9999}","_SYSTEMD_UNIT":"systemd-logind.service",'
            f'"_MACHINE_ID":"0123456789abcdef0123456789abcdef","SYSLOG_FACILITY":"3","_UID":"0","_GID":"0","_CAP_EFFECTIVE":"1fffffffff","MESSAGE":"{text}"}}\n'
        )


def slurm_sacct() -> Iterator[str]:
    yield "JobID|JobIDRaw|JobName|User|State|ExitCode|Submit|Start|End|NodeList|AllocTRES\n"
    for n in range(10**9):
        day, clock = (
            f"2026-{n // 86400 % 12 + 1:02d}-{n // 7200 % 28 + 1:02d}",
            f"{n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d}",
        )
        at = f"{day}T{clock}"
        yield (
            f"{n}|{n}|train-{n % 50}|u{n % 97}|COMPLETED|0:0|{at}|{at}|{at}|node[{n % 900:04d}-{n % 900 + 7:04d}]|billing=64,cpu=64,gres/gpu=8,mem=512G,node=8\n"
            f"{n}.batch|{n}.batch|batch||COMPLETED|0:0|{at}|{at}|{at}|node{n % 900:04d}|cpu=8,mem=64G,node=1\n"
        )


def _wall(s: int) -> str:
    return f"{s // 3600 % 24:02d}:{s // 60 % 60:02d}:{s % 60:02d}"


def nvidia_smi_csv() -> Iterator[str]:
    yield "timestamp, index, uuid, pci.bus_id, temperature.gpu, power.draw [W], utilization.gpu [%], memory.used [MiB], clocks.current.sm [MHz]\n"
    for s in range(10**9):
        day = f"2026/03/{s * 10 // 86400 % 28 + 1:02d}"
        yield "".join(
            f"{day} {_wall(s * 10)}.{g:03d}, {g}, {_uuid(g)}, 00000000:{g + 16:02X}:00.0, {50 + (s + g) % 30}, "
            f"{500 + (s * 7 + g * 13) % 2000 / 10:.2f} W, {(s + g) % 101} %, {70_000 + g} MiB, 1980 MHz\n"
            for g in range(8)
        )


def generic_csv() -> Iterator[str]:
    yield "time,host,gpu,power_w,temperature_c,util_percent,sm_clock_mhz,energy_mj\n"
    for s in range(10**9):
        day = f"2026-{s * 10 // 86400 // 28 % 12 + 1:02d}-{s * 10 // 86400 % 28 + 1:02d}"
        yield "".join(
            f"{day}T{_wall(s * 10)}Z,node{g // 8:04d},{g % 8},{500 + (s * 7 + g * 13) % 2000 / 10:.1f},{50 + (s + g) % 30},"
            f"{(s + g) % 101},1980,{2**53 + s * 6_000_000 + g}\n"
            for g in range(GPUS)
        )


def json_lines() -> Iterator[str]:
    for s in range(10**9):
        day = f"2026-{s * 10 // 86400 // 28 % 12 + 1:02d}-{s * 10 // 86400 % 28 + 1:02d}"
        yield "".join(
            f'{{"time":"{day}T{_wall(s * 10)}Z","host":"node{g // 8:04d}","gpu":{g % 8},"power_w":{500 + (s * 7 + g * 13) % 2000 / 10:.1f},'
            f'"temperature_c":{50 + (s + g) % 30},"util_percent":{(s + g) % 101},"energy_mj":{2**53 + s * 6_000_000 + g}}}\n'
            for g in range(GPUS)
        )


#: Format, suffix, generator, what closes the document.
DUMPS: dict[str, tuple[str, Callable[[], Iterator[str]], str]] = {
    "prometheus_text": ("prom", prometheus_text, ""),
    "promtool_tsdb_dump": ("txt", promtool_tsdb_dump, ""),
    "prometheus_query_json": ("json", prometheus_query_json, "]}}"),
    "influx_line_protocol": ("lp", influx_line_protocol, ""),
    "kernel_log": ("log", kernel_log, ""),
    "journald_json": ("jsonl", journald_json, ""),
    "slurm_sacct": ("txt", slurm_sacct, ""),
    "nvidia_smi_csv": ("csv", nvidia_smi_csv, ""),
    "generic_csv": ("csv", generic_csv, ""),
    "json_lines": ("jsonl", json_lines, ""),
    "parquet": ("parquet", generic_csv, ""),
}


def write(name: str, folder: Path, size: int) -> Path:
    """Write a dump of about ``size`` bytes; a Parquet file has the rows of a CSV file of that size."""
    suffix, make, end = DUMPS[name]
    path = folder / f"{name}_{size // 10**6}.{'csv' if name == 'parquet' else suffix}"
    with path.open("w", encoding="utf-8") as file:
        for part in make():
            file.write(part)
            if file.tell() >= size:
                break
        file.write(end)
    return _parquet(path) if name == "parquet" else path


def _parquet(path: Path) -> Path:
    import polars as pl

    frame = pl.read_csv(path).with_columns(pl.col("time").str.to_datetime(time_unit="us", time_zone="UTC"))
    frame.write_parquet(path.with_suffix(".parquet"), row_group_size=100_000)
    path.unlink()
    return path.with_suffix(".parquet")


if __name__ == "__main__":
    for name_ in DUMPS:
        told = io.StringIO()
        for part_ in DUMPS[name_][1]():
            told.write(part_)
            if told.tell() > 300:
                break
        print(f"== {name_}\n{told.getvalue()[:300]}")
