"""The catalogue of views: name, key, title and class of each. It imports none of them."""

from __future__ import annotations

from hermes_memory_store.frozen import dataclass

FACTS = "facts"
"""The first view, which is the main screen."""


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A view as the strip and the palette list it."""

    name: str
    key: str
    title: str
    description: str
    class_path: str = ""
    """Module of `views` and class, `scopes_view:ScopesView`; empty for the facts."""


CATALOG = (
    ViewEntry(FACTS, "1", "Facts", "Browse, search and change the facts"),
    ViewEntry("scopes", "2", "Scopes", "Units of work: close, reopen, rename, merge, purge", "scopes_view:ScopesView"),
    ViewEntry(
        "pressure", "3", "Pressure", "How full each memory is, and what relief would do", "pressure_view:PressureView"
    ),
    ViewEntry("told", "4", "Told", "What an agent will be told, word for word", "context_view:ContextView"),
    ViewEntry("agents", "5", "Agents", "Sessions, their calls and what they were told", "agents_view:AgentsView"),
    ViewEntry(
        "journal", "6", "Journal", "Every change by anybody; step back to any moment", "journal_view:JournalView"
    ),
    ViewEntry("review", "7", "Review", "What waits for your word: suspicious facts", "review_view:ReviewView"),
    ViewEntry("turns", "8", "Turns", "Captured conversations", "conversations_view:ConversationsView"),
    ViewEntry("team", "9", "Team", "Sync with a team database", "team_view:TeamView"),
)

START = ViewEntry(
    "start", "0", "Start", "What is on this machine that a memory could begin with", "start_view:StartView"
)
"""Not in the strip: it opens by itself on an empty memory."""

VIEWS_BY_NAME = {entry.name: entry for entry in (*CATALOG, START)}
