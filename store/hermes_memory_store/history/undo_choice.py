"""Choose what an undo takes back: the newest actions in a theme, each whole, with the files that a relief replaced.

A person's action may be several changes of the journal: the batches of an import, the entries that a relief moved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from hermes_memory_store import errors, uids
from hermes_memory_store.history.change_folds import ChangeFold, ChangeFolds
from hermes_memory_store.host_files.memory_file_copies import MemoryFileCopy, load_copy_registry
from hermes_memory_store.host_files.memory_files import host_file_lock, read_memory_bytes
from hermes_memory_store.model import IMPORT, PERSON, Actor, Change, UndoResult
from hermes_memory_store.rows.project_rows import PLACES
from hermes_memory_store.store import Store

OF_KINDS = " AND actor_id IN (SELECT id FROM actors WHERE kind IN ({kinds}))"
"""What came from other machines, or was done by relief alone, is not what anybody means by the newest change."""

NOT_OF_AGENTS = " AND coalesce(origin_id, 0) NOT IN (SELECT id FROM origins WHERE session IS NOT NULL)"
"""An agent's `memory_optimize` imports, too."""

RELIEF_ROWS = """
    SELECT DISTINCT j.change, j.uid FROM journal j JOIN origins o ON o.id = j.origin_id
    WHERE j.{column} = ? AND j.entity = 'fact' AND j.undoes IS NULL AND o.way = 'relief'
"""


class UndoChoice:
    """Find the actions that an undo takes back, and take them back."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @staticmethod
    def is_own(change: Change) -> bool:
        """Check whether a row of the journal is of the person at this machine, and not of an agent or another machine."""
        return change.actor.kind in (PERSON.kind, IMPORT.kind) and change.origin.session is None

    def newest(
        self, themes: Collection[str] = (), count: int = 1, *, is_own: bool = True, passed: Collection[int] = ()
    ) -> list[ChangeFold]:
        """Return the newest actions that hold in some themes, or in all; one of several themes is the newest of each.

        :param is_own: those of the person at this machine; else of any person, agent or import here
        :param passed: changes to pass over
        """
        where = OF_KINDS.format(kinds="'person', 'import'") + NOT_OF_AGENTS if is_own else ""
        where = where or OF_KINDS.format(kinds="'person', 'import', 'session'")
        if themes:
            keys = ", ".join(str(self._store.names.theme_or_none(one) or 0) for one in themes)
            where += f" AND (theme_id IN ({keys}) OR entity = '{PLACES}')"  # that choice is one of all themes
        folds, found = ChangeFolds(self._store), dict[int, ChangeFold]()
        for change in self._store.undo.effective_changes(where):
            if change not in passed and not self._store.undo.is_spent(change):
                fold = folds.of_row(change)
                found[fold.first] = fold
                if len(found) == count:
                    break
        return list(found.values())

    def undo(
        self, changes: Iterable[int], *, actor: Actor = PERSON, leaving: bool = False, dry_run: bool = False
    ) -> UndoResult:
        """Undo changes, all or none. A relief that moved one of them is taken back as one, and its files are as before it.

        :param changes: those that are undone already are passed over, if there are others
        :param leaving: skip and report changes that cannot be undone, instead of refusing all
        :raises UndoConflict: NothingToUndo; nothing was changed then, as where a file was changed since the relief
        """
        undo, given = self._store.undo, set(changes)
        copies, moved = self._find_copies(given)
        wanted = {one for one in given | moved if not undo.is_undone(one) and not undo.is_spent(one)} or given

        def take_back() -> UndoResult:
            with self._store.db.write_transaction():
                done = undo.changes(wanted, actor=actor, leaving=leaving)
                # Before the facts are gone: whatever ends this process, each entry stands somewhere.
                files = [self._put_back(copy, facts, dry_run=dry_run) for copy, facts in copies]
                return replace(done, files=tuple(dict.fromkeys(filter(None, files))))

        with ExitStack() as stack:
            for path in {copy.original: None for copy, _ in copies}:
                stack.enter_context(host_file_lock(path, timeout_s=self._store.db.lock_timeout_s))
            return undo.preview(take_back) if dry_run else take_back()

    def _find_copies(self, changes: Collection[int]) -> tuple[list[tuple[MemoryFileCopy, list[str]]], set[int]]:
        """Return the copies of the reliefs that made changes, newest first, with the facts of each; and all they moved."""
        rows = self._store.db.rows
        moved = {
            uids.format_uid(uid) for one in changes for _, uid in rows(RELIEF_ROWS.format(column="change"), (one,))
        }
        known = (
            [(MemoryFileCopy.of(path), facts) for path, facts in load_copy_registry(self._store.path)] if moved else []
        )
        runs = {(copy.path.parent, copy.stamp) for copy, facts in known if not moved.isdisjoint(facts)}
        copies = [(copy, facts) for copy, facts in known if (copy.path.parent, copy.stamp) in runs]
        copies.sort(key=lambda one: one[0].stamp, reverse=True)
        left = {uids.parse_uid(uid) for _, facts in copies for uid in facts}
        return copies, {one for uid in left for one, _ in rows(RELIEF_ROWS.format(column="uid"), (uid,))}

    def _put_back(self, copy: MemoryFileCopy, facts: Collection[str], *, dry_run: bool) -> Path | None:
        """Put the text before a relief back into its file, which is locked; return the file, unless it has the text already.

        :raises UndoConflict: the file was changed since, and what left it does not stand in it
        """
        state = copy.restore(dry_run=dry_run)
        if state != "changed":
            return copy.original if state == "restored" else None
        text = " ".join(read_memory_bytes(copy.original).decode("utf-8", "replace").split())
        sql = "SELECT content FROM facts WHERE uid = ?"
        contents = [self._store.db.value(sql, (uids.parse_uid(uid),)) for uid in facts]
        if all(content is None or " ".join(content.split()) in text for content in contents):
            return None
        kept = f"the text before it is in {copy.path}" if copy.path.exists() else "the text before it is no longer kept"
        raise errors.UndoConflict(
            f"{copy.original} changed since the relief; nothing was taken back: what it moved stays in the memory, {kept}",
            copy.original,
        )
