"""Merging one scope into another: nothing is lost, the newer of two stands, and it can be taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.diagnostics import doctor
from hermes_memory_store.errors import ArgumentError, UnknownScope
from hermes_memory_store.model import FactFilter, Tier
from hermes_memory_store.store import Store
from tests.store.conftest import HandClock

ALL = FactFilter(theme="t", tiers=frozenset(Tier))


def picture(store: Store) -> list[tuple[str, str, str | None, str]]:
    facts = store.facts.by_ids(list(store.facts.ids(ALL)))
    return sorted((fact.target, fact.content, fact.scope, fact.tier.value) for fact in facts)


def test_the_newer_fact_stands_whichever_side_it_was_on(tmp_path: Path, clock: HandClock) -> None:
    with Store.open(tmp_path / "m.db", clock=clock) as store:
        store.facts.write("t", "V[a]: old", scope="desk-9")
        store.facts.write("t", "V[b]: new", scope="desk-009")
        clock.forward(1)
        store.facts.write("t", "V[a]: new", scope="desk-009")
        store.facts.write("t", "V[b]: newest", scope="desk-9")
        store.facts.write("t", "D[c]: only here", scope="desk-9")
        before = picture(store)
        merged = store.scopes.merge("t", "desk-9", "desk-009")
        assert picture(store) == [
            ("a", "new", "desk-009", "hot"),
            ("a", "old", "desk-009", "superseded"),
            ("b", "new", "desk-009", "superseded"),
            ("b", "newest", "desk-009", "hot"),
            ("c", "only here", "desk-009", "hot"),
        ]
        assert [scope.label for scope in store.scopes.list("t")] == ["desk-009"]
        store.undo.change(merged.seqs[0])
        assert picture(store) == before
        assert sorted(scope.label for scope in store.scopes.list("t")) == ["desk-009", "desk-9"]
        store.undo.redo()
        assert len(store.scopes.list("t")) == 1
        assert all(check.ok for check in doctor.examine_store(store))


def test_a_session_that_wrote_to_the_merged_scope_goes_on_in_the_other(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db") as store:
        session = store.sessions.open("t", "agent")
        store.facts.write("t", "V[a]: 1", scope="launch")
        store.facts.write("t", "V[b]: 1", scope="lanch", session=session)
        store.scopes.merge("t", "lanch", "launch")
        assert store.facts.write("t", "V[d]: 1", session=session).fact.scope == "launch"
        store.facts.write("t", "V[e]: 1", scope="lanch")
        assert sorted(scope.label for scope in store.scopes.list("t")) == ["lanch", "launch"]


def test_a_scope_is_not_merged_into_itself_or_into_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db") as store:
        store.facts.write("t", "V[a]: 1", scope="launch")
        with pytest.raises(ArgumentError, match="into itself"):
            store.scopes.merge("t", "launch", "launch")
        with pytest.raises(UnknownScope, match="launch"):
            store.scopes.merge("t", "launch", "lunch")
