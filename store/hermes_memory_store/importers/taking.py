"""What an importer's module hands over: each thing it found, as the fact, scope or turn it becomes, with where it stood.

A fact's uid is derived from what it is at its source, so that importing it again finds it here. Its target is stable too: the
source's own name of the thing where there is one, else a mark of its content. Contents over the limit become numbered parts.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from hermes_memory_store import errors, notation, text
from hermes_memory_store.model import Actor, FactType, Notation, ScopeStatus, Tier
from hermes_memory_store.portable import LATEST, SaidFact, SaidScope
from hermes_memory_store.scopes import checked_label
from hermes_memory_store.turn_rows import MAX_TURN, SaidTurn, checked_turn
from hermes_memory_store.waiting import WHY
from hermes_memory_themes import ThemeError, normalise_theme

NAMESPACE = uuid.UUID("0d6c0c1e-4f0b-5a3e-9a62-696d706f7274").bytes
"""Of the uids of what is imported."""

MARK = 12
"""Hexadecimal digits of a mark in a target: two of a hundred thousand are alike once in fifty thousand such imports."""

NAME_ROOM = notation.MAX_TARGET - 32
"""Characters of a target before its mark and the numbers of its parts."""

TYPES = {
    "constraint": FactType.CONSTRAINT,
    "requirement": FactType.CONSTRAINT,
    "rule": FactType.CONSTRAINT,
    "policy": FactType.CONSTRAINT,
    "principle": FactType.CONSTRAINT,
    "decision": FactType.DECISION,
    "architecture": FactType.DECISION,
    "question": FactType.UNKNOWN,
    "open-question": FactType.UNKNOWN,
    "unknown": FactType.UNKNOWN,
}
"""What other programs call things, where that says more than a value; everything else is one. Nothing becomes `✓` or `~`: a note
about something done must not close a scope here, nor hide a fact."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands at its source."""

    line: int
    """Number of the line, or of the row of a database, from 1."""
    file: str = ""
    """The file inside a folder; empty for a file of its own."""

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}" if self.file else f"line {self.line}"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is brought in."""

    place: Place
    what: str
    """What it is at its source: `entity`, `observation [decision]` …"""
    theme: str | None
    """The theme its source names; None for the one that is asked for."""
    said: SaidScope | SaidFact | SaidTurn


