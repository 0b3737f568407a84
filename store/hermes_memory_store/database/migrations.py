"""Numbered migrations of the store, each in one transaction together with its record.

A released migration is never edited; a new one is added. Importing this module imports sqlite-utils, which costs
more than opening a store, so only a store that needs a migration imports it.
"""

from __future__ import annotations

import sqlite3

from sqlite_utils import Database, Migrations

from hermes_memory_store.database.schema import (
    APPLICATION_ID,
    EIGHTH_SCHEMA,
    FIFTH_SCHEMA,
    FIRST_SCHEMA,
    FOURTH_SCHEMA,
    NINTH_SCHEMA,
    SECOND_SCHEMA,
    SEVENTH_SCHEMA,
    SIXTH_SCHEMA,
    STORE_VERSION,
    TENTH_SCHEMA,
    THIRD_SCHEMA,
)
from hermes_memory_store.database.store_version import MIGRATION_SET, record_program

migrations = Migrations(MIGRATION_SET)


@migrations()
def m001_memory(db: Database) -> None:
    """Create themes, scopes, facts, sessions, the journal, and the triggers that maintain gauges and tallies."""
    for statement in FIRST_SCHEMA:
        db.execute(statement)


@migrations()
def m002_bridge(db: Database) -> None:
    """Create tokens, answers by idempotency key, and captured turns."""
    for statement in SECOND_SCHEMA:
        db.execute(statement)


@migrations()
def m003_sources(db: Database) -> None:
    """Create a person's rules for sources of suspicious facts."""
    for statement in THIRD_SCHEMA:
        db.execute(statement)


@migrations()
def m004_sync(db: Database) -> None:
    """Create the versions exchanged with a team, and the triggers that note every change of them."""
    for statement in FOURTH_SCHEMA:
        db.execute(statement)


@migrations()
def m005_shared_turns(db: Database) -> None:
    """Create the record of which captured turns a team knows."""
    for statement in FIFTH_SCHEMA:
        db.execute(statement)


@migrations()
def m006_sync_whole(db: Database) -> None:
    """Create the texts that masks hide from a team's facts, and the record of themes held completely."""
    for statement in SIXTH_SCHEMA:
        db.execute(statement)


@migrations()
def m007_origins(db: Database) -> None:
    """Create projects and the origins of facts, turns and changes, verdicts, and the numbers of sessions."""
    for statement in SEVENTH_SCHEMA:
        db.execute(statement)


@migrations()
def m008_hosts(db: Database) -> None:
    """Create the sessions of hosts, the themes of places, and what is known of branches."""
    for statement in EIGHTH_SCHEMA:
        db.execute(statement)


@migrations()
def m009_recall(db: Database) -> None:
    """Create what sessions did with the facts they were given, and what search knows of words."""
    for statement in NINTH_SCHEMA:
        db.execute(statement)


@migrations()
def m010_team_names(db: Database) -> None:
    """Add the name that a theme has in the team's database."""
    for statement in TENTH_SCHEMA:
        db.execute(statement)


def migrate_store(conn: sqlite3.Connection) -> None:
    """Migrate the store to `STORE_VERSION`. The caller holds the file lock and has made a backup of an older store."""
    migrations.apply(Database(conn))
    record_program(conn)
    conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    conn.execute(f"PRAGMA user_version = {STORE_VERSION}")
