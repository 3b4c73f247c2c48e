"""A line that no rule knows precedes failures: its template is found, judged, and named in words."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import workbench as wb
from workbench.errors import SpecificationError, UnknownNameError
from workbench.model.selector import Selector
from workbench.panel.load import fleets

T0 = datetime(2026, 3, 1, tzinfo=UTC)
HOSTS, HOURS, FAILURES = 24, 240, 60
BANKS = ["red", "green", "blue", "amber", "violet", "grey", "pink"]


def scrubbed(rng):
    return f"bmcd: cell {rng.integers(999)} of bank {rng.choice(BANKS)} was scrubbed late"


def lines_of(rng):
    """Give (host, minute, text): failures, what came 12 to 40 minutes before most, and that and chatter for nothing."""
    said = []
    for number in range(FAILURES):
        host, minute = int(rng.integers(HOSTS)), 200 + number * (HOURS * 60 - 400) // FAILURES + int(rng.integers(60))
        said.append((host, minute, "kernel: NVRM: Xid (PCI:0000:18:00): 79, pid=7, GPU has fallen off the bus."))
        if number % 6:
            said += [(host, minute - int(rng.integers(12, 40)), scrubbed(rng)) for _ in range(3)]
    for host in range(HOSTS):
        chatter = [scrubbed(rng) for _ in range(12)]
        chatter += [f"cron[{rng.integers(99)}]: session {rng.integers(9999)} closed" for _ in range(300)]
        chatter += [f"chronyd: selected source 10.0.{rng.integers(9)}.1" for _ in range(100)]
        said += [(host, int(rng.integers(HOURS * 60)), text) for text in chatter]
        said += [(host, edge, "kernel: a line at the edge of the log") for edge in (0, HOURS * 60)]
    said.append((3, 77, "kernel: something that was said once"))
    return said


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    (folder / "dumps").mkdir()
    said = sorted(lines_of(np.random.default_rng(7)), key=lambda line: line[1])
    text = [
        f"{(T0 + timedelta(minutes=minute, seconds=host)).isoformat()} node{host:02d} {words}\n"
        for host, minute, words in said
    ]
    (folder / "dumps" / "messages").write_text("".join(text))
    racks = "".join(f"node{host:02d},r{host // 4}\n" for host in range(HOSTS))
    (folder / "dumps" / "topology.csv").write_text("host,rack\n" + racks)
    report = wb.open(folder / "store").ingest([folder / "dumps"])
    assert report.exit_code == 0, report.summary
    return folder / "store"


@pytest.fixture(scope="module")
def planted(path):
    table = wb.templates(wb.open(path)).table()
    (found,) = table.filter(table["template"].str.contains("scrubbed late"))["template_id"]
    return found


def test_a_screen_finds_the_planted_template(path, planted):
    store = wb.open(path)
    found = wb.screen(store, outcome="xid:79", before="2h", seed=7)
    words = {verdict.signal: verdict for verdict in found.verdicts}
    assert words[f"template:{planted}"].word == "SUPPORTED", words[f"template:{planted}"].sentence
    assert words[f"template:{planted}"].raw_names == ("cell <num> of bank <*> was scrubbed late",)
    others = [one for name, one in words.items() if name.startswith("template:") and planted not in name]
    assert len(others) == 3
    assert "SUPPORTED" not in {other.word for other in others}


def test_a_claim_on_it_is_judged(path, planted):
    claim = wb.Hypothesis(name="late scrub", when=wb.event("template", codes=[planted]), then="xid:79", within="2h")
    verdict = wb.judge(claim, wb.open(path), seed=7)
    assert verdict.word == "SUPPORTED", verdict.sentence


def test_unknown_templates_come_with_the_nearest(path, planted):
    near = planted[:-1] + ("0" if planted[-1] != "0" else "1")
    store = wb.open(path)
    claim = wb.Hypothesis(name="x", when=wb.event("template", codes=[near]), then="xid:79", within="2h")
    with pytest.raises(SpecificationError, match=f"did you mean {planted}"):
        wb.judge(claim, store, seed=7)
    with pytest.raises(UnknownNameError, match=f"Did you mean {planted}"):
        store.events(f"template:{near}")
    with pytest.raises(UnknownNameError, match=f"template:{planted}"):
        fleets(store, store.incidents("xid:79"), before_s=7200.0, signals=[f"template:{near}"])


def test_rare_templates_are_signals_only_where_named(path):
    store = wb.open(path)
    table = store.templates().table()
    edge = f"template:{table.filter(table['template'].str.contains('edge of the log'))['template_id'][0]}"
    rare = table.filter(~table["signal"])
    assert rare["template"].to_list() == ["something that was said once"]
    incidents = store.incidents("xid:79")
    outcome = Selector.parse("xid:79")
    names = {i.name for f in fleets(store, incidents, before_s=7200.0, outcome=outcome) for i in f.signals}
    assert edge in names
    assert f"template:{rare['template_id'][0]}" not in names


def test_no_template_precedes_itself(path, planted):
    store = wb.open(path)
    incidents = store.incidents(f"template:{planted}")
    (fleet,) = fleets(store, incidents, before_s=7200.0, outcome=Selector.parse(f"template:{planted}"))
    assert f"template:{planted}" not in {info.name for info in fleet.signals}
    everything = store.events("log").height - store.events(f"template:{planted}").height
    assert np.nansum(fleet.load("log")) <= everything
    logs = fleets(store, incidents, before_s=7200.0, outcome=Selector.parse("log"))
    assert not [info.name for info in logs[0].signals if info.name.startswith("template:")]
