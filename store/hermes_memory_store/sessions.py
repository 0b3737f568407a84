"""Sessions: one agent run each, with a lease that heartbeats renew, a turn counter, and the scopes it has in mind.

Turns are counted per session: one agent's silence never closes a scope that another has in mind.
"""

from __future__ import annotations

import builtins
import dataclasses
import json
import sqlite3
from typing import Any

from hermes_memory_store import errors, text, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.db import Db
from hermes_memory_store.journal import Entry, Journal
from hermes_memory_store.model import Actor, Millis, OrphanPolicy, ScopeStatus, Session, SessionStatus, Tick
from hermes_memory_store.names import UNSCOPED, Names, ScopeKey
from hermes_memory_store.records import Mutation
from hermes_memory_store.scopes import close_scope, reopen_scope
from hermes_memory_store.text_indexes import again_without_index
from hermes_memory_store.tiers import Tiers

HEARTBEAT_MS = 10_000
LEASE_MS = 25_000
"""Defaults of Memory Sidecar 3.5.1 (`heartbeat_interval_s`, `heartbeat_timeout_s`)."""

COOLING_TURNS = 3
"""Turns of silence after which a scope is shown as cooling."""

SILENT_TURNS = 6
"""Turns without a reference that close a scope."""

SHIFT_TURNS = 3
"""Consecutive turns writing to another scope that close a scope."""

MAX_NAME = 256
"""Characters of a session's name."""

COLUMNS = (
    "n.uid, t.name, n.name, n.client, n.pid, n.status, n.started_at, n.heartbeat_at, n.heartbeat_ms, n.lease_ms,"
    " n.turn, s.label, n.on_orphan, n.ended_at, n.checkpoint"
)

LISTED = f"SELECT {COLUMNS} FROM sessions n JOIN themes t ON t.id = n.theme_id LEFT JOIN scopes s ON s.id = n.scope_id"

COUNTED = """
    SELECT n.status, count(*)
    FROM sessions n
    JOIN themes t ON t.id = n.theme_id
    WHERE ?1 IS NULL OR t.name = ?1
    GROUP BY n.status
"""

NOT_ENDED = "('open', 'live', 'stale')"


