"""What the provider adds to a prompt stands in the order in which every tool ranks it."""

from __future__ import annotations

from pathlib import Path

from hermes_memory_bridge.provider.bridge_line import BridgeLine
from hermes_memory_bridge.provider.prefetch import ASKED_TOKENS, MOST_TOKENS, choose_lines, fetch_recall
from hermes_memory_store.notation.token_count import count_tokens
from hermes_memory_store.store import Store
from tests.bridge.hook_service.prompt_set import FACTS
from tests.bridge.running import bridge

QUESTION = "which port does the staging database listen on, and may a released migration be changed?"


def test_the_provider_recalls_in_the_one_order_and_within_its_budget(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with Store.open(db) as store:
        for line in FACTS:
            store.facts.write("default", line)
        store.turns.add(
            "default", "user", "The staging database was moved.", session=store.sessions.open("default", "a")
        )
        store.turns.add("default", "user", "Which port has staging?", session=store.sessions.open("default", "mine"))
        given = store.recall.give(["default"], QUESTION, ASKED_TOKENS).items
    with bridge(db):
        line = BridgeLine(str(db), "default", str(tmp_path))
        found = fetch_recall(line, QUESTION, "mine")
        line.close()
    others = [item for item in given if item.turn is None or item.turn.session != "mine"]
    assert [one["uid"] for one in found] == [item.uid for item in others]
    assert len(others) < len(given)
    known = str(found[0]["line"])
    chosen = choose_lines(found, lambda one: one != known, lambda _: True)
    assert known not in chosen
    assert sum(map(count_tokens, chosen)) <= MOST_TOKENS
    assert chosen == [one["line"] for one in found if one["line"] in chosen]
    assert len(chosen) > 3
