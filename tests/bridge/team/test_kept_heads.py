"""The database keeps the head of each machine's journal, so that a journal whose end was cut off or rewritten is told."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg import IntegrityError
from psycopg.errors import DataError, InsufficientPrivilege

from hermes_memory_bridge.team.database.head_statements import keep_head, list_heads
from hermes_memory_bridge.team.database.team_members import revoke_member
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.sync_comparison import JournalReport
from hermes_memory_store.items.journal_receipt import ChainHead, receipt_path
from hermes_memory_store.upkeep import backup
from tests.bridge.team.conftest import Database
from tests.bridge.team.machines import team
from tests.bridge.team.people import Person, team_of

NODE = "01890000-0000-7000-8000-000000000001"


def head(seq: int) -> ChainHead:
    return ChainHead(seq, f"{seq:064x}", "2026-03-01T12:00:00.000Z")


def cut_off(db: Path, rows: int) -> None:
    """Take the newest rows of the journal away, as somebody does who knows what guards them."""
    with closing(sqlite3.connect(db)) as conn, conn:
        guards = conn.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'journal'"
        ).fetchall()
        for name, _ in guards:
            conn.execute(f"DROP TRIGGER {name}")
        conn.execute("DELETE FROM journal WHERE seq > (SELECT max(seq) FROM journal) - ?", (rows,))
        for _, said in guards:
            conn.execute(said)
    receipt_path(db).unlink(missing_ok=True)


def report(person: Person) -> JournalReport:
    with TeamServer(person.dsn) as server:
        found = person.run.heads.compare(server)
    assert found is not None
    return found


def kept(person: Person) -> list[ChainHead]:
    with TeamServer(person.dsn) as server:
        return list_heads(server, person.store.sync.node)


def test_each_push_leaves_the_newest_head_and_it_is_held(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="write") as (ann,):
        for n in range(3):
            ann.write(f"V[a{n}]: 1")
            ann.exchange()
            assert kept(ann) == [ann.store.journal.head()]
        said = report(ann)
        assert said.held
        assert said.known == ann.store.journal.head()
        assert f"it has row {said.known.seq} of {said.known.at}" in said.words


def test_a_journal_that_was_cut_off_is_told_before_and_after_the_next_pushes(
    database: Database, tmp_path: Path
) -> None:
    with team_of(database, tmp_path, ann="write") as (ann,):
        for n in range(6):
            ann.write(f"V[a{n}]: 1")
        ann.exchange()
        lost = ann.store.journal.head()
        assert lost is not None
        ann.reopen(lambda: cut_off(ann.db, 3))
        said = report(ann)
        assert not said.held
        assert f"knows row {lost.seq} of {lost.at}: 3 rows cut off" in said.words
        for n in range(6):
            ann.write(f"V[b{n}]: 1")
            ann.exchange()
            said = report(ann)
            assert (said.held, said.known) == (False, lost)
        assert "doctor" in said.words
        assert f"row {lost.seq} is not the one that the team's database knows of {lost.at}" in said.words
        assert set(kept(ann)) == {lost, ann.store.journal.head()}


@pytest.mark.parametrize("restarts", [True, False])
def test_a_journal_that_overtook_its_head_without_a_network_is_told(
    database: Database, tmp_path: Path, restarts: bool
) -> None:
    with team_of(database, tmp_path, ann="write") as (ann,):
        for n in range(4):
            ann.write(f"V[a{n}]: 1")
        ann.exchange()
        lost = ann.store.journal.head()
        if restarts:
            ann.reopen(lambda: cut_off(ann.db, 2))
        else:
            cut_off(ann.db, 2)
        for n in range(9):
            ann.write(f"V[b{n}]: 1")
        ann.exchange()
        newest = ann.store.journal.head()
        assert newest is not None
        assert lost is not None
        assert newest.seq > lost.seq
        assert (report(ann).held, report(ann).known) == (False, lost)


def test_a_restored_backup_is_no_loss_and_leaves_none_behind(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="write") as (ann,):
        ann.write("V[a]: 1")
        ann.exchange()
        backup.create_backup(ann.store, tmp_path / "saved.bak")
        ann.write("V[b]: 1")
        ann.exchange()
        time.sleep(0.002)  # a restore counts what is older than it, in milliseconds
        ann.reopen(lambda: backup.restore_backup(tmp_path / "saved.bak", ann.db))
        for notation in ("V[c]: 1", "V[d]: 1"):
            said = report(ann)
            assert said.held, said
            assert "restored here at" in said.words
            ann.write(notation)
            ann.exchange()
        assert kept(ann) == [ann.store.journal.head()]


def test_an_older_file_put_in_the_stores_place_is_told_under_its_new_name(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="write") as (ann,):
        ann.write("V[a]: 1")
        ann.exchange()
        ann.reopen(lambda: shutil.copy(ann.db, tmp_path / "older.db"))
        ann.write("V[b]: 1")
        ann.exchange()
        lost, node = ann.store.journal.head(), ann.store.sync.node

        def put_back() -> None:
            for file in ann.db.parent.glob("memory.db*"):
                file.unlink()
            shutil.copy(tmp_path / "older.db", ann.db)

        ann.reopen(put_back)
        ann.exchange()
        assert ann.store.sync.node != node
        assert (report(ann).held, report(ann).known) == (False, lost)


def test_a_push_whose_answer_was_lost_leaves_no_doubt(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="write") as (ann,):
        ann.write("V[a]: 1")
        new = ann.store.journal.head()
        assert new is not None
        with TeamServer(ann.dsn) as server:
            keep_head(server, ann.store.sync.node, new)
        ann.write("V[b]: 1")
        ann.exchange()
        assert kept(ann) == [ann.store.journal.head()]


def test_a_head_is_kept_and_told_for_the_role_that_brought_it(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="write", mallory="write") as (ann, mallory):
        ann.write("V[a]: 1")
        ann.exchange()
        node, mine = ann.store.sync.node, kept(ann)
        with TeamServer(mallory.dsn) as server:
            assert list_heads(server, node) == []
            keep_head(server, node, head(10_000), past=mine)
            assert list_heads(server, node) == [head(10_000)]
        assert kept(ann) == mine
        assert report(ann).held
        revoke_member(database.admin, mallory.role)
        assert database.one("SELECT array_agg(role::text) FROM hm.chain_head") == [ann.role]


def test_who_shares_a_role_holds_up_no_push_by_its_heads(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="write") as (ann,), psycopg.connect(ann.dsn) as other:
        ann.write("V[a]: 1")
        ann.exchange()
        known = kept(ann)
        other.execute("SELECT hm.keep_head(%s, 9, %s, now())", (ann.store.sync.node, bytes.fromhex(known[0].hash)))
        ann.write("V[b]: 1")
        ann.exchange()
        assert not any(ann.store.sync.outbox.pending_counts().values())
        assert kept(ann) == known
        other.rollback()
        ann.write("V[c]: 1")
        ann.exchange()
        assert ann.store.journal.head() in kept(ann)
        assert report(ann).held


def test_who_may_nothing_has_nothing_kept(database: Database) -> None:
    restrict_role_to_themes(database.admin, f"{database.name}_runtime", ["ours"])
    database.run("UPDATE hm.member SET until = now()")
    with psycopg.connect(database.runtime) as conn, pytest.raises(InsufficientPrivilege):
        conn.execute("SELECT hm.keep_head(%s::uuid, 1, sha256('a'), now())", (NODE,))


@pytest.mark.parametrize(
    "given",
    [
        "-1, sha256('a'), now()",
        "0, sha256('a'), now()",
        "9223372036854775808, sha256('a'), now()",
        "NULL, sha256('a'), now()",
        "1, NULL, now()",
        "1, sha256('a'), NULL",
        "1, 'a'::bytea, now()",
        "1, convert_to(repeat('x', 1000000), 'UTF8'), now()",
        "1, sha256('a'), 'infinity'",
        "1, sha256('a'), '20000-01-01'",
    ],
)
def test_no_head_but_a_head_is_kept(database: Database, given: str) -> None:
    with (
        psycopg.connect(database.runtime) as conn,
        pytest.raises((IntegrityError, DataError, psycopg.errors.UndefinedFunction)),
    ):
        conn.execute(f"SELECT hm.keep_head('{NODE}', {given})")
    assert database.one("SELECT count(*) FROM hm.chain_head") == 0


def test_a_role_fills_no_more_than_its_share(database: Database) -> None:
    with TeamServer(database.runtime) as server:
        for n in range(1, 30):
            keep_head(server, NODE, head(n), past=[head(1_000)])
        assert [one.seq for one in list_heads(server, NODE)] == [29, *range(28, 20, -1)]
        keep_head(server, NODE, head(3))
        assert [one.seq for one in list_heads(server, NODE)] == [29, *range(28, 21, -1), 3]
        server.rows(
            "SELECT hm.keep_head(gen_random_uuid(), n, sha256(n::text::bytea), now()) FROM generate_series(1, 300) n"
        )
        assert database.one("SELECT count(DISTINCT node) FROM hm.chain_head") == 100


@pytest.mark.parametrize("damage", ["hash = x'00'", "at = 1 << 60", "at = -1"])
def test_a_damaged_journal_keeps_no_fact_from_the_team(database: Database, tmp_path: Path, damage: str) -> None:
    with team_of(database, tmp_path, ann="write") as (ann,):
        ann.write("V[a]: 1")
        with closing(sqlite3.connect(ann.db)) as conn, conn:
            for (name,) in conn.execute(
                "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'journal'"
            ).fetchall():
                conn.execute(f"DROP TRIGGER {name}")
            conn.execute(f"UPDATE journal SET {damage} WHERE seq = (SELECT max(seq) FROM journal)")
        ann.exchange()
        assert database.one("SELECT count(*) FROM hm.item") == 1
        assert database.one("SELECT count(*) FROM hm.chain_head") == 0


def test_verify_tells_a_person(database: Database, tmp_path: Path) -> None:
    with team(tmp_path, database.runtime) as (machine,):
        for n in range(4):
            machine.write(f"V[a{n}]: 1")
        machine.command("sync", "now")
        sound = machine.command("sync", "verify")
        assert sound.returncode == 0, sound.stdout
        assert "journal: held: it has row" in sound.stdout
        cut_off(machine.db, 2)
        machine.write("V[b]: 1")
        machine.start()
        machine.command("sync", "now")
        told = machine.command("sync", "verify")
        assert told.returncode == 1
        assert "journal: CUT OFF OR REWRITTEN: " in told.stdout
        assert "backup --restore" in told.stdout
        said = json.loads(machine.command("sync", "verify", "--json").stdout)
        assert said["same"], said
        assert not said["journal"]["held"]
