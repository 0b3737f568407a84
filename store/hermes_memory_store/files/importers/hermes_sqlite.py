"""Importer of a hermes-memory 0.3.0 file into an existing store.

`upgrade_hermes_030.py` turns such a file into a store instead. `upkeep/hermes_030_file.py` maps its columns. Facts
keep their uids, times, reads, tiers and links; its sessions are not imported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.database import database_copies, driver
from hermes_memory_store.files.importers.import_batch import ImportBatch, ImportItem, SourcePlace
from hermes_memory_store.files.jsonl_format import PortableScope
from hermes_memory_store.files.upgrade_hermes_030 import TIERS, decode_lossless, to_column_text
from hermes_memory_store.items.tier_columns import (
    COOLED_BY_CLOSING,
    COOLED_BY_PRESSURE,
    cold_columns,
    superseded_columns,
)
from hermes_memory_store.memory.scopes import validate_label
from hermes_memory_store.model import FactType, ScopeStatus, Tier
from hermes_memory_store.safe_text import pluralise
from hermes_memory_store.upkeep import hermes_030_file
from hermes_memory_store.upkeep.hermes_030_file import TYPES, Hermes030Fact, hermes_030_uid


def read_hermes_sqlite(path: Path, taken: ImportBatch) -> None:
    """Read all facts and scopes from one snapshot of the file. :raises ImportFileError: it is another database"""
    try:
        with database_copies.connect_plainly(path) as conn:
            if not hermes_030_file.is_hermes_030(conn):
                raise errors.ImportFileError(f"{path} is no memory of hermes-memory 0.3.0", path)
            conn.text_factory = decode_lossless
            conn.execute("BEGIN")
            labels, over = take_hermes_scopes(conn, taken)
            for number, fact in enumerate(hermes_030_file.read_hermes_030_facts(conn), 1):
                take_hermes_fact(taken, SourcePlace(number), fact, labels, over)
            sessions = conn.execute("SELECT count(*) FROM sessions").fetchone()[0]
    except driver.Error as error:
        raise errors.ImportFileError(f"{path} cannot be read: {error}", path) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise errors.ImportFileError(f"{path} holds what hermes-memory never writes: {error}", path) from error
    if sessions:
        taken.notes.append(f"{pluralise(sessions, 'session')} left out: only an upgrade of the file takes them over")


def take_hermes_scopes(conn: driver.Connection, taken: ImportBatch) -> tuple[dict[str, str], set[str]]:
    """Add the scopes; return their labels by id, and the closed ones. Of a shared label the surviving scope counts."""
    scopes = hermes_030_file.read_hermes_030_scopes(conn)
    lives_on = {scope.label: (number, scope) for number, scope in enumerate(scopes, 1)}
    for label, (number, scope) in lives_on.items():
        if not to_column_text(label).strip():
            continue
        closed_at, closed_by = scope.closing or (None, None)
        place = SourcePlace(number)
        with taken.note_rejection(place):
            portable = PortableScope(
                uid=hermes_030_uid(to_column_text(scope.id)),
                label=validate_label(to_column_text(label)),
                status=ScopeStatus.OPEN if scope.closing is None else ScopeStatus.CLOSED,
                opened_at=min(int(namesake.created_at) for namesake in scopes if namesake.label == label) * 1000,
                closed_at=closed_at,
                closed_by=closed_by,
            )
            taken.items.append(ImportItem(place, "scope", None, portable))
    return (
        {scope.id: to_column_text(scope.label) for scope in scopes},
        {scope.id for scope in scopes if scope.closing is not None},
    )


def take_hermes_fact(
    taken: ImportBatch, place: SourcePlace, fact: Hermes030Fact, labels: dict[str, str], over: set[str]
) -> None:
    kind, tier = TYPES.get(to_column_text(fact.type)), TIERS.get(to_column_text(fact.status))
    if kind is None or tier is None:
        taken.add_rejection(
            place, f"a fact has type {fact.type!r} and status {fact.status!r}, which hermes-memory never writes"
        )
        return
    attributes: dict[str, Any] = {"uid": hermes_030_uid(to_column_text(fact.id)), "tier": tier}
    if tier is Tier.SUPERSEDED and fact.successor is not None:
        attributes |= superseded_columns(hermes_030_uid(to_column_text(fact.successor))) | {"tier": tier}
    if tier is Tier.COLD:
        attributes |= cold_columns(COOLED_BY_CLOSING if fact.scope_id in over else COOLED_BY_PRESSURE) | {"tier": tier}
    if isinstance(fact.access_count, int) and 0 < fact.access_count < 1 << 53:
        attributes |= {"reads": fact.access_count, "read_at": int(fact.last_accessed or fact.updated_at) * 1000}
    taken.add_fact(
        place,
        "fact" if tier is Tier.HOT else f"fact [{fact.status}]",
        FactType(kind),
        to_column_text(fact.target),
        to_column_text(fact.content),
        scope=labels.get(fact.scope_id or ""),
        created_at=int(fact.created_at) * 1000,
        updated_at=int(fact.updated_at) * 1000,
        **attributes,
    )
