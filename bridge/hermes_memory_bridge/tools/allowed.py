"""Which tools a connection may call."""

from __future__ import annotations

from hermes_memory_bridge.answers import Answer
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.tools import chosen
from hermes_memory_bridge.tools.spec import ToolSpec
from hermes_memory_store.model import Rights

OUR_OWN = ("hermes-agent provider", "hermes-memory-client ")
"""How our own programs begin to name themselves: the memory provider and the Python clients. They use all tools."""


def offered(connection: Connection) -> dict[str, ToolSpec]:
    """The tools a connection is shown and may call, by name: those it chose, else the usual ones. Others are unknown to it."""
    usual = "all" if (connection.client or "").startswith(OUR_OWN) else "core"
    return chosen(connection.tools or usual)


def refused(spec: ToolSpec, rights: Rights) -> Answer | None:
    """The refusal when the connection's rights do not reach, None when they do."""
    if getattr(rights, spec.right):
        return None
    held = str(rights) or "no rights at all"
    said = f"{spec.name} needs the right to {spec.right}, and this token has {held}; ask for a token with that right"
    return Answer(f"error: {said}", {"error": {"code": "access.denied", "message": said, "value": spec.right}})
