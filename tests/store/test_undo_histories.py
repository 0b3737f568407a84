"""Undo of anything in any order, on one machine: what cannot be taken back is refused in words, and nothing is left over.

A fixed portion; `python -m tests.tools.histories --alone --count 5000` and `python -m tests.tools.undo_histories --count 5000`
play fresh ones.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.histories.player import play
from tests.tools.histories.steps import make_lonely_history
from tests.tools.undo_histories.undo_player import make_crowded_history, make_undo_history, play_undo


@pytest.mark.parametrize("first", [1, *(pytest.param(first, marks=pytest.mark.long) for first in range(21, 61, 20))])
def test_undo_in_any_order_keeps_the_rules(first: int) -> None:
    for seed in range(first, first + 20):
        play(make_lonely_history(seed))


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**40))
def test_undo_does_what_a_plain_model_says(seed: int) -> None:
    play_undo(make_undo_history(seed))


@pytest.mark.parametrize(
    "seed", [228, 349, 766, 1090, 1348, 1451, 1891, 2390, 2642, 3462, 4578, 5596, 6169, 6883, 7154, 24265, 267730784871]
)
def test_orders_of_undo_that_once_left_something_behind(seed: int) -> None:
    play_undo(make_undo_history(seed))


@pytest.mark.long
@pytest.mark.parametrize("first", range(10_000, 10_500, 100))
def test_many_orders_of_undo(first: int) -> None:
    for seed in range(first, first + 100):
        play_undo(make_undo_history(seed))


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 2**40))
def test_facts_that_compete_for_few_places_can_all_be_undone(seed: int) -> None:
    play_undo(make_crowded_history(seed))


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_many_orders_of_undo_in_few_places(first: int) -> None:
    for seed in range(first, first + 100):
        play_undo(make_crowded_history(seed))
