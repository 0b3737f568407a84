"""Sessions of hosts: when their hooks were heard last, in which window they are, what they were given, and which of their
messages were captured, so that each is kept once, however often and late it arrives.

Of sessions no content stands here: names, times and counts. A host's session is one of ours once it has done anything that
is kept. A message comes from a hook, from the transcript, or from both in either order; a hook may run twice at once, two
hosts may read one file, and what waited on disk comes last. Each occurrence is a row: whether a hook brought it, whether the
transcript showed it. The n-th occurrence in the transcript is the n-th that hooks brought.
"""

from __future__ import annotations

import builtins
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hermes_memory_store import uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.hosts.host_data import find_client_host, load_host
from hermes_memory_store.intake.intake import to_masked_name
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import Fact, Millis, Session, Turn, Uid, Way
from hermes_memory_store.safe_text import to_printable

HOSTS = """
    SELECT host, count(*), max(heard_at), max(given_at) FROM host_sessions GROUP BY host ORDER BY max(heard_at) DESC
"""

WINDOW = """
    SELECT max(h.window_at) FROM sessions n JOIN host_sessions h ON h.session_id = n.id WHERE n.theme_id = ? AND n.name = ?
"""

NAME_AT_HOST = """
    SELECT h.name FROM sessions n JOIN host_sessions h ON h.session_id = n.id
    WHERE n.theme_id = ? AND n.name = ? AND h.host = ? ORDER BY h.heard_at DESC LIMIT 1
"""

FORGET_WINDOW = """
    DELETE FROM host_given WHERE host_session_id = ?1 AND lower(hex(uid)) NOT IN (
      SELECT replace(f.value, '-', '') FROM host_sessions h JOIN injections i ON i.session_id = h.session_id, json_each(i.facts) f
      WHERE h.id = ?1 AND i.kind = 'prompt' AND i.at >= ?2 AND i.id > (SELECT max(id) - 2000 FROM injections)
    )
"""

GIVINGS = """
    SELECT at, kind, why, tokens, facts FROM injections
    WHERE id > (SELECT coalesce(max(id), 0) FROM injections) - 2000
      AND session_id = (SELECT session_id FROM host_sessions WHERE id = ?) AND kind IN (SELECT value FROM json_each(?))
    ORDER BY id
"""

HOST_NAME = re.compile(r"[0-9A-Za-z][\w.-]{0,127}", re.ASCII)
"""A name that a shell takes as one word, and no program as an option."""

FACTS_WRITTEN = """
    SELECT f.uid FROM actors a JOIN facts f ON f.actor_id = a.id
    WHERE a.kind = 'session' AND a.name IN (SELECT value FROM json_each(?1)) AND f.theme_id = ?2
      AND f.updated_at >= ?3 AND f.tier IN ('hot', 'cold', 'archived')
    ORDER BY f.updated_at DESC LIMIT 500
"""


@dataclass(frozen=True, slots=True)
class HostSession:
    """A session as its host names it."""

    id: int
    host: str
    name: str
    theme: str | None
    session: str | None
    """The name of our session."""
    host_version: str | None
    folder: str | None
    started_at: Millis
    heard_at: Millis
    heard_event: str
    """`start`, `prompt`, `compacting`, `compacted`, `turn` or `end`."""
    window_at: Millis
    """When its present window began."""
    given_at: Millis | None
    given_seq: int
    """The journal's newest sequence when it was given something last."""
    given_tokens: int
    """Of the last context block."""
    given_facts: int
    transcript: str | None
    transcript_offset: int
    """Bytes of the transcript that were read; -1: it is read from where it ends at the next prompt that may be kept."""
    pid: int | None = None
    """The process of the host."""
    source: str = ""
    """Why it started last: `startup`, `resume`, `clear`, `compact` or `fork`; empty while no start was heard."""
    compacting_at: Millis | None = None
    """When the host announced a compaction after which no window has begun yet."""
    compacted_at: Millis | None = None
    """When such a compaction was over."""
    prompts: int = 0
    """Prompts heard."""
    prompt_tokens: int = 0
    """Tokens that prompts were given, all together."""
    window_prompts: int = 0
    """Prompts heard in the present window."""
    transcript_size: int = 0
    """Bytes of the transcript when it was looked at last."""
    capture_from: Millis | None = None
    """Since when capture has been allowed without a break; None while it is not."""
    capture_spans: str = "[]"
    """Earlier times of which the same was true, as JSON: pairs of when each began and when a hook was heard last in it."""


