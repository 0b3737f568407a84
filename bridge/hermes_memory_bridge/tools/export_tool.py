"""The tool `memory_export`."""

from __future__ import annotations

from hermes_memory_bridge.toolkit.arguments import Arguments, parse_optional_text
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult
from hermes_memory_bridge.toolkit.tool_spec import ToolSpec
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import FactFilter, PageCursor, Tier

TIERS = {"active": (Tier.HOT,), "cold": (Tier.COLD,), "all": (Tier.HOT, Tier.COLD)}
"""hermes-memory's words for tiers, hot first."""

MOST = 1_000
"""Lines of one answer: a context snapshot, not a backup. The command line exports without a limit."""

PAGE = 500


def memory_export(connection: Connection, arguments: Arguments) -> ToolResult:
    """Export facts as plain notation, hot ones first, newest first."""
    status = parse_optional_text(arguments, "status") or "all"
    if status not in TIERS:
        raise ArgumentError(f"status must be one of {', '.join(TIERS)}, not {status[:40]!r}", status)
    scope = parse_optional_text(arguments, "scope")
    if scope is not None:
        connection.store.names.scope(connection.theme, scope)
    lines: list[str] = []
    total = 0
    for tier in TIERS[status]:
        scopes = frozenset() if scope is None else frozenset({scope})
        wanted = FactFilter(theme=connection.theme, scopes=scopes, tiers=frozenset({tier}))
        total += connection.store.facts.count(wanted)
        cursor: PageCursor | None = None
        while len(lines) < MOST:
            page = connection.store.facts.page(wanted, after=cursor, limit=min(PAGE, MOST - len(lines)))
            lines += [fact.notation for fact in page.facts]
            cursor = page.next
            if cursor is None:
                break
    data = {"lines": list(lines), "total": total}
    if not lines:
        return ToolResult("(no facts to export)", data)
    if total > len(lines):
        lines.append(f"(+{total - len(lines)} more: hermes-memory-tui export)")
    return ToolResult("\n".join(lines), data, 0)


SPEC = ToolSpec(
    name="memory_export",
    title="Export facts",
    description=(
        "Export facts (hot, then cold) as plain MEMORY_SPEC notation, one a line, at most 1000.\n"
        "Use it for a context snapshot or to hand memory over."
    ),
    arguments={
        "scope": {"type": "string", "description": "Only this scope."},
        "status": {"type": "string", "enum": list(TIERS), "default": "all"},
    },
    required=(),
    gives={"lines": {"type": "array", "items": {"type": "string"}}, "total": {"type": "integer"}},
    handler=memory_export,
    about="scope",
    reads_only=True,
    repeatable=True,
)
