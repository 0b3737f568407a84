"""Which changes an undo takes back: the newest of this person in a theme, whole, with the files that a relief replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.journal.change_folds import ChangeFolds
from hermes_memory_store.journal.undo_choice import UndoChoice
from hermes_memory_store.model import IMPORT, Origin, Way
from hermes_memory_store.relief.file_relief import relieve_files, undo_relief
from hermes_memory_store.store import Store

from .conftest import HandClock
from .profiles import THEME, Profile, filler, standing

ENTRIES = [f"V[port.{number}]: {5000 + number}" for number in range(12)]


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile(tmp_path / "profile")


def newest(store: Store, theme: str | None, count: int = 1, *, is_own: bool = True) -> list[tuple[int, ...]]:
    return [fold.changes for fold in UndoChoice(store).newest([] if theme is None else [theme], count, is_own=is_own)]


def undo_newest(store: Store, theme: str) -> tuple[Path, ...]:
    """Take back the newest action of the person; the files that were restored."""
    (fold,) = UndoChoice(store).newest([theme])
    return UndoChoice(store).undo(fold.changes).files


def test_the_newest_change_of_the_person_is_of_one_theme_and_not_of_an_agent(store: Store) -> None:
    mine = store.facts.write("ops", "V[port]: 5432").seqs[0]
    other = store.facts.write("shop", "V[tax]: 19").seqs[0]
    agent = store.sessions.open("ops", "claude-code")
    theirs = store.facts.write("ops", "V[port]: 5433", session=agent).seqs[0]
    assert newest(store, "ops") == [(mine,)]
    assert newest(store, "shop") == newest(store, None) == [(other,)]
    assert newest(store, "ops", is_own=False) == [(theirs,)]
    assert newest(store, "ops", 5, is_own=False) == [(theirs,), (mine,)]
    assert newest(store, "nowhere") == []


def test_a_change_of_two_themes_is_the_newest_of_each_and_goes_back_whole(store: Store) -> None:
    fact = store.facts.write("ops", "V[port]: 5432").fact
    store.facts.write("shop", "V[tax]: 19")
    moved = store.theme_moves.move([fact.uid], "shop").seqs[0]
    assert newest(store, "ops") == newest(store, "shop") == [(moved,)]
    undo_newest(store, "shop")
    assert standing(store, "ops") == {"v[port]: 5432"}
    assert standing(store, "shop") == {"v[tax]: 19"}


def test_an_agents_import_is_not_the_persons(store: Store) -> None:
    with store.attribute(Origin(way=Way.RELIEF, session="claude-code")):
        seq = store.facts.write("ops", "V[port]: 5432", actor=IMPORT).seqs[0]
    assert newest(store, "ops") == []
    assert newest(store, "ops", is_own=False) == [(seq,)]


@pytest.mark.parametrize("change", [0, 7, -1])
def test_all_that_a_relief_moved_comes_back_with_its_files_by_any_of_its_changes(
    store: Store, profile: Profile, clock: HandClock, change: int
) -> None:
    store.facts.write(THEME, "V[port.3]: 5003")
    profile.write(*ENTRIES, filler(1100))
    profile.write("V[name]: Ada", filler(1000), user=True)
    before, facts = (profile.memory.read_bytes(), profile.user.read_bytes()), standing(store)
    store.clock = lambda: clock.forward(7) or clock()  # type: ignore[func-returns-value, assignment]
    report = relieve_files(store, THEME, home=profile.home)
    assert report.memory.migrated > 1
    assert report.user.migrated == 1
    changes = sorted({store.journal.get(seq).change for seq in (*report.memory.changes, *report.user.changes)})

    planned = UndoChoice(store).undo([changes[change % len(changes)]], dry_run=True)
    assert (profile.memory.read_bytes(), profile.user.read_bytes()) != before
    undone = UndoChoice(store).undo([changes[change % len(changes)]])

    assert planned.files == undone.files == (profile.memory, profile.user)
    assert planned.undone == undone.undone
    assert (profile.memory.read_bytes(), profile.user.read_bytes()) == before
    assert standing(store) == facts
    assert not list(profile.memory.parent.glob("*.bak"))


def test_the_newest_action_after_a_relief_is_all_of_it(store: Store, profile: Profile) -> None:
    profile.write(*ENTRIES, filler(1100))
    before = profile.memory.read_bytes()
    assert relieve_files(store, THEME, home=profile.home).memory.migrated > 1
    assert undo_newest(store, THEME) == (profile.memory,)
    assert profile.memory.read_bytes() == before
    assert standing(store) == set()
    assert newest(store, THEME) == []


@pytest.mark.parametrize("how", ["changed", "copy gone", "fact edited"])
def test_an_undo_of_a_relief_that_would_lose_an_entry_is_refused_whole(
    store: Store, profile: Profile, how: str
) -> None:
    profile.write(*ENTRIES, filler(1100))
    report = relieve_files(store, THEME, home=profile.home).memory
    assert report.copy is not None
    if how == "changed":
        profile.write("what the host wrote since", filler(1100))
    elif how == "copy gone":
        report.copy.unlink()
    else:
        store.facts.edit(store.search.find(THEME, "5000").facts[0].uid, "another port")
    before, facts = profile.print(), standing(store)

    with pytest.raises(errors.UndoConflict) as refused:
        UndoChoice(store).undo([store.journal.get(report.changes[0]).change])

    assert "fact" in str(refused.value) if how == "fact edited" else "changed since the relief" in str(refused.value)
    assert (profile.print(), standing(store)) == (before, facts)


def test_where_one_of_two_files_was_changed_since_neither_is_put_back(store: Store, profile: Profile) -> None:
    profile.write(*ENTRIES, filler(1100))
    profile.write("V[name]: Ada", filler(1000), user=True)
    relieve_files(store, THEME, home=profile.home)
    profile.write("what the host wrote since", user=True)
    before, facts = profile.print(), standing(store)
    with pytest.raises(errors.UndoConflict, match=r"USER\.md changed since the relief; nothing was taken back"):
        undo_newest(store, THEME)
    assert (profile.print(), standing(store)) == (before, facts)


def test_two_reliefs_of_one_file_are_planned_and_taken_back_at_once(
    store: Store, profile: Profile, clock: HandClock
) -> None:
    profile.write(*(f"The service {number} is restarted by hand when it hangs." for number in range(20)), filler(600))
    before, changes = profile.memory.read_bytes(), []
    for threshold in (60, 40):
        report = relieve_files(store, THEME, home=profile.home, threshold_pct=threshold).memory
        assert report.migrated > 0
        changes.append(store.journal.get(report.changes[0]).change)
        clock.forward(60)
    last = profile.memory.read_bytes()
    planned = UndoChoice(store).undo(changes, dry_run=True)
    assert (planned.files, profile.memory.read_bytes()) == ((profile.memory,), last)
    assert UndoChoice(store).undo(changes).files == (profile.memory,)
    assert profile.memory.read_bytes() == before
    assert standing(store) == set()


def test_after_the_files_alone_were_restored_the_facts_can_follow(store: Store, profile: Profile) -> None:
    profile.write(*ENTRIES, filler(1100))
    before = profile.memory.read_bytes()
    relieve_files(store, THEME, home=profile.home)
    undo_relief(profile.home)
    profile.memory.write_bytes(before + b"\n\xc2\xa7\nwritten since")
    assert undo_newest(store, THEME) == ()
    assert profile.memory.read_bytes() == before + b"\n\xc2\xa7\nwritten since"
    assert standing(store) == set()


def test_an_import_in_batches_is_one_action(store: Store) -> None:
    for number in range(3):
        store.facts.write("ops", f"V[port.{number}]: {number}", actor=IMPORT)
    (fold,) = UndoChoice(store).newest(["ops"])
    assert len(fold.changes) == 3
    UndoChoice(store).undo(fold.changes)
    assert standing(store, "ops") == set()


def test_a_redo_takes_all_of_an_undone_action_back(store: Store, clock: HandClock) -> None:
    store.facts.write("ops", "V[tax]: 19")
    undo_newest(store, "ops")
    clock.forward(60)
    for number in range(3):
        store.facts.write("ops", f"V[port.{number}]: {number}", actor=IMPORT)
    undo_newest(store, "ops")
    clock.forward(60)
    assert len(UndoChoice(store).redo().uids) == 3
    assert standing(store, "ops") == {f"v[port.{number}]: {number}" for number in range(3)}
    with pytest.raises(errors.NothingToUndo):
        UndoChoice(store).redo("ops")
    undo_newest(store, "ops")
    clock.forward(60)
    assert len(UndoChoice(store).redo("ops").uids) == 3


def test_a_redo_takes_an_import_back_whose_batches_took_long_to_undo(store: Store, clock: HandClock) -> None:
    for number in range(3):
        store.facts.write("ops", f"V[port.{number}]: {number}", actor=IMPORT)
    (fold,) = UndoChoice(store).newest(["ops"])
    for change in reversed(fold.changes):
        clock.forward(2_000)
        store.undo.change(change)
    assert len(UndoChoice(store).redo("ops").uids) == 3


def test_the_actions_of_many_undone_rows_are_each_named_once(store: Store) -> None:
    for theme in ("ops", "shop"):
        with store.journal.join_changes():
            for number in range(30):
                store.facts.write(theme, f"V[port.{number}]: {number}")
    folds = UndoChoice(store).newest((), 2)
    undone = UndoChoice(store).undo([change for fold in folds for change in fold.changes])
    named = ChangeFolds(store).of_rows(undone.undone)
    assert [fold.first for fold in named] == [fold.first for fold in folds]
    assert [ChangeFolds(store).themes(fold) for fold in named] == [["shop"], ["ops"]]


def test_the_choice_of_themes_for_projects_is_the_newest_of_every_theme(store: Store) -> None:
    store.facts.write("shop", "V[tax]: 19")
    with store.db.write_transaction() as conn:
        conn.execute("UPDATE place_choice SET places = 'default', chosen_at = NULL")
    (seq,) = store.place_themes.adopt()
    assert newest(store, "shop") == newest(store, "ops") == [(seq,)]
    undo_newest(store, "shop")
    assert not store.place_themes.is_by_project
