"""Salvage a damaged file: read what can be read of every table into a new store, and build anew what is derived from it.

Only tables are read, page after page and around the damaged ones, never an index. What a lost page held of facts, scopes and
sessions comes back from the journal afterwards; what it held of the journal, only a backup has.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.database import database_copies, driver
from hermes_memory_store.database.database_copies import connect_plainly
from hermes_memory_store.database.gauge_recount import recount_gauges
from hermes_memory_store.database.index_health import SQLITE_FAILURES
from hermes_memory_store.database.schema import APPLICATION_ID, STORE_VERSION
from hermes_memory_store.diagnostics.row_checks import copy_with_log
from hermes_memory_store.items import fulltext
from hermes_memory_store.items.kinds import FACT, TURN
from hermes_memory_store.journal.transaction_log import REPLAYED, REPLAYED_TABLE
from hermes_memory_store.store import create_store
from hermes_memory_store.system import filesystem
from hermes_memory_store.upkeep import backup

HEADER_SIZE = 100
"""Bytes of SQLite's header (https://sqlite.org/fileformat2.html, section 1.3)."""

MAGIC = b"SQLite format 3\0"
INTERIOR_PAGE = 5
"""First byte of a page that leads to the pages of a table."""

PAGE_SIZE = 4096
"""Of every store: SQLite's default since 2016."""

TABLES = """
    SELECT name, sql FROM sqlite_master
    WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%_text_%'
      AND name <> '_sqlite_migrations'
    ORDER BY rootpage
"""

TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"

BURY_PURGED = """
    INSERT OR IGNORE INTO tombstones
    SELECT uid, theme_id, at, actor_id FROM journal WHERE entity = 'fact' AND op = 'purge'
"""

FARTHEST = 1 << 62
"""Beyond every key."""


def salvage_file(damaged: Path, target: Path) -> Counter[str]:
    """Write what can be read of a damaged store to a new one; return how many pieces of each table could not be read.

    :raises StoreUnreadable: not even the list of its tables can be read
    :raises DiskFull: there is no room for the new file
    """
    create_store(target)
    lost: Counter[str] = Counter()
    with connect_plainly(damaged) as old, connect_plainly(target, "rw") as new:
        old.text_factory = lambda text: text.decode(errors="replace")
        new.execute("PRAGMA synchronous = OFF")
        there = {name for name, _ in old.execute(TABLES)}
        if REPLAYED in there:
            new.execute(REPLAYED_TABLE)
        new.execute("BEGIN IMMEDIATE")
        triggers = new.execute(TRIGGERS).fetchall()
        for name, _ in triggers:
            new.execute(f"DROP TRIGGER {name}")
        new.execute("DELETE FROM place_choice")  # a new store's own; one that was there keeps what it had
        for name, sql in new.execute(TABLES).fetchall():
            if name in there:
                copy_table(old, new, name, "WITHOUT ROWID" not in sql, lost)
        new.execute(BURY_PURGED)
        for kind in (FACT, TURN):
            fulltext.fill_index(new, kind)
        for _, sql in triggers:
            new.execute(sql)
        recount_gauges(new)
        new.execute("COMMIT")
        new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database_copies.verify_database(new, target)
    filesystem.flush_to_disk(target)
    return lost


def copy_table(old: driver.Connection, new: driver.Connection, name: str, has_rowid: bool, lost: Counter[str]) -> None:
    needed = [row[1] for row in new.execute(f"PRAGMA table_info({name})")]
    there = {row[1] for row in old.execute(f"PRAGMA table_info({name})")}
    columns = ", ".join(column for column in needed if column in there)
    insert = f"INSERT OR IGNORE INTO {name} ({columns}) VALUES ({', '.join('?' * (columns.count(',') + 1))})"
    rows = read_by_rowid(old, name, columns, lost) if has_rowid else read_from_both_ends(old, name, columns, lost)
    for row in rows:
        try:
            if new.execute(insert, row).rowcount == 0 and has_rowid:
                lost[name] += 1
        except (driver.IntegrityError, UnicodeEncodeError):
            lost[name] += 1


