"""What a call needs from the team database, and the interface of what answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hermes_memory_bridge.embedding.query_vector import QueryVector
from hermes_memory_bridge.toolkit.arguments import Arguments, parse_flag, parse_optional_text
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.team_fallback import Kind, TeamFallback
from hermes_memory_store.store import Store
from hermes_memory_themes import SyncCarrier, ThemeError, normalise_theme

HERE = "not asked: all of it is exchanged, and here"
COMING = "it is still being fetched, and not all of it is here"
NOT_NAMED = "not asked: no team database is named"


class TeamSearcher(Protocol):
    async def search(
        self, connection: Connection, kind: Kind, arguments: Arguments, query_vector: QueryVector | None
    ) -> TeamFallback | None:
        """Search for facts or turns on behalf of a call; None when the call does not concern it.

        Never raises, and never takes long.
        """
        ...


@dataclass(frozen=True, slots=True)
class TeamRequest:
    """The themes for which a call needs the team database."""

    themes: tuple[str, ...] | None
    """None: all that it has and this store does not hold."""
    is_known: bool
    """Whether this store holds any of them."""
    complete: frozenset[str]
    """Synced themes that this store has fetched completely."""
    incomplete: frozenset[str]
    """Synced themes that are not fetched completely yet."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of themes in the team's database where they are others than here."""
    claims: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What the projects of those of the themes are recognised by that were never exchanged."""

    @property
    def is_coming(self) -> bool:
        """Check whether some of the requested data is still being synced to this machine."""
        return bool(self.incomplete if self.themes is None else self.incomplete.intersection(self.themes))


def may_need_team(arguments: Arguments) -> bool:
    """Check whether a call may need the team at all: most calls do not, and nothing is looked up for those."""
    scope = parse_optional_text(arguments, "scope")
    return is_team_explicit(arguments) or (
        scope is not None and scope.strip().lower() not in ("", "current", "all", "session")
    )


def is_team_explicit(arguments: Arguments) -> bool:
    return parse_flag(arguments, "team")


def is_theme_shared(store: Store, kind: Kind, theme: str) -> bool:
    """Check whether this store exchanges facts or turns of a theme with the team database."""
    is_there = store.policies.for_theme(theme).carrier is SyncCarrier.DATABASE
    return is_there and (kind == "fact" or store.shared_turns.is_sharing(theme))


def to_team_request(connection: Connection, store: Store, kind: Kind, arguments: Arguments) -> TeamRequest | None:
    """Return what a call needs from the team; None when this store answers it alone.

    That is the usual case, unless a theme is missing here altogether or the call says `team`.
    """
    scope = (parse_optional_text(arguments, "scope") or "current").strip().lower()
    also = is_team_explicit(arguments)
    themes = store.names.all_themes()
    shared = frozenset(theme for theme in themes if is_theme_shared(store, kind, theme))
    fetched = store.sync.inbox.fetched_themes() if kind == "fact" else filter(store.shared_turns.is_whole, shared)
    complete = shared.intersection(fetched)
    whole = complete, shared - complete
    if scope in ("current", "all"):
        named = (connection.theme,) if scope == "current" or not connection.rights.other_themes else None
        return TeamRequest(named, True, *whole, *to_team_names(store, named)) if also else None
    if scope == "session":
        return None
    try:
        name = normalise_theme(scope)
    except ThemeError:
        return None
    if name != connection.theme and not connection.rights.other_themes:
        return None  # answered like a theme that does not exist
    is_known = name in themes or name == connection.theme
    return TeamRequest((name,), is_known, *whole, *to_team_names(store, (name,))) if also or not is_known else None


def to_team_names(store: Store, named: tuple[str, ...] | None) -> tuple[Mapping[str, str], Mapping[str, Sequence[str]]]:
    """Return the names that themes have in the team, and what the projects of those named ones are that were never exchanged."""
    claims = {
        name: store.place_themes.list_identities(name) for name in named or () if not store.sync.inbox.cursor(name).seq
    }
    return store.sync.team_names(), {name: claim for name, claim in claims.items() if claim is not None}
