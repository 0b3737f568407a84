"""`memory_status`."""

from __future__ import annotations

from hermes_memory_bridge.answers import Answer, fact_data, gauge_data
from hermes_memory_bridge.arguments import Arguments
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.tools.spec import FACTS, GAUGE, ToolSpec


def memory_status(connection: Connection, arguments: Arguments) -> Answer:
    """What the agent is told at the start."""
    told = connection.store.injection.status(connection.theme, session=connection.session(arguments))
    return Answer(
        told.text,
        {
            "theme": connection.theme,
            "gauge": gauge_data(told.gauge),
            "facts": [fact_data(fact) for fact in told.facts],
            "left_out": told.left_out,
            "scopes": told.scopes,
            "tokens": told.tokens,
        },
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
