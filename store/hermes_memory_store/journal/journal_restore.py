"""Restore rows that differ from the journal to what the journal says, without a new row in it: nothing has happened.

The caller has kept a copy of the store, which holds what the rows said. A turn's text is not in the journal, so it comes back
from a backup whose text has the digest that was journaled, or not at all.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hermes_memory_store import errors, uids
from hermes_memory_store.database import database_copies, driver
from hermes_memory_store.database.gauge_recount import recount_gauges
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.items.batch_mutation import drop_facet_triggers
from hermes_memory_store.items.kinds import TURN
from hermes_memory_store.items.mutation import count_notation_chars
from hermes_memory_store.journal.journal_comparison import Difference
from hermes_memory_store.memory.sessions import HEARTBEAT_MS, LEASE_MS
from hermes_memory_store.model import FactType, Notation, OrphanPolicy, Tier
from hermes_memory_store.notation import token_estimate

FACT_NUMBERS = """
    SELECT uid, theme_id FROM journal NOT INDEXED
    WHERE entity = 'fact' AND before IS NULL AND (after IS NOT NULL OR op = 'create') AND op <> 'purge' ORDER BY seq
"""

LOST_SCOPE_KEY = """
    SELECT scope_id FROM facts WHERE (uid = ?1 OR theme_id = ?2) AND scope_id NOT IN (SELECT id FROM scopes) LIMIT 1
"""
"""The key that a fact of a scope that is gone still names: one known to be of it, or any where it is the one without a label."""

TURN_IN_BACKUP = """
    SELECT t.content, t.at, n.uid FROM turns t LEFT JOIN sessions n ON n.id = t.session_id WHERE t.uid = ?
