"""The files a relief replaces: private, kept, put back on request, and reached by a purge."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.relief.file_relief import relieve_files, undo_relief
from hermes_memory_store.store import Store

from .conftest import HandClock
from .profiles import THEME, Profile, filler, standing


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile(tmp_path / "profile")


@pytest.mark.parametrize("broken", ["memory", "user"])
def test_one_file_that_is_not_utf8_leaves_both_untouched(store: Store, profile: Profile, broken: str) -> None:
    profile.write("V[port]: 5432", filler(1300))
    profile.write("V[name]: Ada", filler(1000), user=True)
    (profile.memory if broken == "memory" else profile.user).write_bytes(b"V[a]: \xff\n" + b"x" * 1500)
    before = profile.print()

    with pytest.raises(errors.ImportFileError, match=f"{broken.upper()}.md is not UTF-8: byte 0xff in line 1"):
        relieve_files(store, THEME, home=profile.home)

    assert profile.print() == before
    assert store.journal.last_seq() == 0


def test_a_relieved_file_is_private_and_its_copy_too(store: Store, profile: Profile) -> None:
    profile.write("V[port]: 5432", filler(1300))
    before = profile.memory.read_bytes()

    report = relieve_files(store, THEME, home=profile.home).memory

    assert report.copy is not None
    assert report.copy.read_bytes() == before
    assert {stat.S_IMODE(path.stat().st_mode) for path in profile.memory.parent.iterdir()} == {0o600}


def test_undo_puts_back_what_the_relief_replaced(store: Store, profile: Profile, clock: HandClock) -> None:
    profile.write("V[port]: 5432", filler(1300))
    profile.write("V[name]: Ada", filler(1000), user=True)
    first = (profile.memory.read_bytes(), profile.user.read_bytes())
    relieve_files(store, THEME, home=profile.home)
    profile.write("V[host]: db1", "V[other]: db2", filler(1300))
    second = profile.memory.read_bytes()
    clock.forward(1000)
    relieve_files(store, THEME, home=profile.home)

    undone = undo_relief(profile.home)

    assert undone.restored == (profile.memory,)
    assert profile.memory.read_bytes() == second
    assert "v[host]: db1" in standing(store)

    profile.write(filler(1300))
    assert undo_relief(profile.home).restored == (profile.memory, profile.user)
    assert (profile.memory.read_bytes(), profile.user.read_bytes()) == first
    with pytest.raises(errors.NothingToUndo):
        undo_relief(profile.home)


def test_undo_leaves_a_file_alone_that_somebody_wrote_to_since(store: Store, profile: Profile) -> None:
    profile.write("V[port]: 5432", filler(1300))
    relieve_files(store, THEME, home=profile.home)
    profile.write(filler(1300), "a new entry")
    before = profile.print()

    with pytest.raises(errors.UndoConflict, match=r"MEMORY\.md changed since the relief; nothing was put back"):
        undo_relief(profile.home)

    assert profile.print() == before


def test_a_purge_reaches_the_copies_of_what_a_relief_moved(store: Store, profile: Profile, clock: HandClock) -> None:
    profile.write("V[key]: hunter2", filler(1300))
    first = relieve_files(store, THEME, home=profile.home).memory.copy
    clock.forward(1000)
    profile.write("V[port]: 5432", filler(1300))
    second = relieve_files(store, THEME, home=profile.home).memory.copy
    assert first is not None
    assert second is not None
    store.facts.archive([store.search.find(THEME, "hunter2").facts[0].uid])

    plan = store.purge.execute(THEME)

    assert (plan.total, plan.unreached) == (1, ())
    assert not first.exists()
    assert second.exists()
    kept = [path for path in profile.home.parent.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]
    assert kept == []


def test_only_so_many_copies_are_kept(store: Store, profile: Profile, clock: HandClock) -> None:
    for number in range(15):
        clock.forward(1000)
        profile.write(f"V[port.{number}]: 5432", filler(1300))
        relieve_files(store, THEME, home=profile.home)

    copies = sorted(path.name for path in profile.memory.parent.glob("*.bak"))

    assert len(copies) == 10
    assert b"V[port.14]" in (profile.memory.parent / copies[-1]).read_bytes()


@pytest.mark.parametrize("ending", ["reliefs", "backups"])
def test_a_list_of_copies_that_cannot_be_read_is_named(store: Store, ending: str) -> None:
    fact = store.facts.write(THEME, "V[port]: 5432").fact
    store.path.with_name(f"{store.path.name}.{ending}").mkdir()
    with pytest.raises(errors.StoreUnreadable, match=f"{ending} cannot be read"):
        store.purge.erase([fact.uid])
