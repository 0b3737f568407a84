"""Rows of captured turns: what one may hold, and how it comes into a theme, captured here or brought from elsewhere.

A session that is not there is made as a closed one, so that a turn is found by it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from hermes_memory_store import errors, uids
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.intake import AdmittedTurn, Intake, find_turn_rule
from hermes_memory_store.items import fulltext
from hermes_memory_store.items.journal import JournalEntry
from hermes_memory_store.items.kinds import TURN
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.origin_rows import OriginRows, PortableOrigin
from hermes_memory_store.memory.sessions import HEARTBEAT_MS, LEASE_MS, admit_session_name, validate_session_name
from hermes_memory_store.model import Millis, Origin, OrphanPolicy, SessionStatus, Turn, is_admitted

ROLES = ("user", "assistant", "system", "tool")

MAX_TURN = 100_000
"""Characters of one turn: more than any model says at once. A longer one is refused, never cut."""

INSERT_TURN = """
    INSERT INTO turns (id, uid, theme_id, session_id, role, content, at, origin_id, verdict)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

INSERT_SESSION = """
    INSERT OR IGNORE INTO sessions (uid, theme_id, name, status, started_at, heartbeat_at, heartbeat_ms, lease_ms, turn,
      scope_id, on_orphan, ended_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
"""

ROWS = (
    "SELECT t.id, t.uid, h.name, n.name, t.role, t.content, t.at, t.origin_id, t.verdict, t.session_id"
    " FROM turns t JOIN themes h ON h.id = t.theme_id"
    " LEFT JOIN sessions n ON n.id = t.session_id"
)

IN_ORDER = """
    SELECT t.uid, n.name, CASE WHEN t.origin_id IS NULL AND t.verdict IS NULL THEN t.content ELSE '' END, t.origin_id, t.verdict
    FROM turns t LEFT JOIN sessions n ON n.id = t.session_id WHERE t.theme_id = ? ORDER BY t.at, t.id
"""

ERASED = "SELECT 1 FROM sync_turns WHERE theme_id = ? AND uid = ? AND erased = 1"


@dataclass(frozen=True, slots=True)
class PortableTurn:
    """A turn as it is given, by who captures it, by a line or by the team."""

    uid: bytes
    session: str | None
    role: str
    content: str
    at: int
    origin: PortableOrigin | None = None
    """Where it comes from, if that is known; None: from where it is brought in."""
    verdict: str | None = None
    """What content checks found in it."""


def validate_turn(turn: PortableTurn) -> PortableTurn:
    """Return the turn, if it can be stored. :raises InputError: with what is wrong"""
    if turn.role not in ROLES:
        raise errors.ArgumentError(f"role must be one of {', '.join(ROLES)}, not {turn.role[:40]!r}", turn.role)
    if not turn.content.strip():
        raise errors.ArgumentError("a turn says something; this one is empty", turn.content)
    if len(turn.content) > MAX_TURN:
        raise errors.ArgumentError(f"a turn has at most {MAX_TURN:,} characters, this one has {len(turn.content):,}")
    if turn.session is not None:
        validate_session_name(turn.session)
    for text in (turn.content, turn.session or ""):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise errors.UnsafeText(
                f"the turn holds half a character at character {error.start + 1}; it cannot be kept", text
            ) from error
    return turn


def last_turn_key(conn: sqlite3.Connection, theme_id: int) -> int:
    """Key of the newest turn of a theme; the next one has the next number, and so has the first."""
    low, high = theme_id << THEME_SHIFT, (theme_id + 1) << THEME_SHIFT
    return conn.execute("SELECT max(id) FROM turns WHERE id BETWEEN ? AND ?", (low, high - 1)).fetchone()[0] or low


def admit_turn(intake: Intake, theme: str, turn: PortableTurn) -> AdmittedTurn:
    """Check a turn of another store on its way in. :raises InputError: it must not come in"""
    if turn.session is not None:
        admit_session_name(intake, theme, turn.session)
    return intake.admit_turn(theme, turn.content, verdict=turn.verdict)


