"""Which messages of a host's session were captured, so that each is kept once, however often and late it arrives.

A message comes from a hook, from the transcript, or from both in either order; a hook may run twice at once, two hosts may
read one file, and what waited on disk comes last. Each occurrence is a row: whether a hook brought it, whether the transcript
showed it. The n-th occurrence in the transcript is the n-th that hooks brought.
"""

from __future__ import annotations

import hashlib

from hermes_memory_store import uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.hosts.host_sessions import HostSession
from hermes_memory_store.intake.intake import to_masked_name
from hermes_memory_store.model import Uid

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

    def note_captured(self, key: int, turn: Uid) -> None:
        """Note under which uid a message was captured. Within a write. :param key: of its row"""
        with self._db.write_transaction() as conn:
            conn.execute("UPDATE host_turns SET turn_uid = ? WHERE id = ?", (uids.parse_uid(turn), key))


def digest_message(text: str) -> bytes:
    """Return the digest of a message, whatever its white space: a transcript breaks lines in other places than a hook."""
    return hashlib.blake2b(" ".join(text.split()).encode(errors="replace"), digest_size=DIGEST_BYTES).digest()
