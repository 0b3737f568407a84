"""`recall_memory`, and what it shares with `recall_conversation`.

The arguments and the JSON are those of hermes-memory-pgvector. Recall is by words, and also by meaning if a model
is configured. They alone may wait for an endpoint.
"""

from __future__ import annotations

import json
from typing import Any

from hermes_memory_bridge.recall.connection_recall import is_user_fact, note_recalled_facts, recall_facts
from hermes_memory_bridge.toolkit.arguments import (
    Arguments,
    parse_optional_text,
    parse_text_argument,
    parse_whole_number,
)
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult, to_mark_data, to_origin_data
from hermes_memory_bridge.toolkit.tool_spec import WHOLE, ToolSpec
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.context.fence import format_fenced_text
from hermes_memory_store.errors import ArgumentError, UnknownTheme
from hermes_memory_store.find.candidates import MOST_OF_EACH
from hermes_memory_store.model import Fact
from hermes_memory_themes import ThemeError, normalise_theme

LIMIT = {"type": WHOLE, "description": "1-20", "default": 5}

RESULTS = {
    "results": {"type": "array", "items": {"type": "object"}},
    "count": {"type": "integer"},
    "ranked_by": {"type": "string"},
}

TARGETS = ("memory", "user", "both")


def parse_recall_limit(arguments: Arguments) -> int:
    """Parse the limit: 1 to 20, by default 5; a number outside is clamped, as in pgvector's tools.

    :raises ArgumentError: it is no integer
    """
    return 5 if arguments.get("limit") is None else max(1, min(parse_whole_number("limit", arguments["limit"]), 20))


def find_recall_themes(connection: Connection, scope: str) -> list[str]:
    """Return the themes that a scope selects: `current`, `all`, or a theme by name.

    :raises UnknownTheme: for a theme that this connection may not read, exactly as for one that does not exist
    """
    if scope == "current":
        return [connection.theme]
    others = connection.store.names.all_themes() if connection.rights.other_themes else []
    known = sorted({connection.theme, *others})
    if scope == "all":
        elsewhere = (
            connection.team_fallback.themes if connection.team_fallback and connection.rights.other_themes else ()
        )
        return sorted({*known, *elsewhere})
    try:
        name = normalise_theme(scope)
    except ThemeError:
        raise UnknownTheme(scope, known) from None
    if name not in known and not is_team_theme(connection, name):
        raise UnknownTheme(name, known)
    return [name]


def is_team_theme(connection: Connection, theme: str) -> bool:
    """Check whether a theme is, or may be, in the team database: one that did not answer cannot rule it out."""
    found = connection.team_fallback
    return found is not None and (theme in found.themes or (not found.has_answered and theme in found.themes_requested))


def to_recall_result(
    connection: Connection, ranked_by: str, results: list[dict[str, Any]], **beside: dict[str, Any] | str | None
) -> ToolResult:
    """Return the result of both recall tools: JSON as fenced text, and the same as data. It names the rankings used."""
    data = {"results": results, "count": len(results), "ranked_by": ranked_by}
    data |= {name: said for name, said in beside.items() if said}
    if connection.team_fallback is not None:
        data["team"] = connection.team_fallback.answer_state
    if notes := connection.store.index_notes():
        data["note"] = "; ".join(notes)
    return ToolResult(format_fenced_text(json.dumps(data, ensure_ascii=False)), data)


def recall_memory(connection: Connection, arguments: Arguments) -> ToolResult:
    """Find durable facts."""
    query, limit = parse_text_argument(arguments, "query"), parse_recall_limit(arguments)
    scope = (parse_optional_text(arguments, "scope") or "current").strip().lower()
    if scope == "session":
        raise ArgumentError("scope session is for recall_conversation; use current, all, or a theme", scope)
    target = (parse_optional_text(arguments, "target") or "both").strip()
    if target not in TARGETS:
        raise ArgumentError(f"target must be one of {', '.join(TARGETS)}, not {target[:40]!r}", target)
    session, themes = connection.session(arguments), find_recall_themes(connection, scope)
    found = recall_facts(connection, themes, query, limit if target == "both" else MOST_OF_EACH)
    items = [item for item in found.items if is_wanted_kind(item.fact, target)][:limit]
    note_recalled_facts(connection, themes, items, query, session)
    facts = [item.fact for item in items if item.fact is not None]
    return to_recall_result(
        connection,
        found.ranked_by,
        [
            {
                "id": fact.uid,
                "agent_identity": fact.theme,
                "target": "user" if is_user_fact(fact) else "memory",
                "ts": format_iso_time(fact.updated_at),
                "score": round(item.score, 4),
                "content": item.line,
            }
            for item, fact in zip(items, facts, strict=True)
        ],
        origins={fact.uid: to_origin_data(fact.origin) for fact in facts if fact.origin.is_known},
        branches={item.uid: to_mark_data(item.mark) for item in items if item.mark is not None},
        held=found.held_note,
    )


def is_wanted_kind(fact: Fact | None, target: str) -> bool:
    """Check whether a fact is about the user (`user`), about anything else (`memory`), or either (`both`)."""
    return fact is not None and (target == "both" or is_user_fact(fact) == (target == "user"))


SPEC = ToolSpec(
    name="recall_memory",
    title="Recall facts",
    description="Search facts, also of other agents where the token allows.",
    arguments={
        "query": {"type": "string"},
        "scope": {"type": "string", "description": "current, all, or a theme", "default": "current"},
        "target": {"type": "string", "enum": list(TARGETS), "default": "both"},
        "limit": LIMIT,
        "team": {"type": "boolean", "description": "the team's too"},
        "session_id": {"type": "string"},
    },
    required=("query",),
    gives=RESULTS,
    handler=recall_memory,
    asks_team="fact",
    query_to_embed=lambda arguments: arguments.get("query"),
    waits_for_endpoint=True,
    about="query",
    reads_only=True,
    repeatable=True,
)
