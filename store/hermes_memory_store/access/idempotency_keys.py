"""Idempotency keys: the answer to each call that may be repeated, under the key its caller gave it.

The answer is saved in the transaction that did the work, so a retry finds either both or neither.
"""

from __future__ import annotations

import hashlib

from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.items.name_keys import to_theme_name

KEPT_MS = 86_400_000
"""How long an answer is kept for a retry, in milliseconds."""


class IdempotencyKeys:
    def __init__(self, db: Db, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    def find_answer(self, theme: str, key: str) -> str | None:
        """Return the answer to this theme's call with this key, None when there was no such call."""
        named = f"{to_theme_name(theme)}/{key}"  # as versions before this one saved it, a day long
        row = self._db.row("SELECT answer FROM calls WHERE key IN (?, ?)", (to_call_key(theme, key), named))
        return None if row is None else str(row[0])

    def save_answer(self, theme: str, key: str, answer: str) -> None:
        """Save an answer, in the running transaction when there is one."""
        with self._db.write_transaction() as conn:
            conn.execute("INSERT INTO calls VALUES (?, ?, ?)", (to_call_key(theme, key), self._clock(), answer))

    def delete_expired(self) -> None:
        with self._db.write_transaction() as conn:
            conn.execute("DELETE FROM calls WHERE at < ?", (self._clock() - KEPT_MS,))


def to_call_key(theme: str, key: str) -> str:
    """Return what the store keeps of a call's key: its caller may have put anything into it."""
    return hashlib.sha256(f"{to_theme_name(theme)}/{key}".encode(errors="replace")).hexdigest()
