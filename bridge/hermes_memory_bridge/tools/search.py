"""`memory_search`."""

from __future__ import annotations

from hermes_memory_bridge.answers import Answer, fact_data, told
from hermes_memory_bridge.arguments import Arguments, integer, text, text_or_none
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.tools.spec import FACTS, WHOLE, ToolSpec
from hermes_memory_store.model import Tier

MOST = 20
"""Facts one search gives at most, as in hermes-memory 0.3.0."""


def memory_search(connection: Connection, arguments: Arguments) -> Answer:
    """Find facts of this connection's theme."""
    query, scope = text(arguments, "query"), text_or_none(arguments, "scope")
    limit = integer(arguments, "limit", 5, least=1, most=MOST)
    session = connection.session(arguments)
    found = told(connection.store.search.find(connection.theme, query, scope=scope, limit=limit, session=session))
    if scope is not None:
        theme, label = connection.theme, scope
        connection.later(lambda store: store.sessions.referred(session, theme, label))
    lines = [fact.notation + ("" if fact.tier is Tier.HOT else f" [{fact.tier.value}]") for fact in found.facts]
    return Answer(
        "\n".join(lines) or "no results",
        {"facts": [fact_data(fact) for fact in found.facts], "total": found.total, "more": found.more},
    )


SPEC = ToolSpec(
    name="memory_search",
    title="Search memory",
    description=(
        'Search active and cold facts by words, a "phrase", -exclusions or a plain question.\n'
        "Call it before answering on any topic that may have been discussed before.\n"
        "Filters inside the query: type: scope: tier: target: before: after: by:"
    ),
    arguments={
        "query": {"type": "string", "description": "e.g. 'UUID database', 'auth type:decision after:7d'"},
        "scope": {"type": "string", "description": "Only in this scope; an unknown one is an error."},
        "limit": {"type": WHOLE, "description": "1-20", "default": 5},
        "session_id": {"type": "string"},
    },
    required=("query",),
    gives={"facts": FACTS, "total": {"type": "integer"}, "more": {"type": "boolean"}},
    handler=memory_search,
    about="query",
    reads_only=True,
    repeatable=True,
)
