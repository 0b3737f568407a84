"""What comes with a tier: the attributes that a fact gets when it enters one, and what made it cold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_memory_store.items.kinds import FACT_COLUMNS, STANDS, FactRow
from hermes_memory_store.model import Tier

COOLED_BY_CLOSING = "scope"
"""It went with its scope, and comes back with it."""

COOLED_BY_PRESSURE = "pressure"

QUARANTINE_PREFIX = "quarantine:"
"""Begins what is said of a fact that waits for a person; the rule it fell under follows."""

PROPOSED = "proposed"
"""The rule of what is not suspicious, and waits for a person's leave: `conversations/proposals.py`."""

IS_PROPOSED = f"tier = 'quarantined' AND cooled_by IS '{QUARANTINE_PREFIX}{PROPOSED}'"

IS_COOLED_BY = "tier = 'cold' AND cooled_by = ?"

REPLACED_FACTS = "SELECT uid FROM facts WHERE superseded_by = ?"

COUNT_REPLACED = "(SELECT count(*) FROM facts replaced WHERE replaced.superseded_by = f.uid)"

UNLINK_FACT = "UPDATE facts SET superseded_by = NULL WHERE superseded_by = ?"
"""Takes out the links to a fact that is erased."""

LOST_LINKS = f"""
    SELECT {FACT_COLUMNS} FROM facts f
    WHERE superseded_by IS NOT NULL AND (superseded_by = uid OR superseded_by NOT IN (SELECT uid FROM facts))
"""

FACTS_OF_CHAIN = """
    WITH RECURSIVE
      later (id, uid, next) AS (
        SELECT id, uid, superseded_by FROM facts WHERE id = ?
        UNION SELECT f.id, f.uid, f.superseded_by FROM later JOIN facts f ON f.uid = next
      ),
      chain (id, uid) AS (
        SELECT id, uid FROM later UNION SELECT f.id, f.uid FROM chain JOIN facts f ON f.superseded_by = chain.uid
      )
    SELECT id FROM chain ORDER BY id
"""
"""What replaced a fact, what replaced that, and all that any of them replaced."""

COUNT_LINKED_WHILE_STANDING = f"SELECT count(*) FROM facts WHERE superseded_by IS NOT NULL AND {STANDS}"


def hot_columns() -> dict[str, Any]:
    return {"tier": Tier.HOT.value, "cooled_by": None}


def archived_columns() -> dict[str, Any]:
    return {"tier": Tier.ARCHIVED.value, "cooled_by": None, "pinned": 0}


def restored_columns() -> dict[str, Any]:
    return {"tier": Tier.HOT.value, "superseded_by": None, "cooled_by": None}


def link_columns(by: bytes | None) -> dict[str, Any]:
    return {"superseded_by": by}


def settled_columns(tier: str, pinned: bool, by: bytes | None, cooled_by: str | None = None) -> dict[str, Any]:
    """Return all that says where a fact stands. :param by: uid of the fact that replaced it"""
    return {"tier": tier, "pinned": int(pinned), "superseded_by": by, "cooled_by": cooled_by}


def cold_columns(reason: str) -> dict[str, Any]:
    """:param reason: one of the constants here, or the actor who cooled it"""
    return {"tier": Tier.COLD.value, "cooled_by": reason}


def superseded_columns(by: bytes | None) -> dict[str, Any]:
    """:param by: uid of the fact that replaces it, which need not be there yet"""
    return {"tier": Tier.SUPERSEDED.value, "superseded_by": by}


def displaced_columns(by: bytes) -> dict[str, Any]:
    return superseded_columns(by) | {"pinned": 0, "cooled_by": None}


def quarantined_columns(rule: str) -> dict[str, Any]:
    """:param rule: it fell under"""
    return {"tier": Tier.QUARANTINED.value, "cooled_by": QUARANTINE_PREFIX + rule}


def is_proposed(words: Mapping[str, Any]) -> bool:
    """Check whether a fact was proposed. :param words: the journal's, of what it was made as"""
    return words.get("cooled_by") == f"{QUARANTINE_PREFIX}{PROPOSED}"


def find_waiting_rule(row: FactRow) -> str | None:
    """Return the rule for which a fact waits for a person; None where it does not wait."""
    if row.tier != Tier.QUARANTINED or row.cooled_by is None:
        return None
    return row.cooled_by.removeprefix(QUARANTINE_PREFIX)


def find_recorded_rule(words: Mapping[str, Any]) -> str | None:
    """Return the rule for which a row of the journal made a fact wait; None where it did not."""
    cooled_by = words.get("cooled_by")
    if not isinstance(cooled_by, str) or not cooled_by.startswith(QUARANTINE_PREFIX):
        return None
    return cooled_by.removeprefix(QUARANTINE_PREFIX)