SESSIONS = f"""
    SELECT {", ".join({"theme": "t.name", "session": "n.name"}.get(name, f"h.{name}") for name in HostSession.__slots__)}
    FROM host_sessions h LEFT JOIN themes t ON t.id = h.theme_id LEFT JOIN sessions n ON n.id = h.session_id WHERE
"""

CHANGEABLE = set(HostSession.__slots__) - {"id", "host", "name", "theme", "session", "started_at"}


@dataclass(frozen=True, slots=True)
class HostReport:
    host: str
    sessions: int
    heard_at: Millis
    given_at: Millis | None
    last: HostSession
    """The session heard last."""


class HostSessions:
    def __init__(self, db: Db, names: Names, clock: Clock) -> None:
        self._db = db
        self._names = names
        self._clock = clock

    def find(self, host: str, name: str) -> HostSession | None:
        row = self._db.row(f"{SESSIONS} h.host = ? AND h.name = ?", (host, to_masked_name(name)))
        return None if row is None else HostSession(*row)

    def _list(self, condition: str, *parameters: Any) -> builtins.list[HostSession]:
        return [HostSession(*row) for row in self._db.rows(f"{SESSIONS} {condition}", parameters)]

    def note(
        self, host: str, name: str, event: str, *, theme: str | None = None, session: str | None = None, **said: Any
    ) -> HostSession:
        """Note an event of a host's session, which is new unless it was heard before.

        :param theme: the theme it belongs to, which exists
        :param session: the name of our session
        :param said: further columns: `folder`, `window_at`, `given_at` …; `heard_at` is now unless given
        """
        now = said.get("heard_at") or self._clock()
        columns: Mapping[str, Any] = {"heard_at": now, "heard_event": event, **said}
        unknown = columns.keys() - CHANGEABLE
        if unknown:
            raise ValueError(f"{sorted(unknown)[0]} is no column of a host's session")
        # A path may be bytes that are no text.
        values = [to_printable(value) if isinstance(value, str) else value for value in columns.values()]
        masked = to_masked_name(name)
        with self._db.write_transaction() as conn:
            conn.execute(
                "INSERT INTO host_sessions (host, name, started_at, heard_at, heard_event, window_at) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (host, masked, now, now, event, now),
            )
            sets = ", ".join(f"{column} = ?" for column in columns)
            conn.execute(f"UPDATE host_sessions SET {sets} WHERE host = ? AND name = ?", (*values, host, masked))
            theme_id = None if theme is None else self._names.theme_or_none(theme)
            if theme_id is not None:
                conn.execute(
                    "UPDATE host_sessions SET theme_id = ?1, session_id = coalesce("
                    "(SELECT id FROM sessions WHERE theme_id = ?1 AND name = ?2), session_id) WHERE host = ?3 AND name = ?4",
                    (theme_id, session, host, masked),
                )
        noted = self.find(host, name)
        assert noted is not None
        return noted

    def find_resume_command(self, turn: Turn) -> str | None:
        """Return what goes on with the session of a turn in its host, where its host's name of it is known.

        A backfill gives a session of ours the host's name.
        """
        host = find_client_host(turn.origin.client or "")
        form = load_host(host or "").get("resume")
        name = self._db.value(NAME_AT_HOST, (self._names.theme_or_none(turn.theme), turn.session, host))
        if name is not None:
            name = name.partition(" ")[0]  # an agent of the host's session may follow
        elif turn.origin.way is Way.HISTORY:
            name = turn.session
        return form.replace("ID", name) if form is not None and HOST_NAME.fullmatch(name or "") else None

    def newest_window(self, session: Session) -> Millis | None:
        """Return when the present window of a session of ours began; None where no hook told."""
        at = self._db.value(WINDOW, (self._names.theme_or_none(session.theme), session.name))
        return None if at is None else Millis(at)

    def begin_window(self, session: HostSession, *, at: int) -> None:
        """Note that a session's model has nothing of ours before it any more but what prompts gave since a time.

        :param at: UTC milliseconds
        """
        with self._db.write_transaction() as conn:
            conn.execute(
                "UPDATE host_sessions SET window_at = ?, window_prompts = 0, compacting_at = NULL, compacted_at = NULL"
                " WHERE id = ?",
                (at, session.id),
            )
            conn.execute(FORGET_WINDOW, (session.id, at))

    def note_given(self, session: HostSession, facts: Iterable[Fact]) -> None:
        """Note that these facts stand before a session's model now."""
        with self._db.write_transaction() as conn:
            conn.executemany(
                "INSERT OR REPLACE INTO host_given VALUES (?, ?, ?)",
                [(session.id, uids.parse_uid(fact.uid), fact.updated_at) for fact in facts],
            )

    def forget_given(self, session: HostSession, removed: Iterable[Uid]) -> None:
        """Note that a session's model knows of these facts that they do not hold any more."""
        with self._db.write_transaction() as conn:
            conn.executemany(
                "DELETE FROM host_given WHERE host_session_id = ? AND uid = ?",
                [(session.id, uids.parse_uid(uid)) for uid in removed],
            )

    def given_facts(self, session: HostSession) -> dict[Uid, Millis]:
        """Return the facts that a session's model has before it, and when each had been changed last."""
        rows = self._db.rows("SELECT uid, updated_at FROM host_given WHERE host_session_id = ?", (session.id,))
        return {uids.format_uid(uid): Millis(at) for uid, at in rows}

    def list_givings(
        self, session: HostSession, kinds: Collection[str]
    ) -> builtins.list[tuple[int, str, str, int, builtins.list[Uid]]]:
        """Return what a session was given of these kinds, oldest first: when, the kind, why, the tokens, and the facts."""
        rows = self._db.rows(GIVINGS, (session.id, json.dumps([*kinds])))
        return [(at, kind, why or "", tokens, json.loads(facts)) for at, kind, why, tokens, facts in rows]

    def facts_written(self, theme: str, sessions: Collection[str], since: int) -> builtins.list[Uid]:
        """Return the uids of the standing facts of a theme that these sessions wrote or changed since then."""
        rows = self._db.rows(FACTS_WRITTEN, (json.dumps([*sessions]), self._names.theme_or_none(theme), since))
        return [uids.format_uid(uid) for (uid,) in rows]

    def of_process(self, host: str, pid: int) -> builtins.list[HostSession]:
        """Return the sessions of one process of a host that have not ended, those heard last first."""
        condition = "h.host = ? AND h.pid = ? AND h.heard_event <> 'end' ORDER BY h.heard_at DESC LIMIT 20"
        return self._list(condition, host, pid)

    def list_readable(self, since: int, host: str | None = None) -> builtins.list[HostSession]:
        """Return the sessions with a transcript of which something may be read, those heard last first.

        :param since: sessions heard before are left out, UTC milliseconds
        """
        condition = (
            "h.heard_at >= ?1 AND (?2 IS NULL OR h.host = ?2)"
            " AND h.transcript IS NOT NULL AND h.transcript_offset >= 0 ORDER BY h.heard_at DESC LIMIT 200"
        )
        return self._list(condition, since, host)

    def list_running(self) -> builtins.list[HostSession]:
        """Return the sessions whose session of ours has not ended."""
        return self._list("n.status IN ('open', 'live', 'stale') ORDER BY h.heard_at DESC LIMIT 1000")

    def list(self, host: str | None = None, *, limit: int = 50) -> builtins.list[HostSession]:
        """Return sessions, those heard last first."""
        return self._list("?1 IS NULL OR h.host = ?1 ORDER BY h.heard_at DESC, h.id DESC LIMIT ?2", host, limit)

    def find_kept_names(self) -> set[str]:
        """Return the names, as hosts give them, of the sessions of which messages are here."""
        return {name for (name,) in self._db.rows(KEPT_NAMES)}

    def list_hosts(self) -> builtins.list[HostReport]:
        """Return what was heard of each host, the one heard last first."""
        return [
            HostReport(host, count, Millis(heard), given_count, latest)
            for host, count, heard, given_count in self._db.rows(HOSTS)
            for latest in self.list(host, limit=1)  # none when they were purged since
        ]


