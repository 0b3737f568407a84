"""Access to SDK internals where no public API serves the bridge.

A test checks them against the installed version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server import Server, ServerRequestContext


def on_request_close(context: ServerRequestContext[Any, Any], callback: Callable[[], None]) -> None:
    """Call back when the connection of a request ends: at once for a request that is its own connection."""
    context.session._connection.exit_stack.callback(callback)


def has_no_session(context: ServerRequestContext[Any, Any]) -> bool:
    """Check whether the request is its own connection: HTTP of 2026-07-28 has no sessions."""
    return context.session._connection.session_id is None


def is_http_session_open(server: Server[Any], session: str) -> bool:
    """Check whether a client of the older revisions has a session of this id over HTTP."""
    return session in server.session_manager._server_instances


async def end_http_session(server: Server[Any], session: str) -> None:
    """End such a session, with its streams; the next request that names it gets a 404."""
    transport = server.session_manager._server_instances.get(session)
    if transport is not None:
        await server.session_manager._discard_session(session, transport)
