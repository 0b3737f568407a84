"""The tool `memory_status`."""

from __future__ import annotations

from hermes_memory_bridge.toolkit.arguments import Arguments
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_fact_data, to_gauge_data
from hermes_memory_bridge.toolkit.tool_spec import FACTS, GAUGE, ToolSpec


def memory_status(connection: Connection, arguments: Arguments) -> ToolResult:
    """Return the status block that an agent gets when it starts."""
    told = connection.context_block(connection.session(arguments))
    return ToolResult(
        told.text,
        {
            "theme": connection.theme,
            "gauge": to_gauge_data(told.gauge),
            "facts": [to_fact_data(fact, told.marks.get(fact.uid)) for fact in told.facts],
            "left_out": told.left_out,
            "scopes": told.scopes,
            "tokens": told.tokens,
            **({"held": told.held} if told.held else {}),
        },
        told.text.index("\n\n", told.text.index("\n[MEMORY ")) + 2,
    )


SPEC = ToolSpec(
    name="memory_status",
    title="Session start",
    description=(
        "Return the session injection payload: notation, gauge, the hot facts that matter now, and active scopes. "
        "Call it at session start."
    ),
    arguments={"session_id": {"type": "string"}},
    required=(),
    gives={"gauge": GAUGE, "facts": FACTS, "left_out": {"type": "integer"}, "tokens": {"type": "integer"}},
    handler=memory_status,
    reads_only=True,
    repeatable=True,
)
