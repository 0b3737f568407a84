"""Backups: made online, verified, private, known; and put back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.database import database_copies
from hermes_memory_store.database.schema import STORE_VERSION
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.model import FactFilter
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep import backup
from tests.store.crashing import killed_at
from tests.store.portraits import portrait

OLD_FILE = Path(__file__).parent / "fixtures" / "hermes_memory_0_3_0.db"

PREPARE = """
from pathlib import Path
from hermes_memory_store.database import database_copies
from hermes_memory_store.journal import time_travel
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep import backup
db, target = Path({db!r}), Path({target!r})
store = Store.open(db)
"""


def facts(path: Path) -> set[str]:
    with Store.open(path, read_only=True, force=True) as store:
        return {fact.notation for fact in store.facts.page(FactFilter(), limit=1000).facts}


@pytest.fixture
def filled(store: Store) -> Store:
    for number in range(40):
        store.facts.write("default", f"V[n{number}]: value {number}", scope=f"s{number % 3}")
    store.facts.write("default", "V[n1]: changed", scope="s1")
    return store


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere" / "backup.db"


@pytest.fixture(autouse=True)
def folder(target: Path) -> None:
    target.parent.mkdir()


def test_a_backup_is_the_store_in_one_private_file(filled: Store, target: Path) -> None:
    report = backup.create_backup(filled, target)
    assert report == backup.BackupReport(target, 41)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [file.name for file in target.parent.iterdir()] == ["backup.db"]
    with Store.open(target, read_only=True) as copy:
        assert portrait(copy) == portrait(filled)
        assert all(check.ok for check in examine_store(copy))


@pytest.mark.parametrize(
    ("place", "overwrite", "error", "message"),
    [
        ("elsewhere/backup.db", False, errors.ArgumentError, r"backup\.db exists already"),
        ("elsewhere", True, errors.ArgumentError, "no file that a backup could replace"),
        ("memory.db", True, errors.ArgumentError, "the memory itself"),
        ("none/backup.db", False, errors.StoreUnreadable, "there is no folder"),
        ("/dev/full/backup.db", False, errors.StoreError, "no folder"),
    ],
)
def test_a_place_for_no_backup_is_refused_and_left(
    filled: Store, target: Path, place: str, overwrite: bool, error: type[errors.StoreError], message: str
) -> None:
    target.write_text("precious")
    with pytest.raises(error, match=message):
        backup.create_backup(filled, filled.path.parent / place, overwrite=overwrite)
    assert target.read_text() == "precious"
    backup.create_backup(filled, target, overwrite=True)
    assert len(facts(target)) == 40


def test_writers_go_on_during_a_backup_and_each_backup_is_one_moment(filled: Store, target: Path) -> None:
    stop, written = threading.Event(), 0

    def write() -> None:
        nonlocal written
        with Store.open(filled.path, policies=filled.policies) as writer:
            while not stop.is_set():
                writer.facts.write("default", f"V[more{written}]: x")
                written += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for number in range(5):
            backup.create_backup(filled, target.with_name(f"{number}.db"))
    finally:
        stop.set()
        thread.join()
    assert written
    for number in range(5):
        with Store.open(target.with_name(f"{number}.db"), read_only=True) as copy:
            assert all(check.ok for check in examine_store(copy))


@pytest.mark.crash
@pytest.mark.parametrize("step", range(1, 49, 3))
def test_a_backup_killed_at_any_step_leaves_no_half_file(filled: Store, target: Path, step: int) -> None:
    filled.close()
    killed = killed_at(
        step, PREPARE.format(db=str(filled.path), target=str(target)), "backup.create_backup(store, target)"
    )
    if target.exists():
        assert len(facts(target)) == 40
    else:
        assert killed
    with Store.open(filled.path) as again:
        assert all(check.ok for check in examine_store(again))
        backup.create_backup(again, target, overwrite=True)
    assert [file.name for file in target.parent.iterdir()] == ["backup.db"]


def test_known_backups_are_found_where_they_were_put(filled: Store, target: Path) -> None:
    backup.create_backup(filled, target)
    beside = backup.default_backup_path(filled.path, "before", 0)
    backup.back_up_file(filled.path, beside, reason="before", now=0)
    stray = filled.path.with_name(f"{filled.path.name}.old.bak")
    shutil.copy(target, stray)
    assert set(backup.find_backups(filled.path)) == {target, beside, stray}


def test_a_deleted_backup_is_forgotten_and_one_on_a_missing_disk_is_not(filled: Store, target: Path) -> None:
    backup.create_backup(filled, target)
    away = target.parent.rename(target.parent.with_name("unmounted"))
    assert backup.find_backups(filled.path) == [target]
    assert not backup.purge_facts_from_backup(target, [])
    away.rename(target.parent)
    target.unlink()
    assert backup.find_backups(filled.path) == []


def test_a_cut_off_line_in_the_list_hides_no_other(filled: Store, target: Path) -> None:
    backup.create_backup(filled, target)
    with backup.backup_registry_path(filled.path).open("a") as said:
        said.write('{"file": "/som')
    second = target.with_name("second.db")
    backup.create_backup(filled, second)
    assert backup.find_backups(filled.path) == [target, second]


def test_a_purged_fact_is_gone_from_a_backup(filled: Store, target: Path) -> None:
    uid = filled.facts.write("default", "V[key]: sk-live-zanzibar").fact.uid
    filled.facts.edit(uid, "sk-live-zanzibar2")
    filled.facts.write("default", "V[key]: rotated")
    backup.create_backup(filled, target)
    assert b"zanzibar" in target.read_bytes()
    assert backup.purge_facts_from_backup(target, [uid])
    assert b"zanzibar" not in target.read_bytes()
    assert not target.with_name("backup.db-journal").exists()
    with Store.open(target, read_only=True) as copy:
        assert all(check.ok for check in examine_store(copy))
        assert "V[key]: rotated" in facts(target)
        assert len(copy.facts.page(FactFilter()).facts) == 41


def test_a_purged_fact_is_gone_from_the_backup_of_an_upgrade(tmp_path: Path) -> None:
    old = tmp_path / "memory.db.hermes-memory-0.3.0.bak"
    shutil.copy(OLD_FILE, old)
    with sqlite3.connect(old) as conn:
        (uid,) = conn.execute("SELECT id FROM facts WHERE target = 'ville'").fetchone()
    conn.close()
    assert "Genève".encode() in old.read_bytes()
    assert backup.purge_facts_from_backup(old, [uid])
    assert "Genève".encode() not in old.read_bytes()
    assert b"gen\xc3\xa8ve" not in old.read_bytes()
    with database_copies.connect_plainly(old) as conn:
        assert conn.execute("SELECT count(*) FROM facts").fetchone() == (44,)


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"x" * 5000])
def test_what_cannot_be_purged_is_told(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "memory.db.x.bak"
    file.write_bytes(content)
    assert not backup.purge_facts_from_backup(file, [])


def test_what_a_crashed_backup_left_is_removed_by_a_purge(filled: Store, target: Path) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    left = target.with_name(f".backup.db.{done.pid}.partial")
    backup.register_backup(filled.path, target, "backup", 0)
    shutil.copy(filled.path, left)
    assert backup.find_backups(filled.path) == [left]
    assert backup.purge_facts_from_backup(left, [])
    assert not left.exists()


def test_a_restore_gives_back_the_backup_and_keeps_what_it_replaced(filled: Store, target: Path) -> None:
    before = portrait(filled)
    backup.create_backup(filled, target)
    filled.facts.write("default", "V[later]: x")
    report = backup.restore_backup(target, filled.path)
    assert portrait(filled) == before
    assert report.kept is not None
    assert "V[later]: x" in facts(report.kept)
    assert report.kept in backup.find_backups(filled.path)


def test_a_process_that_has_the_store_open_writes_on_after_a_restore(filled: Store, target: Path) -> None:
    backup.create_backup(filled, target)
    filled.facts.write("default", "V[later]: x")
    backup.restore_backup(target, filled.path)
    filled.facts.write("default", "V[after]: the restore")
    with Store.open(filled.path) as other:
        assert "V[after]: the restore" in facts(other.path)
        assert "V[later]: x" not in facts(other.path)
        assert all(check.ok for check in examine_store(other))


def test_a_process_that_has_the_store_open_tells_the_themes_of_the_restored_one_apart(
    filled: Store, target: Path, tmp_path: Path
) -> None:
    """The two themes have each other's keys in the backup."""
    filled.facts.write("other", "V[whose]: other")
    with Store.open(tmp_path / "second.db", policies=filled.policies) as second:
        second.facts.write("other", "V[whose]: other, restored")
        second.facts.write("default", "V[whose]: default, restored")
        backup.create_backup(second, target)
    backup.restore_backup(target, filled.path)
    assert [fact.content for fact in filled.facts.page(FactFilter(theme="other")).facts] == ["other, restored"]
    assert filled.facts.write("default", "V[written]: after").fact.theme == "default"
    with Store.open(filled.path) as again:
        written = again.facts.page(FactFilter(theme="default")).facts
        assert {fact.content for fact in written} == {"default, restored", "after"}
        assert all(check.ok for check in examine_store(again))


