"""The ledger: steps of a judgement put together, the online rule worked out anew, screens remembered."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from memorystore import MemoryStore

from workbench.errors import UnknownNameError, UsageError
from workbench.hypotheses.corrections import correct, rule_for
from workbench.hypotheses.ledger import Ledger, LedgerEntry, ledger
from workbench.hypotheses.rows import JUDGED, KNOWN, MEASURED, METHOD, REGISTERED, SCREENED, entry_id, rows_frame
from workbench.hypotheses.verdicts import verdict_from_json, verdict_to_json
from workbench.kernels.online import saffron
from workbench.model.provenance import Provenance
from workbench.model.verdict import Effect, Lead, Reading, Verdict

START = datetime(2026, 3, 1, tzinfo=UTC)


def verdict(**more):
    facts = {
        "reading": Reading.CANDIDATE, "sentence": "s", "outcome": "xid:48", "signal": "gpu.power_w", "kind": "metric", "scope": "gpu",
        "incidents": 30, "episodes": 25, "tested": 1, "provenance": Provenance(function="wb.judge", inputs="case-042@1", seed=7),
    }  # fmt: skip
    return Verdict(**{**facts, **more})


def row(status, number, *, p=None, **more):
    facts = {
        "status": status, "at": START + timedelta(minutes=number), "ledger_id": f"id{number}", "registration": f"r{number}",
        "kind": "judge", "hypothesis": f"h{number}", "rows": f"rows{number}", "method": METHOD, "inputs": "1", "batch": f"b{number}",
        "batch_size": 1, "name": f"claim {number}", "signal": f"signal{number}", "outcome": "xid:48", "seed": 7, "rule": "online", "p": p,
    }  # fmt: skip
    return {**facts, **more}


def stored(*rows):
    store = MemoryStore()
    for one in rows:
        store.append_ledger(rows_frame([one]))
    return store


def test_an_empty_store_has_an_empty_ledger():
    book = ledger(MemoryStore())
    assert len(book) == 0
    assert book.table().height == 0
    assert book.table().schema["registered_at"] == pl.Datetime("us", "UTC")
    assert "<table>" in book._repr_html_()


def test_steps_of_a_judgement_become_one_entry():
    text = verdict_to_json(verdict())
    store = stored(
        row(REGISTERED, 1, ledger_id="r1", rows=None, rule=None),
        row(MEASURED, 1, p=0.01, at=START + timedelta(minutes=2), verdict=verdict_to_json(verdict(p=0.01))),
        row(
            JUDGED,
            1,
            p=0.01,
            q=0.02,
            at=START + timedelta(minutes=3),
            word="UNDECIDED",
            reading="candidate",
            verdict=text,
        ),
    )
    (entry,) = ledger(store).entries
    assert (entry.id, entry.sequence, entry.status) == ("id1", 1, "judged")
    assert entry.registered_at == START + timedelta(minutes=1)
    assert entry.judged_at == START + timedelta(minutes=3)
    assert (entry.p, entry.q, entry.word) == (0.01, 0.02, "UNDECIDED")
    assert verdict_to_json(entry.verdict) == text


def test_a_claim_that_was_registered_and_never_tested_stays_in_sight():
    book = ledger(stored(row(REGISTERED, 1, ledger_id="r1", rows=None, rule=None), row(MEASURED, 2, p=0.4)))
    assert [(entry.id, entry.status) for entry in book.entries] == [("id2", "tested"), ("r1", "registered")]
    assert book.entry("r1").verdict is None
    assert book.of("h1", version="1") is None


def test_rows_that_were_judged_before_close_the_registration_and_are_known_by_both_versions():
    store = stored(
        row(MEASURED, 1, p=0.01),
        row(REGISTERED, 2, ledger_id="r2", hypothesis="h1", rows=None, rule=None, inputs="2"),
        row(KNOWN, 2, ledger_id="id1", hypothesis="h1", rows="rows1", inputs="2"),
    )
    (entry,) = ledger(store).entries
    assert entry.versions == ("1", "2")
    assert ledger(store).of("h1", version="2").id == "id1"
    assert ledger(store).of("h1", rows="rows1").id == "id1"
    assert ledger(store).of("h1", version="3") is None


def test_the_first_of_two_concurrent_tests_counts():
    book = ledger(stored(row(MEASURED, 1, p=0.01, seed=7), row(MEASURED, 1, p=0.03, seed=8, registration="r9")))
    (entry,) = book.entries
    assert (entry.p, entry.seed) == (0.01, 7)


def test_online_rule_follows_the_order_of_tests_and_leaves_out_what_was_no_test():
    p = [0.0004, 0.3, 0.02, 0.0001, 0.6]
    rows = [row(MEASURED, n, p=value) for n, value in enumerate(p)]
    rows.insert(2, row(MEASURED, 90, p=None))  # nothing could be tested
    rows.insert(3, row(MEASURED, 91, p=0.5, rule="batch", batch_size=4))
    rows.insert(4, row(SCREENED, 92, p=0.001, kind="screen", rule="screen"))
    entries = [entry for entry in ledger(stored(*rows)).entries if entry.rejected is not None]
    expected = saffron(np.array(p), ceiling=0.05)
    np.testing.assert_allclose([entry.alpha_t for entry in entries], expected.level)
    assert [entry.rejected for entry in entries] == expected.rejected.tolist()
    np.testing.assert_allclose([entry.wealth for entry in entries], expected.wealth)


def test_another_rule_can_be_worked_out_and_an_unknown_one_is_told_with_the_nearest():
    store = stored(row(MEASURED, 1, p=0.004))
    assert ledger(store).entries[0].rejected is True
    assert ledger(store, rule="lord").entries[0].rejected is False
    assert ledger(store, rule="alpha-spending").entries[0].alpha_t == pytest.approx(0.05 * 6 / np.pi**2)
    with pytest.raises(UsageError, match="Did you mean saffron"):
        ledger(store, rule="safron")


def test_entries_are_found_by_the_start_of_their_id():
    book = ledger(stored(row(MEASURED, 1, p=0.1, ledger_id="abc1"), row(MEASURED, 2, p=0.1, ledger_id="abd2")))
    assert book.entry("abc").id == "abc1"
    for name in ("ab", "zz", ""):
        with pytest.raises(UnknownNameError):
            book.entry(name)


def screened(number, signal, p, *, batch="s1", outcome="xid:48", scope="gpu"):
    return row(
        SCREENED,
        number,
        p=p,
        kind="screen",
        rule="screen",
        signal=signal,
        batch=batch,
        outcome=outcome,
        scope=scope,
        batch_size=3,
    )


def test_what_was_screened_with_a_signal_is_known_by_outcome():
    store = stored(
        screened(1, "a", 0.001), screened(2, "b", 0.2), screened(3, "c", None),
        screened(4, "a", 0.01, batch="s2"), screened(5, "d", 0.3, batch="s2"),
        screened(6, "e", 0.3, batch="s3"), screened(7, "a", 0.3, batch="s4", outcome="xid:79"),
    )  # fmt: skip
    book = ledger(store)
    assert book.screened("a", "xid:48") == {"gpu/a": 0.001, "gpu/b": 0.2, "gpu/c": 1.0, "gpu/d": 0.3}
    assert book.screened("nowhere", "xid:48") == {}
    assert rule_for(book, signal="a", outcome="xid:48", batch_size=1) == "screen"
    assert rule_for(book, signal="a", outcome="xid:48", batch_size=2) == "batch"
    assert rule_for(book, signal="z", outcome="xid:48", batch_size=1) == "online"


def _by(p, size):
    return p * size * sum(1 / k for k in range(1, size + 1))


def test_a_claim_found_by_a_screen_is_held_against_everything_screened():
    """M = three screened signals and the claim itself; nothing else helps its rank."""
    store = stored(
        screened(1, "a", 0.001),
        screened(2, "b", 0.9),
        screened(3, "c", 0.8),
        row(MEASURED, 4, p=0.002, signal="a", rule="screen"),
    )
    book = ledger(store)
    found = correct(book, book.entry("id4"))
    assert found.q_candidate == pytest.approx(0.002 * 4)
    assert found.q == pytest.approx(_by(0.002, 4))
    assert (found.tested, found.screened, found.tries) == (4, 3, 1)


def test_a_batch_is_corrected_over_all_its_claims_also_those_that_failed():
    rows = [
        row(MEASURED, n, p=p, rule="batch", batch="b", batch_size=5) for n, p in enumerate([0.001, 0.012, 0.5, 0.6])
    ]
    book = ledger(stored(*rows))
    first, second = (correct(book, book.entry(f"id{n}")) for n in (0, 1))
    assert first.q_candidate == pytest.approx(0.001 * 5)
    assert second.q_candidate == pytest.approx(0.012 * 5 / 2)
    assert second.q == pytest.approx(_by(0.012, 5) / 2)
    assert second.tested == 5


def test_variants_in_a_batch_pay_inside_and_count_once():
    """Three variants of one idea and another claim: two families, p of the variants times three."""
    idea = [
        row(MEASURED, n, p=p, rule="batch", batch="b", batch_size=4, signal="a")
        for n, p in enumerate([0.001, 0.002, 0.9])
    ]
    book = ledger(stored(*idea, row(MEASURED, 9, p=0.03, rule="batch", batch="b", batch_size=4, signal="z")))
    variant, other = correct(book, book.entry("id0")), correct(book, book.entry("id9"))
    assert variant.tries == 3
    assert variant.q_candidate == pytest.approx(0.003 * 2)
    assert other.q_candidate == pytest.approx(0.03)  # rank 2 of two families, not of four claims


def test_earlier_tries_of_an_idea_are_paid_for_later():
    store = stored(
        row(MEASURED, 1, p=0.5, signal="a"),
        row(MEASURED, 2, p=0.004, signal="a"),
        row(MEASURED, 3, p=0.01, signal="a", rule="batch", batch_size=2),
    )
    book = ledger(store)
    assert correct(book, book.entry("id2")).tries == 2
    assert correct(book, book.entry("id2")).q_candidate == pytest.approx(0.008)
    assert correct(book, book.entry("id3")).tries == 3


def test_online_q_is_at_most_five_percent_exactly_where_the_rule_rejects():
    rng = np.random.default_rng(5)
    rows = [row(MEASURED, n, p=float(p)) for n, p in enumerate(rng.uniform(size=60) ** 4)]
    book = ledger(stored(*rows))
    for entry in book.entries:
        assert (correct(book, entry).q <= 0.05) == entry.rejected
        assert correct(book, entry).alpha_t == entry.alpha_t


def test_what_could_not_be_tested_has_no_q():
    book = ledger(stored(row(MEASURED, 1, p=None)))
    assert math.isnan(correct(book, book.entries[0]).q)


def test_rows_of_an_older_version_are_read():
    store = MemoryStore()
    store.append_ledger(rows_frame([row(MEASURED, 1, p=0.1)]).drop("wealth", "family").with_columns(extra=pl.lit(1)))
    assert ledger(store).entries[0].p == 0.1


def test_ids_depend_on_the_whole_key():
    assert len({entry_id("a", "bc"), entry_id("ab", "c"), entry_id("abc"), entry_id("a", "b", "c")}) == 4


def test_verdicts_come_back_as_they_were():
    whole = verdict(
        p=0.01, q=math.nan, bound_u=math.inf, raw_names=("a", "b"), effect=Effect(share_affected=0.5), lead=Lead(median=60.0, quality="step"),
        checks={"guard": "passed"}, details={"z": np.float64(2.5), "n": np.arange(2), "why": "<b>"}, ledger_id="x", about="y",
    )  # fmt: skip
    again = verdict_from_json(verdict_to_json(whole))

    assert again.effect.share_affected == 0.5
    assert again.raw_names == ("a", "b")
    assert again.details == {"z": 2.5, "n": [0, 1], "why": "<b>"}
    assert again.lead.median == 60.0
    assert verdict_to_json(again) == verdict_to_json(whole)
    for text in ("[]", "{}"):
        with pytest.raises(ValueError, match="not a verdict"):
            verdict_from_json(text)


def test_the_ledger_shows_hostile_names_escaped():
    shown = ledger(stored(row(MEASURED, 1, p=0.1, name="<script>x</script>")))._repr_html_()
    assert "<script>" not in shown


def test_types_of_the_ledger_are_frozen():
    entry = ledger(stored(row(MEASURED, 1, p=0.1))).entries[0]
    assert isinstance(entry, LedgerEntry)
    with pytest.raises(AttributeError):
        entry.p = 0.0
    with pytest.raises(AttributeError):
        ledger(MemoryStore()).rule = "lord"
    assert isinstance(ledger(MemoryStore()), Ledger)


def test_numbers_of_entries_never_change():
    first = row(REGISTERED, 1, ledger_id="r1", rows=None, rule=None)
    store = stored(first, row(REGISTERED, 2, ledger_id="r2", rows=None, rule=None), row(MEASURED, 2, p=0.5))
    before = {entry.hypothesis: entry.sequence for entry in ledger(store).entries}
    assert before == {"h1": 1, "h2": 2}
    for later in (row(MEASURED, 3, p=0.1), row(MEASURED, 1, p=0.2)):
        store.append_ledger(rows_frame([later]))
    after = {entry.hypothesis: entry.sequence for entry in ledger(store).entries}
    assert after == {"h1": 1, "h2": 2, "h3": 3}
    assert [entry.hypothesis for entry in ledger(store).entries] == ["h2", "h3", "h1"], "in order of their tests"
