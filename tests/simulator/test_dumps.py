"""The dumps hold what the truth says: read back by plain code that shares nothing with the readers."""

import csv
import gzip
import hashlib
import io
import json
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import zstandard

from workbench.errors import UnknownNameError, UsageError
from workbench.model.mapping import load_mapping
from workbench.simulator.dumps import simulate

SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)\{(.*)\} (\S+) (\d{13})$")
LABEL = re.compile(r'(\w+)="([^"]*)"')
CHICAGO, DENVER = ZoneInfo("America/Chicago"), ZoneInfo("America/Denver")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return simulate(tmp_path_factory.mktemp("sim") / "traps", seed=11, scenario="traps", hosts=16, days=1.5)


def read(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data).decode()
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read().decode()
    return data.decode()


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def exposition(path: Path) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Values by metric and GPU index (or instance), as (seconds, value)."""
    series: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for line in read(path).splitlines():
        if line.startswith("#"):
            continue
        name, labels, value, stamp = SAMPLE.match(line).groups()
        who = dict(LABEL.findall(labels))
        series.setdefault((name, who.get("gpu", who.get("instance"))), []).append((int(stamp) / 1e3, float(value)))
    return series


@cache
def dcgm_of(made, host: str) -> dict[tuple[str, str], list[tuple[float, float]]]:
    (path,) = (made.path / "dumps" / "dcgm").glob(f"{host}.prom.*")
    return exposition(path)


def test_every_sample_is_there_with_names_and_times(made):
    lines = [
        line
        for path in sorted((made.path / "dumps").glob("*/*.prom.*"))
        for line in read(path).splitlines()
        if not line.startswith("#")
    ]
    assert len(lines) == made.samples
    for host in ("dcgm/node001", "dcgm/node002", "node_exporter/node003"):
        (path,) = (made.path / "dumps").glob(f"{host}.*")
        for points in exposition(path).values():
            stamps = np.array([stamp for stamp, _ in points])
            assert (np.diff(stamps) > 50).all()
            assert np.median(np.diff(stamps)) == pytest.approx(60, abs=1)
    truth = made.truth
    labels = dict(LABEL.findall(read(next((made.path / "dumps/dcgm").glob("node003.*"))).splitlines()[2]))
    assert labels["Hostname"] == "node003"
    assert re.fullmatch(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", labels["UUID"])
    assert labels["pci_bus_id"] == "00000000:18:00.0"
    text = read(next((made.path / "dumps/node_exporter").glob("node003.*")))
    assert 'instance="node003.hpc.example.com:9100"' in text
    names = {entry["raw_name"] for entry in truth["signals"] if entry["source"] in ("dcgm", "node")}
    found = {
        name
        for pattern in ("dcgm/node001.*", "node_exporter/node001.*")
        for name, _ in exposition(next((made.path / "dumps").glob(pattern)))
    }
    assert names == found


def test_planted_bursts_raise_the_counter_before_their_failures_and_reloads_reset_it(made):
    rises, others, resets = [], [], 0
    for failure in made.truth["failures"]:
        points = np.array(dcgm_of(made, failure["host"])["DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", str(failure["gpu"])])
        at = moment(failure["kernel_log_says"])
        window = points[(points[:, 0] > at - 90 * 60) & (points[:, 0] < at)]
        steps = np.diff(window[:, 1])
        rise = steps[steps > 0].sum()
        lead = failure["lead_s"].get("gpu.ecc_sbe_total")
        (rises if lead else others).append(rise)
        if lead:
            before = window[window[:, 0] < at - lead - 120]
            assert before.size == 0 or np.ptp(before[:, 1]) < rise
        after = points[(points[:, 0] > at + 500) & (points[:, 0] < at + 1500)]
        if after.size and window.size:
            resets += after[-1, 1] < max(window[-1, 1], 10)
    assert min(rises) > 10
    assert np.median(others) < 5
    assert resets >= 0.8 * len(made.truth["failures"])
    assert not any("gpu.ecc_sbe_total" in f["lead_s"] for f in made.truth["failures"] if f["kind"] == "bus")


def kernel_moments(made, host: str) -> list[tuple[float, str]]:
    """Messages of one host with UTC seconds, from whichever of the three forms holds it."""
    folder = made.path / "dumps"
    local, iso = folder / f"kernel/{host}.dmesg.txt", folder / f"kernel/{host}.dmesg.iso.txt"
    found = []
    if local.exists():
        for line in local.read_text().splitlines():
            stamp, text = re.match(r"\[(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\] (.*)", line).groups()
            naive = datetime.strptime(stamp, "%a %b %d %H:%M:%S %Y")  # noqa: DTZ007
            found.append((naive.replace(tzinfo=CHICAGO).timestamp(), text))
    elif iso.exists():
        for line in iso.read_text().splitlines():
            stamp, text = re.match(r"kern  :\w+ *: (\S+) (.*)", line).groups()
            found.append((datetime.fromisoformat(stamp.replace(",", ".")).timestamp(), text))
    else:
        for line in (folder / "syslog/messages").read_text().splitlines():
            stamp, name, text = re.match(
                r"(\w{3} [ \d]\d \d\d:\d\d:\d\d) (\S+) kernel: \[ *\d+\.\d{6}\] (.*)", line
            ).groups()
            if name == host.upper():
                naive = datetime.strptime(f"2026 {stamp}", "%Y %b %d %H:%M:%S")  # noqa: DTZ007
                found.append((naive.replace(tzinfo=CHICAGO).timestamp(), text))
    return found


def test_every_failure_is_in_the_kernel_log_of_its_host(made):
    assert {f["kind"] for f in made.truth["failures"]} == {"memory", "bus"}
    for failure in made.truth["failures"]:
        at = moment(failure["kernel_log_says"])
        near = [text for stamp, text in kernel_moments(made, failure["host"]) if -1.1 < stamp - at < 2]
        codes = [
            int(m[2])
            for text in near
            if (m := re.search(r"NVRM: Xid \(PCI:([\da-f:]+)\): (\d+),", text)) and m[1] == failure["pci"]
        ]
        assert codes[: len(failure["xids"])] == failure["xids"]
        assert any(failure["uuid"] in text for text in near)


def test_one_clock_is_ahead_in_all_that_its_host_stamps(made):
    clocks = made.truth["clocks"]
    ahead = [f for f in made.truth["failures"] if f["host"] == clocks["fast_host"]]
    assert ahead
    for failure in made.truth["failures"]:
        shift = moment(failure["kernel_log_says"]) - moment(failure["true"])
        assert shift == (clocks["fast_by_s"] if failure["host"] == clocks["fast_host"] else 0)
    start = moment(made.truth["start"])
    first = dcgm_of(made, clocks["fast_host"])["DCGM_FI_DEV_GPU_UTIL", "0"][0][0]
    assert first - start >= 90 or first - start > 3600  # unless the first hour is a gap


def test_one_gpu_makes_nearly_all_xid_31(made):
    lemon = made.truth["lemon"]
    counts: dict[tuple[str, str], int] = {}
    for number in range(1, 17):
        host = f"node{number:03d}"
        for _, text in kernel_moments(made, host):
            if m := re.search(r"Xid \(PCI:([\da-f:]+)\): 31,", text):
                counts[host, m[1]] = counts.get((host, m[1]), 0) + 1
    (host, _), most = max(counts.items(), key=lambda item: item[1])
    assert host == lemon["host"]
    assert most / sum(counts.values()) > 0.9


def test_accounting_has_the_stopped_jobs_in_local_time(made):
    with (made.path / "dumps/slurm/sacct.txt").open() as file:
        rows = list(csv.DictReader(file, delimiter="|"))
    jobs = {row["JobID"]: row for row in rows}
    for failure in made.truth["failures"]:
        row = jobs[failure["job"]]
        assert row["State"] in ("NODE_FAIL", "FAILED")
        end = datetime.fromisoformat(row["End"]).replace(tzinfo=CHICAGO).timestamp()
        assert end - moment(failure["slurm_says"]) == pytest.approx(10, abs=11)
        late = moment(failure["slurm_says"]) - moment(failure["true"])
        assert (row["State"] == "NODE_FAIL") == (late > 0)
        inside = [int(part) for part in re.findall(r"\d+", row["NodeList"])]
        number = int(failure["host"].removeprefix("node"))
        spans = [
            tuple(map(int, p.split("-"))) if "-" in p else (int(p), int(p))
            for p in re.search(r"\[?([\d,-]+)\]?$", row["NodeList"])[1].split(",")
        ]
        assert any(low <= number <= high for low, high in spans)
        assert sum(high - low + 1 for low, high in spans) == int(row["NNodes"])
        assert inside
    assert {row["State"] for row in rows} >= {"COMPLETED", "RUNNING"}
    assert len([row for row in rows if "." in row["JobID"]]) == 3 * len(
        [row for row in rows if "." not in row["JobID"]]
    )


def test_tables_of_the_site(made):
    topology = list(csv.DictReader(io.StringIO(read(made.path / "dumps/topology.csv"))))
    assert [row["host"] for row in topology] == [f"node{n:03d}" for n in range(1, 17)]
    assert {row["rack"] for row in topology} == {"r01", "r02", "r03", "r04"}
    rooms = list(csv.DictReader(io.StringIO(read(made.path / "dumps/facility/rack_environment.csv"))))
    assert set(rooms[0]) == {"Time", "Rack", "Inlet Temperature [°C]", "Coolant Flow [l/min]"}
    first = datetime.strptime(rooms[0]["Time"], "%m/%d/%Y %H:%M").replace(tzinfo=DENVER)
    assert first.astimezone(UTC).isoformat().replace("+00:00", "Z") == made.truth["start"]
    assert len(rooms) == 4 * 216
    power = list(csv.DictReader(io.StringIO(read(made.path / "dumps/bmc/power_15min.csv.gz"))))
    assert {row["Server"] for row in power} == {f"node{n:03d}.hpc.example.com" for n in range(1, 17)}
    assert all(datetime.fromisoformat(row["Interval start"]).minute % 15 == 0 for row in power)


def test_mapping_states_host_zone_and_year_of_every_file_that_needs_them(made):
    mapping = load_mapping(made.path / "mapping.toml")
    contexts = {
        name: mapping.context_for(name.removeprefix("dumps/")) for name in made.files if name.startswith("dumps/")
    }
    local = contexts["dumps/kernel/node001.dmesg.txt"]
    assert (local.host, local.zone) == ("node001", "America/Chicago")
    assert contexts["dumps/kernel/node002.dmesg.iso.txt"].host == "node002"
    assert (contexts["dumps/syslog/messages"].year, contexts["dumps/syslog/messages"].zone) == (2026, "America/Chicago")
    assert contexts["dumps/slurm/sacct.txt"].zone == "America/Chicago"
    assert contexts["dumps/facility/rack_environment.csv"].columns.roles["rack"] == "Rack"
    assert contexts["dumps/bmc/power_15min.csv.gz"].columns.roles["host"] == "Server"
    assert contexts["dumps/dcgm/node001.prom.gz"].zone is None


def test_truth_says_what_a_sound_analysis_may_answer(made):
    truth = json.loads((made.path / "truth.json").read_text())
    assert truth == json.loads(json.dumps(made.truth))
    table = made.table()
    right = table.filter(table["expected"] == "SUPPORTED")
    assert sorted(zip(right["outcome"], right["signal"], strict=True)) == [
        ("xid:48,94,95", "gpu.ecc_sbe_total"),
        ("xid:79", "gpu.pcie_replay_total"),
    ]
    assert table.height == 2 * len(truth["signals"])
    assert "traps, seed 11: 16 hosts" in str(made)


def test_null_scenario_plants_no_precursor(tmp_path):
    made = simulate(tmp_path / "n", seed=1, scenario="null", hosts=8, days=1, step="10m")
    assert not made.table()["is_precursor"].any()
    assert not made.table()["expected"].str.contains("^SUPPORTED$").any()
    assert all(not failure["lead_s"] for failure in made.truth["failures"])


def test_same_arguments_same_bytes(tmp_path):
    def digests(name):
        made = simulate(tmp_path / name, seed=5, hosts=8, days=1, step="5m")
        return {file: hashlib.sha256((made.path / file).read_bytes()).hexdigest() for file in made.files}

    assert digests("a") == digests("b")


def test_wrong_use_is_told(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    with pytest.raises(UsageError, match="not an empty folder"):
        simulate(tmp_path / "full", seed=1)
    with pytest.raises(UnknownNameError, match="first_incident"):
        simulate(tmp_path / "a", seed=1, scenario="first_incidnt")
    with pytest.raises(UsageError, match="whole number of minutes"):
        simulate(tmp_path / "b", seed=1, step="90s")
    with pytest.raises(UsageError, match="too small"):
        simulate(tmp_path / "c", seed=1, hosts=0)
