"""`MomentQuestion`: asks for a moment, by an age, a date or the number of a change."""

from __future__ import annotations

from functools import partial

from textual.content import Content

from hermes_memory_store.errors import QueryError
from hermes_memory_store.model import Millis
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.past_memory import parse_moment_name


class MomentQuestion(Question):
    """Dismissed with the text as it was typed, once it can be understood."""

    def __init__(self, now: Millis) -> None:
        """Ask. `now` is the time that ages count from, in milliseconds UTC."""
        lines = [
            Content.styled(
                "an age (90m, 3h, 2d), a date (2026-03-17, 2026-03-17 13:00, UTC), or a change (#1036)", "$dim"
            )
        ]
        super().__init__("time travel", lines, type_in="when", check=partial(find_moment_problem, now))


def find_moment_problem(now: Millis, text: str) -> str | None:
    """Return why a text names no moment, or None."""
    try:
        parse_moment_name(text, now)
    except QueryError as error:
        return to_printable(str(error))
    return None
