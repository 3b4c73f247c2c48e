"""Dumps of fabrics and networks: every key of the reference's ``expected.json`` is checked."""

import json
import re

import numpy as np
import pytest
from readings import read
from shared import shared_exists, shared_path

from workbench.kernels.grid import increases
from workbench.model.context import Columns, Context
from workbench.model.metric import find
from workbench.readers.registry import recognise
from workbench.readers.source import open_source
from workbench.timebase import format_us, parse_time

FOLDERS = ("ethtool_S", "rdma_stat", "ib_perfquery", "ib_topology", "ibdiagnet", "mlxlink", "ufm", "lldp")
DEVICE = Columns(roles={"device": "=mlx5_0"})
STATED = Context(host="node-x", zone="Europe/Berlin", taken_at_us=parse_time("2026-01-01T00:00:00Z"), columns=DEVICE)
READERS = {"ethtool_S": "ethtool_s", "ibswinfo_unmanaged.out": "ibswinfo"}


def cases():
    if not shared_exists("formats"):
        return [pytest.param("", "", {}, marks=pytest.mark.skip("reference data are not here; set WORKBENCH_SHARED"))]
    return [
        pytest.param(folder, file, expected, id=f"{folder}/{file}")
        for folder in FOLDERS
        for file, expected in json.loads(shared_path("formats", folder, "expected.json").read_text()).items()
    ]


def text_of(folder, file):
    return shared_path("formats", folder, file).read_text()


def reading_of(folder, file):
    path = shared_path("formats", folder, file)
    with open_source(path) as source:
        found = recognise(source.head(), STATED)
    assert found is not None
    assert found[0].name == READERS.get(file, READERS.get(folder, folder)), found[1].rule
    return read(found[0], path, STATED)


@pytest.mark.parametrize(("folder", "file", "expected"), cases())
def test_every_stated_fact_is_read(folder, file, expected):
    path, reading = shared_path("formats", folder, file), reading_of(folder, file)
    checks = SWINFO if file == "ibswinfo_unmanaged.out" else CHECKS[folder]
    for key, value in expected.items():
        if key == "bytes":
            assert path.stat().st_size == value
        elif key == "ends_with_newline":
            assert path.read_bytes().endswith(b"\n") == value
        else:
            checks[key](reading, value, file)
    assert file.endswith(".json") or reading.records == len(path.read_bytes().splitlines())


def _is(told):
    def check(reading, value, file):
        assert told(reading) == value

    return check


def _nonempty(folder, *, rejects=0):
    def check(reading, count, file):
        assert sum(bool(line.strip()) for line in text_of(folder, file).splitlines()) == count
        assert reading.records - reading.skips().get("blank", 0) == count
        assert reading.rejects().height == (rejects(file) if callable(rejects) else rejects)

    return check


def _values(device=None, prefix=""):
    """Check values by name of the metric; as many ports as the file has may hold the first of them."""

    def check(reading, told, file):
        for name, value in told.items():
            assert reading.has("samples", {"metric": f"{prefix}{name}", "value": float(value)}), name

    return check


def _stamps(place):
    def check(reading, time, file):
        assert format_us(reading.frame("samples")["ts"].dt.epoch("us").sort()[place]) == time

    return check


def _deltas(reading, told, file):
    samples = reading.frame("samples").filter(labels="{}").sort("ts")
    for name, delta in told.items():
        values = samples.filter(metric=f"ethtool.{name}")
        whole = values["value_int"].null_count() == 0
        step = increases(values["value_int" if whole else "value"].to_numpy(), np.array([True, False]))
        # Beyond 2^63 no table of ours holds the integer: the double next to it is known to 2,048.
        assert step[1] == (delta if whole else pytest.approx(delta, abs=1024)), name


def _per_sample(reading, count, file):
    assert reading.frame("samples").group_by("ts").len()["len"].to_list() == [count] * 2


ODD_LINES = ["'''", "SUCCEED_ETHTOOL_S = '''", "'''", "ETHTOOL_S_eth0_1 ="]


def _pasted(reading, count, file):
    """The dump is cut out of a program: four of its lines stand there, and another dump without a time."""
    second = text_of("ethtool_S", file).split("NIC statistics:")[2].split("'''")[0].strip().splitlines()
    assert reading.records - reading.skips()["blank"] == count
    refused = reading.rejects()
    assert refused.filter(reason="no line of ethtool -S")["text"].to_list() == ODD_LINES
    assert refused.filter(curable="interval").height == len(second) == refused.height - len(ODD_LINES)


