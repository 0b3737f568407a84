"""Backups: online, verified, private, and known afterwards, so that a purge can reach what it must erase.

Beside every store `memory.db` stands `memory.db.backups`, one JSON line for each backup made of it. A backup is written
under a temporary name and gets its own only when it is complete, verified and on the disk.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hermes_memory_store import copies, errors, filesystem, fulltext, hermes_file, journal, uids
from hermes_memory_store.clock import Clock, iso, system_clock
from hermes_memory_store.db import Db
from hermes_memory_store.erasing import delete_items
from hermes_memory_store.filesystem import file_lock
from hermes_memory_store.items import FACT, ItemKind
from hermes_memory_store.reads import Reads
from hermes_memory_store.schema import APPLICATION_ID, STORE_VERSION

TRIES = 5
"""How often a restore begins again because somebody wrote meanwhile."""

UNFINISHED = ".partial"
"""How the temporary name of a file in the making ends."""


SYNCED = {
    "sync_conflicts": "DELETE FROM sync_conflicts WHERE uid = ?",
    "sync_rows": "UPDATE sync_rows SET shadow = NULL WHERE uid = ? AND shadow IS NOT NULL",
    "sync_masked": "DELETE FROM sync_masked WHERE uid = ?",
}
"""Takes what sync keeps of a fact's text out of a backup, table by table: an older one has not all of them."""

BURY = "INSERT OR IGNORE INTO tombstones SELECT ?, ?, max(at), max(actor_id) FROM journal"

ERASED_EVERYWHERE = """
    INSERT INTO sync_turns (theme_id, uid, erased, sent) VALUES (?, ?, 1, 0)
    ON CONFLICT DO UPDATE SET erased = 1, sent = 0, refused = NULL
"""


class BackupSource(Protocol):
    """An open store, as far as a backup of it is concerned."""

    @property
    def db(self) -> Db: ...
    @property
    def reads(self) -> Reads: ...
    @property
    def clock(self) -> Clock: ...


@dataclass(frozen=True, slots=True)
class BackupReport:
    """A backup that was made."""

    file: Path
    facts: int
    registered: bool = True
    """Whether a later purge will find it: false when the store's folder cannot be written."""


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """A backup that was put back."""

    file: Path
    facts: int
    kept: Path | None
    """Where the memory that it replaced was kept; None when there was none."""


def backup(
    store: BackupSource, file: str | Path, *, overwrite: bool = False, progress: copies.Progress | None = None
) -> BackupReport:
    """Copy a store while it is in use. When this returns the file is complete, verified and on the disk.

    :param file: where to; an existing file is refused unless `overwrite`
    :raises ArgumentError: when the file exists, or is the store itself
    :raises FileError: DiskFull, StoreUnreadable, …; no file is left behind then
    """
    store.reads.flush()
    target = Path(file).expanduser().absolute()
    return copy_of(store.db.path, target, why="backup", now=store.clock(), overwrite=overwrite, progress=progress)


def copy_of(
    db: Path, target: Path, *, why: str, now: int, overwrite: bool = False, progress: copies.Progress | None = None
) -> BackupReport:
    """The same for a file that is not open as a store (before an upgrade, or before it is replaced)."""
    if target.exists() and db.exists() and os.path.samefile(target, db):
        raise errors.ArgumentError(f"{target} is the memory itself; choose another file", target)
    if target.exists() and not target.is_file():
        raise errors.ArgumentError(f"{target} is no file that a backup could replace; choose another name", target)
    if target.exists() and not overwrite:
        raise errors.ArgumentError(
            f"{target} exists already; choose another name, or say that it may be replaced", target
        )
    registered = register(db, target, why, now)
    with in_the_making(target) as made:
        seen = copies.copy(db, made, progress=progress)
        if overwrite:
            copies.replace(made, target)
        else:
            try:
                copies.keep_exclusively(made, target)
            except FileExistsError:
                raise errors.ArgumentError(f"{target} exists already; choose another name", target) from None
    return BackupReport(target, seen.rows.get("facts", 0), registered)


def beside(db: Path, why: str, now: int) -> Path:
    """The name of a backup that stands beside its store: `memory.db.<why>.<time>.bak`."""
    stamp = iso(now).replace("-", "").replace(":", "")
    name = db.with_name(f"{db.name}.{why}.{stamp}.bak")
    number = 1
    while name.exists():
        number += 1
        name = db.with_name(f"{db.name}.{why}.{stamp}-{number}.bak")
    return name


