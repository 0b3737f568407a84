"""Fixtures of the 2026-07-28 scenarios: answers that ask for input first, and word of changed lists."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import mcp.types as types
from mcp import MCPError
from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged

from hermes_memory_bridge.protocol.notices import ChangeNotices

KEY = b"only for this suite"

Params = Any
Answer = str | types.InputRequiredResult


def sealed(said: dict[str, Any]) -> str:
    """State that the client carries and cannot change."""
    text = json.dumps(said)
    return f"{text}|{hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()}"


def opened(params: Params) -> dict[str, Any]:
    """The state of an earlier round, empty in the first. :raises MCPError: it was changed on its way"""
    if params.request_state is None:
        return {}
    text, _, _ = params.request_state.rpartition("|")
    said: dict[str, Any] = json.loads(text) if text else {}
    if not text or not hmac.compare_digest(sealed(said), params.request_state):
        raise MCPError(code=types.INVALID_PARAMS, message="Invalid or tampered requestState")
    return said


def form(message: str, field: str = "name", kind: str = "string") -> types.ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(text: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=50))


def asking(requests: dict[str, Any], state: dict[str, Any] | None = None) -> types.InputRequiredResult:
    """An answer that asks first."""
    return types.InputRequiredResult(input_requests=requests, request_state=None if state is None else sealed(state))


def once(name: str, request: Any, state: dict[str, Any] | None = None) -> Callable[[Any, Params], Answer]:
    """Asks one thing, and then answers with it."""

    def fixture(_: Any, params: Params) -> Answer:
        given = (params.input_responses or {}).get(name)
        if given is None or opened(params) != (state or {}):
            return asking({name: request}, state)
        return f"state-ok: {given.model_dump(exclude_none=True)}"

    return fixture


def several(_: Any, params: Params) -> Answer:
    """Asks the person, the model and for roots at once."""
    if {"user_name", "greeting", "client_roots"} <= (params.input_responses or {}).keys():
        return "All inputs received."
    requests = {"user_name": form("Name?"), "greeting": sample("Greet"), "client_roots": types.ListRootsRequest()}
    return asking(requests, {"round": 1})


def rounds(_: Any, params: Params) -> Answer:
    """Three rounds, each with a state of its own."""
    state, given = opened(params), params.input_responses or {}
    if state.get("round") == 1 and "step1" in given:
        return asking(
            {"step2": form("Step 2: color?", "color")}, {"round": 2, "name": (given["step1"].content or {}).get("name")}
        )
    if state.get("round") == 2 and "step2" in given:
        return f"{state['name']} likes {(given['step2'].content or {}).get('color')}."
    return asking({"step1": form("Step 1: name?")}, {"round": 1})


def tampered(_: Any, params: Params) -> Answer:
    """Refuses a state that was changed."""
    return (
        f"state-ok: {opened(params)}"
        if params.request_state
        else asking({"confirm": form("Ok?", "ok", "boolean")}, {"round": 1})
    )


def capable(context: Any, _: Params) -> Answer:
    """Asks only what the client can do."""
    can = context.session.client_capabilities
    requests: dict[str, Any] = {}
    if can is None or can.sampling is not None:
        requests["sample"] = sample("Hello")
    if can is None or can.elicitation is not None:
        requests["ask"] = form("Name?")
    return asking(requests, {"gated": True})


def missing(context: Any, _: Params) -> Answer:
    """Needs what the client may not have."""
    can = context.session.client_capabilities
    if can is None or can.sampling is None:
        raise MCPError(
            code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="This tool requires the client 'sampling' capability",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return "Client declared sampling capability."


TOOLS: dict[str, Callable[[Any, Params], Answer]] = {
    "test_input_required_result_elicitation": once("user_name", form("What is your name?")),
    "test_input_required_result_sampling": once("capital_question", sample("Capital of France?")),
    "test_input_required_result_list_roots": once("client_roots", types.ListRootsRequest()),
    "test_input_required_result_request_state": once("confirm", form("Please confirm", "ok", "boolean"), {"nonce": 1}),
    "test_input_required_result_multiple_inputs": several,
    "test_input_required_result_multi_round": rounds,
    "test_input_required_result_tampered_state": tampered,
    "test_input_required_result_capabilities": capable,
    "test_missing_capability": missing,
}

CHANGES = {"test_trigger_tool_change": ToolsListChanged, "test_trigger_prompt_change": PromptsListChanged}

PROMPT = "test_input_required_result_prompt"


def described() -> list[types.Tool]:
    return [
        types.Tool(name=name, description="A fixture of the conformance suite.", input_schema={"type": "object"})
        for name in [*TOOLS, *CHANGES]
    ]


async def call(context: Any, params: types.CallToolRequestParams, notices: ChangeNotices) -> Any:
    if params.name in CHANGES:
        for bus, _ in notices._listeners.values():
            await bus.publish(CHANGES[params.name]())
        answer: Answer = "changed"
    else:
        answer = TOOLS[params.name](context, params)
    if isinstance(answer, types.InputRequiredResult):
        return answer
    return types.CallToolResult(content=[types.TextContent(type="text", text=answer)])


def prompt(params: types.GetPromptRequestParams) -> Any:
    """A prompt that asks first."""
    given = (params.input_responses or {}).get("user_context")
    if given is None:
        return asking({"user_context": form("What context should the prompt use?", "context")})
    said = types.TextContent(type="text", text=f"Use: {getattr(given, 'content', None)}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=said)])
