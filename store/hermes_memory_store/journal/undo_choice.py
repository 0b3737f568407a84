"""Choose what an undo takes back: the newest actions in a theme, each whole, with the files that a relief replaced."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from hermes_memory_store import errors, uids
from hermes_memory_store.host_files.memory_file_copies import MemoryFileCopy, load_copy_registry
from hermes_memory_store.host_files.memory_files import host_file_lock, read_memory_bytes, replace_memory_file
from hermes_memory_store.items.project_rows import PLACES
from hermes_memory_store.journal.change_folds import ChangeFold, ChangeFolds
from hermes_memory_store.model import UndoResult
from hermes_memory_store.store import Store

OF_ANYBODY_HERE = " AND actor_id IN (SELECT id FROM actors WHERE kind IN ('person', 'import', 'session'))"
"""What came from other machines, or was done by relief alone, is not what anybody means by the newest change."""

OF_PERSON = """
    AND actor_id IN (SELECT id FROM actors WHERE kind IN ('person', 'import'))
    AND coalesce(origin_id, 0) NOT IN (SELECT id FROM origins WHERE session IS NOT NULL)
"""
"""An agent's `memory_optimize` imports, too."""

RELIEF_ROWS = """
    SELECT DISTINCT j.change, j.uid FROM journal j JOIN origins o ON o.id = j.origin_id
    WHERE j.{column} = ? AND j.entity = 'fact' AND j.undoes IS NULL AND o.way = 'relief'
"""


class UndoChoice:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.folds = ChangeFolds(store)

    def newest(
        self, themes: Collection[str] = (), count: int = 1, *, is_own: bool = True, passed: Collection[int] = ()
    ) -> list[ChangeFold]:
        """Return the newest actions that hold in some themes, or in all; one of several themes is the newest of each.

        :param is_own: those of the person at this machine; else of any person, agent or import here
        :param passed: changes to pass over
        """
        where = OF_PERSON if is_own else OF_ANYBODY_HERE
        if themes:
            keys = ", ".join(str(self._store.names.theme_or_none(theme) or 0) for theme in themes)
            where += f" AND (theme_id IN ({keys}) OR entity = '{PLACES}')"  # that choice is one of all themes
        folds: dict[int, ChangeFold] = {}
        for change in self._store.undo.effective_changes(where):
            if change not in passed and not self._store.undo.is_spent(change):
                fold = self.folds.of_row(change)
                folds[fold.first] = fold
                if len(folds) == count:
                    break
        since = max((fold.last for fold in folds.values()), default=0)
        run = self._store.turns.find_newest_run(f"{where} AND seq > {since}")
        return [*([self.folds.of_row(run[1])] if run else []), *folds.values()][:count]

    def undo(self, changes: Iterable[int], *, leaving: bool = False, dry_run: bool = False) -> UndoResult:
        """Undo changes, all or none. A relief that moved one of them is taken back as one, and its files are as before it.

        :param changes: those that are undone already are passed over, if there are others
        :param leaving: skip and report changes that cannot be undone, instead of refusing all
        :raises UndoConflict: NothingToUndo; nothing was changed then, as where a file was changed since the relief
        :raises BackfillUnconfirmed: one of them is of a backfill, which `Turns.take_back` erases
        """
        undo, numbers = self._store.undo, set(changes)
        among = f" AND change IN ({', '.join(map(str, numbers))})"
        if numbers and (run := self._store.turns.find_newest_run(among)) is not None:
            raise errors.BackfillUnconfirmed(f"to undo this erases {self._store.turns.describe_run(run[0])}", run[0])
        copies, moved = self._find_copies(numbers)
        undoable = {
            number for number in numbers | moved if not undo.is_undone(number) and not undo.is_spent(number)
        } or numbers

        def take_back() -> UndoResult:
            with self._store.db.write_transaction():
                done = undo.changes(undoable, leaving=leaving)
                # Before the facts are gone: whatever ends this process, each entry stands somewhere.
                return replace(done, files=self._put_back(copies, dry_run=dry_run))

        with ExitStack() as stack:
            for path in {copy.original: None for copy, _ in copies}:
                stack.enter_context(host_file_lock(path, timeout_s=self._store.db.lock_timeout_s))
            return undo.preview(take_back) if dry_run else take_back()

    def redo(self, theme: str | None = None) -> UndoResult:
        """Redo the newest undo as `Undo.redo`, with the other undos of its action."""
        undo = self._store.undo
        newest = undo.preview(lambda: undo.redo(theme=theme))
        action = self.folds.of_row(newest.undone[0]).changes
        return undo.changes([number for number in action if not undo.is_undone(number)])

    def _find_copies(self, changes: Collection[int]) -> tuple[list[tuple[MemoryFileCopy, set[bytes]]], set[int]]:
        """Return the copies of the reliefs that made changes, newest first, with the facts of each; and all they moved."""
        rows = self._store.db.rows
        moved = {uid for one in changes for _, uid in rows(RELIEF_ROWS.format(column="change"), (one,))}
        if not moved:
            return [], set()
        copies_on_disk = [
            (MemoryFileCopy.of(path), set(map(uids.parse_uid, facts)))
            for path, facts in load_copy_registry(self._store.path)
        ]
        runs = {(copy.path.parent, copy.stamp) for copy, facts in copies_on_disk if moved & facts}
        copies = [(copy, facts) for copy, facts in copies_on_disk if (copy.path.parent, copy.stamp) in runs]
        copies.sort(key=lambda one: one[0].stamp, reverse=True)
        left = {uid for _, facts in copies for uid in facts}
        return copies, {one for uid in left for one, _ in rows(RELIEF_ROWS.format(column="uid"), (uid,))}

    def _put_back(self, copies: list[tuple[MemoryFileCopy, set[bytes]]], *, dry_run: bool) -> tuple[Path, ...]:
        """Put the texts before reliefs back into their files, which are locked; return those that had another text.

        :raises UndoConflict: a file was changed since, and what left it does not stand in it; no file was changed then
        """
        before = {copy.original: read_memory_bytes(copy.original) for copy, _ in copies}
        after, spent = dict(before), list[Path]()
        for copy, facts in copies:
            former = copy.find_former_text(after[copy.original])
            if former is not None:
                after[copy.original] = former
                spent.append(copy.path)
            elif not self._has_contents(after[copy.original], facts):
                whereabouts = f"in {copy.path}" if copy.path.exists() else "no longer kept"
                raise errors.UndoConflict(
                    f"{copy.original} changed since the relief; nothing was taken back: what it moved stays in the memory, "
                    f"the text before it is {whereabouts}",
                    copy.original,
                )
        files = tuple(path for path in after if after[path] != before[path])
        if not dry_run:
            for path in files:
                replace_memory_file(path, after[path], expected=before[path])
            for one in spent:
                one.unlink(missing_ok=True)
        return files

    def _has_contents(self, file: bytes, facts: Collection[bytes]) -> bool:
        """Check whether a file holds the text of each of these facts that is still known."""
        text = " ".join(file.decode("utf-8", "replace").split())
        contents = (self._store.db.value("SELECT content FROM facts WHERE uid = ?", (uid,)) for uid in facts)
        return all(content is None or " ".join(content.split()) in text for content in contents)
