"""The import batch: every item found in a source, as the fact, scope or turn it becomes, with its position.

A fact's uid is derived from its identity in the source, so that a second import finds it here. Its target is
stable too: the source's own name of the item where there is one, else a mark of its content. Contents over the
limit become numbered parts.
"""

from __future__ import annotations

import codecs
import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hermes_memory_store import errors, safe_text
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.conversations.turn_rows import MAX_TURN, PortableTurn, validate_turn
from hermes_memory_store.files.jsonl_format import LATEST, PortableFact, PortableScope
from hermes_memory_store.intake.intake import Intake, Writer
from hermes_memory_store.items.origin_rows import PortableOrigin
from hermes_memory_store.items.tier_columns import quarantined_columns
from hermes_memory_store.language.binding_words import is_binding
from hermes_memory_store.memory.scopes import validate_label
from hermes_memory_store.model import Actor, FactType, Notation, Origin, Tier
from hermes_memory_store.notation import memory_spec
from hermes_memory_themes import ThemeError, normalise_theme

NAMESPACE = uuid.UUID("0d6c0c1e-4f0b-5a3e-9a62-696d706f7274").bytes
"""Of the uids of what is imported."""

MARK = 12
"""Hexadecimal digits of a mark in a target: two of a hundred thousand are alike once in fifty thousand such imports."""

MAX_TARGET_NAME = memory_spec.MAX_TARGET - 32
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
class SourcePlace:
    line: int
    """Number of the line, or of the row of a database, from 1."""
    file: str = ""
    """The file inside a folder; empty for a file of its own."""

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}" if self.file else f"line {self.line}"


@dataclass(frozen=True, slots=True)
class ImportItem:
    place: SourcePlace
    what: str
    """What it is at its source: `entity`, `observation [decision]` …"""
    theme: str | None
    """The theme its source names; None for the one that is asked for."""
    portable: PortableScope | PortableFact | PortableTurn

    def locate(self, origin: Origin) -> ImportItem:
        """Return it with its own file as the origin, where the source is a folder. :param origin: of the whole import"""
        if not self.place.file or origin.file is None or not isinstance(self.portable, PortableFact):
            return self
        own = replace(origin, file=str(Path(origin.file, self.place.file)), line=self.place.line)
        return replace(self, portable=replace(self.portable, origin=PortableOrigin(own)))


@dataclass(frozen=True, slots=True)
class SkippedItem:
    place: SourcePlace
    why: str


@dataclass(frozen=True, slots=True)
class RejectedItem:
    place: SourcePlace
    error: errors.StoreError


