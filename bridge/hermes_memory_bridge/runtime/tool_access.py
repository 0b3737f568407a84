"""The tools that a connection may call."""

from __future__ import annotations

from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult
from hermes_memory_bridge.toolkit.tool_spec import ToolSpec
from hermes_memory_bridge.tools import select_tools
from hermes_memory_store.model import Rights

OWN_CLIENTS = ("hermes-agent provider", "hermes-memory-client ")
"""Prefix of the names of our own programs, the memory provider and the Python clients; they use all tools."""


def find_offered_tools(connection: Connection) -> dict[str, ToolSpec]:
    """Return the tools a connection is shown and may call, by name: those it chose, else the default ones.

    All others are unknown to it.
    """
    usual = "all" if (connection.client or "").startswith(OWN_CLIENTS) else "core"
    return select_tools(connection.tools or usual)


def to_rights_refusal(spec: ToolSpec, rights: Rights) -> ToolResult | None:
    """Return the refusal when the connection's rights do not suffice, None when they do."""
    if getattr(rights, spec.right):
        return None
    held = str(rights) or "no rights at all"
    said = f"{spec.name} needs the right to {spec.right}, and this token has {held}; ask for a token with that right"
    return ToolResult(f"error: {said}", {"error": {"code": "access.denied", "message": said, "value": spec.right}})
