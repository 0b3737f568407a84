"""`memory_search`: by words, and by meaning as far as this machine knows it without asking anybody (see `recall.py`)."""

from __future__ import annotations

from hermes_memory_bridge import recall
from hermes_memory_bridge.answers import Answer, fact_data, noted
from hermes_memory_bridge.arguments import Arguments, integer, text, text_or_none
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.embedding.asked import meant
from hermes_memory_bridge.tools.spec import FACTS, WHOLE, ToolSpec
from hermes_memory_store.model import Tier

MOST = 20
"""Facts one search gives at most, as in hermes-memory 0.3.0."""


def memory_search(connection: Connection, arguments: Arguments) -> Answer:
    """Find facts of this connection's theme."""
    query, scope, limit = line_of(arguments)
    session = connection.session(arguments)
    result = recall.search(connection, query, limit, scope=scope)
    found = result.found
    connection.store.search.note("search", connection.theme, found.facts, session=session, why=query)
    if scope is not None:
        theme, label = connection.theme, scope
        connection.later(lambda store: store.sessions.referred(session, theme, label))
    lines = [fact.notation + ("" if fact.tier is Tier.HOT else f" [{fact.tier.value}]") for fact in found.facts]
    data = {
        "facts": [fact_data(fact) for fact in found.facts],
        "total": found.total,
        "more": found.more,
        "ranked_by": result.ranked_by,
    }
    return noted(Answer("\n".join(lines) or "no results", data), found.note)


def line_to_mean(connection: Connection, arguments: Arguments) -> str | None:
    """The line whose meaning tells more than its words do; None where these answer it or exactly they are meant."""
    query, scope, limit = line_of(arguments)
    if meant(query) is None or recall.is_answered_by_words(connection, query, limit, scope=scope):
        return None
    return query


def line_of(arguments: Arguments) -> tuple[str, str | None, int]:
    """What is searched for, in which scope, and how many facts are wanted. :raises ArgumentError: for another value"""
    limit = integer(arguments, "limit", 5, least=1, most=MOST)
    return text(arguments, "query"), text_or_none(arguments, "scope"), limit


SPEC = ToolSpec(
    name="memory_search",
    title="Search memory",
    description=(
        'Search active and cold facts by words and meaning, a "phrase", -exclusions or a question.\n'
        "Call it before answering on any topic discussed before.\n"
        "Filters in the query: type: scope: tier: target: before: after: by:"
    ),
    arguments={
        "query": {"type": "string", "description": "e.g. 'UUID database', 'auth type:decision after:7d'"},
        "scope": {"type": "string", "description": "An unknown scope is an error."},
        "limit": {"type": WHOLE, "description": "1-20", "default": 5},
        "session_id": {"type": "string"},
    },
    required=("query",),
    gives={"facts": FACTS, "total": {"type": "integer"}, "more": {"type": "boolean"}, "ranked_by": {"type": "string"}},
    handler=memory_search,
    meant_here=line_to_mean,
    about="query",
    reads_only=True,
    repeatable=True,
)