def _blocks(reading, count, file):
    """The second block, behind the lines of the program, is not counted."""
    first = text_of("ethtool_S", file).split("'''")[0]
    assert first.count("NIC statistics:") == count
    assert reading.rows == len(first.strip().splitlines()) - count


ETHTOOL = {
    "samples": _is(lambda reading: reading.frame("samples")["ts"].n_unique()),
    "host": _is(lambda reading: reading.frame("samples")["host"].unique().item()),
    "interface": _is(lambda reading: reading.frame("samples")["device"].unique().item()),
    "counters_per_sample": _per_sample,
    "first_time": _stamps(0),
    "last_time": _stamps(-1),
    "delta": _deltas,
    "nonempty_lines": _pasted,
    "blocks": _blocks,
    "exact": _values(prefix="ethtool."),
}


def _rdma_values(reading, told, file):
    for name, value in told.items():
        device, metric = name.split()
        assert reading.has("samples", {"device": f"{device}/1", "metric": metric, "value_int": value})


RDMA = {
    "links": _is(lambda reading: sorted(reading.frame("samples")["device"].unique().to_list())),
    "exact": _rdma_values,
}


def _headers(reading, told, file):
    ports = {f"lid:{lid}/{port}" for lid, port in re.findall(r"Lid (\d+) port (\d+)", " ".join(told))}
    assert [f"# {line}" for line in told] == [
        line for line in text_of("ib_perfquery", file).splitlines() if line[0:1] == "#"
    ]
    assert set(reading.frame("samples")["device"]) == ports


def _counted(reading, count, file):
    """Each counter is a sample; what selects counters is none."""
    selected = text_of("ib_perfquery", file).count("Select")
    assert reading.rows == reading.count("samples") == count - selected


def _perf_values(reading, told, file):
    for name, value in told.items():
        if "Select" in name:
            assert not reading.has("samples", {"metric": name}), "it says which counters follow"
        else:
            assert reading.has("samples", {"metric": name, "value_int": int(value), "device": _first_port(file)})


def _first_port(file):
    lid, port = re.search(r"Lid (\d+) port (\d+)", text_of("ib_perfquery", file)).groups()
    return f"lid:{lid}/{port}"


PERFQUERY = {
    "port_blocks": _is(lambda reading: reading.skips()["header"]),
    "headers": _headers,
    "counters": _counted,
    "exact": _perf_values,
    "nonempty_lines": _nonempty("ib_perfquery"),
}


def _switch(reading, told, file):
    attributes = json.loads(reading.frame("entities").filter(device_kind="switch")["attributes"].item())
    assert (attributes["serial"], attributes["firmware"]) == (told["serial"], told["firmware"])
    for psu in ("0", "1"):
        assert reading.has(
            "samples", {"metric": "ibswinfo.power", "labels": {"psu": psu}, "value": told[f"PSU{psu} W"], "unit": "W"}
        )
    assert reading.has("samples", {"metric": "ibswinfo.temperature", "value": told["temp C"], "unit": "C"})
    assert reading.has("samples", {"metric": "ibswinfo.fan", "labels": {"fan": "1"}, "value": told["fan#1 rpm"]})
    assert reading.has("events", {"kind": "sensor", "message": f"fan status: {told['fan status']}"})
    days, hours, minutes, seconds = (int(part) for part in re.findall(r"\d+", told["uptime"]))
    assert reading.has(
        "samples", {"metric": "ibswinfo.uptime", "value": days * 86400.0 + hours * 3600 + minutes * 60 + seconds}
    )
    assert set(told) == {"serial", "firmware", "PSU0 W", "PSU1 W", "temp C", "fan#1 rpm", "fan status", "uptime"}


SWINFO = {
    "port_blocks": _is(lambda reading: reading.frame("samples").filter(device_kind="port").height),
    "headers": _is(lambda reading: reading.frame("samples").filter(device_kind="port")["device"].to_list()),
    "counters": _is(lambda reading: reading.frame("samples").filter(kind="counter").height),
    "exact": _switch,
    "nonempty_lines": _nonempty("ib_perfquery"),
}


def _connected(reading, count, file):
    """Links that are told from both ends are told once: three of the seven lines are such repetitions."""
    lines = [line for line in text_of("ib_topology", file).splitlines() if " - " in line]
    assert len(lines) == count
    ends = {frozenset(re.findall(r"(\d+) (0x\w+)", line)) for line in lines}
    assert reading.frame("links").filter(relation="connected").height == len(ends)


