"""What a person scrolls through begins with what recall would give, and leaves out nothing that a search finds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_store.find.ranked_listing import RankedListing, list_ranked_facts
from hermes_memory_store.store import Store
from tests.examples import example_count


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


WORDS = "pay payment payroll minute minutes thirty card cache login log invoice token".split()  # noqa: SIM905
LINE = st.lists(st.sampled_from([*WORDS, "minu", "the", "what", "zebra"]), min_size=1, max_size=6)


@settings(max_examples=example_count(60), deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), max_size=25), LINE)
def test_a_further_word_never_adds_to_the_facts_with_every_word(texts: list[list[str]], words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "memory.db") as store:
        for number, text in enumerate(texts):
            store.facts.write("ops", f"V[n{number}]: {' '.join(text)} {number}")
        before: set[str] | None = None
        for end in range(1, len(words) + 1):
            found = list_facts(store, "ops", " ".join(words[:end]), limit=1_000)
            whole = {fact.uid for fact in found.facts[: found.total - found.partial]}
            if before is not None:
                assert whole <= before, words[:end]
            if not {"the", "what"}.issuperset(words[:end]):
                before = whole


@pytest.mark.parametrize(
    "line",
    ["pond heron nobody", "does nobody feed the heron", "what heron feeds nobody in the pon", "heron nobody -zebra"],
)
@pytest.mark.parametrize("limit", [5, 20, 1_000])
def test_facts_with_every_word_come_first_and_the_others_are_counted(store: Store, line: str, limit: int) -> None:
    found = list_facts(store, "ops", line, limit=limit)
    assert found.facts[0].target == "pond.rule"
    assert found.total - found.partial == 1
    assert found.partial > 20


def test_where_no_fact_has_every_word_all_are_partial(store: Store) -> None:
    found = list_facts(store, "ops", "heron zebra giraffe", limit=20)
    assert found.partial == found.total > 20
    assert list_facts(store, "ops", "heron pond", limit=20).partial == 0


def test_filters_alone_list_the_newest_first(store: Store) -> None:
    assert list_facts(store, "ops", "type:decision", limit=5).facts == store.search.find("ops", "type:D").facts


def test_all_themes_are_listed_together(store: Store) -> None:
    store.facts.write("hr", "V[heron.hr]: heron of the office")
    assert {fact.theme for fact in list_facts(store, None, "heron", limit=500).facts} == {
        "ops",
        "hr",
    }
