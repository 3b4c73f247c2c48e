"""Order within seconds: rates on worlds, readings, clocks that cannot tell, and a store."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest
from secondsworlds import world
from smallstore import MAPPING

import workbench as wb
from workbench.analysis.screen import judge_evidence
from workbench.analysis.seconds import measure_seconds
from workbench.analysis.settings import Settings
from workbench.model.provenance import Provenance
from workbench.model.selector import Selector
from workbench.model.verdict import Reading
from workbench.panel.seconds import seconds

WHOLE = {"resolution": (0.001, 1.0), "delay_s": 1.0}


def measured(seed, kind="true", **how):
    view, hits = world(seed, kind, **how)
    return measure_seconds(view, hits, before_s=7200.0, seed=seed)[0]


def verdict(evidence):
    provenance = Provenance(function="test", inputs="")
    return judge_evidence([evidence], "xid:31", settings=Settings(), provenance=provenance).verdicts[0]


@pytest.mark.parametrize("how", [{}, WHOLE, {"dominated": True}])
@pytest.mark.parametrize("kind", ["incident", "hidden"])
def test_no_order_is_claimed_where_there_is_none(kind, how):
    runs = 20
    found = [verdict(measured(seed, kind, **how)) for seed in range(runs)]
    claimed = sum(one.reading in (Reading.PRECURSOR, Reading.CONSEQUENCE) for one in found)
    assert binomtest(claimed, runs, 0.05, alternative="greater").pvalue > 0.01
    if kind == "hidden" and not how:
        assert all(one.p <= 0.05 for one in found if "together, order unknown" in one.about)
        assert sum("together, order unknown" in one.about for one in found) >= runs - 3


def test_what_follows_within_seconds_is_found_with_share_and_lag():
    for seed in range(4):
        found = measured(seed, count=100, share=0.8, lag_s=2.0)
        told = verdict(found)
        assert told.reading is Reading.PRECURSOR
        assert (told.scale, told.scope, told.direction) == ("seconds", "gpu", "up")
        assert 0.6 < found.share.estimate < 1
        assert found.share.low < found.share.estimate < found.share.high
        assert 0.8 < found.lead.median < 3
        assert "no early warning" in told.sentence
        assert "cause" not in told.sentence


def test_the_other_way_round_is_a_consequence():
    view, hits = world(1, count=100, share=0.8, lag_s=2.0)
    swapped = replace(
        view, entity=np.array([view.entities.index(one.entity) for one in hits]), kind=np.zeros(len(hits), np.int64),
        **{name: np.array([round(getattr(one, field).timestamp() * 1e6) for one in hits])
           for name, field in (("ts_us", "ts"), ("low_us", "ts_low"), ("high_us", "ts_high"))},
    )  # fmt: skip
    as_hits = [replace(hits[0], id=str(k), entity=view.entities[who], ts=_at(ts), ts_low=_at(ts), ts_high=_at(ts))
               for k, (who, ts) in enumerate(zip(view.entity.tolist(), view.ts_us.tolist(), strict=True))]  # fmt: skip
    found = measure_seconds(swapped, as_hits, before_s=60.0, seed=1)[0]
    assert verdict(found).reading is Reading.CONSEQUENCE
    assert "follows the outcome" in found.reversed_unguarded.about


def _at(us):
    from workbench.timebase import from_us

    return from_us(us)


def test_whole_seconds_and_a_delay_cannot_order_a_twentieth_of_a_second():
    told = [verdict(measured(seed, count=100, share=0.8, lag_s=0.05, **WHOLE)) for seed in range(4)]
    assert all(one.reading is Reading.CANDIDATE and "together, order unknown" in one.about for one in told)


def test_a_delay_that_nobody_tells_turns_the_arrow_round():
    """The trap: with the delay taken as zero the order is wrong, and surely so."""
    found = measured(1, count=100, share=0.8, lag_s=0.05, delay_s=1.0, told_delay_s=0.0)
    assert found.notes["p_reverse"] < 1e-6
    honest = measured(1, count=100, share=0.8, lag_s=0.05, delay_s=1.0)
    assert honest.notes["backward"] == 0


def test_unknown_clocks_and_blurred_stamps_ask_no_order():
    view, hits = world(2, count=60, share=0.8, lag_s=2.0)
    apart = measure_seconds(replace(view, outcome_clocks=frozenset({"bmc"})), hits, before_s=60.0, seed=1)[0]
    assert "their clocks differ by an unknown time" in verdict(apart).about
    bounded = replace(view, outcome_clocks=frozenset({"bmc"}), doubt_s={("bmc", "os"): 0.5})
    assert measure_seconds(bounded, hits, before_s=60.0, seed=1)[0].guard_s == pytest.approx(0.502, abs=1e-3)
    blurred = replace(view, low_us=view.ts_us - 30_000_000)
    found = measure_seconds(blurred, hits, before_s=60.0, seed=1)[0]
    assert found.guard_s == 5.0
    assert "leave 30" in verdict(found).about


def test_one_device_is_a_coincidence():
    view, hits = world(3, count=60, share=0.8, lag_s=2.0)
    one = replace(view, entity=np.full(view.entity.size, 7))
    found = measure_seconds(one, [replace(hit, entity=view.entities[7]) for hit in hits], before_s=60.0, seed=1)[0]
    assert verdict(found).reading is Reading.COINCIDENCE
    assert verdict(found).about == f"one device: {view.entities[7]}"


def test_few_episodes_and_nobody_looking():
    few = measured(4, count=2, share=0.8, lag_s=2.0)
    assert few.blocked is None or few.blocked.reading == "not enough episodes"
    view, hits = world(4, count=60, share=0.8, lag_s=2.0)
    dark = measure_seconds(replace(view, watched={}), hits, before_s=60.0, seed=1)[0]
    assert verdict(dark).reading is Reading.NOT_OBSERVED


def test_order_of_rows_does_not_matter():
    view, hits = world(5, count=40, share=0.8, lag_s=2.0)
    order = np.random.default_rng(1).permutation(view.ts_us.size)
    columns = {name: getattr(view, name)[order] for name in ("kind", "entity", "ts_us", "low_us", "high_us")}
    one = measure_seconds(view, hits, before_s=60.0, seed=1)[0]
    other = measure_seconds(replace(view, **columns), hits[::-1], before_s=60.0, seed=2)[0]
    assert (one.p, one.z, one.notes, one.lead) == (other.p, other.z, other.notes, other.lead)


def _log(host: str, offset: int) -> str:
    """Xid 122 on GPU 1 every five minutes, Xid 31 a tenth of a second later; Xid 13 anywhere."""
    rng = np.random.default_rng(offset)
    lines = [(0.0, "log begins"), (7100.0, "log ends")]
    for turn in range(12):
        at = 60 + 300 * turn + offset
        lines.append((at, "NVRM: Xid (PCI:0000:02:00): 122, pid=1, SPI PMU RPC Read Fail"))
        lines.append((at + 0.1, "NVRM: Xid (PCI:0000:02:00): 31, pid=1, MMU Fault"))
        lines.append((rng.uniform(1, 7000), "NVRM: Xid (PCI:0000:02:00): 13, Graphics Exception"))
    text = []
    for at, words in sorted(lines):
        hour, rest = divmod(at, 3600)
        minute, second = divmod(rest, 60)
        stamp = f"2026-03-01T{int(hour):02d}:{int(minute):02d}:{int(second):02d},{int(second % 1 * 1e6):06d}+00:00"
        text.append(f"kern  :err   : {stamp} {words}")
    return "\n".join(text) + "\n"


def test_a_store(tmp_path: Path):
    folder = tmp_path / "dumps" / "kern"
    folder.mkdir(parents=True)
    for number in range(4):
        (folder / f"node0{number}.log").write_text(_log(f"node0{number}", 7 * number))
    (tmp_path / "mapping.toml").write_text(MAPPING)
    store = wb.open(tmp_path / "store")
    store.ingest([tmp_path / "dumps"], mapping=tmp_path / "mapping.toml")
    outcome = Selector.parse("xid:31")
    hits = store.incidents(outcome)
    found = {one.info.name: one for one in measure_seconds(seconds(store, outcome), hits, before_s=7200.0, seed=1)}
    assert "xid:31" not in found
    before = found["xid:122"]
    assert verdict(before).reading is Reading.PRECURSOR
    assert before.lead.median == pytest.approx(0.1, abs=1e-3)
    assert before.share.estimate == 1.0
    assert verdict(found["xid:13"]).reading is not Reading.PRECURSOR
