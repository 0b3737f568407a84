"""A request of any protocol, as the stand-in and the tests read it; and an answer, before a protocol writes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

COMPACTION_PROMPTS = (
    "create a detailed summary of the conversation",  # Claude Code
    "CONTEXT CHECKPOINT COMPACTION",  # Codex
    "for continuing our conversation",  # opencode
    "anchored summary",  # opencode, its second wording
    "context summarization agent",
    "state_snapshot",  # Gemini CLI, Qwen Code
    "conversation history summar",  # Copilot CLI
)
"""Words of the prompts by which hosts ask for a summary."""

CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True)
class Message:
    """One thing the model reads: its role, its text, and whether it is what a tool answered."""

    role: str
    text: str
    is_tool_result: bool = False


@dataclass(frozen=True)
class OfferedTool:
    """A tool the host offers: the name a call must use, its description, and a group it stands in, if any."""

    name: str
    description: str = ""
    namespace: str = ""


@dataclass(frozen=True)
class ModelRequest:
    """One request of a host, whole, and what of it the model reads."""

    path: str
    body: dict[str, Any]
    messages: tuple[Message, ...] = ()
    tools: tuple[OfferedTool, ...] = ()
    number: int = 0

    @property
    def text(self) -> str:
        """All that the model reads besides tools."""
        return "\n".join(message.text for message in self.messages)

    @property
    def whole_text(self) -> str:
        """All that the model reads, descriptions of tools included."""
        return "\n".join([self.text, *(tool.description for tool in self.tools)])

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(tool.name for tool in self.tools)

    @property
    def news(self) -> tuple[Message, ...]:
        """The messages since the model's last word."""
        said = [place for place, message in enumerate(self.messages) if message.role in {"assistant", "model"}]
        return self.messages[said[-1] + 1 :] if said else self.messages

    @property
    def is_after_tool(self) -> bool:
        """Whether a tool has just answered."""
        return any(message.is_tool_result for message in self.news)

    def count_results_since(self, words: str) -> int:
        """Return how often a tool has answered since the newest message of a person in which some words stand."""
        places = [
            place for place, message in enumerate(self.messages) if words in message.text and not message.is_tool_result
        ]
        return sum(message.is_tool_result for message in self.messages[places[-1] + 1 :]) if places else 0

    @property
    def is_compaction(self) -> bool:
        """Whether the host asks for a summary of the conversation."""
        heads = [message for message in self.messages if message.role in {"system", "developer"}][:1]
        asked = "\n".join(message.text for message in [*heads, *self.messages[-2:]])
        return any(words in asked for words in COMPACTION_PROMPTS)

    @property
    def tokens(self) -> int:
        """How large the request is, roughly, as a provider's usage would tell."""
        return len(json.dumps(self.body)) // CHARACTERS_A_TOKEN


@dataclass(frozen=True)
class ModelAnswer:
    """What the model says: a text, or a call of the offered tool whose name ends in `tool`."""

    text: str = "Done."
    tool: OfferedTool | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    input_tokens: int = 100
    output_tokens: int = 20
    number: int = 0
    """Makes the ids of answers, messages and calls unique."""


def server_sent_events(events: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[bytes]:
    """Write named events as `text/event-stream`; a name of "" is left out."""
    for name, data in events:
        head = f"event: {name}\n" if name else ""
        yield f"{head}data: {json.dumps(data)}\n\n".encode()


def flatten_text(content: object) -> str:
    """Return the text of a content that is a string, a part, or a list of parts, whatever the protocol."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(flatten_text(part) for part in content)
    if isinstance(content, dict):
        for key in ("text", "content", "output", "parts"):
            if key in content:
                return flatten_text(content[key])
        return "" if content.get("type") in {"image", "input_image", "image_url"} else json.dumps(content)
    return ""
