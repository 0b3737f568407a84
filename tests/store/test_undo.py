"""Undo: every change can be taken back, and the taking back too."""

from __future__ import annotations

import pytest

from hermes_memory_store import errors
from hermes_memory_store.model import Actor, FactFilter, ScopeStatus, Tier
from hermes_memory_store.store import Store

THEME = "default"


def state(store: Store) -> set[tuple[str, str | None, str, str, bool]]:
    facts = store.facts.page(FactFilter(tiers=frozenset()), limit=500).facts
    return {(fact.uid, fact.scope, fact.notation, fact.tier.value, fact.pinned) for fact in facts}


def test_undoing_a_write_takes_the_fact_and_its_scope_away(store: Store) -> None:
    fact = store.facts.write(THEME, "D[auth]: JWT", scope="login").fact

    undone = store.undo.last()

    assert undone.uids[-1] != fact.uid or len(undone.undone) == 2
    assert state(store) == set()
    assert store.scopes.list() == []
    assert store.tiers.gauge(THEME).used == 0
    with pytest.raises(errors.UnknownFact):
        store.facts.get(fact.uid)


def test_redo_brings_back_what_undo_took(store: Store) -> None:
    store.facts.write(THEME, "D[auth]: JWT", scope="login")
    store.facts.write(THEME, "D[auth]: cookies", scope="login")
    before = state(store)

    store.undo.last(2)
    store.undo.redo()
    store.undo.redo()

    assert state(store) == before
    with pytest.raises(errors.NothingToUndo):
        store.undo.redo()


def test_undoing_a_supersede_lets_the_old_fact_stand_again(store: Store) -> None:
    old = store.facts.write(THEME, "D[auth]: JWT").fact
    before = state(store)
    new = store.facts.write(THEME, "D[auth]: cookies")

    store.undo.change(new.seqs[-1])

    assert state(store) == before
    assert store.facts.get(old.uid).superseded_by is None


def test_an_older_change_cannot_be_undone_under_a_newer_one(store: Store) -> None:
    old = store.facts.write(THEME, "D[auth]: JWT")
    new = store.facts.write(THEME, "D[auth]: cookies")

    with pytest.raises(errors.UndoConflict, match=f"undo {new.seqs[0]} first"):
        store.undo.change(old.seqs[0])


def test_a_change_is_undone_once(store: Store) -> None:
    seq = store.facts.write(THEME, "D[auth]: JWT").seqs[0]
    store.undo.change(seq)
    with pytest.raises(errors.NothingToUndo):
        store.undo.change(seq)


def test_undoing_a_close_reopens_the_scope_and_warms_its_facts(store: Store) -> None:
    store.facts.write(THEME, "D[auth]: JWT", scope="login")
    before = state(store)
    closed = store.scopes.close(THEME, "login")

    store.undo.change(closed.seqs[0])

    assert state(store) == before
    assert store.scopes.get(THEME, "login").status is ScopeStatus.OPEN


def test_undoing_a_session_takes_back_only_what_it_wrote(store: Store) -> None:
    store.facts.write(THEME, "D[a]: by a person")
    session = store.sessions.open(THEME, "s1")
    before = state(store)
    store.facts.write(THEME, "D[b]: one", session=session, scope="x")
    store.facts.write(THEME, "D[b]: two", session=session)
    store.facts.write(THEME, "C[c]: kept", actor=Actor("session", "s2"))

    store.undo.session("s1")

    assert {fact for fact in state(store) if "kept" not in fact[2]} == before


def test_undoing_a_write_takes_its_relief_back_too(store: Store) -> None:
    for n in range(90):
        store.facts.write(THEME, f"V[n{n}]: {'x' * 96}")
    before = state(store)
    relieved = None
    while relieved is None or not relieved.relief.cooled:
        before = state(store)
        relieved = store.facts.write(THEME, f"D[m{len(before)}]: {'y' * 96}")

    store.undo.change(relieved.seqs[0])

    assert state(store) == before


def test_undo_of_everything_returns_to_nothing(store: Store) -> None:
    fact = store.facts.write(THEME, "D[a]: 1", scope="s").fact
    store.facts.pin([fact.uid])
    store.facts.edit(fact.uid, "2")
    store.facts.archive([fact.uid])
    store.facts.restore([fact.uid])
    store.scopes.rename(THEME, "s", "t")
    store.scopes.close(THEME, "t")

    store.undo.last(7)

    assert state(store) == set()
    assert store.scopes.list() == []
    assert store.journal.verify().ok
    assert store.facts.count(FactFilter(tiers=frozenset(Tier))) == 0


def test_a_former_label_that_another_scope_has_by_now_is_not_given_back(store: Store) -> None:
    store.facts.write(THEME, "D[a]: 1", scope="s")
    renamed = store.scopes.rename(THEME, "s", "t")
    store.facts.write(THEME, "D[a]: 2", scope="s")
    with pytest.raises(
        errors.UndoConflict, match="scope 't' would be named 's' again, and there is by now a scope named 's'"
    ):
        store.undo.change(renamed.seqs[0])
    assert {scope.label for scope in store.scopes.list()} == {"s", "t"}


def test_a_session_is_taken_back_but_for_what_others_built_on(store: Store) -> None:
    agent = store.sessions.open("t", "agent")
    mine = store.facts.write("t", "D[a]: agent", session=agent).fact
    store.facts.write("t", "D[b]: agent", session=agent)
    store.facts.edit(mine.uid, "a person said otherwise")
    edited = store.journal.last_seq()
    before = store.journal.last_seq()
    with pytest.raises(errors.UndoConflict, match=f"undo {edited} first"):
        store.undo.session("agent")
    assert store.journal.last_seq() == before
    undone = store.undo.session("agent", leaving=True)
    assert len(undone.undone) == 1
    assert len(undone.left) == 1
    assert f"undo {edited} first" in undone.left[0]
    assert [fact.target for fact in store.facts.page(FactFilter(theme="t")).facts] == ["a"]
    with pytest.raises(errors.UndoConflict):
        store.undo.session("agent", leaving=True)
