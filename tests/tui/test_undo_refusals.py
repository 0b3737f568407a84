"""A refused undo in words for the screen, from what the store itself says."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.errors import UndoConflict
from hermes_memory_store.model import PERSON
from hermes_memory_store.store import Store
from hermes_memory_tui.text.undo_refusals import format_refusal


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "m.db")


def refusal(store: Store, change: int) -> str:
    """What the screen says where a change cannot be undone."""
    with pytest.raises(UndoConflict) as refused:
        store.undo.change(change)
    return format_refusal(str(refused.value))


def test_a_fact_that_was_edited_again_is_said_with_the_keys_that_undo_it(store: Store) -> None:
    fact = store.facts.write("ops", "?[video.length]: one").fact
    first = store.facts.edit(fact.uid, "two").seqs[0]
    later = store.facts.edit(fact.uid, "three").seqs[0]
    assert refusal(store, first) == (
        f"?[video.length]: change {later} changed its content again after change {first}. "
        f"Undo change {later} first: 6, and U on #{later}"
    )


def test_several_columns_and_an_archive_are_named_in_words(store: Store) -> None:
    fact = store.facts.write("ops", "V[a]: one").fact
    store.facts.edit(fact.uid, "two")
    store.facts.archive([fact.uid])
    said = refusal(store, store.journal.changes(uid=fact.uid, limit=1)[0].seq)
    assert "its tier" in said or "archived it" in said
    assert fact.uid not in said
    assert "(" not in said


def test_a_person_who_edited_what_an_agent_wrote_is_named_by_what_he_did(store: Store) -> None:
    agent = store.sessions.open("ops", "agent")
    fact = store.facts.write("ops", "V[a]: one", session=agent).fact
    store.facts.pin(fact.uid, actor=PERSON)
    with pytest.raises(UndoConflict) as refused:
        store.undo.session("agent")
    assert "pinned it" in format_refusal(str(refused.value)) or "its pin" in format_refusal(str(refused.value))


def test_a_scope_that_was_renamed_again_is_said(store: Store) -> None:
    store.facts.write("ops", "V[a]: one", scope="one")
    first = store.scopes.rename("ops", "one", "two").seqs[0]
    later = store.scopes.rename("ops", "two", "three").seqs[0]
    said = refusal(store, first)
    assert said.startswith(
        f"scope 'three': change {later} changed its name again after change {first}. Undo change {later}"
    )


def test_a_fact_that_is_named_by_its_uid_alone_is_named_by_the_end_of_it() -> None:
    uid = "01a21b28-7ba3-7001-b758-74b82e75e0a1"
    assert format_refusal(f"fact {uid} was purged; change 5 cannot be undone") == (
        "fact 2e75e0a1 was purged; change 5 cannot be undone"
    )
