"""Which tools a connection may call: one check, on the way of every call, whatever door it came through."""

from __future__ import annotations

from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.host_folders import check_file_access
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_refusal_result
from hermes_memory_bridge.toolkit.tool_spec import ToolSpec
from hermes_memory_bridge.tools import select_tools
from hermes_memory_bridge.wire.messages import OWN_CLIENTS
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Rights


def find_offered_tools(connection: Connection) -> dict[str, ToolSpec]:
    """Return the tools a connection is shown and may call, by name: those it chose, else those its token grants.

    Else the default ones. All others are unknown to it.
    """
    granted = connection.rights.tools
    if granted is None:
        usual = "all" if (connection.client or "").startswith(OWN_CLIENTS) else "core"
        return select_tools(connection.tools or usual)
    chosen = select_tools(connection.tools or "all")
    return {name: spec for name, spec in chosen.items() if name in granted}


def find_call_refusal(spec: ToolSpec, connection: Connection) -> ToolResult | None:
    """Return why a connection may not call a tool, None when it may: hidden, lacking a right, or reaching for files."""
    if spec.name not in find_offered_tools(connection):
        return to_unknown_tool_result(spec.name)
    denied = to_rights_refusal(spec, connection.rights)
    if denied is not None or not spec.files:
        return denied
    try:
        check_file_access(connection, spec.files)
    except StoreError as error:
        return to_refusal_result(error)
    return None


def to_unknown_tool_result(name: str) -> ToolResult:
    """Return the result for a tool that does not exist, or is hidden from the connection: both give the same."""
    message = f"unknown tool: {name[:100]}"
    return ToolResult(message, {"error": {"code": "tool.unknown", "message": message, "value": name[:100]}})


def to_rights_refusal(spec: ToolSpec, rights: Rights) -> ToolResult | None:
    """Return the refusal when the connection's rights do not suffice, None when they do."""
    if getattr(rights, spec.right):
        return None
    rights_held = rights.words or "no rights at all"
    message = f"{spec.name} needs the right to {spec.right}, and this token has {rights_held}; ask for a token with that right"
    return ToolResult(
        f"error: {message}", {"error": {"code": "access.denied", "message": message, "value": spec.right}}
    )
