"""Backups: online, verified, private, and registered, so that a purge can reach what it must erase.

Beside every store `memory.db` stands `memory.db.backups`, one JSON line for each backup made of it. A backup is
written under a temporary name and gets its own only when it is complete, verified and on the disk.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hermes_memory_store import errors, uids
from hermes_memory_store.clock import Clock, format_iso_time, system_clock
from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.database import database_copies, driver
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.schema import APPLICATION_ID, STORE_VERSION
from hermes_memory_store.database.store_version import newer_store_error
from hermes_memory_store.items import fulltext, journal, journal_receipt
from hermes_memory_store.items.action_rows import BLANK
from hermes_memory_store.items.kinds import FACT, ItemKind
from hermes_memory_store.items.origin_rows import erase_unused_origins, find_origins_of
from hermes_memory_store.items.tier_columns import UNLINK_FACT
from hermes_memory_store.projects.branch_states import erase_unused_branches
from hermes_memory_store.system import filesystem
from hermes_memory_store.system.file_handles import is_process_running
from hermes_memory_store.system.filesystem import file_lock
from hermes_memory_store.upkeep import hermes_030_file
from hermes_memory_store.upkeep.erased_words import erase_from_records, load_erased_words
from hermes_memory_store.upkeep.item_erasure import delete_items

TRIES = 5
"""How often a restore begins again because somebody wrote meanwhile."""

UNFINISHED = ".partial"
"""How the temporary name of a file in the making ends."""


SYNCED = {
    "sync_conflicts": "DELETE FROM sync_conflicts WHERE uid = ?",
    "sync_rows": "UPDATE sync_rows SET shadow = NULL WHERE uid = ? AND shadow IS NOT NULL",
    "sync_masked": "DELETE FROM sync_masked WHERE uid = ?",
    "sync_origins": "DELETE FROM sync_origins WHERE uid = ?",
}
"""Takes what sync keeps of a fact's text out of a backup, table by table: an older one has not all of them."""

BURY = "INSERT OR IGNORE INTO tombstones SELECT ?, ?, max(at), max(actor_id) FROM journal"

HELD = {
    "facts": "SELECT 1 FROM facts WHERE uid = ?",
    "turns": "SELECT 1 FROM turns WHERE uid = ?",
    "actions": "SELECT 1 FROM actions WHERE uid = ? AND what IS NOT NULL",
    "journal": "SELECT 1 FROM journal WHERE uid = ? AND entity = 'fact' AND digest IS NULL",
}
"""Finds what a backup holds of an item, table by table: an older one has not all of them."""

ERASED_EVERYWHERE = """
    INSERT INTO sync_turns (theme_id, uid, erased, sent) VALUES (?, ?, 1, 0)
    ON CONFLICT DO UPDATE SET erased = 1, sent = 0, refused = NULL
"""


Masker = Callable[[driver.Connection, Collection[str]], int]


class BackupSource(Protocol):
    """An open store, as far as a backup of it is concerned."""

    @property
    def db(self) -> Db: ...
    @property
    def reads(self) -> ReadLog: ...
    @property
    def clock(self) -> Clock: ...


@dataclass(frozen=True, slots=True)
class BackupReport:
    file: Path
    facts: int
    registered: bool = True
    """Whether a later purge will find it: false when the store's folder cannot be written."""


@dataclass(frozen=True, slots=True)
class RestoreReport:
    file: Path
    facts: int
    kept: Path | None
    """Where the memory that it replaced was kept; None when there was none."""


def create_backup(
    store: BackupSource, file: str | Path, *, overwrite: bool = False, progress: database_copies.Progress | None = None
) -> BackupReport:
    """Copy a store while it is in use. When this returns the file is complete, verified and on the disk.

    :param file: destination; an existing file is refused unless `overwrite`
    :raises ArgumentError: when the file exists, or is the store itself
    :raises FileError: DiskFull, StoreUnreadable, …; no file is left behind then
    """
    store.reads.flush()
    target, now = Path(file).expanduser().absolute(), store.clock()
    return back_up_file(store.db.path, target, reason="backup", now=now, overwrite=overwrite, progress=progress)


