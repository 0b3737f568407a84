"""Anthropic's Messages, as Claude Code speaks them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.hosts.protocols.conversation import Message, ModelAnswer, ModelRequest, OfferedTool, flatten_text


def parse_messages_request(path: str, body: dict[str, Any]) -> ModelRequest:
    messages = [Message("system", flatten_text(body["system"]))] if body.get("system") else []
    for entry in body.get("messages", []):
        content = entry["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        messages += [
            Message(entry["role"], flatten_text(part), is_tool_result=part.get("type") == "tool_result")
            for part in parts
        ]
    tools = tuple(OfferedTool(tool["name"], tool.get("description", "")) for tool in body.get("tools", []))
    return ModelRequest(path, body, tuple(messages), tools)


def to_message(answer: ModelAnswer, model: str) -> dict[str, Any]:
    return {
        "id": f"msg_{answer.number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [content_block(answer)],
        "stop_reason": "tool_use" if answer.tool else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens},
    }


def content_block(answer: ModelAnswer) -> dict[str, Any]:
    if answer.tool is None:
        return {"type": "text", "text": answer.text}
    return {"type": "tool_use", "id": f"toolu_{answer.number}", "name": answer.tool.name, "input": answer.arguments}


def message_events(answer: ModelAnswer, model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    message = to_message(answer, model)
    block = message["content"][0]
    yield "message_start", {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
    if answer.tool is None:
        empty: dict[str, Any] = block | {"text": ""}
        delta = {"type": "text_delta", "text": answer.text}
    else:
        empty = block | {"input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}
    yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": empty}
    yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", "index": 0}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield "message_stop", {"type": "message_stop"}
