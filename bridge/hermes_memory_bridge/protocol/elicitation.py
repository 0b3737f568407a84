"""Elicitation: asking the user for consent, in the way each protocol era provides."""

from __future__ import annotations

from typing import Any

import mcp.types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError

from hermes_memory_bridge.toolkit.tool_results import ToolResult

QUESTION = "confirm"
"""Key of the question in an answer that asks for input (2026-07-28)."""

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Yes, do it", "default": False}},
    "required": ["confirm"],
}


async def request_consent(
    context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams, message: str
) -> types.InputRequiredResult | ToolResult | None:
    """Return None when the user agrees; a refusal when not, or when nobody can be asked; else the request to send."""
    response = (params.input_responses or {}).get(QUESTION)
    if response is not None:
        return None if is_consent(response) else to_declined_result()
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return to_no_elicitation_result(message)
    question = types.ElicitRequestFormParams(message=message, requested_schema=FORM)
    if not context.session.can_send_request:
        return types.InputRequiredResult(input_requests={QUESTION: types.ElicitRequest(params=question)})
    try:
        answer = await context.session.elicit_form(message, FORM, context.request_id)
    except (MCPError, NoBackChannelError):
        return to_no_elicitation_result(message)
    return None if is_consent(answer) else to_declined_result()


def is_consent(answer: Any) -> bool:
    content = getattr(answer, "content", None)
    return getattr(answer, "action", None) == "accept" and isinstance(content, dict) and content.get("confirm") is True


def to_declined_result() -> ToolResult:
    message = "the user did not agree; nothing was changed"
    return ToolResult(f"error: {message}", {"error": {"code": "consent.declined", "message": message, "value": None}})


def to_no_elicitation_result(message: str) -> ToolResult:
    text = f"{message} Nothing was changed: ask the user, and call again with confirm: true if they agree."
    return ToolResult(f"error: {text}", {"error": {"code": "consent.needed", "message": text, "value": None}})
