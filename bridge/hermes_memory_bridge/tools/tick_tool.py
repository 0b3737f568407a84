"""The tool `memory_tick`."""

from __future__ import annotations

from hermes_memory_bridge.toolkit.arguments import (
    Arguments,
    format_argument_value,
    parse_optional_text,
    parse_whole_number,
)
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_gauge_data
from hermes_memory_bridge.toolkit.tool_spec import GAUGE, WHOLE, ToolSpec
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.intake.intake import to_given_name

MOST = 10**9
"""Turns a session can count."""


def memory_tick(connection: Connection, arguments: Arguments) -> ToolResult:
    """Count a turn of this session."""
    if arguments.get("turn") is None:
        raise ArgumentError("turn is required", None)
    turn = parse_whole_number("turn", arguments["turn"])
    if not 0 <= turn <= MOST:
        raise ArgumentError(
            "turn must be >= 0" if turn < 0 else f"turn must be at most {MOST}, not {format_argument_value(turn)}", turn
        )
    message = parse_optional_text(arguments, "message")
    session = connection.session(arguments)
    tick = connection.store.sessions.tick(session, turn, message)
    if message:
        connection.store.fact_uses.note_said(session, message)
    said = f"turn: {turn}\ngauge: {tick.gauge.pct:.1f}%"
    closed, cooling = ([*map(to_given_name, labels)] for labels in (tick.closed, tick.cooling))
    return ToolResult(
        f"{said}\ncooled: {', '.join(closed)}" if closed else said,
        {"turn": turn, "cooled": closed, "cooling": cooling, "gauge": to_gauge_data(tick.gauge)},
        len(said) + 1 if closed else None,
    )


SPEC = ToolSpec(
    name="memory_tick",
    title="Count a turn",
    description=(
        "Advance this session's turn counter; finished or forgotten scopes close by themselves.\n"
        "Not needed where hooks of the host report its turns."
    ),
    arguments={
        "turn": {"type": WHOLE, "description": "Number of the user message."},
        "message": {"type": "string", "description": "What the user said."},
        "session_id": {"type": "string"},
    },
    required=("turn",),
    gives={
        "turn": {"type": "integer"},
        "cooled": {"type": "array", "items": {"type": "string"}},
        "cooling": {"type": "array", "items": {"type": "string"}},
        "gauge": GAUGE,
    },
    handler=memory_tick,
    about="turn",
)
