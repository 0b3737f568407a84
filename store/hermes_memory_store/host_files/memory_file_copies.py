"""Copies of MEMORY.md and USER.md made before a relief, and how a relief is undone from them.

A copy is called `MEMORY.md.relief.<time>.<digest>.bak`. The digest is that of the text which replaced it, so that
a file somebody has changed since is recognised and left alone. Beside the store, `memory.db.reliefs` lists which
facts are in which copy, so that a purge reaches them there too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_store import errors, uids
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.host_files import memory_files
from hermes_memory_store.host_files.memory_files import MemoryFile
from hermes_memory_store.system.filesystem import append_json_line, atomic_write, load_json_lines

KEPT = 10
"""Copies kept of one file: five days of a relief that runs twice a day and finds work every time."""


@dataclass(frozen=True, slots=True)
class MemoryFileCopy:
    """The content of a file before one relief."""

    path: Path
    stamp: str
    """When the relief ran; both files of one run share it."""
    digest: str
    """Of the text that took its place."""

    @classmethod
    def of(cls, path: Path) -> MemoryFileCopy:
        """Return the copy of that name. :raises ValueError: it is none"""
        stamp, digest = path.name.partition(".relief.")[2].removesuffix(".bak").rsplit(".", 1)
        return cls(path, stamp, digest)

    @property
    def original(self) -> Path:
        return self.path.with_name(self.path.name.partition(".relief.")[0])

    def find_former_text(self, present: bytes) -> bytes | None:
        """Return the text to put back; None where the present one is neither it nor what took its place, or it is gone."""
        if not self.path.exists():
            return None
        before = memory_files.read_memory_bytes(self.path)
        return before if present == before or memory_file_digest(present) == self.digest else None


@dataclass(frozen=True, slots=True)
class ReliefUndoResult:
    """The files that were restored."""

    restored: tuple[Path, ...]
    changed_since: tuple[Path, ...]
    """Files of the same relief that were left alone, because somebody has written to them since."""


def undo_relief(home: Path) -> ReliefUndoResult:
    """Restore what the newest relief replaced; called again, what the one before it replaced.

    Facts that the relief moved to the store stay there: a duplicate can be relieved again, a lost fact cannot.

    :raises NothingToUndo: when no relief left a copy
    :raises UndoConflict: when every file of the newest relief was written to since; nothing was changed
    """
    copies = {file.path: find_memory_file_copies(file.path) for file in memory_files.find_memory_files(home)}
    stamps = sorted({copy.stamp for some in copies.values() for copy in some}, reverse=True)
    for stamp in stamps:
        mine = {path: copy for path, some in copies.items() for copy in some if copy.stamp == stamp}
        done = {path: restore_memory_file_copy(copy) for path, copy in mine.items()}
        changed = tuple(path for path, state in done.items() if state == "changed")
        restored = tuple(path for path, state in done.items() if state == "restored")
        if restored:
            return ReliefUndoResult(restored, changed)
        if changed:
            raise errors.UndoConflict(
                f"{' and '.join(path.name for path in changed)} changed since the relief; nothing was put back, "
                f"the text before it is in {mine[changed[0]].path}",
                changed[0],
            )
    raise errors.NothingToUndo(f"no relief of {home / 'memories'} left anything to put back", home)


def restore_memory_file_copy(copy: MemoryFileCopy) -> str:
    """Put a copy back and delete it; return `restored`, `changed` (left alone), or `same` when nothing had replaced it."""
    with memory_files.host_file_lock(copy.original):
        present = memory_files.read_memory_bytes(copy.original)
        before = copy.find_former_text(present)
        if before is None:
            return "changed"
        if before != present:
            memory_files.replace_memory_file(copy.original, before, expected=present)
        copy.path.unlink(missing_ok=True)
        return "same" if before == present else "restored"


def save_memory_file_copy(
    file: MemoryFile, before: bytes, after: str, now: int, *, db: Path, facts: Sequence[bytes]
) -> Path:
    """Save the content of a file before it is replaced, on the disk when this returns; delete copies beyond `KEPT`.

    :param facts: uids of the facts of `db` that leave the file
    """
    stamp = format_iso_time(now).replace("-", "").replace(":", "")
    target = file.path.with_name(f"{file.path.name}.relief.{stamp}.{memory_file_digest(after.encode())}.bak")
    registry = copy_registry_path(db)
    with memory_files.translate_file_errors(registry):
        append_json_line(registry, {"file": str(target.absolute()), "facts": [uids.format_uid(uid) for uid in facts]})
    with memory_files.translate_file_errors(target), atomic_write(target) as copy:
        copy.write(before)
    for old in find_memory_file_copies(file.path)[KEPT:]:
        old.path.unlink(missing_ok=True)
    return target


def find_memory_file_copies(path: Path) -> list[MemoryFileCopy]:
    """Find the copies of one file, newest first."""
    copies = []
    for copy in path.parent.glob(f"{path.name}.relief.*.bak"):
        with suppress(ValueError):
            copies.append(MemoryFileCopy.of(copy))
    return sorted(copies, key=lambda copy: copy.stamp, reverse=True)


def purge_facts_from_copies(db: Path, fact_uids: Collection[bytes]) -> tuple[Path, ...]:
    """Delete every copy that holds one of these facts; return those that could not be deleted."""
    purged = {uids.format_uid(uid) for uid in fact_uids}
    unreached = []
    for copy, facts in load_copy_registry(db):
        if purged.isdisjoint(facts):
            continue
        try:
            copy.unlink(missing_ok=True)
        except OSError:
            unreached.append(copy)
    return tuple(unreached)


def load_copy_registry(db: Path) -> list[tuple[Path, list[str]]]:
    """Load the list of copies made for this store, and the facts in each; lines a crash cut off are omitted."""
    return [(Path(record["file"]), record["facts"]) for record in load_json_lines(copy_registry_path(db))]


def copy_registry_path(db: Path) -> Path:
    return db.with_name(db.name + ".reliefs")


def memory_file_digest(content: bytes) -> str:
    """Return a digest long enough to tell whether a file was changed."""
    return hashlib.sha256(content).hexdigest()[:16]
