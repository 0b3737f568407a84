"""Sessions: one agent run each, with a lease that heartbeats renew, a turn counter, and its scopes in use.

Turns are counted per session: one agent's silence never closes a scope that another still uses. Once all sessions of a scope
have ended, the turns of the theme's other sessions count for it: the end of a session alone cools nothing.
"""

from __future__ import annotations

import builtins
import dataclasses
import json
import sqlite3
from functools import lru_cache
from typing import Any, NamedTuple

from hermes_memory_store import errors, safe_text, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.intake.intake import AdmittedText, Intake, to_given_name, to_listed_name
from hermes_memory_store.items.journal import Journal, JournalEntry
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.items.name_keys import UNSCOPED, Names, ScopeKey, to_theme_name
from hermes_memory_store.items.project_rows import project_key
from hermes_memory_store.items.session_names import find_session_name, fold_session_name
from hermes_memory_store.memory.scopes import close_scope, reopen_scope
from hermes_memory_store.memory.tiers import Tiers
from hermes_memory_store.model import (
    Actor,
    Millis,
    OrphanPolicy,
    ScopeStatus,
    Session,
    SessionStatus,
    Tick,
    Uid,
    split_client_version,
)

HEARTBEAT_MS = 10_000
LEASE_MS = 25_000
"""Defaults of Memory Sidecar 3.5.1 (`heartbeat_interval_s`, `heartbeat_timeout_s`)."""

COOLING_TURNS = 3
"""Turns of silence after which a scope is shown as cooling."""

SILENT_TURNS = 6

SHIFT_TURNS = 3

MAX_NAME = 256

MAX_NUMBER_DIGITS = 9
"""Of a session's number: a billion of one client in one project."""

COLUMNS = (
    "n.uid, t.name, n.name, n.client, n.pid, n.status, n.started_at, n.heartbeat_at, n.heartbeat_ms, n.lease_ms,"
    " n.turn, s.label, n.on_orphan, n.ended_at, n.checkpoint, n.client_version,"
    " coalesce((SELECT name FROM projects WHERE id = p.joined_id), p.name), n.number"
)

SELECT_SESSIONS = (
    f"SELECT {COLUMNS} FROM sessions n JOIN themes t ON t.id = n.theme_id LEFT JOIN scopes s ON s.id = n.scope_id"
    " LEFT JOIN projects p ON p.id = n.project_id"
)

COUNT_BY_STATUS = """
    SELECT n.status, count(*)
    FROM sessions n
    JOIN themes t ON t.id = n.theme_id
    WHERE ?1 IS NULL OR t.name = ?1
    GROUP BY n.status
"""

NUMBERS_OF_CLIENT = """
    SELECT client, max(number) FROM sessions
    WHERE theme_id = ?1 AND (client = ?2 OR client >= ?3 AND client < ?4) AND number IS NOT NULL
      AND (project_id IS ?5 OR project_id IN (SELECT id FROM projects WHERE joined_id = ?5))
    GROUP BY client
"""

RUNNING = (SessionStatus.OPEN, SessionStatus.LIVE, SessionStatus.STALE)

NOT_ENDED = "({})".format(", ".join(f"'{status}'" for status in RUNNING))

RECENT_TURNS = 3
"""Captured turns of its session just before a write that count as those it was written from."""

WRITING_SESSION = f"""
    SELECT n.id, n.turn, n.scope_id, s.label, t.uid
    FROM sessions n LEFT JOIN scopes s ON s.id = n.scope_id LEFT JOIN turns t ON t.session_id = n.id
    WHERE n.uid = ? ORDER BY t.id DESC LIMIT {RECENT_TURNS}
"""

NOTE_WRITE = """
    INSERT INTO attention (session_id, scope_id, last_turn, written_turn) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET last_turn = max(last_turn, excluded.last_turn), streak = 0, written_turn = excluded.written_turn
"""

