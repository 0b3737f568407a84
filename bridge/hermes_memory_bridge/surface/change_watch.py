"""Change detection, whoever made the change: the URIs of resources that are no longer what they were.

It reads the journal, and only when SQLite reports a commit, which costs microseconds to ask.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hermes_memory_bridge.surface import resources
from hermes_memory_store.model import Change
from hermes_memory_store.store import Store

MOST = 500
"""Changes that are looked at one by one; of more, each theme's own resources are told, and its list."""


@dataclass(slots=True)
class ThemeChanges:
    uris: set[str] = field(default_factory=set)
    listed: bool = False
    """Whether the list of its scopes is another one."""


class ChangeWatch:
    """Watch a store for changes by other writers. Use one reader for all checks, from one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._version = store.data_version()
        self._seq = store.journal.last_seq()

    def look(self) -> dict[str, ThemeChanges]:
        """Return the changes since the last check, by theme."""
        version = self._store.data_version()
        if version == self._version:
            return {}
        self._version = version
        newest = self._store.journal.last_seq()
        if newest < self._seq:  # another journal: a backup was put back
            self._seq = newest
            return {theme: to_full_theme_change(theme) for theme in self._store.names.all_themes()}
        rows = self._store.journal.changes(since=self._seq, limit=MOST + 1)
        self._seq = newest
        if len(rows) > MOST:
            return {theme: to_full_theme_change(theme) for theme in self._store.names.all_themes()}
        changed: dict[str, ThemeChanges] = {}
        for row in rows:
            self._note(row, changed)
        return changed

    def _note(self, row: Change, changed: dict[str, ThemeChanges]) -> None:
        if row.entity not in ("fact", "scope"):
            return
        changes = changed.setdefault(row.theme, ThemeChanges({resources.STATUS.uri, resources.to_theme_uri(row.theme)}))
        labels = {words["scope"] for words in (row.before, row.after) if words and words.get("scope")}
        if row.entity == "fact":
            changes.uris.add(resources.to_fact_uri(row.uid))
            label = self._store.names.scope_of_fact(row.uid)
            if label:
                labels.add(label)
        else:
            changes.listed = True
            labels |= {words["label"] for words in (row.before, row.after) if words and words.get("label")}
            label = self._store.names.label_of_scope(row.uid)
            if label:
                labels.add(label)
        changes.uris |= {resources.to_scope_uri(row.theme, label) for label in labels}


def to_full_theme_change(theme: str) -> ThemeChanges:
    return ThemeChanges({resources.STATUS.uri, resources.to_theme_uri(theme)}, listed=True)
