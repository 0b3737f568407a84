"""Opening and creating a store, also by many processes in the same instant."""

from __future__ import annotations

import multiprocessing
import re
import sqlite3
import stat
import threading
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.database.migrations import migrate_store
from hermes_memory_store.model import FactFilter
from hermes_memory_store.store import Store
from hermes_memory_store.system.filesystem import create_private_file, file_lock, refuse_network_path
from tests.processes import PATIENCE_S


def open_and_write(path: Path, name: int, together: Barrier) -> None:
    together.wait()
    # Spread over the time that a creation takes, so that some arrive in the middle of it.
    time.sleep(name * 0.006)
    with Store.open(path) as store:
        store.facts.write("default", f"V[writer.{name}]: was here")


@pytest.mark.parametrize("attempt", range(4))
def test_many_processes_may_create_one_store_at_once(tmp_path: Path, attempt: int) -> None:
    path = tmp_path / f"memory{attempt}.db"
    context = multiprocessing.get_context("fork")
    together = context.Barrier(8)
    writers = [context.Process(target=open_and_write, args=(path, n, together)) for n in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert [writer.exitcode for writer in writers] == [0] * 8
    with Store.open(path, read_only=True) as store:
        assert store.facts.count(FactFilter()) == 8


def test_a_new_store_is_its_owners_alone(tmp_path: Path) -> None:
    with Store.open(tmp_path / "deep" / "memory.db") as store:
        store.facts.write("default", "V[a]: b")
        for file in (tmp_path / "deep").iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_reading_only_needs_a_store_that_exists(tmp_path: Path) -> None:
    with pytest.raises(errors.StoreUnreadable, match="no memory at"):
        Store.open(tmp_path / "none.db", read_only=True)


def test_opening_a_current_store_changes_no_schema(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    Store.open(path).close()
    with Store.open(path) as store:
        before = store.db.value("PRAGMA schema_version")
    with Store.open(path) as store:
        assert store.db.value("PRAGMA schema_version") == before


def test_a_network_file_system_is_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_memory_store.system.filesystem.filesystem_type", lambda _: "nfs4")
    with pytest.raises(errors.NetworkFileSystem, match="nfs4"):
        refuse_network_path(tmp_path / "memory.db")
    Store.open(tmp_path / "memory.db", force=True).close()


def test_a_store_in_the_making_is_waited_for(tmp_path: Path) -> None:
    """Between the first byte of the file and its version number it looks like the database of another program."""
    path = tmp_path / "memory.db"
    create_private_file(path)
    opened: list[Store] = []
    with file_lock(path):
        made = sqlite3.connect(path, isolation_level=None)
        made.execute("PRAGMA journal_mode = WAL")
        opener = threading.Thread(target=lambda: opened.append(Store.open(path)))
        opener.start()
        opener.join(0.3)
        assert opener.is_alive()
        migrate_store(made)
        made.close()
    opener.join(PATIENCE_S)
    assert [store.journal.last_seq() for store in opened] == [0]
    opened[0].close()


def test_sqlite_is_opened_by_the_driver_alone() -> None:
    trees = ("themes", "store", "bridge", "tui")
    files = [path for tree in trees for path in (Path(__file__).parents[2] / tree).rglob("*.py")]
    opening = re.compile(r"_?sqlite3\.(connect|\w*Error|SQLITE_)|from _?sqlite3")
    assert [path.name for path in files if opening.search(path.read_text(encoding="utf-8"))] == ["driver.py"]


def test_a_deferred_transaction_keeps_nobody_waiting_before_its_first_write(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Store.open(path) as ours, Store.open(path, lock_timeout_s=0) as theirs:
        with ours.db.deferred_transaction():
            theirs.facts.write("ops", "V[a]: 1")
            ours.facts.write("ops", "V[b]: 2")
            ours.facts.write("ops", "V[c]: 3")
            assert theirs.facts.count(FactFilter(theme="ops")) == 1
            with pytest.raises(errors.StoreLocked):
                theirs.facts.write("ops", "V[d]: 4")
        assert theirs.facts.count(FactFilter(theme="ops")) == 3
        theirs.facts.write("ops", "V[d]: 4")


@pytest.mark.parametrize("lines", [["no notation"], ["V[a]: 1", "no notation"]])
def test_a_deferred_transaction_is_all_or_nothing(tmp_path: Path, lines: list[str]) -> None:
    with Store.open(tmp_path / "memory.db") as store:

        def write() -> None:
            with store.db.deferred_transaction():
                for line in lines:
                    store.facts.write("ops", line)

        with pytest.raises(errors.NotationError):
            write()
        assert store.themes() == []
        store.facts.write("ops", "V[b]: 2")
        assert [fact.target for fact in store.facts.page(FactFilter(theme="ops")).facts] == ["b"]


def test_a_deferred_transaction_that_sqlite_ended_loses_no_write_in_silence(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory.db") as store:

        def write() -> None:
            with store.db.deferred_transaction():
                store.facts.write("ops", "V[a]: 1")
                store.db.conn.execute("ROLLBACK")  # as it does when the disk is full
                store.facts.write("ops", "V[b]: 2")

        with pytest.raises(RuntimeError, match="ended the transaction"):
            write()
        assert store.themes() == []
