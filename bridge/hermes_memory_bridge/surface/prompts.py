"""Prompts that a user picks in a host to bring the memory into a conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_bridge.recall.connection_recall import recall_facts
from hermes_memory_bridge.surface import resources
from hermes_memory_bridge.toolkit.arguments import (
    Arguments,
    parse_optional_text,
    parse_text_argument,
    parse_whole_number,
)
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import UnknownResource
from hermes_memory_store.context.fence import format_fenced_text
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.notation.token_count import count_tokens

MOST = 50
"""Facts that a question brings."""

DISTIL = Path(__file__).with_name("distil.md")
"""What an agent is told that distils a history, as a skill of hosts."""

DISTIL_TOKENS = range(1_000, 100_001)
"""That the prompt may take, with what it tells."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt offered to hosts, with a description of each argument by name."""

    name: str
    title: str
    description: str
    arguments: dict[str, str]
    make: Callable[[Connection, Arguments], str]
    tools: tuple[str, ...]
    """The tools that give the same: a token restricted to others may not use it."""
    requires_arguments: bool = True


def render_memory_prompt(connection: Connection, _: Arguments) -> str:
    block = connection.context_block()
    return f"You have a persistent memory.\n\n{format_fenced_text(block.text)}"


def render_scope_review(connection: Connection, arguments: Arguments) -> str:
    label = parse_text_argument(arguments, "scope")
    shown = resources.read_scope_resource(connection, connection.theme, label)
    return (
        f"Review what is remembered of the unit of work {label!r}: name what contradicts, what is out of date, which open "
        "questions are answered by now, and propose the changes as notation lines. Change nothing before I agree.\n\n"
        + format_fenced_text(shown)
    )


def render_topic_prompt(connection: Connection, arguments: Arguments) -> str:
    topic = parse_text_argument(arguments, "topic")
    matches = recall_facts(connection, [connection.theme], topic, MOST)
    facts = [item.fact for item in matches.items if item.fact is not None]
    connection.store.search.note("search", connection.theme, facts, session=None, why=topic)
    lines = [f"{item.line} [{fact.tier}]" for item, fact in zip(matches.items, facts, strict=True)] or ["(nothing)"]
    shown = "\n".join([*lines, *([f"({matches.held_note})"] if matches.held_note else [])])
    return (
        f"What did we decide about {topic!r}? Answer from what is remembered, say which facts you used, and say so when "
        f"nothing is remembered.\n\n{format_fenced_text(shown)}"
    )


def render_distil_prompt(connection: Connection, arguments: Arguments) -> str:
    most = parse_whole_number("tokens", arguments.get("tokens") or resources.STRETCH_TOKENS)
    if most not in DISTIL_TOKENS:
        raise ArgumentError(f"tokens must be from {DISTIL_TOKENS.start:,} to {DISTIL_TOKENS[-1]:,}, not {most:,}", most)
    rules = DISTIL.read_text(encoding="utf-8").rpartition("---\n")[2]
    after = parse_optional_text(arguments, "after")
    stretch = resources.read_history_resource(connection, after, most - count_tokens(rules))
    return f"{rules}\n{format_fenced_text(stretch)}"


PROMPTS = {
    prompt.name: prompt
    for prompt in (
        PromptTemplate(
            "memory",
            "Memory",
            "The system block: notation, gauge and the facts that matter now.",
            {},
            render_memory_prompt,
            resources.STATUS.tools,
        ),
        PromptTemplate(
            "review_scope",
            "Review this scope",
            "Go through the facts of a unit of work.",
            {"scope": "Label of the scope"},
            render_scope_review,
            resources.SCOPE.tools,
        ),
        PromptTemplate(
            "decided",
            "What did we decide about …",
            "Everything remembered about a topic.",
            {"topic": "e.g. auth, or database schema"},
            render_topic_prompt,
            ("memory_reflect", "memory_search"),
        ),
        PromptTemplate(
            "distil",
            "Distil what was said into facts",
            "The next messages of this project's history, and how to write facts from them.",
            {
                "after": "ID of the message after which to go on, or start; default: where the last stretch ended",
                "tokens": f"Most tokens of it; default: {resources.STRETCH_TOKENS:,}",
            },
            render_distil_prompt,
            resources.HISTORY.tools,
            requires_arguments=False,
        ),
    )
}


def render_prompt(connection: Connection, name: str, arguments: Arguments) -> str:
    """Return the text of a prompt. :raises UnknownResource: there is none of that name"""
    prompt = PROMPTS.get(name)
    if prompt is None or not connection.rights.grants_any_tool(prompt.tools):
        raise UnknownResource(name)
    unknown = arguments.keys() - prompt.arguments.keys()
    if unknown:
        raise ArgumentError(f"{sorted(unknown)[0][:60]!r} is no argument of the prompt {name}", sorted(unknown)[0])
    return prompt.make(connection, arguments)
