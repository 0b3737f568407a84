"""A refused undo and a merge in words for the screen, from what the store itself says."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.errors import UndoConflict
from hermes_memory_store.model import PERSON, Origin, Way
from hermes_memory_store.operations import OPERATIONS
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.projects.branch_search import MERGED, BranchFindings, BranchTip, MergeState
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.journal_lines import JournalPrinter
from hermes_memory_tui.text.change_subjects import change_subject
from hermes_memory_tui.text.undo_refusals import format_refusal
from hermes_memory_tui.widgets.change_text import change_verb


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "m.db")


def refusal(store: Store, change: int) -> str:
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


PAY, MAIN = "2" * 40, "1" * 40


def test_a_merge_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store.open(tmp_path / "memory.db") as store:
        seen = ProjectSighting(root="/work/shop", common="/work/shop/.git", branch="pay", commit=PAY)
        store.facts.write("default", "D[db]: sqlite", origin=store.projects.place(Origin(way=Way.TOOL), seen))
        project = store.branch_states.find_project("/work/shop/.git")
        assert project is not None
        states = {("pay", PAY): MergeState(MERGED, "squash", True)}
        found = BranchFindings("", (MAIN,), states, {"pay": BranchTip(PAY, True)})
        assert store.branch_states.note(project, "main", found) == 1
        (change,) = store.journal.changes(entities=["branch"])
        assert change_verb(change) == "branch_merged"
        assert change.op in OPERATIONS
        assert change_subject(change, {}) == "branch pay of shop squashed into main at 111111111111"
        JournalPrinter(store).print(change)
    assert "branch_merged  branch pay of shop squashed into main at 111111111111" in capsys.readouterr().out