class Sessions:
    """Opens, renews, ticks, ends and watches over sessions."""

    def __init__(self, db: Db, names: Names, journal: Journal, clock: Clock, tiers: Tiers) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._clock = clock
        self._tiers = tiers

    @again_without_index
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
    ) -> Session:
        """Begin a session, or take up the one of that name where it was left (turn, scope and checkpoint)."""
        with self._db.writing() as conn:
            now = self._journal.now(conn)
            theme_id = self._names.theme_for_writing(conn, theme, now)
            uid = uids.new_uid(now)
            called = uids.to_text(uid) if name is None else checked_name(name)
            found = conn.execute(
                "SELECT uid FROM sessions WHERE theme_id = ? AND name = ?", (theme_id, called)
            ).fetchone()
            if found is None:
                conn.execute(
                    "INSERT INTO sessions (uid, theme_id, name, client, pid, status, started_at, heartbeat_at,"
                    " heartbeat_ms, lease_ms, on_orphan) VALUES (?, ?, ?, ?, ?, 'open', ?, ?, ?, ?, ?)",
                    (uid, theme_id, called, client, pid, now, now, heartbeat_ms, lease_ms, str(on_orphan)),
                )
            else:
                uid = found[0]
                conn.execute(
                    "UPDATE sessions SET status = 'open', client = ?, pid = ?, heartbeat_at = ?, heartbeat_ms = ?,"
                    " lease_ms = ?, on_orphan = ?, ended_at = NULL WHERE uid = ?",
                    (client, pid, now, heartbeat_ms, lease_ms, str(on_orphan), uid),
                )
            said = {"name": called, "client": client, "status": "open"}
            self._record(conn, "open", uid, theme_id, said, Actor("session", called), now)
        return self._by_uid(uid)

    def get(self, theme: str, name: str) -> Session:
        """One session by its name. :raises UnknownSession: with the nearest names"""
        row = self._db.row(LISTED + " WHERE t.name = ? AND n.name = ?", (theme, name))
        if row is None:
            raise errors.UnknownSession(name, [session.name for session in self.list(theme)])
        return session_of(row)

    def counts(self, theme: str | None = None) -> dict[str, int]:
        """How many sessions there are of each status. :param theme: count those of this theme alone"""
        return dict(self._db.rows(COUNTED, (theme,)))

    def running(self, theme: str, name: str) -> Session | None:
        """The session of that name, if it has not ended."""
        row = self._db.row(f"{LISTED} WHERE t.name = ? AND n.name = ? AND n.status IN {NOT_ENDED}", (theme, name))
        return None if row is None else session_of(row)

    def list(self, theme: str | None = None) -> list[Session]:
        """Every session, those still running first, newest first. A lapsed lease shows as stale at once."""
        sql = LISTED + " WHERE (?1 IS NULL OR t.name = ?1) ORDER BY n.ended_at IS NOT NULL, n.id DESC"
        return [self._present(session_of(row)) for row in self._db.rows(sql, (theme,))]

    def heartbeat(self, session: Session) -> None:
        """Renew the lease. A session that was taken for dead comes back to life."""
        with self._db.writing() as conn:
            conn.execute(
                "UPDATE sessions SET heartbeat_at = max(heartbeat_at, ?), status = 'live', ended_at = NULL WHERE uid = ?",
                (self._clock(), uids.to_bytes(session.uid)),
            )

    def renew(self, running: builtins.list[Session]) -> None:
        """Renew many leases at once. A session that has ended meanwhile stays ended."""
        now = self._clock()
        with self._db.writing() as conn:
            conn.executemany(
                "UPDATE sessions SET heartbeat_at = max(heartbeat_at, ?), status = 'live'"
                " WHERE uid = ? AND ended_at IS NULL",
                [(now, uids.to_bytes(session.uid)) for session in running],
            )

    @again_without_index
    def lost(self, session: Session) -> None:
        """The other end is gone without a word: stale from now on, and orphaned when its lease has passed."""
        with self._db.writing() as conn:
            conn.execute(
                "UPDATE sessions SET status = 'stale' WHERE uid = ? AND ended_at IS NULL", (uids.to_bytes(session.uid),)
            )

    def any_lapsed(self) -> bool:
        """Whether `sweep` would find anything; reads only."""
        sql = (
            f"SELECT 1 FROM sessions WHERE status IN {NOT_ENDED}"
            " AND heartbeat_at + lease_ms * (1 + (status = 'stale')) < ? LIMIT 1"
        )
        return self._db.value(sql, (self._clock(),)) is not None

    def lapse_in_ms(self) -> int | None:
        """How long until the last of the leases lapses, less than 0 when it has and nobody is orphaned yet; None without any.

        A session whose other end broke off has a lease to be resumed in, in which nobody is there.
        """
        sql = (
            "SELECT max(min(heartbeat_at, ?1) + lease_ms) - ?1 FROM sessions"
            " WHERE status IN ('open', 'live') OR (status = 'stale' AND heartbeat_at + lease_ms < ?1)"
        )
        found: int | None = self._db.value(sql, (self._clock(),))
        return found

    @again_without_index
    def tick(self, session: Session, turn: int, message: str | None = None) -> Tick:
        """A user message arrived: count the turn, note which scopes it refers to, close those that are done.

        :param turn: number of the turn in this session, 0 or more
        :param message: what the user said, for references and closing signals
        """
        # Here, not above: the vocabulary takes 20 ms to compile, and only a bridge hears messages.
        from hermes_memory_store import signals

        if turn < 0:
            raise errors.ArgumentError("turn must be >= 0", turn)
        said = (message or "")[:20_000]
        with self._db.writing() as conn:
            change = Mutation(conn, self._names, self._journal, Actor("session", session.name))
            row = conn.execute(
                "SELECT id, theme_id, turn, scope_id FROM sessions WHERE uid = ?", (uids.to_bytes(session.uid),)
            ).fetchone()
            session_id, theme_id, last_turn, present = row
            count_streaks(conn, session_id, last_turn, turn)
            conn.execute(
                "UPDATE sessions SET turn = ?, heartbeat_at = max(heartbeat_at, ?), status = 'live', ended_at = NULL"
                " WHERE id = ?",
                (turn, change.now, session_id),
            )
            referred = [scope for scope in open_scopes(conn, theme_id) if said and signals.mentions(said, scope.label)]
            for scope in referred:
                refer(conn, session_id, scope.id, turn)
                if scope.status == ScopeStatus.COOLING:
                    reopen_scope(change, scope)
            closed = []
            if said and signals.closes(said):
                done = referred or [scope for scope in open_scopes(conn, theme_id) if scope.id == present]
                closed += [scope.label for scope in done if close_scope(change, scope, why="signal")]
            closed += close_forgotten(change, session_id, turn)
            cooling = show_cooling(change, session_id, turn)
            change.record()
            gauge = self._tiers.gauge_within(conn, theme_id)
        return Tick(turn, tuple(closed), tuple(cooling), gauge)

    def close(self, session: Session, *, actor: Actor | None = None) -> None:
        """End a session properly: its lease is released and its checkpoint kept. :param actor: the session unless given"""
        self._end(session, SessionStatus.CLOSED, keep_checkpoint=True, actor=actor)

    @again_without_index
    def sweep(self) -> builtins.list[Session]:
        """Find sessions whose lease lapsed: stale at first, orphaned after a second lease, by their own policy.

        Returns those whose status changed. Any running bridge calls this at least every half lease.
        """
        now = self._clock()
        sql = LISTED + f" WHERE n.status IN {NOT_ENDED} AND n.heartbeat_at + n.lease_ms < ?"
        lapsed = [session_of(row) for row in self._db.rows(sql, (now,))]
        for session in lapsed:
            if session.heartbeat_at + 2 * session.lease_ms < now:
                kept = session.on_orphan is OrphanPolicy.CHECKPOINT_AND_CLOSE
                self._end(session, SessionStatus.ORPHANED, keep_checkpoint=kept)
            elif session.status is not SessionStatus.STALE:
                with self._db.writing() as conn:
                    conn.execute(
                        "UPDATE sessions SET status = 'stale' WHERE uid = ? AND heartbeat_at = ?",
                        (uids.to_bytes(session.uid), session.heartbeat_at),
                    )
        return [self._by_uid(uids.to_bytes(session.uid)) for session in lapsed]

    def present_scope(self, conn: sqlite3.Connection, session: Session) -> str | None:
        """Label of the scope that this session's writes without a scope go to."""
        row = conn.execute(
            "SELECT s.label FROM sessions n JOIN scopes s ON s.id = n.scope_id WHERE n.uid = ?",
            (uids.to_bytes(session.uid),),
        ).fetchone()
        return (row[0] or None) if row else None

    def wrote(self, conn: sqlite3.Connection, session: Session, scope_id: int) -> None:
        """A write went to a scope: it is now the session's present scope, and in its mind."""
        found = conn.execute(
            "SELECT n.id, n.turn, n.scope_id, s.label FROM sessions n, scopes s WHERE n.uid = ? AND s.id = ?",
            (uids.to_bytes(session.uid), scope_id),
        ).fetchone()
        if found is None:
            raise errors.UnknownSession(session.name)
        session_id, turn, present, label = found
        if label == UNSCOPED:
            return
        if present != scope_id:
            conn.execute("UPDATE sessions SET scope_id = ? WHERE id = ?", (scope_id, session_id))
        refer(conn, session_id, scope_id, turn)
        conn.execute(
            "UPDATE attention SET written_turn = ? WHERE session_id = ? AND scope_id = ?", (turn, session_id, scope_id)
        )

    @again_without_index
    def referred(self, session: Session, theme: str, label: str) -> None:
        """A session asked about a scope: that is a reference to it, as good as a mention."""
        key = self._names.scope(theme, label)
        with self._db.writing() as conn:
            row = conn.execute("SELECT id, turn FROM sessions WHERE uid = ?", (uids.to_bytes(session.uid),)).fetchone()
            if row is not None and key.status != ScopeStatus.CLOSED:
                refer(conn, row[0], key.id, row[1])

    def _end(
        self, session: Session, status: SessionStatus, *, keep_checkpoint: bool, actor: Actor | None = None
    ) -> None:
        uid = uids.to_bytes(session.uid)
        with self._db.writing() as conn:
            now = self._journal.now(conn)
            row = conn.execute(
                "SELECT n.theme_id, n.turn, s.label, n.heartbeat_at, n.ended_at FROM sessions n"
                " LEFT JOIN scopes s ON s.id = n.scope_id WHERE n.uid = ?",
                (uid,),
            ).fetchone()
            if (
                row is None
                or row[4] is not None
                or (status == SessionStatus.ORPHANED and row[3] != session.heartbeat_at)
            ):
                return
            theme_id, turn, label, *_ = row
            checkpoint = None
            if keep_checkpoint:
                writes = conn.execute(
                    "SELECT count(*) FROM journal WHERE entity = 'fact' AND actor_id = ? AND theme_id = ?",
                    (self._names.actor(conn, Actor("session", session.name)), theme_id),
                ).fetchone()[0]
                checkpoint = json.dumps({"turn": turn, "scope": label, "writes": writes, "at": now})
            conn.execute(
                "UPDATE sessions SET status = ?, ended_at = ?, checkpoint = coalesce(?, checkpoint) WHERE uid = ?",
                (str(status), now, checkpoint, uid),
            )
            actor = actor or Actor("session", session.name)
            self._record(conn, status.value, uid, theme_id, {"status": status.value, "turn": turn}, actor, now)

    def _record(
        self, conn: sqlite3.Connection, op: str, uid: bytes, theme_id: int, after: dict[str, Any], actor: Actor, at: int
    ) -> None:
        self._journal.append(conn, [Entry(op, "session", uid, theme_id, None, after)], actor=actor, at=at)

    def _by_uid(self, uid: bytes) -> Session:
        row = self._db.row(LISTED + " WHERE n.uid = ?", (uid,))
        if row is None:
            raise errors.UnknownSession(uids.to_text(uid))
        return session_of(row)

    def _present(self, session: Session) -> Session:
        running = session.status in (SessionStatus.OPEN, SessionStatus.LIVE)
        if not running or session.heartbeat_at + session.lease_ms >= self._clock():
            return session
        return dataclasses.replace(session, status=SessionStatus.STALE)


