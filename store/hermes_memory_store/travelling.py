"""What travels between stores: the newest version of a fact or a scope, and how two versions are told apart.

A version is named by its clock and the node that made it: the clock is a hybrid one, 48 bits of milliseconds and 16 of
counter. Of two versions of one thing the purged one wins, else the higher (clock, node); the winner descends from the
other when it names that clock among its ancestors, and otherwise both were made without knowing of each other.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import dataclass, field
from typing import Any, Literal

from hermes_memory_store.model import Millis, Uid

LIVE, DELETED, PURGED = 0, 1, 2
"""States of a version: it is there, its creation was taken back, or it was erased for good."""

MAX_ANCESTORS = 16
"""Clocks of earlier versions that a version names."""

COUNTER_BITS = 16
"""Low bits of a clock that count within its millisecond."""

SCOPES = uuid.UUID("6f1f8f5e-9a52-5b0e-8a3c-3d1a7f0f2c11")
"""Namespace of the uids by which scopes travel."""


@dataclass(frozen=True, slots=True)
class SyncRow:
    """One version of one thing, as it travels."""

    theme: str
    uid: Uid
    kind: Literal["fact", "scope"]
    content: str | None
    """The fact's content, the scope's label. None for a fact that is deleted or purged."""
    attrs: dict[str, Any]
    """Every other column in portable words; empty when deleted or purged."""
    state: int
    """0 live, 1 deleted (a tombstone: it may come back), 2 purged (absorbing)."""
    hlc: int
    node: Uid
    ancestors: tuple[int, ...] = ()
    """Clocks of versions it descends from, newest first."""
    supersedes: Uid | None = None

    @property
    def at(self) -> Millis:
        """When it was made, by its clock."""
        return Millis(self.hlc >> COUNTER_BITS)

    @property
    def rank(self) -> tuple[bool, int, str]:
        """What decides between two versions of one thing: the higher one wins."""
        return self.state == PURGED, self.hlc, self.node

    @property
    def said(self) -> str:
        """Digest of what it says, whoever said it and when: equal for equal versions on every machine."""
        return digest_of(self.kind, self.content, self.attrs, self.state)

    @property
    def digest(self) -> str:
        """Digest of the version: what it says, its clock and its node."""
        return version_digest(self.uid, self.hlc, self.node, self.said)


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a theme was pulled, and the newest mark of the server's that was seen."""

    seq: int = 0
    mark_seq: int | None = None
    mark_token: Uid | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """How far all that the server has of a theme was listed from the start."""

    seq: int
    gc_seq: int
    """Up to where deleted rows may have been removed when it began: as long as that is so, each that was listed and deleted
    afterwards is still to come."""
    head: Cursor
    """Where the server was when it began: as long as that mark is there, nothing of what was listed was lost."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What came of rows that were pulled."""

    changed: int = 0
    conflicts: int = 0
    ignored: int = 0
    """Known already, older than what is here, or of a thing that was purged."""
    aside: int = 0
    """Kept and not shown: malformed, or refused by the theme's policy."""
    unreached: tuple[str, ...] = ()
    """Backups that still hold what a purge erased, since they could not be opened or changed."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two versions made without knowing of each other: the one that stands, and the one that lost."""

    uid: Uid
    """Of the thing that lost; what `resolve` is told."""
    theme: str
    mine: SyncRow
    """What stands now."""
    theirs: SyncRow
    """What lost, whichever machine it came from."""
    at: Millis
    why: Literal["concurrent", "two heads"] = "concurrent"
    """Two versions of one thing, or two facts that both stand for one scope, type and target."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A version the server will not have."""

    row: SyncRow
    why: str


@dataclass(frozen=True, slots=True)
class Aside:
    """A version from the team that is kept and not shown here: it is malformed, or the theme's policy refuses it."""

    theme: str
    uid: Uid
    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Screened:
    """What the screens of this machine made of a version from another one. It holds here alone, and never travels."""

    shown: str | None = None
    """The content as it is shown where that is not what the version says: its secrets are masked."""
    waits: str | None = None
    """The rule for which it waits for a person."""
    aside: str | None = None
    """Why it is not shown at all."""

    def __bool__(self) -> bool:
        return (self.shown, self.waits, self.aside) != (None, None, None)


@dataclass(slots=True)
class Payload:
    """What a version says, without its name."""

    kind: str
    content: str | None
    attrs: dict[str, Any] = field(default_factory=dict)
    state: int = LIVE
    screened: Screened = Screened()

    @property
    def said(self) -> str:
        return digest_of(self.kind, self.content, self.attrs, self.state)

    def dumped(self) -> str:
        one = self.screened
        screened = [[one.shown, one.waits, one.aside]] if one else []
        return canonical([self.kind, self.content, self.attrs, self.state, *screened])

    @classmethod
    def loaded(cls, text: str) -> Payload:
        kind, content, attrs, state, *screened = json.loads(text)
        return cls(kind, content, attrs, state, *(Screened(*one) for one in screened))


def version_digest(uid: str, hlc: int, node: str, said: str) -> str:
    """32 hexadecimal digits of a version."""
    return hashlib.sha256(f"{uid}|{hlc}|{node}|{said}".encode()).hexdigest()[:32]


def digest_of(kind: str, content: str | None, attrs: dict[str, Any], state: int) -> str:
    """32 hexadecimal digits that are equal for what says the same."""
    return digest_of_text(canonical([kind, content, attrs, state]))


def digest_of_text(text: str) -> str:
    """The same for what is in its canonical form already."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical(value: Any) -> str:
    """One text for equal JSON, however its keys were ordered on the way."""
    return CANONICAL.encode(value)


def uid_of_scope(theme: str, label: str) -> Uid:
    """The uid by which a scope travels: the same on every machine that opens a scope of that label in that theme."""
    return Uid(str(uuid.uuid5(SCOPES, f"{theme}\n{label}")))
