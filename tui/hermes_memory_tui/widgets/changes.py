"""Changes of the journal as lines: who did what to which fact, and what became different."""

from __future__ import annotations

from typing import Any

from textual.content import Content

from hermes_memory_store.model import Change, Tier, format_notation
from hermes_memory_store.text import printable
from hermes_memory_store.uids import short
from hermes_memory_tui import shown
from hermes_memory_tui.widgets.fact_detail import difference, told
from hermes_memory_tui.widgets.pages import Line, heading, pair

INKS = {
    "create": "success",
    "edit": "warning",
    "purge": "error",
    "undo": "primary",
    "quarantine": "warning",
}

HIDDEN = frozenset({"content", "updated_at", "cooled_by"})
"""Columns that are shown otherwise, or mean nothing to a person."""


def subject(change: Change, named: dict[str, str]) -> str:
    """What a change is about. :param named: facts and scopes whose own row does not name them, by uid"""
    after = change.after or {}
    if change.entity == "fact":
        if "target" in after:
            return printable(format_notation(after["type"], after["target"], after.get("content", "")))
        return named.get(change.uid, f"fact {short(change.uid)}")
    if change.entity == "scope":
        return "scope " + printable(after.get("label") or named.get(change.uid, short(change.uid)))
    if change.entity == "session":
        return f"session {printable(change.actor.name)}"
    if change.entity == "turn" and "role" in after:
        return f"{printable(after['role'])} said {shown.count(after.get('chars', 0))} characters"
    return f"{change.entity} {short(change.uid)}"


def done(change: Change) -> str:
    """What was done, in a word or two."""
    return "quarantine" if is_quarantine(change) else told(change)


def ink(change: Change) -> str:
    """The colour of what was done."""
    return INKS.get("quarantine" if is_quarantine(change) else change.op, "")


def is_quarantine(change: Change) -> bool:
    """Whether a fact was kept apart as it was written."""
    return change.op == "create" and (change.after or {}).get("tier") == Tier.QUARANTINED


def described(change: Change, named: dict[str, str], now: int) -> list[Line]:
    """Everything about one change."""
    lines: list[Line] = [
        Content.assemble((done(change), "bold"), "  ", subject(change, named)),
        Content(""),
        pair("by", shown.who(change.actor)),
        pair("when", f"{shown.moment(change.at, now)}:{change.at // 1000 % 60:02d} ({shown.ago(change.at, now)})"),
        pair("theme", printable(change.theme)),
        pair("row", f"#{change.seq}" + (f" of change #{change.change}" if change.change != change.seq else "")),
        pair("seal", change.hash[:20]),
    ]
    if change.undoes is not None:
        lines.append(pair("undoes", f"#{change.undoes}"))
    if change.before is None and change.after is None:
        return [*lines, Content(""), Content.styled("what it said was purged; that it happened stays", "$dim")]
    different = difference(change)
    columns = [name for name in {**(change.before or {}), **(change.after or {})} if name not in HIDDEN]
    if different:
        lines += [Content(""), *different]
    if columns:
        lines += [Content(""), heading("what became different")]
        lines += [pair(name, became(name, change.before, change.after)) for name in columns]
    return lines


def became(name: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> str:
    """One column, before and after."""
    now = printable(str((after or {}).get(name, "–")))
    return now if before is None else f"{printable(str(before.get(name, '–')))} → {now}"
