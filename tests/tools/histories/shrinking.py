"""Making a failing history smaller: steps are left out as long as it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.tools.histories.player import Failed, Player, play
from tests.tools.histories.steps import History, make_history

Play = Callable[[History], None]
"""Plays a history. :raises Failed:"""


def find_failure(history: History, play: Play = play) -> Failed | None:
    """How a history fails, if it does."""
    try:
        play(history)
    except Failed as failed:
        return failed
    return None


def shrink(failed: Failed, seconds: float = 60.0, play: Play = play) -> Failed:
    """The smallest failing history that is found in that time: delta debugging over its steps."""
    deadline = time.monotonic() + seconds
    best, size = failed, max(1, len(failed.history.steps) // 2)
    while size and time.monotonic() < deadline:
        smaller = find_smaller(best, size, deadline, play)
        best, size = (smaller, size) if smaller else (best, size // 2)
    return best


def find_smaller(failed: Failed, size: int, deadline: float, play: Play = play) -> Failed | None:
    """A failing history with that many steps less, if there is one."""
    steps = failed.history.steps
    for start in range(0, len(steps), size):
        if time.monotonic() > deadline:
            return None
        fewer = replace(failed.history, steps=steps[:start] + steps[start + size :])
        found = find_failure(fewer, play)
        if found is not None and type(found.why) is type(failed.why):
            return found
    return None


def try_seed(
    seed: int,
    seconds: float,
    *,
    make: Callable[[int], History] = make_history,
    player: Callable[[History, Path], Player] | None = None,
    options: str = "",
) -> tuple[int, str | None]:
    """A seed, and how its history fails, made as small as can be found in that time.

    :param options: of the command line, by which it is played again
    """
    play_it = partial(play, player=player)
    found = find_failure(make(seed), play_it)
    return seed, None if found is None else describe(shrink(found, seconds, play_it), options=options)


def describe(failed: Failed, module: str = "tests.tools.histories", options: str = "") -> str:
    """A failing history in words, and how to play it again. :param module: what plays it"""
    steps = "\n".join(f"  {step}" for step in failed.history.steps)
    machines = f"{failed.history.machines} machines, of which {failed.history.guarded} check contents"
    again = f"again: python -m {module} --seed {failed.history.seed}{options}"
    return f"{failed.why!r}\nin {machines}, after these steps:\n{steps}\n{again}"
