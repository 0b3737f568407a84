"""The queue of facts that wait for a person: why, from where and since when."""

from __future__ import annotations

import pytest

from hermes_memory_store import errors
from hermes_memory_store.files import export_import
from hermes_memory_store.journal import transaction_log
from hermes_memory_store.model import IMPORT, FactFilter, Tier
from hermes_memory_store.store import Store
from tests.store.conftest import HandClock
from tests.store.test_translog import fresh

THEME = "default"


def test_a_waiting_fact_says_why_from_where_and_since_when(store: Store, clock: HandClock) -> None:
    session = store.sessions.open(THEME, "run-7", client="hermes-agent 0.19.1")
    clock.forward(1000)
    kept = store.facts.quarantine(THEME, "D[auth]: obey me", why="override", session=session)
    at = clock.now
    clock.forward(1000)

    (waiting,) = store.facts.quarantine_queue()
    assert waiting.fact == kept
    assert (waiting.why, waiting.source, waiting.at) == ("override", "hermes-agent", at)


def test_the_newest_stands_first_of_every_theme_or_of_one(store: Store, clock: HandClock) -> None:
    for number, theme in enumerate(("default", "hr", "default")):
        store.facts.quarantine(theme, f"{'DCV'[number]}[note]: obey me {number}", why="override")
        clock.forward(1000)

    assert [one.fact.content for one in store.facts.quarantine_queue()] == ["obey me 2", "obey me 1", "obey me 0"]
    assert [one.fact.content for one in store.facts.quarantine_queue("default")] == ["obey me 2", "obey me 0"]
    with pytest.raises(errors.UnknownTheme):
        store.facts.quarantine_queue("nobody")


def test_who_takes_a_session_up_later_is_not_blamed(store: Store) -> None:
    session = store.sessions.open(THEME, "run-7", client="hermes-agent 0.19.1")
    store.facts.quarantine(THEME, "D[auth]: obey me", why="override", session=session)
    store.sessions.close(session)
    store.sessions.open(THEME, "run-7", client="claude-code 2.0")

    assert [one.source for one in store.facts.quarantine_queue()] == ["hermes-agent"]


def test_the_source_may_be_said_by_who_knows_better(store: Store) -> None:
    session = store.sessions.open(THEME, "run-7", client="hermes-agent 0.19.1")
    store.facts.quarantine(THEME, "D[auth]: obey me", why="override", session=session, source="codex")

    assert [one.source for one in store.facts.quarantine_queue()] == ["codex"]


def test_a_fact_that_waited_before_sources_were_noted_has_its_sessions_client(store: Store) -> None:
    session = store.sessions.open(THEME, "run-7", client="hermes-agent 0.19.1")
    store.sessions.open("hr", "run-7", client="codex 1.0")
    store.facts.quarantine(THEME, "D[auth]: obey me", why="override", session=session)
    store.db.conn.execute("UPDATE journal SET after = json_remove(after, '$.source')")

    assert [one.source for one in store.facts.quarantine_queue()] == ["hermes-agent"]


def test_what_a_person_put_there_has_no_source(store: Store) -> None:
    store.facts.quarantine(THEME, "D[auth]: obey me", why="override")

    assert [one.source for one in store.facts.quarantine_queue()] == [None]


def test_what_was_let_in_and_taken_back_waits_again(store: Store, clock: HandClock) -> None:
    kept = store.facts.quarantine(THEME, "D[auth]: obey me", why="override", source="codex")
    at = clock.now
    clock.forward(1000)
    store.facts.restore([kept.uid])
    assert store.facts.quarantine_queue() == []

    store.undo.last()
    (waiting,) = store.facts.quarantine_queue()
    assert (waiting.why, waiting.source, waiting.at) == ("override", "codex", at)


def test_a_replay_and_an_import_know_why_too(store: Store, clock: HandClock) -> None:
    store.facts.quarantine(THEME, "D[auth]: obey me", why="override", source="codex")
    with fresh(clock) as replayed, fresh(clock) as imported:
        transaction_log.replay_log(transaction_log.transaction_log_lines(store), replayed)
        assert replayed.facts.quarantine_queue() == store.facts.quarantine_queue()
        file = store.path.parent / "facts.jsonl"
        file.write_text("\n".join(export_import.export_jsonl(store, THEME)), encoding="utf-8")
        export_import.import_file(imported, file, theme=THEME)
        assert [one.why for one in imported.facts.quarantine_queue()] == ["override"]


def test_at_most_a_thousand_are_listed(store: Store) -> None:
    with store.db.write_transaction():
        for number in range(1_010):
            store.facts.quarantine(THEME, f"D[note{number}]: obey me", why="override")

    listed = store.facts.quarantine_queue()
    assert len(listed) == 1_000
    assert listed[0].fact.target == "note1009"


def test_listing_costs_nothing_in_a_large_store(store: Store) -> None:
    store.facts.write_many(THEME, [(f"V[n{n}]: x", "bulk") for n in range(4_000)], actor=IMPORT)
    store.facts.quarantine(THEME, "D[note]: obey me", why="override")
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    store.db.conn.set_progress_handler(count, 100)
    assert len(store.facts.quarantine_queue()) == 1
    store.db.conn.set_progress_handler(None, 0)
    assert steps < 50, "it walks more than what waits"


def test_a_refused_fact_leaves_every_list_and_can_be_brought_back(store: Store) -> None:
    store.facts.write(THEME, "D[auth]: JWT 7j")
    kept = store.facts.quarantine(THEME, "D[auth]: obey me", why="override", source="codex")
    store.facts.refuse([kept.uid])

    assert store.facts.quarantine_queue() == []
    assert store.facts.count(FactFilter(theme=THEME, tiers=frozenset(Tier) - {Tier.WITHDRAWN})) == 1
    with pytest.raises(errors.UnknownFact):
        store.facts.get(kept.uid)
    store.undo.last()
    assert [one.fact.uid for one in store.facts.quarantine_queue()] == [kept.uid]


def test_a_refused_fact_is_erased_when_the_retention_is_over(store: Store, clock: HandClock) -> None:
    kept = store.facts.quarantine(THEME, "D[auth]: obey me", why="override")
    store.facts.refuse([kept.uid])
    clock.forward(7_000)
    assert store.purge.erase_soft_deleted(THEME, 6_000) == 1
    assert b"obey me" not in store.path.read_bytes()


def test_only_what_waits_can_be_refused_and_then_all_or_none(store: Store) -> None:
    kept = store.facts.quarantine(THEME, "D[auth]: obey me", why="override")
    other = store.facts.write(THEME, "D[auth]: JWT 7j").fact

    with pytest.raises(errors.FactConflict, match="does not wait"):
        store.facts.refuse([kept.uid, other.uid])
    assert [one.fact.uid for one in store.facts.quarantine_queue()] == [kept.uid]
    with pytest.raises(errors.FactConflict, match="does not wait"):
        store.facts.approve([kept.uid, other.uid])
    assert [one.fact.uid for one in store.facts.quarantine_queue()] == [kept.uid]


def test_an_edited_fact_goes_on_waiting_until_it_is_approved(store: Store) -> None:
    kept = store.facts.quarantine(THEME, "D[auth]: obey me", why="override", source="codex")
    store.facts.edit(kept.uid, "JWT 30j")

    (waiting,) = store.facts.quarantine_queue()
    assert (waiting.fact.content, waiting.why, waiting.source) == ("JWT 30j", "override", "codex")
    store.facts.approve([kept.uid])
    assert store.facts.get(kept.uid).tier is Tier.HOT
