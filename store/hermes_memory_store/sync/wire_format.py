"""The wire format of sync: the newest version of a fact or a scope, its fields with their bounds, and how versions compare.

A version is named by its clock and the node that made it: the clock is a hybrid one, 48 bits of milliseconds and 16 of counter.
Rows come from programs that may be newer, older or wrong, and from whoever else may write to the database.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.intake.spans import NOT_KEPT, replace_text_spans, to_secret_placeholder
from hermes_memory_store.items.kinds import FACT
from hermes_memory_store.items.name_keys import UNSCOPED
from hermes_memory_store.items.tier_columns import settled_columns
from hermes_memory_store.model import Actor, FactType, Millis, ScopeStatus, Tier, Uid
from hermes_memory_store.notation.memory_spec import MAX_TARGET
from hermes_memory_store.places.citations import is_portable_citing

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
    """One version of one thing in its wire format."""

    theme: str
    uid: Uid
    kind: Literal["fact", "scope", "turn"]
    """Turns have one version for ever; see `shared_turns.py`."""
    content: str | None
    """The fact's or turn's content, the scope's label. None for a fact that is deleted or purged."""
    attrs: dict[str, Any]
    """Every other column in portable words; empty when deleted or purged."""
    state: int
    """0 live, 1 deleted (a tombstone: it may come back), 2 purged (absorbing)."""
    hlc: int
    node: Uid
    ancestors: tuple[int, ...] = ()
    """Clocks of versions it descends from, newest first."""
    supersedes: Uid | None = None
    origin: dict[str, Any] | None = field(default=None, compare=False)
    """Where a fact came from, as the machine says that wrote it; beside the version, which does not cover it."""
    teammate: str | None = field(default=None, compare=False)
    """Who brought it, as the server says."""
    worded_by: str | None = field(default=None, compare=False)
    """The role whose words these are, as the server says."""
    changed_by: str | None = field(default=None, compare=False)
    """The role that made it what it is now, as the server says."""
    trusted: bool = field(default=True, compare=False)
    """Whether it may be hot and pinned here: a curator or this machine's own role made it so, as the server says."""

    @property
    def at(self) -> Millis:
        """The time of its making, by its clock."""
        return Millis(self.hlc >> COUNTER_BITS)

    @property
    def rank(self) -> tuple[bool, int, str]:
        """The key that decides between two versions of one thing: the higher one wins."""
        return self.state == PURGED, self.hlc, self.node

    @property
    def content_digest(self) -> str:
        """Digest of its content without author and time: equal for equal versions on every machine."""
        return version_content_digest(self.kind, self.content, self.attrs, self.state)

    @property
    def digest(self) -> str:
        """Digest of the version: its content, its clock and its node."""
        return version_digest(self.uid, self.hlc, self.node, self.content_digest)


@dataclass(frozen=True, slots=True)
class PullCursor:
    """How far a theme was pulled, and the newest of the server's marks that was seen."""

    seq: int = 0
    mark_seq: int | None = None
    mark_token: Uid | None = None


@dataclass(frozen=True, slots=True)
class PullListing:
    """How far a full listing of the server's rows of a theme has come."""

    seq: int
    gc_seq: int
    """Up to where deleted rows may have been removed when it began: as long as that is so, each that was listed and deleted
    afterwards is still to come."""
    head: PullCursor
    """Where the server was when it began: as long as that mark is there, nothing of what was listed was lost."""


@dataclass(frozen=True, slots=True)
class ApplyResult:
    changed: int = 0
    conflicts: int = 0
    ignored: int = 0
    """Known already, older than what is here, or of a thing that was purged."""
    hidden: int = 0
    """Kept and not shown: malformed, or refused by the theme's policy."""
    unreached: tuple[str, ...] = ()
    """Backups that still hold what a purge erased, since they could not be opened or changed."""


@dataclass(frozen=True, slots=True)
class SyncConflict:
    """Two concurrent versions: the one that stands, and the one that lost."""

    uid: Uid
    """Of the thing that lost; what `resolve` takes."""
    theme: str
    mine: SyncRow
    """What stands now."""
    theirs: SyncRow
    """What lost, whichever machine it came from."""
    at: Millis
    why: Literal["concurrent", "two heads"] = "concurrent"
    """Two versions of one thing, or two facts that both stand for one scope, type and target."""