ABANDONED_SCOPES = f"""
    SELECT s.id, s.uid, s.label, s.status, min(n.turn - a.last_turn)
    FROM scopes s JOIN attention a ON a.scope_id = s.id JOIN sessions n ON n.id = a.session_id
    WHERE s.theme_id = ? AND s.status IN ('open', 'cooling') AND s.label <> ''
    GROUP BY s.id HAVING sum(n.status IN {NOT_ENDED}) = 0
"""
"""Scopes that only sessions used which have ended, and how many turns ago."""

SESSION_AT_ITS_END = """
    SELECT n.theme_id, n.turn, s.label, n.heartbeat_at FROM sessions n LEFT JOIN scopes s ON s.id = n.scope_id
    WHERE n.uid = ? AND n.ended_at IS NULL
"""

WRITES_OF_ACTOR = "SELECT count(*) FROM journal WHERE entity = 'fact' AND actor_id = ? AND theme_id = ?"

OTHER_SESSION = f"""
    SELECT 1 FROM attention a JOIN sessions n ON n.id = a.session_id
    WHERE a.scope_id = ? AND n.id <> ? AND n.status IN {NOT_ENDED} LIMIT 1
"""


class WritingSession(NamedTuple):
    id: int
    turn: int
    scope_id: int | None
    scope: str | None
    """The label of the scope to which its writes without a scope go."""
    recent_turns: tuple[Uid, ...]
    """Captured turns just before now, oldest first."""


