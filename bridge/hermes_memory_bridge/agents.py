"""The agents that are connected now: their sessions are kept alive while they are here, and ended when they are not."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_memory_bridge.access.http_sessions import MOST_OF_A_TOKEN
from hermes_memory_bridge.connection import Connection, Lease
from hermes_memory_bridge.hub import Hub
from hermes_memory_bridge.tools import chosen
from hermes_memory_bridge.trust import Trust
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.credentials import Credential
from hermes_memory_store.errors import ArgumentError, StoreError, UnknownSession
from hermes_memory_store.model import PERSON, RELIEF, Rights, Session
from hermes_memory_store.store import Store

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""How often to look for lapsed leases: within half of the shortest lease, which is 2 s."""

HOUR_S = 3600


class Agents:
    """Admits connections, renews their leases, and sweeps up what dead ones left."""

    def __init__(self, hub: Hub, lease: Lease, trust: Trust | None = None) -> None:
        self.hub = hub
        self.lease = lease
        self.trust = trust
        self.here: set[Connection] = set()
        self.left = time.monotonic()
        """When a lasting connection last ended; clients without one are told by their requests."""

    def admit(
        self,
        theme: str,
        *,
        rights: Rights = Rights(),
        tools: str | None = None,
        resume: str | None = None,
        pid: int | None = None,
        home: Path | None = None,
        holds: bool = True,
        shown: Credential | None = None,
        transport: str = "",
    ) -> Connection:
        """A new connection. :raises ArgumentError: it asks for tools that are none, or its token holds too many already"""
        chosen(tools or "core")
        if shown is not None and sum(one.credential == shown.name for one in self.here) >= MOST_OF_A_TOKEN:
            raise ArgumentError(
                f"the token {shown.name!r} holds {MOST_OF_A_TOKEN} sessions already; close some", shown.name
            )
        connection = Connection(
            self.hub.store,
            theme,
            rights=rights,
            trust=self.trust,
            later=self.hub.later,
            resume=resume,
            pid=pid,
            home=home,
            lease=self.lease,
            tools=tools,
            holds=holds,
        )
        connection.shown = shown
        connection.transport = transport
        self.here.add(connection)
        return connection

    async def part(self, connection: Connection, *, properly: bool) -> None:
        """A connection is gone. Without a word its sessions are stale, and orphaned when nobody resumes them in time."""
        self.here.discard(connection)
        if connection.holds:
            self.left = time.monotonic()
        held = connection.sessions()
        if held:
            await self.hub.write(lambda store: ended(store, held, properly=properly))

    async def end(self, theme: str, name: str) -> str | None:
        """End a session as a person does, and its connection when it is that one's own; why not, when it cannot be.

        An agent that goes on calling opens it again where it was left.
        """
        session = await self.hub.read(lambda store: store.sessions.running(theme, name))
        holding = [one for one in self.here if one.theme == theme and (one.name == name or one.knows(name))]
        own = [one for one in holding if one.name == name]
        if session is None and not own:
            try:
                await self.hub.read(lambda store: store.sessions.get(theme, name))
            except UnknownSession as error:
                return error.message
            return f"session {name[:80]} of theme {theme[:80]} has ended already"
        for connection in holding:
            connection.forget(name)
        if session is not None:
            await self.hub.write(lambda store: store.sessions.close(session, actor=PERSON))
        for connection in own:
            connection.leave_to_leases()
            connection.hang_up()
        return None

    async def part_all(self) -> None:
        """The bridge stops: end every session properly."""
        leaving, self.here = self.here, set()
        held = [session for connection in leaving for session in connection.sessions()]
        if held:
            await self.hub.write(lambda store: ended(store, held, properly=True))

    async def keep_alive(self) -> None:
        """Renew the leases of whoever is here, one write for all of them; for ever."""
        while True:
            await asyncio.sleep(self.lease.heartbeat_ms / 1000)
            since = time.monotonic() - self.lease.heartbeat_ms / 1000
            held = [session for connection in self.here for session in connection.alive(since)]
            if held:
                await self._quietly(renewal(held))

    async def watch_over(self) -> None:
        """Find sessions whose lease lapsed, whichever process they belonged to; for ever."""
        while True:
            await asyncio.sleep(min(LOOK_S, self.lease.lease_ms / 4000))
            try:
                lapsed = await self.hub.read(lambda store: store.sessions.any_lapsed())
            except StoreError as error:
                log.error("leases could not be looked at: %s", error.message)
                continue
            if lapsed:
                await self._quietly(lambda store: store.sessions.sweep())

    async def clean_up(self) -> None:
        """Erase what agents purged and nobody brought back in time, messages their theme keeps no longer, and old answers; each
        hour, for ever."""
        while True:
            await self._quietly(erase_overdue, alone=True)  # it empties the write-ahead log
            await asyncio.sleep(HOUR_S)

    async def _quietly(self, job: Callable[[Store], Any], *, alone: bool = False) -> None:
        """Housekeeping must not end because the disk was full for a while."""
        try:
            await self.hub.write(job, alone=alone)
        except StoreError as error:
            log.error("housekeeping failed, and is tried again: %s", error.message)


def renewal(sessions: list[Session]) -> Callable[[Store], None]:
    """Renew these leases."""
    return lambda store: store.sessions.renew(sessions)


def ended(store: Store, sessions: list[Session], *, properly: bool) -> None:
    """End sessions, or mark them as lost."""
    for session in sessions:
        if properly:
            store.sessions.close(session)
        else:
            store.sessions.lost(session)


def erase_overdue(store: Store) -> None:
    """Erase for good what was purged, and what was said, longer ago than its theme keeps it."""
    for theme in store.names.all_themes():
        policy = store.policies.for_theme(theme)
        store.purge.erase_held(theme, policy.retention_days * DAY_MS)
        if policy.turn_days:
            store.turns.erase(theme, older_than_ms=policy.turn_days * DAY_MS, actor=RELIEF, everywhere=False)
    store.turns.scrub()  # what somebody erased who was cut off
    store.calls.forget_old()
