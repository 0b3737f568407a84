"""What the facts and scopes of a journal row are called, when the row itself does not say it."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_store.model import Change, Uid
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_store.uids import short


def named(store: Store, found: Sequence[Change]) -> dict[str, str]:
    """Names by uid, as they stand now; what was purged has none."""
    wanted = {one.uid for one in found if one.entity == "fact" and "target" not in (one.after or {})}
    facts = store.facts.named(wanted)
    names = {uid: printable(fact.notation) for uid, fact in facts.items()}
    for one in found:
        if one.entity == "scope" and "label" not in (one.after or {}) and one.uid not in names:
            names[one.uid] = printable(store.names.label_of_scope(Uid(one.uid)) or short(one.uid))
    return names
