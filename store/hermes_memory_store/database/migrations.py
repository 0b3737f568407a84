"""Numbered migrations of the store, each in one transaction together with its record; an empty file gets all in one.

A released migration is never edited; a new one is added. sqlite-utils, which applies them to an older store, takes longer to
import than a store takes to be made: only an older store imports it.
"""

from __future__ import annotations

import sqlite3

from hermes_memory_store.database.schema import APPLICATION_ID, STORE_VERSION, load_schemas
from hermes_memory_store.database.store_version import MIGRATION_SET, PROGRAM_SET, find_installed_version

RECORD = (
    """CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
)""",
    """CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name")""",
)
"""The record of sqlite-utils, as it makes it itself."""


def migrate_store(conn: sqlite3.Connection) -> None:
    """Migrate the store, and record that this program did. The caller holds the lock, and has a backup of an older store."""
    if conn.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
        create_tables(conn)
    else:
        apply_migrations(conn)
    program = find_installed_version()
    if program is not None:
        conn.execute(
            "INSERT OR REPLACE INTO _sqlite_migrations (migration_set, name, applied_at) VALUES (?, ?, datetime('now'))",
            (PROGRAM_SET, program),
        )
    conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    conn.execute(f"PRAGMA user_version = {STORE_VERSION}")


def create_tables(conn: sqlite3.Connection) -> None:
    with conn:
        conn.execute("BEGIN IMMEDIATE")
        for statement in (*RECORD, *(statement for schema in load_schemas().values() for statement in schema)):
            conn.execute(statement)
        conn.executemany(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES (?, ?, datetime('now'))",
            [(MIGRATION_SET, name) for name in load_schemas()],
        )


def apply_migrations(conn: sqlite3.Connection) -> None:
    from sqlite_utils import Database, Migrations

    migrations = Migrations(MIGRATION_SET)
    for name, schema in load_schemas().items():

        def migrate(db: Database, schema: tuple[str, ...] = schema) -> None:
            for statement in schema:
                db.execute(statement)

        migrations(name=name)(migrate)
    migrations.apply(Database(conn))
