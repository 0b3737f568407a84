"""Calls that may come twice: what each was answered, under the key that its caller gave it.

The answer is kept in the transaction that did the work, so a retry finds either both or neither.
"""

from __future__ import annotations

from hermes_memory_store.clock import Clock
from hermes_memory_store.db import Db

KEPT_MS = 86_400_000
"""How long an answer is kept for a retry, in milliseconds."""


class Calls:
    """Answers by idempotency key."""

    def __init__(self, db: Db, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    def answer(self, theme: str, key: str) -> str | None:
        """What a call of this theme with this key was answered, None when it never was made."""
        row = self._db.row("SELECT answer FROM calls WHERE key = ?", (f"{theme}/{key}",))
        return None if row is None else str(row[0])

    def keep(self, theme: str, key: str, answer: str) -> None:
        """Keep an answer, in the running transaction when there is one."""
        with self._db.writing() as conn:
            conn.execute("INSERT INTO calls VALUES (?, ?, ?)", (f"{theme}/{key}", self._clock(), answer))

    def forget_old(self) -> None:
        """Drop the answers that nobody will ask for again."""
        with self._db.writing() as conn:
            conn.execute("DELETE FROM calls WHERE at < ?", (self._clock() - KEPT_MS,))
