"""`memory_export`, `memory_optimize` and `memory_purge`: facts handed over, files relieved, what is old removed."""

from __future__ import annotations

from functools import partial

from hermes_memory_bridge.toolkit.arguments import (
    Arguments,
    argument,
    bounded_number,
    choice,
    flag,
    parse_optional_text,
    parse_percentage,
    text,
)
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.host_folders import MEMORY_FILES, find_host_profile
from hermes_memory_bridge.toolkit.tool_results import ConsentRequired, ToolResult, to_gauge_data
from hermes_memory_bridge.toolkit.tool_spec import COUNT, GAUGE, OBJECT, TEXTS, tool
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import Actor, FactFilter, PageCursor, Tier
from hermes_memory_store.relief.file_relief import FileReliefReport, relieve_files
from hermes_memory_store.upkeep.purge import SAFE_TIERS

TIERS = {"active": (Tier.HOT,), "cold": (Tier.COLD,), "all": (Tier.HOT, Tier.COLD)}
"""hermes-memory's words for tiers, hot first."""

MOST_LINES = 1_000
"""Lines of one answer: a context snapshot, not a backup. The command line exports without a limit."""

PAGE = 500

MOST_DAYS = 36_500

SUPERSEDED_TIERS = SAFE_TIERS
"""What hermes-memory's purge means: facts that stand no more."""

PURGEABLE_TIERS = frozenset(Tier) - {Tier.WITHDRAWN}


def parse_purge_scope(arguments: Arguments, name: str) -> str | None:
    """Return the scope to purge, None for all.

    :raises ArgumentError: a blank one, which must not come to mean all
    """
    scope = parse_optional_text(arguments, name)
    if arguments.get(name) is not None and not (scope or "").strip():
        raise ArgumentError(
            f"{name} must not be blank, as {scope or ''!r} is; leave it out to purge every scope", scope
        )
    return scope


@tool(
    is_in_session=False,
    title="Export facts",
    description=(
        "Export facts (hot, then cold) as plain MEMORY_SPEC notation, one a line, at most 1000.\n"
        "Use it for a context snapshot or to hand memory over."
    ),
    brief="All facts in notation, one a line.",
    gives={"lines": TEXTS, "total": COUNT},
    about="scope",
    place=6,
    reads_only=True,
    repeatable=True,
)
def memory_export(
    connection: Connection,
    scope: str | None = text("Only this scope."),
    status: str = choice(TIERS, "all"),
) -> ToolResult:
    """Export facts as plain notation, hot ones first, newest first."""
    if scope is not None:
        connection.store.names.scope(connection.theme, scope)
    lines: list[str] = []
    total = 0
    for tier in TIERS[status]:
        scopes = frozenset() if scope is None else frozenset({scope})
        facts = FactFilter(theme=connection.theme, scopes=scopes, tiers=frozenset({tier}))
        total += connection.store.facts.count(facts)
        cursor: PageCursor | None = None
        while len(lines) < MOST_LINES:
            page = connection.store.facts.page(facts, after=cursor, limit=min(PAGE, MOST_LINES - len(lines)))
            lines += [fact.notation for fact in connection.store.facts.as_written(page.facts)]
            cursor = page.next
            if cursor is None:
                break
    data = {"lines": list(lines), "total": total}
    if not lines:
        return ToolResult("(no facts to export)", data)
    if total > len(lines):
        lines.append(f"(+{total - len(lines)} more: hermes-memory-tui export)")
    return ToolResult("\n".join(lines), data, 0)