def count_streaks(conn: sqlite3.Connection, session_id: int, last_turn: int, turn: int) -> None:
    """Account for the turn that has just ended: which scopes it wrote to, and which it left behind."""
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


def refer(conn: sqlite3.Connection, session_id: int, scope_id: int, turn: int) -> None:
    """The session has this scope in mind as of this turn."""
    conn.execute(
        "INSERT INTO attention (session_id, scope_id, last_turn) VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET last_turn = max(last_turn, excluded.last_turn), streak = 0",
        (session_id, scope_id, turn),
    )


def open_scopes(conn: sqlite3.Connection, theme_id: int) -> list[ScopeKey]:
    """Scopes of a theme that are open or cooling."""
    sql = (
        "SELECT id, uid, label, status FROM scopes WHERE theme_id = ? AND status IN ('open', 'cooling') AND label <> ''"
    )
    return [ScopeKey(*row) for row in conn.execute(sql, (theme_id,))]


def close_forgotten(change: Mutation, session_id: int, turn: int) -> list[str]:
    """Close the scopes this session has left, unless another running session has them in mind."""
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
        why = "silence" if turn - last_turn >= SILENT_TURNS else "shift"
        if not in_another_mind(change.conn, scope.id, session_id) and close_scope(change, scope, why=why):
            closed.append(scope.label)
    return closed


