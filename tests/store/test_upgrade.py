"""Upgrade of a file that hermes-memory 0.3.0 itself made (see `fixtures/make_hermes_memory_0_3_0.py`)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_store import errors
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.files.upgrade_hermes_030 import needs_upgrade, upgrade_hermes_030
from hermes_memory_store.journal import transaction_log
from hermes_memory_store.model import FactFilter, Tier
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep import backup, hermes_030_file
from hermes_memory_themes import Policies
from tests.store.conftest import HandClock
from tests.store.crashing import killed_at
from tests.store.portraits import dump, portrait

MADE = Path(__file__).parent / "fixtures" / "hermes_memory_0_3_0.db"

ALL = FactFilter(tiers=frozenset(Tier))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the real file, readable by everybody as hermes-memory leaves it."""
    place = tmp_path / "memory.db"
    shutil.copy(MADE, place)
    place.chmod(0o644)
    return place


def rows(path: Path, sql: str) -> list[dict[str, Any]]:
    conn = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    conn.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in conn.execute(sql)]
    finally:
        conn.close()


def change(path: Path, *statements: str) -> None:
    conn = sqlite3.connect(path, isolation_level=None)
    try:
        for statement in statements:
            conn.execute(statement)
    finally:
        conn.close()


def by_target(store: Store) -> dict[str, Any]:
    facts = store.facts.by_ids(store.facts.ids(ALL))
    return {f"{fact.scope or ''}/{fact.target}={fact.content[:20]}": fact for fact in facts}


def test_the_file_is_recognised_and_refused_until_it_is_upgraded(old: Path) -> None:
    assert needs_upgrade(old)
    with pytest.raises(errors.StoreNeedsUpgrade, match=r"hermes-memory 0\.3\.0"):
        Store.open(old)
    upgrade_hermes_030(old)
    assert not needs_upgrade(old)


def test_no_row_is_lost(old: Path) -> None:
    before = {row["id"]: row for row in rows(old, "SELECT * FROM facts")}
    labels = {row["id"]: row["label"] for row in rows(old, "SELECT * FROM scopes")}
    report = upgrade_hermes_030(old)
    assert (report.facts, report.scopes, report.sessions) == (len(before), len(labels), 6) == (45, 6, 6)
    with Store.open(old) as store:
        facts = {str(fact.uid): fact for fact in store.facts.by_ids(store.facts.ids(ALL))}
        assert facts.keys() == before.keys()
        for key, row in before.items():
            fact = facts[key]
            assert fact.type.value == {"done": "✓", "obs": "~"}.get(row["type"], row["type"])
            assert (fact.target, fact.content, fact.scope) == (
                row["target"],
                row["content"],
                labels.get(row["scope_id"]),
            )
            assert (fact.created_at, fact.updated_at) == (row["created_at"] * 1000, row["updated_at"] * 1000)
            assert fact.reads == row["access_count"]
            assert str(fact.actor) == "import"
            if row["superseded_by"]:
                assert (fact.superseded_by, fact.tier) == (row["superseded_by"], Tier.SUPERSEDED)
        assert {str(scope.uid): scope.label for scope in store.scopes.list("default")} == labels
        assert all(check.ok for check in examine_store(store))


def test_tiers_follow_from_status_and_hidden_facts_live_again(old: Path) -> None:
    report = upgrade_hermes_030(old)
    assert report.revived == 1
    with Store.open(old) as store:
        facts = by_target(store)
        assert facts["/db.id=UUID mndtry, nvr aut"].tier == Tier.HOT
        assert facts["billing/port=3006"].tier == Tier.HOT
        assert facts["early/early=decided long ago"].tier == Tier.ARCHIVED
        assert facts["perf/cache=redis or memcached"].tier == Tier.COLD
        assert "V[port]: 3006" in store.context.status("default").text


def test_facts_that_stood_side_by_side_are_kept_and_the_newest_stands(old: Path) -> None:
    report = upgrade_hermes_030(old)
    assert report.collided == 3
    with Store.open(old) as store:
        auth = [fact for fact in store.facts.by_ids(store.facts.ids(ALL)) if fact.target.lower() == "auth"]
        assert len(auth) == 4
        (stands,) = [fact for fact in auth if fact.tier != Tier.SUPERSEDED]
        assert stands.content == "targets differ in case only"
        assert store.facts.chain(auth[0].uid)[-1].uid == stands.uid


def test_a_scope_opens_again_with_what_its_closing_had_cooled(old: Path) -> None:
    upgrade_hermes_030(old)
    with Store.open(old) as store:
        assert str(store.scopes.get("default", "perf").status) == "closed"
        store.facts.write("default", "V[ttl]: 60", scope="perf")
        assert by_target(store)["perf/cache=redis or memcached"].tier == Tier.HOT


