"""A real PostgreSQL with pgvector for these tests: one server a run, one database a test."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo

from hermes_memory_bridge.team.embedded import Embedded
from hermes_memory_bridge.team.schema import migrate

LONG = bool(os.environ.get("HERMES_MEMORY_TEST_LONG"))
"""Whether to run the long versions, as `HERMES_MEMORY_TEST_LONG=1 pytest tests/bridge/team` does."""


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
def postgres() -> Iterator[Embedded]:
    # Not under the folder of the tests: the path of its socket must be short.
    with tempfile.TemporaryDirectory(prefix="hm-pg-") as folder:
        server = Embedded(Path(folder))
        try:
            yield server
        finally:
            server.stop()


counter = itertools.count()


@pytest.fixture
def empty(postgres: Embedded) -> Iterator[Database]:
    """A database without tables, and a role that may log in and nothing else."""
    name = f"team{next(counter)}"
    role = f"{name}_runtime"
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name}")
        conn.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'pw-of-{role}'")
    admin = conninfo.make_conninfo(postgres.dsn, dbname=name)
    yield Database(admin, conninfo.make_conninfo(admin, user=role, password=f"pw-of-{role}"), name)
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")
        conn.execute(f"DROP ROLE {role}")


@pytest.fixture
def database(empty: Database) -> Database:
    """A migrated database."""
    migrate(empty.admin, runtime_role=f"{empty.name}_runtime")
    return empty
