"""What user and assistant said, out of one line of a host's transcript. Tool output, thoughts and what hosts add are left out.

Each form was read in files that the released hosts wrote: Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, Copilot CLI
1.0.102, Qwen Code 0.24.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from hermes_memory_store.frozen import dataclass

COMMAND_MARKS = (
    "<command-",
    "<local-command",
    "<session_context>",
    "<environment_context>",
    "<user_instructions>",
    "<bash-",
)
"""How texts begin that a host wrote in the user's name."""


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    role: str
    text: str
    at: int | None
    """UTC milliseconds; None where the line has no time."""
    name: str = ""
    """The host's id of the message: lines with the same one are parts of it."""
    agent: str = ""
    """The id of a subagent; empty for the main agent."""


def parse_claude_line(line: Mapping[str, Any]) -> TranscriptMessage | None:
    """Parse a line of Claude Code, Factory droid or VS Code."""
    message = line.get("message")
    if line.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    if line.get("isMeta") or line.get("isCompactSummary") or message.get("model") == "<synthetic>":
        return None
    name, agent = str(message.get("id") or ""), "sidechain" if line.get("isSidechain") else ""
    return to_message(str(line["type"]), join_parts(message.get("content")), line, name, agent)


def parse_codex_line(line: Mapping[str, Any]) -> TranscriptMessage | None:
    said = line.get("payload")
    if line.get("type") != "event_msg" or not isinstance(said, dict):
        return None
    item = said.get("item")
    if said.get("type") == "item_completed" and isinstance(item, dict):
        role = {"UserMessage": "user", "AgentMessage": "assistant"}.get(str(item.get("type")))
        return None if role is None else to_message(role, join_parts(item.get("content")), line)
    role = {"user_message": "user", "agent_message": "assistant"}.get(str(said.get("type")))
    return None if role is None else to_message(role, join_parts(said.get("message")), line)


def parse_gemini_line(line: Mapping[str, Any]) -> TranscriptMessage | None:
    role = {"user": "user", "gemini": "assistant"}.get(str(line.get("type")))
    return None if role is None else to_message(role, join_parts(line.get("content")), line)


def parse_copilot_line(line: Mapping[str, Any]) -> TranscriptMessage | None:
    role = {"user.message": "user", "assistant.message": "assistant"}.get(str(line.get("type")))
    data = line.get("data")
    if role is None or not isinstance(data, dict):
        return None
    return to_message(role, join_parts(data.get("content")), line)


def parse_qwen_line(line: Mapping[str, Any]) -> TranscriptMessage | None:
    message = line.get("message")
    if line.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    if line.get("provenance") not in (None, "real_user", "assistant_output"):
        return None
    shown = line.get("systemPayload")
    text = shown.get("displayText") if isinstance(shown, dict) else None
    return to_message(str(line["type"]), text if isinstance(text, str) else join_parts(message.get("parts")), line)


PARSERS: dict[str, Callable[[Mapping[str, Any]], TranscriptMessage | None]] = {
    "claude-code": parse_claude_line,
    "droid": parse_claude_line,
    "vscode": parse_copilot_line,
    "codex": parse_codex_line,
    "gemini": parse_gemini_line,
    "copilot": parse_copilot_line,
    "qwen": parse_qwen_line,
}


def to_message(
    role: str, text: str, line: Mapping[str, Any], name: str = "", agent: str = ""
) -> TranscriptMessage | None:
    """Return a message; None for one that says nothing, or that the host wrote in the user's name."""
    if not text.strip() or text.lstrip().startswith(COMMAND_MARKS):
        return None
    return TranscriptMessage(role, text, parse_time(line.get("timestamp")), name, agent)


def join_parts(content: Any) -> str:
    """Return the text of a message's content: a text, or its parts that are text and no thought."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str) and is_text_part(part):
            texts.append(part["text"])
    return "\n".join(texts)


def is_text_part(part: Mapping[str, Any]) -> bool:
    return not part.get("thought") and str(part.get("type", "text")).casefold() in ("text", "input_text", "output_text")


def parse_time(value: Any) -> int | None:
    """Return a time in UTC milliseconds: ISO 8601 with a zone, or a number of milliseconds."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return None if moment is None or moment.tzinfo is None else round(moment.timestamp() * 1000)
