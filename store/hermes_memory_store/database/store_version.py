"""The version of a store's file: the tables it has, and the program that gave it those.

A newer program may bring a store up to date while an older one has it open, which must not write then: it does not know what the
new tables expect of it. So every write transaction looks at the version first.
"""

from __future__ import annotations

from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.database import driver
from hermes_memory_store.database.schema import STORE_VERSION

PROGRAM = "hermes-memory-tui"
"""The distribution, as package installers name it."""

MIGRATION_SET = "hermes-memory"

PROGRAM_SET = "hermes-memory program"
"""Marks the rows of `_sqlite_migrations` that name the programs which applied the others."""

APPLIED = "SELECT name FROM _sqlite_migrations WHERE migration_set = ?"

UPGRADE_HINT = (
    "install the newer version here too (from its source: `pip install -U .`, `pipx install --force .` or "
    "`uv tool install --force .`) and start it again"
)


def refuse_other_version(conn: driver.Connection, path: Path) -> None:
    """Check, within a write transaction, that the file still has the version that this program writes.

    :raises StoreTooNew: a newer program brought it up to date since it was opened
    :raises StoreOlder: content of an older version was put in its place
    """
    version = conn.execute("PRAGMA user_version").fetchone()[0]
    if version > STORE_VERSION:
        raise newer_store_error(conn, path, version, opened=True)
    if version < STORE_VERSION:
        raise errors.StoreOlder(
            f"{path} has been given content of an older version (store {version}) while this program had it open; "
            "nothing was changed, open it again to bring it up to date",
            path,
        )


def refuse_unknown_migrations(conn: driver.Connection, path: Path) -> None:
    """Check that no newer program is changing the tables: the version is written only after the last migration.

    :raises StoreTooNew: there are migrations that this program does not know
    """
    applied = len(conn.execute(APPLIED, (MIGRATION_SET,)).fetchall())
    if applied > STORE_VERSION:
        raise newer_store_error(conn, path, applied, opened=True)


def newer_store_error(conn: driver.Connection, path: Path, version: int, *, opened: bool = False) -> errors.StoreTooNew:
    """Return the error for a store that a newer program wrote. :param opened: this program had it open when that happened"""
    program = find_last_program(conn)
    by = f" of {PROGRAM}, {program}," if program else ""
    since = " while this program had it open" if opened else ""
    return errors.StoreTooNew(
        f"{path} was written by a newer version{by} (store {version}, this program knows {STORE_VERSION}){since}; nothing was "
        f"touched. This program can no longer write here: {UPGRADE_HINT}",
        path,
    )


def find_last_program(conn: driver.Connection) -> str | None:
    """Return the version of the program that brought the file up to date last."""
    try:
        row = conn.execute(
            "SELECT name FROM _sqlite_migrations WHERE migration_set = ? ORDER BY id DESC LIMIT 1", (PROGRAM_SET,)
        ).fetchone()
    except driver.OperationalError:  # no such table: not one of our files, or a damaged one
        return None
    return None if row is None else str(row[0])


def read_header_version(path: Path) -> int | None:
    """Return the version in a file's header (https://sqlite.org/fileformat.html, section 1.3); None when there is no such file.

    One that was raised a moment ago may still stand in the write-ahead log alone.
    """
    try:
        with path.open("rb") as file:
            return int.from_bytes(file.read(64)[60:], "big")
    except OSError:
        return None


def find_installed_version() -> str | None:
    """Return the version that is installed now, which may be newer than the running one; None in a source tree."""
    from importlib.metadata import PackageNotFoundError, version  # here, not above: it takes 15 ms

    try:
        return version(PROGRAM)
    except PackageNotFoundError:
        return None
