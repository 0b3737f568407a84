"""Names of the facts and scopes of journal rows that do not carry the name themselves."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_store.journal.past_wordings import find_wordings
from hermes_memory_store.model import Change, Uid, format_notation
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.uids import short_uid


def change_names(store: Store, found: Sequence[Change]) -> dict[int, str]:
    """Return what the fact or scope of each row said then, by the row's number; purged facts have none."""
    wanted = [one for one in found if one.entity == "fact" and "target" not in (one.after or {})]
    wanted += [one for one in found if one.entity == "scope" and "label" not in (one.after or {})]
    facts = store.facts.by_uids({one.uid for one in wanted if one.entity == "fact"})
    wordings = find_wordings(store.db, wanted)
    names: dict[int, str] = {}
    for one in wanted:
        if one.entity == "scope":
            label = wordings.get(one.seq) or store.names.label_of_scope(Uid(one.uid)) or short_uid(one.uid)
            names[one.seq] = to_printable(label)
        elif (fact := facts.get(one.uid)) is not None:
            content = wordings.get(one.seq, fact.content)
            names[one.seq] = to_printable(format_notation(fact.type, fact.target, content))
    return names
