"""Rewinding a copy of a store: the newest changes are taken back row by row until a past moment is reached.

For a moment not long ago in a long journal, that is far less than replaying everything before it.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_memory_store import copies, errors, fulltext, journal, sources
from hermes_memory_store.copies import Progress
from hermes_memory_store.items import FACT
from hermes_memory_store.journal_records import Record, load_records
from hermes_memory_store.model import Actor, SessionStatus
from hermes_memory_store.records import Mutation
from hermes_memory_store.replaying import ENDED, FACT_WORDS, SCOPE_WORDS, allowed

if TYPE_CHECKING:
    from hermes_memory_store.store import Store

LONG_JOURNAL = 5_000
"""Rows below which a replay takes no time anyway, and verifies the whole chain."""

SESSION_THEN = """
    SELECT after, at FROM journal WHERE uid = ? AND entity = 'session' AND seq <= ? ORDER BY seq DESC LIMIT 1
"""

AFTERWARDS = (
    "DELETE FROM journal WHERE seq > :last",
    "DELETE FROM tombstones WHERE purged_at > :moment",
    "DELETE FROM injections WHERE at > :moment",
    "DELETE FROM reads",
    "DELETE FROM scopes WHERE theme_id IN (SELECT id FROM themes WHERE created_at > :moment)",
    "DELETE FROM tallies WHERE theme_id IN (SELECT id FROM themes WHERE created_at > :moment)",
    "DELETE FROM themes WHERE created_at > :moment",
)


def last_before(store: Store, moment: int) -> int:
    """Number of the last row of the journal that was written by that moment, 0 when there is none.

    Times in the journal never step back, so the rows are halved instead of walked.
    """
    low, high = 0, store.journal.last_seq()
    while low < high:
        middle = (low + high + 1) // 2
        if store.db.value("SELECT at FROM journal WHERE seq = ?", (middle,)) <= moment:
            low = middle
        else:
            high = middle - 1
    return low


def is_nearer(last: int, newest: int) -> bool:
    """Whether taking back what came after row `last` is less work than replaying what came before."""
    return newest > LONG_JOURNAL and 3 * (newest - last) < last


def copy_plainly(source: Path, target: Path) -> None:
    """Copy a store to a throw-away file: online, but neither verified nor synced."""
    copies.create_exclusively(target)
    with copies.connected(source) as reading, copies.connected(target, "rw") as writing:
        writing.execute("PRAGMA synchronous = OFF")
        reading.backup(writing)


def rewind(store: Store, moment: int, last: int, *, progress: Progress | None = None) -> None:
    """Take a throw-away copy of a store back to where it stood after row `last`, in one transaction.

    :raises JournalBroken: when a row that is taken back was altered
    """
    newest = store.journal.last_seq()
    rows = list(load_records(store.db, since=last))
    verify(store, rows, last)
    with store.db.writing() as conn:
        conn.execute("DELETE FROM sync_themes")  # nothing of this copy travels
        change = Mutation(conn, store.names, store.journal, Actor("rewind"))
        for record in reversed(rows):
            take_back(change, record, last)
            change.entries.clear()
            if progress is not None and record.seq % 1000 == 0:
                progress(newest - record.seq, newest - last)
        for statement in AFTERWARDS:
            conn.execute(statement, {"last": last, "moment": moment})


def verify(store: Store, rows: list[Record], last: int) -> None:
    """Check the chain from row `last` on."""
    link = store.db.value("SELECT hash FROM journal WHERE seq = ?", (last,)) or journal.FIRST_HASH
    for record in rows:
        if record.link(link) != record.hash:
            raise errors.JournalBroken(f"row {record.seq} was altered: its hash does not fit what it says", record.seq)
        link = record.hash


def take_back(change: Mutation, record: Record, last: int) -> None:
    """Undo one row. What a purge took cannot come back."""
    match record.entity:
        case "fact":
            take_back_fact(change, record)
        case "scope":
            take_back_scope(change, record)
        case "session":
            take_back_session(change.conn, record, last)
        case "source":
            take_back_rule(change.conn, record)


def take_back_fact(change: Mutation, record: Record) -> None:
    """A new fact goes; a changed one gets its former columns."""
    conn = change.conn
    row = change.fact_row(record.uid)
    if record.before is not None:
        if row is not None:
            columns = change.columns_of(row.theme_id, allowed(json.loads(record.before), FACT_WORDS))
            change.update_fact(row, record.op, keep_time=True, **columns)
        return
    if row is not None and record.op == "create":
        fulltext.unindex_item(conn, FACT, row.id, row.target, row.content)
        conn.execute("DELETE FROM facts WHERE id = ?", (row.id,))
    if record.op == "create":
        conn.execute("UPDATE themes SET last_fact = last_fact - 1 WHERE name = ?", (record.theme,))


def take_back_scope(change: Mutation, record: Record) -> None:
    """A new scope goes; a changed one gets its former columns."""
    row = change.conn.execute("SELECT id FROM scopes WHERE uid = ?", (record.uid,)).fetchone()
    if row is None:
        return
    if record.before is not None:
        change.update_scope(row[0], record.op, **allowed(json.loads(record.before), SCOPE_WORDS))
        return
    change.conn.execute("UPDATE sessions SET scope_id = NULL WHERE scope_id = ?", row)
    change.conn.execute("DELETE FROM attention WHERE scope_id = ?", row)
    change.conn.execute("DELETE FROM tallies WHERE scope_id = ?", row)
    change.conn.execute("DELETE FROM scopes WHERE id = ?", row)


def take_back_session(conn: sqlite3.Connection, record: Record, last: int) -> None:
    """A session is as its last row by then says, or not there."""
    then = conn.execute(SESSION_THEN, (record.uid, last)).fetchone()
    if then is None:
        conn.execute("DELETE FROM attention WHERE session_id = (SELECT id FROM sessions WHERE uid = ?)", (record.uid,))
        conn.execute("DELETE FROM sessions WHERE uid = ?", (record.uid,))
        return
    said = json.loads(then[0])
    ended = then[1] if SessionStatus(said["status"]) in ENDED else None
    conn.execute("UPDATE sessions SET status = ?, ended_at = ? WHERE uid = ?", (said["status"], ended, record.uid))


def take_back_rule(conn: sqlite3.Connection, record: Record) -> None:
    """What was ruled before holds again."""
    stood = json.loads(record.before or "{}")
    (theme_id,) = conn.execute("SELECT id FROM themes WHERE name = ?", (record.theme,)).fetchone()
    sources.put(conn, theme_id, json.loads(record.after or "{}")["source"], stood["rule"], stood["ruled_at"])
