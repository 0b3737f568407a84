"""The way back for turns that come from elsewhere: each once, by its uid, with its time and the session it was said in.

A session that is not there is made as a closed one, so that a turn is found by it. The journal records that a turn came, never
what it says.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hermes_memory_store import errors, fulltext, uids
from hermes_memory_store.items import TURN
from hermes_memory_store.journal import Entry
from hermes_memory_store.model import IMPORT, Actor, OrphanPolicy, SessionStatus
from hermes_memory_store.portable import SaidTurn
from hermes_memory_store.schema import THEME_SHIFT
from hermes_memory_store.sessions import HEARTBEAT_MS, LEASE_MS, checked_name
from hermes_memory_store.turns import MAX_TURN, ROLES
from hermes_memory_store.upgrade import INSERT_SESSION

if TYPE_CHECKING:
    from hermes_memory_store.store import Store

INSERT = "INSERT INTO turns (id, uid, theme_id, session_id, role, content, at) VALUES (?, ?, ?, ?, ?, ?, ?)"

ERASED = "SELECT 1 FROM sync_turns WHERE theme_id = ? AND uid = ? AND erased = 1"


def checked_turn(turn: SaidTurn) -> SaidTurn:
    """The turn, if it can be kept. :raises InputError: with what is wrong"""
    if turn.role not in ROLES:
        raise errors.ArgumentError(f"role must be one of {', '.join(ROLES)}, not {turn.role[:40]!r}", turn.role)
    if not turn.content.strip():
        raise errors.ArgumentError("a turn says something; this one is empty", turn.content)
    if len(turn.content) > MAX_TURN:
        raise errors.ArgumentError(f"a turn has at most {MAX_TURN:,} characters, this one has {len(turn.content):,}")
    if turn.session is not None:
        checked_name(turn.session)
    for what in (turn.content, turn.session or ""):
        try:
            what.encode()
        except UnicodeEncodeError as error:
            raise errors.UnsafeText(
                f"the turn holds half a character at character {error.start + 1}; it cannot be kept", what
            ) from error
    return turn


def bring(store: Store, theme: str, turns: Sequence[SaidTurn], *, actor: Actor = IMPORT) -> tuple[int, int]:
    """Bring checked turns into a theme, in one transaction: how many came, and how many were there already."""
    if not turns:
        return 0, 0
    with store.db.writing() as conn:
        now = store.journal.now(conn)
        theme_id = store.names.theme_for_writing(conn, theme, now)
        named: dict[bytes, SaidTurn] = {}
        for turn in turns:
            uid = uid_here(conn, theme_id, theme, turn.uid)
            if uid is not None:
                named.setdefault(uid, turn)
        entries = bring_within(conn, theme_id, named.items(), now)
        if entries:
            store.journal.append(conn, entries, actor=actor, at=now)
    return len(named), len(turns) - len(named)


def bring_within(
    conn: sqlite3.Connection, theme_id: int, turns: Iterable[tuple[bytes, SaidTurn]], now: int
) -> list[Entry]:
    """Bring checked turns that are not there into a theme, under these uids; what the journal is to say of it."""
    low, high = theme_id << THEME_SHIFT, (theme_id + 1) << THEME_SHIFT
    last = conn.execute("SELECT max(id) FROM turns WHERE id BETWEEN ? AND ?", (low, high - 1)).fetchone()[0] or low
    sessions: dict[str | None, int | None] = {None: None}
    entries: list[Entry] = []
    for number, (uid, turn) in enumerate(turns, last + 1):
        if turn.session not in sessions:
            sessions[turn.session] = session_of(conn, theme_id, str(turn.session), turn.at, now, entries)
        session = sessions[turn.session]
        conn.execute(INSERT, (number, uid, theme_id, session, turn.role, turn.content, turn.at))
        fulltext.index_items(conn, TURN, [(number, turn.content)])
        mark = hashlib.sha256(turn.content.encode()).hexdigest()[:32]
        told = {"role": turn.role, "chars": len(turn.content), "digest": mark}
        entries.append(Entry("capture", "turn", uid, theme_id, None, told))
    return entries


def uid_here(conn: sqlite3.Connection, theme_id: int, theme: str, uid: bytes) -> bytes | None:
    """The uid under which a turn comes into a theme; None when it is there, or was erased for the whole team. A turn may be in
    several themes of one store, under the same other uid on every machine."""
    another = hashlib.sha256(uid + theme.encode()).digest()[:16]
    former = hashlib.sha256(uid + theme_id.to_bytes(8, "big")).digest()[:16]
    themes: dict[bytes, int] = {}
    for name in (uid, another, former):
        if conn.execute(ERASED, (theme_id, name)).fetchone():
            return None
        themes.update(conn.execute("SELECT uid, theme_id FROM turns WHERE uid = ?", (name,)).fetchall())
    if theme_id in themes.values():
        return None
    return uid if uid not in themes else another if another not in themes else None


def session_of(
    conn: sqlite3.Connection, theme_id: int, name: str, at: int, now: int, entries: list[Entry]
) -> int | None:
    """The session of that name; made as a closed one when there is none."""
    name = checked_name(name)
    sql = "SELECT id FROM sessions WHERE theme_id = ? AND name = ?"
    row = conn.execute(sql, (theme_id, name)).fetchone()
    if row is None:
        uid, closed = uids.new_uid(now), SessionStatus.CLOSED.value
        policy = OrphanPolicy.CHECKPOINT_AND_CLOSE.value
        conn.execute(INSERT_SESSION, (uid, theme_id, name, closed, at, HEARTBEAT_MS, LEASE_MS, 0, None, policy, now))
        said: dict[str, Any] = {"name": name, "client": None, "status": closed, "turn": 0, "started_at": at}
        entries.append(Entry("open", "session", uid, theme_id, None, said))
        row = conn.execute(sql, (theme_id, name)).fetchone()
    return int(row[0])
