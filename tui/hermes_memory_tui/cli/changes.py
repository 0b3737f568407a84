"""Rows of the journal as lines that people read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from hermes_memory_store.clock import iso
from hermes_memory_store.errors import NotFound
from hermes_memory_store.model import Change
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable

UNTOLD = frozenset({"updated_at", "created_at", "opened_at", "closed_at", "ended_at", "cooled_by", "superseded_by"})
"""Columns that follow from the others, or repeat when it was."""

REMEMBERED = 10_000
"""Names kept while a long log is printed."""


class ChangeLines:
    """Says what each change was about by its name, which most rows of the journal do not repeat."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._names: dict[str, str] = {}

    def line(self, change: Change) -> str:
        """When, by whom, what was done, to what."""
        when = iso(change.at)[:19].replace("T", " ")
        head = f"{change.seq:>6}  {when}  {printable(str(change.actor)):<14}  {change.op:<9}  "
        return head + printable(self._said(change))

    def _said(self, change: Change) -> str:
        before, after = change.before or {}, change.after or {}
        if "content" in after and "target" in after:
            name = f"{after.get('type', '')}[{after['target']}]"
            self._remember(change.uid, name)
            place = f"  ({after['scope']})" if after.get("scope") else ""
            return f"{name}: {after['content']}{place}"
        if change.entity == "scope" and "label" in after and change.before is None:
            self._remember(change.uid, f"scope {after['label']}")
        if change.before is None and change.after is None:
            return "(erased)"
        told = [differs(name, before.get(name), after.get(name)) for name in {**before, **after} if name not in UNTOLD]
        return "  ".join([self._name(change), *told])

    def _name(self, change: Change) -> str:
        name = self._names.get(change.uid)
        if name is None:
            name = self._looked_up(change)
            self._remember(change.uid, name)
        return name

    def _looked_up(self, change: Change) -> str:
        if change.entity == "fact":
            try:
                fact = self._store.facts.get(change.uid)
            except NotFound:
                return f"fact {change.uid[:18]}"
            return f"{fact.type.value}[{fact.target}]"
        if change.entity == "scope":
            labels = (scope.label for scope in self._store.scopes.list(change.theme) if scope.uid == change.uid)
            return f"scope {next(labels, change.uid[:18])}"
        return f"{change.entity} {change.uid[:18]}"

    def _remember(self, uid: str, name: str) -> None:
        if len(self._names) >= REMEMBERED:
            self._names.clear()
        self._names[uid] = name


def print_changes(store: Store, changes: Sequence[Change]) -> None:
    """Changes, one a line."""
    lines = ChangeLines(store)
    for change in changes:
        click.echo(lines.line(change))


def differs(name: str, before: Any, after: Any) -> str:
    """One column, before and after."""
    if name == "pinned":
        return "pinned" if after else "not pinned"
    if before is None or after is None:
        return f"{name}: {after if before is None else before}"
    return f"{name}: {before} → {after}"
