"""`recall_memory` and `recall_conversation`, which find facts and captured messages, and `memory_turn`, which captures one.

The arguments and the JSON of recall are those of hermes-memory-pgvector. Recall is by words, and also by meaning if a model
is configured. Only these two may wait for an endpoint.
"""

from __future__ import annotations

import json
from typing import Any

from hermes_memory_bridge.provider import provider_settings
from hermes_memory_bridge.recall.connection_recall import (
    is_user_fact,
    note_recalled_facts,
    recall_facts,
    recall_turns,
)
from hermes_memory_bridge.toolkit.arguments import (
    WHOLE,
    Arguments,
    argument,
    choice,
    flag,
    parse_optional_text,
    parse_whole_number,
    text,
)
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_mark_data, to_origin_data
from hermes_memory_bridge.toolkit.tool_spec import COUNT, OBJECTS, TEXT, YES, tool
from hermes_memory_bridge.tools.acknowledgements import explain_skipped_message
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.context.fence import format_fenced_text
from hermes_memory_store.conversations.turn_rows import ROLES
from hermes_memory_store.errors import ArgumentError, UnknownTheme
from hermes_memory_store.find.candidates import MOST_OF_EACH
from hermes_memory_store.find.recall import list_session_hits
from hermes_memory_store.hosts.capture_switch import may_capture
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.model import Fact, Turn
from hermes_memory_store.uids import short_uid
from hermes_memory_themes import ThemeError, normalise_theme

SHOWN = 2_000
"""Characters of a turn that recall shows, as hermes-memory-pgvector does."""

RESULTS = {"results": OBJECTS, "count": COUNT, "ranked_by": TEXT}


def parse_recall_limit(arguments: Arguments, name: str) -> int:
    """Parse the limit: 1 to 20, by default 5; a number outside is clamped, as in pgvector's tools.

    :raises ArgumentError: it is no integer
    """
    return 5 if arguments.get(name) is None else max(1, min(parse_whole_number(name, arguments[name]), 20))


def parse_recall_scope(arguments: Arguments, name: str) -> str:
    return (parse_optional_text(arguments, name) or "current").strip().lower()


def recall_scope(description: str) -> Any:
    return argument({"type": "string", "description": description, "default": "current"}, parse_recall_scope)


LIMIT: Any = argument({"type": WHOLE, "description": "1-20", "default": 5}, parse_recall_limit)


@tool(
    title="Capture a message",
    description="Keep one message word for word, so that recall_conversation finds it later.",
    gives={"kept": YES, "why": TEXT, "uid": TEXT, "role": TEXT, "at": TEXT},
    about="role",
    place=9,
)
def memory_turn(
    connection: Connection,
    role: str = text(required=True, enum=ROLES),
    content: str = text("What was said, whole.", required=True),
) -> ToolResult:
    """Capture one message, if the theme's policy keeps it and capture is not stopped."""
    if role in ROLES:
        ruling = may_capture(str(connection.store.path), "", connection.folder or "")
        reason = explain_skipped_message(content, connection.store.policies.for_theme(connection.theme))
        if not ruling.allowed:
            reason = f"capture is {ruling.why}"
        elif is_unasked_provider(connection):
            reason = provider_settings.UNASKED
        if reason is not None and content.strip():
            return ToolResult(f"not kept: {reason}", {"kept": False, "why": reason, "role": role})
    session = connection.session()
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


@tool(
    title="Recall facts",
    description="Search facts, also of other agents where the token allows.",
    gives=RESULTS,
    asks_team="fact",
    query_to_embed=lambda arguments: arguments.get("query"),
    waits_for_endpoint=True,
    about="query",
    place=10,
    reads_only=True,
    repeatable=True,
)
def recall_memory(
    connection: Connection,
    query: str = text(required=True),
    scope: str = recall_scope("current, all, or a theme"),
    target: str = choice(("memory", "user", "both"), "both"),
    limit: int = LIMIT,
    team: bool = flag("the team's too"),  # noqa: ARG001 - the team was asked before
) -> ToolResult:
    """Find durable facts."""
    if scope == "session":
        raise ArgumentError("scope session is for recall_conversation; use current, all, or a theme", scope)
    session, themes = connection.session(), find_recall_themes(connection, scope)
    matches = recall_facts(connection, themes, query, limit if target == "both" else MOST_OF_EACH)
    items = [item for item in matches.items if is_about(item.fact, target)][:limit]
    note_recalled_facts(connection, themes, items, query, session)
    facts = [item.fact for item in items if item.fact is not None]
    return to_recall_result(
        connection,
        matches.ranked_by,
        [
            {
                "id": fact.uid,
                "agent_identity": to_given_name(fact.theme),
                "target": "user" if is_user_fact(fact) else "memory",
                "ts": format_iso_time(fact.updated_at),
                "score": round(item.score, 4),
                "content": item.line,
            }
            for item, fact in zip(items, facts, strict=True)
        ],
        origins={fact.uid: to_origin_data(fact.origin) for fact in facts if fact.origin.is_known},
        branches={item.uid: to_mark_data(item.mark) for item in items if item.mark is not None},
        held=matches.held_note,
    )


