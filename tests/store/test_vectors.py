"""The vectors beside a store: private, erased with what they were made of, and never worth more than the store."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

from hermes_memory_store.find.vector_file import Vector, Vectors, erase_vectors, vector_file_path
from hermes_memory_store.model import FactType, Notation, Tier
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep import backup


def made(key: int, uid: bytes, *, model: str = "m:4", row: bytes = b"\x01\x02\x03\x04", kind: str = "fact") -> Vector:
    return Vector(kind, key, uid, b"digest", model, 0.5, row)


def test_vectors_stand_in_a_private_file_of_their_own(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with Vectors(db) as vectors:
        vectors.save([made(1, b"a")])
    assert vector_file_path(db) == tmp_path / "memory.db.vectors"
    assert stat.S_IMODE(vector_file_path(db).stat().st_mode) == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == ["memory.db.vectors"]


def test_a_vector_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    with Vectors(tmp_path / "memory.db") as vectors:
        vectors.save([made(1, b"a"), made(2, b"b")])
        vectors.save([made(1, b"a", model="n:4", row=b"wxyz")])
        assert vectors.in_id_range("fact", "m:4", 0, 9) == [(2, 0.5, b"\x01\x02\x03\x04")]
        assert vectors.in_id_range("fact", "n:4", 0, 9) == [(1, 0.5, b"wxyz")]
        assert vectors.in_id_range("fact", "n:4", 0, 9, since=2) == []
        assert vectors.in_id_range("turn", "n:4", 0, 9) == []
        assert (vectors.total("n:4"), vectors.change_counts()) == (1, (2, 0))


def test_what_is_erased_is_overwritten_and_its_space_given_back(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    rows = [os.urandom(384) for _ in range(500)]
    with Vectors(db) as vectors:
        vectors.save([made(number, bytes([number % 256, number // 256]), row=row) for number, row in enumerate(rows)])
        full = vector_file_path(db).stat().st_size
        assert vectors.erase_by_ids("fact", range(250)) == 250
        assert vectors.erase_by_ids("fact", [7]) == 0
        assert vectors.change_counts() == (1, 1)
    left = vector_file_path(db).read_bytes()
    assert [number for number, row in enumerate(rows) if row[:32] in left] == list(range(250, 500))
    assert len(left) < full * 0.7


def test_a_broken_file_is_made_anew(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    vector_file_path(db).write_bytes(b"no database at all" * 100)
    with Vectors(db) as vectors:
        vectors.save([made(1, b"a")])
        assert vectors.total("m:4") == 1


def test_vectors_of_an_older_version_are_made_anew(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with sqlite3.connect(vector_file_path(db)) as conn:
        conn.execute("CREATE TABLE vectors (x)")
    conn.close()
    with Vectors(db) as vectors:
        assert vectors.page("fact", 0, 10) == []


def test_what_cannot_be_erased_one_by_one_goes_whole(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with Vectors(db) as vectors:
        vectors.save([made(1, b"a")])
    holder = sqlite3.connect(vector_file_path(db), isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        assert erase_vectors(db, [b"a"])
        assert not vector_file_path(db).exists()
    finally:
        holder.close()


def test_a_purge_erases_the_vectors_whoever_purges(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with Store.open(db) as store, Vectors(db) as vectors:
        store.facts.write("default", Notation(FactType.VALUE, "a", "one"), scope="s")
        store.facts.write("default", Notation(FactType.VALUE, "b", "two"))
        store.turns.add("default", "user", "three")
        for kind in ("fact", "turn"):
            vectors.save([made(one.id, one.uid, kind=kind) for one in store.embedding_inputs.page(kind, 0, 10)])
        store.purge.execute("default", scope="s", tiers=frozenset(Tier))
        assert len(vectors.page("fact", 0, 10)) == 1
        store.turns.purge("default")
        assert vectors.page("turn", 0, 10) == []


def test_a_purge_reaches_what_was_left_where_a_vector_stood_before_it_moved_to_another_page(tmp_path: Path) -> None:
    db, rows = tmp_path / "memory.db", {}
    with Vectors(db) as vectors:
        for number in (*range(0, 160, 2), *range(1, 160, 10)):  # those that come later make the pages full
            rows[number] = 95 * (1_000_000 + number).to_bytes(4, "big")
            vectors.save([made(number, bytes([number]), row=rows[number])])
    left = []
    for number in (*range(1, 160, 10), *range(0, 160, 2)):
        assert erase_vectors(db, [bytes([number])])
        left += [number] if rows[number][:8] in vector_file_path(db).read_bytes() else []
    assert left == []


def test_no_backup_holds_vectors(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with Store.open(db) as store, Vectors(db) as vectors:
        store.facts.write("default", Notation(FactType.VALUE, "a", "one"))
        vectors.save(
            [made(one.id, one.uid, row=b"the vector itself") for one in store.embedding_inputs.page("fact", 0, 10)]
        )
        report = backup.create_backup(store, tmp_path / "copy.bak")
    assert b"the vector itself" not in report.file.read_bytes()


def test_only_what_may_be_told_is_given_to_a_model(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory.db") as store:
        for target, tier in (("a.b_c", "hot"), ("d", "quarantined"), ("e", "archived"), ("f", "cold")):
            store.facts.write("default", Notation(FactType.VALUE, target, "said"))
            store.db.conn.execute("UPDATE facts SET tier = ? WHERE target = ?", (tier, target))
        assert [one.text for one in store.embedding_inputs.page("fact", 0, 10)] == ["a b c: said", "f: said"]
        changed, head = store.embedding_inputs.changed_since(0, 100)
        assert sorted(one.text for one in changed) == ["a b c: said", "f: said"]
        assert head == store.embedding_inputs.last_change()
        assert store.embedding_inputs.changed_since(head, 100) == ([], head)
