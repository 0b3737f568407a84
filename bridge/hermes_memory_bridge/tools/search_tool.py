"""`memory_search`: facts by words, and by meaning as far as this machine can without asking anybody."""

from __future__ import annotations

from hermes_memory_bridge.embedding.query_vector import find_embeddable_words
from hermes_memory_bridge.recall.connection_recall import is_exact_lookup, recall_facts
from hermes_memory_bridge.toolkit.arguments import (
    Arguments,
    parse_integer_argument,
    parse_optional_text,
    parse_text_argument,
)
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, add_held_note, add_note, to_fact_data, to_reason_data
from hermes_memory_bridge.toolkit.tool_spec import FACTS, REASONS, WHOLE, ToolSpec
from hermes_memory_store.context.fence import format_fenced_text
from hermes_memory_store.model import Tier

MOST = 20
"""Facts one search gives at most, as in hermes-memory 0.3.0."""


def memory_search(connection: Connection, arguments: Arguments) -> ToolResult:
    """Find facts of this connection's theme."""
    query, scope, limit = parse_search_arguments(arguments)
    session = connection.session(arguments)
    found = recall_facts(connection, [connection.theme], query, limit, scope=scope)
    facts = [item.fact for item in found.items if item.fact is not None]
    connection.store.search.note("search", connection.theme, facts, session=session, why=query)
    if scope is not None:
        theme, label = connection.theme, scope
        connection.add_deferred_task(lambda store: store.sessions.note_reference(session, theme, label))
    lines = [
        item.line + ("" if fact.tier is Tier.HOT else f" [{fact.tier.value}]")
        for item, fact in zip(found.items, facts, strict=True)
    ]
    data = {
        "facts": [to_fact_data(fact, item.mark) for item, fact in zip(found.items, facts, strict=True)],
        "total": found.total,
        "more": found.more,
        "ranked_by": found.ranked_by,
        "reasons": to_reason_data(found.items),
    }
    answer = ToolResult(format_fenced_text("\n".join(lines)) if lines else "no results", data)
    return add_note(add_held_note(answer, found.held_note), found.note)


def suffice_words(connection: Connection, arguments: Arguments) -> bool:
    """Check whether a line is meant literally, or enough facts have every word of it."""
    query, scope, limit = parse_search_arguments(arguments)
    return find_embeddable_words(query) is None or is_exact_lookup(connection, query, limit, scope=scope)


def parse_search_arguments(arguments: Arguments) -> tuple[str, str | None, int]:
    """Parse the query, its scope, and the number of facts wanted.

    :raises ArgumentError: for any other value
    """
    limit = parse_integer_argument(arguments, "limit", 5, least=1, most=MOST)
    return parse_text_argument(arguments, "query"), parse_optional_text(arguments, "scope"), limit


SPEC = ToolSpec(
    name="memory_search",
    title="Search memory",
    description=(
        'Search active and cold facts by words and meaning, a "phrase", -exclusions or a question.\n'
        "Call it before answering on any topic discussed before.\n"
        "Filters in the query: type: scope: tier: target: before: after: by: from: in: branch:"
    ),
    arguments={
        "query": {"type": "string", "description": "e.g. 'UUID database', 'auth type:decision after:7d'"},
        "scope": {"type": "string", "description": "An unknown scope is an error."},
        "limit": {"type": WHOLE, "description": "1-20", "default": 5},
        "session_id": {"type": "string"},
    },
    required=("query",),
    gives={
        "facts": FACTS,
        "total": {"type": "integer"},
        "more": {"type": "boolean"},
        "ranked_by": {"type": "string"},
        "reasons": REASONS,
    },
    handler=memory_search,
    query_to_embed=lambda arguments: arguments.get("query"),
    words_suffice=suffice_words,
    about="query",
    reads_only=True,
    repeatable=True,
)