def is_about(fact: Fact | None, target: str) -> bool:
    """Check whether a fact is about the user (`user`), about anything else (`memory`), or either (`both`)."""
    return fact is not None and (target == "both" or is_user_fact(fact) == (target == "user"))


@tool(
    title="Recall what was said",
    description="Search past turns of all sessions, when the user refers to something said before.",
    brief="Search past turns, when the user refers to something said before.",
    unshown=("limit", "team"),
    gives=RESULTS,
    asks_team="turn",
    query_to_embed=lambda arguments: arguments.get("query"),
    waits_for_endpoint=True,
    about="query",
    place=11,
    reads_only=True,
    repeatable=True,
)
def recall_conversation(
    connection: Connection,
    query: str = text(required=True),
    scope: str = recall_scope("current, session, all, or a theme"),
    limit: int = LIMIT,
    team: bool = flag(),  # noqa: ARG001 - as above
) -> ToolResult:
    """Find captured messages."""
    # A session is one of this theme: without that, one agent would read what another's was told.
    within = connection.session_name(connection.called_session) if scope == "session" else None
    themes = [connection.theme] if scope == "session" else find_recall_themes(connection, scope)
    matches = recall_turns(connection, themes, query, limit, within=within)
    turns = [item.turn for item in matches.items if item.turn is not None]
    hits = list_session_hits(connection.store.host_sessions, turns, query)
    return to_recall_result(
        connection,
        matches.ranked_by,
        [
            {
                "id": turn.uid,
                "agent_identity": to_given_name(turn.theme),
                "session_id": turn.session and to_given_name(turn.session),
                "role": turn.role,
                "ts": format_iso_time(turn.at),
                "score": round(item.score, 4),
                "content": turn.content[:SHOWN],
            }
            for item, turn in zip(matches.items, turns, strict=True)
        ],
        sessions=find_session_titles(connection, turns),
        by_session=[hit.to_data() for hit in hits if hit.resume],
    )


def find_session_titles(connection: Connection, turns: list[Turn]) -> dict[str, str]:
    """Return the names for a person of the sessions in which messages were captured, by session, where they are others."""
    titles = {
        turn.session: connection.store.sessions.find_title(turn.theme, turn.session) or turn.origin.title
        for turn in turns
        if turn.session is not None
    }
    return {to_given_name(name): to_given_name(title) for name, title in titles.items() if title not in (None, name)}


def find_recall_themes(connection: Connection, scope: str) -> list[str]:
    """Return the themes that a scope selects: `current`, `all`, or a theme by name.

    :raises UnknownTheme: for a theme that this connection may not read, exactly as for one that does not exist
    """
    if scope == "current":
        return [connection.theme]
    readable = connection.store.names.all_themes() if connection.rights.other_themes else []
    themes = sorted({connection.theme, *readable})
    if scope == "all":
        remote = connection.team_fallback.themes if connection.team_fallback and connection.rights.other_themes else ()
        return sorted({*themes, *remote})
    try:
        name = normalise_theme(scope)
    except ThemeError:
        raise UnknownTheme(scope, map(to_given_name, themes)) from None
    if name not in themes and not is_team_theme(connection, name):
        raise UnknownTheme(name, map(to_given_name, themes))
    return [name]


def is_team_theme(connection: Connection, theme: str) -> bool:
    """Check whether a theme is, or may be, in the team database: one that did not answer cannot rule it out."""
    team = connection.team_fallback
    return team is not None and (theme in team.themes or (not team.has_answered and theme in team.themes_requested))


def to_recall_result(
    connection: Connection,
    ranked_by: str,
    results: list[dict[str, Any]],
    **more: Any,
) -> ToolResult:
    """Return the result of both recall tools: JSON as fenced text, and the same as data. It names the rankings used."""
    data = {"results": results, "count": len(results), "ranked_by": ranked_by}
    data |= {name: value for name, value in more.items() if value}
    if connection.team_fallback is not None:
        data["team"] = connection.team_fallback.answer_state
    if notes := connection.store.index_notes():
        data["note"] = "; ".join(notes)
    return ToolResult(format_fenced_text(json.dumps(data, ensure_ascii=False)), data)
