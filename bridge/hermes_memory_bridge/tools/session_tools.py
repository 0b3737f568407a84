"""`session_open`, `session_heartbeat` and `session_close`, for clients without a lasting connection, and `memory_tick`."""

from __future__ import annotations

from hermes_memory_bridge.toolkit.arguments import (
    WHOLE,
    Arguments,
    argument,
    choice,
    format_argument_value,
    parse_bounded_number,
    parse_optional_name,
    parse_whole_number,
    text,
)
from hermes_memory_bridge.toolkit.connection import Connection, LeaseTimes
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_gauge_data, to_given_scope
from hermes_memory_bridge.toolkit.tool_spec import COUNT, GAUGE, TEXT, TEXTS, tool
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.model import OrphanPolicy, Session, SessionStatus

LEAST_S, MOST_S = 1, 86_400
"""Seconds of a lease."""

HEARTBEATS_PER_LEASE = 2.5
"""Heartbeats in one lease, as in the defaults of 10 s and 25 s."""

MOST_TURNS = 10**9
"""Turns a session can count."""

SESSION = {"session_id": TEXT, "title": TEXT, "status": TEXT, "turn": COUNT, "expires_at": TEXT}


def parse_turn_number(arguments: Arguments, name: str) -> int:
    """Return the number of a turn.

    :raises ArgumentError: it is missing, or out of bounds
    """
    if arguments.get(name) is None:
        raise ArgumentError(f"{name} is required", None)
    turn = parse_whole_number(name, arguments[name])
    if not 0 <= turn <= MOST_TURNS:
        bound = ">= 0" if turn < 0 else f"at most {MOST_TURNS}, not {format_argument_value(turn)}"
        raise ArgumentError(f"{name} must be {bound}", turn)
    return turn


@tool(
    title="Open a session",
    description=(
        "For clients without a lasting connection: begin a session with a lease, or resume one. "
        "Pass its session_id to the other tools."
    ),
    gives=SESSION,
    place=18,
    group="all",
    own_session=False,
)
def session_open(
    connection: Connection,
    ttl: object = argument(
        {"type": WHOLE, "description": "Seconds without a sign of life after which it counts as dead."}, dict.get
    ),
    name: str | None = argument({"type": "string"}, parse_optional_name),
    resume: str | None = argument(
        {"type": "string", "description": "session_id, title or a unique beginning of the session to go on with."},
        parse_optional_name,
    ),
    on_orphan: str | None = choice(OrphanPolicy),
) -> ToolResult:
    """Begin a session, or resume one where it was left."""
    name = resume or name or connection.new_session_name()
    if resume:
        name = connection.store.sessions.find(name, theme=connection.theme).name
    # A session that is not there is named before a lease that cannot be.
    seconds = parse_bounded_number({"ttl": ttl}, "ttl", least=LEAST_S, most=MOST_S, unit=" seconds")
    ttl_ms = connection.lease.lease_ms if seconds is None else seconds * 1000
    policy = OrphanPolicy(on_orphan or OrphanPolicy.CHECKPOINT_AND_CLOSE)
    session = connection.open_session(name, LeaseTimes(round(ttl_ms / HEARTBEATS_PER_LEASE), ttl_ms, policy))
    return to_session_result(f"session: {to_given_name(session.title)}", session)


@tool(
    title="Keep a session alive",
    description="Renew the lease of a session. Any call with its session_id does so too.",
    gives=SESSION,
    place=19,
    repeatable=True,
    group="all",
    own_session=False,
)
def session_heartbeat(connection: Connection, session_id: str = text(required=True)) -> ToolResult:
    """Renew the lease of a live client. A closed session stays closed until it is used again."""
    session = connection.store.sessions.find(session_id, theme=connection.theme)
    if session.status is SessionStatus.CLOSED:
        return to_session_result("closed", session)
    connection.store.sessions.heartbeat(session)
    return to_session_result("alive", connection.store.sessions.get(connection.theme, session.name))


@tool(
    title="Close a session",
    description="End a session properly. It can be resumed from its checkpoint.",
    gives=SESSION,
    place=20,
    repeatable=True,
    group="all",
    own_session=False,
)
def session_close(connection: Connection, session_id: str = text(required=True)) -> ToolResult:
    """End a session properly, keeping its checkpoint."""
    session = connection.store.sessions.find(session_id, theme=connection.theme)
    connection.store.sessions.close(session)
    connection.remove_session(session.name)
    return to_session_result("closed", connection.store.sessions.get(connection.theme, session.name))


@tool(
    title="Count a turn",
    description=(
        "Advance this session's turn counter; finished or forgotten scopes close by themselves.\n"
        "Not needed where hooks of the host report its turns."
    ),
    gives={"turn": COUNT, "cooled": TEXTS, "cooling": TEXTS, "gauge": GAUGE},
    about="turn",
    place=3,
)
def memory_tick(
    connection: Connection,
    turn: int = argument(
        {"type": WHOLE, "description": "Number of the user message."}, parse_turn_number, required=True
    ),
    message: str | None = text("What the user said."),
) -> ToolResult:
    """Count a turn of this session."""
    session = connection.session()
    tick = connection.store.sessions.tick(session, turn, message)
    if message:
        connection.store.fact_uses.note_said(session, message)
    counted = f"turn: {turn}\ngauge: {tick.gauge.pct:.1f}%"
    closed, cooling = ([*map(to_given_name, labels)] for labels in (tick.closed, tick.cooling))
    return ToolResult(
        f"{counted}\ncooled: {', '.join(closed)}" if closed else counted,
        {"turn": turn, "cooled": closed, "cooling": cooling, "gauge": to_gauge_data(tick.gauge)},
        len(counted) + 1 if closed else None,
    )


def to_session_result(state: str, session: Session) -> ToolResult:
    """Return a session as a tool result."""
    checkpoint = to_given_scope(session.checkpoint)
    lines = [state, f"turn: {session.turn}"]
    if checkpoint:
        lines.append(f"checkpoint: turn {checkpoint.get('turn')}, scope {checkpoint.get('scope') or '(none)'}")
    return ToolResult(
        "\n".join(lines),
        {
            "session_id": session.name,
            "title": to_given_name(session.title),
            "status": session.status.value,
            "turn": session.turn,
            "scope": session.scope and to_given_name(session.scope),
            "heartbeat_s": session.heartbeat_ms / 1000,
            "expires_at": format_iso_time(session.heartbeat_at + session.lease_ms),
            "checkpoint": checkpoint,
        },
    )
