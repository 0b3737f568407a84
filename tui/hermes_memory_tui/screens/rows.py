"""Moving changed facts to where they belong in a listing, without reading the listing anew."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

from hermes_memory_store.model import Fact, Sort
from hermes_memory_tui.memory import Listing

LONG = 100_000
"""From so many rows on, looking for a row costs a frame, and only `FEW` may be looked for at once."""

FEW = 4

NEAR = 200
"""Rows at the top among which a new fact may be already, because the listing was read after it was written."""


def moved(listing: Listing, facts: Sequence[Fact], fits: set[int], new: set[int], *, newest: int) -> Listing | None:
    """The listing with these facts where they belong now; None when only reading it anew can tell.

    :param fits: keys of the facts that the listing's filter lets through
    :param new: keys of the facts that were written just now
    :param newest: when the first row of the listing changed last
    """
    known = len(facts) - len(new)
    in_order = listing.view.sort is Sort.UPDATED and listing.view.descending
    if not in_order or (len(listing.keys) > LONG and known > FEW):
        return None
    keys, total = array("q", listing.keys), listing.total
    complete = len(keys) == total
    for fact in sorted(facts, key=lambda fact: (fact.updated_at, fact.id)):
        row = index_of(keys[:NEAR], fact.id) if fact.id in new else index_of(keys, fact.id)
        if row is None and not complete and fact.id not in new:
            return None
        if fact.id in fits and row is not None and fact.updated_at < newest:
            continue
        if row is not None:
            del keys[row]
            total -= 1
        if fact.id in fits:
            if fact.updated_at < newest:
                return None
            keys.insert(0, fact.id)
            newest = fact.updated_at
            total += 1
    return replace(listing, keys=keys, total=total)


def index_of(keys: array[int], key: int) -> int | None:
    """The row of a key, None when it is in none."""
    try:
        return keys.index(key)
    except ValueError:
        return None
