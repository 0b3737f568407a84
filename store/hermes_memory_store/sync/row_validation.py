"""Validation of versions from other machines.

Rows come from programs that may be newer, older or wrong, and from whoever else may write to the database.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.model import FactType, ScopeStatus, Tier
from hermes_memory_store.notation.memory_spec import MAX_TARGET
from hermes_memory_store.sync.wire_format import DELETED, LIVE, PURGED, SyncRow, scope_sync_uid

MAX_CONTENT = 100_000
"""Characters of a content that are taken from another machine: far above what any policy allows a fact."""

MAX_LABEL = 1_000

MAX_NAME = 400
"""Characters of who wrote a fact, or moved it."""

TIERS = frozenset({Tier.HOT, Tier.COLD, Tier.ARCHIVED, Tier.SUPERSEDED})
"""Those that travel; the others are each machine's own."""

TYPES = frozenset(FactType)

STATUSES = frozenset({ScopeStatus.OPEN, ScopeStatus.CLOSED})


def has_row_name(row: SyncRow) -> bool:
    """Check whether a version can be identified at all."""
    try:
        uids.parse_uid(row.uid), uids.parse_uid(row.node)
        return -(1 << 63) <= row.hlc < 1 << 63 and row.state in (LIVE, DELETED, PURGED)
    except (ValueError, AttributeError, TypeError):
        return False


UNIDENTIFIED = "it cannot be identified"
"""The fault of a version that cannot even be kept: it is ignored."""


def find_row_faults(rows: Iterable[SyncRow]) -> list[str | None]:
    """Find the reason why each version is invalid, without repeating it; None for a valid one."""
    return [find_row_fault(row) if has_row_name(row) else UNIDENTIFIED for row in rows]


def find_row_fault(row: SyncRow) -> str | None:
    """Find the reason why a version with a valid name is invalid; None for a valid one."""
    if row.kind not in ("fact", "scope"):
        return "it is of a kind that this program does not know; upgrade it"
    if row.kind == "fact" and row.state == PURGED:
        return None  # whatever else it holds: it is erased
    if row.hlc <= 0 or not isinstance(row.attrs, dict):
        return "its clock or its attributes are invalid"
    try:
        if row.kind == "scope":
            return find_scope_fault(row)
        if (row.content is None) != (row.state != LIVE):
            return "it has content although it is deleted, or none although it is live"
        return find_fact_fault(row) if row.state == LIVE else None
    except errors.StoreError as error:
        return error.message
    except (KeyError, ValueError, TypeError, AttributeError):
        return "a part of it is missing or invalid"


def find_scope_fault(row: SyncRow) -> str | None:
    """Find what is wrong with a scope. :raises KeyError: StoreError, ValueError"""
    label = row.content
    if not isinstance(label, str) or not 0 < len(label) <= MAX_LABEL or row.uid != scope_sync_uid(row.theme, label):
        return "its uid is not that of a scope with its label"
    if row.state == LIVE:
        safe_text.validate_text(label, "the scope's name")
        if row.attrs["status"] not in STATUSES:
            return "its status is not one of a scope"
        validate_row_time(row.attrs["opened_at"])
        if row.attrs["closed_at"] is not None:
            validate_row_time(row.attrs["closed_at"])
        validate_row_name(row.attrs["closed_by"])
    return None


def find_fact_fault(row: SyncRow) -> str | None:
    """Find what is wrong with a fact. :raises KeyError: StoreError, ValueError"""
    attrs, target = row.attrs, row.attrs["target"]
    if attrs["type"] not in TYPES or attrs["tier"] not in TIERS:
        return "its type or its tier is not one that is synced"
    validate_row_text(target)
    if not 0 < len(target) <= MAX_TARGET or "[" in target or "]" in target or target != " ".join(target.split()):
        return "its target is invalid"
    if not validate_row_text(row.content).strip():
        return "its content is empty"
    if attrs["scope"] is not None and not 0 < len(validate_row_text(attrs["scope"])) <= MAX_LABEL:
        return "its scope is invalid"
    for at in ("created_at", "updated_at"):
        validate_row_time(attrs[at])
    if attrs["superseded_by"] is not None:
        uids.parse_uid(attrs["superseded_by"])
    validate_row_name(attrs["by"])
    validate_row_name(attrs.get("cooled_by"))
    return None


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
    if not isinstance(value, int) or not 0 <= value < 1 << 48:
        raise ValueError("not a time")
    return value


def validate_row_name(value: Any) -> None:
    """Return a valid name. :raises ValueError: it is not one"""
    if value is not None and len(validate_row_text(value)) > MAX_NAME:
        raise ValueError("not a name")