def back_up_file(
    db: Path,
    target: Path,
    *,
    reason: str,
    now: int,
    overwrite: bool = False,
    progress: database_copies.Progress | None = None,
) -> BackupReport:
    """Back up a file that is not open as a store, such as before an upgrade or before it is replaced."""
    if target.exists() and db.exists() and os.path.samefile(target, db):
        raise errors.ArgumentError(f"{target} is the memory itself; choose another file", target)
    if target.exists() and not target.is_file():
        raise errors.ArgumentError(f"{target} is no file that a backup could replace; choose another name", target)
    if target.exists() and not overwrite:
        raise errors.ArgumentError(
            f"{target} exists already; choose another name, or say that it may be replaced", target
        )
    registered = register_backup(db, target, reason, now)
    with temporary_copy(target) as made:
        seen = database_copies.copy_database(db, made, progress=progress)
        if overwrite:
            database_copies.rename_over(made, target)
        else:
            try:
                database_copies.rename_exclusively(made, target)
            except FileExistsError:
                raise errors.ArgumentError(f"{target} exists already; choose another name", target) from None
    return BackupReport(target, seen.rows.get("facts", 0), registered)


def default_backup_path(db: Path, reason: str, now: int) -> Path:
    """Return the default name of a backup beside its store: `memory.db.<why>.<time>.bak`."""
    stamp = format_iso_time(now).replace("-", "").replace(":", "")
    name = db.with_name(f"{db.name}.{reason}.{stamp}.bak")
    number = 1
    while name.exists():
        number += 1
        name = db.with_name(f"{db.name}.{reason}.{stamp}-{number}.bak")
    return name


def rescue_content(conn: driver.Connection, db: Path, now: int) -> str:
    """Save the content of a store whose file was deleted or replaced, from a connection that still has it open.

    Returns a clause that says where it is, or why it could not be saved.
    """
    place = default_backup_path(db, "rescued", now)
    try:
        database_copies.create_private_exclusively(place)
        conn.execute("VACUUM INTO ?", (str(place),))
        filesystem.flush_to_disk(place)
    except (errors.StoreError, driver.Error, OSError) as error:
        with contextlib.suppress(OSError):
            place.unlink(missing_ok=True)
        return f"what it held could not be saved ({error})"
    return f"what it held is in {place}"


def restore_backup(file: str | Path, db: str | Path, *, clock: Clock = system_clock) -> RestoreReport:
    """Restore a verified backup in the place of a store; the replaced content is kept beside it.

    Processes that have the store open continue with the restored content.

    :raises StoreUnreadable: when the backup is not a sound memory; nothing was changed then
    :raises StoreTooNew: StoreNeedsUpgrade, StoreLocked
    """
    source, target = Path(file).expanduser().absolute(), Path(db).expanduser().absolute()
    if not source.is_file():
        raise errors.StoreUnreadable(f"there is no backup at {source}", source)
    if target.exists() and os.path.samefile(source, target):
        raise errors.ArgumentError(f"{source} is the memory itself; name a backup of it", source)
    facts = verify_backup(source)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file_lock(target):
        # A store that is killed while its content is replaced must not look cut off.
        journal_receipt.receipt_path(target).unlink(missing_ok=True)
        if not target.exists() or target.stat().st_size == 0:
            install_backup(source, target)
            renew_receipt(target, clock())
            return RestoreReport(target, facts, None)
        replaced = default_backup_path(target, "replaced", clock())
        try:
            replace_store_content(source, target, replaced, clock())
        except errors.StoreUnreadable:
            replace_unreadable_store(source, target, replaced, "replaced", clock())
        renew_receipt(target, clock())
    return RestoreReport(target, facts, replaced)


def renew_receipt(db: Path, now: int) -> None:
    """Begin the receipt of a store anew, whose content was replaced on purpose. :raises FileError: DiskFull, …"""
    with database_copies.connect_plainly(db) as conn:
        try:
            journal_receipt.write_receipt(db, conn, restored_at=format_iso_time(now))
        except OSError as error:
            raise errors.StoreReadOnly(f"the receipt beside {db} cannot be written: {error.strerror}", db) from error


