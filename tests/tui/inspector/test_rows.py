"""Moving changed facts in a listing gives what reading it anew would give, or says that it cannot."""

from __future__ import annotations

from array import array
from dataclasses import replace

import pytest

from hermes_memory_store.model import PERSON, Fact, FactFilter, FactType, Millis, Sort, Tier, Uid
from hermes_memory_tui.model.memory import FactListing, ListingRequest
from hermes_memory_tui.screens import listing_updates

LISTING = FactListing(ListingRequest(), array("q", [5, 4, 3, 2, 1]), 5, False, FactFilter())
"""Five facts, each changed at the time of its key."""


def fact(key: int, at: int) -> Fact:
    """A fact that changed at a moment."""
    name = Uid(f"{key:032x}")
    return Fact(key, name, "t", None, FactType.VALUE, "x", "y", Tier.HOT, False, 1, 1, PERSON, Millis(0), Millis(at))


def moved(listing: FactListing, facts: list[Fact], fits: set[int], new: set[int]) -> FactListing | None:
    """The listing after these changes, when its first fact changed last at 5."""
    dated = {fact.id for fact in facts if fact.updated_at != fact.id}
    return listing_updates.move_changed_rows(listing, facts, fits, new, dated, newest=5)


@pytest.mark.parametrize(
    ("facts", "fits", "new", "keys"),
    [
        ([fact(6, 6)], {6}, {6}, [6, 5, 4, 3, 2, 1]),
        ([fact(2, 7)], {2}, set(), [2, 5, 4, 3, 1]),
        ([fact(2, 7)], set(), set(), [5, 4, 3, 1]),
        ([fact(3, 3)], {3}, set(), [5, 4, 3, 2, 1]),
        ([fact(9, 9)], set(), {9}, [5, 4, 3, 2, 1]),
        ([fact(2, 7), fact(5, 8)], {2, 5}, set(), [5, 2, 4, 3, 1]),
        ([fact(7, 7), fact(6, 6), fact(1, 8)], {1, 6, 7}, {6, 7}, [1, 7, 6, 5, 4, 3, 2]),
    ],
)
def test_changed_facts_come_to_stand_where_they_belong(
    facts: list[Fact], fits: set[int], new: set[int], keys: list[int]
) -> None:
    after = moved(LISTING, facts, fits, new)
    assert after is not None
    assert list(after.keys) == keys
    assert after.total == len(keys)


def test_a_fact_that_comes_back_with_an_old_time_takes_reading_anew() -> None:
    assert moved(LISTING, [fact(9, 3)], {9}, set()) is None


def test_a_fact_that_changed_before_the_newest_did_takes_reading_anew() -> None:
    assert moved(LISTING, [fact(2, 4)], {2}, set()) is None


def test_in_a_long_listing_what_stays_where_it_is_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_updates, "LONG", 3)
    monkeypatch.setattr(listing_updates, "FEW", 1)
    cooled = [fact(key, key) for key in (1, 2, 3, 4)]
    after = moved(LISTING, [*cooled, fact(6, 6), fact(5, 7)], {1, 2, 3, 4, 5, 6}, {6})
    assert after is not None
    assert list(after.keys) == [5, 6, 4, 3, 2, 1]


def test_in_a_long_listing_only_few_rows_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_updates, "LONG", 3)
    monkeypatch.setattr(listing_updates, "FEW", 1)
    assert moved(LISTING, [fact(1, 8), fact(2, 9)], {1, 2}, set()) is None


def test_another_order_takes_reading_anew() -> None:
    by_target = replace(LISTING, view=ListingRequest(sort=Sort.TARGET))
    assert moved(by_target, [fact(6, 6)], {6}, {6}) is None


def test_a_fact_that_may_stand_further_down_takes_reading_anew() -> None:
    first_page = replace(LISTING, total=900)
    assert moved(first_page, [fact(77, 7)], {77}, set()) is None
