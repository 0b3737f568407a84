"""Google's generateContent, as Gemini CLI speaks it."""

from __future__ import annotations

import json
from typing import Any

from tests.hosts.protocols.conversation import Message, ModelAnswer, ModelRequest, OfferedTool, flatten_text


def parse_content_request(path: str, body: dict[str, Any]) -> ModelRequest:
    system = body.get("systemInstruction") or body.get("system_instruction")
    messages = [Message("system", flatten_text(system))] if system else []
    for content in body.get("contents", []):
        for part in content.get("parts", []):
            result = part.get("functionResponse")
            text = json.dumps(result) if result else flatten_text(part)
            messages.append(Message(content.get("role", "user"), text, is_tool_result=result is not None))
    declared = [entry for tool in body.get("tools") or [] for entry in tool.get("functionDeclarations", [])]
    tools = tuple(OfferedTool(entry["name"], entry.get("description", "")) for entry in declared)
    return ModelRequest(path, body, tuple(messages), tools)


def to_content(answer: ModelAnswer, *, is_json: bool) -> dict[str, Any]:
    """Write an answer as one response, which is also the only chunk of its stream."""
    part: dict[str, Any] = {"text": "{}" if is_json else answer.text}
    if answer.tool is not None:
        part = {"functionCall": {"name": answer.tool.name, "args": answer.arguments}}
    usage = {
        "promptTokenCount": answer.input_tokens,
        "candidatesTokenCount": answer.output_tokens,
        "totalTokenCount": answer.input_tokens + answer.output_tokens,
    }
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stand-in"}