def _unconnected(reading, count, file):
    links = reading.frame("links").filter(relation="connected")
    joined = {*links["device"], *links["to_device"]}
    ports = set(reading.frame("entities").filter(device_kind="port")["device"])
    assert len(ports - joined) == count


def _cables(reading, count, file):
    """Each cable between nodes of this file stands there twice, the one to the aggregation node once."""
    assert reading.rows == count + 18, "and the nodes"
    assert reading.frame("links").filter(relation="connected").height == (count + 1) / 2


def _adapters(reading, count, file):
    """And the aggregation node, which only the switch that it is part of tells of."""
    nics = reading.frame("entities").filter(device_kind="nic")
    assert nics["attributes"].str.contains('"ports"').sum() == count
    assert nics.height == count + 1


TOPOLOGY = {
    "link_lines": _is(lambda reading: reading.rows),
    "connected": _connected,
    "unconnected": _unconnected,
    "switches": _is(lambda reading: reading.frame("entities").filter(device_kind="switch").height),
    "cas": _adapters,
    "port_lines": _cables,
    "generated_local": _is(lambda reading: next(iter(reading.notes), None)),
}


def _sections(reading, told, file):
    lines = text_of("ibdiagnet", file)
    for name, count in told.items():
        assert len(lines.split(f"START_{name}\n")[1].split(f"\nEND_{name}")[0].splitlines()) - 1 == count
    assert reading.rows == sum(told.values())


def _guid(short):
    """``fc6a..00 port1``: the first and the last digits of a GUID."""
    first, last = short.split("..")
    return {"fc6a": "0xfc6a1c0300a00000", "9c05": "0x9c0591030011aa00"}[first][: -len(last)] + last


def _diagnosed(reading, told, file):
    for name, value in told.items():
        node, port, metric = name.split()
        device = f"{_guid(node)}/{port.removeprefix('port')}"
        assert reading.has("samples", {"device": device, "metric": metric}) == (value is not None)
        assert value is None or reading.has("samples", {"device": device, "metric": metric, "value_int": value})


def _saturated(reading, told, file):
    """These are at the maximum at which the catalogue says that they stick; of the same port one more is, unstated."""
    found = {
        (device, metric, value)
        for device, metric, value in reading.frame("samples").select("device", "metric", "value_int").rows()
        if find(metric).saturates and value == 2 ** find(metric).bits - 1
    }
    for line in told:
        place, counters = line.split(": ")
        node, port = place.split()
        device = f"{_guid(node)}/{port.removeprefix('port')}"
        full = {(device, name, int(value)) for name, value in (part.split() for part in counters.split(", "))}
        assert found - full == {(device, "LinkErrorRecoveryCounter", 255)}
        assert full <= found


def _run_time(reading, local, file):
    utc = {"2025-11-02 03:20:11": "2025-11-02T02:20:11Z"}[local]
    assert {format_us(us) for us in reading.frame("samples")["ts"].dt.epoch("us")} == {utc}, "of Berlin, as stated"


IBDIAGNET = {"sections": _sections, "run_time_local": _run_time, "exact": _diagnosed, "saturated": _saturated}

LANES = {
    "Raw Physical Errors Per Lane": "raw_physical_errors",
    "Rx Power dBm": "rx_power_current",
    "Tx Power dBm": "tx_power_current",
    "Bias mA": "bias_current",
}
ONES = {
    "Effective Physical BER": "effective_physical_ber",
    "Link Down Counter": "link_down_counter",
    "Voltage mV": "voltage",
}
WORDS = {"Speed": "speed", "Vendor Part Number": "part number"}


def _port_values(reading, told, file):
    attributes = json.loads(reading.frame("entities")["attributes"].item())
    samples = reading.frame("samples")
    for name, value in told.items():
        if name in LANES:
            lanes = samples.filter(metric=f"mlxlink.{LANES[name]}").sort("labels")
            assert lanes["value"].to_list() == value
            assert lanes["labels"].to_list() == [f'{{"lane":"{lane}"}}' for lane in range(len(value))]
        elif name in ONES:
            assert samples.filter(metric=f"mlxlink.{ONES[name]}")["value"].to_list() == [value]
        elif name in WORDS:
            assert attributes[WORDS[name]] == value
        elif name == "Symbol BER":
            assert value == "none observed (15E-255)"
            assert reading.absent()["mlxlink.symbol_ber: no error seen"] == 1
        else:
            assert name == "Temperature"
            assert samples.filter(metric="mlxlink.temperature")["value"].to_list() == [value["value"]]
            limits = (attributes["Temperature low"], attributes["Temperature high"])
            assert tuple(map(float, limits)) == (value["low"], value["high"])