def test_sessions_go_on_where_they_were(old: Path) -> None:
    upgrade_hermes_030(old)
    with Store.open(old) as store:
        session = store.sessions.open("default", "s2")
        assert session.turn == 7
        assert {one.name for one in store.sessions.list("default")} >= {"s1", "s2", "s3", "s4", "(unnamed)"}


def test_everything_is_journaled_and_replays(old: Path, tmp_path: Path) -> None:
    upgrade_hermes_030(old)
    with Store.open(old) as store, Store.open(tmp_path / "other.db") as other:
        assert {str(change.actor) for change in store.journal.changes()} == {"import"}
        transaction_log.replay_log(transaction_log.transaction_log_lines(store), other)
        assert portrait(other) == portrait(store)


def test_the_old_file_stays_beside_it_whole_and_private(old: Path, clock: HandClock) -> None:
    before = dump(old)
    report = upgrade_hermes_030(old, clock=clock)
    assert report.backup == old.with_name("memory.db.hermes-memory-0.3.0.20260921T141320.000Z.bak")
    assert dump(report.backup) == before
    assert stat.S_IMODE(report.backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(old.stat().st_mode) == 0o600
    assert backup.find_backups(old) == [report.backup]
    assert not list(old.parent.glob(".*"))


def test_the_old_full_text_index_is_not_trusted(old: Path) -> None:
    change(old, "INSERT INTO facts_fts (facts_fts) VALUES ('delete-all')")
    upgrade_hermes_030(old)
    with Store.open(old) as store:
        assert [fact.content for fact in store.search.find("default", "mndtry").facts] == [
            "UUID mndtry, nvr autoincrement"
        ]


def test_odd_content_is_kept_as_it_is(old: Path) -> None:
    long = "y" * 5000
    change(
        old,
        f"UPDATE facts SET content = '{long}' WHERE target = 'db.id'",
        "UPDATE facts SET content = 'a' || char(0) || 'b' || char(8238) WHERE content = '3006'",
        "UPDATE facts SET target = ' odd ] target' WHERE target = 'ville'",
        "UPDATE scopes SET label = '  spaced  ' WHERE label = 'odd'",
        "UPDATE facts SET content = CAST(x'ff41' AS TEXT) WHERE target = 'cache'",
    )
    upgrade_hermes_030(old)
    with Store.open(old) as store:
        facts = by_target(store)
        assert facts[f"/db.id={long[:20]}"].content == long
        assert facts["billing/port=a\x00b\u202e"]
        assert facts["perf/ odd ] target=Genève, déploiement "]
        assert facts["  spaced  /tab=with a tab\tand an es"]
        assert facts["perf/cache=\ufffdA"]
        assert all(check.ok for check in examine_store(store))


def test_ids_that_are_no_uuids_get_one_and_keep_their_links(old: Path) -> None:
    change(old, "UPDATE facts SET id = 'mine' WHERE content = 'SAML' AND access_count = 2")
    change(old, "UPDATE facts SET superseded_by = 'mine' WHERE content = 'JWT 7j refresh 6j'")
    upgrade_hermes_030(old)
    with Store.open(old) as store:
        mine = store.facts.get(str(uuid.UUID(bytes=hermes_030_file.hermes_030_uid("mine"))))
        assert mine.content == "SAML"
        assert by_target(store)["auth/auth=JWT 7j refresh 6j"].superseded_by == mine.uid


def test_a_link_to_a_purged_fact_is_left_out(old: Path) -> None:
    change(old, "DELETE FROM facts WHERE content = 'api.example.com:3006'")
    upgrade_hermes_030(old)
    with Store.open(old) as store:
        assert by_target(store)["/srv.prod=api.example.com:3005"].superseded_by is None
        assert all(check.ok for check in examine_store(store))


def test_scopes_of_one_label_become_one(old: Path) -> None:
    change(old, "UPDATE scopes SET label = 'auth', status = 'active' WHERE label = 'perf'")
    report = upgrade_hermes_030(old)
    assert report.merged_scopes == 1
    with Store.open(old) as store:
        assert str(store.scopes.get("default", "auth").status) == "open"
        assert {"auth/cache=redis or memcached", "auth/hidden=written after its sc"} <= by_target(store).keys()


def test_the_theme_can_be_chosen(old: Path, tmp_path: Path) -> None:
    upgrade_hermes_030(old, theme="marketing", policies=Policies.load(tmp_path / "none.toml"))
    with Store.open(old) as store:
        assert [theme.name for theme in store.themes()] == ["marketing"]


def test_a_second_upgrade_changes_nothing(old: Path) -> None:
    upgrade_hermes_030(old)
    with Store.open(old) as store:
        before = portrait(store)
        assert upgrade_hermes_030(old).backup is None
        assert portrait(store) == before


def test_two_that_upgrade_at_once_both_find_it_upgraded(old: Path) -> None:
    done: list[Any] = []
    threads = [threading.Thread(target=lambda: done.append(upgrade_hermes_030(old))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(report.facts for report in done) == [0, 0, 45]


def test_what_is_written_during_the_upgrade_is_not_lost(old: Path) -> None:
    """A process of hermes-memory writes after the backup was taken: the upgrade begins again with what it wrote."""
    writes = 0

    def write(done: int, total: int) -> None:
        nonlocal writes
        if writes < 2:
            writes += 1
            values = f"'{uuid.uuid4()}', 'late', 'V', 'late{writes}', NULL, 'active', NULL, 1, 1, NULL, 0, ''"
            change(old, f"INSERT INTO facts VALUES ({values})")

    report = upgrade_hermes_030(old, progress=write)
    assert report.facts == 47
    assert len(rows(report.backup, "SELECT * FROM facts")) == 47  # type: ignore[arg-type]
    with Store.open(old) as store:
        assert {"/late1=late", "/late2=late"} <= by_target(store).keys()


def test_a_process_that_still_has_the_old_file_open_fails_loudly(old: Path) -> None:
    conn = sqlite3.connect(old)
    conn.execute("SELECT count(*) FROM facts WHERE status = 'active'").fetchall()
    upgrade_hermes_030(old)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        conn.execute("UPDATE facts SET status = 'cold'")
    conn.close()


def test_a_reader_does_not_hinder_the_upgrade(old: Path) -> None:
    conn = sqlite3.connect(old, isolation_level=None)
    conn.execute("BEGIN")
    assert conn.execute("SELECT count(*) FROM facts").fetchone() == (45,)
    upgrade_hermes_030(old)
    assert conn.execute("SELECT count(*) FROM facts WHERE status = 'active'").fetchone() == (3,)
    conn.execute("ROLLBACK")
    conn.close()
    with Store.open(old) as store:
        assert all(check.ok for check in examine_store(store))


def test_a_file_that_stays_locked_is_told_and_left(old: Path) -> None:
    before = dump(old)
    conn = sqlite3.connect(old, isolation_level=None)
    conn.execute("BEGIN IMMEDIATE")
    with pytest.raises(errors.StoreLocked, match="locked by another process"):
        upgrade_hermes_030(old, lock_timeout_s=0.1)
    conn.execute("ROLLBACK")
    conn.close()
    assert dump(old) == before
    assert backup.find_backups(old) == []


@pytest.mark.crash
@pytest.mark.parametrize("step", range(1, 197, 8))
def test_a_kill_at_any_step_leaves_the_old_or_the_new_memory_whole(old: Path, step: int) -> None:
    prepare = (
        "from hermes_memory_store.database import migrations\n"
        "from hermes_memory_store.files.upgrade_hermes_030 import upgrade_hermes_030\n"
        f"path = {str(old)!r}\n"
    )
    before = dump(old)
    killed_at(step, prepare, "upgrade_hermes_030(path)")
    if needs_upgrade(old):
        assert dump(old) == before
        assert upgrade_hermes_030(old).facts == 45
    with Store.open(old) as store:
        assert store.facts.count(ALL) == 45
        assert [check.name for check in examine_store(store) if not check.ok] in ([], ["leftovers"])
        assert all(check.ok for check in examine_store(store, repair=True))
    assert not list(old.parent.glob(".*.partial"))


@pytest.mark.parametrize("ruin", ["truncated", "text", "empty", "foreign", "missing", "newer"])
def test_what_is_no_such_file_is_refused_and_left(old: Path, ruin: str) -> None:
    match ruin:
        case "truncated":
            os.truncate(old, old.stat().st_size // 2)
        case "text":
            old.write_text("no database" * 1000)
        case "empty":
            old.write_bytes(b"")
        case "foreign":
            old.unlink()
            change(old, "CREATE TABLE facts (id, content)")
            old.chmod(0o644)
        case "missing":
            old.unlink()
        case "newer":
            change(old, "PRAGMA application_id = 7")
    before = (old.read_bytes(), old.stat().st_mode) if old.exists() else None
    with pytest.raises(errors.StoreError):
        upgrade_hermes_030(old)
    assert ((old.read_bytes(), old.stat().st_mode) if old.exists() else None) == before
    assert not list(old.parent.glob(".*.partial"))


def test_a_read_only_folder_is_told(old: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    old.parent.chmod(0o500)
    try:
        with pytest.raises(errors.FileError):
            upgrade_hermes_030(old)
    finally:
        old.parent.chmod(0o700)
