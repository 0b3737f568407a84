"""`memory_turn`, and `recall_conversation` that finds what it captured."""

from __future__ import annotations

from hermes_memory_bridge import recall
from hermes_memory_bridge.answers import Answer
from hermes_memory_bridge.arguments import Arguments, text, text_or_none
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.tools.noise import unkept
from hermes_memory_bridge.tools.recalling import LIMIT, RESULTS, limit_of, recalled, themes_of
from hermes_memory_bridge.tools.spec import ToolSpec
from hermes_memory_store.clock import iso
from hermes_memory_store.turn_rows import ROLES
from hermes_memory_store.uids import short

SHOWN = 2_000
"""Characters of a turn that recall shows, as hermes-memory-pgvector does."""


def memory_turn(connection: Connection, arguments: Arguments) -> Answer:
    """Capture one message, if the theme keeps such."""
    role, content = text(arguments, "role"), text(arguments, "content")
    if role in ROLES:
        why = unkept(content, connection.store.policies.for_theme(connection.theme))
        if why is not None and content.strip():
            return Answer(f"not kept: {why}", {"kept": False, "why": why, "role": role})
    session = connection.session(arguments)
    if connection.trust is not None:
        content = connection.trust.mask(connection.theme, "turn", content).content
    turn = connection.store.turns.add(connection.theme, role, content, session=session)
    return Answer(f"captured: {short(turn.uid)}", {"kept": True, "uid": turn.uid, "role": role, "at": iso(turn.at)})


def recall_conversation(connection: Connection, arguments: Arguments) -> Answer:
    """Find what was said."""
    query, limit = text(arguments, "query"), limit_of(arguments)
    scope = (text_or_none(arguments, "scope") or "current").strip().lower()
    # A session is one of this theme: without that, one agent would read what another's was told.
    within = connection.session_name(arguments) if scope == "session" else None
    themes = [connection.theme] if scope == "session" else themes_of(connection, scope)
    return recalled(
        connection,
        [
            {
                "id": one.turn.uid,
                "agent_identity": one.turn.theme,
                "session_id": one.turn.session,
                "role": one.turn.role,
                "ts": iso(one.turn.at),
                "score": round(one.score, 4),
                "content": one.turn.content[:SHOWN],
            }
            for one in recall.turns(connection, themes, query, limit, within=within)
        ],
    )


CAPTURE = ToolSpec(
    name="memory_turn",
    title="Capture a message",
    description="Keep one message of the conversation word for word, so that recall_conversation finds it later.",
    arguments={
        "role": {"type": "string", "enum": list(ROLES)},
        "content": {"type": "string", "description": "What was said, whole."},
        "session_id": {"type": "string"},
    },
    required=("role", "content"),
    gives={
        "kept": {"type": "boolean"},
        "why": {"type": "string"},
        "uid": {"type": "string"},
        "role": {"type": "string"},
        "at": {"type": "string"},
    },
    handler=memory_turn,
    about="role",
)

RECALL = ToolSpec(
    name="recall_conversation",
    title="Recall what was said",
    description="Search past turns of all sessions, when the user refers to something said before.",
    arguments={
        "query": {"type": "string"},
        "scope": {"type": "string", "description": "current, session, all, or a theme", "default": "current"},
        "limit": LIMIT,
        "team": {"type": "boolean"},
        "session_id": {"type": "string"},
    },
    required=("query",),
    gives=RESULTS,
    handler=recall_conversation,
    asks_team="turn",
    meant=lambda arguments: arguments.get("query"),
    about="query",
    reads_only=True,
    repeatable=True,
)