class Sessions:
    """Open, renew, tick, end and sweep sessions."""

    def __init__(self, db: Db, names: Names, journal: Journal, clock: Clock, tiers: Tiers, intake: Intake) -> None:
        self._intake = intake
        self._db = db
        self._names = names
        self._journal = journal
        self._clock = clock
        self._tiers = tiers

    @retry_without_index
    def open(
        self,
        theme: str,
        name: str | None = None,
        *,
        client: str | None = None,
        pid: int | None = None,
        heartbeat_ms: int = HEARTBEAT_MS,
        lease_ms: int = LEASE_MS,
        on_orphan: OrphanPolicy = OrphanPolicy.CHECKPOINT_AND_CLOSE,
        client_version: str | None = None,
        project: str | None = None,
        started_at: int | None = None,
    ) -> Session:
        """Start a session, or resume the one of that name where it stopped (turn, scope and checkpoint).

        >>> session = store.sessions.open("ops", "night-shift", client="my-agent")
        >>> store.facts.write("ops", "V[port]: 5432", scope="setup", session=session).fact.actor
        Actor(kind='session', name='night-shift', title='my-agent #1')
        >>> store.sessions.get("ops", "night-shift").scope
        'setup'

        :param client_version: its version, where `client` does not say it
        :param project: name of the project it works in, as `Projects.locate` gives it
        :param started_at: when it began, UTC milliseconds; now unless given
        :param lease_ms: how long after a heartbeat it still counts as alive, in milliseconds
        :param client: what the program that runs it calls itself, a version may follow; listed without secrets and instructions
        :raises ThemeInvalid: ArgumentError, UnsafeText, SecretRefused, NameRefused; nothing was changed then
        """
        theme_name = to_theme_name(theme)
        admitted = None if name is None else admit_session_name(self._intake, theme_name, name)
        client = None if client is None else to_listed_name(client)
        client_version = None if client_version is None else to_listed_name(client_version)
        with self._db.write_transaction() as conn:
            now, beat = self._journal.now(conn), self._clock()
            theme_id = self._names.theme_for_writing(conn, theme_name, now)
            uid = uids.new_uid(now)
            called = admitted or uids.format_uid(uid)
            former_of_name = "SELECT uid, client, project_id, number FROM sessions WHERE theme_id = ? AND name = ?"
            former = conn.execute(former_of_name, (theme_id, called)).fetchone()
            if former is None:
                conn.execute(
                    "INSERT INTO sessions (uid, theme_id, name, client, pid, status, started_at, heartbeat_at,"
                    " heartbeat_ms, lease_ms, on_orphan) VALUES (?, ?, ?, ?, ?, 'open', ?, ?, ?, ?, ?)",
                    (
                        uid,
                        theme_id,
                        called,
                        client,
                        pid,
                        started_at or now,
                        beat,
                        heartbeat_ms,
                        lease_ms,
                        str(on_orphan),
                    ),
                )
            else:
                uid = former[0]
                conn.execute(
                    "UPDATE sessions SET status = 'open', client = ?, pid = ?, heartbeat_at = ?, heartbeat_ms = ?,"
                    " lease_ms = ?, on_orphan = ?, ended_at = NULL WHERE uid = ?",
                    (client, pid, beat, heartbeat_ms, lease_ms, str(on_orphan), uid),
                )
            numbered = number_session(conn, self._names, theme_id, uid, former, client, client_version, project)
            words = {"name": called, "client": client, "status": "open", **numbered}
            words |= {} if started_at is None or former is not None else {"started_at": started_at}
            session = to_session(conn.execute(f"{SELECT_SESSIONS} WHERE n.uid = ?", (uid,)).fetchone())
            origin = self._names.origins.complete(None, session)
            entry = JournalEntry("open", "session", uid, theme_id, None, words)
            self._journal.append(conn, [entry], actor=Actor("session", called), at=now, origin=origin)
        return session

    def get(self, theme: str, name: str) -> Session:
        """Return one session by name. :raises UnknownSession: with the nearest names"""
        session = self.find_named(theme, name)
        if session is None:
            raise errors.UnknownSession(name, [to_given_name(session.name) for session in self.list(theme)])
        return session

    def find(self, text: str, *, theme: str | None = None) -> Session:
        """Find the session that a person means: by its name, title, client, or a beginning of one of them or of its uid.

        >>> session = store.sessions.open("ops", client="my-agent 1.0")
        >>> store.sessions.find("my-agent", theme="ops").title
        'my-agent #1'

        :raises UnknownSession: there is none, with the nearest names
        :raises AmbiguousSession: there are several, with their names
        """
        theme_id = None if theme is None else self._names.theme_or_none(theme) or 0
        return self._by_uid(uids.parse_uid(find_session_name(self._db, theme_id, text).uid))

    def find_titled(self, theme: str, title: str) -> Session | None:
        """Find the session with this name for a person, client, project and number; the newest if there were several."""
        folded = fold_session_name(title)
        number = folded.rpartition(" ")[2]
        if not number.isdecimal() or len(number) > MAX_NUMBER_DIGITS:
            return None
        sql = SELECT_SESSIONS + " WHERE t.name = ? AND n.number = ? ORDER BY n.id DESC"
        numbered = map(to_session, self._db.rows(sql, (self._names.find_theme_name(theme), int(number))))
        return next((session for session in numbered if fold_session_name(session.title) == folded), None)

    def find_title(self, theme: str, name: str) -> str | None:
        """Return a session's name for a person; None when there is no session of that name."""
        session = self.find_named(theme, name)
        return None if session is None else session.title

    def name_actor(self, theme: str, actor: Actor) -> str:
        """Return who an actor is by a name that a person knows: a session by its title, others by their kind."""
        is_session = actor.kind == "session"
        return f"session {self.find_title(theme, actor.name) or actor.name}" if is_session else str(actor)

    def counts(self, theme: str | None = None) -> dict[str, int]:
        """Count the sessions by status. :param theme: count those of this theme alone"""
        return dict(self._db.rows(COUNT_BY_STATUS, (None if theme is None else self._names.find_theme_name(theme),)))

    def find_running(self, theme: str, name: str) -> Session | None:
        """Find the session of that name, if it has not ended."""
        session = self.find_named(theme, name)
        return session if session is not None and session.status in RUNNING else None

    def list(self, theme: str | None = None, *, most_ended: int | None = None) -> list[Session]:
        """Return every session, running ones first, newest first. A lapsed lease shows as stale at once.

        :param most_ended: how many of those that have ended are returned at most, the newest; all when None
        """
        theme_name = None if theme is None else self._names.find_theme_name(theme)
        sql = (
            SELECT_SESSIONS + " WHERE (?1 IS NULL OR t.name = ?1) AND n.ended_at IS {}NULL ORDER BY n.id DESC LIMIT ?2"
        )
        with self._db.snapshot():
            rows = self._db.rows(sql.format(""), (theme_name, -1))
            if most_ended != 0:
                rows += self._db.rows(sql.format("NOT "), (theme_name, -1 if most_ended is None else most_ended))
        now = self._clock()
        return [present_session(to_session(row), now) for row in rows]

    def heartbeat(self, session: Session) -> None:
        """Renew the lease. A session that was considered dead becomes active again."""
        with self._db.write_transaction() as conn:
            self._revive(conn, session)
            self.renew([session])

    def renew(self, running: builtins.list[Session]) -> None:
        """Renew many leases at once. An orphan is alive again; a session that was ended meanwhile stays ended."""
        now = self._clock()
        with self._db.write_transaction() as conn:
            for session in running:
                self._revive(conn, session, only=SessionStatus.ORPHANED)
            conn.executemany(
                "UPDATE sessions SET heartbeat_at = ?, status = 'live' WHERE uid = ? AND ended_at IS NULL",
                [(now, uids.parse_uid(session.uid)) for session in running],
            )

    def shift_leases(self, by_ms: int) -> None:
        """Move the leases of all running sessions with the clock, which was set or stood still: who had time left has it still.

        No lease begins in the future, whatever the clock was before.

        :param by_ms: by how much the clock moved more than time passed; negative when it was set back
        """
        now = self._clock()
        set_back = "" if by_ms >= 0 else " AND heartbeat_at > ?1"  # the others have been renewed since
        with self._db.write_transaction() as conn:
            conn.execute(
                "UPDATE sessions SET heartbeat_at = min(?1, heartbeat_at + ?2)"
                f" WHERE status IN {NOT_ENDED} AND (?2 <> 0 OR heartbeat_at > ?1){set_back}",
                (now, by_ms),
            )

    @retry_without_index
    def mark_lost(self, session: Session) -> None:
        """Mark a session whose connection broke: stale from now on, orphaned when its lease has passed."""
        with self._db.write_transaction() as conn:
            conn.execute(
                "UPDATE sessions SET status = 'stale' WHERE uid = ? AND ended_at IS NULL",
                (uids.parse_uid(session.uid),),
            )

    def has_lapsed(self, at: int | None = None) -> bool:
        """Check whether `sweep` would find anything; read-only. :param at: the time to judge by; now unless given"""
        sql = (
            f"SELECT 1 FROM sessions WHERE status IN {NOT_ENDED}"
            " AND heartbeat_at + lease_ms * (1 + (status = 'stale')) < ? LIMIT 1"
        )
        return self._db.value(sql, (self._clock() if at is None else at,)) is not None

    def ms_until_lapse(self) -> int | None:
        """Return the milliseconds until the last lease lapses; None without a lease, negative while no session is orphaned yet.

        A session whose connection broke can be resumed during its lease, although no process holds it.
        """
        sql = (
            "SELECT max(min(heartbeat_at, ?1) + lease_ms) - ?1 FROM sessions"
            " WHERE status IN ('open', 'live') OR (status = 'stale' AND heartbeat_at + lease_ms < ?1)"
        )
        milliseconds: int | None = self._db.value(sql, (self._clock(),))
        return milliseconds

    @retry_without_index
    def tick(self, session: Session, turn: int, message: str | None = None) -> Tick:
        """Process a user message: count the turn, note the scopes it refers to, close those that are done.

        :param turn: number of the turn in this session, 0 or more
        :param message: what the user said, for references and closing signals
        """
        # Here, not above: the vocabulary takes 20 ms to compile, and only a bridge hears messages.
        from hermes_memory_store.language import closing_signals

        if turn < 0:
            raise errors.ArgumentError("turn must be >= 0", turn)
        text = (message or "")[:20_000]
        with self._db.write_transaction() as conn:
            change = Mutation(conn, self._names, self._journal, Actor("session", session.name))
            row = conn.execute(
                "SELECT id, theme_id, turn, scope_id FROM sessions WHERE uid = ?", (uids.parse_uid(session.uid),)
            ).fetchone()
            session_id, theme_id, last_turn, present = row
            update_scope_streaks(conn, session_id, last_turn, turn)
            self._revive(conn, session)
            conn.execute(
                "UPDATE sessions SET turn = ?, heartbeat_at = ?, status = 'live' WHERE id = ?",
                (turn, self._clock(), session_id),
            )
            referred = [
                scope
                for scope in find_open_scopes(conn, theme_id)
                if text and closing_signals.has_scope_mention(text, scope.label)
            ]
            for scope in referred:
                refer_to_scope(conn, session_id, scope.id, turn)
                if scope.status == ScopeStatus.COOLING:
                    reopen_scope(change, scope)
            closed = []
            if text and closing_signals.is_closing_message(text):
                done = referred or [scope for scope in find_open_scopes(conn, theme_id) if scope.id == present]
                closed += [scope.label for scope in done if close_scope(change, scope, why="signal")]
            closed += close_forgotten_scopes(change, session_id, turn)
            cooling = mark_cooling_scopes(change, session_id, turn)
            if turn != last_turn:
                forgotten, cooled = count_turn_of_later_session(change, theme_id)
                closed += forgotten
                cooling += cooled
            change.record()
            gauge = self._tiers.gauge_within(conn, theme_id)
        return Tick(turn, tuple(closed), tuple(cooling), gauge)

    def close(self, session: Session, *, actor: Actor | None = None) -> None:
        """End a session: release its lease and keep its checkpoint. :param actor: the session unless given"""
        self._end(session, SessionStatus.CLOSED, keep_checkpoint=True, actor=actor)

    @retry_without_index
    def sweep(self, at: int | None = None) -> builtins.list[Session]:
        """Find sessions whose lease lapsed: stale at first, orphaned after a second lease, by their own policy.

        Returns those whose status changed. Any running bridge calls this at least every half lease.

        :param at: the time to judge by; now unless given
        """
        now = self._clock() if at is None else at
        sql = SELECT_SESSIONS + f" WHERE n.status IN {NOT_ENDED} AND n.heartbeat_at + n.lease_ms < ?"
        lapsed = [to_session(row) for row in self._db.rows(sql, (now,))]
        for session in lapsed:
            if session.heartbeat_at + 2 * session.lease_ms < now:
                keep_checkpoint = session.on_orphan is OrphanPolicy.CHECKPOINT_AND_CLOSE
                self._end(session, SessionStatus.ORPHANED, keep_checkpoint=keep_checkpoint)
            elif session.status is not SessionStatus.STALE:
                with self._db.write_transaction() as conn:
                    conn.execute(
                        "UPDATE sessions SET status = 'stale' WHERE uid = ? AND heartbeat_at = ?",
                        (uids.parse_uid(session.uid), session.heartbeat_at),
                    )
        return [self._by_uid(uids.parse_uid(session.uid)) for session in lapsed]

    def load_writer(self, conn: sqlite3.Connection, session: Session) -> WritingSession | None:
        """Load what a write needs to know of its session; None when there is no such session any more."""
        rows = conn.execute(WRITING_SESSION, (uids.parse_uid(session.uid),)).fetchall()
        if not rows:
            return None
        turns = uids.to_texts([uid for *_, uid in reversed(rows) if uid is not None])
        session_id, turn, scope_id, label, _ = rows[0]
        return WritingSession(session_id, turn, scope_id, label or None, tuple(turns))

    def note_write(self, conn: sqlite3.Connection, writer: WritingSession, scope: ScopeKey) -> None:
        """Note a write to a scope: it becomes the session's current scope and counts as in use."""
        if scope.label == UNSCOPED:
            return
        if writer.scope_id != scope.id:
            conn.execute("UPDATE sessions SET scope_id = ? WHERE id = ?", (scope.id, writer.id))
        conn.execute(NOTE_WRITE, (writer.id, scope.id, writer.turn, writer.turn))

    @retry_without_index
    def note_reference(self, session: Session, theme: str, label: str) -> None:
        """Note that a session asked about a scope, which counts as a mention of it."""
        key = self._names.scope(theme, label)
        with self._db.write_transaction() as conn:
            row = conn.execute("SELECT id, turn FROM sessions WHERE uid = ?", (uids.parse_uid(session.uid),)).fetchone()
            if row is not None and key.status != ScopeStatus.CLOSED:
                refer_to_scope(conn, row[0], key.id, row[1])

    def _end(
        self, session: Session, status: SessionStatus, *, keep_checkpoint: bool, actor: Actor | None = None
    ) -> None:
        uid = uids.parse_uid(session.uid)
        with self._db.write_transaction() as conn:
            now = self._journal.now(conn)
            row = conn.execute(SESSION_AT_ITS_END, (uid,)).fetchone()
            if row is None or (status == SessionStatus.ORPHANED and row[3] != session.heartbeat_at):
                return
            theme_id, turn, label, _ = row
            author, checkpoint = Actor("session", session.name), None
            if keep_checkpoint:
                (writes,) = conn.execute(WRITES_OF_ACTOR, (self._names.actor(conn, author), theme_id)).fetchone()
                checkpoint = json.dumps({"turn": turn, "scope": label, "writes": writes, "at": now})
            conn.execute(
                "UPDATE sessions SET status = ?, ended_at = ?, checkpoint = coalesce(?, checkpoint) WHERE uid = ?",
                (str(status), now, checkpoint, uid),
            )
            after = {"status": status.value, "turn": turn}
            entry = JournalEntry(status.value, "session", uid, theme_id, None, after)
            self._journal.append(conn, [entry], actor=actor or author, at=now)

    def _revive(self, conn: sqlite3.Connection, session: Session, *, only: SessionStatus | None = None) -> None:
        """Reopen a session that has ended, if it ended so: its agent is there all the same."""
        uid = uids.parse_uid(session.uid)
        row = conn.execute(
            "SELECT theme_id FROM sessions WHERE uid = ? AND ended_at IS NOT NULL AND (?2 IS NULL OR status = ?2)",
            (uid, only),
        ).fetchone()
        if row is None:
            return
        conn.execute("UPDATE sessions SET status = 'open', ended_at = NULL WHERE uid = ?", (uid,))
        entry = JournalEntry("open", "session", uid, row[0], None, {"status": "open"})
        self._journal.append(conn, [entry], actor=Actor("session", session.name), at=self._journal.now(conn))

    def find_named(self, theme: str, name: str) -> Session | None:
        """Return the session of exactly that name; None where there is none."""
        sql = f"{SELECT_SESSIONS} WHERE t.name = ? AND n.name = ?"
        row = self._db.row(sql, (self._names.find_theme_name(theme), name))
        return None if row is None else to_session(row)

    def _by_uid(self, uid: bytes) -> Session:
        row = self._db.row(SELECT_SESSIONS + " WHERE n.uid = ?", (uid,))
        if row is None:
            raise errors.UnknownSession(uids.format_uid(uid))
        return to_session(row)


