"""A hermes-memory 0.3.0 file, brought into a store that is there already (`upgrade.py` turns such a file into one instead).

What its columns mean is in `hermes_file.py`. Facts keep their uids, times, reads, tiers and links; its sessions are not brought.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from hermes_memory_store import copies, errors, hermes_file
from hermes_memory_store.hermes_file import TYPES, OldFact, uid_of
from hermes_memory_store.importers.taking import Place, Taken
from hermes_memory_store.model import IMPORT, FactType, ScopeStatus, Tier
from hermes_memory_store.scopes import COOLED_BY_CLOSING
from hermes_memory_store.tiers import COOLED_BY_PRESSURE
from hermes_memory_store.upgrade import TIERS, as_text, lossless


def read(path: Path, taken: Taken) -> None:
    """Take all facts and scopes. :raises ImportFileError: it is another database"""
    try:
        take(path, taken)
    except sqlite3.Error as error:
        raise errors.ImportFileError(f"{path} cannot be read: {error}", path) from error


def take(path: Path, taken: Taken) -> None:
    """Take all, of one moment of the file."""
    with copies.connected(path) as conn:
        if not hermes_file.recognise(conn):
            raise errors.ImportFileError(f"{path} is no memory of hermes-memory 0.3.0", path)
        conn.text_factory = lossless
        conn.execute("BEGIN")
        try:
            labels, over = take_scopes(conn, taken)
            for number, fact in enumerate(hermes_file.facts(conn), 1):
                take_fact(taken, Place(number), fact, labels, over)
            sessions = conn.execute("SELECT count(*) FROM sessions").fetchone()[0]
        except (TypeError, ValueError, AttributeError) as error:
            raise errors.ImportFileError(f"{path} holds what hermes-memory never writes: {error}", path) from error
    if sessions:
        taken.notes.append(f"{sessions:,} sessions are left out: only an upgrade of the file takes them over")


def take_scopes(conn: sqlite3.Connection, taken: Taken) -> tuple[dict[str, str], set[str]]:
    """Take the scopes; their labels by id, and those that are over. Of those that share a label the one that lives on counts."""
    scopes = hermes_file.scopes(conn)
    lives_on = {scope.label: (number, scope) for number, scope in enumerate(scopes, 1)}
    for label, (number, scope) in lives_on.items():
        if not as_text(label).strip():
            continue
        closed = scope.status != "active"
        ended = int(scope.closed_at or scope.last_referenced) * 1000 if closed else None
        taken.scope(
            Place(number),
            as_text(label),
            uid=uid_of(as_text(scope.id)),
            status=ScopeStatus.CLOSED if closed else ScopeStatus.OPEN,
            opened_at=min(int(one.created_at) for one in scopes if one.label == label) * 1000,
            closed_at=ended,
            closed_by=("done" if scope.status == "closed" else IMPORT.kind) if closed else None,
        )
    return (
        {scope.id: as_text(scope.label) for scope in scopes},
        {scope.id for scope in scopes if scope.status != "active"},
    )


def take_fact(taken: Taken, place: Place, fact: OldFact, labels: dict[str, str], over: set[str]) -> None:
    """Take one fact."""
    kind, tier = TYPES.get(as_text(fact.type)), TIERS.get(as_text(fact.status))
    if kind is None or tier is None:
        taken.refuse(
            place, f"a fact has type {fact.type!r} and status {fact.status!r}, which hermes-memory never writes"
        )
        return
    given: dict[str, Any] = {"uid": uid_of(as_text(fact.id)), "tier": tier}
    if tier is Tier.SUPERSEDED and fact.superseded_by is not None:
        given["superseded_by"] = uid_of(as_text(fact.superseded_by))
    if tier is Tier.COLD:
        given["cooled_by"] = COOLED_BY_CLOSING if fact.scope_id in over else COOLED_BY_PRESSURE
    if isinstance(fact.access_count, int) and 0 < fact.access_count < 1 << 53:
        given |= {"reads": fact.access_count, "read_at": int(fact.last_accessed or fact.updated_at) * 1000}
    taken.fact(
        place,
        "fact" if tier is Tier.HOT else f"fact [{fact.status}]",
        FactType(kind),
        as_text(fact.target),
        as_text(fact.content),
        scope=labels.get(fact.scope_id or ""),
        created_at=int(fact.created_at) * 1000,
        updated_at=int(fact.updated_at) * 1000,
        **given,
    )
