"""A store that a newer program brings up to date while this one has it open, or that was before it was opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.database.schema import STORE_VERSION
from hermes_memory_store.database.store_version import PROGRAM_SET, find_last_program
from hermes_memory_store.store import Store

THEME = "default"


def raise_version(path: Path) -> None:
    """As the last step of a newer program."""
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(f"PRAGMA user_version = {STORE_VERSION + 1}")


def apply_next_migration(path: Path) -> None:
    """As a newer program does before it raises the version."""
    with closing(sqlite3.connect(path)) as conn, conn:
        conn.execute("CREATE TABLE of_the_future (id INTEGER PRIMARY KEY)")
        conn.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('hermes-memory', 'm999_next', '')"
        )


@pytest.mark.parametrize("step", [raise_version, apply_next_migration])
def test_a_store_raised_while_open_takes_no_more_writes_and_says_what_to_do(
    step: Callable[[Path], None], store: Store
) -> None:
    store.facts.write(THEME, "D[cache]: redis")
    step(store.path)
    for _ in range(2):
        with pytest.raises(errors.StoreTooNew, match=r"nothing was touched.*pip install -U \."):
            store.facts.write(THEME, "D[lost]: refused")
    assert store.search.find(THEME, "").total == 1, "it can still be read"


def test_the_program_that_raised_a_store_is_named_when_it_is_open_and_when_it_is_opened(store: Store) -> None:
    with closing(sqlite3.connect(store.path)) as conn, conn:
        conn.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES (?, '7.8.9', '')", (PROGRAM_SET,)
        )
    raise_version(store.path)
    expected = rf"by a newer version of hermes-memory-tui, 7\.8\.9, \(store {STORE_VERSION + 1}, this program knows"
    with pytest.raises(errors.StoreTooNew, match=expected + r".*while this program had it open"):
        store.facts.write(THEME, "D[lost]: refused")
    with pytest.raises(errors.StoreTooNew, match=expected):
        Store.open(store.path)
    with pytest.raises(errors.StoreTooNew, match=expected):
        Store.open(store.path, read_only=True)


def test_a_created_store_names_the_program_that_made_it(store: Store) -> None:
    from importlib.metadata import version

    assert find_last_program(store.db.conn) == version("hermes-memory-tui")


def test_a_version_raised_during_a_transaction_waits_for_its_commit(store: Store) -> None:
    with store.db.write_transaction():
        store.facts.write(THEME, "D[cache]: redis")
        with (
            pytest.raises(sqlite3.OperationalError, match="locked"),
            closing(sqlite3.connect(store.path, timeout=0)) as conn,
        ):
            conn.execute(f"PRAGMA user_version = {STORE_VERSION + 1}")
    assert store.search.find(THEME, "").total == 1


def test_content_of_an_older_version_put_in_place_of_an_open_store_is_not_written_to(store: Store) -> None:
    with closing(sqlite3.connect(store.path)) as conn:
        conn.execute(f"PRAGMA user_version = {STORE_VERSION - 1}")
    with pytest.raises(errors.StoreOlder, match="open it again to bring it up to date"):
        store.facts.write(THEME, "D[lost]: refused")
