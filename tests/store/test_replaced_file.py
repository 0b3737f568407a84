"""A store whose file is deleted or replaced while it is open: nothing is acknowledged, and nothing of it is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.database.write_ahead_log import find_logs_set_aside
from hermes_memory_store.store import Store

THEME = "default"


def contents(path: Path) -> set[str]:
    with Store.open(path, read_only=True) as store:
        return {fact.notation for fact in store.search.find(THEME, "").facts}


def make_store(path: Path, *lines: str) -> Path:
    with Store.open(path) as store:
        for line in lines:
            store.facts.write(THEME, line)
    return path


def delete_all_files(path: Path) -> None:
    for name in ("", "-wal", "-shm"):
        path.with_name(path.name + name).unlink(missing_ok=True)


def move_another_here(path: Path) -> None:
    os.replace(make_store(path.with_name("other.db"), "D[other]: restored"), path)


def delete_and_create(path: Path) -> None:
    path.unlink()
    make_store(path, "D[other]: restored")


def move_a_folder_here(path: Path) -> None:
    path.unlink()
    path.mkdir()


LOSSES = [Path.unlink, delete_all_files, move_another_here, delete_and_create, move_a_folder_here]


@pytest.mark.parametrize("lose", LOSSES)
def test_a_write_into_a_file_that_lost_its_name_is_refused_and_its_content_saved(
    lose: Callable[[Path], None], path: Path
) -> None:
    with Store.open(path) as store:
        store.facts.write(THEME, "D[cache]: redis")
        lose(path)
        for _ in range(3):
            with pytest.raises(errors.StoreReplaced, match="nothing was changed; what it held is in") as raised:
                store.facts.write(THEME, "D[lost]: never acknowledged")
            assert raised.value.code == "store.unreadable"
        assert store.search.find(THEME, "redis").total == 1, "the open file can still be read"
        (rescued,) = path.parent.glob("memory.db.rescued.*.bak")
        assert str(rescued) in raised.value.message
        assert rescued.stat().st_mode & 0o777 == 0o600
        assert contents(rescued) == {"D[cache]: redis"}
        if lose in (move_another_here, delete_and_create):
            assert contents(path) == {"D[other]: restored"}


@pytest.mark.parametrize("lose", [move_another_here, delete_and_create])
def test_the_log_of_the_former_file_is_never_replayed_into_the_new_one(
    lose: Callable[[Path], None], path: Path
) -> None:
    with Store.open(path) as store:
        store.facts.write(THEME, "D[cache]: redis")
        lose(path)
        assert contents(path) == {"D[other]: restored"}, "beside a program that has the former file open"
        with Store.open(path) as fresh:
            fresh.facts.write(THEME, "D[new]: written")
        with pytest.raises(errors.StoreReplaced):
            store.facts.write(THEME, "D[lost]: never acknowledged")
    assert contents(path) == {"D[other]: restored", "D[new]: written"}
    with Store.open(path) as again:
        assert again.journal.verify().ok


def leave_a_log(path: Path) -> None:
    """A store whose only fact stands in the write-ahead log that a killed program left."""
    killed = (
        "import os, signal, sys; from hermes_memory_store.store import Store; store = Store.open(sys.argv[1]);"
        "store.facts.write('default', 'D[cache]: redis'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    assert path.with_name("memory.db-wal").stat().st_size > 0


def test_the_log_a_killed_program_left_is_not_replayed_into_a_file_put_in_its_place(path: Path) -> None:
    leave_a_log(path)
    move_another_here(path)
    assert contents(path) == {"D[other]: restored"}
    assert len(find_logs_set_aside(path)) == 1


@pytest.mark.parametrize("move", [shutil.copytree, os.rename])
def test_the_log_a_killed_program_left_stays_with_its_own_file_wherever_both_go(
    move: Callable[[Path, Path], object], tmp_path: Path
) -> None:
    home, there = tmp_path / "home", tmp_path / "there"
    leave_a_log(home / "memory.db")
    move(home, there)
    assert contents(there / "memory.db") == {"D[cache]: redis"}
    assert find_logs_set_aside(there / "memory.db") == []


def write_and_delete(store: Store) -> None:
    with store.db.write_transaction():
        store.facts.write(THEME, "D[lost]: refused")
        store.path.unlink()


def test_a_file_deleted_within_a_transaction_is_noticed_before_its_commit(path: Path) -> None:
    with Store.open(path) as store:
        store.facts.write(THEME, "D[cache]: redis")
        with pytest.raises(errors.StoreReplaced):
            write_and_delete(store)
        (rescued,) = path.parent.glob("memory.db.rescued.*.bak")
    assert contents(rescued) == {"D[cache]: redis"}


def test_a_folder_that_is_gone_is_said_and_not_made_again(tmp_path: Path) -> None:
    path = tmp_path / "home" / "memory.db"
    store = Store.open(path)
    store.facts.write(THEME, "D[cache]: redis")
    shutil.rmtree(path.parent)
    with pytest.raises(errors.StoreReplaced, match="could not be saved"):
        store.facts.write(THEME, "D[lost]: refused")
    assert not path.parent.exists()
    assert store.search.find(THEME, "redis").total == 1
    store.db.close()


def test_a_purge_leaves_no_log_of_a_former_file(path: Path) -> None:
    with Store.open(path) as store:
        fact = store.facts.write(THEME, "D[key]: zebra-4711").fact
        copy = path.with_name("copy.db")
        store.db.conn.execute("VACUUM INTO ?", (str(copy),))
        os.replace(copy, path)
        with Store.open(path) as fresh:
            (log,) = find_logs_set_aside(path)
            assert b"zebra-4711" in log.read_bytes()
            fresh.purge.erase([fact.uid])
    assert [file.name for file in path.parent.iterdir() if b"zebra-4711" in file.read_bytes()] == []


def test_a_note_that_cannot_be_written_hinders_nobody(path: Path) -> None:
    make_store(path, "D[cache]: redis")
    lock = path.with_name("memory.db.lock")
    lock.unlink()
    lock.mkdir()
    with Store.open(path) as store:
        store.facts.write(THEME, "D[more]: written")
    assert contents(path) == {"D[cache]: redis", "D[more]: written"}


def put_no_store_here(path: Path) -> None:
    path.write_text("not a database, but long enough to be looked at as one" * 40)


def write_elsewhere(path: Path, line: str) -> None:
    program = (
        "import sys; from hermes_memory_store.store import Store;"
        "Store.open(sys.argv[1]).facts.write('default', sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", program, str(path), line], check=True)


@pytest.mark.parametrize("put", [move_another_here, put_no_store_here])
@pytest.mark.parametrize("is_log_empty", [True, False])
def test_a_file_that_comes_back_has_one_log_with_whoever_kept_it_open(
    put: Callable[[Path], None], is_log_empty: bool, path: Path
) -> None:
    with Store.open(path) as store:
        store.facts.write(THEME, "D[cache]: redis")
        if is_log_empty:
            store.db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        away = path.with_name("away.db")
        path.rename(away)
        put(path)
        with suppress(errors.StoreUnreadable), Store.open(path):
            assert len(find_logs_set_aside(path)) == 1
        away.replace(path)
        write_elsewhere(path, "D[new]: written")
        store.facts.write(THEME, "D[kept]: written")
        write_elsewhere(path, "D[newer]: written")
        assert find_logs_set_aside(path) == []
    assert contents(path) == {"D[cache]: redis", "D[new]: written", "D[kept]: written", "D[newer]: written"}
    with Store.open(path) as again:
        assert again.journal.verify().ok


def test_a_backup_copied_into_place_has_one_log_when_it_comes_back_too(path: Path) -> None:
    make_store(path, "D[cache]: redis")
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA journal_mode = DELETE")
    with Store.open(path) as store:
        store.facts.write(THEME, "D[first]: written")
        write_elsewhere(path, "D[second]: written")
        away = path.with_name("away.db")
        path.rename(away)
        put_no_store_here(path)
        with pytest.raises(errors.StoreUnreadable):
            Store.open(path)
        away.replace(path)
        write_elsewhere(path, "D[new]: written")
        store.facts.write(THEME, "D[kept]: written")
        assert find_logs_set_aside(path) == []
    written = {f"D[{target}]: written" for target in ("first", "second", "new", "kept")}
    assert contents(path) == written | {"D[cache]: redis"}


@pytest.mark.parametrize("put", [lambda _: None, put_no_store_here], ids=["nothing", "no store"])
@pytest.mark.parametrize("name", ["memory.db", "memory[1].db"])
def test_a_file_that_comes_back_is_written_to_through_its_own_log_again(
    put: Callable[[Path], None], name: str, tmp_path: Path
) -> None:
    path, away = tmp_path / name, tmp_path / "away.db"
    with Store.open(path) as store:
        store.facts.write(THEME, "D[cache]: redis")
        path.rename(away)
        with pytest.raises(errors.StoreReplaced, match="deleted while in use"):
            store.facts.write(THEME, "D[lost]: refused")
        put(path)
        with pytest.raises(errors.StoreUnreadable):
            Store.open(path, create=False)
        away.replace(path)
        store.facts.write(THEME, "D[kept]: written")
        assert find_logs_set_aside(path) == []
    assert contents(path) == {"D[cache]: redis", "D[kept]: written"}


def test_a_write_beside_a_log_that_another_program_made_for_the_same_file_is_refused(path: Path) -> None:
    with Store.open(path) as store:
        store.facts.write(THEME, "D[cache]: redis")
        path.with_name("memory.db-wal").rename(path.with_name("away-wal"))
        with pytest.raises(errors.StoreReplaced, match="what it held is in"):
            store.facts.write(THEME, "D[lost]: never acknowledged")
