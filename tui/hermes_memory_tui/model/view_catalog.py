"""The catalogue of views: name, key, title and class of each. It imports none of them."""

from __future__ import annotations

from hermes_memory_store.frozen import dataclass

FACTS = "facts"
"""The view that is the main screen."""


@dataclass(frozen=True, slots=True)
class ViewEntry:
    name: str
    key: str
    title: str
    description: str
    class_path: str = ""
    """Module of `views` and class, `scopes_view:ScopesView`; empty for the facts."""


NOW = ViewEntry("now", "0", "Now", "Who is at work, what is written and given, what needs you", "now.now_view:NowView")

CATALOG = (
    NOW,
    ViewEntry(FACTS, "1", "Facts", "Browse, search and edit facts"),
    ViewEntry("scopes", "2", "Scopes", "Units of work: close, reopen, rename, merge, purge", "scopes_view:ScopesView"),
    ViewEntry(
        "pressure",
        "3",
        "Pressure",
        "Capacity per theme, and what each relief level would evict",
        "pressure_view:PressureView",
    ),
    ViewEntry("told", "4", "Context", "The exact context block agents receive", "context_view:ContextView"),
    ViewEntry("agents", "5", "Agents", "Sessions with their calls and context", "agents_view:AgentsView"),
    ViewEntry("journal", "6", "Journal", "All changes; time travel to any point", "journal_view:JournalView"),
    ViewEntry("review", "7", "Review", "Quarantined facts: approve, edit, reject", "review_view:ReviewView"),
    ViewEntry("files", "f7", "Files", "CLAUDE.md, AGENTS.md and what else hosts read", "files.files_view:FilesView"),
    ViewEntry(
        "turns",
        "f8",
        "Conversations",
        "Captured conversations, searchable",
        "conversations_view:ConversationsView",
    ),
    ViewEntry("team", "f9", "Team", "Sync with a team database", "team_view:TeamView"),
)

START = ViewEntry("start", "", "Start", "Import sources and hosts found on this machine", "now.start_view:StartView")
"""Not in the strip: *Now* shows it while the memory is empty."""

VIEWS_BY_NAME = {entry.name: entry for entry in (*CATALOG, START)}
