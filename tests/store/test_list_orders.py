"""Orders of a whole list of facts, beside what Python makes of the same facts; facts that were never read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.errors import QueryError
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.language.tokenizer import natural_order
from hermes_memory_store.model import Fact, FactFilter, ListOrder, Millis
from hermes_memory_store.store import Store

DAY_MS = 86_400_000
NOW = 400 * DAY_MS

EXPECTED = {
    ListOrder.SCOPE: lambda fact: natural_order(fact.scope or ""),
    ListOrder.THEME: lambda fact: natural_order(fact.theme),
    ListOrder.AUTHOR: lambda fact: natural_order(fact.actor.title or fact.actor.name or fact.actor.kind),
    ListOrder.TOKENS: lambda fact: fact.tokens,
    ListOrder.READS: lambda fact: fact.reads,
    ListOrder.READ_AT: lambda fact: fact.read_at or 0,
    ListOrder.GIVEN: lambda fact: fact.tokens * fact.reads / max(1.0, (NOW - fact.created_at) / DAY_MS),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    now = [Millis(NOW - 300 * DAY_MS)]
    store = Store.open(tmp_path_factory.mktemp("orders") / "m.db", clock=lambda: now[0])
    agents = {theme: store.sessions.open(theme, f"agent-{theme}", client="claude-code") for theme in ("ops", "web 10")}
    for number in range(60):
        now[0] = Millis(now[0] + (number % 7) * DAY_MS)
        theme = ("ops", "web 10", "web 9")[number % 3]
        scope = (None, "item 10", "Item 9", "zone")[number % 4]
        store.facts.write(
            theme, f"V[v.{number}]: {'word ' * (number % 9)}{number}", scope=scope, session=agents.get(theme)
        )
        if number % 5 == 0 and theme in agents:
            store.context.status(theme, session=agents[theme])
    now[0] = Millis(NOW)
    store.facts.write("ops", "V[last]: 1")
    store.close()  # reads are written in batches
    return Store.open(store.path, clock=lambda: now[0])


@pytest.mark.parametrize("order", ListOrder)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("wanted", [FactFilter(), FactFilter(theme="ops"), FactFilter(scopes=frozenset({"Item 9"}))])
def test_facts_stand_in_the_order_that_python_gives_them(
    store: Store, order: ListOrder, descending: bool, wanted: FactFilter
) -> None:
    found = store.facts.by_ids(list(store.facts.ids(wanted, sort=order, descending=descending)))
    keys = [EXPECTED[order](fact) for fact in found]
    assert keys == sorted(keys, reverse=descending)
    assert {fact.uid for fact in found} == {fact.uid for fact in store.facts.by_ids(list(store.facts.ids(wanted)))}


def test_facts_that_no_session_was_given_are_found(store: Store) -> None:
    def find(line: str) -> list[Fact]:
        return store.facts.by_ids(list(store.facts.ids(parse_query(line, now=Millis(NOW)).filter)))

    never, ever = find("read:never"), find("read:EVER")
    assert never
    assert ever
    assert {fact.reads for fact in never} == {0}
    assert 0 not in {fact.reads for fact in ever}
    assert len(never) + len(ever) == len(find(""))
    page = store.facts.page(parse_query("read:never", theme="ops", now=Millis(NOW)).filter, limit=3)
    assert [fact.reads for fact in page.facts] == [0] * len(page.facts)
    found = store.search.find("ops", "word read:ever")
    assert found.facts
    assert 0 not in {fact.reads for fact in found.facts}


def test_another_word_after_read_is_answered_with_those_there_are() -> None:
    with pytest.raises(QueryError, match="no read is called 'nevr'; did you mean 'never'"):
        parse_query("read:nevr", now=Millis(0))


@given(st.lists(st.integers(0, 10**12), min_size=1))
def test_numbers_in_names_stand_in_the_order_of_numbers(numbers: list[int]) -> None:
    names = [f"item {number}" for number in numbers]
    assert sorted(names, key=natural_order) == [f"item {number}" for number in sorted(numbers)]