"""

REMOVE_UNKNOWN_SCOPE = (
    "UPDATE sessions SET scope_id = NULL WHERE scope_id = (SELECT id FROM scopes WHERE uid = ?)",
    "DELETE FROM attention WHERE scope_id = (SELECT id FROM scopes WHERE uid = ?)",
    "DELETE FROM scopes WHERE uid = ? AND id NOT IN (SELECT scope_id FROM facts)",
)

TURN_KEYS = "SELECT max(id) FROM turns WHERE id BETWEEN ? AND ?"


def restore_rows(
    conn: driver.Connection, differences: Sequence[Difference], backups: Iterable[Path]
) -> list[Difference]:
    """Restore rows within a running transaction; return those that could not be restored.

    The full-text indexes have to be built anew afterwards: what they hold of the rows is not known.

    :param backups: copies of the store, looked through for the texts of turns
    """
    scopes, sessions, facts, turns = (
        [difference for difference in differences if difference.entity == entity]
        for entity in ("scope", "session", "fact", "turn")
    )
    with drop_facet_triggers(conn):
        restore_scopes(conn, scopes, facts)
        left = restore_facts(conn, facts)
        for difference in scopes:
            if difference.journaled is None:
                for statement in REMOVE_UNKNOWN_SCOPE:
                    conn.execute(statement, (difference.uid,))
        restore_sessions(conn, sessions)
        left += restore_turns(conn, turns, list(backups))
    recount_gauges(conn)
    return left


def restore_scopes(conn: driver.Connection, differences: Sequence[Difference], facts: Sequence[Difference]) -> None:
    """Restore scopes that differ or are gone; those of no origin stay until no fact is in them.

    :param facts: those that differ, of which some may still name a scope that is gone by its key
    """
    in_scope = {
        difference.journaled["scope"]: difference.uid
        for difference in facts
        if difference.stored and difference.journaled
    }
    for difference in differences:  # a label may be wanted by another scope that has to give it back first
        if difference.stored is not None:
            conn.execute("UPDATE scopes SET label = ? WHERE uid = ?", (f"\0{difference.uid.hex()}", difference.uid))
    # The one without a label comes last: the key that is lost then is its own.
    for difference in sorted(differences, key=lambda difference: not difference.uid):
        if difference.journaled is None:
            continue
        if difference.stored is None:
            uid = difference.uid or uids.new_uid(difference.journaled["opened_at"])
            theme_id = None if difference.journaled["label"] else difference.journaled["theme_id"]
            key = conn.execute(LOST_SCOPE_KEY, (in_scope.get(uid), theme_id)).fetchone() or (None,)
            insert = "INSERT INTO scopes (id, uid, theme_id, label, status, opened_at) VALUES (?, ?, ?, ?, 'open', 0)"
            conn.execute(insert, (*key, uid, difference.journaled["theme_id"], f"\0{uid.hex()}"))
            difference = difference._replace(uid=uid)
        set_columns(conn, "scopes", difference.uid, difference.journaled or {})


def restore_facts(conn: driver.Connection, differences: Sequence[Difference]) -> list[Difference]:
    """Restore facts; return those of which the journal does not know enough."""
    left = [
        difference
        for difference in differences
        if difference.journaled is not None and not is_complete_fact(conn, difference.journaled)
    ]
    complete = [difference for difference in differences if difference not in left]
    scopes = {uid: key for key, uid in conn.execute("SELECT id, uid FROM scopes")}
    unscoped = dict(conn.execute("SELECT theme_id, id FROM scopes WHERE label = ''"))
    for difference in complete:
        if difference.journaled is None:
            conn.execute("DELETE FROM facts WHERE uid = ?", (difference.uid,))
        elif difference.stored is not None:  # its place may be wanted by another that has to give it back first
            conn.execute("UPDATE facts SET tier = 'withdrawn' WHERE uid = ?", (difference.uid,))
    if any(difference.journaled is None for difference in complete):  # rows that the journal never made have no number
        counts = Counter(theme_id for _, theme_id in conn.execute(FACT_NUMBERS))
        numbers = [(last, key) for key, last in counts.items()]
        conn.executemany("UPDATE themes SET last_fact = ? WHERE id = ?", numbers)
    keys = find_fact_keys(conn, [difference for difference in complete if difference.stored is None])
    for difference in complete:
        must = dict(difference.journaled or {})
        if difference.journaled is None:
            continue
        scope = must.pop("scope")
        must["scope_id"] = scopes.get(scope) if scope is not None else unscoped.get(must["theme_id"])
        notation = Notation(FactType(must["type"]), must["target"], must["content"])
        must["chars"] = count_notation_chars(notation.target, notation.content)
        must["tokens"] = token_estimate.estimate_tokens(str(notation))
        if difference.stored is None:
            insert_columns(conn, "facts", must | {"id": keys[difference.uid], "uid": difference.uid})
        else:
            set_columns(conn, "facts", difference.uid, must)
    return left


def is_complete_fact(conn: driver.Connection, must: dict[str, Any]) -> bool:
    """Check whether the journal knows all that makes a fact: not where the row it began with is lost."""
    if (
        must.keys() < {"scope", "type", "target", "content", "tier", "actor_id", "created_at"}
        or must["actor_id"] is None
    ):
        return False
    is_theme = conn.execute("SELECT 1 FROM themes WHERE id = ?", (must["theme_id"],)).fetchone() is not None
    return is_theme and must["tier"] in set(Tier) and must["type"] in set(FactType)


def find_fact_keys(conn: driver.Connection, missing: Sequence[Difference]) -> dict[bytes, int]:
    """Find the keys that facts had: a theme numbers its facts in the order of the journal."""
    fact_uids = {difference.uid for difference in missing}
    keys: dict[bytes, int] = {}
    last: dict[int, int] = {}
    for uid, theme_id in conn.execute(FACT_NUMBERS) if fact_uids else ():
        last[theme_id] = last.get(theme_id, 0) + 1
        if uid in fact_uids and uid not in keys:
            keys[uid] = (theme_id << THEME_SHIFT) + last[theme_id]
    for difference in missing:
        key = keys[difference.uid]
        if conn.execute("SELECT 1 FROM facts WHERE id = ?", (key,)).fetchone():
            theme_id = key >> THEME_SHIFT
            low, high = theme_id << THEME_SHIFT, (theme_id + 1) << THEME_SHIFT
            sql = "SELECT max(id) FROM facts WHERE id >= ? AND id < ?"
            keys[difference.uid] = max(low + last[theme_id], conn.execute(sql, (low, high)).fetchone()[0] or 0) + 1
            last[theme_id] = keys[difference.uid] - low
    return keys


def restore_sessions(conn: driver.Connection, differences: Sequence[Difference]) -> None:
    """Restore sessions; those of no origin go, and the turns captured in them stay without one."""
    for difference in differences:
        if difference.stored is not None:
            conn.execute("UPDATE sessions SET name = ? WHERE uid = ?", (f"\0{difference.uid.hex()}", difference.uid))
    for difference in differences:
        if difference.journaled is None:
            key = "(SELECT id FROM sessions WHERE uid = ?)"
            conn.execute(f"UPDATE turns SET session_id = NULL WHERE session_id = {key}", (difference.uid,))
            conn.execute(f"DELETE FROM attention WHERE session_id = {key}", (difference.uid,))
            conn.execute("DELETE FROM sessions WHERE uid = ?", (difference.uid,))
            continue
        must = dict(difference.journaled)
        label = must.pop("project", None)
        if difference.stored is None or "project" in difference.columns:
            project = conn.execute("SELECT id FROM projects WHERE name = ?", (label,)).fetchone()
            must["project_id"] = None if project is None else project[0]
        if difference.stored is None:
            must |= {"uid": difference.uid, "heartbeat_at": must["ended_at"] or must["started_at"]}
            must |= {"heartbeat_ms": HEARTBEAT_MS, "lease_ms": LEASE_MS}
            insert_columns(conn, "sessions", must | {"on_orphan": OrphanPolicy.CHECKPOINT_AND_CLOSE.value})
        else:
            must |= {
                name: difference.stored[name] for name in difference.stored if name not in must and name != "project"
            }
            turn = difference.stored["turn"] if "turn" not in difference.columns else must["turn"]
            set_columns(conn, "sessions", difference.uid, {**must, "turn": turn})


def restore_turns(conn: driver.Connection, differences: Sequence[Difference], backups: list[Path]) -> list[Difference]:
    """Restore captured turns whose text a backup still has; return the others, which stay as they are."""
    left = []
    for difference in differences:
        if difference.journaled is None:
            conn.execute("DELETE FROM turns WHERE uid = ?", (difference.uid,))
            continue
        must = difference.journaled
        columns = {name: must[name] for name in ("theme_id", "role", "origin_id", *TURN.optional)}
        if difference.stored is None or not {"digest", "chars"}.isdisjoint(difference.columns):
            saved = find_saved_turn(backups, difference.uid, must["digest"])
            if saved is None:
                left.append(difference)
                if difference.stored is not None:  # what agents must not be given stays with the person all the same
                    set_columns(conn, "turns", difference.uid, columns)
                continue
            columns["content"], columns["at"], session = saved
            columns["session_id"] = find_session_key(conn, session)
        if "at" in must:
            columns["at"] = must["at"]
            session = must.get("session")
            columns["session_id"] = find_session_key(conn, None if session is None else uids.parse_uid(session))
        if difference.stored is None:
            low, high = must["theme_id"] << THEME_SHIFT, (must["theme_id"] + 1) << THEME_SHIFT
            key = (conn.execute(TURN_KEYS, (low, high - 1)).fetchone()[0] or low) + 1
            insert = "INSERT INTO turns (id, uid, theme_id, role, content, at) VALUES (?, ?, ?, '', '', 0)"
            conn.execute(insert, (key, difference.uid, must["theme_id"]))
        set_columns(conn, "turns", difference.uid, columns)
    return left


def find_saved_turn(backups: list[Path], uid: bytes, digest: str) -> tuple[str, int, bytes | None] | None:
    """Find text, time and session of a turn in a backup; the text is proven by its digest."""
    for backup in backups:
        try:
            with database_copies.connect_plainly(backup) as conn:
                row = conn.execute(TURN_IN_BACKUP, (uid,)).fetchone()
        except (errors.FileError, driver.DatabaseError):
            continue  # it cannot be read: the next one may
        if row is not None and hashlib.sha256(row[0].encode()).hexdigest()[:32] == digest:
            return str(row[0]), int(row[1]), row[2]
    return None


def find_session_key(conn: driver.Connection, uid: bytes | None) -> int | None:
    row = conn.execute("SELECT id FROM sessions WHERE uid = ?", (uid,)).fetchone()
    return None if row is None else int(row[0])


def insert_columns(conn: driver.Connection, table: str, columns: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(columns))
    conn.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values()))


def set_columns(conn: driver.Connection, table: str, uid: bytes, columns: dict[str, Any]) -> None:
    assignments = ", ".join(f"{name} = ?" for name in columns)
    conn.execute(f"UPDATE {table} SET {assignments} WHERE uid = ?", (*columns.values(), uid))
