"""The catalogue of codes: whole, consistent in itself, and in agreement with the public one."""

import csv

import pytest
from shared import shared_path

from workbench.model.eventcode import ORIGINS, ROLES, event_code, event_codes, meanings


def _public(name):
    with shared_path("data", "catalogues", name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _refers(text):
    kind, _, rest = text.partition(":")
    code, _, place = rest.partition("@")
    return kind, code, place


@pytest.mark.parametrize("known", event_codes(), ids=lambda known: f"{known.kind}:{known.code}")
def test_every_entry_is_whole_and_refers_to_what_is_there(known):
    assert known.origin in ORIGINS
    assert known.role in ROLES
    assert known.name
    assert known.meaning.endswith(".")
    assert known.action
    for text in (*known.leads_to, *known.follows):
        kind, code, place = _refers(text)
        assert place in ("same", "host", "peers"), text
        if kind in ("xid", "sxid"):
            assert event_code(kind, code) is not None, text


def test_no_code_stands_twice():
    assert meanings().select("kind", "code").is_duplicated().sum() == 0


def test_clean_up_follows_something_and_leads_to_nothing():
    for known in event_codes():
        if known.role == "teardown":
            assert known.follows, known.code
            assert not known.leads_to, known.code


@pytest.mark.parametrize("code", ["45", "43", "154"])
def test_the_usual_effects_are_no_causes(code):
    assert event_code("xid", code).role == "teardown"


def test_all_public_codes_are_known():
    assert {row["xid"] for row in _public("xid_catalogue.csv")} == {known.code for known in event_codes("xid")}
    assert {row["sxid"] for row in _public("sxid_catalogue.csv")} == {known.code for known in event_codes("sxid")}


def test_what_to_do_agrees_with_the_public_buckets():
    words = {"RESET_GPU": "reset", "RESTART_BM": "reboot", "RESTART_APP": "restart the application", "IGNORE": "none"}
    #: Where we say more than the bucket: what the public text of the code adds to it.
    more = {"108", "137", "152", "153", "156", "157", "159", "160", "161", "155"}
    for row in _public("xid_catalogue.csv"):
        word = words.get(row["immediate_action"])
        if word is not None and row["xid"] not in more:
            known = event_code("xid", row["xid"])
            restart = word == "none" and known.origin in ("application", "driver")
            assert word in known.action or restart, (row["xid"], row["immediate_action"], known.action)


def test_fatal_errors_of_a_switch_are_roots():
    for row in _public("sxid_catalogue.csv"):
        known = event_code("sxid", row["sxid"])
        assert (known.role == "information") == (row["fatality"] == "non_fatal"), row


def test_names_of_a_group_differ():
    names = {known.code: known.name for known in event_codes("xid") if known.code in {str(n) for n in range(144, 151)}}
    assert len(set(names.values())) == 7
    assert "NETIR" in names["149"]
