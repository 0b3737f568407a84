"""The doctor finds what is wrong, says it, and rebuilds what can be rebuilt."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable

import pytest

from hermes_memory_store.diagnostics.doctor import CHECKS, examine_store
from hermes_memory_store.items import fulltext
from hermes_memory_store.items.kinds import FACT, FACT_COLUMNS, FactRow
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.model import PERSON, Check, FactFilter
from hermes_memory_store.store import Store
from tests.store.portraits import portrait

Harm = Callable[[Store], object]


@pytest.fixture
def filled(store: Store) -> Store:
    for number in range(30):
        store.facts.write("default", f"V[n{number % 20}]: value {number} déjà", scope=f"s{number % 2}")
    first = store.facts.write("other", "D[auth]: JWT").fact
    store.facts.pin([first.uid])
    store.facts.write("other", "✓[login]: merged", scope="login")
    return store


def sql(statement: str) -> Harm:
    return lambda store: store.db.conn.execute(statement)


def failing(checks: list[Check]) -> list[str]:
    return [check.name for check in checks if not check.ok]


def unindexed(store: Store) -> None:
    key, target, content = store.db.rows("SELECT id, target, content FROM facts LIMIT 1")[0]
    fulltext.unindex_item(store.db.conn, FACT, key, target, content)


def swapped(store: Store) -> None:
    one, two = store.db.rows("SELECT id, target, content FROM facts ORDER BY id LIMIT 2")
    for key, target, content in (one, two):
        fulltext.unindex_item(store.db.conn, FACT, key, target, content)
    for (key, *_), (_, target, content) in ((one, two), (two, one)):
        fulltext.index_items(store.db.conn, FACT, [(key, target, content, 1, "hot", "V")])


def opened_to_others(store: Store) -> None:
    os.chmod(store.path, 0o644)


def left_over(store: Store) -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    store.path.with_name(f".{store.path.name}.{done.pid}.partial").write_text("half a copy")


def test_a_sound_store_passes_every_check_in_sentences(filled: Store) -> None:
    checks = examine_store(filled)
    assert [check.name for check in checks] == list(CHECKS)
    assert failing(checks) == []
    assert all(" " in check.detail for check in checks)


def test_an_empty_store_is_sound(store: Store) -> None:
    assert failing(examine_store(store)) == []


REPAIRABLE: list[tuple[str, Harm]] = [
    ("full-text", unindexed),
    ("full-text", swapped),
    ("full-text", sql("INSERT INTO facts_text (facts_text) VALUES ('delete-all')")),
    ("full-text", sql("INSERT INTO facts_text (rowid, target, content, facets) VALUES (1, 'ghost', 'ghost', '')")),
    ("gauges", sql("UPDATE themes SET hot_chars = hot_chars + 1 WHERE name = 'other'")),
    ("gauges", sql("UPDATE themes SET pinned_chars = 0")),
    ("gauges", sql("UPDATE tallies SET facts = facts + 1 WHERE facts > 0")),
    ("gauges", sql("DELETE FROM tallies")),
    ("gauges", sql("UPDATE themes SET last_fact = 0")),
    ("gauges", sql("UPDATE facts SET chars = 3 WHERE tier = 'hot'")),
    ("references", sql("INSERT INTO reads VALUES (17, 1, 1)")),
    ("schema", sql("DROP INDEX facts_by_target")),
    ("schema", sql("DROP TRIGGER facts_counted")),
    ("privacy", opened_to_others),
    ("leftovers", left_over),
]


@pytest.mark.parametrize(("name", "harm"), REPAIRABLE)
def test_what_is_derived_is_found_wrong_and_made_anew(filled: Store, name: str, harm: Harm) -> None:
    before = portrait(filled)
    harm(filled)
    assert failing(examine_store(filled)) == [name]
    repaired = examine_store(filled, repair=True)
    assert failing(repaired) == []
    assert [check.name for check in repaired if check.repaired] == [name]
    assert failing(examine_store(filled)) == []
    if name != "gauges":
        assert portrait(filled)["words"] == before["words"]
    assert portrait(filled)["gauges"] == before["gauges"]
    assert portrait(filled)["tallies"] == before["tallies"]


def test_links_that_the_journal_has_wrong_are_taken_out_as_a_journaled_change(filled: Store) -> None:
    nowhere = b"\x01\x98" + bytes(14)
    with filled.db.write_transaction() as conn:
        change = Mutation(conn, filled.names, filled.journal, PERSON)
        for row in conn.execute(f"SELECT {FACT_COLUMNS} FROM facts f WHERE tier = 'superseded'").fetchall():
            change.update_fact(FactRow(*row), "link", superseded_by=nowhere)
        change.record()
    last = filled.journal.last_seq()
    examine_store(filled, repair=True)
    changes = filled.journal.changes(since=last)
    assert {(str(change.actor), change.op) for change in changes} == {("doctor", "unlink")}
    assert len(changes) == 10


LASTING: list[tuple[str, Harm, str]] = [
    ("journal", sql("UPDATE journal SET after = replace(after, 'JWT', 'jwt')"), "altered"),
    ("journal", sql("DELETE FROM journal WHERE seq = 5"), "row 5 is missing"),
    ("journal", sql("UPDATE journal SET actor_id = 2 WHERE seq = 3"), "row 3 was altered"),
    ("references", sql("DELETE FROM actors"), "without their author"),
]


@pytest.mark.parametrize(("name", "harm", "said"), LASTING)
def test_what_cannot_be_rebuilt_is_told_and_left(filled: Store, name: str, harm: Harm, said: str) -> None:
    filled.db.conn.execute("PRAGMA foreign_keys = OFF")
    harm(filled)
    for repair in (False, True):
        found = {check.name: check for check in examine_store(filled, repair=repair)}
        assert not found[name].ok
        assert said in found[name].detail


def test_two_standing_facts_are_found(filled: Store) -> None:
    filled.db.conn.execute("DROP INDEX facts_standing")
    filled.db.conn.execute("UPDATE facts SET target = 'N1', scope_id = 2, type = 'V' WHERE target IN ('n2', 'n1')")
    found = {check.name: check for check in examine_store(filled)}
    assert not found["standing facts"].ok
    assert not found["schema"].ok


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_page_is_found(filled: Store, seed: int) -> None:
    filled.db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (page,) = filled.db.rows("SELECT rootpage FROM sqlite_master WHERE name = 'facts_by_target'")[0]
    filled.close()
    with filled.path.open("r+b") as file:
        file.seek((page - 1) * 4096 + 3000)
        file.write(random.Random(seed).randbytes(1000))
    with Store.open(filled.path, policies=filled.policies) as store:
        found = {check.name: check for check in examine_store(store)}
        assert not found["database"].ok


def test_a_check_that_meets_a_value_too_big_to_read_says_so_and_the_others_go_on(filled: Store) -> None:
    """A damaged page may say that a text has gigabytes."""
    filled.db.conn.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 90)
    checks = examine_store(filled)
    assert [check.name for check in checks] == list(CHECKS)
    assert any("could not be examined" in check.detail for check in checks)


def test_a_store_open_for_reading_is_examined_and_not_repaired(filled: Store) -> None:
    unindexed(filled)
    with Store.open(filled.path, read_only=True, policies=filled.policies) as reader:
        assert failing(examine_store(reader, repair=True)) == ["full-text"]


def test_names_are_told_as_the_examination_goes_on(filled: Store) -> None:
    said: list[str] = []
    examine_store(filled, progress=said.append)
    assert said == list(CHECKS)


def test_the_examination_leaves_no_trace(filled: Store) -> None:
    before, version = portrait(filled), stat.S_IMODE(filled.path.stat().st_mode)
    examine_store(filled)
    filled.facts.page(FactFilter())
    assert portrait(filled) == before
    assert stat.S_IMODE(filled.path.stat().st_mode) == version == 0o600


def test_a_single_fact_is_counted_as_one_fact(store: Store) -> None:
    store.facts.write("default", "D[auth]: JWT")
    details = {check.name: check.detail for check in examine_store(store)}
    assert details["full-text"] == "the index holds exactly the words of 1 fact"
    assert details["turns"] == "the index holds exactly the words of 0 turns"
