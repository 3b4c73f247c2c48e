"""Variables are told by all lines of a shape together: no order of lines, no numbering of tokens changes them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.kernels.templates import variable_positions

ROWS = st.lists(st.tuples(*[st.integers(0, 7)] * 4), min_size=1, max_size=30, unique=True)
ODD = np.array([False, False, False, False, False, True, True, False])


@given(ROWS, st.permutations(range(8)), st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_neither_order_nor_numbering_matters(rows, numbers, random):
    tokens = np.array(rows)
    least = np.full(tokens.shape, 3)
    variable = variable_positions(tokens, ODD, least)
    order = list(range(len(rows)))
    random.shuffle(order)
    renumbered, odd = np.array(numbers)[tokens], np.zeros(8, bool)
    odd[np.array(numbers)] = ODD
    again = variable_positions(renumbered[order], odd, least)
    assert np.array_equal(again, variable[order])


@pytest.mark.parametrize(("words", "open_"), [(5, False), (6, True)])
def test_so_many_words_make_a_variable(words, open_):
    tokens = np.array([[0, 1, 10 + word, 2] for word in range(words)])
    variable = variable_positions(tokens, np.zeros(20, bool), np.full(tokens.shape, 6))
    assert variable[:, 2].tolist() == [open_] * words
    assert not variable[:, [0, 1, 3]].any()


def test_one_odd_token_makes_a_variable_and_words_outnumber_variables():
    odd = np.array([False, False, True, False, True])
    assert variable_positions(np.array([[0, 1], [0, 2]]), odd, np.full((2, 2), 6))[:, 1].all()
    hollow = variable_positions(np.array([[2, 2], [4, 4]]), odd, np.full((2, 2), 6))
    assert not hollow.any()


def test_templates_of_one_shape_are_kept_apart():
    up = [[0, 1, 10 + name, 2] for name in range(8)]
    down = [[0, 1, 10 + name, 3] for name in range(8)]
    tokens = np.array(up + down)
    variable = variable_positions(tokens, np.zeros(20, bool), np.full(tokens.shape, 6))
    assert variable[:, 2].all()
    assert not variable[:, 3].any()


def test_nothing_to_hold_against():
    assert not variable_positions(np.array([[3, 4, 5]]), np.zeros(6, bool), np.full((1, 3), 2)).any()
    assert variable_positions(np.zeros((0, 3), np.int64), np.zeros(1, bool), np.zeros((0, 3), np.int64)).shape == (0, 3)
