"""The store's side of team sync: what waits to be sent, what was received, and what two machines said at once.

No network: a syncer asks `pending`, sends, says `acknowledge` or `refuse`, pulls, and hands the rows to `apply`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hermes_memory_store.clock import Clock
from hermes_memory_store.db import Db
from hermes_memory_store.journal import Journal
from hermes_memory_store.model import PERSON, Actor, Changed, Uid
from hermes_memory_store.names import Names
from hermes_memory_store.travelling import Applied, Conflict, Cursor, Refused, SyncRow
from hermes_memory_themes import Policies

__all__ = ["Applied", "Conflict", "Cursor", "Refused", "Sync", "SyncRow"]

AHEAD_MS = 300_000
"""How far ahead of the server's clock a version may be stamped."""


class Sync:
    """Sends and receives the versions of themes whose policy says `sync`. Times of the server are milliseconds."""

    def __init__(self, db: Db, names: Names, journal: Journal, policies: Policies, clock: Clock) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies
        self._clock = clock

    @property
    def node(self) -> Uid:
        """Name of this store among the others."""
        raise NotImplementedError

    def renew_node(self) -> Uid:
        """Take a new name: this store is a copy of one that goes on by itself. What is unsent is stamped anew."""
        raise NotImplementedError

    def themes(self) -> list[str]:
        """The themes whose policy says sync, by name. Their writes are tracked from the first time this is asked."""
        raise NotImplementedError

    def pending(self, theme: str, *, limit: int = 500) -> list[SyncRow]:
        """Versions that nobody acknowledged yet, oldest first; without those the server refused."""
        raise NotImplementedError

    def pending_counts(self) -> dict[str, int]:
        """How many versions wait, by theme."""
        raise NotImplementedError

    def acknowledge(self, theme: str, sent: Sequence[tuple[Uid, int]], seqs: Sequence[int | None] = ()) -> None:
        """The server has these (uid, clock), under these sequence numbers (None: it had a newer one).

        What was changed meanwhile has another clock, and goes on waiting.
        """
        raise NotImplementedError

    def refuse(self, theme: str, uid: Uid, hlc: int, why: str) -> None:
        """The server will not have this version: it no longer waits, until the thing is changed again."""
        raise NotImplementedError

    def refused(self, theme: str | None = None) -> list[Refused]:
        """What the server refused, oldest first."""
        raise NotImplementedError

    def cursor(self, theme: str) -> Cursor:
        """How far the theme was pulled."""
        raise NotImplementedError

    def apply(self, theme: str, rows: Sequence[tuple[int, SyncRow]], *, cursor: Cursor) -> Applied:
        """Take in rows with their server sequence, and move the cursor, in one journaled transaction."""
        raise NotImplementedError

    def offer_everything(self, theme: str) -> int:
        """The server lost its tail: everything waits again, and the theme is pulled from the start. How many wait."""
        raise NotImplementedError

    def observe(self, server_ms: int) -> int:
        """Note the server's time; how many milliseconds it is ahead of this machine's clock."""
        raise NotImplementedError

    def restamp_future(self, *, ahead_ms: int = AHEAD_MS) -> int:
        """Stamp anew what waits and is stamped further ahead of the server's clock than it accepts; how many."""
        raise NotImplementedError

    def conflicts(self, theme: str | None = None) -> list[Conflict]:
        """What two machines said at once and nobody decided yet, newest first."""
        raise NotImplementedError

    def resolve(
        self, uid: Uid, keep: Literal["mine", "theirs", "both"], *, actor: Actor = PERSON, theme: str | None = None
    ) -> Changed:
        """Decide the conflicts of one thing: what stands, what lost, or both (the loser becomes a new fact).

        :raises UnknownFact: when it has no conflict
        """
        raise NotImplementedError

    def digest(self, theme: str) -> str:
        """Digest of all versions of a theme: equal on stores that know the same."""
        raise NotImplementedError

    def digests(self, theme: str) -> dict[Uid, str]:
        """`SyncRow.digest` of every version of a theme."""
        raise NotImplementedError

    def try_lease(self, holder: str, ttl_ms: int) -> bool:
        """Become, or go on being, the one syncer of this store for that long."""
        raise NotImplementedError

    def release(self, holder: str) -> None:
        """Let another syncer begin at once."""
        raise NotImplementedError
