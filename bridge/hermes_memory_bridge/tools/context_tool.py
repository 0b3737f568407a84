"""`memory_context`: context that a host adds to a message, in one call and within a budget.

Facts and captured messages in one list, best first, each message by its best sentence. The text is fenced as data, and empty
when nothing is relevant: a host may pass it on as it is. A message is plain language: nothing in it is read as a filter, a
phrase or an excluded word.
"""

from __future__ import annotations

import re

from hermes_memory_bridge.recall.connection_recall import find_marking, find_nearest
from hermes_memory_bridge.toolkit.arguments import Arguments, parse_integer_argument, parse_text_argument
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_reason_data
from hermes_memory_bridge.toolkit.tool_spec import FACTS, REASONS, WHOLE, ToolSpec
from hermes_memory_store.context.fence import format_fenced_text
from hermes_memory_store.context.given import WORDS_ONLY, Given
from hermes_memory_store.notation.token_count import count_tokens, find_counter

MOST_CHARS = 4_000
"""Of a message that are looked at."""

LEAST, MOST = 60, 4_000
"""Tokens a host may ask for."""


def memory_context(connection: Connection, arguments: Arguments) -> ToolResult:
    """Return what is relevant to a message, as one text."""
    message, theme = parse_text_argument(arguments, "message"), connection.theme
    standard = max(LEAST, connection.store.policies.for_theme(theme).injection_tokens)
    budget = parse_integer_argument(arguments, "tokens", standard, least=LEAST, most=MOST)
    session = connection.session(arguments)
    given = give_for_message(connection, to_plain_words(message), budget)
    facts = [item.fact for item in given.items if item.fact is not None]
    connection.store.search.note("context", theme, facts, session=session, why=message)
    whole = format_fenced_text("\n".join(item.line for item in given.items)) if given.items else ""
    data = {
        "facts": [fact.uid for fact in facts],
        "turns": [item.uid for item in given.items if item.turn is not None],
        "tokens": count_tokens(whole) if whole else 0,
        "counted_by": find_counter().name,
        "ranked_by": given.ranked_by,
        "reasons": to_reason_data(given.items),
        "lines": [
            {
                "uid": item.uid,
                "line": item.line,
                "tokens": item.tokens,
                **({} if item.turn is None else {"session_id": item.turn.session}),
            }
            for item in given.items
        ],
    }
    if given.held_note is not None:
        data["held"] = given.held_note
    return ToolResult(whole, data)


def give_for_message(connection: Connection, words: str, budget: int) -> Given:
    """Return the facts and turns that answer a message's words within so many tokens, fence included."""
    asked = connection.query_vector
    if not words:
        return Given(ranked_by=WORDS_ONLY)
    return connection.store.recall.give(
        [connection.theme, *connection.readable_themes()],
        words,
        budget,
        nearest=find_nearest(connection.store, asked),
        ranked_by=None if asked is None else asked.ranked_by,
        mark=find_marking(connection.store, ""),
    )


def to_plain_words(message: object) -> str:
    """Return the plain words of a message, with nothing of the search language."""
    return (
        " ".join(re.sub(r"""["“”„«»:]|(?<!\S)-+""", " ", message[:MOST_CHARS]).split())
        if isinstance(message, str)
        else ""
    )


SPEC = ToolSpec(
    name="memory_context",
    title="Context for a message",
    description=(
        "For hosts: facts and past turns that answer a message, as one fenced text within a budget of tokens; empty when none."
    ),
    arguments={
        "message": {"type": "string"},
        "tokens": {"type": WHOLE, "description": f"{LEAST}-{MOST}; the theme's injection budget unless given"},
        "session_id": {"type": "string"},
    },
    required=("message",),
    gives={
        "facts": {"type": "array", "items": {"type": "string"}},
        "turns": {"type": "array", "items": {"type": "string"}},
        "tokens": {"type": "integer"},
        "counted_by": {"type": "string"},
        "ranked_by": {"type": "string"},
        "reasons": REASONS,
        "lines": FACTS,
    },
    handler=memory_context,
    query_to_embed=lambda arguments: to_plain_words(arguments.get("message")),
    about="message",
    reads_only=True,
    repeatable=True,
    group="all",
)
