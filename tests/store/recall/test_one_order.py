"""The order of facts is the same whether turns are asked for too, and that of turns whether facts are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory_store.model import Origin
from hermes_memory_store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "memory.db") as store:
        session = store.sessions.open("ops", "s")
        for number in range(12):
            turn = store.turns.add("ops", "user", f"The invoice of batch {number} goes to Lisbon.", session=session)
            with store.attribute(Origin(turns=(turn.uid,))):
                store.facts.write("ops", f"V[billing.b{number}]: paid by batch {number * 3}")
        yield store


QUESTIONS = ("where does the invoice of batch 9 go?", "batch 3 Lisbon", "what is paid by batch 6", "invoice")


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_kind_that_is_not_asked_for_lends_its_words(store: Store, question: str) -> None:
    both = store.recall.rank(["ops"], question, limit=200).items
    facts = store.recall.rank(["ops"], question, kinds=("fact",), limit=200).items
    turns = store.recall.rank(["ops"], question, kinds=("turn",), limit=200).items
    assert [one.uid for one in facts] == [one.uid for one in both if one.fact is not None]
    assert [one.uid for one in turns] == [one.uid for one in both if one.turn is not None]
    assert facts
    assert turns


@pytest.mark.parametrize("line", ["batch type:value", '"batch 3"', "batch -3"])
def test_filters_and_literal_lines_are_ranked_by_the_words_of_facts_alone(store: Store, line: str) -> None:
    ranked = store.recall.rank(["ops"], line, kinds=("fact",), limit=50).items
    found = store.search.find("ops", line, limit=50, record=False).facts
    assert [one.uid for one in ranked] == [fact.uid for fact in found]
