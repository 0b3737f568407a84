"""The leases of agents: renewed for those that are alive, and ended for those that are not.

Over the line socket, alive means that the agent answered a ping lately; over HTTP, that it made a call. How long ago
that was is measured in monotonic time, which no change of the clock touches. The store keeps UTC, because other
programs read it: when the clock was set or the machine slept, the leases in the store are moved by as much, and
everybody is asked before anybody is judged.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import Connection, LeaseTimes
from hermes_memory_store.clock import Clock
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Millis, Session
from hermes_memory_store.store import Store

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Longest interval between two looks."""

JUMP_S = 1.0
"""Difference between the clock and monotonic time from which on the clock counts as set: half of the shortest lease."""


class LeaseKeeper:
    def __init__(
        self,
        worker: StoreWorker,
        lease: LeaseTimes,
        connections: Callable[[], Iterable[Connection]],
        *,
        monotonic: Callable[[], float] = time.monotonic,
        clock: Clock | None = None,
    ) -> None:
        lease_s = lease.lease_ms / 1000
        self.worker = worker
        self.connections = connections
        self.monotonic = monotonic
        self.clock = clock or worker.store.clock
        self.heartbeat_s = lease.heartbeat_ms / 1000
        # A silent agent is stale after 5/12 of its lease and one look, which is less than half.
        self.look_s = min(LOOK_S, lease_s / 12)
        self.ask_after_s = lease_s / 6
        self.silent_after_s = lease_s * 5 / 12
        self.settle_s = lease_s / 4
        """How long everybody has to answer after a jump, and to connect after the start of a bridge."""
        self.jump_s = min(JUMP_S, lease_s / 4)
        self._looked = self.monotonic()
        self._looked_at = self.clock()
        self._judge_from = self._looked + self.settle_s
        self._renewed: dict[str, float] = {}
        """Monotonic time at which each lease was renewed, by the uid of its session."""

    async def keep(self) -> None:
        """Look at the leases at intervals; run until cancelled."""
        await self._write_despite_errors(to_lease_shift(0))  # the clock may have been set back while no bridge ran
        while True:
            await asyncio.sleep(self.look_s)
            await self.look()

    async def look(self) -> None:
        """Ask who has been quiet, renew the leases of those who are alive, and judge those who are not."""
        now, at = self.monotonic(), self.clock()
        if not await self._notice_jump(now, at):
            return
        lost = self._find_silent(now)
        since = now - self.heartbeat_s
        sessions = [session for connection in self.connections() for session in connection.alive(since)]
        if any(self._renewed.get(session.uid, since) <= since for session in sessions):
            # All at once, though only some are due: then they stay due together, and cost one commit.
            if not await self._write_despite_errors(lambda store: store.sessions.renew(sessions)):
                return  # who could not be renewed must not be judged
            self._renewed = dict.fromkeys((session.uid for session in sessions), now)
        if lost:
            await self._write_despite_errors(to_loss_mark(lost))
        if now >= self._judge_from:
            await self._sweep(at)

    async def _notice_jump(self, now: float, at: Millis) -> bool:
        """Notice that the clock was set, or that the machine or this process was stopped; return whether leases are right."""
        passed_s = now - self._looked
        ahead_s = (at - self._looked_at) / 1000 - min(passed_s, self.look_s)
        stalled_s = passed_s - self.look_s
        if abs(ahead_s) > self.jump_s or stalled_s > self.jump_s:
            log.info("the clock moved by %.1f s more than expected; every agent is asked", ahead_s)
            self._judge_from = max(self._judge_from, now + min(self.settle_s, max(abs(ahead_s), stalled_s)))
            for connection in self.connections():
                if connection.ask is not None:
                    connection.heard_at = now
                    connection.ask()
            if not await self._write_despite_errors(to_lease_shift(round(ahead_s * 1000))):
                return False  # tried again at the next look, with the whole difference
        self._looked, self._looked_at = now, at
        return True

    def _find_silent(self, now: float) -> list[Session]:
        """Ask the quiet ones; return the sessions of those that became silent."""
        lost: list[Session] = []
        for connection in self.connections():
            if connection.ask is None:
                continue
            quiet_s = now - connection.heard_at
            if quiet_s >= self.ask_after_s:
                connection.ask()
            is_silent = quiet_s > self.silent_after_s
            if is_silent and not connection.is_silent and now >= self._judge_from:
                connection.is_silent = True
                lost += connection.sessions()
                for session in lost:
                    self._renewed.pop(session.uid, None)  # renewed at once when it speaks again
            elif not is_silent:
                connection.is_silent = False
        return lost

    async def _sweep(self, at: int) -> None:
        """Judge every session whose lease has lapsed, whichever process it belongs to, by the time of this look."""
        try:
            lapsed = await self.worker.read(lambda store: store.sessions.has_lapsed(at))
        except StoreError as error:
            log.error("leases could not be looked at: %s", error.message)
            return
        if lapsed:
            await self._write_despite_errors(lambda store: store.sessions.sweep(at))

    async def _write_despite_errors(self, job: Callable[[Store], Any]) -> bool:
        """Run a write; log an error instead of ending, since the disk may be full only for a while."""
        try:
            await self.worker.write(job)
        except StoreError as error:
            log.error("leases could not be written, which is tried again: %s", error.message)
            return False
        return True


def to_lease_shift(by_ms: int) -> Callable[[Store], None]:
    return lambda store: store.sessions.shift_leases(by_ms)


def to_loss_mark(sessions: list[Session]) -> Callable[[Store], None]:
    def mark(store: Store) -> None:
        for session in sessions:
            store.sessions.mark_lost(session)

    return mark
