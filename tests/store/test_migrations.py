"""Stores of older versions are brought up to date behind a backup, with everything in them."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_store.database.migrations import migrate_store
from hermes_memory_store.database.schema import APPLICATION_ID, STORE_VERSION
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.errors import StoreNeedsUpgrade
from hermes_memory_store.model import UNKNOWN_ORIGIN, FactFilter
from hermes_memory_store.store import Store

LATER = {
    2: ("m002_bridge", "turns_text turns calls credentials"),
    3: ("m003_sources", "source_rules"),
    4: ("m004_sync", "sync_store sync_themes sync_changed sync_rows sync_conflicts"),
    5: ("m005_shared_turns", "sync_turns turns_to_scrub"),
    6: ("m006_sync_whole", "sync_listed sync_listings sync_masked"),
    7: ("m007_origins", "origins project_aliases projects sync_origins"),
    8: (
        "m008_hosts",
        "rules_files host_given host_turns host_sessions place_themes place_choice branch_states project_branches",
    ),
    10: ("m010_team_names", ""),
    11: ("m011_actions", "actions"),
    12: ("m012_guards", ""),
    13: ("m013_contradictions", ""),
    14: ("m014_cites", ""),
}
"""The tables that each version after the first one added."""

TRIGGERS = {
    4: (
        "facts_sync_new facts_sync_changed facts_sync_gone facts_sync_purged"
        " scopes_sync_new scopes_sync_changed scopes_sync_renamed"
    ),
    5: "turns_sync_new",
    6: "sync_masked_purged",
    7: "sync_origins_purged",
    8: "rules_files_changed rules_files_deleted host_turns_erased",
    14: "facts_sync_cited",
}
"""The triggers that a version added to tables of earlier ones, and its own that outlive their tables."""

INDEXES = {7: "facts_of_origin sessions_by_client", 12: "facts_guarded", 14: "facts_citing"}

COLUMNS = {
    5: "sync_themes.turns sync_themes.turn_seq sync_themes.turns_whole",
    6: "sync_themes.fetched",
    7: (
        "facts.origin_id facts.origin_detail facts.verdict turns.origin_id turns.verdict journal.origin_id"
        " sessions.client_version sessions.project_id sessions.number"
    ),
    10: "sync_themes.team_name",
    12: "facts.guards",
    13: "fact_uses.contradicted",
    14: "facts.cites",
}


@pytest.fixture(params=[1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13])
def before(request: pytest.FixtureRequest) -> int:
    """The version of the older store."""
    return int(request.param)


@pytest.fixture
def old(tmp_path: Path, before: int) -> Path:
    """A store as that version wrote it, with a fact."""
    path = tmp_path / "memory.db"
    with Store.open(path) as store:
        store.origin = UNKNOWN_ORIGIN  # versions before the seventh noted none
        store.facts.write("default", "D[cache]: redis", scope="speed")
    conn = sqlite3.connect(path)
    for number, (migration, tables) in reversed(LATER.items()):
        if number > before:
            for kind, names in (("TRIGGER", TRIGGERS), ("INDEX", INDEXES)):
                for name in names.get(number, "").split():
                    conn.execute(f"DROP {kind} {name}")
            for column in COLUMNS.get(number, "").split():
                conn.execute("ALTER TABLE {} DROP COLUMN {}".format(*column.split(".")))
            for name in tables.split():
                conn.execute(f"DROP TABLE {name}")
            conn.execute("DELETE FROM _sqlite_migrations WHERE name = ?", (migration,))
    conn.execute(f"PRAGMA user_version = {before}")
    conn.commit()
    conn.close()
    return path


def version(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as conn:
        return int(conn.execute("PRAGMA user_version").fetchone()[0])


def test_an_older_store_is_brought_up_to_date_with_what_it_holds(old: Path) -> None:
    with Store.open(old) as store:
        assert [fact.notation for fact in store.search.find("default", "redis").facts] == ["D[cache]: redis"]
        assert all(check.ok for check in examine_store(store)), examine_store(store)
        store.sources.set_rule("default", "hermes-agent", "always")
        assert store.sources.rule("default", "hermes-agent") == "always"
    assert version(old) == STORE_VERSION


def test_a_verified_backup_of_the_older_store_stands_beside_it(old: Path, before: int) -> None:
    Store.open(old).close()
    (kept,) = old.parent.glob(f"memory.db.version-{before}.*.bak")
    assert version(kept) == before


def test_an_older_store_is_not_migrated_by_who_only_reads(old: Path, before: int) -> None:
    with pytest.raises(StoreNeedsUpgrade, match="older version"):
        Store.open(old, read_only=True)
    assert version(old) == before
    assert not list(old.parent.glob("*.bak"))


def test_a_store_that_lost_its_log_mode_gets_it_back(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    Store.open(path).close()
    conn = sqlite3.connect(path)
    conn.execute("PRAGMA journal_mode = DELETE")
    conn.close()
    with Store.open(path) as store:
        assert store.db.value("PRAGMA journal_mode") == "wal"


def test_a_current_store_has_the_tables_of_every_version(tmp_path: Path) -> None:
    with Store.open(tmp_path / "memory.db") as store:
        assert store.db.value("PRAGMA application_id") == APPLICATION_ID
        names = {name for (name,) in store.db.rows("SELECT name FROM sqlite_master")}
    assert {"facts", "credentials", "calls", "turns", "turns_text", "source_rules", "sync_rows", "sync_masked"} <= names


def test_a_new_store_is_the_same_as_one_that_every_migration_was_applied_to(tmp_path: Path) -> None:
    kinds = []
    for conn in (sqlite3.connect(":memory:", isolation_level=None), sqlite3.connect(":memory:", isolation_level=None)):
        if kinds:  # a file with a table in it is an older store, whose record lacks everything
            conn.execute("CREATE TABLE a_table (x)")
        migrate_store(conn)
        conn.execute("DROP TABLE IF EXISTS a_table")
        objects = conn.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        kinds.append((objects, conn.execute("SELECT id, migration_set, name FROM _sqlite_migrations").fetchall()))
        conn.close()

    assert kinds[0] == kinds[1]


def test_making_a_store_imports_nothing_that_only_an_older_one_needs(tmp_path: Path) -> None:
    program = (
        "import sys; from hermes_memory_store.store import Store\n"
        "Store.open(sys.argv[1], create=True).close(); assert not {'sqlite_utils', 'numpy', 'click'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "memory.db")], check=True, timeout=60)


@pytest.mark.crash
def test_a_migration_that_is_killed_at_any_moment_is_finished_by_the_next_start(old: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from hermes_memory_store.store import Store\n"
        "print('begin', flush=True); Store.open(sys.argv[1]).close()"
    )
    for number in range(12):
        place = tmp_path / f"try{number}" / "memory.db"
        place.parent.mkdir()
        place.write_bytes(old.read_bytes())
        process = subprocess.Popen([sys.executable, "-c", program, str(place)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(number * 0.012)
        process.kill()
        process.communicate()
        with Store.open(place) as store:
            assert store.facts.page(FactFilter(theme="default")).facts[0].origin == UNKNOWN_ORIGIN
            assert all(check.ok for check in examine_store(store) if check.name not in ("leftovers", "privacy"))
