"""Relief of MEMORY.md and USER.md: text that a host repeats in every turn is shortened, or moved to the store.

Nothing that holds is dropped: of USER.md goes what stands there twice or is superseded there. Entries are moved whole or not at
all; one leaves its file only after the store has acknowledged it; what would contradict the store, or does not fit into a fact,
stays where it is and is reported.
"""

from __future__ import annotations

import difflib
import math
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_memory_store import errors
from hermes_memory_store.host_files import memory_file_copies, memory_files
from hermes_memory_store.host_files.memory_file_copies import ReliefUndoResult, undo_relief
from hermes_memory_store.host_files.memory_files import FilePressure, MemoryFile, file_pressures
from hermes_memory_store.items.name_keys import to_theme_name
from hermes_memory_store.model import Way
from hermes_memory_store.relief.relief_steps import KeptEntry, ReliefSteps
from hermes_memory_themes.theme_identity import PERSONAL

if TYPE_CHECKING:
    from hermes_memory_store.store import Store

__all__ = [
    "FilePressure",
    "FileReliefReport",
    "KeptEntry",
    "OptimizeReport",
    "ReliefUndoResult",
    "file_pressures",
    "relieve_files",
    "undo_relief",
]

THRESHOLD_PCT = 55.0
"""Fuller than this, a file is relieved."""

TARGET_PCT = 45.0
"""Relief goes on until a file is emptier than this."""


@dataclass(frozen=True, slots=True)
class FileReliefReport:
    """What a relief did, or would do, to one file."""

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
    """Entries taken out because the store holds them already, or other entries of USER.md say the same or newer."""
    kept: tuple[KeptEntry, ...] = ()
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

    memory: FileReliefReport
    user: FileReliefReport
    dry_run: bool
    threshold_pct: float

    @property
    def has_acted(self) -> bool:
        return max(self.memory.before_pct, self.user.before_pct) > self.threshold_pct

    @property
    def migrated_count(self) -> int:
        return self.memory.migrated + self.user.migrated


def relieve_files(
    store: Store, theme: str, *, home: Path, threshold_pct: float = THRESHOLD_PCT, dry_run: bool = False
) -> OptimizeReport:
    """Relieve both files of a host's profile where they are fuller than the threshold, until below 45 %.

    In this order, and no further than needed: prose is abbreviated, facts in MEMORY_SPEC notation move to the store,
    entries that the store holds already are removed, prose of MEMORY.md moves whole, in its own words. A copy of each
    file is kept first (see `undo_relief`).

    :param home: `$HERMES_HOME` of the profile whose files they are
    :param threshold_pct: in percent of the host's own limit; when below 45, it is also the target
    :param dry_run: write nothing at all, and report what would be done
    :raises ArgumentError: the threshold is no percentage
    :raises ThemeInvalid: no agent can have this theme
    :raises ImportFileError: when a file is not UTF-8, or would be read differently once written; neither was touched
        then
    :raises StoreLocked: when the host, or another writer of the store, does not release its lock
    """
    if not (isinstance(threshold_pct, int | float) and math.isfinite(threshold_pct) and 0 <= threshold_pct <= 100):
        raise errors.ArgumentError(f"the threshold lies between 0 and 100 percent, not {threshold_pct}", threshold_pct)
    theme_name, both = to_theme_name(theme), memory_files.find_memory_files(home)
    for file in both:
        if not memory_files.is_round_trip_stable(memory_files.parse_entries(memory_files.read_memory_text(file.path))):
            raise errors.ImportFileError(
                f"{file.path} has an entry that begins or ends with a line of nothing but §; join or remove that line first",
                file.path,
            )
    with store.attribute(replace(store.names.origins.current(), way=Way.RELIEF)):
        places, now = store.place_themes, store.clock()
        # USER.md has the person's own facts, which are not those of a project.
        is_project = places.is_by_project and places.project_of(theme_name) is not None
        themes = (theme_name, PERSONAL if is_project else theme_name)
        memory, user = (
            relieve_file(store, file_theme, file, float(threshold_pct), dry_run, now)
            for file_theme, file in zip(themes, both, strict=True)
        )
    return OptimizeReport(memory, user, dry_run, float(threshold_pct))


def relieve_file(
    store: Store, theme: str, file: MemoryFile, threshold_pct: float, dry_run: bool, now: int
) -> FileReliefReport:
    """Relieve one file if it is fuller than the threshold. :param now: the same for both, by which they are one relief"""
    pct = file.pct(text := memory_files.read_memory_text(file.path))
    if pct <= threshold_pct:
        return FileReliefReport(file.path, pct, pct, text, text, "")
    lock = memory_files.host_file_lock(file.path, timeout_s=store.db.lock_timeout_s)
    with nullcontext() if dry_run else lock:
        content = memory_files.read_memory_bytes(file.path)
        pct = file.pct(text := memory_files.decode_memory_text(content, file.path))
        if pct <= threshold_pct:
            return FileReliefReport(file.path, pct, pct, text, text, "")
        steps = ReliefSteps(store, theme, file, text, min(TARGET_PCT, threshold_pct), dry_run=dry_run)
        steps.take_all()
        is_changed = steps.entries != memory_files.parse_entries(text)
        after, name = memory_files.join_entries(steps.entries) if is_changed else text, file.path.name
        report = FileReliefReport(
            path=file.path,
            before_pct=pct,
            after_pct=steps.pct,
            before=text,
            after=after,
            diff="\n".join(
                difflib.unified_diff(text.splitlines(), after.splitlines(), name, f"{name} (relieved)", lineterm="")
            ),
            abbreviated=steps.abbreviated,
            migrated=steps.migrated,
            removed=steps.removed,
            kept=tuple(steps.kept),
            why=steps.shortfall_reason(),
            changes=tuple(steps.changes),
        )
        if dry_run or after == text:
            return report
        steps.verify_moved()
        copy = memory_file_copies.save_memory_file_copy(file, content, after, now, db=store.path, facts=steps.left)
        memory_files.replace_memory_file(file.path, after.encode(), expected=content)
    return replace(report, copy=copy)
