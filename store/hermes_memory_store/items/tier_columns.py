"""What comes with a tier: the attributes that a fact gets when it enters one, and what made it cold."""

from __future__ import annotations

from typing import Any

from hermes_memory_store.items.kinds import FactRow
from hermes_memory_store.model import Tier

COOLED_BY_CLOSING = "scope"
"""It went with its scope, and comes back with it."""

COOLED_BY_PRESSURE = "pressure"

QUARANTINE_PREFIX = "quarantine:"
"""Begins what is said of a fact that waits for a person; the rule it fell under follows."""

UNLINK_FACT = "UPDATE facts SET superseded_by = NULL WHERE superseded_by = ?"
"""Takes out the links to a fact that is erased."""


def hot_columns() -> dict[str, Any]:
    return {"tier": Tier.HOT.value, "cooled_by": None}


def cold_columns(reason: str) -> dict[str, Any]:
    """:param reason: one of the constants here, or the actor who cooled it"""
    return {"tier": Tier.COLD.value, "cooled_by": reason}


def superseded_columns(by: bytes | None) -> dict[str, Any]:
    """:param by: uid of the fact that replaces it, which need not be there yet"""
    return {"tier": Tier.SUPERSEDED.value, "superseded_by": by}


def quarantined_columns(rule: str) -> dict[str, Any]:
    """:param rule: it fell under"""
    return {"tier": Tier.QUARANTINED.value, "cooled_by": QUARANTINE_PREFIX + rule}


def find_waiting_rule(row: FactRow) -> str | None:
    """Return the rule for which a fact waits for a person; None where it does not wait."""
    if row.tier != Tier.QUARANTINED or row.cooled_by is None:
        return None
    return row.cooled_by.removeprefix(QUARANTINE_PREFIX)
