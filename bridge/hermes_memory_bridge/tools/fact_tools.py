"""`memory_edit`, `memory_archive`, `memory_history`, `memory_close_scope`, `memory_reveal`: maintenance of stored facts.

A uid is looked up within what the connection's agent reads; any other is reported as nonexistent.
"""

from __future__ import annotations

from dataclasses import replace

from hermes_memory_bridge.toolkit.arguments import text, whole_number
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import (
    ToolResult,
    UnknownResource,
    to_fact_data,
    to_gauge_data,
    to_given_scope,
    to_origin_data,
)
from hermes_memory_bridge.toolkit.tool_spec import GAUGE, OBJECT, OBJECTS, TEXT, tool
from hermes_memory_bridge.tools.write_tool import format_masked
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.errors import FactConflict, UnknownFact
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.intake.spans import to_secret_placeholder
from hermes_memory_store.model import Actor, Change, Tier
from hermes_memory_store.uids import short_uid

MOST = 100
"""Changes one answer shows."""

UID = "The uid, or 6 or more digits of its end or beginning."


@tool(
    title="Correct a fact",
    description=(
        "Replace the content of a fact that was written down wrongly. A new decision is a memory_write, which keeps the old."
    ),
    brief="Correct a fact written down wrongly; a new decision is a memory_write.",
    gives={"uid": TEXT, "fact": OBJECT, "gauge": GAUGE},
    about="uid",
    place=13,
    overwrites=True,
    repeatable=True,
)
def memory_edit(
    connection: Connection,
    uid: str = text(UID, required=True),
    content: str = text("The new content, without type and target.", required=True),
) -> ToolResult:
    """Change a fact's content; it keeps its uid, and its history keeps the previous content."""
    actor = Actor("session", connection.session().name)
    fact = connection.find_fact(uid)
    if fact.tier is Tier.QUARANTINED:
        raise FactConflict("this fact waits for a person to look at it and cannot be edited by an agent", fact.uid)
    changed = connection.store.facts.edit(fact.uid, content, actor=actor, theme=fact.theme, source=connection.source)
    edited = connection.store.facts.get(fact.uid, theme=fact.theme)
    gauge = connection.store.tiers.gauge(fact.theme)
    lines = [f"edited: {short_uid(edited.uid)}", edited.notation, f"gauge: {gauge.pct:.1f}%"]
    return ToolResult(
        "\n".join([*lines, *format_masked(connection, changed)]),
        {"uid": edited.uid, "fact": to_fact_data(edited), "gauge": to_gauge_data(gauge)},
    )


@tool(
    title="Put a fact away",
    description="Archive one fact that holds no longer: it is kept, and no search finds it unless asked to.",
    gives={"uid": TEXT, "gauge": GAUGE},
    about="uid",
    place=14,
    overwrites=True,
    repeatable=True,
    group="all",
)
def memory_archive(
    connection: Connection,
    uid: str = text(UID, required=True),
) -> ToolResult:
    """Archive one fact: kept, undoable, and found only on request. What it replaced does not come back."""
    fact = connection.find_fact(uid)
    if fact.tier is Tier.QUARANTINED:
        raise UnknownFact(fact.uid)
    session = connection.session()
    connection.store.facts.archive([fact.uid], actor=Actor("session", session.name), theme=fact.theme)
    gauge = connection.store.tiers.gauge(fact.theme)
    return ToolResult(
        f"archived: {short_uid(fact.uid)}\ngauge: {gauge.pct:.1f}%", {"uid": fact.uid, "gauge": to_gauge_data(gauge)}
    )


@tool(
    title="History of a fact",
    description="Every change of one fact: when, by whom, before and after.",
    gives={"fact": OBJECT, "changes": OBJECTS},
    about="uid",
    place=15,
    reads_only=True,
    repeatable=True,
    group="all",
)
def memory_history(
    connection: Connection,
    uid: str = text(UID, required=True),
    limit: int = whole_number("1-100, the newest", 20, least=1, most=MOST),
) -> ToolResult:
    """List every change of one fact, oldest first."""
    fact = connection.find_fact(uid)
    if fact.tier is Tier.QUARANTINED:
        raise UnknownFact(uid)
    changes = connection.store.facts.history(fact.uid, theme=fact.theme)
    shown = [
        replace(change, before=to_given_scope(change.before), after=to_given_scope(change.after))
        for change in changes[-limit:]
    ]
    lines = [fact.notation, *(format_change_line(change, name_author(connection, change)) for change in shown)]
    if len(changes) > len(shown):
        lines.insert(1, f"(+{len(changes) - len(shown)} earlier)")
    data = [
        {
            "seq": change.seq if connection.sees_all_themes else None,
            "at": format_iso_time(change.at),
            "actor": to_given_name(str(change.actor)),
            "op": change.op,
            "before": change.before,
            "after": change.after,
            "origin": to_origin_data(change.origin),
        }
        for change in shown
    ]
    return ToolResult("\n".join(lines), {"fact": to_fact_data(fact), "changes": data})


@tool(
    title="Close a unit of work",
    description="Close a scope whose work is done: its facts stay findable, and are no longer told at session start.",
    gives={"scope": TEXT, "gauge": GAUGE},
    about="scope",
    place=16,
    hides=True,
    repeatable=True,
    group="all",
)
def memory_close_scope(
    connection: Connection,
    scope: str = text(required=True),
) -> ToolResult:
    """Close a scope: its hot facts cool, and writing to it again reopens it."""
    connection.store.scopes.close(connection.theme, scope, actor=Actor("session", connection.session().name))
    label = to_given_name(scope)
    gauge = connection.store.tiers.gauge(connection.theme)
    return ToolResult(f"closed: {label}\ngauge: {gauge.pct:.1f}%", {"scope": label, "gauge": to_gauge_data(gauge)})


@tool(
    is_in_session=False,
    title="Reveal a masked secret",
    description="The secret that a placeholder such as ‹secret:stripe› stands for. Needs a token with the right `secrets`.",
    gives={"name": TEXT, "secret": TEXT},
    about="name",
    place=17,
    reads_only=True,
    repeatable=True,
    group="all",
    needs="secrets",
)
def memory_reveal(
    connection: Connection,
    name: str = text("The name in the placeholder.", required=True),
) -> ToolResult:
    """Reveal one secret of this theme from the vault."""
    name = name.removeprefix("‹secret:").removesuffix("›")
    vault = connection.store.intake.vault
    secret = None if vault is None else vault.reveal(connection.theme, name)
    if secret is None:
        raise UnknownResource(to_secret_placeholder(name))
    return ToolResult(secret, {"name": name, "secret": secret})


def name_author(connection: Connection, change: Change) -> str:
    """Return who made a change, by a name that a person knows, and where it came from if that says more."""
    author = to_given_name(connection.store.sessions.name_actor(connection.theme, change.actor))
    where = change.origin.branch or change.origin.teammate or change.origin.file
    return f"{author} ({where})" if where else author


def format_change_line(change: Change, author: str) -> str:
    """Format one change as one line."""
    values = ", ".join(f"{name}: {value}" for name, value in (change.after or {}).items())
    return f"{format_iso_time(change.at)} {change.op} by {author}{': ' + values if values else ''}"
