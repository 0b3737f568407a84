"""`session_open`, `session_heartbeat` and `session_close`: sessions for clients without a connection of their own."""

from __future__ import annotations

from hermes_memory_bridge.answers import Answer
from hermes_memory_bridge.arguments import Arguments, name_or_none, shown, text, text_or_none, whole
from hermes_memory_bridge.connection import Connection, Lease
from hermes_memory_bridge.tools.spec import WHOLE, ToolSpec
from hermes_memory_store.clock import iso
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import OrphanPolicy, Session, SessionStatus

LEAST_S, MOST_S = 1, 86_400
"""Seconds of a lease."""

BEATS = 2.5
"""Heartbeats in one lease, as in the defaults of 10 s and 25 s."""


def session_open(connection: Connection, arguments: Arguments) -> Answer:
    """Begin a session, or go on with one where it was left."""
    name = name_or_none(arguments, "resume") or name_or_none(arguments, "name") or connection.fresh_name()
    if arguments.get("resume"):
        connection.store.sessions.get(connection.theme, name)
    policy = text_or_none(arguments, "on_orphan") or OrphanPolicy.CHECKPOINT_AND_CLOSE.value
    if policy not in set(OrphanPolicy):
        raise ArgumentError(f"on_orphan must be one of {', '.join(OrphanPolicy)}, not {policy[:40]!r}", policy)
    ttl_ms = ttl_of(arguments, connection.lease)
    lease = Lease(round(ttl_ms / BEATS), ttl_ms, OrphanPolicy(policy))
    session = connection.open_session(name, lease)
    return described(f"session: {session.name}", session)


def session_heartbeat(connection: Connection, arguments: Arguments) -> Answer:
    """The client lives: renew the lease. A session that was closed stays so until there is work in it again."""
    session = connection.store.sessions.get(connection.theme, text(arguments, "session_id"))
    if session.status is SessionStatus.CLOSED:
        return described("closed", session)
    connection.store.sessions.heartbeat(session)
    return described("alive", connection.store.sessions.get(connection.theme, session.name))


def session_close(connection: Connection, arguments: Arguments) -> Answer:
    """End a session properly; its checkpoint is kept."""
    session = connection.store.sessions.get(connection.theme, text(arguments, "session_id"))
    connection.store.sessions.close(session)
    connection.forget(session.name)
    return described("closed", connection.store.sessions.get(connection.theme, session.name))


def ttl_of(arguments: Arguments, lease: Lease) -> int:
    """The lease a client wants, in milliseconds. :raises ArgumentError: out of bounds"""
    if arguments.get("ttl") is None:
        return lease.lease_ms
    seconds = whole("ttl", arguments["ttl"])
    if not LEAST_S <= seconds <= MOST_S:
        raise ArgumentError(f"ttl must be from {LEAST_S} to {MOST_S} seconds, not {shown(seconds)}", seconds)
    return seconds * 1000


def described(said: str, session: Session) -> Answer:
    """A session as an answer."""
    checkpoint = session.checkpoint
    lines = [said, f"turn: {session.turn}"]
    if checkpoint:
        lines.append(f"checkpoint: turn {checkpoint.get('turn')}, scope {checkpoint.get('scope') or '(none)'}")
    return Answer(
        "\n".join(lines),
        {
            "session_id": session.name,
            "status": session.status.value,
            "turn": session.turn,
            "scope": session.scope,
            "heartbeat_s": session.heartbeat_ms / 1000,
            "expires_at": iso(session.heartbeat_at + session.lease_ms),
            "checkpoint": checkpoint,
        },
    )


GIVES = {
    "session_id": {"type": "string"},
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
        "resume": {"type": "string", "description": "session_id of the session to go on with."},
        "on_orphan": {"type": "string", "enum": list(OrphanPolicy)},
    },
    required=(),
    gives=GIVES,
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
    gives=GIVES,
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
    gives=GIVES,
    handler=session_close,
    repeatable=True,
    group="all",
    own_session=False,
)
