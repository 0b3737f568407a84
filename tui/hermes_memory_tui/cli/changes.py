"""Rows of the journal as lines that people read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hermes_memory_store.clock import iso
from hermes_memory_store.model import Change
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_store.uids import short
from hermes_memory_tui.cli.output import hanging

UNTOLD = frozenset({"updated_at", "created_at", "opened_at", "closed_at", "ended_at", "cooled_by", "superseded_by"})
"""Columns that follow from the others, or repeat when it was."""

REOPENED = ("closed_by", None)
"""A scope that is open is closed by nobody; that need not be said."""

REMEMBERED = 10_000
"""Names kept while a long log is printed."""


class ChangeLines:
    """Says what each change was about by its name, which most rows of the journal do not repeat."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[str, str] = {}

    def print(self, change: Change) -> None:
        """When, by whom, what was done, to what."""
        when = iso(change.at)[:19].replace("T", " ")
        head = f"{change.seq:>6}  {when}  {printable(str(change.actor)):<12}  {change.op:<9}  "
        hanging(head, printable(self._said(change)))

    def _said(self, change: Change) -> str:
        before, after = change.before or {}, change.after or {}
        if "content" in after and "target" in after:
            name = f"{after.get('type', '')}[{after['target']}]"
            self._remember(change.uid, name)
            place = f"  ({after['scope']})" if after.get("scope") else ""
            return f"{name}: {after['content']}{place}"
        if change.entity == "scope" and "label" in after and change.before is None:
            self._remember(change.uid, f"scope {after['label']}")
            return f"scope {after['label']}"
        if change.before is None and change.after is None:
            return "(erased)"
        if change.entity == "source" and "source" in after:
            return f"source {after['source']}: {after.get('rule') or 'ask'}"
        names = [name for name in {**before, **after} if name not in UNTOLD]
        told = [
            differs(name, before.get(name), after.get(name)) for name in names if (name, after.get(name)) != REOPENED
        ]
        return "  ".join([self._name(change), *told])

    def _name(self, change: Change) -> str:
        name = self._names.get(change.uid)
        if name is None:
            name = self._looked_up(change)
            self._remember(change.uid, name)
        return name

    def _looked_up(self, change: Change) -> str:
        if change.entity == "scope":
            label = next((one.label for one in self._store.scopes.list(change.theme) if one.uid == change.uid), None)
            if label is not None:
                return f"scope {label}"
        # The first row says it even where an undo took the thing away again; it is empty when the thing was purged.
        (first,) = self._store.journal.changes(uid=change.uid, limit=1)
        said = first.after or {}
        if "target" in said:
            return f"{said.get('type', '')}[{said['target']}]"
        return f"{change.entity} {said.get('label', short(change.uid))}"

    def _remember(self, uid: str, name: str) -> None:
        if len(self._names) >= REMEMBERED:
            self._names.clear()
        self._names[uid] = name


def print_changes(store: Store, changes: Sequence[Change]) -> None:
    """Changes, one a line."""
    lines = ChangeLines(store)
    for change in changes:
        lines.print(change)


def differs(name: str, before: Any, after: Any) -> str:
    """One column, before and after."""
    if name == "pinned":
        return "pinned" if after else "not pinned"
    if before is None or after is None:
        return f"{name}: {after if before is None else before}"
    return f"{name}: {before} → {after}"
