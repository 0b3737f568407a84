"""End whatever was opened with a token as soon as that token is rotated, revoked, changed or expired.

Calls do not depend on this: each one checks its token again on the way to the store, see `Connection.with_store`.
"""

from __future__ import annotations

import asyncio
import logging

from hermes_memory_bridge.access.http_sessions import HttpSessions
from hermes_memory_bridge.runtime.connection_registry import ConnectionRegistry
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_store.access.credentials import Credential
from hermes_memory_store.errors import StoreError

log = logging.getLogger(__name__)

LOOK_S = 0.2
"""Interval between checks of presented tokens: other processes rotate them without notice."""


class TokenWatch:
    """Monitor the tokens of all connections and HTTP sessions."""

    def __init__(self, worker: StoreWorker, agents: ConnectionRegistry, sessions: HttpSessions) -> None:
        self.worker = worker
        self.agents = agents
        self.sessions = sessions

    async def watch(self) -> None:
        """Close whatever has lost its token; run until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                ended = await self.ended_tokens()
            except StoreError as error:
                log.error("tokens could not be looked at: %s", error.message)
                continue
            await self.end(ended)

    async def ended_tokens(self) -> set[Credential]:
        shown = self.find_tokens_in_use()
        return shown - await self.worker.read(lambda store: store.credentials.current_among(shown)) if shown else set()

    def find_tokens_in_use(self) -> set[Credential]:
        of_connections = {
            connection.credential_shown
            for connection in self.agents.connections
            if connection.credential_shown is not None
        }
        of_sessions = {session.identity.credential_shown for session in self.sessions.open_sessions().values()}
        return of_connections | {token for token in of_sessions if token is not None}

    async def end(self, ended: set[Credential]) -> None:
        """End the connections, streams and sessions of these tokens."""
        for connection in list(self.agents.connections):
            if connection.credential_shown in ended:
                connection.revoke()
                connection.hang_up()
        for name, session in list(self.sessions.open_sessions().items()):
            if session.identity.credential_shown in ended:
                await self.sessions.end(name)
        for token in ended:
            log.info("what was opened with an old secret or old rights of token %r was ended", token.name)
