"""What a change of the journal is about, in one line of text without styles."""

from __future__ import annotations

from hermes_memory_store.items.project_rows import PLACES
from hermes_memory_store.model import Change, format_notation
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.text.display_formats import pluralise
from hermes_memory_tui.text.origin_text import format_branch_merge


def change_subject(change: Change, named: dict[int, str]) -> str:
    """Return the subject of a change.

    :param named: names of facts and scopes by the numbers of rows that do not name them themselves
    """
    after = change.after or {}
    if change.entity == "fact":
        if "target" in after:
            return to_printable(format_notation(after["type"], after["target"], after.get("content", "")))
        return named.get(change.seq, f"fact {short_uid(change.uid)}")
    if change.entity == "scope":
        return "scope " + to_printable(after.get("label") or named.get(change.seq, short_uid(change.uid)))
    if change.entity == "session":
        return f"session {to_printable(change.actor.title or change.actor.name)}"
    if change.entity == PLACES and "places" in after:
        return (
            "each project has a theme of its own"
            if after["places"] == "projects"
            else "every place has the theme default"
        )
    if change.entity == "file" and "path" in after:
        return to_printable(f"{after['path']}:{after['line']}")
    if change.entity == "turn" and "role" in after:
        return f"{to_printable(after['role'])}: {pluralise(after.get('chars', 0), 'character')}"
    if change.entity == "branch" and "branch" in after:
        return to_printable(format_branch_merge(after))
    return f"{change.entity} {short_uid(change.uid)}"
