"""The ledger drawn: every test once, rejected ones apart, hostile names shown and not obeyed."""

import numpy as np

from workbench.figures.ledger import ledger_figure


def test_every_test_is_drawn_once_and_rejections_lie_at_or_below_their_level():
    p, level = np.array([0.004, 0.3, 0.0, 0.02]), np.array([0.005, 0.01, 0.01, 0.02])
    figure = ledger_figure(["a", "b", "c", "d"], p=p, level=level, wealth=np.full(4, 0.05), rule="saffron")
    rejected, rest, levels, wealth = figure.data
    assert list(rejected.x) == [1, 3, 4]
    assert list(rest.x) == [2]
    assert (np.asarray(rejected.y) > 0).all()  # a log axis has no zero
    assert list(np.asarray(rejected.customdata)[:, 0]) == [0.004, 0.0, 0.02]
    assert list(levels.y) == list(level)
    assert len(wealth.x) == 4


def test_an_empty_sequence_can_be_drawn():
    nothing = np.empty(0)
    assert len(ledger_figure([], p=nothing, level=nothing, wealth=nothing, rule="lord").data) == 4


def test_hostile_names_are_text():
    one = np.array([0.5])
    figure = ledger_figure(["<a href='x'>click</a>"], p=one, level=one, wealth=one, rule="<b>")
    assert "<a" not in str(figure.data[0].text[0])
    assert "<b>" not in figure.layout.title.text