def present_session(session: Session, now: int) -> Session:
    """Return a session as it is at a moment: stale once its lease has lapsed."""
    status = present_status(session, now)
    return session if status is session.status else dataclasses.replace(session, status=status)


def present_status(session: Session, now: int) -> SessionStatus:
    """Return the status of a session at a moment: stale once its lease has lapsed, also since it was read."""
    running = session.status is SessionStatus.OPEN or session.status is SessionStatus.LIVE
    return SessionStatus.STALE if running and session.heartbeat_at + session.lease_ms < now else session.status


def number_session(
    conn: sqlite3.Connection,
    names: Names,
    theme_id: int,
    uid: bytes,
    before: tuple[Any, ...] | None,
    client: str | None,
    version: str | None,
    project: str | None,
) -> dict[str, Any]:
    """Give a session its number among those of its client in its project; return what the journal says of it.

    A resumed session keeps its number and its project as long as the client is the same.
    """
    called, declared = split_client_version(client) if client else (None, None)
    project_id = None if project is None else project_key(conn, project)
    number = None
    if before is not None and before[3] is not None and split_client_version(before[1] or "")[0] == (called or ""):
        number = before[3] if before[2] is not None or project_id is None else None
        project_id = before[2] or project_id
    if number is None and called is not None:
        # The names that count as this client: with any version behind it, which begins with a space.
        names_of_client = (called, f"{called} ", f"{called}!")
        rows = conn.execute(NUMBERS_OF_CLIENT, (theme_id, *names_of_client, project_id)).fetchall()
        number = 1 + max((taken for name, taken in rows if split_client_version(name)[0] == called), default=0)
    conn.execute(
        "UPDATE sessions SET client_version = ?, project_id = ?, number = ? WHERE uid = ?",
        (version or declared, project_id, number, uid),
    )
    label = None if project_id is None else names.origins.project_name(project_id)
    names.forget_titles()
    words = {"client_version": version, "project": label, "number": number}
    return {name: value for name, value in words.items() if value is not None}


