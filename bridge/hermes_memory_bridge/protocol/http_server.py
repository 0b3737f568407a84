"""MCP over Streamable HTTP, on a private unix socket and, if enabled, on the loopback interface.

A legacy session is one connection until it ends. Since 2026-07-28 HTTP has no sessions: there the calls of one
client under one identity form one connection, for as long as they keep coming.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import mcp.types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from hermes_memory_bridge.access.http_refusal import Asgi, Receive, Scope, Send
from hermes_memory_bridge.access.http_sessions import MOST_SESSIONS
from hermes_memory_bridge.access.peer_connections import PeerConnections
from hermes_memory_bridge.access.rate_limits import ClientLimits
from hermes_memory_bridge.access.request_identity import Identity
from hermes_memory_bridge.protocol import sdk_internals
from hermes_memory_bridge.protocol.descriptors import ACCEPT_BURST, BACKLOG
from hermes_memory_bridge.protocol.http_protocol import to_protocol_factory
from hermes_memory_bridge.runtime.connection_registry import ConnectionRegistry
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.declared_folder import parse_folder_header
from hermes_memory_store.errors import StoreError

log = logging.getLogger(__name__)

IDLE_S = 1800.0
"""A legacy session that says nothing this long is forgotten. Long, because many clients never open another one."""

FOLDER_HEADER = "x-hermes-folder"
"""Names the folder a client works in, as UTF-8 with percent signs."""

STOP_S = 2
"""How long streams may take to end when the bridge stops."""

Key = tuple[str, Identity, str]


class HttpFront:
    """The connections made over HTTP."""

    def __init__(self, agents: ConnectionRegistry) -> None:
        self.agents = agents
        self.known: dict[Key, Connection] = {}
        self.requests = 0
        """Requests and streams under way."""
        self.last_departure = time.monotonic()
        """When the last of them ended."""

    def count_requests(self, app: Asgi) -> Asgi:
        """Wrap an application to count its requests while they run."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            self.requests += 1
            try:
                await app(scope, receive, send)
            finally:
                self.requests -= 1
                self.last_departure = time.monotonic()

        return serve

    def in_use(self) -> bool:
        """Check whether a client has a request, a stream, or a legacy session, which many clients never open again."""
        return self.requests > 0 or any(session for session, _, _ in self.known)

    def find_request_connection(self, context: ServerRequestContext[Any, Any]) -> Connection:
        """Return the connection a request belongs to, admitted with its first request."""
        identity: Identity = context.request.scope["state"]["identity"]  # type: ignore[union-attr]
        tools = context.request.headers.get("x-hermes-tools") or None  # type: ignore[union-attr]
        folder = parse_folder_header(context.request.headers.get(FOLDER_HEADER))  # type: ignore[union-attr]
        session = context.request.headers.get("mcp-session-id")  # type: ignore[union-attr]
        if sdk_internals.has_no_session(context):
            client = context.session.client_params
            name = client.client_info.name if client and client.client_info else ""
            key = ("", identity, f"{name} {tools or ''} {folder or ''}")
        else:
            key = (session or str(context.session._connection.session_id), identity, "")
        connection = self.known.get(key)
        if connection is None:
            try:
                connection = self.agents.admit(
                    identity.theme,
                    rights=identity.rights,
                    tools=tools,
                    pid=identity.pid,
                    holds=False,
                    shown=identity.credential_shown,
                    transport="http" if is_local_client(context) else "tcp",
                    uid=os.getuid() if is_local_client(context) else None,  # others are turned away: see `PeerProtocol`
                    address=None if is_local_client(context) else find_client_address(context),
                    folder=folder,
                    counts=key[0] == "",
                )
            except StoreError as error:
                raise MCPError(code=types.INVALID_REQUEST, message=error.message, data={"code": error.code}) from error
            connection.is_placed = identity.is_placed
            self.known[key] = connection
            connection.hang_up = lambda: self.forget_session(key)
            if key[0]:
                sdk_internals.on_request_close(context, lambda: self.forget_session(key))
        connection.last_activity = time.monotonic()
        return connection

    def forget_session(self, key: Key) -> None:
        connection = self.known.pop(key, None)
        if connection is not None:
            connection.end_streams()
            self.agents.worker.run_in_background(self.agents.remove(connection, properly=True))

    def close(self) -> None:
        """Close all connections when the bridge stops.

        Sessions that clients without a connection opened by name are left open: they will continue at the next bridge.
        """
        for key, connection in self.known.items():
            if not key[0]:
                connection.release_named_sessions()

    async def forget_quiet(self) -> None:
        """Remove clients without a session that have been silent for as long as a lease; run until cancelled.

        Sessions they opened by name have leases of their own, which determine when those are dead.
        """
        lease_s = self.agents.lease.lease_ms / 1000
        while True:
            await asyncio.sleep(lease_s)
            before = time.monotonic() - lease_s
            for key, connection in list(self.known.items()):
                if not key[0] and not connection.streams and connection.last_activity < before:
                    connection.release_named_sessions()
                    self.forget_session(key)


def is_local_client(context: ServerRequestContext[Any, Any]) -> bool:
    """Check whether a request came over the unix socket, see `PeerProtocol`."""
    client = context.request.client  # type: ignore[union-attr]
    return client is not None and client.host == "unix"


def find_client_address(context: ServerRequestContext[Any, Any]) -> str | None:
    """Return the network address a request came from; its port changes with every connection."""
    client = context.request.client  # type: ignore[union-attr]
    return None if client is None else str(client.host)


def build_http_app(server: Server[Any], guard: Callable[[Asgi], Asgi]) -> Asgi:
    """Build the ASGI application. `guard` checks Host and Origin and sets the identity of each request."""
    app = server.streamable_http_app(
        session_idle_timeout=IDLE_S,
        max_sessions=MOST_SESSIONS,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return guard(app)


class HttpServer(uvicorn.Server):
    """A uvicorn server that leaves the signals to the daemon: uvicorn would raise them again after its own end."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, with a kernel backlog independent of the number of accepted connections."""
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(BACKLOG)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def build_http_server(app: Asgi, connections: PeerConnections, limits: ClientLimits) -> HttpServer:
    """Build a server for `app`; pass it its sockets with `serve(sockets=…)`."""
    config = uvicorn.Config(
        app,
        http=to_protocol_factory(
            connections, limits
        ),  # of h11, not httptools: it keeps the spaces around header values, which the protocol forbids
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=ACCEPT_BURST,
        limit_concurrency=None,
        timeout_graceful_shutdown=STOP_S,
    )
    return HttpServer(config)
