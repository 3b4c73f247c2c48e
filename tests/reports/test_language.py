"""Words of a write-up: nothing counted twice, and advice that helps."""

from verdicts import verdict

from workbench.model.verdict import Reading
from workbench.reports.language import needed, tally


def test_a_claim_on_a_screened_signal_is_no_further_finding():
    screened = [verdict(), verdict(Reading.NO_EFFECT, signal="other")]
    claims = [verdict(hypothesis="a"), verdict(Reading.NOT_ENOUGH, hypothesis="b", signal="third")]
    assert tally(screened + claims) == (
        "2 signals screened: 1 supported, 1 refuted, 0 undecided; 2 claims judged: 1 supported, 0 refuted, 1 undecided"
        " (1 on signals that were screened, too: no further finding)"
    )
    assert tally(claims[:1]) == "1 claim judged: 1 supported, 0 refuted, 0 undecided"


def test_the_wrong_direction_needs_another_claim_not_more_episodes():
    told = verdict(Reading.UNSTABLE, checks={"direction": "failed"})
    assert "other direction" in needed(told)
    assert needed(verdict(Reading.UNSTABLE)) == "more episodes without the one that the failed check names"
