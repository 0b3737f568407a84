"""Making a failing history smaller: steps are left out as long as it still fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from tests.store.histories.player import Failed, play
from tests.store.histories.steps import History, make_history, make_lonely_history

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


def try_seed(seed: int, seconds: float, alone: bool = False) -> tuple[int, str | None]:
    """A seed, and how its history fails, made as small as can be found in that time."""
    found = find_failure(make_lonely_history(seed) if alone else make_history(seed))
    return seed, None if found is None else describe(shrink(found, seconds))


def describe(failed: Failed, module: str = "tests.store.histories") -> str:
    """A failing history in words, and how to play it again. :param module: what plays it"""
    steps = "\n".join(f"  {step}" for step in failed.history.steps)
    machines = f"{failed.history.machines} machines, of which {failed.history.guarded} check contents"
    alone = " --alone" if failed.history.machines == 1 and module == "tests.store.histories" else ""
    again = f"again: python -m {module} --seed {failed.history.seed}{alone}"
    return f"{failed.why!r}\nin {machines}, after these steps:\n{steps}\n{again}"