def read_by_rowid(conn: driver.Connection, table: str, columns: str, lost: Counter[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table in the order of their keys, and go on behind what cannot be read."""
    last: int | None = -1
    sql = f"SELECT rowid, {columns} FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid"
    while last is not None:
        try:
            for key, *row in conn.execute(sql, (last,)):
                if key <= last:
                    raise driver.DatabaseError("the keys are out of order")
                last = key
                yield tuple(row)
            return
        except SQLITE_FAILURES:
            lost[table] += 1
            last = find_readable_key(conn, f"{sql} LIMIT 1", last)


def find_readable_key(conn: driver.Connection, first_row_behind: str, last: int) -> int | None:
    """Find the key behind which a table can be read again; None when nothing behind it can."""

    def is_readable_after(key: int) -> bool:
        try:
            row = conn.execute(first_row_behind, (key,)).fetchone()
            return row is None or row[0] > key
        except SQLITE_FAILURES:
            return False

    step = 1
    while not is_readable_after(last + step):
        step *= 2
        if step >= FARTHEST:
            return None
    behind = range(last + step // 2 + 1, last + step)
    return behind.start + bisect_left(behind, True, key=is_readable_after)


def read_from_both_ends(
    conn: driver.Connection, table: str, columns: str, lost: Counter[str]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table without row ids: from its beginning, and from its end where that fails."""
    described = sorted(conn.execute(f"PRAGMA table_info({table})"), key=lambda column: column[5])
    keys = [row[1] for row in described if row[5]]
    for direction in ("ASC", "DESC"):
        order = ", ".join(f"{key} {direction}" for key in keys)
        try:
            yield from conn.execute(f"SELECT {columns} FROM {table} ORDER BY {order}")
            return
        except SQLITE_FAILURES:
            lost[table] += 1


@contextlib.contextmanager
def readable_copy(path: Path) -> Iterator[Path]:
    """Yield a private copy of a damaged file, with a header by which SQLite can read it; removed afterwards."""
    with backup.temporary_copy(path.with_name(f"{path.name}.readable")) as made:
        copy_with_log(path, made)
        for write_part in (write_header, write_schema_pages):
            if not is_header_readable(made):
                write_part(made)
        yield made


def is_header_readable(path: Path) -> bool:
    try:
        with connect_plainly(path) as conn:
            return conn.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
    except (errors.FileError, *SQLITE_FAILURES):
        return False


def write_header(path: Path) -> None:
    """Write the header that a store of this size must have (https://sqlite.org/fileformat2.html, section 1.3)."""
    pages = path.stat().st_size // PAGE_SIZE
    numbers = {24: 1, 28: pages, 40: 1, 44: 4, 56: 1, 60: STORE_VERSION, 68: APPLICATION_ID, 92: 1, 96: 3_040_001}
    header = bytearray(HEADER_SIZE)
    header[:24] = MAGIC + PAGE_SIZE.to_bytes(2, "big") + bytes((2, 2, 0, 64, 32, 32))
    for place, value in numbers.items():
        header[place : place + 4] = value.to_bytes(4, "big")
    with path.open("r+b") as file:
        file.write(header)


def write_schema_pages(path: Path) -> None:
    """Write the list of tables as a new store has it: a store never rewritten since has its tables at the same pages."""
    with backup.temporary_copy(path.with_name(f"{path.name}.new")) as new:
        create_store(new)
        with connect_plainly(new, "rw") as conn:
            conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = new.read_bytes()
    first = pages[:PAGE_SIZE]
    with path.open("r+b") as file:
        for number in schema_page_numbers(first):
            start = max(HEADER_SIZE, (number - 1) * PAGE_SIZE)
            file.seek(start)
            file.write(pages[start : number * PAGE_SIZE])


def schema_page_numbers(first: bytes) -> list[int]:
    """Return the pages of the list of tables, by the first page of a file (section 1.6 of the file format)."""
    if first[HEADER_SIZE] != INTERIOR_PAGE:
        return [1]
    count = int.from_bytes(first[HEADER_SIZE + 3 : HEADER_SIZE + 5], "big")
    pointers = [HEADER_SIZE + 12 + 2 * n for n in range(count)]
    cells = [int.from_bytes(first[pointer : pointer + 2], "big") for pointer in pointers]
    return [1, *(int.from_bytes(first[cell : cell + 4], "big") for cell in (*cells, HEADER_SIZE + 8))]
