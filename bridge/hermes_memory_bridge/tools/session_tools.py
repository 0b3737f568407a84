"""`session_open`, `session_heartbeat` and `session_close`: sessions for clients without a connection of their own."""

from __future__ import annotations

from hermes_memory_bridge.toolkit.arguments import (
    Arguments,
    format_argument_value,
    parse_optional_name,
    parse_optional_text,
    parse_text_argument,
    parse_whole_number,
)
from hermes_memory_bridge.toolkit.connection import Connection, LeaseTimes
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_given_scope
from hermes_memory_bridge.toolkit.tool_spec import WHOLE, ToolSpec
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.model import OrphanPolicy, Session, SessionStatus

LEAST_S, MOST_S = 1, 86_400
"""Seconds of a lease."""

HEARTBEATS_PER_LEASE = 2.5
"""Heartbeats in one lease, as in the defaults of 10 s and 25 s."""


def session_open(connection: Connection, arguments: Arguments) -> ToolResult:
    """Begin a session, or resume one where it was left."""
    name = (
        parse_optional_name(arguments, "resume")
        or parse_optional_name(arguments, "name")
        or connection.new_session_name()
    )
    if arguments.get("resume"):
        name = connection.store.sessions.find(name, theme=connection.theme).name
    policy = parse_optional_text(arguments, "on_orphan") or OrphanPolicy.CHECKPOINT_AND_CLOSE.value
    if policy not in set(OrphanPolicy):
        raise ArgumentError(f"on_orphan must be one of {', '.join(OrphanPolicy)}, not {policy[:40]!r}", policy)
    ttl_ms = parse_lease_ttl(arguments, connection.lease)
    lease = LeaseTimes(round(ttl_ms / HEARTBEATS_PER_LEASE), ttl_ms, OrphanPolicy(policy))
    session = connection.open_session(name, lease)
    return to_session_result(f"session: {to_given_name(session.title)}", session)


def session_heartbeat(connection: Connection, arguments: Arguments) -> ToolResult:
    """Renew the lease of a live client. A closed session stays closed until it is used again."""
    session = connection.store.sessions.find(parse_text_argument(arguments, "session_id"), theme=connection.theme)
    if session.status is SessionStatus.CLOSED:
        return to_session_result("closed", session)
    connection.store.sessions.heartbeat(session)
    return to_session_result("alive", connection.store.sessions.get(connection.theme, session.name))


def session_close(connection: Connection, arguments: Arguments) -> ToolResult:
    """End a session properly, keeping its checkpoint."""
    session = connection.store.sessions.find(parse_text_argument(arguments, "session_id"), theme=connection.theme)
    connection.store.sessions.close(session)
    connection.remove_session(session.name)
    return to_session_result("closed", connection.store.sessions.get(connection.theme, session.name))


def parse_lease_ttl(arguments: Arguments, lease: LeaseTimes) -> int:
    """Return the requested lease in milliseconds.

    :raises ArgumentError: it is out of bounds
    """
    if arguments.get("ttl") is None:
        return lease.lease_ms
    seconds = parse_whole_number("ttl", arguments["ttl"])
    if not LEAST_S <= seconds <= MOST_S:
        raise ArgumentError(
            f"ttl must be from {LEAST_S} to {MOST_S} seconds, not {format_argument_value(seconds)}", seconds
        )
    return seconds * 1000


def to_session_result(said: str, session: Session) -> ToolResult:
    """Return a session as a tool result."""
    checkpoint = to_given_scope(session.checkpoint)
    lines = [said, f"turn: {session.turn}"]
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


SESSION_SCHEMA = {
    "session_id": {"type": "string"},
    "title": {"type": "string"},
    "status": {"type": "string"},
    "turn": {"type": "integer"},
    "expires_at": {"type": "string"},
}

OPEN = ToolSpec(
    name="session_open",
    title="Open a session",
    description=(
        "For clients without a lasting connection: begin a session with a lease, or resume one. "
        "Pass its session_id to the other tools."
    ),
    arguments={
        "ttl": {"type": WHOLE, "description": "Seconds without a sign of life after which it counts as dead."},
        "name": {"type": "string"},
        "resume": {
            "type": "string",
            "description": "session_id, title or a unique beginning of the session to go on with.",
        },
        "on_orphan": {"type": "string", "enum": list(OrphanPolicy)},
    },
    required=(),
    gives=SESSION_SCHEMA,
    handler=session_open,
    group="all",
    own_session=False,
)

HEARTBEAT = ToolSpec(
    name="session_heartbeat",
    title="Keep a session alive",
    description="Renew the lease of a session. Any call with its session_id does so too.",
    arguments={"session_id": {"type": "string"}},
    required=("session_id",),
    gives=SESSION_SCHEMA,
    handler=session_heartbeat,
    repeatable=True,
    group="all",
    own_session=False,
)

CLOSE = ToolSpec(
    name="session_close",
    title="Close a session",
    description="End a session properly. It can be resumed from its checkpoint.",
    arguments={"session_id": {"type": "string"}},
    required=("session_id",),
    gives=SESSION_SCHEMA,
    handler=session_close,
    repeatable=True,
    group="all",
    own_session=False,
)
