"""A real PostgreSQL with pgvector for these tests: one server a process of the run, one database a test."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import conninfo

from hermes_memory_bridge.team.database.dev_server import DevServer
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import BASE, load_team_migrations, migrate_team_schema
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies

LONG = bool(os.environ.get("HERMES_MEMORY_TEST_LONG"))
"""Whether to run the long versions, as `HERMES_MEMORY_TEST_LONG=1 pytest tests/bridge/team` does."""

PARTITIONS = int(os.environ.get("HERMES_MEMORY_TEST_PARTITIONS", 0)) or None
"""Into how many partitions the tables of these tests are divided; `.ci/run` runs them both ways."""


def admit_everything(store: Store) -> None:
    """Let this machine's policy admit what another's would not, as one of version 0.1 may."""
    lax = Policies(store.policies.path)
    lax.for_theme = lambda theme: replace(store.policies.for_theme(theme), secrets="allow", quarantine=False)  # type: ignore[method-assign]
    store.intake.policies = store.facts._policies = lax


@dataclass(frozen=True)
class Database:
    """A database of its own, migrated, and how to reach it."""

    admin: str
    runtime: str
    """As the role that stores connect as."""
    name: str

    def one(self, query: str, *values: object) -> object:
        """One value, asked as the owner."""
        with psycopg.connect(self.admin, autocommit=True) as conn:
            row = conn.execute(query, values).fetchone()
        return row[0] if row else None

    def run(self, statement: str) -> None:
        """One statement, as the owner."""
        with psycopg.connect(self.admin, autocommit=True) as conn:
            conn.execute(statement)


@pytest.fixture(scope="session")
def postgres() -> Iterator[DevServer]:
    # Not under the folder of the tests: the path of its socket must be short.
    with tempfile.TemporaryDirectory(prefix="hm-pg-") as folder:
        server = DevServer(Path(folder))
        with psycopg.connect(server.dsn, autocommit=True) as conn:
            conn.execute("ALTER SYSTEM SET fsync = off")  # no test cuts the power of the server
            conn.execute("SELECT pg_reload_conf()")
        try:
            yield server
        finally:
            server.stop()


counter = itertools.count()


@pytest.fixture(scope="session")
def template(postgres: DevServer) -> str:
    """The name of a migrated database that nobody connects to: databases are made as copies of it."""
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        conn.execute("CREATE DATABASE team_template")
    migrate_team_schema(conninfo.make_conninfo(postgres.dsn, dbname="team_template"), partitions=PARTITIONS)
    return "team_template"


@contextmanager
def made_database(postgres: DevServer, template: str) -> Iterator[Database]:
    """A copy of a database, and a role that may log in to it and nothing else; dropped afterwards."""
    name = f"team{next(counter)}"
    role = f"{name}_runtime"
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        conn.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'pw-of-{role}'")
    admin = conninfo.make_conninfo(postgres.dsn, dbname=name)
    yield Database(admin, conninfo.make_conninfo(admin, user=role, password=f"pw-of-{role}"), name)
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")
        conn.execute(f"DROP ROLE {role}")


@pytest.fixture
def empty(postgres: DevServer) -> Iterator[Database]:
    """A database without tables."""
    with made_database(postgres, "template1") as made:
        yield made


FORMER = 15
"""The newest migration of 0.3.0, which recorded it beside the others."""


@pytest.fixture
def former(empty: Database) -> Database:
    """A database as 0.3.0 left it: its role writes the tables."""
    role = f"{empty.name}_runtime"
    with psycopg.connect(empty.admin) as conn:
        conn.execute(BASE)
        for version, name, text in load_team_migrations():
            if version <= FORMER:
                conn.execute(text)
            if version < FORMER:
                conn.execute("INSERT INTO hm.migration (version, name) VALUES (%s, %s)", (version, name))
        conn.execute("INSERT INTO hm.setting VALUES ('additions', %s)", (str(FORMER),))
        conn.execute(f"GRANT USAGE ON SCHEMA hm TO {role}")
        conn.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA hm TO {role}")
        conn.execute(f"GRANT INSERT, UPDATE ON hm.clock, hm.fact, hm.turn, hm.mark TO {role}")
        conn.execute(f"GRANT DELETE, INSERT ON hm.stage TO {role}")
    return empty


def migrate_openly(database: Database, **settings: Any) -> None:
    """Migrate a database, all of which is open to its role then."""
    role = f"{database.name}_runtime"
    migrate_team_schema(database.admin, runtime_role=role, **settings)
    restrict_role_to_themes(database.admin, role, [])


@pytest.fixture
def database(postgres: DevServer, template: str) -> Iterator[Database]:
    """A migrated database, all of which is open to its role."""
    with made_database(postgres, template) as made:
        migrate_openly(made)
        yield made
