"""`memory_turn`, which captures messages, and `recall_conversation`, which finds them."""

from __future__ import annotations

from hermes_memory_bridge.provider import provider_settings
from hermes_memory_bridge.recall.connection_recall import recall_turns
from hermes_memory_bridge.toolkit.arguments import Arguments, parse_optional_text, parse_text_argument
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult
from hermes_memory_bridge.toolkit.tool_spec import ToolSpec
from hermes_memory_bridge.tools.acknowledgements import explain_skipped_message
from hermes_memory_bridge.tools.recall_tool import (
    LIMIT,
    RESULTS,
    find_recall_themes,
    parse_recall_limit,
    to_recall_result,
)
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.conversations.turn_rows import ROLES
from hermes_memory_store.hosts.capture_switch import may_capture
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.model import Turn
from hermes_memory_store.uids import short_uid

SHOWN = 2_000
"""Characters of a turn that recall shows, as hermes-memory-pgvector does."""


def memory_turn(connection: Connection, arguments: Arguments) -> ToolResult:
    """Capture one message, if the theme's policy keeps it and capture is not stopped."""
    role, content = parse_text_argument(arguments, "role"), parse_text_argument(arguments, "content")
    if role in ROLES:
        ruling = may_capture(str(connection.store.path), "", connection.folder or "")
        why = explain_skipped_message(content, connection.store.policies.for_theme(connection.theme))
        if not ruling.allowed:
            why = f"capture is {ruling.why}"
        elif is_unasked_provider(connection):
            why = provider_settings.UNASKED
        if why is not None and content.strip():
            return ToolResult(f"not kept: {why}", {"kept": False, "why": why, "role": role})
    session = connection.session(arguments)
    turn = connection.store.turns.add(connection.theme, role, content, session=session)
    connection.store.fact_uses.note_said(session, content)
    return ToolResult(
        f"captured: {short_uid(turn.uid)}",
        {"kept": True, "uid": turn.uid, "role": role, "at": format_iso_time(turn.at)},
    )


def is_unasked_provider(connection: Connection) -> bool:
    """Check whether a profile's provider sends a message though nobody said yes: one of an earlier version does not ask."""
    home = connection.home
    if home is None or (connection.client_name, connection.client_version) != (provider_settings.HOST, "provider"):
        return False
    return not provider_settings.find_capture_answer(str(home), str(connection.store.path))


def recall_conversation(connection: Connection, arguments: Arguments) -> ToolResult:
    """Find captured messages."""
    query, limit = parse_text_argument(arguments, "query"), parse_recall_limit(arguments)
    scope = (parse_optional_text(arguments, "scope") or "current").strip().lower()
    # A session is one of this theme: without that, one agent would read what another's was told.
    within = connection.session_name(arguments) if scope == "session" else None
    themes = [connection.theme] if scope == "session" else find_recall_themes(connection, scope)
    found = recall_turns(connection, themes, query, limit, within=within)
    turns = [item.turn for item in found.items if item.turn is not None]
    return to_recall_result(
        connection,
        found.ranked_by,
        [
            {
                "id": turn.uid,
                "agent_identity": turn.theme,
                "session_id": turn.session and to_given_name(turn.session),
                "role": turn.role,
                "ts": format_iso_time(turn.at),
                "score": round(item.score, 4),
                "content": turn.content[:SHOWN],
            }
            for item, turn in zip(found.items, turns, strict=True)
        ],
        sessions=find_session_titles(connection, turns),
    )


def find_session_titles(connection: Connection, turns: list[Turn]) -> dict[str, str]:
    """Return the names for a person of the sessions in which messages were captured, by session, where they are others."""
    titles = {
        turn.session: connection.store.sessions.find_title(turn.theme, turn.session) or turn.origin.title
        for turn in turns
        if turn.session is not None
    }
    return {to_given_name(name): to_given_name(title) for name, title in titles.items() if title not in (None, name)}


CAPTURE = ToolSpec(
    name="memory_turn",
    title="Capture a message",
    description="Keep one message word for word, so that recall_conversation finds it later.",
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
    query_to_embed=lambda arguments: arguments.get("query"),
    waits_for_endpoint=True,
    about="query",
    reads_only=True,
    repeatable=True,
)