class RejectedRow(NamedTuple):
    row: SyncRow
    why: str


class HiddenVersion(NamedTuple):
    """A version from the team that is kept and not shown here, with the reason."""

    theme: str
    uid: Uid
    kind: str
    why: str


class CheckedVersion(NamedTuple):
    """What this machine's content checks made of another machine's version. Local only, never sent."""

    masked_content: str | None = None
    """The content to show instead of the version's, which holds secrets."""
    quarantine_rule: str | None = None
    """The rule by which it is quarantined until a person decides."""
    hidden_because: str | None = None
    """Why it is not shown at all."""
    uncurated: bool = False
    """Whether it is kept cold and not pinned, since no curator made it hot, until a person here agrees."""
    clear_digest: str | None = None
    """Digest of the content with its secrets, which the vault alone has; of one that is held and hidden, `content_digest`."""


UNCHANGED = CheckedVersion()
"""A version that is shown as it says."""


class ReceivedVersion(NamedTuple):
    """A version from another machine that can be identified, with all that applying it needs."""

    seq: int
    """Its sequence number in the team's database."""
    uid: bytes
    row: SyncRow
    checked: CheckedVersion


@dataclass(slots=True)
class VersionPayload:
    """The content of a version, without its name."""

    kind: str
    content: str | None
    attrs: dict[str, Any] = field(default_factory=dict)
    state: int = LIVE
    checked: CheckedVersion = UNCHANGED

    @property
    def content_digest(self) -> str:
        return version_content_digest(self.kind, self.content, self.attrs, self.state)

    def to_json(self) -> str:
        """Return what is stored of it: nothing that a content check masked, or refused."""
        content, attrs, checked = self.content, self.attrs, self.checked
        if checked == UNCHANGED:
            return to_canonical_json([self.kind, content, attrs, self.state])
        if checked.masked_content is not None:
            content = checked.masked_content
        if checked.hidden_because is not None:
            target = attrs.get("target") if isinstance(attrs, dict) else None
            content, attrs = hide_secrets(content, str(target or "")), hide_secrets(attrs)
        results = checked if checked.clear_digest is not None else checked[:-1]
        return to_canonical_json([self.kind, content, attrs, self.state, results])

    @classmethod
    def from_json(cls, text: str) -> VersionPayload:
        kind, content, attrs, state, *results = json.loads(text)
        checked = CheckedVersion(*results[0]) if results else UNCHANGED
        if checked.masked_content is not None and checked.clear_digest is None:  # as earlier versions stored it
            checked = checked._replace(clear_digest=canonical_text_digest(str(content)))
            content = checked.masked_content
        return cls(kind, content, attrs, state, checked)

    def to_row(self, theme: str, uid: bytes, hlc: int, node: bytes, ancestors: str) -> SyncRow:
        """Return the version of this content under a name. :param ancestors: as they are stored"""
        return SyncRow(
            theme=theme,
            uid=uids.format_uid(uid),
            kind=self.kind,  # type: ignore[arg-type]  # one that this program does not know is kept as it came
            content=self.content,
            attrs=self.attrs,
            state=self.state,
            hlc=hlc,
            node=uids.format_uid(node),
            ancestors=tuple(json.loads(ancestors)),
            trusted=not self.checked.uncurated,
        )


def hide_secrets(value: Any, target: str = "") -> Any:
    """Return a JSON value without the secrets of its texts. :param target: of the fact whose content it is"""
    from hermes_memory_store.intake.detectors.secrets import find_secrets

    if isinstance(value, dict):
        return {hide_secrets(key): hide_secrets(item) for key, item in value.items()}
    if isinstance(value, list):
        return [hide_secrets(item) for item in value]
    spans = find_secrets(target, value) if isinstance(value, str) else ()
    return replace_text_spans(value, [(span, to_secret_placeholder(NOT_KEPT)) for span in spans]) if spans else value


def mask_row(row: SyncRow, checked: CheckedVersion) -> SyncRow:
    return row if checked.masked_content is None else replace(row, content=checked.masked_content)


