"""Undo of anything in any order, on one machine: what cannot be taken back is refused in words, and nothing is left over.

A fixed portion; `python -m tests.store.histories --alone --count 5000` plays fresh ones.
"""

from __future__ import annotations

import pytest

from tests.store.histories.player import play
from tests.store.histories.steps import make_lonely_history


@pytest.mark.parametrize("first", [1, *(pytest.param(first, marks=pytest.mark.long) for first in range(21, 61, 20))])
def test_undo_in_any_order_keeps_the_rules(first: int) -> None:
    for seed in range(first, first + 20):
        play(make_lonely_history(seed))