def test_a_restore_to_nowhere_makes_a_store(filled: Store, target: Path, tmp_path: Path) -> None:
    backup.create_backup(filled, target)
    place = tmp_path / "new" / "memory.db"
    assert backup.restore_backup(target, place).kept is None
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    with Store.open(place) as restored:
        assert portrait(restored) == portrait(filled)
        assert restored.db.value("PRAGMA journal_mode") == "wal"


def test_a_restore_over_a_ruined_store_keeps_the_ruin(filled: Store, target: Path) -> None:
    backup.create_backup(filled, target)
    expected = portrait(filled)
    filled.close()
    filled.path.write_bytes(b"ruined" * 1000)
    report = backup.restore_backup(target, filled.path)
    assert report.kept is not None
    assert report.kept.read_bytes() == b"ruined" * 1000
    with Store.open(filled.path) as restored:
        assert portrait(restored) == expected


@pytest.mark.parametrize("ruin", ["truncated", "text", "empty", "foreign", "old", "newer", "missing"])
def test_what_is_no_sound_backup_is_refused_and_nothing_changes(filled: Store, target: Path, ruin: str) -> None:
    backup.create_backup(filled, target)
    expected: type[errors.FileError] = errors.StoreUnreadable
    match ruin:
        case "truncated":
            os.truncate(target, target.stat().st_size - 9000)
        case "text":
            target.write_text("no database at all" * 100)
        case "empty":
            target.write_bytes(b"")
        case "foreign":
            target.unlink()
            with sqlite3.connect(target) as conn:
                conn.execute("CREATE TABLE pets (name)")
        case "old":
            shutil.copy(OLD_FILE, target)
            expected = errors.StoreNeedsUpgrade
        case "newer":
            with sqlite3.connect(target) as conn:
                conn.execute(f"PRAGMA user_version = {STORE_VERSION + 1}")
            expected = errors.StoreTooNew
        case "missing":
            target.unlink()
    before = portrait(filled)
    with pytest.raises(expected):
        backup.restore_backup(target, filled.path)
    assert portrait(filled) == before


@pytest.mark.crash
@pytest.mark.parametrize("step", range(1, 73, 4))
def test_a_restore_killed_at_any_step_leaves_one_of_the_two_whole(filled: Store, target: Path, step: int) -> None:
    backup.create_backup(filled, target)
    old = facts(filled.path)
    filled.facts.write("default", "V[later]: x")
    filled.close()
    code = PREPARE.format(db=str(filled.path), target=str(target)).replace("store =", "#")
    killed_at(step, code, "backup.restore_backup(target, db)")
    with Store.open(filled.path) as again:
        assert all(check.ok for check in examine_store(again, repair=True))
        assert all(check.ok for check in examine_store(again))
        assert facts(filled.path) in (old, old | {"V[later]: x"})


def test_a_store_that_is_locked_can_be_backed_up(filled: Store, target: Path) -> None:
    with sqlite3.connect(filled.path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        assert backup.create_backup(filled, target).facts == 41
        other.execute("ROLLBACK")
    other.close()
