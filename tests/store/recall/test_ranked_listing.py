"""What a person scrolls through begins with what recall would give, and leaves out nothing that a search finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory_store.find.ranked_listing import RankedListing, list_ranked_facts
from hermes_memory_store.store import Store


def list_facts(store: Store, theme: str | None, line: str, *, limit: int) -> RankedListing:
    return list_ranked_facts(store.search, store.recall, theme, line, limit=limit)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "memory.db") as store:
        for number in range(150):
            store.facts.write("ops", f"V[heron.n{number}]: heron of pond {number % 7}")
        store.facts.write("ops", "D[pond.rule]: nobody feeds a heron in the pond")
        session = store.sessions.open("ops", "s")
        store.turns.add("ops", "user", "May we feed the heron at the pond?", session=session)
        yield store


@pytest.mark.parametrize("line", ["heron", "pond heron", "may we feed the heron?", "heron -3", '"heron of"'])
def test_a_listing_begins_as_recall_ranks_and_holds_all_that_a_search_finds(store: Store, line: str) -> None:
    listed = [fact.uid for fact in list_facts(store, "ops", line, limit=1_000).facts]
    ranked = [item.uid for item in store.recall.rank(["ops"], line, kinds=("fact",), limit=20).items]
    found = store.search.find("ops", line, limit=1_000, record=False)
    assert listed[: len(ranked)] == ranked
    assert {fact.uid for fact in found.facts} <= set(listed)
    assert len(set(listed)) == len(listed)
    assert {fact.uid for fact in found.facts[: found.exact]} == set(listed[: found.exact])


@pytest.mark.parametrize("limit", [1, 5, 80, 81, 200])
def test_a_listing_keeps_its_limit_and_counts_the_others(store: Store, limit: int) -> None:
    found = list_facts(store, "ops", "heron", limit=limit)
    assert len(found.facts) == min(limit, 151)
    assert found.total == 151 or found.more


def test_filters_alone_list_the_newest_first(store: Store) -> None:
    assert list_facts(store, "ops", "type:decision", limit=5).facts == store.search.find("ops", "type:D").facts


def test_all_themes_are_listed_together(store: Store) -> None:
    store.facts.write("hr", "V[heron.hr]: heron of the office")
    assert {fact.theme for fact in list_facts(store, None, "heron", limit=500).facts} == {
        "ops",
        "hr",
    }
