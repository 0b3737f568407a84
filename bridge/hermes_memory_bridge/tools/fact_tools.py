"""`memory_edit`, `memory_archive`, `memory_history` and `memory_close_scope`: maintenance of stored facts.

A uid is looked up within what the connection's agent reads; any other is reported as nonexistent.
"""

from __future__ import annotations

from dataclasses import replace

from hermes_memory_bridge.toolkit.arguments import Arguments, parse_integer_argument, parse_text_argument
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import (
    ToolResult,
    to_fact_data,
    to_gauge_data,
    to_given_scope,
    to_origin_data,
)
from hermes_memory_bridge.toolkit.tool_spec import GAUGE, WHOLE, ToolSpec
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.errors import FactConflict, UnknownFact
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.model import Actor, Change, Tier
from hermes_memory_store.uids import short_uid

MOST = 100
"""Changes one answer shows."""

UID = {"type": "string", "description": "The uid, or 6 or more digits of its end or beginning."}


def memory_edit(connection: Connection, arguments: Arguments) -> ToolResult:
    """Change a fact's content; it keeps its uid, and its history keeps the previous content."""
    uid, content = parse_text_argument(arguments, "uid"), parse_text_argument(arguments, "content")
    session = connection.session(arguments)
    actor = Actor("session", session.name)
    fact = connection.find_fact(uid)
    if fact.tier is Tier.QUARANTINED:
        raise FactConflict("this fact waits for a person to look at it and cannot be edited by an agent", fact.uid)
    connection.store.facts.edit(fact.uid, content, actor=actor, theme=fact.theme, source=connection.source)
    edited = connection.store.facts.get(fact.uid, theme=fact.theme)
    gauge = connection.store.tiers.gauge(fact.theme)
    return ToolResult(
        f"edited: {short_uid(edited.uid)}\n{edited.notation}\ngauge: {gauge.pct:.1f}%",
        {"uid": edited.uid, "fact": to_fact_data(edited), "gauge": to_gauge_data(gauge)},
    )


def memory_archive(connection: Connection, arguments: Arguments) -> ToolResult:
    """Archive one fact: kept, undoable, and found only on request. What it replaced does not come back."""
    fact = connection.find_fact(parse_text_argument(arguments, "uid"))
    if fact.tier is Tier.QUARANTINED:
        raise UnknownFact(fact.uid)
    session = connection.session(arguments)
    connection.store.facts.archive([fact.uid], actor=Actor("session", session.name), theme=fact.theme)
    gauge = connection.store.tiers.gauge(fact.theme)
    return ToolResult(
        f"archived: {short_uid(fact.uid)}\ngauge: {gauge.pct:.1f}%", {"uid": fact.uid, "gauge": to_gauge_data(gauge)}
    )


def memory_history(connection: Connection, arguments: Arguments) -> ToolResult:
    """List every change of one fact, oldest first."""
    uid = parse_text_argument(arguments, "uid")
    limit = parse_integer_argument(arguments, "limit", 20, least=1, most=MOST)
    fact = connection.find_fact(uid)
    if fact.tier is Tier.QUARANTINED:
        raise UnknownFact(uid)
    changes = connection.store.facts.history(fact.uid, theme=fact.theme)
    shown = [
        replace(one, before=to_given_scope(one.before), after=to_given_scope(one.after)) for one in changes[-limit:]
    ]
    lines = [fact.notation, *(format_change_line(change, name_author(connection, change)) for change in shown)]
    if len(changes) > len(shown):
        lines.insert(1, f"(+{len(changes) - len(shown)} earlier)")
    data = [
        {
            "seq": one.seq if connection.sees_all_themes else None,
            "at": format_iso_time(one.at),
            "actor": to_given_name(str(one.actor)),
            "op": one.op,
            "before": one.before,
            "after": one.after,
            "origin": to_origin_data(one.origin),
        }
        for one in shown
    ]
    return ToolResult("\n".join(lines), {"fact": to_fact_data(fact), "changes": data})


def memory_close_scope(connection: Connection, arguments: Arguments) -> ToolResult:
    """Close a scope: its hot facts cool, and writing to it again reopens it."""
    label = parse_text_argument(arguments, "scope")
    session = connection.session(arguments)
    connection.store.scopes.close(connection.theme, label, actor=Actor("session", session.name))
    gauge = connection.store.tiers.gauge(connection.theme)
    return ToolResult(f"closed: {label}\ngauge: {gauge.pct:.1f}%", {"scope": label, "gauge": to_gauge_data(gauge)})


def name_author(connection: Connection, change: Change) -> str:
    """Return who made a change, by a name that a person knows, and where it came from if that says more."""
    said = to_given_name(connection.store.sessions.name_actor(connection.theme, change.actor))
    where = change.origin.branch or change.origin.teammate or change.origin.file
    return f"{said} ({where})" if where else said


def format_change_line(change: Change, author: str) -> str:
    """Format one change as one line."""
    said = ", ".join(f"{name}: {value}" for name, value in (change.after or {}).items())
    return f"{format_iso_time(change.at)} {change.op} by {author}{': ' + said if said else ''}"


EDIT = ToolSpec(
    name="memory_edit",
    title="Correct a fact",
    description=(
        "Replace the content of a fact that was written down wrongly. A new decision is a memory_write, which keeps the old."
    ),
    arguments={
        "uid": UID,
        "content": {"type": "string", "description": "The new content, without type and target."},
        "session_id": {"type": "string"},
    },
    required=("uid", "content"),
    gives={"uid": {"type": "string"}, "fact": {"type": "object"}, "gauge": GAUGE},
    handler=memory_edit,
    about="uid",
    overwrites=True,
    repeatable=True,
)

ARCHIVE = ToolSpec(
    name="memory_archive",
    title="Put a fact away",
    description="Archive one fact that holds no longer: it is kept, and no search finds it unless asked to.",
    arguments={"uid": UID, "session_id": {"type": "string"}},
    required=("uid",),
    gives={"uid": {"type": "string"}, "gauge": GAUGE},
    handler=memory_archive,
    about="uid",
    overwrites=True,
    repeatable=True,
    group="all",
)

HISTORY = ToolSpec(
    name="memory_history",
    title="History of a fact",
    description="Every change of one fact: when, by whom, before and after.",
    arguments={
        "uid": UID,
        "limit": {"type": WHOLE, "description": "1-100, the newest", "default": 20},
        "session_id": {"type": "string"},
    },
    required=("uid",),
    gives={"fact": {"type": "object"}, "changes": {"type": "array", "items": {"type": "object"}}},
    handler=memory_history,
    about="uid",
    reads_only=True,
    repeatable=True,
    group="all",
)

CLOSE_SCOPE = ToolSpec(
    name="memory_close_scope",
    title="Close a unit of work",
    description="Close a scope whose work is done: its facts stay findable, and are no longer told at session start.",
    arguments={"scope": {"type": "string"}, "session_id": {"type": "string"}},
    required=("scope",),
    gives={"scope": {"type": "string"}, "gauge": GAUGE},
    handler=memory_close_scope,
    about="scope",
    repeatable=True,
    group="all",
)