@dataclass(frozen=True, slots=True)
class Skip:
    """Something that was left out on purpose, and why."""

    place: Place
    why: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that could not be understood."""

    place: Place
    error: errors.StoreError


@dataclass(frozen=True, slots=True)
class Screened:
    """What may be kept of a text that was looked at."""

    content: str
    waits: str | None = None
    """The rule by which it waits for a person; None for what may be told to agents."""


Screen = Callable[[str | None, str | None, str], Screened]
"""Looks at a text by the theme its source names, its target (None for a turn) and its content. It may raise an `InputError`: the
text is left out then, with that reason."""


@dataclass(slots=True)
class Taken:
    """All that one source held."""

    kind: str
    """The importer that read it."""
    limit_of: Callable[[str | None], int]
    """Characters of one fact, by the theme its source names."""
    now: int
    """When it is read, UTC milliseconds: nothing was written later than that."""
    written_at: int
    """When the source was last written: what says no time of its own was written then."""
    screen: Screen | None = None
    """Looks at every text before it is taken."""
    items: list[Item] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    split: int = 0
    """Contents that became several facts."""
    waiting: int = 0
    """Contents that wait for a person."""

    @property
    def actor(self) -> Actor:
        """Who wrote what is brought in."""
        return Actor("import", self.kind)

    def skip(self, place: Place, why: str) -> None:
        """Leave something out."""
        self.skips.append(Skip(place, why))

    def refuse(self, place: Place, message: str, value: Any = None) -> None:
        """Report something that cannot be understood."""
        self.refusals.append(Refusal(place, errors.ImportFileError(message, value)))

    def scope(self, place: Place, label: str, *, theme: str | None = None, **given: Any) -> None:
        """A scope, open unless `given` says otherwise (uid, status, opened_at, closed_at, closed_by)."""
        with_defaults: dict[str, Any] = {
            "uid": uid_of(self.kind, "scope", label),
            "status": ScopeStatus.OPEN,
            "opened_at": self.written_at,
            "closed_at": None,
            "closed_by": None,
            **given,
        }
        with self._noting(place):
            self.items.append(Item(place, "scope", theme, SaidScope(label=checked_label(label), **with_defaults)))

    def fact(
        self,
        place: Place,
        what: str,
        kind: FactType,
        target: str,
        content: str,
        *,
        names: tuple[str, ...] = (),
        theme: str | None = None,
        scope: str | None = None,
        created_at: int | None = None,
        updated_at: int | None = None,
        **given: Any,
    ) -> None:
        """A fact, or several numbered ones where the content is over the limit.

        :param names: what tells it from all others at its source, beside its type, target and content
        :param given: uid, tier, pinned, superseded_by, cooled_by, reads, read_at
        """
        with self._noting(place):
            identity = identity_of(theme)
            label = checked_label(scope) if scope and scope.strip() else None
            aim = target_of(text.check(target, "the target"))
            said = " ".join(text.check(content, "the content").split())
            if not said:
                self.skip(place, "it says nothing")
                return
            first = given.pop("uid", None) or uid_of(
                self.kind, *names, identity or "", label or "", kind.value, aim, said
            )
            # As it was written: a secret that is masked keeps its lines.
            seen = Screened(said) if self.screen is None else self.screen(identity, aim, content.strip())
            parts = notation.pieces(" ".join(seen.content.split()), self.limit_of(identity))
            if seen.waits is not None and given.get("tier") is not Tier.SUPERSEDED:
                given |= {"tier": Tier.QUARANTINED, "cooled_by": WHY + seen.waits, "pinned": False}
                self.waiting += 1
            made_at = self.written_at if created_at is None else max(0, min(created_at, self.now))
            changed_at = made_at if updated_at is None else max(made_at, min(updated_at, self.now))
            fact = SaidFact(
                **{
                    "uid": first,
                    "scope": label,
                    "said": Notation(kind, aim, said),
                    "tier": Tier.HOT,
                    "pinned": False,
                    "actor": self.actor,
                    "created_at": made_at,
                    "updated_at": changed_at,
                    "superseded_by": None,
                    "cooled_by": None,
                    "reads": 0,
                    "read_at": None,
                    **given,
                }
            )
            self.split += len(parts) > 1
            for number, part in enumerate(parts, 1):
                piece = Notation(kind, aim if len(parts) == 1 else f"{aim}.{number}", part)
                uid = first if number == 1 else uid_of(first.hex(), str(number), part)
                self.items.append(Item(place, what, identity, replace(fact, uid=uid, said=piece)))

    def turn(
        self,
        place: Place,
        what: str,
        role: str,
        content: str,
        *,
        session: str | None = None,
        theme: str | None = None,
        at: int | None = None,
        names: tuple[str, ...] = (),
    ) -> None:
        """A captured message, or several where it is longer than one may be."""
        with self._noting(place):
            identity = identity_of(theme)
            if not content.strip():
                self.skip(place, "it says nothing")
                return
            said_at = self.written_at if at is None else min(at, self.now)
            # Whole, before it is cut: half a secret is not recognised as one.
            kept = content if self.screen is None else self.screen(identity, None, content).content
            parts = [kept[start : start + MAX_TURN] for start in range(0, len(kept), MAX_TURN)]
            self.split += len(parts) > 1
            for number, part in enumerate(parts):
                uid = uid_of(self.kind, "turn", *names, identity or "", session or "", role, content, str(number))
                made = checked_turn(SaidTurn(uid, session or None, role, part, said_at))
                self.items.append(Item(place, what, identity, made))

    def _noting(self, place: Place) -> Noting:
        return Noting(self, place)


class Noting:
    """Notes what cannot be taken: text that hides something is left out, everything else is a mistake of the source."""

    def __init__(self, taken: Taken, place: Place) -> None:
        self._taken = taken
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: object) -> bool:
        if isinstance(error, errors.UnsafeText):
            self._taken.skip(self._place, error.message)
        elif isinstance(error, errors.StoreError):
            self._taken.refusals.append(Refusal(self._place, error))
        elif isinstance(error, ThemeError):
            self._taken.refuse(self._place, error.message, error.value)
        else:
            return False
        return True


def identity_of(theme: str | None) -> str | None:
    """The theme that a source's name for an agent becomes. :raises ThemeError: it can be none"""
    return normalise_theme(theme) if theme and theme.strip() else None


def uid_of(*names: str) -> bytes:
    """A uid that the same names always give."""
    said = "\x1f".join(names).encode("utf-8", "surrogatepass")
    return uuid.UUID(bytes=hashlib.sha256(NAMESPACE + said).digest()[:16], version=5).bytes


def mark(*names: str) -> str:
    """A short mark of a text."""
    return hashlib.sha256("\x1f".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:MARK]


def target_of(name: str) -> str:
    """A name as a target: without brackets, on one line, and short enough for the numbers of parts; its mark stands for what had
    no room."""
    aim = " ".join(name.replace("[", "(").replace("]", ")").split())
    if len(aim) > notation.MAX_TARGET - 8:
        return f"{aim[:NAME_ROOM].rstrip()}.{mark(aim)}"
    return aim or "note"


def named(*parts: str) -> str:
    """A target of several names, the last of them kept whole."""
    *head, last = (" ".join(part.split()) for part in parts if part.strip())
    front = ".".join(head)
    if len(front) > NAME_ROOM - len(last):
        front = f"{front[: max(8, NAME_ROOM - len(last) - MARK)].rstrip()}~{mark(front)}"
    return f"{front}.{last}" if front else last


def type_of(*names: Any) -> FactType:
    """The type that the first telling one of these words means; a value when none does."""
    for name in names:
        if isinstance(name, str):
            kind = TYPES.get("-".join(name.casefold().replace("_", " ").split()))
            if kind is not None:
                return kind
    return FactType.VALUE


def moment(value: Any) -> int | None:
    """A time as sources write it (ISO 8601, SQLite's, Postgres's, seconds or milliseconds), in UTC milliseconds; None for none.

    What names no zone is UTC.
    """
    try:
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, int | float):
            millis = round(value if abs(value) > 100_000_000_000 else value * 1000)
        elif isinstance(value, str):
            when = datetime.fromisoformat(value.strip())
            millis = round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return millis if 0 <= millis <= LATEST else None


def words(record: Any, *keys: str) -> str:
    """The first of these keys that holds a text that says something; empty when none does."""
    if isinstance(record, dict):
        for key in keys:
            value = record.get(key)
            if isinstance(value, str) and value.strip():
                return value
            if isinstance(value, int) and not isinstance(value, bool):
                return str(value)
    return ""
