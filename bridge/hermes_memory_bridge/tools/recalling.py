"""`recall_memory`, and what it shares with `recall_conversation`: the arguments and the JSON of hermes-memory-pgvector.

Recall is by words, and by meaning besides where a model is configured (see `recall.py`).
"""

from __future__ import annotations

import json
from typing import Any

from hermes_memory_bridge import recall
from hermes_memory_bridge.answers import Answer
from hermes_memory_bridge.arguments import Arguments, text, text_or_none, whole
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.tools.spec import WHOLE, ToolSpec
from hermes_memory_store.clock import iso
from hermes_memory_store.errors import ArgumentError, UnknownTheme
from hermes_memory_themes import ThemeError, normalise_theme

LIMIT = {"type": WHOLE, "description": "1-20", "default": 5}

RESULTS = {
    "results": {"type": "array", "items": {"type": "object"}},
    "count": {"type": "integer"},
    "ranked_by": {"type": "string"},
}

TARGETS = ("memory", "user", "both")


def limit_of(arguments: Arguments) -> int:
    """1 to 20, 5 unless given; a number outside means the nearest inside, as in pgvector's tools.

    :raises ArgumentError: it is no whole number
    """
    return 5 if arguments.get("limit") is None else max(1, min(whole("limit", arguments["limit"]), 20))


def themes_of(connection: Connection, scope: str) -> list[str]:
    """The themes a scope stands for: `current`, `all`, or a theme by name.

    :raises UnknownTheme: for a theme that this connection may not read, exactly as for one that does not exist
    """
    if scope == "current":
        return [connection.theme]
    others = connection.store.names.all_themes() if connection.rights.other_themes else []
    known = sorted({connection.theme, *others})
    if scope == "all":
        elsewhere = connection.elsewhere.themes if connection.elsewhere and connection.rights.other_themes else ()
        return sorted({*known, *elsewhere})
    try:
        name = normalise_theme(scope)
    except ThemeError:
        raise UnknownTheme(scope, known) from None
    if name not in known and not is_elsewhere(connection, name):
        raise UnknownTheme(name, known)
    return [name]


def is_elsewhere(connection: Connection, theme: str) -> bool:
    """Whether a theme is in the team's database, or may be: one that did not answer cannot say that it has it not."""
    found = connection.elsewhere
    return found is not None and (theme in found.themes or (not found.answered and theme in found.wanted))


def recalled(connection: Connection, results: list[dict[str, Any]]) -> Answer:
    """The answer of both recall tools: JSON as text, and the same as data. It says by what it was ranked."""
    data = {"results": results, "count": len(results), "ranked_by": recall.ranked_by(connection)}
    if connection.elsewhere is not None:
        data["team"] = connection.elsewhere.said
    if notes := connection.store.index_notes():
        data["note"] = "; ".join(notes)
    return Answer(json.dumps(data, ensure_ascii=False), data)


def recall_memory(connection: Connection, arguments: Arguments) -> Answer:
    """Find durable facts."""
    query, limit = text(arguments, "query"), limit_of(arguments)
    scope = (text_or_none(arguments, "scope") or "current").strip().lower()
    if scope == "session":
        raise ArgumentError("scope session is for recall_conversation; use current, all, or a theme", scope)
    target = (text_or_none(arguments, "target") or "both").strip()
    if target not in TARGETS:
        raise ArgumentError(f"target must be one of {', '.join(TARGETS)}, not {target[:40]!r}", target)
    session, themes = connection.session(arguments), themes_of(connection, scope)
    found = recall.facts(connection, themes, query, limit, session=session, kinds=target)
    return recalled(
        connection,
        [
            {
                "id": one.fact.uid,
                "agent_identity": one.fact.theme,
                "target": "user" if recall.is_about_user(one.fact) else "memory",
                "ts": iso(one.fact.updated_at),
                "score": round(one.score, 4),
                "content": one.fact.notation,
            }
            for one in found
        ],
    )


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
    meant=lambda arguments: arguments.get("query"),
    about="query",
    reads_only=True,
    repeatable=True,
)
