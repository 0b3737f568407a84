"""The places where the SDK has no public way for what the bridge needs. A test holds them to the installed version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server import Server, ServerRequestContext


def on_close(context: ServerRequestContext[Any, Any], callback: Callable[[], None]) -> None:
    """Call back when the connection of a request ends: at once for a request that is its own connection."""
    context.session._connection.exit_stack.callback(callback)


def has_no_session(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the request is its own connection: HTTP of 2026-07-28 has no sessions."""
    return context.session._connection.session_id is None


def is_open(server: Server[Any], session: str) -> bool:
    """Whether a client of the older revisions has a session of this id over HTTP."""
    return session in server.session_manager._server_instances


async def end_session(server: Server[Any], session: str) -> None:
    """End such a session, with its streams; the next request that names it is answered 404."""
    transport = server.session_manager._server_instances.get(session)
    if transport is not None:
        await server.session_manager._discard_session(session, transport)
