"""`Drafts`: what was typed into editors and not saved, for this run and the next one."""

from __future__ import annotations

from hermes_memory_store.errors import StoreError, UnknownFact
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.system.inspector_state import InspectorState
from hermes_memory_tui.text import display_formats

NEW_FACT = "new"
"""The key of the text of a new fact; that of an edit is the uid of its fact."""

FILE_DRAFT = "file "
"""Begins the key of the text of an entry of a host's file, before its path and a digest of what the entry said."""


class Drafts:
    def __init__(self, memory: Memory, state: InspectorState) -> None:
        self._memory = memory
        self._state = state
        self.unsaved: dict[str, str] = {}
        """Those of this run."""

    @property
    def file(self) -> str:
        """The memory file, as drafts and gathered changes are saved under."""
        return str(self._memory.path.absolute())

    def find(self, key: str) -> str | None:
        return self.unsaved.get(key) or self._state.drafts(self.file).get(key)

    def keep(self, key: str, text: str | None) -> None:
        """Save unsaved text as a draft; delete the draft when None, because the text was saved or discarded."""
        self._state.set_draft(self.file, key, text)

    def close(self, key: str, text: str | None) -> None:
        """Keep what an editor leaves unsaved when it closes."""
        self.keep(key, text)
        if text is None:
            self.unsaved.pop(key, None)
        else:
            self.unsaved[key] = text

    def describe_left(self) -> str:
        """Say which drafts the last exit left; the text for a fact that no longer exists becomes that of a new one."""
        names = []
        for key in self._state.drafts(self.file):
            if key.startswith(FILE_DRAFT):
                names.append(f"an entry of {key.removeprefix(FILE_DRAFT).rpartition(':')[0]} (e in Files)")
                continue
            try:
                names.append(
                    "a new fact (n)" if key == NEW_FACT else f"{display_formats.fact_name(self._memory.fact(key))} (e)"
                )
            except UnknownFact:
                drafts = self._state.drafts(self.file)
                self.keep(NEW_FACT, "\n".join(text for text in (drafts.get(NEW_FACT), drafts[key]) if text))
                self.keep(key, None)
                names.append("text for a fact that no longer exists (n)")
            except StoreError:
                return ""
        return ", ".join(dict.fromkeys(names))

    def forget_erased(self) -> None:
        """Delete the drafts of facts that were erased, since they repeat their content."""
        for key in {*self.unsaved, *self._state.drafts(self.file)} - {NEW_FACT}:
            if key.startswith(FILE_DRAFT):
                continue
            try:
                self._memory.fact(key)
            except UnknownFact:
                self.close(key, None)
            except StoreError:
                return
