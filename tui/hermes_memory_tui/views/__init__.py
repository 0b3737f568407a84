"""The views of the inspector besides the facts: one file each, all of one shape, reached by their digits.

`CATALOG` names them without importing any: a view is imported when it is first opened.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hermes_memory_store.frozen import dataclass

if TYPE_CHECKING:
    from hermes_memory_tui.views.view import View

FACTS = "facts"
"""The first view, which is the main screen."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One view as the strip and the palette name it."""

    name: str
    key: str
    title: str
    says: str
    place: str = ""
    """Module and class, `scopes:ScopesView`."""

    def load(self) -> type[View[Any]]:
        """The view's class."""
        module, _, name = self.place.partition(":")
        loaded = getattr(importlib.import_module(f"hermes_memory_tui.views.{module}"), name)
        assert isinstance(loaded, type)
        return loaded


CATALOG = (
    Entry(FACTS, "1", "Facts", "Browse, search and change the facts"),
    Entry("scopes", "2", "Scopes", "Units of work: close, reopen, rename, merge, purge", "scopes:ScopesView"),
    Entry("pressure", "3", "Pressure", "How full each memory is, and what relief would do", "pressure:PressureView"),
    Entry("told", "4", "Told", "What an agent will be told, word for word", "told:ToldView"),
    Entry("agents", "5", "Agents", "Sessions, their calls and what they were told", "agents:AgentsView"),
    Entry("journal", "6", "Journal", "Every change by anybody; step back to any moment", "journal:JournalView"),
    Entry("review", "7", "Review", "What waits for your word: suspicious facts", "review:ReviewView"),
    Entry("turns", "8", "Turns", "Captured conversations", "turns:TurnsView"),
    Entry("team", "9", "Team", "Sync with a team database", "team:TeamView"),
)

START = Entry("start", "0", "Start", "What is on this machine that a memory could begin with", "start:StartView")
"""Not in the strip: it opens by itself on an empty memory."""

BY_NAME = {entry.name: entry for entry in (*CATALOG, START)}
