"""The head of the journal's chain outside the store: a cut-off end is seen, and told from a backup that was restored."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.items.journal_receipt import (
    ChainHead,
    ReceiptWriter,
    load_receipt,
    outer_receipt_path,
    receipt_path,
    thin_heads,
)
from hermes_memory_store.model import Check, FactFilter
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep.backup import create_backup, restore_backup
from tests.processes import PATIENCE_S

CUT = "DELETE FROM journal WHERE seq > (SELECT max(seq) FROM journal) - 3"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "memory.db"
    with Store.open(place) as store:
        for number in range(10):
            store.facts.write("default", f"V[n{number}]: {number}")
    return place


def finding(store: Store, name: str, *, repair: bool = False) -> Check:
    return next(check for check in examine_store(store, repair=repair) if check.name == name)


def test_closing_leaves_a_private_receipt_of_the_head_without_any_text(path: Path) -> None:
    receipt = load_receipt(path)
    assert receipt is not None
    with Store.open(path) as store:
        newest = store.journal.changes(limit=1, newest_first=True)[0]
    assert (receipt.heads[0].seq, receipt.heads[0].hash) == (newest.seq, newest.hash)
    assert stat.S_IMODE(receipt_path(path).stat().st_mode) == 0o600
    assert "n9" not in receipt_path(path).read_text()


def test_who_only_reads_writes_no_receipt(path: Path) -> None:
    receipt_path(path).unlink()
    with Store.open(path) as store:
        store.facts.count(FactFilter())
    with Store.open(path, read_only=True):
        pass
    assert not receipt_path(path).exists()


def test_a_cut_tail_is_seen_and_nothing_is_overwritten(path: Path) -> None:
    with Store.open(path) as store:
        before = store.db.rows("SELECT * FROM facts")
        store.db.conn.execute(CUT)
        for repair in (False, True):
            found = finding(store, "receipt", repair=repair)
            assert not found.ok
            assert "3 rows cut off" in found.detail
        assert not finding(store, "rows", repair=True).ok
        assert store.db.rows("SELECT * FROM facts") == before


def test_a_cut_tail_without_receipt_is_seen_by_the_facts_written_in_it(path: Path) -> None:
    receipt_path(path).unlink()
    outer_receipt_path(path).unlink()
    with Store.open(path) as store:
        store.db.conn.execute(
            "UPDATE facts SET created_at = created_at + 99, updated_at = updated_at + 99 WHERE target = 'n9'"
        )
        store.db.conn.execute("DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)")
        found = finding(store, "rows", repair=True)
        assert not found.ok
        assert "its end seems to be cut off" in found.detail


def test_a_cut_tail_comes_back_from_a_backup_that_has_it(path: Path, tmp_path: Path) -> None:
    with Store.open(path) as store:
        create_backup(store, tmp_path / "kept.bak")
        store.db.conn.execute(CUT)
        assert all(check.ok for check in examine_store(store, repair=True))
        assert all(check.ok for check in examine_store(store))
        assert store.journal.last_seq() == 10


def test_a_restored_backup_is_no_cut_tail(path: Path, tmp_path: Path) -> None:
    with Store.open(path) as store:
        create_backup(store, tmp_path / "early.bak")
        store.facts.write("default", "V[later]: than the backup")
    restore_backup(tmp_path / "early.bak", path)
    with Store.open(path) as store:
        assert all(check.ok for check in examine_store(store))
        store.facts.write("default", "V[after]: the restore")
        assert all(check.ok for check in examine_store(store))


def test_a_backup_put_back_by_hand_is_told_and_known_by_its_head(path: Path, tmp_path: Path) -> None:
    with Store.open(path) as store:
        create_backup(store, tmp_path / "early.bak")
        store.facts.write("default", "V[later]: than the backup")
    shutil.copyfile(tmp_path / "early.bak", path)
    with Store.open(path) as store:
        found = finding(store, "receipt")
        assert not found.ok
        assert "put in the store's place by hand" in found.detail
        assert finding(store, "receipt", repair=True).repaired
        assert finding(store, "receipt").ok


def test_a_rewritten_end_is_seen_even_after_more_writes(path: Path, tmp_path: Path) -> None:
    shutil.copyfile(path, tmp_path / "early")
    with Store.open(path) as store:
        store.facts.write("default", "V[one]: way")
    shutil.copyfile(tmp_path / "early", path)
    with Store.open(path) as store:
        for number in range(5):
            store.facts.write("default", f"V[other{number}]: way")
    with Store.open(path) as store:
        assert "the journal was rewritten" in finding(store, "receipt").detail


def test_a_receipt_of_another_store_is_named_and_replaced(path: Path, tmp_path: Path) -> None:
    with Store.open(tmp_path / "other.db") as other:
        other.facts.write("default", "V[other]: store")
    shutil.copyfile(receipt_path(tmp_path / "other.db"), receipt_path(path))
    with Store.open(path) as store:
        assert "belongs to another store" in finding(store, "receipt").detail
        assert finding(store, "receipt", repair=True).repaired
        assert finding(store, "receipt").ok


@pytest.mark.parametrize("content", ["", "{", "[]", '{"store": 1, "heads": [{}]}', '{"heads": 5}', "\0" * 100])
def test_a_damaged_receipt_is_named_and_written_anew(path: Path, content: str) -> None:
    receipt_path(path).write_text(content)
    with Store.open(path) as store:
        assert "cannot be read" in finding(store, "receipt").detail
        assert finding(store, "receipt", repair=True).repaired
    assert load_receipt(path) is not None


def test_a_process_that_writes_leaves_a_receipt_apart_from_its_writes(path: Path) -> None:
    receipt_path(path).unlink()
    with Store.open(path) as store:
        writer = ReceiptWriter(store.db, every_s=0)
        store.facts.write("default", "V[first]: makes it due")
        store.facts.write("default", "V[second]: has it written")
        assert writer._thread is not None
        writer._thread.join(PATIENCE_S)
        receipt = load_receipt(path)
        assert receipt is not None
        assert receipt.heads[0].seq in (11, 12)


def test_a_purge_leaves_the_receipt_true(path: Path) -> None:
    with Store.open(path) as store:
        fact = store.facts.write("default", "V[leaked]: hunter2hunter2").fact
        store.purge.erase(fact.uid)
    with Store.open(path) as store:
        assert all(check.ok for check in examine_store(store))
    assert "hunter2" not in receipt_path(path).read_text()


def test_what_a_kill_left_of_a_receipt_is_removed(path: Path) -> None:
    left = path.with_name(f".{path.name}.receipt.abc.tmp")
    left.write_text("{")
    with Store.open(path) as store:
        assert not finding(store, "leftovers").ok
        assert finding(store, "leftovers", repair=True).repaired
    assert not left.exists()


def test_a_folder_that_cannot_be_written_fails_no_write(path: Path) -> None:
    receipt_path(path).unlink()
    receipt_path(path).mkdir()
    with Store.open(path) as store:
        assert store.facts.write("default", "V[all]: the same").created
    assert receipt_path(path).is_dir()


def test_many_writers_leave_a_receipt_that_holds(path: Path) -> None:
    code = "import sys\nfrom hermes_memory_store.store import Store\nfor n in range(5):\n    with Store.open(sys.argv[1]) as s:\n"
    code += "        s.facts.write('default', f'V[{sys.argv[2]}.{n}]: x')\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), f"w{n}"], env=environment) for n in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    with Store.open(path) as store:
        assert all(check.ok for check in examine_store(store))
    receipt = json.loads(receipt_path(path).read_text())
    assert 10 < receipt["heads"][0]["seq"] <= 25


def test_older_heads_thin_out() -> None:
    heads: list[ChainHead] = []
    for seq in range(1, 5_000):
        heads = thin_heads([ChainHead(seq, "", ""), *heads])
    assert len(heads) <= 16
    assert heads[0].seq == 4_999
    assert heads[-1].seq < 2_500


def test_a_folder_that_is_put_back_whole_is_seen_by_what_stands_outside_of_it(tmp_path: Path) -> None:
    path = tmp_path / "home" / "memory.db"
    path.parent.mkdir()
    with Store.open(path) as store:
        store.facts.write("default", "V[port]: 80")
    shutil.copytree(path.parent, tmp_path / "older")
    with Store.open(path) as store:
        store.facts.write("default", "C[deploy]: never on friday")
    shutil.rmtree(path.parent)
    shutil.copytree(tmp_path / "older", path.parent)
    with Store.open(path) as store:
        assert "were made here and are gone: hermes-memory-tui doctor" in store.context.status("default").text
        found = finding(store, "receipt")
        assert not found.ok
        assert str(outer_receipt_path(path)) in found.detail
        store.facts.write("default", "V[host]: alpha")
        store.facts.write("default", "V[host]: beta")
    with Store.open(path) as store:  # what was written since does not hide it
        assert not finding(store, "receipt").ok
        assert "are gone" in store.context.status("default").text


def test_a_backup_that_is_restored_and_a_store_that_begins_anew_are_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Store.open(path) as store:
        store.facts.write("default", "V[port]: 80")
        create_backup(store, tmp_path / "kept.bak")
        store.facts.write("default", "V[port]: 81")
    restore_backup(tmp_path / "kept.bak", path)
    with Store.open(path) as store:
        assert finding(store, "receipt").ok
        assert "gone" not in store.context.status("default").text
    for file in tmp_path.glob("memory.db*"):
        file.unlink()
    with Store.open(path) as store:
        store.facts.write("default", "V[port]: 82")
    with Store.open(path) as store:
        assert finding(store, "receipt").ok
        assert "gone" not in store.context.status("default").text


def test_a_state_folder_that_cannot_be_written_fails_no_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with Store.open(tmp_path / "memory.db") as store:
        store.facts.write("default", "V[port]: 80")
    assert load_receipt(tmp_path / "memory.db") is not None
    with Store.open(tmp_path / "memory.db") as store:
        assert finding(store, "receipt").ok


def test_what_stands_outside_goes_once_its_store_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("one.db", "two.db"):
        with Store.open(tmp_path / name) as store:
            store.facts.write("default", "V[port]: 80")
    assert outer_receipt_path(tmp_path / "one.db").exists()
    (tmp_path / "one.db").unlink()
    with Store.open(tmp_path / "three.db") as store:
        store.facts.write("default", "V[port]: 80")
    kept = {outer_receipt_path(tmp_path / name) for name in ("two.db", "three.db")}
    assert set((tmp_path / "state" / "hermes-memory").iterdir()) == kept
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in kept)
