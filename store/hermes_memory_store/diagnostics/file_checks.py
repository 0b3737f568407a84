"""The checks of the file itself: its header, its pages, its indexes and its write-ahead log.

SQLite passes over whatever follows a frame of its log that does not fit. That is right after a crash, which leaves at most the
frames of one unfinished transaction; frames of later, committed transactions behind such a frame mean that the log was altered.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hermes_memory_store import errors
from hermes_memory_store.clock import Clock, system_clock
from hermes_memory_store.database import database_copies
from hermes_memory_store.database.index_health import INDEXES, SQLITE_FAILURES, drain_rows
from hermes_memory_store.database.schema import STORE_VERSION
from hermes_memory_store.database.store_version import APPLIED, MIGRATION_SET
from hermes_memory_store.database.write_ahead_log import log_path
from hermes_memory_store.diagnostics.row_checks import keep_raw_copy
from hermes_memory_store.diagnostics.salvage import readable_copy, salvage_file
from hermes_memory_store.items.fulltext import rebuild_damaged_indexes, vacuum_store
from hermes_memory_store.model import Check
from hermes_memory_store.store import Store, is_store_missing
from hermes_memory_store.upkeep import backup

REAL_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
"""Those with pages of their own, which virtual tables do not have."""

PLAUSIBLE_VERSIONS = 1_000
"""How far above this program's version that of a store may be and still be a newer program's."""

LOG_HEADER = struct.Struct(">8I")

LOG_FRAME = struct.Struct(">6I")

LOG_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
"""Byte order of the checksums, by the first number of a log (https://sqlite.org/fileformat2.html, section 4.1)."""


def check_log_frames(store: Store, repair: bool) -> Check:
    """Check the write-ahead log for damage that no crash leaves. It comes first: the next write takes the evidence away."""
    damage = describe_log_damage(store.path)
    if damage is None:
        return Check("log frames", True, "the write-ahead log holds nothing that SQLite passes over")
    if not repair:
        return Check("log frames", False, f"{damage}; only a backup or the team may have them")
    copy = keep_raw_copy(store)
    store.db.row("PRAGMA wal_checkpoint(TRUNCATE)")
    where = f"the file and its log are kept as {copy.name}, what they held beyond is lost from here"
    return Check("log frames", False, f"{damage}; {where}")


def check_database(store: Store, repair: bool) -> Check:
    problems = find_integrity_problems(store)
    if not problems:
        pages = store.db.value("PRAGMA page_count")
        return Check("database", True, f"SQLite finds all {pages} pages sound")
    damaged = [table for (table,) in store.db.rows(REAL_TABLES) if not is_table_sound(store, table)]
    shadows = {table: index.name for index in INDEXES.values() for table in index.shadow_tables}
    detail = f"{problems[0]} ({describe_damage(store, damaged, shadows)})"
    if not set(damaged) - shadows.keys():
        indexes = sorted({shadows[table] for table in damaged})
        if not repair:
            how = "builds it anew" if indexes else "writes the file anew without such pages"
            extent = "only the full-text index is damaged, " if indexes else ""
            return Check("database", False, f"{detail}; {extent}doctor --repair {how}")
        if indexes:
            rebuild_damaged_indexes(store.db, indexes)
            done = f"the full-text index of {' and '.join(INDEXES[name].of for name in indexes)} was built anew"
        else:
            vacuum_store(store.db)
            done = "the file was written anew without such pages"
        if not find_integrity_problems(store):
            return Check("database", True, f"{detail}; {done}", repaired=True)
    if not repair:
        detail += "; doctor --repair builds the indexes anew and salvages what can be read"
        return Check("database", False, detail)
    if rebuild_btree_indexes(store):
        return Check("database", True, f"{detail}; the indexes were built anew from the tables", repaired=True)
    copy, lost = salvage_store(store)
    return Check("database", True, f"{detail}; {describe_salvage(lost, copy)}", repaired=True)


def find_integrity_problems(store: Store) -> list[str]:
    try:
        problems = [row[0] for row in store.db.rows("PRAGMA integrity_check(20)")]
    except (errors.StoreUnreadable, *SQLITE_FAILURES) as error:
        return [str(error.__cause__ or error)]
    sentences = (problem.removeprefix("*** in database main ***") for problem in problems if problem != "ok")
    return [" ".join(problem.split()) for problem in sentences]


def is_table_sound(store: Store, table: str) -> bool:
    try:
        return store.db.rows(f"PRAGMA integrity_check('{table}')") == [("ok",)]
    except (errors.StoreError, *SQLITE_FAILURES):
        return False


def is_table_readable(store: Store, table: str) -> bool:
    """Check whether every row of a table itself can be read, whatever its indexes are."""
    try:
        with store.db.snapshot() as conn:
            drain_rows(conn.execute(f"SELECT * FROM {table} NOT INDEXED"))
            return True
    except (errors.StoreError, *SQLITE_FAILURES):
        return False


def describe_damage(store: Store, damaged: Sequence[str], shadows: dict[str, str]) -> str:
    if not damaged:
        return "in pages that no table uses"
    named = []
    for table in damaged:
        if table in shadows:
            named.append(f"the full-text index of {INDEXES[shadows[table]].of}")
        else:
            named.append(f"an index of {table}" if is_table_readable(store, table) else f"rows of {table}")
    return "in " + ", ".join(dict.fromkeys(named))


def rebuild_btree_indexes(store: Store) -> bool:
    """Build every ordinary index anew from its table; return whether the file is sound then."""
    try:
        with store.db.write_transaction() as conn:
            conn.execute("REINDEX")
    except (errors.StoreUnreadable, errors.ArgumentError, *SQLITE_FAILURES):
        return False  # a damaged page is in the way: salvaging leaves it behind
    return not find_integrity_problems(store)


def salvage_store(store: Store) -> tuple[Path, Counter[str]]:
    """Replace the content of an open store by what can be read of it; return where it is kept, and what was lost.

    Processes that have it open go on with the new content.
    """
    copy = keep_raw_copy(store)
    with backup.temporary_copy(store.path.with_name(f"{store.path.name}.salvaged")) as made:
        lost = salvage_file(store.path, made)
        database_copies.overwrite_database(made, store.path, unchanged=lambda: True)
    store.db.look_for_replacement()
    return copy, lost


def describe_salvage(lost: Counter[str], copy: Path) -> str:
    named = ", ".join(f"{table} ({count})" for table, count in sorted(lost.items()))
    gaps = f"pages or rows that could not be read: {named}" if lost else "every row could be read"
    return f"what could be read was written to a new file, the damaged one is kept as {copy.name}; {gaps}"


def find_file_damage(path: Path) -> str | None:
    """Find damage that keeps a store from being opened at all; None when something else does, or nothing.

    A damaged header may name another program or a version of the far future; a version that a newer program may well have
    written is left to that program.
    """
    if is_store_missing(path) or not path.is_file():
        return None
    try:
        with readable_copy(path) as made, database_copies.connect_plainly(made) as conn:
            if STORE_VERSION < conn.execute("PRAGMA user_version").fetchone()[0] <= STORE_VERSION + PLAUSIBLE_VERSIONS:
                return None
            versions = len(conn.execute(APPLIED, (MIGRATION_SET,)).fetchall())
            conn.execute("SELECT count(*) FROM (SELECT 1 FROM journal LIMIT 1)").fetchone()
    except (errors.FileError, *SQLITE_FAILURES):
        return None
    return "its first pages are damaged, its tables can be read" if versions == STORE_VERSION else None


def salvage_unopenable(path: Path, *, clock: Clock = system_clock) -> Check:
    """Put what can be read in the place of a store that cannot be opened; the damaged file is kept beside it.

    :raises FileError: it cannot be read at all, DiskFull, …; nothing was changed then
    """
    now = clock()
    original = backup.default_backup_path(path, "before-repair", now)
    with backup.temporary_copy(path.with_name(f"{path.name}.salvaged")) as made:
        with readable_copy(path) as copy:
            lost = salvage_file(copy, made)
        backup.replace_unreadable_store(made, path, original, "before-repair", now)
    return Check("header", True, describe_salvage(lost, original), repaired=True)


class LogScan(NamedTuple):
    frames: int
    """Frames that fit, up to the first that does not."""
    lost: int
    """Committed transactions behind the one it belongs to, all of which SQLite passes over."""
    is_header_damaged: bool


def describe_log_damage(db: Path) -> str | None:
    """Return the sentence about a damaged log, None when a crash explains all that is in it."""
    scan = scan_log(log_path(db))
    if scan.is_header_damaged:
        return "the header of the write-ahead log is damaged: SQLite passes over all that the log held"
    if scan.lost:
        return (
            f"frame {scan.frames + 1} of the write-ahead log is damaged: "
            f"{scan.lost + 1} committed transactions from there on are passed over"
        )
    return None


def scan_log(path: Path) -> LogScan:
    """Scan a log; one that is not there, or is empty, is sound."""
    try:
        content = path.read_bytes()
        with path.open("rb") as again:
            if again.read(LOG_HEADER.size) != content[: LOG_HEADER.size]:
                return scan_log(path)  # a writer began the log anew meanwhile
    except FileNotFoundError:
        return LogScan(0, 0, False)
    if len(content) < LOG_HEADER.size:
        return LogScan(0, 0, False)
    magic, _, page_size, _, salt, salt2, *check = LOG_HEADER.unpack_from(content)
    order = LOG_MAGIC.get(magic)
    size = LOG_FRAME.size + (page_size or 4096)
    if order is None or checksum(order, content[:24], (0, 0)) != tuple(check):
        return LogScan(0, 0, content[: LOG_HEADER.size].strip(b"\0") != b"" or len(content) > size)
    link, frames, place = (check[0], check[1]), 0, LOG_HEADER.size
    while place + size <= len(content):
        _, _, *salts, first, second = LOG_FRAME.unpack_from(content, place)
        if salts != [salt, salt2]:
            break
        link = checksum(order, content[place : place + 8], link)
        link = checksum(order, content[place + LOG_FRAME.size : place + size], link)
        if link != (first, second):
            break
        frames, place = frames + 1, place + size
    ends = 0
    for behind in range(place, len(content) - size + 1, size):
        _, pages, *salts, _, _ = LOG_FRAME.unpack_from(content, behind)
        ends += bool(pages) and salts == [salt, salt2]
    # The transaction of the frame that does not fit may be the one that a power cut left unfinished.
    return LogScan(frames, max(0, ends - 1), False)


def checksum(order: str, content: bytes, link: tuple[int, int]) -> tuple[int, int]:
    """Return the running checksum of a log after these bytes (https://sqlite.org/fileformat2.html, section 4.2)."""
    first, second = link
    numbers = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(numbers[::2], numbers[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