def verify_backup(file: Path) -> int:
    """Verify a backup; return its number of facts. :raises FileError: it is not a sound memory of this version"""
    with database_copies.connect_plainly(file) as conn:
        application, version = (
            conn.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if application != APPLICATION_ID:
            if hermes_030_file.is_hermes_030(conn):
                raise errors.StoreNeedsUpgrade(f"{file} is a memory of hermes-memory 0.3.0; upgrade it instead", file)
            raise errors.StoreUnreadable(f"{file} is not a backup of a memory", file)
        if version > STORE_VERSION:
            raise newer_store_error(conn, file, version)
        return database_copies.verify_database(conn, file).rows["facts"]


def find_backups(db: str | Path) -> list[Path]:
    """Find every file that may hold a copy of a store: registered, adjacent and unfinished backups.

    A registered file that was deleted is omitted; one whose whole folder is missing (a disk that is not mounted) is
    included, since it may come back.
    """
    place = Path(db).expanduser().absolute()
    files: dict[Path, None] = {}
    for file in load_backup_registry(place):
        files.update(dict.fromkeys(find_unfinished_copies(file)))
        if file.exists() or not file.parent.exists():
            files[file] = None
    files.update(dict.fromkeys(sorted(place.parent.glob(f"{place.name}.*.bak"))))
    files.update(dict.fromkeys(find_unfinished_copies(place)))
    return list(files)


def find_unfinished_copies(file: Path) -> list[Path]:
    """Find the files being written under that name, and those left by a process that died."""
    return sorted(file.parent.glob(f".{file.name}.*{UNFINISHED}"))


def purge_facts_from_backup(
    path: Path,
    fact_uids: Collection[bytes | str],
    kind: ItemKind = FACT,
    *,
    everywhere: Collection[bytes] = (),
    mask: Masker | None = None,
) -> bool:
    """Erase facts from one backup: its facts, journal, full-text index and free pages.

    :param fact_uids: uids, as bytes or text
    :param mask: takes out what its tables of sync, by their names, hold of masked secrets; returns how many rows
    :returns: whether the backup no longer holds them; False when it could not be reached or changed
    """
    if path.name.endswith(UNFINISHED):
        return remove_interrupted_copy(path)
    keys = [uid if isinstance(uid, bytes) else uids.parse_uid(uid) for uid in fact_uids]
    try:
        with database_copies.connect_plainly(path, "rw") as conn:
            conn.execute("PRAGMA secure_delete = ON")
            if conn.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
                was_held = erase_facts_from_store_file(conn, kind, keys, everywhere, mask)
            elif hermes_030_file.is_hermes_030(conn):
                was_held = kind is FACT and hermes_030_file.erase_facts_from_hermes_030(conn, keys)
            else:
                return False
            if was_held:
                # Free pages keep what was deleted from them until the file is written anew.
                conn.execute("VACUUM")
        filesystem.flush_to_disk(path)
    except (errors.FileError, OSError):
        return False
    return True


def has_items(path: Path, keys: Collection[bytes]) -> bool:
    """Check whether a backup holds facts or turns of these uids. True when it cannot be read: it may hold them."""
    try:
        with database_copies.connect_plainly(path) as conn:
            tables = {name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            selects = [select for table, select in HELD.items() if table in tables]
            return any(conn.execute(select, (uid,)).fetchone() for uid in keys for select in selects)
    except (errors.FileError, driver.Error, OSError):
        return True


def remove_interrupted_copy(path: Path) -> bool:
    """Remove what an interrupted backup left; return whether it is gone. One in progress is left alone."""
    if is_copy_in_progress(path):
        return False
    remove_temporary_database(path)
    return True


def is_copy_in_progress(path: Path) -> bool:
    """Check whether the process that writes this file is still running."""
    pid = path.name.removesuffix(UNFINISHED).rpartition(".")[2]
    try:
        return is_process_running(int(pid))
    except (ValueError, OverflowError):
        return False


def remove_temporary_database(made: Path) -> None:
    """Remove a temporary database and the files that SQLite and the lock put beside it."""
    for ending in ("", "-journal", "-wal", "-shm", ".lock", ".receipt"):
        made.with_name(made.name + ending).unlink(missing_ok=True)


def erase_facts_from_store_file(
    conn: driver.Connection,
    kind: ItemKind,
    keys: Collection[bytes],
    everywhere: Collection[bytes] = (),
    mask: Masker | None = None,
) -> bool:
    """Erase facts from a backup in the store's format; return whether it held any of them."""
    tables = {name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if kind.table not in tables:
        return False
    is_changed = False
    conn.execute("BEGIN IMMEDIATE")
    if kind is FACT:
        is_changed = erase_from_records(conn, load_erased_words(conn, keys)) > 0
    is_changed = (mask is not None and mask(conn, tables) > 0) or is_changed
    has_origins = kind is FACT and "origins" in tables
    origins = find_origins_of(conn, keys) if has_origins else set()
    for uid in keys:
        rows = conn.execute(kind.rows_of_uid, (uid,)).fetchall()
        journaled = "SELECT 1 FROM journal WHERE uid = ? AND digest IS NULL"
        is_changed = is_changed or bool(rows) or conn.execute(journaled, (uid,)).fetchone() is not None
        journal.redact_journal(conn, uid)
        if "actions" in tables:
            is_changed = conn.execute(BLANK, (uid, False)).rowcount > 0 or is_changed
        for table, statement in SYNCED.items():
            if table in tables:
                is_changed = conn.execute(statement, (uid,)).rowcount > 0 or is_changed
        delete_items(conn, kind, [(key, *texts) for key, _, *texts in rows])
        for _, theme_id, *_ in rows:
            if kind is FACT:
                conn.execute(UNLINK_FACT, (uid,))
                conn.execute(BURY, (uid, theme_id))
            elif uid in everywhere and "sync_turns" in tables:
                conn.execute(ERASED_EVERYWHERE, (theme_id, uid))
    if has_origins:
        erase_unused_origins(conn, origins)
    if "project_branches" in tables:
        erase_unused_branches(conn)
    is_clean = not is_changed or fulltext.optimize_index(conn, kind)
    conn.execute("COMMIT")
    if not is_clean:
        raise errors.IndexDamaged("its full-text index is damaged and may still hold the words of what was erased")
    return is_changed


def replace_store_content(source: Path, target: Path, replaced: Path, now: int) -> None:
    """Keep a verified copy of the store, then replace its content; start again when another process wrote meanwhile."""
    for _ in range(TRIES):
        with database_copies.connect_plainly(target) as watching:
            is_unchanged = database_copies.watch_writes(watching)
            back_up_file(target, replaced, reason="replaced", now=now, overwrite=True)
            with contextlib.suppress(database_copies.SourceChanged):
                database_copies.overwrite_database(source, target, unchanged=is_unchanged)
                target.chmod(0o600)
                return
    raise errors.StoreLocked(f"{target} is being written all the time; stop the writers first", target)


def install_backup(source: Path, target: Path) -> None:
    """Copy a verified backup to a place without a store."""
    with temporary_copy(target) as made:
        database_copies.copy_database(source, made)
        with database_copies.connect_plainly(made, "rw") as conn:
            conn.execute("PRAGMA journal_mode = WAL")
        database_copies.rename_over(made, target)


def replace_unreadable_store(source: Path, db: Path, kept_as: Path, reason: str, now: int) -> None:
    """Rename an unreadable file and its log, register them as a backup, and install another in their place."""
    for ending in ("-wal", "-shm", ""):
        part = db.with_name(db.name + ending)
        if part.exists():
            os.replace(part, kept_as.with_name(kept_as.name + ending))
    filesystem.flush_to_disk(db.parent)
    register_backup(db, kept_as, reason, now)
    install_backup(source, db)


@contextmanager
def temporary_copy(target: Path) -> Iterator[Path]:
    """Yield a temporary name beside `target` for a file being written; remove what earlier crashes left there."""
    if not target.parent.is_dir():
        raise errors.StoreUnreadable(f"there is no folder {target.parent}", target)
    for left in find_unfinished_copies(target):
        remove_interrupted_copy(left)
    made = target.with_name(f".{target.name}.{os.getpid()}{UNFINISHED}")
    try:
        yield made
    finally:
        remove_temporary_database(made)


def register_backup(db: Path, file: Path, reason: str, now: int) -> bool:
    """Register a backup before it is made; return whether that was possible: a full disk prevents no backup elsewhere."""
    record = {"file": str(file), "made_at": format_iso_time(now), "why": reason}
    try:
        filesystem.append_json_line(backup_registry_path(db), record)
    except OSError:
        return False
    return True


def backup_registry_path(db: Path) -> Path:
    return db.with_name(db.name + ".backups")


def load_backup_registry(db: Path) -> dict[Path, str]:
    """Load the list of a store's backups, with the time at which each was made."""
    records = filesystem.load_json_lines(backup_registry_path(db))
    return {
        Path(record["file"]): record.get("made_at", "") for record in records if isinstance(record.get("file"), str)
    }
