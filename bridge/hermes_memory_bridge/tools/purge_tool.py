"""The tool `memory_purge`."""

from __future__ import annotations

from hermes_memory_bridge.toolkit.arguments import (
    Arguments,
    format_argument_value,
    parse_flag,
    parse_optional_text,
    parse_whole_number,
)
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ConsentRequired, ToolResult, to_gauge_data
from hermes_memory_bridge.toolkit.tool_spec import GAUGE, WHOLE, ToolSpec
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import Actor, Tier
from hermes_memory_store.upkeep.purge import SAFE_TIERS

MOST_DAYS = 36_500

SUPERSEDED_TIERS = SAFE_TIERS
"""What hermes-memory's purge means: facts that stand no more."""

PURGEABLE_TIERS = frozenset(Tier) - {Tier.WITHDRAWN}


def memory_purge(connection: Connection, arguments: Arguments) -> ToolResult:
    """Purge superseded and archived facts; they are erased when the theme's retention is over."""
    scope = parse_purge_scope(arguments)
    older_than_ms = None
    if arguments.get("older_than_days") is not None:
        days = parse_whole_number("older_than_days", arguments["older_than_days"])
        if not 0 <= days <= MOST_DAYS:
            raise ArgumentError(
                f"older_than_days must be from 0 to {MOST_DAYS}, not {format_argument_value(days)}", days
            )
        older_than_ms = days * DAY_MS
    tiers = SUPERSEDED_TIERS
    if parse_flag(arguments, "everything"):
        tiers = PURGEABLE_TIERS
        if not parse_flag(arguments, "confirm"):
            raise to_purge_consent(connection, scope, older_than_ms)
    session = connection.session(arguments)
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


def parse_purge_scope(arguments: Arguments) -> str | None:
    """Return the scope to purge, None for all.

    :raises ArgumentError: a blank one, which must not come to mean all
    """
    scope = parse_optional_text(arguments, "scope")
    if arguments.get("scope") is not None and not (scope or "").strip():
        raise ArgumentError(f"scope must not be blank, as {scope or ''!r} is; leave it out to purge every scope", scope)
    return scope


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


SPEC = ToolSpec(
    name="memory_purge",
    title="Purge superseded and archived facts",
    description=(
        "Remove superseded and archived facts, after a scope is closed or as periodic clean-up. Facts that still stand stay "
        "unless everything is asked for. A person can bring them back for some days."
    ),
    arguments={
        "scope": {"type": "string", "description": "Only this scope; an unknown one is an error."},
        "older_than_days": {"type": WHOLE, "description": "Only facts last changed longer ago."},
        "everything": {"type": "boolean", "description": "Also standing facts; asks the user."},
        "confirm": {"type": "boolean", "description": "The user has agreed."},
        "session_id": {"type": "string"},
    },
    required=(),
    gives={"purged": {"type": "object"}, "gauge": GAUGE},
    handler=memory_purge,
    about="scope",
    destroys=True,
    repeatable=True,
)
