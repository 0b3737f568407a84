"""Journal changes as text: author, operation, fact, and the changed fields."""

from __future__ import annotations

from typing import Any

from textual.content import Content

from hermes_memory_store.items.kinds import FACT
from hermes_memory_store.model import Change, Tier
from hermes_memory_store.operations import find_operation
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.text.change_subjects import change_subject
from hermes_memory_tui.text.display_formats import actor_name, format_ago, format_moment
from hermes_memory_tui.text.origin_text import origin_values
from hermes_memory_tui.widgets.fact_detail import change_phrase, content_difference
from hermes_memory_tui.widgets.text_panel import Line, heading_line, labelled_value

HIDDEN = FACT.incidental | {"content"}
"""Columns that are shown otherwise, or mean nothing to a person."""


def change_verb(change: Change) -> str:
    return "quarantine" if is_quarantine_change(change) else change_phrase(change)


def change_ink(change: Change) -> str:
    return find_operation("quarantine" if is_quarantine_change(change) else change.op).ink


def change_style(change: Change) -> str:
    return f"bold ${change_ink(change)}" if change_ink(change) else "bold"


def is_quarantine_change(change: Change) -> bool:
    return change.op == "create" and (change.after or {}).get("tier") == Tier.QUARANTINED


def change_detail(change: Change, named: dict[int, str], now: int) -> list[Line]:
    different = content_difference(change)  # at the top: the panel may be low, and this is what the change did
    lines: list[Line] = [
        Content.assemble((change_verb(change), "bold"), "  ", change_subject(change, named)),
        Content(""),
        *([*different, Content("")] if different else []),
        labelled_value("by", actor_name(change.actor)),
        labelled_value(
            "when",
            f"{format_moment(change.at, now)}:{change.at // 1000 % 60:02d} ({format_ago(change.at, now)})",
        ),
        labelled_value("theme", to_printable(change.theme)),
        labelled_value(
            "row", f"#{change.seq}" + (f" of change #{change.change}" if change.change != change.seq else "")
        ),
        labelled_value("hash", change.hash[:20]),
        *(labelled_value(label, value) for label, value in origin_values(change.origin)),
    ]
    if change.undoes is not None:
        lines.append(labelled_value("undoes", f"#{change.undoes}"))
    if change.before is None and change.after is None:
        return [*lines, Content(""), Content.styled("content purged, entry kept", "$dim")]
    columns = [name for name in {**(change.before or {}), **(change.after or {})} if name not in HIDDEN]
    if columns:
        lines += [Content(""), heading_line("changed fields")]
        lines += [labelled_value(name, format_changed_value(name, change.before, change.after)) for name in columns]
    return lines


def format_changed_value(name: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> str:
    now = to_printable(str((after or {}).get(name, "–")))
    return now if before is None else f"{to_printable(str(before.get(name, '–')))} → {now}"
