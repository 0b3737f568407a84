"""OpenAI's chat completions, as opencode, Copilot CLI and Qwen Code speak them to a provider of one's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.hosts.protocols.conversation import Message, ModelAnswer, ModelRequest, OfferedTool, flatten_text


def parse_chat_request(path: str, body: dict[str, Any]) -> ModelRequest:
    messages = tuple(
        Message(entry["role"], flatten_text(entry.get("content") or ""), is_tool_result=entry["role"] == "tool")
        for entry in body.get("messages", [])
    )
    functions = [tool["function"] for tool in body.get("tools") or [] if "function" in tool]
    tools = tuple(OfferedTool(function["name"], function.get("description", "")) for function in functions)
    return ModelRequest(path, body, messages, tools)


def said(answer: ModelAnswer) -> dict[str, Any]:
    """Write what is said, as a message or as a delta."""
    if answer.tool is None:
        return {"role": "assistant", "content": answer.text}
    function = {"name": answer.tool.name, "arguments": json.dumps(answer.arguments)}
    call = {"index": 0, "id": f"call_{answer.number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def token_usage(answer: ModelAnswer) -> dict[str, int]:
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }


def completion(answer: ModelAnswer, model: str, kind: str) -> dict[str, Any]:
    """Return what a completion and each of its chunks have in common."""
    return {"id": f"chatcmpl-{answer.number}", "object": kind, "created": 1, "model": model}


def to_completion(answer: ModelAnswer, model: str) -> dict[str, Any]:
    choice = {"index": 0, "message": said(answer), "finish_reason": "tool_calls" if answer.tool else "stop"}
    return completion(answer, model, "chat.completion") | {"choices": [choice], "usage": token_usage(answer)}


def completion_events(answer: ModelAnswer, model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Write an answer as the chunks of a stream."""
    head = completion(answer, model, "chat.completion.chunk")
    yield "", head | {"choices": [{"index": 0, "delta": said(answer), "finish_reason": None}]}
    finish = "tool_calls" if answer.tool else "stop"
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": token_usage(answer)}
    yield "", head | last
