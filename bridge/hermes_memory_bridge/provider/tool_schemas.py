"""The tools offered to a model: four of the bridge's own, because every schema is sent with every request."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = {"type": "integer", "description": "1-20", "default": 5}


def to_tool_schema(name: str, description: str, required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """Return one tool in the form hosts take."""
    parameters = {"type": "object", "properties": properties, "required": [required]}
    return {"name": name, "description": description, "parameters": parameters}


SCHEMAS: tuple[dict[str, Any], ...] = (
    to_tool_schema(
        "memory_search",
        'Search typed facts of the long-term memory by words, a "phrase", -exclusions or a plain question. '
        "Use it before answering on any topic that may have been discussed before.",
        "query",
        query={"type": "string", "description": "e.g. 'UUID database', 'auth type:decision after:7d'"},
        scope={"type": "string", "description": "Only in this unit of work."},
        limit=LIMIT,
    ),
    to_tool_schema(
        "memory_write",
        "Write one fact to the long-term memory: TYPE[target]: content, with C constraint, D decision, V value, ? unknown, "
        "✓ done, ~ obsolete. A new fact supersedes the old one of the same type and target. It costs no room in MEMORY.md.",
        "content",
        content={"type": "string", "description": "e.g. 'C[db.id]: UUID mndtry', at most 400 characters"},
        scope={"type": "string", "description": "Unit of work it belongs to, e.g. 'auth-refactor'."},
    ),
    to_tool_schema(
        "recall_memory",
        "Search durable facts, also by theme or about the user only. Returns JSON.",
        "query",
        query={"type": "string"},
        scope={"type": "string", "description": "current, all, or a theme", "default": "current"},
        target={"type": "string", "enum": ["memory", "user", "both"], "default": "both"},
        limit=LIMIT,
    ),
    to_tool_schema(
        "recall_conversation",
        "Search what was said in all past sessions, word for word. Returns JSON.",
        "query",
        query={"type": "string"},
        scope={"type": "string", "description": "current, session, all, or a theme", "default": "current"},
        limit=LIMIT,
    ),
)

NAMES = frozenset(str(one["name"]) for one in SCHEMAS)

PROMPT = (
    "# Long-term memory\n"
    "Besides MEMORY.md and USER.md there is a larger memory of typed facts and past conversations on this machine. What bears "
    "on a message is recalled by itself. Use memory_search before answering on anything discussed earlier, memory_write for "
    "constraints, decisions and values worth keeping, recall_conversation for what was said."
)
"""Stands in the system prompt for a whole session, so it says nothing that changes."""
