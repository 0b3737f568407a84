"""Move changed facts to their new positions in a listing without reading it again."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

from hermes_memory_store.model import Fact, Sort
from hermes_memory_tui.model.memory import FactListing

LONG = 100_000
"""From so many rows on, finding the row of a fact costs a frame, and only `FEW` are looked for."""

FEW = 4

NEAR = 200
"""Rows at the top among which a new fact may be already, because the listing was read after it was written."""


def move_changed_rows(
    listing: FactListing, facts: Sequence[Fact], fits: set[int], new: set[int], dated: set[int], *, newest: int
) -> FactListing | None:
    """Return the listing with these facts at their new positions, or None when it must be read again.

    :param fits: keys of the facts that match the listing's filter
    :param new: keys of the facts that were just written
    :param dated: keys of those whose time of change is different now
    :param newest: the last change of the listing's first row, as shown
    """
    if not (listing.view.sort is Sort.UPDATED and listing.view.descending):
        return None
    complete = len(listing.keys) == listing.total
    there = find_listed_keys(listing.keys, {fact.id for fact in facts}, new)
    # Most of what others change at once stays where it is: relief cools facts without touching when they changed.
    moved = [fact for fact in facts if fact.id not in (there & fits) or fact.id in dated]
    if len(listing.keys) > LONG and sum(fact.id in there for fact in moved) > FEW:
        return None
    keys, total = listing.keys[:], listing.total
    for fact in sorted(moved, key=lambda fact: (fact.updated_at, fact.id)):
        if fact.id in there:
            del keys[keys.index(fact.id)]
            total -= 1
        elif not complete and fact.id not in new:
            return None
        if fact.id in fits:
            if fact.updated_at < newest:
                return None
            keys.insert(0, fact.id)
            newest = fact.updated_at
            total += 1
    return replace(listing, keys=keys, total=total)


def find_listed_keys(keys: array[int], candidates: set[int], new: set[int]) -> set[int]:
    """Return which of these keys a listing contains, found in one pass."""
    older = candidates - new
    return (older.intersection(keys) if older else set()) | new.intersection(keys[:NEAR])


def row_of_key(keys: array[int], key: int) -> int | None:
    try:
        return keys.index(key)
    except ValueError:
        return None