KEPT_NAMES = """
    SELECT name FROM sessions n WHERE EXISTS (SELECT 1 FROM turns WHERE session_id = n.id)
    UNION ALL SELECT name FROM host_sessions h WHERE EXISTS (SELECT 1 FROM turns WHERE session_id = h.session_id)
"""

SAME_MS = 2_000
"""Equal messages of a session this near together, of which no host's id says more, are one that a hook brought twice."""

DIGEST_BYTES = 16

DOUBLE = """
    SELECT 1 FROM host_turns
    WHERE host_session_id = ?1 AND role = ?2 AND heard = 1
      AND (digest IS ?3 OR digest IS NULL OR ?3 IS NULL)
      AND CASE WHEN ?4 <> '' AND turn <> '' THEN turn = ?4 ELSE abs(at - ?5) <= ?6 END
    LIMIT 1
"""

ADD_HOST_TURN = """
    INSERT INTO host_turns (host_session_id, role, digest, at, turn, heard, read) VALUES (?, ?, ?, ?, ?, ?, ?)
"""

UNMATCHED = """
    SELECT id FROM host_turns WHERE host_session_id = ? AND role = ? AND digest = ? AND {} = 0 ORDER BY id LIMIT 1
"""

ERASED = """
    SELECT id FROM host_turns
    WHERE host_session_id = ? AND role = ? AND digest IS NULL AND read = 0 AND abs(at - ?) <= ? ORDER BY id LIMIT 1
"""
"""A message that was erased, or was not to be kept, before the transcript showed it: it must not come back."""


