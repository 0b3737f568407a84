"""Why did it say that: from a sentence to the facts it most likely came from."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.journal.saying_sources import Saying, explain_saying
from hermes_memory_store.model import FactFilter, Millis, Session
from hermes_memory_store.store import Store
from tests.store.conftest import HandClock

THEME = "ops"


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(tmp_path: Path, clock: HandClock) -> Iterator[Store]:
    with Store.open(tmp_path / "memory.db", clock=clock) as store:
        yield store


@pytest.fixture
def agent(store: Store) -> Session:
    """A session that was given three facts, and a fact that it was not given."""
    for line in (
        "V[cache.port]: redis listens on 6379",
        "D[deploy]: deploys go out on tuesday",
        "C[log]: keep logs 30 days",
    ):
        store.facts.write(THEME, line)
    agent = store.sessions.open(THEME, "worker")
    store.context.status(THEME, session=agent)
    store.reads.flush()
    return agent


def explained(store: Store, text: str, at: int | None = None, session: str | None = "worker") -> list[str]:
    saying = Saying(text, THEME, session, None if at is None else Millis(at))
    return [source.then.notation for source in explain_saying(store, saying).sources]


def test_the_fact_whose_rare_words_were_said_comes_first(store: Store, agent: Session) -> None:
    assert explained(store, "The cache is Redis, it listens on port 6379.")[0].startswith("V[cache.port]")
    assert explained(store, "We deploy on Tuesdays, as decided.")[0].startswith("D[deploy]")


def test_a_fact_that_was_changed_since_shows_the_wording_of_that_moment(
    store: Store, agent: Session, clock: HandClock
) -> None:
    said_at = clock.now
    clock.forward(60_000)
    fact = store.facts.page(theme_filter()).facts
    port = next(one for one in fact if one.target == "cache.port")
    store.facts.edit(port.uid, "valkey listens on 7000")

    explanation = explain_saying(store, Saying("redis listens on 6379", THEME, "worker", Millis(said_at)))

    first = explanation.sources[0]
    assert first.then.notation == "V[cache.port]: redis listens on 6379"
    assert not first.then.is_current
    assert first.given is not None
    assert first.words[0] in ("redis", "6379", "listens")
    assert first.then.wrote.op == "create"


def test_what_was_written_after_the_moment_is_no_source(store: Store, agent: Session, clock: HandClock) -> None:
    said_at = clock.now
    clock.forward(60_000)
    store.facts.write(THEME, "V[queue]: rabbitmq on 5672")

    assert explained(store, "rabbitmq on 5672", at=said_at) == []
    assert explained(store, "rabbitmq on 5672", at=clock.now) == ["V[queue]: rabbitmq on 5672"]


def test_a_fact_that_the_session_was_given_comes_before_one_that_it_was_not(store: Store, agent: Session) -> None:
    store.facts.write(THEME, "V[other.port]: redis listens on 6379")

    saying = Saying("redis listens on 6379", THEME, "worker")
    first, second = explain_saying(store, saying).sources[:2]

    assert (first.fact.target, second.fact.target) == ("cache.port", "other.port")
    assert first.given is not None
    assert second.given is None


def test_words_that_nothing_holds_are_said_and_explain_nothing(store: Store, agent: Session) -> None:
    explanation = explain_saying(store, Saying("kubernetes autoscaling friday", THEME, "worker"))

    assert explanation.sources == ()
    assert explanation.unknown == ("kubernetes", "autoscaling", "friday")
    assert explanation.contexts


def test_a_pasted_part_of_a_captured_message_finds_its_session_and_moment(
    store: Store, agent: Session, clock: HandClock
) -> None:
    clock.forward(1_000)
    turn = store.turns.add(THEME, "assistant", "Sure.\nRedis  listens on 6379, so use that port.", session=agent)
    clock.forward(60_000)

    explanation = explain_saying(store, Saying("redis listens on 6379, so use"))

    assert explanation.turn is not None
    assert explanation.saying.session == "worker"
    assert explanation.saying.at == explanation.turn.at
    assert turn is not None
    assert explanation.sources[0].given is not None


def test_a_fact_that_was_purged_since_is_counted(store: Store, agent: Session) -> None:
    port = next(one for one in store.facts.page(theme_filter()).facts if one.target == "cache.port")
    store.purge.execute_facts([port.uid])

    explanation = explain_saying(store, Saying("redis listens on 6379", THEME, "worker"))

    assert explanation.sources == ()
    assert explanation.purged == 1


@given(text=st.text(max_size=200))
def test_any_text_is_explained_or_said_to_be_unknown(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "m.db") as opened:
        opened.facts.write(THEME, "V[cache.port]: redis listens on 6379")
        explanation = explain_saying(opened, Saying(text))
        assert all(source.likelihood > 0 and source.words for source in explanation.sources)
        shown = {word for source in explanation.sources for word in source.words}
        assert shown.isdisjoint(explanation.unknown)


def theme_filter() -> FactFilter:
    return FactFilter(theme=THEME)
