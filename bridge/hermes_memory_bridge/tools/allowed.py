"""Which tools a connection may call."""

from __future__ import annotations

from hermes_memory_bridge.answers import Answer
from hermes_memory_bridge.tools.spec import ToolSpec
from hermes_memory_store.model import Rights


def refused(spec: ToolSpec, rights: Rights) -> Answer | None:
    """The refusal when the connection's rights do not reach, None when they do."""
    if getattr(rights, spec.right):
        return None
    held = str(rights) or "no rights at all"
    said = f"{spec.name} needs the right to {spec.right}, and this token has {held}; ask for a token with that right"
    return Answer(f"error: {said}", {"error": {"code": "access.denied", "message": said, "value": spec.right}})
