"""A member whose open transaction keeps others waiting: who he is, that he is disconnected, and that nobody else ever is."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo, sql
from psycopg.errors import AdminShutdown, LockNotAvailable

from hermes_memory_bridge.team.database import purge_rewrite, team_repair, team_schema, tombstone_collection
from hermes_memory_bridge.team.database.team_members import invite_member, redeem_invitation, revoke_member
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import TeamServer, new_push_token
from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.database.tombstone_collection import collect_tombstones
from hermes_memory_bridge.team.sync_outcome import SyncOutcome
from hermes_memory_store.errors import ArgumentError
from tests.bridge.running import until
from tests.bridge.team.bouncer import PROGRAM, bouncer
from tests.bridge.team.conftest import Database
from tests.bridge.team.people import Person, settle, team_of
from tests.bridge.team.side import Side
from tests.bridge.team.test_bouncer import open_folder
from tests.processes import PATIENCE_S

__all__ = ["open_folder"]

PUSH = (
    "SELECT hm.push('{theme}', gen_random_uuid(), gen_random_uuid(), 0, ARRAY[gen_random_uuid()], ARRAY['fact'], ARRAY['held'],"
    " ARRAY['{{\"target\": \"a\"}}'], '{{NULL}}', '{{0}}', '{{1}}', ARRAY[gen_random_uuid()],"
    " '{{\"{{}}\"}}', '{{NULL}}', {claims})"
)

PUSHED = PUSH.format(theme="ours", claims="NULL")

CONFLICTS = "SELECT hm.push_conflicts('ours', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')"

HOLDS = {
    "a push": [PUSHED],
    "conflicts": [CONFLICTS],
    "vectors": ["SELECT hm.keep_vectors('ours', 'm', '{}', '{}', '{}')"],
    "several in savepoints": [
        "SAVEPOINT one",
        CONFLICTS,
        "SAVEPOINT two",
        PUSHED,
        "RELEASE two",
        "SAVEPOINT three",
        PUSHED,
    ],
    "a push in a savepoint": ["SAVEPOINT one", PUSHED],
    "a push without a timeout": ["SET idle_in_transaction_session_timeout = 0", "SET lock_timeout = 0", PUSHED],
    "a push after one that was taken back": ["SAVEPOINT one", PUSHED, "ROLLBACK TO one", PUSHED],
}


def hold_for(database: Database, seconds: int) -> None:
    """Set how long a member may hold a theme, and let others wait for little time each."""
    database.run(
        f"INSERT INTO hm.setting VALUES ('hold_s', '{seconds}') ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    )
    database.run("ALTER FUNCTION hm.take_turn SET lock_timeout = '100ms'")


@contextmanager
def holding(dsn: str, *statements: str) -> Iterator[psycopg.Connection]:
    """A transaction that is left open."""
    conn = psycopg.connect(dsn)
    try:
        for statement in statements:
            conn.execute(statement)
        yield conn
    finally:
        conn.close()


def is_there(conn: psycopg.Connection) -> bool:
    try:
        conn.execute("SELECT 1")
    except (AdminShutdown, psycopg.OperationalError):
        return False
    return True


def exchange_all(person: Person) -> list[SyncOutcome]:
    """Exchange for as long as something is left that is tried again at once."""
    found = [person.exchange()]
    while found[-1].more:
        found.append(person.exchange())
        assert len(found) < 20, found[-1].state.words
    return found


@pytest.fixture
def people(database: Database, tmp_path: Path) -> Iterator[list[Person]]:
    migrate_team_schema(database.admin, dimension=3)
    with team_of(database, tmp_path, ann="write", ben="write", mallory="write") as made:
        made[0].write("V[a]: said before")
        settle(*made[:2])
        hold_for(database, 0)
        yield made


@pytest.mark.parametrize("way", HOLDS)
def test_who_holds_a_theme_is_disconnected_and_named_and_the_others_go_on(people: list[Person], way: str) -> None:
    ann, ben, mallory = people
    with holding(mallory.dsn, *HOLDS[way]) as held:
        ann.write("V[b]: of ann")
        ben.write("V[c]: of ben")
        first, *_, last = exchange_all(ann)
        assert first.state.name == "held"
        said = f"theme ours: {mallory.role} held this theme for \\d+ s and was disconnected"
        assert re.search(said, first.state.words)
        assert last.state.name == "idle"
        assert mallory.role in last.themes["ours"].state.words  # type: ignore[union-attr]
        settle(ben, ann)
        assert (ann.fact("of ben").content, ben.fact("of ann").content) == ("of ben", "of ann")
        assert not is_there(held)


def test_who_holds_a_theme_while_he_is_busy_is_disconnected_too(database: Database, people: list[Person]) -> None:
    ann, _, mallory = people
    ended: list[type[Exception]] = []

    def work() -> None:
        try:
            with psycopg.connect(mallory.dsn) as conn:
                conn.execute(f"SELECT p, pg_sleep(1000) FROM ({PUSHED}) p OFFSET 0")
        except psycopg.Error as error:
            ended.append(type(error))

    late = threading.Thread(target=work)
    late.start()
    asked = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s AND wait_event = 'PgSleep'"
    until(lambda: database.one(asked, mallory.role) == 1, "the push")
    ann.write("V[b]: of ann")
    assert exchange_all(ann)[-1].state.name == "idle"
    late.join(PATIENCE_S)
    assert ended == [AdminShutdown]


@pytest.mark.parametrize("claims", ["NULL", "ARRAY['remote example.com/shop']"])
def test_who_is_about_to_begin_a_theme_holds_it_no_longer(
    database: Database, people: list[Person], claims: str
) -> None:
    role = people[2].role
    restrict_role_to_themes(database.admin, role, [])
    side = Side("new")
    side.write("new", "of the others")
    with holding(people[2].dsn, PUSH.format(theme="new" if claims == "NULL" else "another", claims=claims)) as held:
        with TeamServer(database.runtime) as server:
            server._claims["new"] = None if claims == "NULL" else "{remote example.com/shop}"
            with pytest.raises(TeamError) as caught:
                server.push("new", side.node, side.pending_rows("new"), new_push_token())
            assert caught.value.state.name == "held"
            assert [(one.role, one.ended) for one in server.release("new")] == [(role, True)]
            assert server.push("new", side.node, side.pending_rows("new"), new_push_token()).base == 0
        assert not is_there(held)


def test_what_is_held_no_longer_than_a_push_takes_is_left_alone(database: Database, people: list[Person]) -> None:
    hold_for(database, 3_600)
    ann, _, mallory = people
    with holding(mallory.dsn, PUSHED) as held:
        ann.write("V[b]: of ann")
        for _ in range(2):
            outcome = ann.exchange()
            assert (outcome.state.name, outcome.more) == ("held", True)
            assert f"{mallory.role} has held this theme for" in outcome.state.words
        assert is_there(held)
        assert database.one("SELECT count(*) FROM hm.hold") == 1
        held.commit()
        assert exchange_all(ann)[-1].state.name == "idle"


def test_time_counts_from_when_he_was_in_the_way_of_others(database: Database, people: list[Person]) -> None:
    hold_for(database, 3_600)
    with holding(people[2].dsn, PUSHED) as held, TeamServer(people[0].dsn) as server:
        assert [one.ended for one in server.release("ours")] == [None]
        database.run("UPDATE hm.hold SET since = since - interval '1 hour'")
        held.commit()
        held.execute(PUSHED)  # another one, in the same session
        assert [one.ended for one in server.release("ours")] == [None]
        database.run("UPDATE hm.hold SET since = since - interval '1 hour'")
        assert [(one.role, one.ended) for one in server.release("ours")] == [(people[2].role, True)]
        assert not is_there(held)


def test_nobody_can_have_another_disconnected_who_is_in_nobodys_way(database: Database, people: list[Person]) -> None:
    ann, ben, mallory = people
    restrict_role_to_themes(database.admin, ben.role, ["ours", "theirs"])
    reading = "SELECT count(*) FROM hm.pull('ours', false, true, 0, NULL, 10, 1000)"
    elsewhere = PUSH.format(theme="theirs", claims="NULL")
    with (
        holding(ann.dsn, "SET default_transaction_isolation = 'repeatable read'", reading) as reader,
        holding(ben.dsn, elsewhere) as writer,
        holding(database.admin, "SELECT * FROM hm.clock WHERE theme = 'ours' FOR UPDATE") as owner,
        TeamServer(mallory.dsn) as server,
    ):
        assert server.release("ours") == []
        with pytest.raises(TeamError, match="may not write"):
            server.release("theirs")
        assert [is_there(one) for one in (reader, writer, owner)] == [True, True, True]


def test_who_asks_for_it_in_a_transaction_holds_nothing(database: Database, people: list[Person]) -> None:
    ann, ben, mallory = people
    with (
        holding(ben.dsn, PUSHED) as held,
        holding(mallory.dsn, "SELECT hm.release('ours')", "SELECT * FROM hm.release('ours')"),
        TeamServer(ann.dsn) as server,
    ):
        assert not is_there(held)
        assert server.release("ours") == []
        side = Side("ours")
        side.write("ours", "of ann")
        assert server.push("ours", side.node, side.pending_rows("ours"), new_push_token()).accepted


OPEN_TO_ALL = {
    "the advisory lock of a project": "SELECT pg_advisory_lock(hashtextextended('remote example.com/shop', 0))",
    "the advisory lock of migrating": f"SELECT pg_advisory_lock({0x686D_656D})",
    "the table of migrations, for reading": "LOCK TABLE hm.migration IN ACCESS SHARE MODE",
    "an announcement that is not made yet": "SELECT pg_notify('hm_0', 'x')",
}


@pytest.mark.parametrize("lock", OPEN_TO_ALL)
def test_locks_that_anybody_can_take_stop_nobody(database: Database, people: list[Person], lock: str) -> None:
    with holding(people[2].dsn, OPEN_TO_ALL[lock]):
        with psycopg.connect(people[0].dsn) as conn:
            conn.execute(PUSH.format(theme="ours", claims="ARRAY['remote example.com/shop']"))
        migrate_team_schema(database.admin)


def test_collecting_goes_on_when_somebody_holds_a_theme(
    database: Database, people: list[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tombstone_collection, "LOCK_TIMEOUT", "50ms")
    with holding(people[2].dsn, PUSHED) as held:
        collect_tombstones(database.admin, days=1)
        assert not is_there(held)
    hold_for(database, 3_600)
    with holding(people[2].dsn, PUSHED), pytest.raises(TeamError, match=f"theme ours: {people[2].role} has held"):
        collect_tombstones(database.admin, days=1)


def test_the_owner_is_told_who_uses_the_tables(
    database: Database, people: list[Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (team_schema, team_repair, purge_rewrite):
        monkeypatch.setattr(module, "LOCK_TIMEOUT", "50ms")
    used = f"in use by {people[2].role} \\(for \\d+ s\\), so"
    with holding(people[2].dsn, PUSHED):
        with pytest.raises(TeamError, match=f"{used} nothing was repaired"):
            team_repair.repair_team_database(database.admin)
        with pytest.raises(TeamError, match=f"{used} nothing was migrated"):
            migrate_team_schema(database.admin, dimension=4, replace_vectors=True)
        with pytest.raises(TeamError, match=f"{used} hm.item still holds purged words"):
            purge_rewrite.rewrite_purged(database.admin, always=True)


@pytest.fixture
def owner(empty: Database) -> Iterator[Database]:
    """A database whose owner is no superuser, and may make roles."""
    role = f"{empty.name}_owner"
    empty.run(f"CREATE ROLE {role} LOGIN CREATEROLE PASSWORD 'x'")
    empty.run(f"GRANT CREATE ON DATABASE {empty.name} TO {role}")
    dsn = conninfo.make_conninfo(empty.admin, user=role, password="x")
    migrate_team_schema(dsn)
    made = Database(dsn, empty.runtime, empty.name)
    hold_for(made, 0)
    side = Side("ours")
    side.write("ours", "one")
    with TeamServer(dsn) as server:
        server.push("ours", side.node, side.pending_rows("ours"), new_push_token())
    yield made
    with psycopg.connect(empty.admin, autocommit=True) as conn:
        names = [
            name for (name,) in conn.execute("SELECT rolname FROM pg_roles WHERE rolname LIKE %s", (f"%_{empty.name}",))
        ]
        for name in [*names, role]:
            conn.execute(sql.SQL("DROP OWNED BY {0} CASCADE; DROP ROLE {0}").format(sql.Identifier(name)))


def test_an_owner_who_is_no_superuser_has_those_disconnected_whom_he_invited(owner: Database) -> None:
    ann, mallory = (f"{name}_{owner.name}" for name in ("ann", "mallory"))
    dsns = [redeem_invitation(invite_member(owner.admin, name, themes=["ours"]), [].append) for name in (ann, mallory)]
    with holding(dsns[1], PUSHED) as held, TeamServer(dsns[0]) as server:
        assert [(one.role, one.ended) for one in server.release("ours")] == [(mallory, True)]
        assert not is_there(held)
    with holding(dsns[1], PUSHED) as held:
        assert revoke_member(owner.admin, mallory) == []
        assert not is_there(held)
    assert owner.one("SELECT rolconnlimit FROM pg_roles WHERE rolname = %s", mallory) == 20


def test_whom_the_owner_may_not_disconnect_is_named(owner: Database, database: Database, tmp_path: Path) -> None:
    role = f"{owner.name}_runtime"
    migrate_team_schema(owner.admin, runtime_role=role)
    restrict_role_to_themes(owner.admin, role, ["ours"])
    ann = f"ann_{owner.name}"
    dsn = redeem_invitation(invite_member(owner.admin, ann, themes=["ours"]), [].append)
    (tmp_path / "x").mkdir()
    person = Person(tmp_path / "x" / "ann", dsn, ann)
    with holding(owner.runtime, PUSHED) as held:
        person.write("V[b]: of ann")
        outcome = person.exchange()
        assert (outcome.state.name, outcome.more) == ("held", False)
        said = f"{role} has held this theme for \\d+ s, and the owner of the team database may not disconnect him:"
        assert re.search(f"{said} `team revoke {role}`", outcome.state.words)
        with pytest.raises(ArgumentError, match=f"{role} has no rights any more, but what it began goes on"):
            revoke_member(owner.admin, role)
        assert is_there(held)
        held.rollback()
    assert exchange_all(person)[-1].state.name == "idle"
    person.close()


@pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed")
def test_who_shares_a_pooler_with_the_holder_goes_on(
    database: Database, people: list[Person], open_folder: Path
) -> None:
    ann, _, mallory = people
    with bouncer(open_folder, ann.dsn) as dsn, holding(mallory.dsn, PUSHED) as held:
        ann.dsn = dsn
        ann.write("V[b]: of ann")
        assert exchange_all(ann)[-1].state.name == "idle"
        assert not is_there(held)


def test_waiting_for_a_theme_is_bounded(database: Database, people: list[Person]) -> None:
    with holding(people[2].dsn, PUSHED), psycopg.connect(people[0].dsn) as conn:
        conn.execute("SET lock_timeout = 0")
        for statement in (PUSHED, CONFLICTS, "SELECT hm.keep_vectors('ours', 'm', '{}', '{}', '{}')"):
            with pytest.raises(LockNotAvailable), conn.transaction():
                conn.execute(statement)