def _not_named(reading, told, file):
    assert told.startswith("not named in the output")
    path = shared_path("formats", "mlxlink", file)
    with open_source(path) as source:
        reader, _ = recognise(source.head(), Context())
    unstated = read(reader, path, Context(host="node-x", taken_at_us=0))
    assert set(unstated.rejects()["curable"]) == {"map"}


MLXLINK = {
    "sections": _is(lambda reading: reading.skips()["header"] // 2),
    "fields": _is(lambda reading: reading.rows),
    "exact": _port_values,
    "entity": _not_named,
}


def _first_event(reading, local, file):
    first = reading.frame("events").sort("ts")["ts"].dt.epoch("us")[0]
    assert format_us(first + 3_600_000_000).replace("T", " ").removesuffix("Z").startswith(local), (
        "of Berlin, as stated"
    )


def _link_down(reading, told, file):
    found = [
        [device.removeprefix("0x").replace("/", "_"), json.loads(attributes)["computer"]]
        for device, attributes in reading.frame("events")
        .filter(kind="link", code="down")
        .select("device", "attributes")
        .rows()
    ]
    assert found == told


def _down_to_up(reading, seconds, file):
    links = reading.frame("events").filter(kind="link")
    down, up = (links.filter(code=code)["ts"].dt.epoch("us").item() for code in ("down", "up"))
    assert (up - down) / 1e6 == pytest.approx(seconds)


def _ports(reading, told, file):
    assert sorted(reading.frame("samples")["device"].unique()) == sorted(f"{guid}/{port}" for guid, port in told)


def _message_time(reading, local, file):
    """The text beside the epoch is local, of a zone that is not said, and is not what the records are dated by."""
    assert json.loads(text_of("ufm", file))["timestamp"] == local
    assert local[:16] not in {
        format_us(us).replace("T", " ")[:16] for us in reading.frame("samples")["ts"].dt.epoch("us")
    }


UFM = {
    "header_columns": _is(lambda reading: len(text_of("ufm", "events.csv").splitlines()[0].split(","))),
    "data_rows": _is(lambda reading: reading.records - reading.skips()["header"]),
    "events": _is(lambda reading: reading.count("events") + reading.skips()["duplicate"]),
    "distinct_events": _is(lambda reading: reading.count("events")),
    "exact_duplicates": _is(lambda reading: reading.skips()["duplicate"]),
    "first_time_local": _first_event,
    "link_down": _link_down,
    "down_to_up_seconds": _down_to_up,
    "records": _is(lambda reading: reading.rows),
    "ports": _ports,
    "message_time_local": _message_time,
    "first_record_time": _stamps(0),
    "exact_first": _values(),
}


def _seen(reading, told, file):
    links = reading.frame("links").filter(relation="connected").select("device", "to_device").rows()
    assert links == [(local, f"{switch}/{port}") for local, switch, port in told]


def _neighbours(reading, told, file):
    if isinstance(told, list):
        _seen(reading, told, file)
        return
    local = [link for link in reading.frame("links")["to_device"].to_list() if link == "node-x"]
    assert reading.rows == len(local) == told, "two of them call themselves localhost and are joined to nothing"


def _pair(reading, told, file):
    local, remote = told
    links = reading.frame("links").filter(relation="connected")
    ends = [{one, other} for one, other in links.select("device", "to_device").rows()]
    assert any({name.split("/", 1)[1] for name in pair} == {local, remote} for pair in ends)


LLDP = {
    "nonempty_lines": _nonempty("lldp"),
    "neighbours": _neighbours,
    "exact": _pair,
    "vlan": lambda reading, value, file: (
        reading.has("entities", {"attributes": {"vlan": value}}) or pytest.fail("no vlan")
    ),
}

CHECKS = {
    "ethtool_S": ETHTOOL, "rdma_stat": RDMA, "ib_perfquery": PERFQUERY, "ib_topology": TOPOLOGY,
    "ibdiagnet": IBDIAGNET, "mlxlink": MLXLINK, "ufm": UFM, "lldp": LLDP,
}  # fmt: skip