@tool(
    title="Relieve MEMORY.md and USER.md",
    description=(
        "Make room in MEMORY.md and USER.md: abbreviate prose and move C/D/V/? facts to memory. Acts only above the "
        "threshold (default 55 %), keeps a copy. dry_run only shows the diff."
    ),
    gives={"memory": OBJECT, "user": OBJECT, "migrated": COUNT},
    place=7,
    overwrites=True,
    alone=True,
    files=MEMORY_FILES,
)
def memory_optimize(
    connection: Connection,
    threshold_pct: float = argument(
        {"type": ["number", "string"], "default": 55}, partial(parse_percentage, default=55.0)
    ),
    dry_run: bool = flag(default=False),
) -> ToolResult:
    """Relieve MEMORY.md and USER.md of the host's profile."""
    report = relieve_files(
        connection.store,
        connection.theme,
        home=find_host_profile(connection),
        threshold_pct=threshold_pct,
        dry_run=dry_run,
    )
    memory, user = report.memory, report.user
    data = {
        "memory": {"before": round(memory.before_pct, 1), "after": round(memory.after_pct, 1), "diff": memory.diff},
        "user": {"before": round(user.before_pct, 1), "after": round(user.after_pct, 1), "diff": user.diff},
        "migrated": report.migrated_count,
        "dry_run": dry_run,
    }
    if not report.has_acted:
        return ToolResult(
            f"no action needed\nMEMORY: {memory.before_pct:.1f}%  USER: {user.before_pct:.1f}%\n"
            f"(both below {threshold_pct:.0f}% threshold)",
            data,
        )
    lines = [
        "optimized:" + (" (dry run)" if dry_run else ""),
        f"  MEMORY: {format_file_change(memory)}",
        f"  USER:   {format_file_change(user)}",
    ]
    if report.migrated_count:
        lines.append(f"  {report.migrated_count} fact(s) moved to hermes-memory DB")
    lines += [f"  kept in the file: {entry}" for file in (memory, user) for entry in file.kept]
    lines += [f"  {file.why}" for file in (memory, user) if file.why]
    return ToolResult("\n".join(lines), data)


def format_file_change(file: FileReliefReport) -> str:
    """Format how full a file was and is."""
    migrated = f"  ({file.migrated} facts migrated)" if file.migrated else ""
    return f"{file.before_pct:.1f}% → {file.after_pct:.1f}%{migrated}"


@tool(
    title="Purge superseded and archived facts",
    description=(
        "Remove superseded and archived facts, after a scope is closed or as periodic clean-up. Facts that still stand stay "
        "unless everything is asked for. A person can bring them back for some days."
    ),
    brief="Remove superseded and archived facts.",
    unshown=("confirm",),
    gives={"purged": OBJECT, "gauge": GAUGE},
    about="scope",
    place=8,
    destroys=True,
    repeatable=True,
)
def memory_purge(
    connection: Connection,
    scope: str | None = argument(
        {"type": "string", "description": "Only this scope; an unknown one is an error."}, parse_purge_scope
    ),
    older_than_days: int | None = bounded_number("Only facts last changed longer ago.", least=0, most=MOST_DAYS),
    everything: bool = flag("Also standing facts; asks the user."),
    confirm: bool = flag("The user has agreed."),
) -> ToolResult:
    """Purge superseded and archived facts; they are erased when the theme's retention is over."""
    older_than_ms = None if older_than_days is None else older_than_days * DAY_MS
    tiers = PURGEABLE_TIERS if everything else SUPERSEDED_TIERS
    if everything and not confirm:
        raise to_purge_consent(connection, scope, older_than_ms)
    session = connection.session()
    plan = connection.store.purge.soft_delete(
        connection.theme,
        scope=scope,
        older_than_ms=older_than_ms,
        tiers=tiers,
        actor=Actor("session", session.name),
    )
    gauge = connection.store.tiers.gauge(connection.theme)
    return ToolResult(
        f"purged: {plan.total} fact(s)\ngauge: {gauge.pct:.1f}%",
        {"purged": {tier.value: count for tier, count in plan.by_tier.items()}, "gauge": to_gauge_data(gauge)},
    )


def to_purge_consent(connection: Connection, scope: str | None, older_than_ms: int | None) -> ConsentRequired:
    """Return the request for consent, which says in exact numbers what would happen."""
    plan = connection.store.purge.count(
        connection.theme, scope=scope, older_than_ms=older_than_ms, tiers=PURGEABLE_TIERS
    )
    counts = ", ".join(f"{count} {tier}" for tier, count in plan.by_tier.items() if count) or "no facts"
    where = f"scope {scope!r}" if scope else f"all of theme {connection.theme!r}"
    days = connection.store.policies.for_theme(connection.theme).retention_days
    return ConsentRequired(
        f"Purge {where}: {counts}, facts that still stand among them? They can be brought back for {days} days."
    )
