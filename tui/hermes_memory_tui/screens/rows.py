"""Moving changed facts to where they belong in a listing, without reading the listing anew."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

from hermes_memory_store.model import Fact, Sort
from hermes_memory_tui.memory import Listing

LONG = 100_000
"""From so many rows on, finding the row of a fact costs a frame, and only `FEW` are looked for."""

FEW = 4

NEAR = 200
"""Rows at the top among which a new fact may be already, because the listing was read after it was written."""


def moved(
    listing: Listing, facts: Sequence[Fact], fits: set[int], new: set[int], dated: set[int], *, newest: int
) -> Listing | None:
    """The listing with these facts where they belong now; None when only reading it anew can tell.

    :param fits: keys of the facts that the listing's filter lets through
    :param new: keys of the facts that were written just now
    :param dated: keys of those that have another time of change now
    :param newest: when the first row of the listing changed last, as it was shown
    """
    if not (listing.view.sort is Sort.UPDATED and listing.view.descending):
        return None
    complete = len(listing.keys) == listing.total
    there = listed(listing.keys, {fact.id for fact in facts}, new)
    # Most of what others change at once stays where it is: relief cools facts without touching when they changed.
    going = [fact for fact in facts if fact.id not in (there & fits) or fact.id in dated]
    if len(listing.keys) > LONG and sum(fact.id in there for fact in going) > FEW:
        return None
    keys, total = listing.keys[:], listing.total
    for fact in sorted(going, key=lambda fact: (fact.updated_at, fact.id)):
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


def listed(keys: array[int], wanted: set[int], new: set[int]) -> set[int]:
    """Which of these keys stand in a listing, found in one pass."""
    known = wanted - new
    return (known.intersection(keys) if known else set()) | new.intersection(keys[:NEAR])


def index_of(keys: array[int], key: int) -> int | None:
    """The row of a key, None when it is in none."""
    try:
        return keys.index(key)
    except ValueError:
        return None