class HostTurns:
    def __init__(self, db: Db) -> None:
        self._db = db

    def note_heard(self, session: HostSession, role: str, text: str | None, *, at: int, turn: str = "") -> int | None:
        """Note a message that a hook brought; return the key of its row if it is new, None if it is known. Within a write.

        :param text: None where nothing of it may be kept
        :param turn: the host's id of the turn
        """
        digest = None if text is None else digest_message(text)
        turn = to_masked_name(turn)
        with self._db.write_transaction() as conn:
            if conn.execute(DOUBLE, (session.id, role, digest, turn, at, SAME_MS)).fetchone():
                return None
            if digest is not None:
                row = conn.execute(UNMATCHED.format("heard"), (session.id, role, digest)).fetchone()
                if row is not None:
                    conn.execute("UPDATE host_turns SET heard = 1, turn = ?, at = ? WHERE id = ?", (turn, at, row[0]))
                    return None
            return conn.execute(ADD_HOST_TURN, (session.id, role, digest, at, turn, 1, 0)).lastrowid

    def note_read(self, session: HostSession, role: str, text: str, *, at: int) -> int | None:
        """Note a message that the transcript shows; return as `note_heard` does. Within a write."""
        digest = digest_message(text)
        with self._db.write_transaction() as conn:
            row = conn.execute(UNMATCHED.format("read"), (session.id, role, digest)).fetchone()
            row = row or conn.execute(ERASED, (session.id, role, at, SAME_MS)).fetchone()
            if row is not None:
                conn.execute("UPDATE host_turns SET read = 1 WHERE id = ?", (row[0],))
                return None
            return conn.execute(ADD_HOST_TURN, (session.id, role, digest, at, "", 0, 1)).lastrowid

    def is_known(self, session: HostSession, role: str, text: str, occurrence: int, *, at: int) -> bool:
        """Check whether a message of a transcript was heard or read. :param occurrence: of its words, from 1"""
        sql = "SELECT count(*) FROM host_turns WHERE host_session_id = ? AND role = ? AND digest = ?"
        heard = self._db.value(sql, (session.id, role, digest_message(text)))
        return heard >= occurrence or self.is_refused(session, role, at=at)

    def is_refused(self, session: HostSession, role: str, *, at: int) -> bool:
        """Check whether what was said at a moment was heard and not to be kept, or erased since."""
        sql = "SELECT 1 FROM host_turns WHERE host_session_id = ? AND role = ? AND digest IS NULL AND abs(at - ?) <= ?"
        return self._db.row(sql, (session.id, role, at, SAME_MS)) is not None

    def note_captured(self, key: int, turn: Uid) -> None:
        """Note under which uid a message was captured. Within a write. :param key: of its row"""
        with self._db.write_transaction() as conn:
            conn.execute("UPDATE host_turns SET turn_uid = ? WHERE id = ?", (uids.parse_uid(turn), key))


def digest_message(text: str) -> bytes:
    """Return the digest of a message, whatever its white space: a transcript breaks lines in other places than a hook."""
    return hashlib.blake2b(" ".join(text.split()).encode(errors="replace"), digest_size=DIGEST_BYTES).digest()
