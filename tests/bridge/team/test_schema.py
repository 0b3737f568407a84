"""Migrating as the owner, and what the role of the stores may do."""

from __future__ import annotations

import threading
import uuid

import psycopg
import pytest
from psycopg import conninfo

from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import (
    AUTHORITY,
    TeamSchema,
    find_newest_team_version,
    migrate_team_schema,
)
from hermes_memory_bridge.team.database.team_server import KnownTheme, TeamServer, is_unverified, new_push_token
from hermes_memory_bridge.team.database.team_states import TeamError, to_wrong_version_state
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.sync.wire_format import PullCursor
from tests.bridge.team.conftest import Database, migrate_openly
from tests.bridge.team.side import Side


def test_migrating_twice_changes_nothing(empty: Database) -> None:
    first = migrate_team_schema(empty.admin)
    at = empty.one("SELECT max(at) FROM hm.migration")

    assert migrate_team_schema(empty.admin) == first == TeamSchema(find_newest_team_version(), None)
    assert empty.one("SELECT max(at) FROM hm.migration") == at


def test_owners_that_migrate_at_once_wait_for_each_other(empty: Database) -> None:
    found: list[TeamSchema] = []
    threads = [
        threading.Thread(target=lambda: found.append(migrate_team_schema(empty.admin, dimension=8))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [TeamSchema(find_newest_team_version(), 8)] * 4


@pytest.mark.parametrize("dimension", [1, 384, 1_024, 3_072, 4_000])
def test_vectors_have_any_dimension_an_index_takes(empty: Database, dimension: int) -> None:
    assert migrate_team_schema(empty.admin, dimension=dimension).dimension == dimension
    asked = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'hm.vector'::regclass AND attname = %s"

    assert empty.one(asked, "embedding") == f"halfvec({dimension})"


def test_vectors_of_another_dimension_are_refused(empty: Database) -> None:
    migrate_team_schema(empty.admin, dimension=384)

    with pytest.raises(ArgumentError, match="384 dimensions, not 768"):
        migrate_team_schema(empty.admin, dimension=768)
    assert migrate_team_schema(empty.admin, dimension=384).dimension == 384


def test_vectors_of_another_dimension_are_replaced_when_the_owner_says_so(empty: Database) -> None:
    migrate_team_schema(empty.admin, dimension=384, model="m:384")

    assert migrate_team_schema(empty.admin, dimension=768, replace_vectors=True) == TeamSchema(
        find_newest_team_version(), 768, None
    )
    assert migrate_team_schema(empty.admin, dimension=768, model="m:768").model == "m:768"


def test_who_was_let_in_is_let_in_to_vectors_that_come_later(database: Database) -> None:
    migrate_team_schema(database.admin, dimension=8)
    migrate_team_schema(database.admin, dimension=16, replace_vectors=True)

    with psycopg.connect(database.runtime) as conn:
        assert conn.execute("SELECT * FROM hm.count_vectors()").fetchall() == []
        assert conn.execute("SELECT * FROM hm.find_nearest('ours', 'fact', 'm', '[1]', 1)").fetchall() == []


def test_a_database_of_another_encoding_is_migrated(empty: Database) -> None:
    name = f"{empty.name}_latin"
    made = f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"
    empty.run(made)
    try:
        dsn = conninfo.make_conninfo(empty.admin, dbname=name)
        assert migrate_team_schema(dsn).version == find_newest_team_version()
        with psycopg.connect(dsn) as conn:
            assert conn.execute("SELECT hm.folded('Zürich')").fetchone() == ("Zürich",)
    finally:
        empty.run(f"DROP DATABASE {name} WITH (FORCE)")


def test_a_database_of_before_is_brought_up_and_its_roles_write_by_functions_alone(former: Database) -> None:
    former.run("INSERT INTO hm.clock VALUES ('ours', 1)")
    former.run(
        "INSERT INTO hm.fact (theme, id, content, attrs, hlc, node, seq)"
        " VALUES ('ours', gen_random_uuid(), 'of before', '{}', 1, gen_random_uuid(), 1)"
    )
    migrate_team_schema(former.admin, dimension=8)

    side = Side("ours")
    side.write("ours", "later")
    with TeamServer(former.runtime) as server:
        server.push("ours", side.node, side.pending_rows("ours"), new_push_token())
        assert [row.content for _, row in server.pull("ours", 0).rows] == ["of before", "later"]
    plain = "SELECT count(*) FROM hm.item WHERE content_sha = sha256(convert_to(content, 'UTF8'))"
    assert former.one(plain) == 0
    keyed = "content_sha = sha256(convert_to(s.value || content, 'UTF8'))"
    assert former.one(f"SELECT count(*) FROM hm.item, hm.setting s WHERE s.name = 'hash_key' AND {keyed}") == 2
    rights = (
        "SELECT string_agg(DISTINCT privilege_type, ' ') FROM information_schema.table_privileges WHERE grantee = %s"
    )
    assert former.one(rights, f"{former.name}_runtime") == "SELECT"


def test_vectors_of_before_stay_with_their_texts(former: Database) -> None:
    former.run("CREATE EXTENSION vector")
    former.run("INSERT INTO hm.setting VALUES ('dimension', '3')")
    former.run(
        "CREATE TABLE hm.vector (theme text NOT NULL, id uuid NOT NULL, model text NOT NULL, content_sha bytea NOT NULL,"
        " embedding halfvec(3) NOT NULL, PRIMARY KEY (theme, id),"
        " FOREIGN KEY (theme, id) REFERENCES hm.fact (theme, id) ON DELETE CASCADE)"
    )
    former.run(
        "WITH f AS (INSERT INTO hm.fact (theme, id, content, content_sha, hlc, node, seq)"
        " VALUES ('ours', gen_random_uuid(), 'said', sha256('said'), 1, gen_random_uuid(), 1) RETURNING theme, id, content_sha)"
        " INSERT INTO hm.vector SELECT theme, id, 'm', content_sha, '[1,1,1]' FROM f"
    )
    migrate_openly(former)
    with TeamServer(former.runtime) as server:
        assert server.rows("SELECT * FROM hm.list_missing_vectors('ours', 'fact', 'm', 0, 10)") == []
        assert server.rows("SELECT * FROM hm.count_vectors()") == [("ours", "fact", 1)]


def test_an_empty_database_is_divided_into_partitions_and_none_with_rows(empty: Database) -> None:
    role = f"{empty.name}_runtime"
    migrate_openly(empty, partitions=4, dimension=8)
    migrate_team_schema(empty.admin, partitions=4)
    side = Side("ours", "theirs")
    uids = {theme: side.write(theme, f"of {theme}") for theme in side.themes()}
    with TeamServer(empty.runtime) as server:
        for theme in side.themes():
            server.push(theme, side.node, side.pending_rows(theme), new_push_token())
        empty.run("INSERT INTO hm.vector SELECT theme, id, 'm', content_sha, '[1,1,1,1,1,1,1,1]', kind FROM hm.item")
        side.write("ours", "edited", uids["ours"])
        server.push("ours", side.node, side.pending_rows("ours"), new_push_token())
        assert [row.content for _, row in server.pull("ours", 0).rows] == ["edited"]
    assert empty.one("SELECT count(*) FROM hm.vector") == 1
    restrict_role_to_themes(empty.admin, role, ["ours"])
    with TeamServer(empty.runtime) as server:
        assert [len(server.pull(theme, 0).rows) for theme in side.themes()] == [1, 0]
    for table in ("item", "item_0"):
        with psycopg.connect(empty.runtime) as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute(f"SELECT count(*) FROM hm.{table}")
    with pytest.raises(ArgumentError, match="this one has 4 partitions"):
        migrate_team_schema(empty.admin, partitions=8)
    with pytest.raises(ArgumentError, match="from 1 to 1000"):
        migrate_team_schema(empty.admin, partitions=0)


def test_a_database_with_rows_is_not_divided(former: Database) -> None:
    former.run(
        "INSERT INTO hm.turn (theme, id, role, content, said_at, node, seq) "
        "VALUES ('ours', gen_random_uuid(), 'user', 'hello', 1, gen_random_uuid(), 1)"
    )
    with pytest.raises(ArgumentError, match="rows or vectors"):
        migrate_team_schema(former.admin, partitions=4)


def test_a_program_of_before_is_told_to_be_updated(database: Database) -> None:
    with psycopg.connect(database.runtime) as conn:  # all that one of 0.3.0 asks before it says the sentence
        asked = "SELECT max(version), (SELECT value FROM hm.setting WHERE name = 'dimension') FROM hm.migration"
        assert conn.execute(asked).fetchone() == (AUTHORITY, None)
    assert "upgrade" in to_wrong_version_state(AUTHORITY, 14).words


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE hm.item ADD COLUMN mine text",
        "CREATE TABLE hm.mine (x int)",
        "DROP TABLE hm.item",
        "DELETE FROM hm.item",
        "TRUNCATE hm.item",
        "DELETE FROM hm.mark",
        "UPDATE hm.mark SET seq = 0",
        "UPDATE hm.migration SET version = 9",
        "INSERT INTO hm.member VALUES ('me', '{a}')",
        "CREATE POLICY open ON hm.item USING (true)",
    ],
)
def test_the_role_of_the_stores_alters_nothing(database: Database, statement: str) -> None:
    with (
        psycopg.connect(database.runtime, autocommit=True) as conn,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        conn.execute(statement)


def test_a_database_that_was_not_migrated_is_not_touched(empty: Database) -> None:
    with pytest.raises(TeamError, match="team migrate") as caught:
        TeamServer(empty.admin)

    assert caught.value.state.name == "not migrated"
    assert empty.one("SELECT to_regnamespace('hm')::text") is None


@pytest.mark.parametrize(("version", "name"), [(1, "old schema"), (99, "new schema")])
def test_another_version_is_named_and_left_alone(database: Database, version: int, name: str) -> None:
    database.run(f"DELETE FROM hm.migration WHERE version > {version}")
    database.run(f"INSERT INTO hm.migration VALUES ({version}, 'other') ON CONFLICT DO NOTHING")

    with pytest.raises(TeamError, match=f"version {version}") as caught:
        TeamServer(database.runtime)
    assert caught.value.state.name == name
    if version == 99:
        with pytest.raises(TeamError, match="upgrade"):
            migrate_team_schema(database.admin)


def test_a_role_with_themes_sees_and_writes_those_only(database: Database) -> None:
    side = Side("ours", "theirs")
    for theme in side.themes():
        side.write(theme, "what only this theme may know")
    with TeamServer(database.admin) as owner:
        for theme in side.themes():
            owner.push(theme, side.node, side.pending_rows(theme), new_push_token())
    restrict_role_to_themes(database.admin, f"{database.name}_runtime", ["ours"])

    with TeamServer(database.runtime) as server:
        greeting = server.greet(
            str(uuid.uuid4()), [KnownTheme("ours", PullCursor()), KnownTheme("theirs", PullCursor())]
        )
        assert [news.theme for news in greeting.news] == ["ours"]
        assert len(server.pull("ours", 0).rows) == 1
        assert server.pull("theirs", 0).rows == []
        for send in (server.push,):
            with pytest.raises(TeamError) as caught:
                send("theirs", side.node, side.pending_rows("theirs"), new_push_token())
            assert caught.value.state.name == "denied"
        assert greeting.closed == {"theirs"}


def test_a_role_that_does_not_exist_is_not_made(empty: Database) -> None:
    with pytest.raises(ArgumentError, match="no role 'nobody'"):
        migrate_team_schema(empty.admin, runtime_role="nobody")
    assert empty.one("SELECT to_regclass('hm.item')::text") is None


def test_who_may_not_create_the_extension_is_told_who_may(empty: Database) -> None:
    role = f"{empty.name}_runtime"
    empty.run(f"GRANT CREATE ON DATABASE {empty.name} TO {role}")
    with pytest.raises(ArgumentError, match="a superuser runs CREATE EXTENSION vector"):
        migrate_team_schema(empty.runtime, dimension=8)
    assert migrate_team_schema(empty.runtime).dimension is None
    empty.run("CREATE EXTENSION vector")
    assert migrate_team_schema(empty.runtime, dimension=8).dimension == 8


@pytest.mark.parametrize(
    ("dsn", "unverified"),
    [
        ("host=db.example dbname=team", True),
        ("postgresql://me@db.example/team?sslmode=require", True),
        ("postgresql://me@db.example/team?sslmode=verify-full", False),
        ("host=localhost,db.example", True),
        ("host=/run/postgresql dbname=team", False),
        ("dbname=team", False),
        ("host=127.0.0.1", False),
    ],
)
def test_a_connection_that_does_not_prove_who_answers_is_known(dsn: str, unverified: bool) -> None:
    assert is_unverified(dsn) is unverified