def show_cooling(change: Mutation, session_id: int, turn: int) -> list[str]:
    """Mark the scopes that close next unless somebody refers to them."""
    rows = change.conn.execute(
        "SELECT s.id, s.label FROM attention a JOIN scopes s ON s.id = a.scope_id"
        " WHERE a.session_id = ? AND s.status = 'open' AND ? - a.last_turn >= ?",
        (session_id, turn, COOLING_TURNS),
    ).fetchall()
    cooling = []
    for scope_id, label in rows:
        if not in_another_mind(change.conn, scope_id, session_id):
            change.update_scope(scope_id, "cooling", status=ScopeStatus.COOLING)
            cooling.append(label)
    return cooling


def in_another_mind(conn: sqlite3.Connection, scope_id: int, session_id: int) -> bool:
    """Whether a running session other than this one has the scope in mind."""
    sql = (
        "SELECT 1 FROM attention a JOIN sessions n ON n.id = a.session_id"
        f" WHERE a.scope_id = ? AND n.id <> ? AND n.status IN {NOT_ENDED} LIMIT 1"
    )
    return conn.execute(sql, (scope_id, session_id)).fetchone() is not None


def checked_name(name: str) -> str:
    """A session's name as it is kept. :raises ArgumentError: when it cannot be one"""
    if not 0 < len(name) <= MAX_NAME:
        raise errors.ArgumentError(f"a session's name has 1 to {MAX_NAME} characters, this one has {len(name)}", name)
    return text.check(name, "the session's name")


def session_of(row: tuple[Any, ...]) -> Session:
    """A row of `LISTED` as data."""
    uid, theme, name, client, pid, status, started, beat, beat_ms, lease, turn, label, policy, ended, checkpoint = row
    return Session(
        uid=uids.to_text(uid),
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
    )
