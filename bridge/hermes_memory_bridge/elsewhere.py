"""What was found elsewhere than in this machine's store: facts and turns of themes that only the team's database holds.

It is asked for nothing that this store holds by itself: a theme that is exchanged is here whole. Who recalls sees what was found
as stores in memory, and whether there was an answer, in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from hermes_memory_bridge.arguments import Arguments, flag, text_or_none
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.embedding.asked import Asked
from hermes_memory_store.store import Store
from hermes_memory_themes import ThemeError, normalise_theme

Kind = Literal["fact", "turn"]

ANSWERED = "answered"
HERE = "not asked: all of it is exchanged, and here"
COMING = "it is still being fetched, and not all of it is here"
NOT_NAMED = "not asked: no team database is named"


@dataclass(frozen=True, slots=True)
class Held:
    """The facts or the turns of one theme that may answer, as a store, and what of them is near in meaning."""

    store: Store
    asked: Asked | None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The team's part in an answer."""

    said: str
    """Whether it answered, in words."""
    themes: Mapping[str, Held] = field(default_factory=dict)
    wanted: tuple[str, ...] = ()
    """Themes it was asked for, whether it answered or not."""

    def close(self) -> None:
        """Forget what was found."""
        for held in self.themes.values():
            held.store.db.close()

    @property
    def answered(self) -> bool:
        """Whether it said what it has."""
        return self.said == ANSWERED


class Asking(Protocol):
    """Whoever asks the team's database."""

    async def of(
        self, connection: Connection, kind: Kind, arguments: Arguments, asked: Asked | None
    ) -> Elsewhere | None:
        """What it says to a call for facts or turns; None when the call is none of its business. Never an error, and never for
        long."""
        ...


@dataclass(frozen=True, slots=True)
class Wish:
    """For which themes a call would have the team's database asked."""

    themes: tuple[str, ...] | None
    """None: all that it has and this store does not hold."""
    known: bool
    """Whether this store holds any of them."""
    here: frozenset[str]
    """Themes that this store holds whole, since it exchanges them and has fetched all of them."""
    coming: frozenset[str]
    """Themes that it exchanges and has not fetched to the end."""

    @property
    def is_coming(self) -> bool:
        """Whether some of what it wants is on its way here."""
        return bool(self.coming if self.themes is None else self.coming.intersection(self.themes))


def may_wish(arguments: Arguments) -> bool:
    """Whether a call may want anything of the team: most say by themselves that they do not, and nothing is looked up then."""
    scope = text_or_none(arguments, "scope")
    return is_explicit(arguments) or (
        scope is not None and scope.strip().lower() not in ("", "current", "all", "session")
    )


def is_explicit(arguments: Arguments) -> bool:
    """Whether a call says that the team is to be asked."""
    return flag(arguments, "team")


def is_shared(store: Store, kind: Kind, theme: str) -> bool:
    """Whether this store exchanges facts or turns of a theme."""
    return store.policies.for_theme(theme).sync if kind == "fact" else store.shared_turns.shares(theme)


def wish(connection: Connection, store: Store, kind: Kind, arguments: Arguments) -> Wish | None:
    """What a call wants of the team; None when this store answers it alone, as it does unless a theme is not here at all or the
    call says `team`."""
    scope = (text_or_none(arguments, "scope") or "current").strip().lower()
    also = is_explicit(arguments)
    held = store.names.all_themes()
    shared = frozenset(theme for theme in held if is_shared(store, kind, theme))
    fetched = store.sync.fetched() if kind == "fact" else filter(store.shared_turns.is_whole, shared)
    here = shared.intersection(fetched)
    whole = here, shared - here
    if scope in ("current", "all"):
        named = (connection.theme,) if scope == "current" or not connection.rights.other_themes else None
        return Wish(named, True, *whole) if also else None
    if scope == "session":
        return None
    try:
        name = normalise_theme(scope)
    except ThemeError:
        return None
    if name != connection.theme and not connection.rights.other_themes:
        return None  # answered like a theme that does not exist
    known = name in held or name == connection.theme
    return Wish((name,), known, *whole) if also or not known else None
