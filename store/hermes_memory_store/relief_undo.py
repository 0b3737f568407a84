"""Taking a relief of MEMORY.md and USER.md back: what they held before is kept beside them, and put back on request.

A copy is called `MEMORY.md.relief.<time>.<digest>.bak`. The digest is that of the text which took its place, so that a
file somebody has changed since is recognised and left alone. Beside the store, `memory.db.reliefs` says which facts are
in which copy, so that a purge reaches them there too.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_store import errors, memory_files, uids
from hermes_memory_store.clock import iso
from hermes_memory_store.memory_files import MemoryFile

KEPT = 10
"""Copies kept of one file: five days of a relief that runs twice a day and finds work every time."""


@dataclass(frozen=True, slots=True)
class Copy:
    """What a file held before one relief."""

    path: Path
    stamp: str
    """When the relief ran; both files of one run share it."""
    digest: str
    """Of the text that took its place."""


@dataclass(frozen=True, slots=True)
class ReliefUndone:
    """The files that were put back."""

    restored: tuple[Path, ...]
    changed_since: tuple[Path, ...]
    """Files of the same relief that were left alone, because somebody has written to them since."""


def undo_relief(home: Path) -> ReliefUndone:
    """Put back what the newest relief replaced; called again, what the one before it replaced.

    Facts that the relief moved to the store stay there: what stands twice can be relieved again, what is lost cannot.

    :raises NothingToUndo: when no relief left a copy
    :raises UndoConflict: when every file of the newest relief was written to since; nothing was changed
    """
    kept = {file.path: copies(file.path) for file in memory_files.files(home)}
    stamps = sorted({copy.stamp for some in kept.values() for copy in some}, reverse=True)
    changed: tuple[Path, ...] = ()
    for stamp in stamps:
        mine = {path: copy for path, some in kept.items() for copy in some if copy.stamp == stamp}
        done = {path: put_back(path, copy) for path, copy in mine.items()}
        changed = tuple(path for path, state in done.items() if state == "changed")
        restored = tuple(path for path, state in done.items() if state == "restored")
        if restored:
            return ReliefUndone(restored, changed)
        if changed:
            raise errors.UndoConflict(
                f"{' and '.join(path.name for path in changed)} changed since the relief; nothing was put back, "
                f"the text before it is in {mine[changed[0]].path}",
                changed[0],
            )
    raise errors.NothingToUndo(f"no relief of {home / 'memories'} left anything to put back", home)


def put_back(path: Path, copy: Copy) -> str:
    """Put one copy back and drop it: `restored`, `changed` (left alone), or `same` when nothing had replaced it."""
    with memory_files.locked(path):
        present = memory_files.read_bytes(path)
        before = memory_files.read_bytes(copy.path)
        if present == before:
            # The relief was cut off before it replaced the file, or this undo after it had.
            copy.path.unlink(missing_ok=True)
            return "same"
        if digest(present) != copy.digest:
            return "changed"
        memory_files.replace(path, before, expected=present)
        copy.path.unlink(missing_ok=True)
        return "restored"


def keep(file: MemoryFile, before: bytes, after: str, now: int, *, db: Path, facts: Sequence[bytes]) -> Path:
    """Keep what a file holds before it is replaced; on the disk when this returns. Copies beyond `KEPT` are dropped.

    :param facts: uids of the facts of `db` that leave the file
    """
    stamp = iso(now).replace("-", "").replace(":", "")
    target = file.path.with_name(f"{file.path.name}.relief.{stamp}.{digest(after.encode())}.bak")
    register(db, target, facts)
    memory_files.create(target, before)
    for old in copies(file.path)[KEPT:]:
        old.path.unlink(missing_ok=True)
    return target


def copies(path: Path) -> list[Copy]:
    """The copies kept of one file, newest first."""
    found = []
    for copy in path.parent.glob(f"{path.name}.relief.*.bak"):
        parts = copy.name.removeprefix(f"{path.name}.relief.").removesuffix(".bak").rsplit(".", 1)
        if len(parts) == 2:
            found.append(Copy(copy, parts[0], parts[1]))
    return sorted(found, key=lambda copy: copy.stamp, reverse=True)


def purge_from_copies(db: Path, wanted: Collection[bytes]) -> tuple[Path, ...]:
    """Remove every copy that holds one of these facts; those that could not be removed."""
    purged = {uids.to_text(uid) for uid in wanted}
    unreached = []
    for copy, facts in registered(db):
        if purged.isdisjoint(facts):
            continue
        try:
            copy.unlink(missing_ok=True)
        except OSError:
            unreached.append(copy)
    return tuple(unreached)


def register(db: Path, copy: Path, facts: Sequence[bytes]) -> None:
    """Note which facts a copy holds, before it is made."""
    line = json.dumps({"file": str(copy.absolute()), "facts": [uids.to_text(uid) for uid in facts]}, ensure_ascii=False)
    path = registry(db)
    with memory_files.saying_why(path):
        handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, f"{line}\n".encode())
            os.fsync(handle)
        finally:
            os.close(handle)


def registered(db: Path) -> list[tuple[Path, list[str]]]:
    """The copies made of what left a file for this store, and the facts each holds; lines a crash cut off are left out."""
    found = []
    for line in memory_files.read_bytes(registry(db)).decode("utf-8", "replace").splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        found.append((Path(said["file"]), said["facts"]))
    return found


def registry(db: Path) -> Path:
    """The list of a store's copies of memory files."""
    return db.with_name(db.name + ".reliefs")


def digest(content: bytes) -> str:
    """Enough of a digest to tell whether a file was changed."""
    return hashlib.sha256(content).hexdigest()[:16]
