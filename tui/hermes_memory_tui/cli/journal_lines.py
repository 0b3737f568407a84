"""Format journal rows for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.items.kinds import FACT, SCOPE, Form
from hermes_memory_store.items.project_rows import PLACES
from hermes_memory_store.model import Actor, Change, Fact, Origin
from hermes_memory_store.places.citations import parse_citations
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.cli.json_documents import FACT_FIELDS, change_json, fact_json, fold_json
from hermes_memory_tui.cli.table_output import ORIGIN_FIELDS, Listing
from hermes_memory_tui.cli.terminal_output import print_hanging
from hermes_memory_tui.text.fold_phrases import format_fold_subject, format_fold_verb
from hermes_memory_tui.text.origin_text import format_branch_merge

if TYPE_CHECKING:
    from hermes_memory_store.journal.change_folds import ChangeFold

DERIVED_COLUMNS = FACT.incidental.union(
    {"ended_at"},
    (
        attribute.name
        for kind in (FACT, SCOPE)
        for attribute in kind.attributes
        if attribute.form in (Form.TIME, Form.LINK)
    ),
)
"""Columns that follow from the others, or repeat when it was."""

REOPENED = ("closed_by", None)
"""A scope that is open is closed by nobody; that need not be said."""

FACTS = Listing(
    fields=(*FACT_FIELDS, "by", *ORIGIN_FIELDS),
    shown=("uid", "theme", "tier", "type", "target", "content", "scope", "by", "updated_at"),
)

CHANGES = Listing(
    fields=(
        "seq", "at", "actor", "by", "op", "entity", "uid", "theme", "text", "before", "after", "change", "undoes", "hash",
        "session_title", "origin", *ORIGIN_FIELDS,
    ),
    shown=("seq", "at", "by", "op", "theme", "text"),
)  # fmt: skip

MAX_CACHED_NAMES = 10_000
"""Names kept while a long log is printed."""


class JournalPrinter:
    """Prints journal rows and looks up names that most rows do not repeat."""

    def __init__(self, store: Store, *, with_origin: bool = False) -> None:
        self._store = store
        self._with_origin = with_origin
        self._names: dict[str, str] = {}

    def print(self, change: Change) -> None:
        """Print the time, the author, the operation and the subject of a change."""
        text = self.describe(change)
        if self._with_origin and change.origin.is_known:
            text += f"  [{format_origin_note(change.origin)}]"
        print_journal_line(change.seq, change, change.op, text)

    def print_fold(self, fold: ChangeFold) -> None:
        print_journal_line(fold.first, fold.lead, format_fold_verb(fold), self.fold_subject(fold))

    def fold_subject(self, fold: ChangeFold) -> str:
        is_scope = fold.lead.entity == "scope" and fold.size > 1
        return format_fold_subject(fold, self._name(fold.lead) if is_scope else self.describe(fold.lead))

    def name_fold(self, fold: ChangeFold) -> str:
        """Return a change in a line: its number, whose it is, where, and what it did."""
        document = self.fold_document(fold)
        author = "you" if document["own"] else format_actor(fold.lead.actor)
        return to_printable(
            f"change {fold.first} by {author} in theme {' and '.join(document['themes'])}: {document['said']}"
        )

    def fold_document(self, fold: ChangeFold) -> dict[str, Any]:
        """Return a change with the keys of the JSON contract, all of its themes, and whether it is this person's."""
        from hermes_memory_store.journal.change_folds import ChangeFolds

        document = fold_json(fold, format_fold_verb(fold), self.fold_subject(fold))
        return document | {"themes": ChangeFolds(self._store).themes(fold), "own": fold.lead.is_own}

    def describe(self, change: Change) -> str:
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
        if change.entity == "branch" and "branch" in after:
            return format_branch_merge(after)
        if change.entity == PLACES and "places" in after:
            return f"themes of places: {before.get('places')} → {after['places']}"
        if change.entity == "file" and "path" in after:
            return f"{after['path']}:{after['line']}"
        both = {**before, **after}
        names = [
            name for name in both if name not in DERIVED_COLUMNS and (before.get(name), after.get(name)) != (None, None)
        ]
        parts = [
            format_column_change(name, before.get(name), after.get(name))
            for name in names
            if (name, after.get(name)) != REOPENED
        ]
        return "  ".join([self._name(change), *parts])

    def _name(self, change: Change) -> str:
        name = self._names.get(change.uid)
        if name is None:
            name = self._find_name(change)
            self._remember(change.uid, name)
        return name

    def _find_name(self, change: Change) -> str:
        if change.entity == "scope":
            label = next(
                (scope.label for scope in self._store.scopes.list(change.theme) if scope.uid == change.uid), None
            )
            if label is not None:
                return f"scope {label}"
        # The first row says it even where an undo took the thing away again; it is empty when the thing was purged.
        (first,) = self._store.journal.changes(uid=change.uid, limit=1)
        words = first.after or {}
        if "target" in words:
            return f"{words.get('type', '')}[{words['target']}]"
        return f"{change.entity} {words.get('label', short_uid(change.uid))}"

    def _remember(self, uid: str, name: str) -> None:
        if len(self._names) >= MAX_CACHED_NAMES:
            self._names.clear()
        self._names[uid] = name

    def to_row(self, change: Change) -> dict[str, Any]:
        """Return a change as a row of a list: its JSON document, who made it (`by`), and what it did (`text`)."""
        return change_json(change) | {"by": change.actor.title or str(change.actor), "text": self.describe(change)}


def print_changes(store: Store, changes: Sequence[Change], *, with_origin: bool = False) -> None:
    """Print changes, one per line. :param with_origin: also say where each came from"""
    lines = JournalPrinter(store, with_origin=with_origin)
    for change in changes:
        lines.print(change)


def fact_row(fact: Fact) -> dict[str, Any]:
    """Return a fact as a row of a list: its JSON document, and who wrote it by the name for a person (`by`)."""
    return fact_json(fact) | {"by": fact.actor.title or str(fact.actor)}


def print_journal_line(number: int, change: Change, verb: str, text: str) -> None:
    """Print one line of the journal; a text that is longer than the terminal is wide hangs below itself."""
    when = format_iso_time(change.at)[:19].replace("T", " ")
    print_hanging(f"{number:>6}  {when}  {format_actor(change.actor):<12}  {verb:<9}  ", to_printable(text))


def format_actor(actor: Actor) -> str:
    return to_printable(actor.title or str(actor))


def format_origin_note(origin: Origin) -> str:
    """Format where a change came from in a few words: `import, shop, main, notes.jsonl`."""
    file = None if origin.file is None else PurePath(origin.file).name
    return ", ".join(filter(None, (origin.way.value, origin.project, origin.branch, file)))


def format_column_change(name: str, before: Any, after: Any) -> str:
    if name == "pinned":
        return "pinned" if after else "not pinned"
    if name == "cites":
        before, after = (
            ", ".join(citation.label for citation in parse_citations(cites)) or None for cites in (before, after)
        )
    if before is None or after is None or before == after:
        return f"{name}: {after if before is None else before}"
    return f"{name}: {before} → {after}"
