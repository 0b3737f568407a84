"""`memory_status`, what a session is given at its start, and `memory_context`, what a host adds to a message.

Context for a message is one list of facts and captured messages within a budget, best first, each message by its best sentences.
The text is fenced as data, and empty when nothing is relevant: a host may pass it on as it is. A message is plain language:
nothing in it is read as a filter, a phrase or an excluded word.
"""

from __future__ import annotations

import re

from hermes_memory_bridge.recall.connection_recall import find_marking, find_nearest
from hermes_memory_bridge.toolkit.arguments import text, whole_number
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_fact_data, to_gauge_data, to_reason_data
from hermes_memory_bridge.toolkit.tool_spec import COUNT, GAUGE, OBJECT, OBJECTS, TEXT, TEXTS, tool
from hermes_memory_store.context.fence import format_fenced_text
from hermes_memory_store.context.given import NOTHING_TOUCHES, WORDS_ONLY, Given
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.notation.token_count import count_tokens, find_counter

MOST_CHARS = 4_000
"""Of a message that are looked at."""

LEAST, MOST = 60, 4_000
"""Tokens a host may ask for."""


@tool(
    title="Session start",
    description=(
        "Return the session injection payload: notation, gauge, the hot facts that matter now, and active scopes. "
        "Call it at session start."
    ),
    brief="The notation, the facts that matter now, and active scopes.",
    gives={"gauge": GAUGE, "facts": OBJECTS, "left_out": COUNT, "tokens": COUNT},
    place=4,
    reads_only=True,
    repeatable=True,
)
def memory_status(
    connection: Connection,
) -> ToolResult:
    """Return the status block that an agent gets when it starts."""
    block = connection.context_block(connection.session())
    return ToolResult(
        block.text,
        {
            "theme": to_given_name(connection.theme),
            "gauge": to_gauge_data(block.gauge),
            "facts": [to_fact_data(fact, block.marks.get(fact.uid)) for fact in block.facts],
            "left_out": block.left_out,
            "scopes": block.scopes,
            "tokens": block.tokens,
            **({"held": block.held} if block.held else {}),
        },
        block.text.index("\n\n", block.text.index("\n[MEMORY ")) + 2,
    )


def to_plain_words(message: object) -> str:
    """Return the plain words of a message, with nothing of the search language."""
    return (
        " ".join(re.sub(r"""["“”„«»:]|(?<!\S)-+""", " ", message[:MOST_CHARS]).split())
        if isinstance(message, str)
        else ""
    )


@tool(
    title="Context for a message",
    description=(
        "For hosts: facts and past turns that answer a message, as one fenced text within a budget of tokens; empty when none."
    ),
    gives={
        "facts": TEXTS,
        "turns": TEXTS,
        "tokens": COUNT,
        "counted_by": TEXT,
        "ranked_by": TEXT,
        "reasons": OBJECT,
        "lines": OBJECTS,
    },
    query_to_embed=lambda arguments: to_plain_words(arguments.get("message")),
    about="message",
    place=12,
    reads_only=True,
    repeatable=True,
    group="all",
)
def memory_context(
    connection: Connection,
    message: str = text(required=True),
    tokens: int | None = whole_number(
        f"{LEAST}-{MOST}; the theme's injection budget unless given", least=LEAST, most=MOST
    ),
) -> ToolResult:
    """Return what is relevant to a message, as one text."""
    message, theme = message, connection.theme
    budget = tokens
    if budget is None:
        budget = max(LEAST, connection.store.policies.for_theme(theme).injection_tokens)
    session = connection.session()
    context = give_for_message(connection, to_plain_words(message), budget)
    facts = [item.fact for item in context.items if item.fact is not None]
    connection.store.search.note("context", theme, facts, session=session, why=message)
    whole = format_fenced_text("\n".join(item.line for item in context.items)) if context.items else ""
    data = {
        "facts": [fact.uid for fact in facts],
        "turns": [item.uid for item in context.items if item.turn is not None],
        "tokens": count_tokens(whole) if whole else 0,
        "counted_by": find_counter().name,
        "ranked_by": context.ranked_by,
        "reasons": to_reason_data(context.items),
        "lines": [
            {
                "uid": item.uid,
                "line": item.line,
                "tokens": item.tokens,
                **({} if item.turn is None else {"session_id": item.turn.session}),
            }
            for item in context.items
        ],
    }
    if not context.items:
        data["note"] = NOTHING_TOUCHES
    if context.held_note is not None:
        data["held"] = context.held_note
    return ToolResult(whole, data)


def give_for_message(connection: Connection, words: str, budget: int) -> Given:
    """Return the facts and turns that answer a message's words within so many tokens, fence included."""
    vector = connection.query_vector
    if not words:
        return Given(ranked_by=WORDS_ONLY)
    return connection.store.recall.give(
        [connection.theme, *connection.readable_themes()],
        words,
        budget,
        nearest=find_nearest(connection.store, vector),
        ranked_by=None if vector is None else vector.ranked_by,
        mark=find_marking(connection.store, ""),
    )
