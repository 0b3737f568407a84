"""The check that scores what agents write: with the words of its session that were captured, and what it wrote before.

A person's captured words carry an order, so that it does not wait. They count only where a program captured them: what a model
says through a tool that the user said proves nothing.
"""

from __future__ import annotations

from hermes_memory_store import uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.intake.intake import Submission
from hermes_memory_store.intake.scoring.score_check import RECENT_FACTS, find_scored_suspicion
from hermes_memory_store.model import Suspicion, Way

MOST_TURNS = 30
"""Newest captured turns of a session that are looked at."""

MOST_CHARS = 8_000
"""Characters of a turn that are looked at."""

NEWEST_FACTS = 60
"""Newest facts of a theme among which those of the session are looked for."""

SESSION_TURNS = f"""
    SELECT t.role, substr(t.content, 1, {MOST_CHARS}), o.way FROM turns t LEFT JOIN origins o ON o.id = t.origin_id
    WHERE t.session_id = (SELECT id FROM sessions WHERE uid = ?) ORDER BY t.id DESC LIMIT {MOST_TURNS}
"""

SESSION_FACTS = f"""
    SELECT f.target, f.content
    FROM (
      SELECT id, target, content, origin_id FROM facts
      WHERE id >= (SELECT id << {THEME_SHIFT} FROM themes WHERE name = ?1)
        AND id < (SELECT (id + 1) << {THEME_SHIFT} FROM themes WHERE name = ?1)
      ORDER BY id DESC LIMIT {NEWEST_FACTS}
    ) f
    JOIN origins o ON o.id = f.origin_id WHERE o.session = (SELECT name FROM sessions WHERE uid = ?2)
    ORDER BY f.id DESC LIMIT {RECENT_FACTS}
"""

DECLARED = frozenset({Way.TOOL.value, None})
"""Ways in by which a model may have said it: `None` is a turn of which nobody knows where it came from."""


class ScoredWrites:
    """Find why a write must wait for a person, beyond the rules."""

    def __init__(self, db: Db) -> None:
        self._db = db

    def __call__(self, submission: Submission) -> Suspicion | None:
        """Return why a write must wait; None when it need not."""
        turns: tuple[tuple[str, str, str | None], ...] = ()
        recent: tuple[tuple[str, str], ...] = ()
        if submission.session is not None:
            session = uids.parse_uid(submission.session)
            turns = tuple(self._db.rows(SESSION_TURNS, (session,)))
            recent = tuple(reversed(self._db.rows(SESSION_FACTS, (submission.theme, session))))
        return find_scored_suspicion(
            submission.target,
            submission.content,
            person_turns=[text for role, text, way in turns if role == "user" and way not in DECLARED],
            other_turns=[text for role, text, _ in turns if role != "user"],
            recent_facts=recent,
        )
