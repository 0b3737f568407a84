"""`memory_reflect`."""

from __future__ import annotations

from collections import defaultdict

from hermes_memory_bridge.answers import Answer, fact_data, noted, told
from hermes_memory_bridge.arguments import Arguments, integer, text
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.tools.search import MOST
from hermes_memory_bridge.tools.spec import FACTS, WHOLE, ToolSpec
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


def memory_reflect(connection: Connection, arguments: Arguments) -> Answer:
    """Everything known about a topic, grouped by type."""
    topic = text(arguments, "topic")
    limit = integer(arguments, "limit", MOST, least=1, most=MOST)
    found = told(
        connection.store.search.find(connection.theme, topic, limit=limit, session=connection.session(arguments))
    )
    if not found.facts:
        return noted(Answer(f"no facts found for topic: {topic[:200]}", {"facts": []}), found.note)
    groups: dict[FactType, list[str]] = defaultdict(list)
    for fact in found.facts:
        tier = "" if fact.tier is Tier.HOT else f"  ({fact.tier.value})"
        groups[fact.type].append(f"  [{fact.target}]: {fact.content}{tier}")
    lines = [f"reflection: {topic[:200]}  ({len(found.facts)} facts)", ""]
    for kind, heading in HEADINGS.items():
        if groups[kind]:
            lines += [f"{heading}:", *groups[kind], ""]
    data = {"facts": [fact_data(fact) for fact in found.facts]}
    return noted(Answer("\n".join(lines).rstrip(), data), found.note)


SPEC = ToolSpec(
    name="memory_reflect",
    title="What did we decide about …",
    description=(
        "Collect all facts (hot and cold) about a topic, grouped by type.\n"
        "Use it when the user asks 'what did we decide about X?' or before a decision with a long history. Read-only."
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
