"""The tool `memory_reflect`."""

from __future__ import annotations

from collections import defaultdict

from hermes_memory_bridge.recall.branch_ranking import rank_search_by_branch
from hermes_memory_bridge.toolkit.arguments import Arguments, parse_integer_argument, parse_text_argument
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, add_held_note, add_note, to_fact_data, visible_results
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
    found = visible_results(
        connection.store.search.find(
            connection.theme,
            topic,
            limit=limit,
            session=connection.session(arguments),
            also=connection.readable_themes(),
        )
    )
    marked = rank_search_by_branch(connection.store, found, limit, topic).marked
    if not marked.given:
        answer = ToolResult(f"no facts found for topic: {topic[:200]}", {"facts": []})
        return add_note(add_held_note(answer, marked.held_note), found.note)
    groups: dict[FactType, list[str]] = defaultdict(list)
    for one in marked.given:
        fact, label = one.fact, "" if one.mark is None else f" {one.mark.label}"
        tier = "" if fact.tier is Tier.HOT else f"  ({fact.tier.value})"
        groups[fact.type].append(f"  [{fact.target}]: {fact.content}{label}{tier}")
    lines = [f"reflection: {topic[:200]}  ({len(marked.given)} facts)", ""]
    for kind, heading in HEADINGS.items():
        if groups[kind]:
            lines += [f"{heading}:", *groups[kind], ""]
    data = {"facts": [to_fact_data(one.fact, one.mark) for one in marked.given]}
    return add_note(add_held_note(ToolResult("\n".join(lines).rstrip(), data), marked.held_note), found.note)


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
    gives={"facts": FACTS},
    handler=memory_reflect,
    about="topic",
    reads_only=True,
    repeatable=True,
)