def insert_turn(
    conn: sqlite3.Connection,
    origins: OriginRows,
    key: int,
    theme_id: int,
    uid: bytes,
    turn: PortableTurn,
    admitted: AdmittedTurn,
    session_id: int | None,
    origin: Origin,
) -> JournalEntry:
    """Write a turn and make it findable; what the journal is to say of it.

    :param admitted: its text, and what was found in it
    :param origin: of the change that brings it, and of a turn that names none
    """
    content = admitted.content
    origin_id = changed_from = origins.key(conn, theme_id, origin)
    if turn.origin is not None:
        origin_id = origins.key(conn, theme_id, origins.resolve(conn, turn.origin, turn.at))
    columns = (key, uid, theme_id, session_id, turn.role, content, turn.at, origin_id, admitted.verdict)
    conn.execute(INSERT_TURN, columns)
    fulltext.index_items(conn, TURN, [(key, content)])
    digest = hashlib.sha256(content.encode()).hexdigest()[:32]
    image: dict[str, Any] = {"role": turn.role, "chars": len(content), "digest": digest, "at": turn.at}
    if session_id is not None:
        (session,) = conn.execute("SELECT uid FROM sessions WHERE id = ?", (session_id,)).fetchone()
        image["session"] = uids.format_uid(session)
    if origin_id != changed_from:
        image["origin"] = origin_id
    if admitted.verdict is not None:
        image["verdict"] = admitted.verdict
    return JournalEntry("capture", TURN.entity, uid, theme_id, None, image)


def insert_turns(
    conn: sqlite3.Connection,
    origins: OriginRows,
    theme_id: int,
    turns: Iterable[tuple[bytes, PortableTurn, AdmittedTurn]],
    now: int,
    origin: Origin,
) -> list[JournalEntry]:
    """Bring checked turns that are not there into a theme, under these uids; what the journal is to say of it.

    :param origin: of the change that brings them
    """
    sessions: dict[str | None, int | None] = {None: None}
    entries: list[JournalEntry] = []
    for key, (uid, turn, admitted) in enumerate(turns, last_turn_key(conn, theme_id) + 1):
        if turn.session not in sessions:
            sessions[turn.session] = ensure_turn_session(conn, theme_id, str(turn.session), turn.at, now, entries)
        entries.append(insert_turn(conn, origins, key, theme_id, uid, turn, admitted, sessions[turn.session], origin))
    return entries


def find_import_uid(conn: sqlite3.Connection, theme_id: int, theme: str, uid: bytes) -> bytes | None:
    """Find the uid under which to import a turn into a theme; None when it is there, or was erased for the whole team.

    A turn may be in several themes of one store, under the same other uid on every machine.
    """
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


def ensure_turn_session(
    conn: sqlite3.Connection, theme_id: int, name: str, at: int, now: int, entries: list[JournalEntry]
) -> int | None:
    """Key of the session of that name; made as a closed one when there is none."""
    name = validate_session_name(name)
    sql = "SELECT id FROM sessions WHERE theme_id = ? AND name = ?"
    row = conn.execute(sql, (theme_id, name)).fetchone()
    if row is None:
        uid, closed = uids.new_uid(now), SessionStatus.CLOSED.value
        policy = OrphanPolicy.CHECKPOINT_AND_CLOSE.value
        conn.execute(INSERT_SESSION, (uid, theme_id, name, closed, at, HEARTBEAT_MS, LEASE_MS, 0, None, policy, now))
        words: dict[str, Any] = {"name": name, "client": None, "status": closed, "turn": 0, "started_at": at}
        entries.append(JournalEntry("open", "session", uid, theme_id, None, words))
        row = conn.execute(sql, (theme_id, name)).fetchone()
    return int(row[0])


def to_turn(row: Sequence[Any], names: Names) -> Turn:
    _, uid, theme, session, role, content, at, origin_id, verdict = row[:9]
    origin, title = names.origins.by_key(origin_id), names.title_in_theme(theme, session)
    return Turn(uids.format_uid(uid), theme, session, role, content, Millis(at), origin, verdict, title)


def is_for_agents(content: str, origin_id: int | None, verdict: str | None) -> bool:
    """Check whether agents are given a turn; one from before turns were checked is checked now."""
    if verdict is not None:
        return is_admitted(verdict)
    return origin_id is not None or find_turn_rule(content) is None