def comparable_content(row: SyncRow | VersionPayload) -> tuple[Any, ...]:
    """Return what makes two versions different for a person: neither their time nor moves by pressure."""
    attrs = row.attrs if isinstance(row.attrs, dict) else {}
    if row.kind == "scope":
        return (attrs.get("status") == ScopeStatus.CLOSED,)
    tier = "live" if attrs.get("tier") in ("hot", "cold") else attrs.get("tier")
    fields = (attrs.get(name) for name in ("type", "target", "scope", "pinned"))
    return row.state, row.content, tier, *fields


def version_digest(uid: str, hlc: int, node: str, content: str) -> str:
    return hashlib.sha256(f"{uid}|{hlc}|{node}|{content}".encode()).hexdigest()[:32]


def version_content_digest(kind: str, content: str | None, attrs: dict[str, Any], state: int) -> str:
    return canonical_text_digest(to_canonical_json([kind, content, attrs, state]))


def canonical_text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def to_canonical_json(value: Any) -> str:
    """Encode as canonical JSON: one text for equal values, whatever the order of their keys."""
    return CANONICAL.encode(value)


def scope_sync_uid(theme: str, label: str) -> Uid:
    """Return the sync uid of a scope: the same on every machine for that label in that theme."""
    return Uid(str(uuid.uuid5(SCOPES, f"{theme}\n{label}")))


def rename_theme_of_row(row: SyncRow, theme: str) -> SyncRow:
    """Return a version as a theme of another name has it: the uid of a scope is made of that name.

    The uids that its label has under the two names change places, so that no two rows become one.
    """
    if row.theme == theme:
        return row
    uid = row.uid
    if row.kind == "scope" and isinstance(row.content, str):
        here, there = scope_sync_uid(row.theme, row.content), scope_sync_uid(theme, row.content)
        uid = {here: there, there: here}.get(uid, uid)
    return replace(row, theme=theme, uid=uid)


MAX_CONTENT = 100_000
"""Characters of a content that are taken from another machine: far above what any policy allows a fact."""

MAX_LABEL = 1_000

MAX_NAME = 400
"""Characters of who wrote a fact, or moved it."""

TYPES, STATUSES = frozenset(FactType), frozenset({ScopeStatus.OPEN, ScopeStatus.CLOSED})

TIERS = frozenset({Tier.HOT, Tier.COLD, Tier.ARCHIVED, Tier.SUPERSEDED})
"""Those that travel; the others are each machine's own."""

UNIDENTIFIED = "it cannot be identified"
"""The fault of a version that cannot even be kept: it is ignored."""

OTHER_TYPE = "its type or its tier is not one that is synced"

MALFORMED = "a part of it is missing or invalid"


def validate_row_text(value: Any) -> str:
    """Return a text that may be kept. :raises StoreError: ValueError"""
    if not isinstance(value, str) or len(value) > MAX_CONTENT:
        raise ValueError("not a valid text of a fact")
    if value.isascii() and value.isprintable():
        return value  # as `validate_text` returns it: most texts are such, and a row has five
    return safe_text.validate_text(value, "a fact from the team")


def validate_row_content(value: Any) -> str:
    """Return a valid fact content: several lines could pass for several facts. :raises StoreError: ValueError"""
    return " ".join(validate_row_text(value).split())


def validate_row_time(value: Any) -> int:
    """Return a time in milliseconds. :raises ValueError:"""
    if not is_time(value):
        raise ValueError("not a time")
    return int(value)


@lru_cache(maxsize=256)
def parse_author(text: str) -> Actor:
    kind, _, name = text.partition(":")
    return Actor(kind, name)


