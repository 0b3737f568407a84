"""`why`: what an agent's words came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.store import Store

from .conftest import Ask, Tell
from .test_manual import section


@pytest.fixture
def told(home: Path, db: Path) -> None:
    """A session that was given a fact, and said it."""
    with Store.open(db) as store:
        store.facts.write("default", "V[cache.port]: redis listens on 6379")
        who = store.sessions.open("default", "worker", client="claude-code 2.0")
        store.context.status("default", session=who)
        store.reads.flush()
        store.turns.add("default", "assistant", "Sure: redis listens on 6379.", session=who)


@pytest.mark.usefixtures("told")
def test_words_of_a_captured_message_lead_to_the_fact_it_was_given(ask: Ask, tell: Tell) -> None:
    said = ask("why", "redis", "listens on 6379").out
    assert "Said by claude-code #1 at" in said
    assert "V[cache.port]: redis listens on 6379" in said

    document = tell("why", "redis listens on 6379 in kubernetes", "--session", "claude-code")
    assert document["session"] == "worker"
    assert document["unknown"] == ["kubernetes"]
    (source,) = document["sources"]
    assert source["given_at"] is not None
    assert source["fact"]["target"] == "cache.port"
    assert ask("undo", "--change", str(source["change"])).code == 0
    missing = [key for key in (*document, *source) if f"`{key}`" not in section("why")]
    assert not missing


@pytest.mark.usefixtures("told")
def test_what_nothing_explains_is_said(ask: Ask) -> None:
    assert "Nothing in this memory shares rare words with it." in ask("why", "zebra unicorn").out
    assert "nothing to explain" in ask("why", "  ").err
    assert ask("why", "redis", "--session", "nobody").code == 1
