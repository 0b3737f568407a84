"""All that speaks MCP through the SDK: the server, its notices, HTTP, and the lines that the fast path leaves.

Imported once the bridge listens: the SDK takes longer than all else of a start, and no first call needs it.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import anyio
import mcp.types as types
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.lowlevel import NotificationOptions
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage

from hermes_memory_bridge.access.gate import Gate
from hermes_memory_bridge.access.http_refusal import Asgi
from hermes_memory_bridge.access.http_sessions import HttpSessions
from hermes_memory_bridge.access.peer_connections import PeerConnections
from hermes_memory_bridge.access.rate_limits import ClientLimits
from hermes_memory_bridge.access.token_watch import TokenWatch
from hermes_memory_bridge.protocol import framing, sdk_internals
from hermes_memory_bridge.protocol.http_server import HttpFront, build_http_app, build_http_server
from hermes_memory_bridge.protocol.mcp_server import build_mcp_server
from hermes_memory_bridge.protocol.notices import ChangeNotices
from hermes_memory_bridge.runtime.connection_registry import ConnectionRegistry
from hermes_memory_bridge.toolkit.connection import Connection


class McpFront:
    """The SDK's server of one store, for lines and HTTP."""

    def __init__(self, agents: ConnectionRegistry, limits: ClientLimits, most_http: int) -> None:
        """:param most_http: maximum number of simultaneous HTTP connections"""
        self.limits = limits
        self.worker = agents.worker
        self.http = HttpFront(agents)
        self.notices = ChangeNotices(self.worker)
        self.server = build_mcp_server(self.worker, self.find_request_connection, self.notices)
        self.options = self.server.create_initialization_options(NotificationOptions(True, True, True))
        self.peers = PeerConnections(most_http)
        self.sessions = HttpSessions(
            partial(sdk_internals.is_http_session_open, self.server),
            partial(sdk_internals.end_http_session, self.server),
        )
        self.tokens = TokenWatch(self.worker, agents, self.sessions)
        self.web = build_http_server(build_http_app(self.server, self.guard), self.peers, limits)

    def find_request_connection(self, context: Any) -> Connection:
        state = context.lifespan_context
        return state if isinstance(state, Connection) else self.http.find_request_connection(context)

    def guard(self, app: Asgi) -> Asgi:
        """Wrap the HTTP application in the access gate."""
        return Gate(self.http.count_requests(app), self.worker, self.limits, self.peers, self.sessions)

    async def serve_lines(
        self, connection: Connection, lines: MemoryObjectReceiveStream[bytes], answers: framing.BatchAnswers
    ) -> None:
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)

        async def receive() -> None:
            async with to_server:
                async for line in lines:
                    try:
                        message = parse_session_message(line)
                    except ValueError:
                        answers.write(framing.to_parse_error_line(line))
                    else:
                        await to_server.send(message)

        async def send() -> None:
            async with from_server:
                async for sent in from_server:
                    answers.write(sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                    await answers.writer.drain()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            tasks.start_soon(send)
            await serve_dual_era_loop(
                self.server, from_client, to_client, lifespan_state=connection, init_options=self.options
            )
            tasks.cancel_scope.cancel()


def parse_session_message(line: bytes) -> SessionMessage:
    """Parse a line as a message. :raises ValueError: it is none"""
    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    if isinstance(message, types.JSONRPCNotification) and b'"id"' in line and "id" in json.loads(line):
        raise ValueError("a request whose id is neither a text nor a whole number")
    return SessionMessage(message)
