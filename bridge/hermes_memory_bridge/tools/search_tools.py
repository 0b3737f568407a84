"""`memory_search` and `memory_reflect`: facts by words, and by meaning as far as this machine can without asking anybody."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from hermes_memory_bridge.embedding.query_vector import find_embeddable_words
from hermes_memory_bridge.recall.connection_recall import is_exact_lookup, recall_facts
from hermes_memory_bridge.toolkit.arguments import (
    Arguments,
    parse_optional_text,
    parse_text_argument,
    text,
    whole_number,
)
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import (
    ToolResult,
    add_held_note,
    add_note,
    format_cited_places,
    to_fact_data,
    to_reason_data,
)
from hermes_memory_bridge.toolkit.tool_spec import COUNT, OBJECT, OBJECTS, TEXT, YES, tool
from hermes_memory_store.context.fence import format_fenced_text
from hermes_memory_store.model import FactType, Tier

MOST = 20
"""Facts one search gives at most, as in hermes-memory 0.3.0."""

HEADINGS = {
    FactType.CONSTRAINT: "Constraints",
    FactType.DECISION: "Decisions",
    FactType.VALUE: "Values",
    FactType.DONE: "Resolved",
    FactType.OBSOLETE: "Obsolete",
    FactType.UNKNOWN: "Open questions",
}
"""Order and words of hermes-memory 0.3.0."""


LIMIT = whole_number("1-20", 5, least=1, most=MOST)


def suffice_words(connection: Connection, arguments: Arguments) -> bool:
    """Check whether a line is meant literally, or enough facts have every word of it."""
    query, scope = parse_text_argument(arguments, "query"), parse_optional_text(arguments, "scope")
    return find_embeddable_words(query) is None or is_exact_lookup(
        connection, query, LIMIT.parse(arguments, "limit"), scope=scope
    )


@tool(
    title="Search memory",
    description=(
        'Search active and cold facts by words and meaning, a "phrase", -exclusions or a question.\n'
        "Call it before answering on any topic discussed before.\n"
        "Filters in the query: type: scope: tier: target: before: after: by: from: in: branch: host:"
    ),
    brief=(
        'Search facts by words and meaning, a "phrase", -exclusions or a question, before you answer on a topic of before.\n'
        "Filters: type: scope: tier: target: before: after: by: from: in: branch: host:"
    ),
    unshown=("scope",),
    gives={"facts": OBJECTS, "total": COUNT, "more": YES, "ranked_by": TEXT, "reasons": OBJECT},
    query_to_embed=lambda arguments: arguments.get("query"),
    words_suffice=suffice_words,
    about="query",
    place=2,
    reads_only=True,
    repeatable=True,
)
def memory_search(
    connection: Connection,
    query: str = text("e.g. 'UUID database', 'auth type:decision after:7d'", required=True),
    scope: str | None = text("An unknown scope is an error."),
    limit: int = LIMIT,
) -> ToolResult:
    """Find facts of this connection's theme."""
    session = connection.session()
    matches = recall_facts(connection, [connection.theme], query, limit, scope=scope)
    facts = [item.fact for item in matches.items if item.fact is not None]
    connection.store.search.note("search", connection.theme, facts, session=session, why=query)
    if scope is not None:
        theme, label = connection.theme, scope
        connection.add_deferred_task(lambda store: store.sessions.note_reference(session, theme, label))
    lines = [
        item.line + format_cited_places(fact) + ("" if fact.tier is Tier.HOT else f" [{fact.tier.value}]")
        for item, fact in zip(matches.items, facts, strict=True)
    ]
    data = {
        "facts": [to_fact_data(fact, item.mark) for item, fact in zip(matches.items, facts, strict=True)],
        "total": matches.total,
        "more": matches.more,
        "ranked_by": matches.ranked_by,
        "reasons": to_reason_data(matches.items),
    }
    answer = ToolResult(format_fenced_text("\n".join(lines)) if lines else "no results", data)
    return add_note(add_held_note(answer, matches.held_note), matches.note)


@tool(
    title="What did we decide about …",
    description=(
        "Collect all facts (hot and cold) about a topic, grouped by type.\n"
        "Use it when the user asks 'what did we decide about X?' or before a decision with a long history."
    ),
    gives={"facts": OBJECTS, "ranked_by": TEXT},
    query_to_embed=lambda arguments: arguments.get("topic"),
    about="topic",
    place=5,
    reads_only=True,
    repeatable=True,
)
def memory_reflect(
    connection: Connection,
    topic: str = text("e.g. 'auth' or 'database schema'", required=True),
    limit: int = whole_number("1-20", 20, least=1, most=MOST),
) -> ToolResult:
    """Return everything known about a topic, grouped by type."""
    session = connection.session()
    matches = recall_facts(connection, [connection.theme], topic, limit)
    facts = [item.fact for item in matches.items if item.fact is not None]
    connection.store.search.note("search", connection.theme, facts, session=session, why=topic)
    if not facts:
        answer = ToolResult(f"no facts found for topic: {topic[:200]}", {"facts": [], "ranked_by": matches.ranked_by})
        return add_note(add_held_note(answer, matches.held_note), matches.note)
    groups: dict[FactType, list[str]] = defaultdict(list)
    for item, fact in zip(matches.items, facts, strict=True):
        label = "" if item.mark is None else f" {item.mark.label}"
        tier = "" if fact.tier is Tier.HOT else f"  ({fact.tier.value})"
        groups[fact.type].append(f"  [{fact.target}]: {fact.content}{label}{format_cited_places(fact)}{tier}")
    lines = [f"reflection: {topic[:200]}  ({len(facts)} facts)", ""]
    for kind, heading in HEADINGS.items():
        if groups[kind]:
            lines += [f"{heading}:", *groups[kind], ""]
    data = {
        "facts": [to_fact_data(fact, item.mark) for item, fact in zip(matches.items, facts, strict=True)],
        "ranked_by": matches.ranked_by,
    }
    answer = add_note(add_held_note(ToolResult("\n".join(lines).rstrip(), data), matches.held_note), matches.note)
    return replace(answer, fenced_from=0)