def update_scope_streaks(conn: sqlite3.Connection, session_id: int, last_turn: int, turn: int) -> None:
    """Update the counters for the turn that has just ended: scopes written to, and scopes left alone."""
    if turn < last_turn:
        conn.execute(
            "UPDATE attention SET last_turn = min(last_turn, ?), written_turn = NULL, streak = 0 WHERE session_id = ?",
            (turn, session_id),
        )
    if turn <= last_turn:
        return
    wrote = conn.execute(
        "SELECT 1 FROM attention WHERE session_id = ? AND written_turn = ?", (session_id, last_turn)
    ).fetchone()
    conn.execute(
        "UPDATE attention SET streak = CASE WHEN last_turn >= ?2 OR NOT ?3 THEN 0 ELSE streak + 1 END"
        " WHERE session_id = ?1",
        (session_id, last_turn, wrote is not None),
    )


def refer_to_scope(conn: sqlite3.Connection, session_id: int, scope_id: int, turn: int) -> None:
    conn.execute(
        "INSERT INTO attention (session_id, scope_id, last_turn) VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET last_turn = max(last_turn, excluded.last_turn), streak = 0",
        (session_id, scope_id, turn),
    )


def find_open_scopes(conn: sqlite3.Connection, theme_id: int) -> list[ScopeKey]:
    sql = (
        "SELECT id, uid, label, status FROM scopes WHERE theme_id = ? AND status IN ('open', 'cooling') AND label <> ''"
    )
    return [ScopeKey(*row) for row in conn.execute(sql, (theme_id,))]


