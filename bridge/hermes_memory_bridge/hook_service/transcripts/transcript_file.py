"""A piece of a host's transcript, from a byte offset on: whole lines of a file that is really one, and this user's own.

Of a line counts what user and assistant said. Tool output, thoughts and what hosts add are left out. Each form was read in files
that the released hosts wrote: Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, Copilot CLI 1.0.102, Qwen Code 0.24.4.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.hosts.host_data import load_host
from hermes_memory_store.system.file_handles import open_regular

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
    """Parse a line of Claude Code or Factory droid."""
    message = line.get("message")
    if line.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    if line.get("isMeta") or line.get("isCompactSummary") or message.get("model") == "<synthetic>":
        return None
    name, agent = str(message.get("id") or ""), "sidechain" if line.get("isSidechain") else ""
    return to_message(str(line["type"]), join_parts(message.get("content")), line, name, agent)


def parse_codex_line(line: Mapping[str, Any]) -> TranscriptMessage | None:
    payload = line.get("payload")
    if line.get("type") != "event_msg" or not isinstance(payload, dict):
        return None
    item = payload.get("item")
    if payload.get("type") == "item_completed" and isinstance(item, dict):
        role = {"UserMessage": "user", "AgentMessage": "assistant"}.get(str(item.get("type")))
        return None if role is None else to_message(role, join_parts(item.get("content")), line)
    role = {"user_message": "user", "agent_message": "assistant"}.get(str(payload.get("type")))
    return None if role is None else to_message(role, join_parts(payload.get("message")), line)


def parse_named_line(line: Mapping[str, Any], form: Mapping[str, Any]) -> TranscriptMessage | None:
    """Parse a line whose `type` tells the role.

    :param form: the `roles` by type, and the path of the `text`, with points between its keys
    """
    role = form["roles"].get(str(line.get("type")))
    text = join_parts(find_member(line, form["text"]))
    return None if role is None else to_message(role, text, line, str(line.get("id") or ""))


def find_member(document: Any, key: str) -> Any:
    """Find a member by the keys on the way to it, with points between them; None where there is none."""
    for part in key.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


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
    "claude": parse_claude_line,
    "codex": parse_codex_line,
    "qwen": parse_qwen_line,
}
"""Forms that a host's data names; others are data of `parse_named_line`."""


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
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            kind = str(part.get("type", "text")).casefold()
            if kind in ("text", "input_text", "output_text") and not part.get("thought"):
                texts.append(part["text"])
    return "\n".join(texts)


def parse_time(value: Any) -> int | None:
    """Return a time in UTC milliseconds: ISO 8601 with a zone, or a number of milliseconds."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return None if moment is None or moment.tzinfo is None else round(moment.timestamp() * 1000)


log = logging.getLogger(__name__)

MOST_BYTES = 1 << 20
"""Read at a time: beside other work, a longer pause of this process would be felt."""

MOST_LINE_BYTES = 1 << 24
"""Of one line, whatever is read at a time."""


@dataclass(frozen=True, slots=True)
class TranscriptPiece:
    messages: tuple[TranscriptMessage, ...]
    offset: int
    """Where to read on: behind the last whole line."""
    is_last: bool
    """Whether the file ends there, but for half a line, or what follows is too new."""


def read_transcript(path: str, host: str, offset: int, until: int) -> TranscriptPiece:
    """Read at most `MOST_BYTES` of a transcript, or one line. One above `MOST_LINE_BYTES` is passed over, which is logged.

    :param offset: bytes that were read; a shorter file is read from its beginning
    :param until: UTC milliseconds; the piece ends before the first message that is newer
    :raises OSError: it cannot be read, or is a link, no regular file, or another user's
    """
    with os.fdopen(open_regular(path, follow_links=False), "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.getuid():
            raise PermissionError(f"{path} is no file of this user's own")
        start = offset if offset <= status.st_size else 0
        file.seek(start)
        data = file.read(MOST_BYTES)
        if len(data) == MOST_BYTES and b"\n" not in data:
            data += file.readline(MOST_LINE_BYTES - MOST_BYTES)
    end = data.rfind(b"\n") + 1
    if not end and len(data) == MOST_LINE_BYTES:
        log.warning("%d bytes of a line of %s were not read: it is longer than any message", len(data), path)
        return TranscriptPiece((), start + len(data), False)
    messages: list[TranscriptMessage] = []
    at = start
    for line in data[:end].splitlines(keepends=True):
        message = parse_line(host, line)
        if message is not None and message.at is not None and message.at > until:
            return TranscriptPiece(tuple(join_messages(messages)), at, True)
        at += len(line)
        messages += [message] if message is not None else []
    return TranscriptPiece(tuple(join_messages(messages)), at, not end or len(data) < MOST_BYTES)


def parse_line(host: str, line: bytes) -> TranscriptMessage | None:
    """Parse a line of a host's transcript; None for one that holds no message."""
    form = load_host(host).get("transcript")
    if form is None or not line.startswith(b"{"):
        return None
    try:
        document: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    return PARSERS[form](document) if isinstance(form, str) else parse_named_line(document, form)


def join_messages(messages: list[TranscriptMessage]) -> list[TranscriptMessage]:
    """Return messages of which a host writes each part on a line of its own in one piece."""
    joined: list[TranscriptMessage] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is not None and message.name and (last.name, last.role) == (message.name, message.role):
            if message.text == last.text:  # Gemini CLI writes it again with the tools that it called
                continue
            joined[-1] = TranscriptMessage(last.role, f"{last.text}\n{message.text}", last.at, last.name, last.agent)
        else:
            joined.append(message)
    return joined
