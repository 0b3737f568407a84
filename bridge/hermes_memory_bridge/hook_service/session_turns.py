"""The order of each session's events, and whether any of them is not recorded yet."""

from __future__ import annotations

import asyncio
from typing import Any

from hermes_memory_bridge.hook_service.giving import Giving

MOST_SESSIONS = 10_000
"""Sessions whose events take turns; those with nothing under way are forgotten first."""


class SessionTurn:
    """The order of one session's events."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        """Held while an event is answered, until it is known whether the answer arrived."""
        self.pending: list[Giving] = []
        """What was given and is not committed yet."""
        self.given_lines: set[str] = set()
        """What was told beside facts after tools, once a session."""
        self.acts: set[asyncio.Task[Any]] = set()
        """What tools did that is not kept yet."""
        self.record: asyncio.Task[Any] | None = None
        """The record of the last event; it follows those before it."""

    @property
    def is_busy(self) -> bool:
        """Check whether an event is being answered or recorded."""
        return self.lock.locked() or self.is_recording

    @property
    def is_recording(self) -> bool:
        return self.record is not None and not self.record.done()


class SessionTurns:
    """The turns of all sessions, by their host and name."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, str], SessionTurn] = {}

    def find(self, host: str, name: str) -> SessionTurn:
        """Return the turn of a session; a new one where nothing of it is under way."""
        if len(self._turns) > MOST_SESSIONS:
            self._turns = {key: turn_lock for key, turn_lock in self._turns.items() if turn_lock.is_busy}
        return self._turns.setdefault((host, name), SessionTurn())

    def is_busy(self, host: str, name: str) -> bool:
        """Check whether an event of a session was heard that is not recorded. Any thread may ask."""
        turn = self._turns.get((host, name))
        return turn is not None and turn.is_busy

    async def settle(self, host: str, name: str) -> None:
        """Wait until every event of a session that was heard is recorded."""
        turn = self._turns.get((host, name))
        while turn is not None and turn.is_busy:
            async with turn.lock:
                record = turn.record
            if record is not None:
                await asyncio.wait([record])