def close_forgotten_scopes(change: Mutation, session_id: int, turn: int) -> list[str]:
    """Close the scopes this session has left, unless another running session uses them."""
    rows = change.conn.execute(
        "SELECT s.id, s.uid, s.label, s.status, a.last_turn, a.streak FROM attention a JOIN scopes s ON s.id = a.scope_id"
        " WHERE a.session_id = ?1 AND (?2 - a.last_turn >= ?3 OR a.streak >= ?4)",
        (session_id, turn, SILENT_TURNS, SHIFT_TURNS),
    ).fetchall()
    closed = []
    for *key, last_turn, _ in rows:
        scope = ScopeKey(*key)
        change.conn.execute("DELETE FROM attention WHERE session_id = ? AND scope_id = ?", (session_id, scope.id))
        change.conn.execute("UPDATE sessions SET scope_id = NULL WHERE id = ? AND scope_id = ?", (session_id, scope.id))
        reason = "silence" if turn - last_turn >= SILENT_TURNS else "shift"
        if not is_used_by_other_session(change.conn, scope.id, session_id) and close_scope(change, scope, why=reason):
            closed.append(scope.label)
    return closed


def mark_cooling_scopes(change: Mutation, session_id: int, turn: int) -> list[str]:
    rows = change.conn.execute(
        "SELECT s.id, s.label FROM attention a JOIN scopes s ON s.id = a.scope_id"
        " WHERE a.session_id = ? AND s.status = 'open' AND ? - a.last_turn >= ?",
        (session_id, turn, COOLING_TURNS),
    ).fetchall()
    cooling = []
    for scope_id, label in rows:
        if not is_used_by_other_session(change.conn, scope_id, session_id):
            change.update_scope(scope_id, "cooling", status=ScopeStatus.COOLING)
            cooling.append(label)
    return cooling


