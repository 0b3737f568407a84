"""Names of the facts and scopes of journal rows that do not carry the name themselves."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_store.model import Change, Uid
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.uids import short_uid


def change_names(store: Store, found: Sequence[Change]) -> dict[str, str]:
    """Return current names by uid; purged items have none."""
    wanted = {one.uid for one in found if one.entity == "fact" and "target" not in (one.after or {})}
    facts = store.facts.by_uids(wanted)
    names = {uid: to_printable(fact.notation) for uid, fact in facts.items()}
    for one in found:
        if one.entity == "scope" and "label" not in (one.after or {}) and one.uid not in names:
            names[one.uid] = to_printable(store.names.label_of_scope(Uid(one.uid)) or short_uid(one.uid))
    return names
