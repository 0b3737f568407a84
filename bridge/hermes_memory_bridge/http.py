"""MCP over Streamable HTTP, on a private unix socket and, when asked, on the loopback interface.

A legacy session is one connection until it ends. Since 2026-07-28 HTTP has no sessions: there the calls of one client
under one identity are one connection, for as long as they keep coming.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import mcp.types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from hermes_memory_bridge import sdk
from hermes_memory_bridge.access.gate import Limits
from hermes_memory_bridge.access.http_sessions import MOST_SESSIONS
from hermes_memory_bridge.access.identity import Identity
from hermes_memory_bridge.access.peer_connections import PeerConnections
from hermes_memory_bridge.access.refusal import Asgi, Receive, Scope, Send
from hermes_memory_bridge.agents import Agents
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.descriptors import ACCEPT_BURST
from hermes_memory_bridge.http_protocol import protocol_for
from hermes_memory_store.errors import StoreError

log = logging.getLogger(__name__)

IDLE_S = 1800.0
"""A legacy session that says nothing this long is forgotten. Long, because many clients never open another one."""

BACKLOG = 1024
"""Connections that may wait in the kernel to be accepted."""

STOP_S = 2
"""How long streams may take to end when the bridge stops."""

Key = tuple[str, Identity, str]


class HttpFront:
    """The connections that come over HTTP."""

    def __init__(self, agents: Agents) -> None:
        self.agents = agents
        self.known: dict[Key, Connection] = {}
        self.requests = 0
        """Requests and streams under way."""
        self.left = time.monotonic()
        """When the last of them ended."""

    def counted(self, app: Asgi) -> Asgi:
        """The same application, its requests counted for as long as they take."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            self.requests += 1
            try:
                await app(scope, receive, send)
            finally:
                self.requests -= 1
                self.left = time.monotonic()

        return serve

    def in_use(self) -> bool:
        """Whether somebody asks, listens, or has a legacy session, which many clients never open again."""
        return self.requests > 0 or any(session for session, _, _ in self.known)

    def whose(self, context: ServerRequestContext[Any, Any]) -> Connection:
        """The connection a request belongs to, admitted with its first request."""
        identity: Identity = context.request.scope["state"]["identity"]  # type: ignore[union-attr]
        tools = context.request.headers.get("x-hermes-tools") or None  # type: ignore[union-attr]
        session = context.request.headers.get("mcp-session-id")  # type: ignore[union-attr]
        if sdk.has_no_session(context):
            client = context.session.client_params
            key = ("", identity, client.client_info.name if client and client.client_info else "")
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
                    shown=identity.shown,
                    transport="http" if client_is_local(context) else "tcp",
                )
            except StoreError as error:
                raise MCPError(code=types.INVALID_REQUEST, message=error.message, data={"code": error.code}) from error
            self.known[key] = connection
            connection.hang_up = lambda: self.gone(key)
            if key[0]:
                sdk.on_close(context, lambda: self.gone(key))
        connection.seen = time.monotonic()
        return connection

    def gone(self, key: Key) -> None:
        """A session has ended."""
        connection = self.known.pop(key, None)
        if connection is not None:
            connection.end_streams()
            self.agents.hub.in_background(self.agents.part(connection, properly=True))

    def close(self) -> None:
        """The bridge stops. What clients without a session opened by name, they will go on with at the next one."""
        for key, connection in self.known.items():
            if not key[0]:
                connection.leave_to_leases()

    async def forget_quiet(self) -> None:
        """Let clients without a session go when nothing has come from them for as long as a lease; for ever.

        What they opened by name has leases of its own, and whether it is dead is for those to say.
        """
        lease_s = self.agents.lease.lease_ms / 1000
        while True:
            await asyncio.sleep(lease_s)
            before = time.monotonic() - lease_s
            for key, connection in list(self.known.items()):
                if not key[0] and not connection.streams and connection.seen < before:
                    connection.leave_to_leases()
                    self.gone(key)


def client_is_local(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether a request came over the unix socket, see `PeerProtocol`."""
    client = context.request.client  # type: ignore[union-attr]
    return client is not None and client.host == "unix"


def http_app(server: Server[Any], guard: Callable[[Asgi], Asgi]) -> Asgi:
    """The ASGI application. Host and Origin are checked by `guard`, which also says who a request comes from."""
    app = server.streamable_http_app(
        session_idle_timeout=IDLE_S,
        max_sessions=MOST_SESSIONS,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return guard(app)


class HttpServer(uvicorn.Server):
    """uvicorn, with the signals left to the daemon: it would raise them again after its own end."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen. How many connections may queue in the kernel is another number than how many are accepted at a time."""
        await super().startup(sockets)
        for one in sockets or []:
            one.listen(BACKLOG)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def http_server(app: Asgi, connections: PeerConnections, limits: Limits) -> HttpServer:
    """A server for `app`; give it its sockets with `serve(sockets=…)`."""
    config = uvicorn.Config(
        app,
        http=protocol_for(
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


def tcp_socket(port: int) -> socket.socket:
    """A socket on the loopback interface. :raises OSError: the port is taken"""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.setblocking(False)
    return made