def count_turn_of_later_session(change: Mutation, theme_id: int) -> tuple[list[str], list[str]]:
    """Count a turn for the scopes that only ended sessions used; return the labels of those that closed, and of those cooling."""
    closed, cooling = [], []
    for *key, silence in change.conn.execute(ABANDONED_SCOPES, (theme_id,)).fetchall():
        scope = ScopeKey(*key)
        change.conn.execute("UPDATE attention SET last_turn = last_turn - 1 WHERE scope_id = ?", (scope.id,))
        if silence + 1 >= SILENT_TURNS:
            close_scope(change, scope, why="silence")
            closed.append(scope.label)
        elif silence + 1 >= COOLING_TURNS and scope.status == ScopeStatus.OPEN:
            change.update_scope(scope.id, "cooling", status=ScopeStatus.COOLING)
            cooling.append(scope.label)
    return closed, cooling


def is_used_by_other_session(conn: sqlite3.Connection, scope_id: int, session_id: int) -> bool:
    return conn.execute(OTHER_SESSION, (scope_id, session_id)).fetchone() is not None


def validate_session_name(name: str) -> str:
    """Return a session's name in its stored form. :raises ArgumentError: when it cannot be one"""
    if not 0 < len(name) <= MAX_NAME:
        raise errors.ArgumentError(f"a session's name has 1 to {MAX_NAME} characters, this one has {len(name)}", name)
    return safe_text.validate_text(name, "the session's name")


def admit_session_name(intake: Intake, theme: str, name: str) -> AdmittedText:
    """Check a session's name on its way in. :raises InputError: it cannot be one, or must not be listed"""
    return intake.admit_name(theme, "the session's name", validate_session_name(name))


@lru_cache(maxsize=8192)  # who follows thousands of sessions reads them every few seconds, and most are as they were
def to_session(row: tuple[Any, ...]) -> Session:
    uid, theme, name, client, pid, status, started, beat, beat_ms, lease, turn, label, policy, ended, checkpoint = row[
        :15
    ]
    version, project, number = row[15:]
    return Session(
        uid=uids.format_uid(uid),
        theme=theme,
        name=name,
        client=client,
        pid=pid,
        status=SessionStatus(status),
        started_at=Millis(started),
        heartbeat_at=Millis(beat),
        heartbeat_ms=beat_ms,
        lease_ms=lease,
        turn=turn,
        scope=label or None,
        on_orphan=OrphanPolicy(policy),
        ended_at=None if ended is None else Millis(ended),
        checkpoint=None if checkpoint is None else json.loads(checkpoint),
        client_version=version,
        project=project,
        number=number,
    )
