"""OpenAI's Responses, as Codex speaks them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.hosts.protocols.conversation import Message, ModelAnswer, ModelRequest, OfferedTool, flatten_text

RESULTS = {"function_call_output", "custom_tool_call_output", "mcp_tool_call_output"}
CALLS = {"function_call", "custom_tool_call", "local_shell_call"}


def parse_responses_request(path: str, body: dict[str, Any]) -> ModelRequest:
    messages = [Message("system", body["instructions"])] if body.get("instructions") else []
    given = body.get("input", [])
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        kind = item.get("type", "message")
        if kind in RESULTS:
            messages.append(Message("tool", flatten_text(item.get("output", "")), is_tool_result=True))
        elif kind in CALLS:
            messages.append(Message("assistant", str(item.get("arguments", ""))))
        elif kind == "message":
            messages.append(Message(item["role"], flatten_text(item["content"])))
    return ModelRequest(path, body, tuple(messages), tuple(offered_functions(body.get("tools", []))))


def offered_functions(tools: list[dict[str, Any]], namespace: str = "") -> Iterator[OfferedTool]:
    """Yield the functions offered, those inside a namespace too, whose description stands with each."""
    for tool in tools:
        name = tool.get("name", tool.get("type", ""))
        if tool.get("type") == "namespace":
            yield OfferedTool(name, tool.get("description", ""))
            yield from offered_functions(tool.get("tools", []), name)
        else:
            yield OfferedTool(name, tool.get("description", ""), namespace)


def output_item(answer: ModelAnswer) -> dict[str, Any]:
    if answer.tool is None:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        return {"type": "message", "id": f"msg_{answer.number}", "role": "assistant", "content": content}
    call = {
        "type": "function_call",
        "id": f"fc_{answer.number}",
        "call_id": f"call_{answer.number}",
        "name": answer.tool.name,
        "arguments": json.dumps(answer.arguments),
    }
    return call | ({"namespace": answer.tool.namespace} if answer.tool.namespace else {})


def to_response(answer: ModelAnswer, model: str) -> dict[str, Any]:
    usage = {
        "input_tokens": answer.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }
    return {
        "id": f"resp_{answer.number}",
        "object": "response",
        "status": "completed",
        "model": model,
        "output": [output_item(answer)],
        "usage": usage,
    }


def response_events(answer: ModelAnswer, model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    response = to_response(answer, model)
    item = response["output"][0]
    begun = {"id": response["id"], "status": "in_progress", "output": []}
    yield "response.created", {"type": "response.created", "response": begun}
    if answer.tool is None:
        yield (
            "response.output_item.added",
            {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}},
        )
        delta = {"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": answer.text}
        yield "response.output_text.delta", {"type": "response.output_text.delta"} | delta
    yield "response.output_item.done", {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield "response.completed", {"type": "response.completed", "response": response}
