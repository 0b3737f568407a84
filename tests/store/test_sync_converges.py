"""Machines that write, undo, purge and rename at random, and exchange badly, come to say the same and lose nothing.

A fixed portion of the histories; `python -m tests.tools.histories --count 5000` plays fresh ones.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from hermes_memory_store.upkeep.purge import Purge
from tests.tools.histories.player import Failed, play
from tests.tools.histories.shrinking import shrink
from tests.tools.histories.steps import BROUGHT_BACK, History, Step, make_history


@pytest.mark.parametrize("first", [1, *(pytest.param(first, marks=pytest.mark.long) for first in range(11, 61, 10))])
def test_histories_end_with_the_same_on_every_machine(first: int) -> None:
    for seed in range(first, first + 10):
        play(make_history(seed))


def test_a_scope_whose_arrival_was_undone_comes_back_as_the_others_have_it() -> None:
    play(BROUGHT_BACK)


def test_a_lost_version_is_listed_where_a_newer_one_that_says_the_same_and_never_stood_is_listed() -> None:
    opened_twice = (
        Step(0, "write", ("~[db]: redis", "speed", None)),
        Step(1, "write", ("~[cache]: redis", "speed", None)),
        Step(1, "close_scope", ("speed",)),
        *(Step(*one) for one in ((0, "push", (9, True)), (1, "push", (9, True)), (0, "pull", (9,)))),
        Step(0, "reopen_scope", ("speed",)),
        Step(1, "reopen_scope", ("speed",)),
        Step(1, "close_scope", ("speed",)),
        Step(1, "push", (9, True)),
    )
    play(History(1, 2, 0, opened_twice))


def test_what_its_author_took_back_is_not_lost_though_the_server_had_something_newer_by_then() -> None:
    closed_and_undone = (
        Step(0, "write", ("✓[cache]: redis", "speed", None)),
        Step(1, "suspect", ("✓[db]: #", "speed")),
        *(Step(*one) for one in ((0, "push", (9, True)), (1, "push", (9, True)))),
        Step(0, "undo_last", (1,)),
        *(Step(*one) for one in ((0, "push", (9, False)), (0, "pull", (9,)))),
    )
    play(History(1, 2, 0, closed_and_undone))


def test_the_same_seed_makes_the_same_history() -> None:
    seed = random.randrange(2**40)
    assert make_history(seed) == make_history(seed)
    assert make_history(seed) != make_history(seed + 1)


def test_a_failing_history_is_made_smaller_and_says_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A purge that erases nothing is found, in a history of a write and a purge."""
    monkeypatch.setattr(Purge, "facts", lambda purge, wanted: len(wanted))
    idle = tuple(Step(1, "redo") for _ in range(9))
    history = History(7, 2, 0, (*idle, Step(0, "write", ("V[a]: #", None, None)), *idle, Step(0, "purge", (0,)), *idle))
    with pytest.raises(Failed, match=r"seed 7 .* still has purged facts") as failed:
        play(history)

    smaller = shrink(failed.value)

    assert [step.name for step in smaller.history.steps] == ["write", "purge"]


def test_an_undo_that_nothing_followed_can_be_taken_back_whatever_the_team_sent_before() -> None:
    before = (
        Step(1, "write", ("V[cache]: #", "pace", None)),
        Step(0, "write", ("✓[cache]: #", "pace", "one")),
        Step(2, "write", ("V[cache]: valkey", "pace", None)),
        Step(2, "write", ("D[cache]: sqlite", "speed", "two")),
        *(Step(*one) for one in ((0, "push", (9, True)), (2, "pull", (9,)), (2, "push", (9, True)))),
        *(Step(*one) for one in ((1, "push", (9, True)), (2, "pull", (9,)))),
        Step(2, "write", ("?[Cache]: sqlite", "speed", "two")),
        Step(2, "undo_change", (451,)),
        Step(2, "write", ("C[Cache]: #", None, None)),
        Step(2, "restore", (625,)),
        Step(2, "undo_change", (118,)),
    )
    play(replace(make_history(17366253899), steps=(*before, Step(2, "undo_and_redo", (433,)))))
