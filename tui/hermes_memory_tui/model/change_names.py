"""Names of the facts and scopes of journal rows that do not carry the name themselves."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_store.journal.past_wordings import find_wordings
from hermes_memory_store.model import Change, Uid, format_notation
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.uids import short_uid


def change_names(store: Store, changes: Sequence[Change]) -> dict[int, str]:
    """Return what the fact or scope of each row said then, by the row's number; purged facts have none."""
    unnamed = [change for change in changes if change.entity == "fact" and "target" not in (change.after or {})]
    unnamed += [change for change in changes if change.entity == "scope" and "label" not in (change.after or {})]
    facts = store.facts.by_uids({change.uid for change in unnamed if change.entity == "fact"})
    wordings = find_wordings(store.db, unnamed)
    names: dict[int, str] = {}
    for change in unnamed:
        if change.entity == "scope":
            label = wordings.get(change.seq) or store.names.label_of_scope(Uid(change.uid)) or short_uid(change.uid)
            names[change.seq] = to_printable(label)
        elif (fact := facts.get(change.uid)) is not None:
            content = wordings.get(change.seq, fact.content)
            names[change.seq] = to_printable(format_notation(fact.type, fact.target, content))
    return names
