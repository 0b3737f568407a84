"""The places where the SDK has no public way for what the bridge needs. A test holds them to the installed version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server import ServerRequestContext


def on_close(context: ServerRequestContext[Any, Any], callback: Callable[[], None]) -> None:
    """Call back when the connection of a request ends: at once for a request that is its own connection."""
    context.session._connection.exit_stack.callback(callback)


def has_no_session(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the request is its own connection: HTTP of 2026-07-28 has no sessions."""
    return context.session._connection.session_id is None
