"""What a version from another machine must be to be taken at its word: rows come from programs that may be newer, older or
wrong, and from whoever else may write to the database.
"""

from __future__ import annotations

from typing import Any

from hermes_memory_store import errors, text, uids
from hermes_memory_store.model import FactType, ScopeStatus, Tier
from hermes_memory_store.notation import MAX_TARGET
from hermes_memory_store.travelling import DELETED, LIVE, PURGED, SyncRow, uid_of_scope

MAX_CONTENT = 100_000
"""Characters of a content that are taken from another machine: far above what any policy allows a fact."""

MAX_LABEL = 1_000

MAX_NAME = 400
"""Characters of who wrote a fact, or moved it."""

TIERS = frozenset({Tier.HOT, Tier.COLD, Tier.ARCHIVED, Tier.SUPERSEDED})
"""Those that travel; the others are each machine's own."""

TYPES = frozenset(FactType)

STATUSES = frozenset({ScopeStatus.OPEN, ScopeStatus.CLOSED})


def has_name(row: SyncRow) -> bool:
    """Whether a version can be told from others at all."""
    try:
        uids.to_bytes(row.uid), uids.to_bytes(row.node)
        return -(1 << 63) <= row.hlc < 1 << 63 and row.state in (LIVE, DELETED, PURGED)
    except (ValueError, AttributeError, TypeError):
        return False


def why_not_whole(row: SyncRow) -> str | None:
    """Why a version cannot be taken at its word, without repeating it; None: it can."""
    if row.kind not in ("fact", "scope"):
        return "it is of a kind that this program does not know; upgrade it"
    if row.kind == "fact" and row.state == PURGED:
        return None  # whatever else it says: it is erased
    if row.hlc <= 0 or not isinstance(row.attrs, dict):
        return "it is not what this program writes"
    try:
        if row.kind == "scope":
            return scope_fault(row)
        if (row.content is None) != (row.state != LIVE):
            return "it says something although it is gone, or nothing although it is there"
        return fact_fault(row) if row.state == LIVE else None
    except errors.StoreError as error:
        return error.message
    except (KeyError, ValueError, TypeError, AttributeError):
        return "it lacks a part, or a part is not what it should be"


def scope_fault(row: SyncRow) -> str | None:
    """What is wrong with a scope. :raises KeyError: StoreError, ValueError"""
    label = row.content
    if not isinstance(label, str) or not 0 < len(label) <= MAX_LABEL or row.uid != uid_of_scope(row.theme, label):
        return "it is not the scope it says it is"
    if row.state == LIVE:
        text.check(label, "the scope's label")
        if row.attrs["status"] not in STATUSES:
            return "its status is none that a scope has"
        moment(row.attrs["opened_at"])
        if row.attrs["closed_at"] is not None:
            moment(row.attrs["closed_at"])
        name(row.attrs["closed_by"])
    return None


def fact_fault(row: SyncRow) -> str | None:
    """What is wrong with a fact. :raises KeyError: StoreError, ValueError"""
    attrs, target = row.attrs, row.attrs["target"]
    if attrs["type"] not in TYPES or attrs["tier"] not in TIERS:
        return "its type or its tier is none that travels"
    checked(target)
    if not 0 < len(target) <= MAX_TARGET or "[" in target or "]" in target or target != " ".join(target.split()):
        return "its target is not one"
    if not checked(row.content).strip():
        return "it says nothing"
    if attrs["scope"] is not None and not 0 < len(checked(attrs["scope"])) <= MAX_LABEL:
        return "its scope is not one"
    for at in ("created_at", "updated_at"):
        moment(attrs[at])
    if attrs["superseded_by"] is not None:
        uids.to_bytes(attrs["superseded_by"])
    name(attrs["by"])
    name(attrs.get("cooled_by"))
    return None


def checked(said: Any) -> str:
    """A text that may be kept. :raises StoreError: ValueError"""
    if not isinstance(said, str) or len(said) > MAX_CONTENT:
        raise ValueError("not a text of a fact")
    return text.check(said, "a fact from the team") if said else said


def one_line(said: Any) -> str:
    """A content as a fact may have it: several lines could pass for several facts. :raises StoreError: ValueError"""
    return " ".join(checked(said).split())


def moment(said: Any) -> int:
    """A time in milliseconds. :raises ValueError:"""
    if not isinstance(said, int) or not 0 <= said < 1 << 48:
        raise ValueError("not a time")
    return said


def name(said: Any) -> None:
    """:raises ValueError: it is no name"""
    if said is not None and len(checked(said)) > MAX_NAME:
        raise ValueError("not a name")
