"""`MomentQuestion`: asks for a moment, by an age, a date or the number of a change."""

from __future__ import annotations

from functools import partial

from textual.content import Content

from hermes_memory_store.errors import StoreError
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.model.past_memory import find_named_moment


class MomentQuestion(Question):
    """Dismissed with the text as it was typed, once it names a moment that one can go to."""

    def __init__(self, present: Memory) -> None:
        """Ask. `present` is the memory as it is now, whose changes can be named."""
        lines = [
            Content.styled(
                "an age (90m, 3h, 2d), a date (2026-03-17, 2026-03-17 13:00, UTC), or a change (#1036)", "$dim"
            )
        ]
        super().__init__("time travel", lines, type_in="when", check=partial(find_moment_problem, present))


def find_moment_problem(present: Memory, text: str) -> str | None:
    """Return why one cannot go to a moment, or None."""
    try:
        present.read_now(partial(find_named_moment, text=text))
    except StoreError as error:
        return to_printable(str(error))
    return None
