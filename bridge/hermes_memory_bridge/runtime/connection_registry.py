"""The connected agents: admitted, and their sessions ended when they leave. `lease_keeper.py` keeps them alive."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_memory_bridge.runtime.lease_keeper import LeaseKeeper
from hermes_memory_bridge.runtime.peer_program import find_program, format_peer
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import Connection, LeaseTimes
from hermes_memory_bridge.tools import select_tools
from hermes_memory_store.access.credentials import Credential
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.errors import AmbiguousSession, ArgumentError, StoreError, UnknownSession
from hermes_memory_store.model import PERSON, RELIEF, Rights, Session
from hermes_memory_store.store import Store

log = logging.getLogger(__name__)

HOUR_S = 3600

MOST_OF_A_TOKEN = 64
"""Connections that one token may hold at a time, over any transport."""


class ConnectionRegistry:
    """Admit connections, and end their sessions when they leave."""

    def __init__(self, worker: StoreWorker, lease: LeaseTimes) -> None:
        self.worker = worker
        self.lease = lease
        self.connections: set[Connection] = set()
        worker.on_reopen = self._forget_sessions
        self.leases = LeaseKeeper(worker, lease, lambda: list(self.connections))
        self.find_host_session: Callable[[Store, Connection], Session | None] = lambda *_: None
        """Finds the session that hooks of a connection's host opened; set by who hears hooks."""
        self.last_departure = time.monotonic()
        """Monotonic time at which a persistent connection last ended; other clients are tracked by their requests."""

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
        uid: int | None = None,
        address: str | None = None,
        folder: str | None = None,
        counts: bool = True,
    ) -> Connection:
        """Admit a new connection.

        :param uid: the user at the other end, as the system tells
        :param address: the network address it calls from
        :param folder: the folder it says it works in
        :param counts: False for one of an HTTP session: how many of those a token may have is limited where they are opened
        :raises ArgumentError: it asks for unknown tools, or its token has too many connections
        """
        select_tools(tools or "core")
        if shown is not None and self._count_connections(shown) >= MOST_OF_A_TOKEN and counts:
            raise ArgumentError(
                f"the token {shown.name!r} holds {MOST_OF_A_TOKEN} sessions already; close some", shown.name
            )
        connection = Connection(
            self.worker.store,
            theme,
            rights=rights,
            later=self.worker.write_in_background,
            resume=resume,
            pid=pid,
            home=home,
            lease=self.lease,
            tools=tools,
            holds=holds,
        )
        connection.credential_shown = shown
        connection.transport = transport
        connection.folder = folder
        connection.counts = counts
        connection.peer = format_peer(uid=uid, pid=pid, address=address, token=connection.credential)
        connection.program = find_program(pid)
        connection.find_host_session = lambda store: self.find_host_session(store, connection)
        self.connections.add(connection)
        return connection

    def _count_connections(self, token: Credential) -> int:
        return sum(connection.counts and connection.credential == token.name for connection in self.connections)

    async def remove(self, connection: Connection, *, properly: bool) -> None:
        """Remove a connection.

        Unless it ended properly, its sessions go stale, and are orphaned when nobody resumes them in time.
        """
        self.connections.discard(connection)
        if connection.holds:
            self.last_departure = time.monotonic()
        sessions = connection.sessions()
        if sessions:
            await self.worker.write(lambda store: end_sessions(store, sessions, properly=properly))

    async def end(self, theme: str, name: str) -> str | None:
        """End a session on behalf of a person; return why not if it cannot be ended.

        Ends its connection too if the session is that connection's own. An agent that keeps calling reopens it where it
        left off.

        :param name: what `Sessions.find` takes
        """
        if not any(connection.theme == theme and connection.name == name for connection in self.connections):
            try:
                name = (await self.worker.read(lambda store: store.sessions.find(name, theme=theme))).name
            except (UnknownSession, AmbiguousSession) as error:
                return error.message
        session = await self.worker.read(lambda store: store.sessions.find_running(theme, name))
        holding = [
            connection
            for connection in self.connections
            if connection.theme == theme and (connection.name == name or connection.has_session(name))
        ]
        own = [connection for connection in holding if connection.name == name]
        if session is None and not own:
            return f"session {name[:80]} of theme {theme[:80]} has ended already"
        for connection in holding:
            connection.remove_session(name)
        if session is not None:
            await self.worker.write(lambda store: store.sessions.close(session, actor=PERSON))
        for connection in own:
            connection.release_named_sessions()
            connection.hang_up()
        return None

    async def remove_all(self) -> None:
        """End every session properly when the bridge stops. Where the store takes no writes any more, their leases end them."""
        leaving, self.connections = self.connections, set()
        sessions = [session for connection in leaving for session in connection.sessions()]
        if sessions:
            await self._write_despite_errors(lambda store: end_sessions(store, sessions, properly=True))

    def _forget_sessions(self) -> None:
        """Have every connection open its session anew with its next call."""
        for connection in list(self.connections):
            connection.forget_sessions()

    async def purge_hourly(self) -> None:
        """Erase purged facts, messages past their theme's retention, and old results; hourly until cancelled.

        What is erased does not come back, so a clock that was set an hour or more ahead must first hold for an hour.
        """
        ahead_s = self._clock_ahead_s()
        while True:
            before_s, ahead_s = ahead_s, self._clock_ahead_s()
            if ahead_s - before_s < HOUR_S:
                await self._write_despite_errors(purge_expired_data, alone=True)  # it empties the write-ahead log
            else:
                log.warning("the clock was set ahead by %.0f s; nothing is erased for an hour", ahead_s - before_s)
            await asyncio.sleep(HOUR_S)

    def _clock_ahead_s(self) -> float:
        """Return by how much the clock is ahead of monotonic time: the same number, as long as nobody sets it."""
        return self.worker.store.clock() / 1000 - time.monotonic()

    async def _write_despite_errors(self, job: Callable[[Store], Any], *, alone: bool = False) -> None:
        """Run a maintenance write; log an error instead of ending, since the disk may be full only for a while."""
        try:
            await self.worker.write(job, alone=alone)
        except StoreError as error:
            log.error("housekeeping failed, and is tried again: %s", error.message)


def end_sessions(store: Store, sessions: list[Session], *, properly: bool) -> None:
    for session in sessions:
        if properly:
            store.sessions.close(session)
        else:
            store.sessions.mark_lost(session)


def purge_expired_data(store: Store) -> None:
    """Erase permanently what was purged, and the messages, whose theme's retention is over."""
    for theme in store.names.all_themes():
        policy = store.policies.for_theme(theme)
        store.purge.erase_soft_deleted(theme, policy.retention_days * DAY_MS)
        expiring = {"heard": policy.turn_days} if policy.turn_days else {"hooks": policy.hook_turn_days}
        for brought_by, days in {**expiring, "history": policy.history_days}.items():
            if days:
                old = days * DAY_MS
                store.turns.erase(theme, older_than_ms=old, actor=RELIEF, everywhere=False, brought_by=brought_by)
    store.turns.scrub()  # what somebody erased who was cut off
    for copy in store.sync.mask_stored():
        log.warning("secrets that came from the team may stand in clear in %s, which could not be reached", copy)
    store.idempotency_keys.delete_expired()
