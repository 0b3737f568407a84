"""What a person has ruled about whole sources: kept per theme, journaled, and the same after replay, rewinding and backup."""

from __future__ import annotations

import sqlite3

import pytest

from hermes_memory_store import errors
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.memory.sources import session_source
from hermes_memory_store.store import Store
from tests.store.conftest import HandClock

THEME = "default"


@pytest.mark.parametrize(
    ("client", "source"),
    [
        ("hermes-agent 0.19.1", "hermes-agent"),
        ("claude-code 2.0.14 ", "claude-code"),
        ("Claude Desktop", "Claude Desktop"),
        ("Visual Studio Code v1.99.0-insider", "Visual Studio Code"),
        ("agent", "agent"),
        ("2048 1.0", "2048"),
        ("2048", "2048"),
        (None, "run-7"),
        ("", "run-7"),
    ],
)
def test_a_source_is_the_client_without_its_version_else_the_session(
    store: Store, client: str | None, source: str
) -> None:
    assert session_source(store.sessions.open(THEME, "run-7", client=client)) == source


def test_nothing_is_ruled_until_a_person_says_so(store: Store) -> None:
    assert store.sources.list() == []
    assert store.sources.rule(THEME, "hermes-agent") is None


def test_a_rule_holds_in_its_theme_only(store: Store) -> None:
    store.sources.set_rule(THEME, "hermes-agent", "always")
    store.sources.set_rule("hr", "hermes-agent", "never")

    assert store.sources.rule(THEME, "hermes-agent") == "always"
    assert store.sources.rule("hr", "hermes-agent") == "never"
    assert store.sources.rule("sales", "hermes-agent") is None
    assert [one.theme for one in store.sources.list("hr")] == ["hr"]


def test_the_newest_rule_counts_and_none_takes_it_away(store: Store, clock: HandClock) -> None:
    store.sources.set_rule(THEME, "hermes-agent", "always")
    clock.forward(1000)
    store.sources.set_rule(THEME, "hermes-agent", "never")
    (known,) = store.sources.list()
    assert (known.rule, known.at) == ("never", clock.now)

    store.sources.set_rule(THEME, "hermes-agent", None)
    assert store.sources.list() == []


def test_what_changes_nothing_leaves_no_trace(store: Store) -> None:
    assert store.sources.set_rule(THEME, "hermes-agent", None) == ()
    assert len(store.sources.set_rule(THEME, "hermes-agent", "never")) == 1
    assert store.sources.set_rule(THEME, "hermes-agent", "never") == ()


def test_the_journal_says_who_ruled_what(store: Store) -> None:
    store.sources.set_rule(THEME, "hermes-agent", "always")
    (change,) = store.journal.changes(ops=["rule"])

    assert (change.entity, str(change.actor), change.theme) == ("source", "person", THEME)
    assert change.after is not None
    assert (change.after["source"], change.after["rule"]) == ("hermes-agent", "always")


@pytest.mark.parametrize("source", ["", "  ", "a\u200bb", "x" * 300])
def test_what_cannot_be_a_source_is_refused(store: Store, source: str) -> None:
    with pytest.raises(errors.InputError):
        store.sources.set_rule(THEME, source, "never")
    assert store.journal.last_seq() == 0


def test_a_rule_that_is_none_is_refused(store: Store) -> None:
    with pytest.raises(errors.ArgumentError, match="sometimes"):
        store.sources.set_rule(THEME, "hermes-agent", "sometimes")  # type: ignore[arg-type]


def test_an_unknown_theme_has_no_rules_to_list(store: Store) -> None:
    with pytest.raises(errors.UnknownTheme):
        store.sources.list("nobody")


def test_undo_passes_over_rules(store: Store) -> None:
    fact = store.facts.write(THEME, "D[auth]: JWT").fact
    (seq,) = store.sources.set_rule(THEME, "hermes-agent", "always")

    with pytest.raises(errors.NothingToUndo):
        store.undo.change(seq)
    assert store.undo.last().uids == (fact.uid,)
    assert store.sources.rule(THEME, "hermes-agent") == "always"
    assert store.undo.redo().uids == (fact.uid,)


def test_the_doctor_finds_a_rule_of_no_theme(store: Store) -> None:
    store.sources.set_rule(THEME, "hermes-agent", "always")
    conn = sqlite3.connect(store.path)
    conn.execute("UPDATE source_rules SET theme_id = 99")
    conn.commit()
    conn.close()
    assert [check.name for check in examine_store(store) if not check.ok] == ["references"]


def test_a_purge_keeps_the_rules(store: Store) -> None:
    store.facts.write(THEME, "D[auth]: JWT", scope="login")
    store.sources.set_rule(THEME, "hermes-agent", "never")
    store.purge.execute(THEME, scope="login")
    assert store.sources.rule(THEME, "hermes-agent") == "never"
