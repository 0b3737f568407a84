"""What has changed, whoever changed it: the addresses of the resources that are no longer what they were.

The journal tells. It is read only when SQLite says that something was committed, which costs microseconds to ask.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hermes_memory_bridge.surface import resources
from hermes_memory_store.model import Change
from hermes_memory_store.store import Store

MOST = 500
"""Changes that are looked at one by one; of more, each theme's own resources are told, and its list."""


@dataclass(slots=True)
class Changed:
    """What changed in one theme."""

    uris: set[str] = field(default_factory=set)
    listed: bool = False
    """Whether the list of its scopes is another one."""


class Watch:
    """Looks at a store that others write. Use one reader for all looks, from one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._version = store.data_version()
        self._seq = store.journal.last_seq()

    def look(self) -> dict[str, Changed]:
        """What changed since the last look, by theme."""
        version = self._store.data_version()
        if version == self._version:
            return {}
        self._version = version
        newest = self._store.journal.last_seq()
        if newest < self._seq:  # another journal: a backup was put back
            self._seq = newest
            return {theme: of_theme(theme) for theme in self._store.names.all_themes()}
        rows = self._store.journal.changes(since=self._seq, limit=MOST + 1)
        self._seq = newest
        if len(rows) > MOST:
            return {theme: of_theme(theme) for theme in self._store.names.all_themes()}
        changed: dict[str, Changed] = {}
        for row in rows:
            self._note(row, changed)
        return changed

    def _note(self, row: Change, changed: dict[str, Changed]) -> None:
        if row.entity not in ("fact", "scope"):
            return
        one = changed.setdefault(row.theme, Changed({resources.STATUS.uri, resources.theme_uri(row.theme)}))
        labels = {words["scope"] for words in (row.before, row.after) if words and words.get("scope")}
        if row.entity == "fact":
            one.uris.add(resources.fact_uri(row.uid))
            label = self._store.names.scope_of_fact(row.uid)
            if label:
                labels.add(label)
        else:
            one.listed = True
            labels |= {words["label"] for words in (row.before, row.after) if words and words.get("label")}
            label = self._store.names.label_of_scope(row.uid)
            if label:
                labels.add(label)
        one.uris |= {resources.scope_uri(row.theme, label) for label in labels}


def of_theme(theme: str) -> Changed:
    """Everything about a theme may have changed."""
    return Changed({resources.STATUS.uri, resources.theme_uri(theme)}, listed=True)
