"""Edits of hosts' memory files, journaled, and entries moved between a file and the memory: each is undone as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes_memory_store import errors
from hermes_memory_store.host_files.file_changes import FILE, describe_file_change, replace_text_file
from hermes_memory_store.host_files.host_memory import HostFile
from hermes_memory_store.host_files.memory_entries import (
    FileEntry,
    append_file_entry,
    remove_file_entry,
    replace_file_entry,
)
from hermes_memory_store.items.journal import JournalEntry
from hermes_memory_store.items.name_keys import to_theme_name
from hermes_memory_store.model import PERSON, ChangeResult, Fact, WriteResult
from hermes_memory_store.uids import new_uid

if TYPE_CHECKING:
    from hermes_memory_store.store import Store


class HostEdits:
    def __init__(self, store: Store, theme: str) -> None:
        """:param theme: whose journal has the edits: that of the working folder"""
        self._store = store
        self._theme = to_theme_name(theme)

    def edit(self, file: HostFile, entry: FileEntry, wording: str) -> ChangeResult:
        """Give an entry another wording. :raises Conflict: the file has changed; ArgumentError: it would not be one entry"""
        return self._change(file, "edit", replace_file_entry(file.text, entry, wording, file.form))

    def remove(self, file: HostFile, entry: FileEntry) -> ChangeResult:
        return self._change(file, "withdraw", remove_file_entry(file.text, entry, file.form))

    def move_to_memory(self, file: HostFile, entry: FileEntry, write: Callable[[Store], WriteResult]) -> WriteResult:
        """Write a fact in place of an entry, which leaves its file only when the fact is on the disk.

        :raises ArgumentError: the fact would be held for review, and nobody would be given it meanwhile
        """

        written: list[WriteResult] = []

        def write_fact() -> None:
            written.append(write(self._store))
            if written[0].status == "quarantined":
                raise errors.ArgumentError("the fact would wait in Review; the entry was left in its file", entry.text)

        self._change(file, "move", remove_file_entry(file.text, entry, file.form), write_fact)
        return written[0]

    def append_fact(self, file: HostFile, fact: Fact, *, keeps: bool) -> ChangeResult:
        """Add what a fact says to a file. :param keeps: leave the fact as it is; else it is archived"""
        after = append_file_entry(file.text, fact.content, file.form)
        if keeps:
            return self._change(file, "edit", after)
        return self._change(file, "move", after, lambda: self._store.facts.archive([fact.uid]), is_first=True)

    def _change(
        self, file: HostFile, op: str, after: str, act: Callable[[], object] | None = None, *, is_first: bool = False
    ) -> ChangeResult:
        """Record a change and what belongs to it, and write the file: whatever ends this process, each text stands somewhere.

        :param is_first: the file is written before the rest is on the disk, not after it
        """
        if file.path.read_bytes() != file.content:
            raise errors.Conflict(
                f"{file.label} was changed by another program meanwhile; it was left alone", file.path
            )
        store, words = self._store, describe_file_change(file.path, file.text, after)
        with store.journal.join_changes() as conn:
            if act is not None:
                act()
            now = store.journal.now(conn)
            theme_id = store.names.theme_for_writing(conn, self._theme, now)
            entry = JournalEntry(op, FILE, new_uid(now), theme_id, *words)
            seqs = store.journal.append(conn, [entry], actor=PERSON, at=now)
            if is_first:
                replace_text_file(file.path, after.encode(), expected=file.content)
        if not is_first:
            try:
                replace_text_file(file.path, after.encode(), expected=file.content)
            except errors.StoreError:
                store.undo.change(seqs[0], unwritten=file.path)
                raise
        return ChangeResult((), seqs)
