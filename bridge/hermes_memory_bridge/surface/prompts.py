"""Prompts: what a person picks in their host to bring the memory into a conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hermes_memory_bridge.answers import NotThere, told
from hermes_memory_bridge.arguments import Arguments, text
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.fence import fenced
from hermes_memory_bridge.surface import resources
from hermes_memory_store.errors import ArgumentError

MOST = 50
"""Facts that a question brings."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt a host offers: its arguments by name with what each is."""

    name: str
    title: str
    description: str
    arguments: dict[str, str]
    make: Callable[[Connection, Arguments], str]


def memory(connection: Connection, _: Arguments) -> str:
    """The system block."""
    told = connection.store.injection.status(connection.theme)
    return f"You have a persistent memory.\n\n{fenced(told.text)}"


def review_scope(connection: Connection, arguments: Arguments) -> str:
    """A scope's facts with what to do about them."""
    label = text(arguments, "scope")
    shown = resources.scope(connection, connection.theme, label)
    return (
        f"Review what is remembered of the unit of work {label!r}: name what contradicts, what is out of date, which open "
        "questions are answered by now, and propose the changes as notation lines. Change nothing before I agree.\n\n"
        + fenced(shown)
    )


def decided(connection: Connection, arguments: Arguments) -> str:
    """What is known about a topic."""
    topic = text(arguments, "topic")
    found = told(connection.store.search.find(connection.theme, topic, limit=MOST))
    shown = "\n".join(f"{fact.notation} [{fact.tier}]" for fact in found.facts) or "(nothing)"
    return (
        f"What did we decide about {topic!r}? Answer from what is remembered, say which facts you used, and say so when "
        f"nothing is remembered.\n\n{fenced(shown)}"
    )


PROMPTS = {
    prompt.name: prompt
    for prompt in (
        Prompt("memory", "Memory", "The system block: notation, gauge and the facts that matter now.", {}, memory),
        Prompt(
            "review_scope",
            "Review this scope",
            "Go through the facts of a unit of work.",
            {"scope": "Label of the scope"},
            review_scope,
        ),
        Prompt(
            "decided",
            "What did we decide about …",
            "Everything remembered about a topic.",
            {"topic": "e.g. auth, or database schema"},
            decided,
        ),
    )
}


def made(connection: Connection, name: str, arguments: Arguments) -> str:
    """The text of a prompt. :raises NotThere: there is none of that name"""
    prompt = PROMPTS.get(name)
    if prompt is None:
        raise NotThere(name)
    unknown = arguments.keys() - prompt.arguments.keys()
    if unknown:
        raise ArgumentError(f"{sorted(unknown)[0][:60]!r} is no argument of the prompt {name}", sorted(unknown)[0])
    return prompt.make(connection, arguments)