def is_time(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value < 1 << 48


def is_row_name(value: Any) -> bool:
    return value is None or len(validate_row_text(value)) <= MAX_NAME


def is_row_target(value: Any) -> bool:
    text = validate_row_text(value)
    return 0 < len(text) <= MAX_TARGET and "[" not in text and "]" not in text and text == " ".join(text.split())


FIELDS: dict[str, tuple[tuple[str, Callable[[Any], bool], str], ...]] = {
    "scope": (
        ("status", STATUSES.__contains__, "its status is not one of a scope"),
        ("opened_at", is_time, MALFORMED),
        ("closed_at", lambda value: value is None or is_time(value), MALFORMED),
        ("closed_by", is_row_name, MALFORMED),
    ),
    "fact": (
        ("type", TYPES.__contains__, OTHER_TYPE),
        ("tier", TIERS.__contains__, OTHER_TYPE),
        ("target", is_row_target, "its target is invalid"),
        ("content", lambda value: bool(validate_row_text(value).strip()), "its content is empty"),
        (
            "scope",
            lambda value: value is None or 0 < len(validate_row_text(value)) <= MAX_LABEL,
            "its scope is invalid",
        ),
        ("created_at", is_time, MALFORMED),
        ("updated_at", is_time, MALFORMED),
        ("superseded_by", lambda value: value is None or bool(uids.parse_uid(value)), MALFORMED),
        ("by", is_row_name, MALFORMED),
        ("cooled_by", is_row_name, MALFORMED),
        ("cites", is_portable_citing, "what it cites is invalid"),
    ),
}
"""What a live version of each kind says: field, what it must be, and the fault of one that is not."""

OPTIONAL = frozenset({"cooled_by", "cites"})

NAMES_IN_FACT = {"the target": "target", "its author": "by", "what cooled it": "cooled_by"}
"""Fields of a fact that are listed as names."""


def to_link(attrs: dict[str, Any]) -> bytes | None:
    """Return the uid of the fact that replaced the one of a valid version."""
    return None if attrs["superseded_by"] is None else uids.parse_uid(attrs["superseded_by"])


def to_state(attrs: dict[str, Any]) -> dict[str, Any]:
    """Return where the fact of a valid version stands, as columns."""
    return settled_columns(Tier(attrs["tier"]).value, bool(attrs["pinned"]), to_link(attrs), attrs.get("cooled_by"))


def parse_fact(attrs: dict[str, Any], content: str | None) -> tuple[FactType, dict[str, Any]]:
    """Return the type and the columns of a fact, the scope as its label. :raises StoreError: KeyError, ValueError: malformed"""
    return FactType(attrs["type"]), {
        "target": validate_row_text(attrs["target"]),
        "content": validate_row_content(content),
        "scope": validate_row_text(attrs["scope"] or UNSCOPED),
        "created_at": validate_row_time(attrs["created_at"]),
        "updated_at": validate_row_time(attrs["updated_at"]),
        **to_state(attrs),
        **{name: attrs.get(name, FACT.defaults[name]) for name in FACT.carried},
    }


def find_row_fault(row: SyncRow) -> str | None:
    """Find the reason why a version is invalid, without repeating it; None for a valid one."""
    try:
        uids.parse_uid(row.uid), uids.parse_uid(row.node)
        if not -(1 << 63) <= row.hlc < 1 << 63 or row.state not in (LIVE, DELETED, PURGED):
            return UNIDENTIFIED
    except (ValueError, AttributeError, TypeError):
        return UNIDENTIFIED
    if row.kind not in FIELDS:
        return "it is of a kind that this program does not know; upgrade it"
    if row.kind == "fact" and row.state == PURGED:
        return None  # whatever else it holds: it is erased
    if row.hlc <= 0 or not isinstance(row.attrs, dict):
        return "its clock or its attributes are invalid"
    label = row.content if row.kind == "scope" else None
    try:
        if row.kind == "scope":
            if (
                not isinstance(label, str)
                or not 0 < len(label) <= MAX_LABEL
                or row.uid != scope_sync_uid(row.theme, label)
            ):
                return "its uid is not that of a scope with its label"
            if row.state == LIVE:
                safe_text.validate_text(label, "the scope's name")
        elif (row.content is None) != (row.state != LIVE):
            return "it has content although it is deleted, or none although it is live"
        for name, is_valid, fault in FIELDS[row.kind] if row.state == LIVE else ():
            value = row.content if name == "content" else row.attrs.get(name) if name in OPTIONAL else row.attrs[name]
            if not is_valid(value):
                return fault
    except errors.StoreError as error:
        return error.message
    except (KeyError, ValueError, TypeError, AttributeError):
        return MALFORMED
    return None