def restore_backup(file: str | Path, db: str | Path, *, clock: Clock = system_clock) -> RestoreReport:
    """Put a backup back in the place of a store, verified first; what it replaces is kept beside.

    Processes that have the store open go on with the restored content.

    :raises StoreUnreadable: when the backup is not a sound memory; nothing was changed then
    :raises StoreTooNew: StoreNeedsUpgrade, StoreLocked
    """
    source, target = Path(file).expanduser().absolute(), Path(db).expanduser().absolute()
    if not source.is_file():
        raise errors.StoreUnreadable(f"there is no backup at {source}", source)
    if target.exists() and os.path.samefile(source, target):
        raise errors.ArgumentError(f"{source} is the memory itself; name a backup of it", source)
    facts = checked(source)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file_lock(target):
        if not target.exists() or target.stat().st_size == 0:
            put_in_place(source, target)
            return RestoreReport(target, facts, None)
        kept = beside(target, "replaced", clock())
        try:
            pour_over(source, target, kept, clock())
        except errors.StoreUnreadable:
            set_aside(target, kept)
            register(target, kept, "replaced", clock())
            put_in_place(source, target)
    return RestoreReport(target, facts, kept)


def checked(file: Path) -> int:
    """The number of facts in a backup. :raises FileError: when it is not a sound memory of this version"""
    with copies.connected(file) as conn:
        application, version = (
            conn.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if application != APPLICATION_ID:
            if hermes_file.recognise(conn):
                raise errors.StoreNeedsUpgrade(f"{file} is a memory of hermes-memory 0.3.0; upgrade it instead", file)
            raise errors.StoreUnreadable(f"{file} is not a backup of a memory", file)
        if version > STORE_VERSION:
            raise errors.StoreTooNew(
                f"{file} was written by a newer version (store {version}, this program knows {STORE_VERSION}); "
                "nothing was touched, please upgrade hermes-memory-tui",
                file,
            )
        return copies.verify(conn, file).rows["facts"]


def known_backups(db: str | Path) -> list[Path]:
    """Every file that may hold a copy of what is in a store: registered backups, those beside it, and unfinished ones.

    A registered file that was deleted is left out; one whose whole folder is away (a disk that is not mounted) is kept,
    since it may come back.
    """
    place = Path(db).expanduser().absolute()
    found: dict[Path, None] = {}
    for line in registered_lines(place):
        file = Path(line["file"])
        found.update(dict.fromkeys(unfinished_beside(file)))
        if file.exists() or not file.parent.exists():
            found[file] = None
    found.update(dict.fromkeys(sorted(place.parent.glob(f"{place.name}.*.bak"))))
    found.update(dict.fromkeys(unfinished_beside(place)))
    return list(found)


def unfinished_beside(file: Path) -> list[Path]:
    """What is being made under that name, or was when its process died."""
    return sorted(file.parent.glob(f".{file.name}.*{UNFINISHED}"))


def purge_from(
    path: Path, wanted: Collection[bytes | str], kind: ItemKind = FACT, *, everywhere: Collection[bytes] = ()
) -> bool:
    """Erase items from one backup: their rows, what the journal says of facts, full text and free pages.

    :param wanted: uids, as bytes or text
    :param everywhere: turns that are erased for the whole team, of which the backup's store may not have told it
    :returns: whether the backup is now without them; False when it could not be reached or changed
    """
    if path.name.endswith(UNFINISHED):
        return unfinished(path)
    keys = [uid if isinstance(uid, bytes) else uids.to_bytes(uid) for uid in wanted]
    try:
        with copies.connected(path, "rw") as conn:
            conn.execute("PRAGMA secure_delete = ON")
            if conn.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID:
                was_held = erase(conn, kind, keys, everywhere)
            elif hermes_file.recognise(conn):
                was_held = kind is FACT and hermes_file.erase(conn, keys)
            else:
                return False
            if was_held:
                # Free pages keep what was deleted from them until the file is written anew.
                conn.execute("VACUUM")
        filesystem.flush_to_disk(path)
    except (errors.FileError, OSError):
        return False
    return True


def unfinished(path: Path) -> bool:
    """Remove what an interrupted backup left; whether it is gone. One that is being made is left alone."""
    if in_use(path):
        return False
    discard(path)
    return True


def discard(made: Path) -> None:
    """Remove a file in the making, and what SQLite and the lock put beside it."""
    for ending in ("", "-journal", "-wal", "-shm", ".lock"):
        made.with_name(made.name + ending).unlink(missing_ok=True)


def erase(
    conn: sqlite3.Connection, kind: ItemKind, keys: Collection[bytes], everywhere: Collection[bytes] = ()
) -> bool:
    """Take items out of a backup of ours; whether it held any of them. :param everywhere: as for `purge_from`"""
    tables = {name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if kind.table not in tables:
        return False
    held = False
    conn.execute("BEGIN IMMEDIATE")
    for uid in keys:
        rows = conn.execute(kind.rows_of_uid, (uid,)).fetchall()
        held = (kind is FACT and redact_fact(conn, uid, tables)) or bool(rows) or held
        delete_items(conn, kind, [(key, *texts) for key, _, *texts in rows])
        for _, theme_id, *_ in rows:
            if kind is FACT:
                conn.execute("UPDATE facts SET superseded_by = NULL WHERE superseded_by = ?", (uid,))
                conn.execute(BURY, (uid, theme_id))
            elif uid in everywhere and "sync_turns" in tables:
                conn.execute(ERASED_EVERYWHERE, (theme_id, uid))
    is_clean = not held or fulltext.optimize_index(conn, kind)
    conn.execute("COMMIT")
    if not is_clean:
        raise errors.IndexDamaged("its full-text index is damaged and may still hold the words of what was erased")
    return held


def redact_fact(conn: sqlite3.Connection, uid: bytes, tables: Collection[str]) -> bool:
    """Take the text of a fact out of a backup's journal and of what sync keeps there; whether there was any."""
    held = conn.execute("SELECT 1 FROM journal WHERE uid = ? AND digest IS NULL", (uid,)).fetchone() is not None
    journal.redact(conn, uid)
    for table, statement in SYNCED.items():
        if table in tables:
            held = conn.execute(statement, (uid,)).rowcount > 0 or held
    return held


def pour_over(source: Path, target: Path, kept: Path, now: int) -> None:
    """Keep a verified copy of the store, then replace its content; begin again when somebody wrote in between."""
    for _ in range(TRIES):
        try:
            pour_once(source, target, kept, now)
        except copies.SourceChanged:
            continue
        os.chmod(target, 0o600)
        return
    raise errors.StoreLocked(f"{target} is being written all the time; stop the writers first", target)


def pour_once(source: Path, target: Path, kept: Path, now: int) -> None:
    """:raises SourceChanged: when somebody wrote after the copy was taken"""
    with copies.connected(target) as watching:
        version = watching.execute("PRAGMA data_version").fetchone()[0]
        copy_of(target, kept, why="replaced", now=now, overwrite=True)
        copies.pour(source, target, unchanged=lambda: watching.execute("PRAGMA data_version").fetchone()[0] == version)


def put_in_place(source: Path, target: Path) -> None:
    """Copy a verified backup to where no store is."""
    with in_the_making(target) as made:
        copies.copy(source, made)
        with copies.connected(made, "rw") as conn:
            conn.execute("PRAGMA journal_mode = WAL")
        copies.replace(made, target)


def set_aside(db: Path, kept: Path) -> None:
    """Keep an unreadable file and its log under another name, and clear its place."""
    for ending in ("-wal", "-shm", ""):
        part = db.with_name(db.name + ending)
        if part.exists():
            os.replace(part, kept.with_name(kept.name + ending))
    filesystem.flush_to_disk(db.parent)


@contextmanager
def in_the_making(target: Path) -> Iterator[Path]:
    """A temporary name beside `target` for a file in the making; what earlier crashes left there is removed."""
    if not target.parent.is_dir():
        raise errors.StoreUnreadable(f"there is no folder {target.parent}", target)
    for left in unfinished_beside(target):
        unfinished(left)
    made = target.with_name(f".{target.name}.{os.getpid()}{UNFINISHED}")
    try:
        yield made
    finally:
        discard(made)


def in_use(path: Path) -> bool:
    """Whether the process that is making this file still runs."""
    pid = path.name.removesuffix(UNFINISHED).rpartition(".")[2]
    try:
        os.kill(int(pid), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def register(db: Path, file: Path, why: str, now: int) -> bool:
    """Note a backup before it is made; whether the note could be written (a full disk must not hinder a backup elsewhere)."""
    line = json.dumps({"file": str(file), "made_at": iso(now), "why": why})
    try:
        handle = os.open(registry(db), os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
        try:
            size = os.fstat(handle).st_size
            # A line that a crash cut off must not swallow this one.
            cut_off = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
            os.write(handle, b"\n" * cut_off + line.encode() + b"\n")
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        return False
    return True


def registry(db: Path) -> Path:
    """The list of a store's backups."""
    return db.with_name(db.name + ".backups")


def registered_lines(db: Path) -> list[dict[str, str]]:
    """What the list says, without lines that a crash cut off."""
    try:
        text = registry(db).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    lines = []
    for line in text.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and isinstance(said.get("file"), str):
            lines.append(said)
    return lines
