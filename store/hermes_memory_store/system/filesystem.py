"""Conditions on the place of a store: private, local, and created by one process at a time."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from hermes_memory_store import errors
from hermes_memory_store.system import file_locks

NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "9p", "fuse.sshfs", "fuse.rclone"}
)
"""File systems without the shared memory and locks that SQLite's WAL needs (https://sqlite.org/wal.html, section 1)."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""How the system refuses to write for want of room."""


def default_store_path(environ: dict[str, str] | None = None) -> Path:
    """Return `$HERMES_MEMORY_DB`, else `~/.hermes/memory.db`. A blank variable counts as unset."""
    named = (os.environ if environ is None else environ).get("HERMES_MEMORY_DB", "")
    return Path(named).expanduser() if named.strip() else Path.home() / ".hermes" / "memory.db"


def refuse_network_path(path: Path) -> None:
    """Check the file system of `path`. :raises NetworkFileSystem: its folder lies on a network file system"""
    kind = filesystem_type(path.parent)
    if kind in NETWORK_TYPES:
        raise errors.NetworkFileSystem(
            f"{path} lies on a network file system ({kind}), where SQLite cannot keep several processes apart; "
            "choose a local path with --db, or force it if only one process will ever use it",
            path,
        )


def filesystem_type(folder: Path) -> str | None:
    """Return the type of the file system of `folder`, None where the system does not tell (only Linux does)."""
    table = Path("/proc/self/mounts")
    if not table.exists():
        return None
    place = str(folder.absolute())
    best, kind = "", None
    for line in table.read_text(errors="replace").splitlines():
        _, mount, fstype, *_ = line.split(" ")
        mount = mount.replace("\\040", " ")
        if (place == mount or place.startswith(mount.rstrip("/") + "/")) and len(mount) >= len(best):
            best, kind = mount, fstype
    return kind


def find_write_refusal(folder: str | Path) -> OSError | None:
    """Return why the system lets nothing be written in a folder (no room, no quota, read-only, no rights); None when it does."""
    import tempfile  # here, not above: as in `atomic_write`

    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(65536))  # twice what SQLite writes beside a store to read it
    except OSError as error:
        return error
    return None


def create_private_file(path: Path) -> None:
    """Create an empty file that only its owner may read, with the folders above it. :raises StoreUnreadable: it fails"""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise errors.StoreUnreadable(f"{path} cannot be created: {error.strerror or error}", path) from error


def open_private(path: str, flags: int) -> int:
    """Open a file for `open()`; only the owner may read a file that this creates."""
    return os.open(path, flags, 0o600)


def append_json_line(path: Path, record: dict[str, Any]) -> None:
    """Append a line of JSON to a private file; on the disk when this returns. A line that a crash cut off stays apart."""
    handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(handle).st_size
        cut_off = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        os.write(handle, b"\n" * cut_off + json.dumps(record).encode() + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)


def load_json_lines(path: Path) -> list[dict[str, Any]]:
    """Load what `append_json_line` wrote, without lines that a crash cut off; nothing when there is no file."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise errors.StoreUnreadable(f"{path} cannot be read: {error.strerror or error}", path) from error
    records = []
    for line in lines:
        with suppress(ValueError):
            records.append(json.loads(line))
    return [record for record in records if isinstance(record, dict)]


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or a folder's list of names, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def atomic_write(
    path: Path,
    *,
    encoding: str | None = None,
    encoding_errors: str | None = None,
    mode: int = 0o600,
    overwrite: bool = True,
    durable: bool = True,
    confirm: Callable[[], None] | None = None,
) -> Iterator[IO[Any]]:
    """Open a new file that takes the name `path` when the block ends without an error; until then, `path` stays as it is.

    Where it may overwrite, a symbolic link is followed: the file it leads to is replaced, the link stays. A device or a pipe is
    written to as it is.

    :param encoding: opens the file for text; without it, for bytes
    :param encoding_errors: what becomes of characters that the encoding lacks, as `open` takes it
    :param mode: the new file's permissions; by default only its owner may read it
    :param overwrite: whether a file of that name is replaced
    :param durable: whether the content and the name are on the disk on return; without it, a power cut may lose the file
    :param confirm: called when the content is complete, just before it takes the name; what it raises leaves `path` alone
    :raises FileExistsError: `overwrite` is off and the name is taken, even by a file that came while the block ran
    :raises OSError: the folder or the file cannot be written
    """
    import tempfile  # here, not above: it takes milliseconds, and a start writes no file

    if overwrite and path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb" if encoding is None else "w", encoding=encoding, errors=encoding_errors) as file:
            yield file
        return
    target = path.resolve() if overwrite else path.absolute()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    made = Path(name)
    try:
        with os.fdopen(handle, "wb" if encoding is None else "w", encoding=encoding, errors=encoding_errors) as file:
            os.fchmod(file.fileno(), mode)
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if confirm is not None:
            confirm()
        # Unlike a rename, a link never takes the place of another file.
        (os.replace if overwrite else os.link)(made, target)
    finally:
        made.unlink(missing_ok=True)
    if durable:
        flush_to_disk(target.parent)


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return device and number of a file, which distinguish it from another of the same name; None when none is reached."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold the lock file beside `path` while a store is created, migrated or replaced.

    Switching a fresh file to WAL from several processes at once ignores SQLite's busy timeout.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        handle = file_locks.open_lock(lock)
    except OSError as error:
        raise errors.StoreUnreadable(f"{lock} cannot be created: {error.strerror or error}", path) from error
    with file_locks.exclusive_lock(handle):
        yield