@dataclass(slots=True)
class ImportBatch:
    kind: str
    """The importer that read it."""
    intake: Intake
    theme: str
    """The theme of items whose source names none."""
    only: str | None
    """The theme of all items, whatever their source names."""
    now: int
    """When it is read, UTC milliseconds: nothing was written later than that."""
    written_at: int
    """When the source was last written: what says no time of its own was written then."""
    items: list[ImportItem] = field(default_factory=list)
    skips: list[SkippedItem] = field(default_factory=list)
    refusals: list[RejectedItem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    split: int = 0
    """Contents that became several facts."""
    waiting: int = 0
    """Contents that wait for a person."""
    redated: int = 0

    @property
    def actor(self) -> Actor:
        return Actor("import", self.kind)

    def theme_of(self, named: str | None) -> str:
        """Return the theme of an item. :param named: the one its source names"""
        return self.only or named or self.theme

    def add_skip(self, place: SourcePlace, reason: str) -> None:
        self.skips.append(SkippedItem(place, reason))

    def add_rejection(self, place: SourcePlace, message: str, value: Any = None) -> None:
        self.refusals.append(RejectedItem(place, errors.ImportFileError(message, value)))

    def take_records(
        self,
        records: Iterable[tuple[int, Any]],
        take: Callable[[ImportBatch, SourcePlace, dict[str, Any]], None],
        what: str,
    ) -> None:
        """Add the records of a document, each with its line, which must be objects. :param what: what one is called"""
        for line, record in records:
            if isinstance(record, dict):
                take(self, SourcePlace(line), record)
            else:
                self.add_rejection(SourcePlace(line), f"{what} is not an object", record)

    def add_fact(
        self,
        place: SourcePlace,
        what: str,
        kind: FactType | None,
        target: str,
        content: str,
        *,
        names: tuple[str, ...] = (),
        theme: str | None = None,
        scope: str | None = None,
        created_at: int | None = None,
        updated_at: int | None = None,
        **attributes: Any,
    ) -> None:
        """Add a fact, or several numbered ones where the content is over the limit.

        :param kind: None: what forbids or demands something is a constraint, everything else a value
        :param names: what identifies it in its source, beside its type, target and content
        :param attributes: others of `PortableFact`
        """
        with self.note_rejection(place):
            identity = source_theme(theme)
            label = validate_label(scope) if scope and scope.strip() else None
            aim = to_target(safe_text.validate_text(target, "the target"))
            text = " ".join(safe_text.validate_text(content, "the content").split())
            if not text:
                self.add_skip(place, "it says nothing")
                return
            known = kind or FactType.VALUE  # as it was before contents told
            first = attributes.pop("uid", None) or self.derive_fact_uid(names, identity, label, known, aim, text)
            kind = kind or (FactType.CONSTRAINT if is_binding(text) else FactType.VALUE)
            own = self.theme_of(identity)
            self.intake.admit_name(own, "the target", aim, writer=Writer.AGENT)
            # Whole and as it was written: half a secret is not recognised as one, and one that is masked keeps its lines.
            masking, suspicion, _ = self.intake.admit_content(
                own, aim, content.strip(), writer=Writer.AGENT, confirmed=True
            )
            limit = self.intake.policies.for_theme(own).fact_chars
            parts = memory_spec.split_content(" ".join(masking.content.split()), limit)
            if suspicion is not None and attributes.get("tier") is not Tier.SUPERSEDED:
                attributes |= quarantined_columns(suspicion.rule) | {"tier": Tier.QUARANTINED, "pinned": False}
                self.waiting += 1
            self.redated += max(created_at or 0, updated_at or 0) > self.now + DAY_MS
            made_at = self.written_at if created_at is None else max(0, min(created_at, self.now))
            changed_at = made_at if updated_at is None else max(made_at, min(updated_at, self.now))
            state = {
                "tier": Tier.HOT,
                "actor": self.actor,
                "created_at": made_at,
                "updated_at": changed_at,
                **attributes,
            }
            self.split += len(parts) > 1
            for number, part in enumerate(parts, 1):
                piece = Notation(kind, aim if len(parts) == 1 else f"{aim}.{number}", part)
                uid = first if number == 1 else derived_uid(first.hex(), str(number), part)
                self.items.append(ImportItem(place, what, identity, PortableFact(uid, label, piece, **state)))

    def add_relation(self, place: SourcePlace, subject: str, kind: str, other: str, *, required: str) -> None:
        """Add a relation as a value that states it in words. :param required: what its three parts are called"""
        if not (subject and kind and other):
            self.add_rejection(place, f"a relation needs {required}", subject or other)
            return
        aim = join_target_parts(subject, kind, text_mark(subject, kind, other))
        content = f"{subject} {kind.replace('_', ' ')} {other}"
        self.add_fact(place, "relation", FactType.VALUE, aim, content, names=(subject, kind, other))

    def derive_fact_uid(
        self, names: tuple[str, ...], identity: str | None, label: str | None, kind: FactType, aim: str, text: str
    ) -> bytes:
        """Derive the uid of a fact from what identifies it in its source, the same for every import."""
        return derived_uid(self.kind, *names, identity or "", label or "", kind.value, aim, text)

    def add_turn(
        self,
        place: SourcePlace,
        what: str,
        role: str,
        content: str,
        *,
        session: str | None = None,
        theme: str | None = None,
        at: int | None = None,
        names: tuple[str, ...] = (),
    ) -> None:
        """Add a captured message, or several where it is over the length limit."""
        with self.note_rejection(place):
            identity = source_theme(theme)
            if not content.strip():
                self.add_skip(place, "it says nothing")
                return
            made_at = self.written_at if at is None else min(at, self.now)
            masked = self.intake.admit_turn(self.theme_of(identity), content).content
            parts = [masked[start : start + MAX_TURN] for start in range(0, len(masked), MAX_TURN)]
            self.split += len(parts) > 1
            for number, part in enumerate(parts):
                uid = derived_uid(self.kind, "turn", *names, identity or "", session or "", role, content, str(number))
                turn = validate_turn(PortableTurn(uid, session or None, role, part, made_at))
                self.items.append(ImportItem(place, what, identity, turn))

    @contextmanager
    def note_rejection(self, place: SourcePlace) -> Iterator[None]:
        """Record what cannot be imported: text with hidden characters is skipped, everything else is a rejection."""
        try:
            yield
        except errors.UnsafeText as error:
            self.add_skip(place, error.message)
        except errors.StoreError as error:
            self.refusals.append(RejectedItem(place, error))
        except ThemeError as error:
            self.add_rejection(place, error.message, error.value)


def source_theme(theme: str | None) -> str | None:
    """Return the theme for a source's name of an agent. :raises ThemeError: it cannot be one"""
    return normalise_theme(theme) if theme and theme.strip() else None


def derived_uid(*names: str) -> bytes:
    """Derive a uid from names; the same names always give the same uid."""
    identity = "\x1f".join(names).encode("utf-8", "surrogatepass")
    return uuid.UUID(bytes=hashlib.sha256(NAMESPACE + identity).digest()[:16], version=5).bytes


def text_mark(*names: str) -> str:
    return hashlib.sha256("\x1f".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:MARK]


def to_target(name: str) -> str:
    """Convert a name to a target without brackets, on one line; its mark replaces what leaves no room for numbers of parts."""
    aim = " ".join(name.replace("[", "(").replace("]", ")").split())
    if len(aim) > memory_spec.MAX_TARGET - 8:
        return f"{aim[:MAX_TARGET_NAME].rstrip()}.{text_mark(aim)}"
    return aim or "note"


def join_target_parts(*parts: str) -> str:
    """Join several names to a target; the last of them is kept whole."""
    *head, last = (" ".join(part.split()) for part in parts if part.strip())
    front = ".".join(head)
    if len(front) > MAX_TARGET_NAME - len(last):
        front = f"{front[: max(8, MAX_TARGET_NAME - len(last) - MARK)].rstrip()}~{text_mark(front)}"
    return f"{front}.{last}" if front else last


def guess_fact_type(*names: Any) -> FactType | None:
    """Guess a fact's type from the first word that indicates one; None when none does."""
    for name in names:
        if isinstance(name, str):
            kind = TYPES.get("-".join(name.casefold().replace("_", " ").split()))
            if kind is not None:
                return kind
    return None


def parse_source_time(value: Any) -> int | None:
    """Parse a time into UTC milliseconds: ISO 8601, SQLite's, Postgres's, seconds or milliseconds; without a zone it is UTC."""
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


def decode_source_text(raw: bytes, *, on_error: str = "strict") -> str:
    """Decode a source: UTF-8, or UTF-16 where its mark says so, as some shells write. :raises UnicodeDecodeError:"""
    is_wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return raw.decode("utf-16" if is_wide else "utf-8-sig", on_error)


def first_text_field(record: Any, *keys: str) -> str:
    """Return the text of the first of these keys that holds one; empty when none does."""
    if isinstance(record, dict):
        for key in keys:
            value = record.get(key)
            if isinstance(value, str) and value.strip():
                return value
            if isinstance(value, int) and not isinstance(value, bool):
                return str(value)
    return ""
