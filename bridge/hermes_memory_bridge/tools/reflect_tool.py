"""The tool `memory_reflect`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from hermes_memory_bridge.recall.connection_recall import recall_facts
from hermes_memory_bridge.toolkit.arguments import Arguments, parse_integer_argument, parse_text_argument
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, add_held_note, add_note, to_fact_data
from hermes_memory_bridge.toolkit.tool_spec import FACTS, WHOLE, ToolSpec
from hermes_memory_bridge.tools.search_tool import MOST
from hermes_memory_store.model import FactType, Tier

HEADINGS = {
    FactType.CONSTRAINT: "Constraints",
    FactType.DECISION: "Decisions",
    FactType.VALUE: "Values",
    FactType.DONE: "Resolved",
    FactType.OBSOLETE: "Obsolete",
    FactType.UNKNOWN: "Open questions",
}
"""Order and words of hermes-memory 0.3.0."""


def memory_reflect(connection: Connection, arguments: Arguments) -> ToolResult:
    """Return everything known about a topic, grouped by type."""
    topic = parse_text_argument(arguments, "topic")
    limit = parse_integer_argument(arguments, "limit", MOST, least=1, most=MOST)
    found = recall_facts(connection, [connection.theme], topic, limit)
    facts = [item.fact for item in found.items if item.fact is not None]
    connection.store.search.note("search", connection.theme, facts, session=connection.session(arguments), why=topic)
    if not facts:
        answer = ToolResult(f"no facts found for topic: {topic[:200]}", {"facts": [], "ranked_by": found.ranked_by})
        return add_note(add_held_note(answer, found.held_note), found.note)
    groups: dict[FactType, list[str]] = defaultdict(list)
    for item, fact in zip(found.items, facts, strict=True):
        label = "" if item.mark is None else f" {item.mark.label}"
        tier = "" if fact.tier is Tier.HOT else f"  ({fact.tier.value})"
        groups[fact.type].append(f"  [{fact.target}]: {fact.content}{label}{tier}")
    lines = [f"reflection: {topic[:200]}  ({len(facts)} facts)", ""]
    for kind, heading in HEADINGS.items():
        if groups[kind]:
            lines += [f"{heading}:", *groups[kind], ""]
    data = {
        "facts": [to_fact_data(fact, item.mark) for item, fact in zip(found.items, facts, strict=True)],
        "ranked_by": found.ranked_by,
    }
    answer = add_note(add_held_note(ToolResult("\n".join(lines).rstrip(), data), found.held_note), found.note)
    return replace(answer, fenced_from=0)


SPEC = ToolSpec(
    name="memory_reflect",
    title="What did we decide about …",
    description=(
        "Collect all facts (hot and cold) about a topic, grouped by type.\n"
        "Use it when the user asks 'what did we decide about X?' or before a decision with a long history."
    ),
    arguments={
        "topic": {"type": "string", "description": "e.g. 'auth' or 'database schema'"},
        "limit": {"type": WHOLE, "description": "1-20", "default": 20},
        "session_id": {"type": "string"},
    },
    required=("topic",),
    gives={"facts": FACTS, "ranked_by": {"type": "string"}},
    handler=memory_reflect,
    query_to_embed=lambda arguments: arguments.get("topic"),
    about="topic",
    reads_only=True,
    repeatable=True,
)
