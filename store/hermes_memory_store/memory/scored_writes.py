"""What an agent's write is scored with: the words of its session that were captured, and what it wrote before.

A person's words carry an order, so that it does not wait, only where a program captured them.
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_store import uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.hosts.host_data import find_client_host
from hermes_memory_store.intake.detectors.pieces import RECENT_FACTS
from hermes_memory_store.intake.origins import SessionDigests, SessionWords, WordDigests
from hermes_memory_store.model import Uid, Way

MOST_TURNS = 30
"""Newest captured turns of a session that are looked at."""

MOST_CHARS = 8_000
"""Characters of a turn that are looked at."""

NEWEST_FACTS = 60
"""Newest facts of a theme among which those of the session are looked for."""

SESSION_TURNS = f"""
    SELECT t.role, substr(t.content, 1, {MOST_CHARS}), o.way FROM turns t LEFT JOIN origins o ON o.id = t.origin_id
    WHERE t.id IN (
        SELECT id FROM turns WHERE session_id = (SELECT id FROM sessions WHERE uid = ?) ORDER BY id DESC LIMIT {MOST_TURNS})
      OR t.uid IN ({{}}) ORDER BY t.id DESC
"""

SESSION_FACTS = f"""
    SELECT f.target, f.content FROM facts f CROSS JOIN origins o ON o.id = f.origin_id
    WHERE f.id >= (
        SELECT min(id) FROM (
          SELECT id FROM facts
          WHERE id >= (SELECT id << {THEME_SHIFT} FROM themes WHERE name = ?1)
            AND id < (SELECT (id + 1) << {THEME_SHIFT} FROM themes WHERE name = ?1)
          ORDER BY id DESC LIMIT {NEWEST_FACTS}))
      AND f.id < (SELECT (id + 1) << {THEME_SHIFT} FROM themes WHERE name = ?1)
      AND o.session = (SELECT name FROM sessions WHERE uid = ?2)
    ORDER BY f.id DESC LIMIT {RECENT_FACTS}
"""

HOST_SESSIONS = """
    SELECT h.host, h.name, n.client, t.name FROM sessions n JOIN themes t ON t.id = n.theme_id
    LEFT JOIN host_sessions h ON h.session_id = n.id WHERE n.uid = ?
"""

DECLARED = frozenset({Way.TOOL.value, None})
"""Ways in by which a model may have said it: `None` is a turn of which nobody knows where it came from."""


class ScoredWrites:
    """Load what was said in a session, with which an agent's write is scored."""

    def __init__(self, db: Db) -> None:
        self._db = db
        self.digests = WordDigests()
        """What hooks heard in sessions of hosts, where they are heard by this process."""

    def load_words(self, theme: str, session: str | None = None, named: Sequence[Uid] = ()) -> SessionWords:
        """Return what was said in a session, by its uid, and in named turns; nothing where there is no session."""
        if session is None:
            return SessionWords()
        key = uids.parse_uid(session)
        keys = [key, *map(uids.parse_uid, named)]
        turns: list[tuple[str, str, str | None]] = self._db.rows(
            SESSION_TURNS.format(", ".join("?" * len(named))), keys
        )
        return SessionWords(
            person_turns=[text for role, text, way in turns if role == "user" and way not in DECLARED],
            other_turns=[text for role, text, _ in turns if role == "tool"],
            recent_facts=self._db.rows(SESSION_FACTS, (theme, key))[::-1],
            digests=self._find_digests(key) if self.digests else (),
        )

    def _find_digests(self, session: bytes) -> Sequence[SessionDigests]:
        """Return what was heard in the host's session that is this one; where that is not certain, in those of its host."""
        rows = self._db.rows(HOST_SESSIONS, (session,))
        keys = {(host, name.partition(" ")[0]) for host, name, _, _ in rows if name}
        return [
            digests
            for _, _, client, theme in rows[:1]
            for digests in self.digests.find(keys, theme, find_client_host(client or ""))
        ]
