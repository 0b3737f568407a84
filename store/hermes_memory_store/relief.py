"""Relief of MEMORY.md and USER.md: what a host repeats in every turn is shortened, or moved to where it can be found.

Nothing that carries meaning is dropped. Entries are moved whole or not at all; one leaves its file only after the store
has acknowledged it; what would contradict the store, or does not fit into a fact, stays where it is and is reported.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_memory_store import errors, memory_files, relief_undo
from hermes_memory_store.memory_files import FilePressure, MemoryFile, pressure
from hermes_memory_store.relief_steps import Kept, Steps
from hermes_memory_store.relief_undo import ReliefUndone, undo_relief

if TYPE_CHECKING:
    from hermes_memory_store.store import Store

__all__ = [
    "FilePressure",
    "FileReport",
    "Kept",
    "OptimizeReport",
    "ReliefUndone",
    "optimize",
    "pressure",
    "undo_relief",
]

THRESHOLD_PCT = 55.0
"""Fuller than this, a file is relieved."""

TARGET_PCT = 45.0
"""Relief goes on until a file is emptier than this."""


@dataclass(frozen=True, slots=True)
class FileReport:
    """What a relief did to one file, or would do."""

    path: Path
    before_pct: float
    after_pct: float
    before: str
    after: str
    diff: str
    """Unified diff from `before` to `after`; empty when nothing changed."""
    abbreviated: int = 0
    """Entries written shorter."""
    migrated: int = 0
    """Facts moved to the store."""
    removed: int = 0
    """Entries taken out because the store holds them already."""
    kept: tuple[Kept, ...] = ()
    """Facts that had to stay in the file, with the reason."""
    why: str | None = None
    """Why the file is still fuller than the target; None when it is not."""
    changes: tuple[int, ...] = ()
    """Journal rows of the facts that were moved."""
    copy: Path | None = None
    """Where the text before is kept; None when the file was not changed."""


@dataclass(frozen=True, slots=True)
class OptimizeReport:
    """What a relief did, or would do, to both files."""

    memory: FileReport
    user: FileReport
    dry_run: bool
    threshold_pct: float

    @property
    def acted(self) -> bool:
        """Whether a file was fuller than the threshold."""
        return max(self.memory.before_pct, self.user.before_pct) > self.threshold_pct

    @property
    def migrated(self) -> int:
        """Facts moved to the store from both files."""
        return self.memory.migrated + self.user.migrated


def optimize(
    store: Store, theme: str, *, home: Path, threshold_pct: float = THRESHOLD_PCT, dry_run: bool = False
) -> OptimizeReport:
    """Relieve both files of a host's profile where they are fuller than the threshold, until below 45 %.

    In this order, and no further than needed: prose is abbreviated, facts in MEMORY_SPEC notation move to the store,
    entries that the store holds already are taken out. A copy of each file is kept first (see `undo_relief`).

    :param home: `$HERMES_HOME` of the profile whose files they are
    :param threshold_pct: in percent of the host's own limit; when below 45, it is also the target
    :param dry_run: write nothing at all, and report what would be done
    :raises ImportFileError: when a file is not UTF-8, or would be read differently once written; neither was touched then
    :raises StoreLocked: when the host, or another writer of the store, does not let go
    """
    if not (isinstance(threshold_pct, int | float) and math.isfinite(threshold_pct) and 0 <= threshold_pct <= 100):
        raise errors.ArgumentError(f"the threshold lies between 0 and 100 percent, not {threshold_pct}", threshold_pct)
    both = memory_files.files(home)
    for file in both:
        if not memory_files.is_settled(memory_files.parse(memory_files.read(file.path))):
            raise errors.ImportFileError(
                f"{file.path} has an entry that begins or ends with a line of nothing but §; join or remove that line first",
                file.path,
            )
    memory, user = (relieve(store, theme, file, float(threshold_pct), dry_run) for file in both)
    return OptimizeReport(memory, user, dry_run, float(threshold_pct))


def relieve(store: Store, theme: str, file: MemoryFile, threshold_pct: float, dry_run: bool) -> FileReport:
    """Relieve one file if it is fuller than the threshold."""
    text = memory_files.read(file.path)
    if dry_run or file.pct(text) <= threshold_pct:
        return report(file, text, stepped(store, theme, file, text, threshold_pct, dry_run=dry_run))
    with memory_files.locked(file.path, timeout_s=store.db.lock_timeout_s):
        content = memory_files.read_bytes(file.path)
        text = memory_files.decoded(content, file.path)
        steps = stepped(store, theme, file, text, threshold_pct, dry_run=False)
        said = report(file, text, steps)
        if steps is None or said.after == text:
            return said
        steps.make_sure()
        copy = relief_undo.keep(file, content, said.after, store.clock(), db=store.path, facts=steps.left)
        memory_files.replace(file.path, said.after.encode(), expected=content)
    return replace(said, copy=copy)


def stepped(
    store: Store, theme: str, file: MemoryFile, text: str, threshold_pct: float, *, dry_run: bool
) -> Steps | None:
    """The steps taken on a text, None when it is not fuller than the threshold."""
    if file.pct(text) <= threshold_pct:
        return None
    steps = Steps(store, theme, file, text, min(TARGET_PCT, threshold_pct), dry_run=dry_run)
    steps.run()
    return steps


def report(file: MemoryFile, text: str, steps: Steps | None) -> FileReport:
    """What the steps did to a text."""
    if steps is None:
        return FileReport(file.path, file.pct(text), file.pct(text), text, text, "")
    changed = steps.entries != memory_files.parse(text)
    after = memory_files.join(steps.entries) if changed else text
    return FileReport(
        path=file.path,
        before_pct=file.pct(text),
        after_pct=steps.pct,
        before=text,
        after=after,
        diff=unified(file.path.name, text, after),
        abbreviated=steps.abbreviated,
        migrated=steps.migrated,
        removed=steps.removed,
        kept=tuple(steps.kept),
        why=steps.why(),
        changes=tuple(steps.changes),
    )


def unified(name: str, before: str, after: str) -> str:
    """A unified diff of two texts, line by line."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name, f"{name} (relieved)", lineterm="")
    return "\n".join(lines)
