"""Asking the person at the other end, through elicitation, in the way each protocol era has for it."""

from __future__ import annotations

from typing import Any

import mcp.types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError

from hermes_memory_bridge.answers import Answer

QUESTION = "confirm"
"""Key of the question in an answer that asks for input (2026-07-28)."""

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Yes, do it", "default": False}},
    "required": ["confirm"],
}


async def asked(
    context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams, message: str
) -> types.InputRequiredResult | Answer | None:
    """None when the person agrees; the refusal when not, or when nobody can be asked; else the question to send."""
    given = (params.input_responses or {}).get(QUESTION)
    if given is not None:
        return None if agrees(given) else declined()
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return unasked(message)
    question = types.ElicitRequestFormParams(message=message, requested_schema=FORM)
    if not context.session.can_send_request:
        return types.InputRequiredResult(input_requests={QUESTION: types.ElicitRequest(params=question)})
    try:
        said = await context.session.elicit_form(message, FORM, context.request_id)
    except (MCPError, NoBackChannelError):
        return unasked(message)
    return None if agrees(said) else declined()


def agrees(said: Any) -> bool:
    """Whether an answer to the question is a yes."""
    content = getattr(said, "content", None)
    return getattr(said, "action", None) == "accept" and isinstance(content, dict) and content.get("confirm") is True


def declined() -> Answer:
    """The person said no."""
    said = "the user did not agree; nothing was changed"
    return Answer(f"error: {said}", {"error": {"code": "consent.declined", "message": said, "value": None}})


def unasked(message: str) -> Answer:
    """Nobody can be asked here."""
    said = f"{message} Nothing was changed: ask the user, and call again with confirm: true if they agree."
    return Answer(f"error: {said}", {"error": {"code": "consent.needed", "message": said, "value": None}})
