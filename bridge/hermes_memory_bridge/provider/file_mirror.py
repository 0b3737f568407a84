"""MEMORY.md and USER.md mirrored as facts: which entry became which facts, and how changes propagate both ways.

The file is authoritative. A hook says what a change meant (this entry was replaced by that one), so that the fact
keeps its history; comparing the file finds what no hook reported. Both end in the same state, in any order and
however often.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os

from . import file_entries, provider_settings
from .bridge_line import CallRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Call = Callable[..., tuple[str, dict[str, Any]]]

log = logging.getLogger(__name__)

SESSION = "hermes-agent builtin memory"
"""The session these writes belong to: one of its own, so that entries fall into no agent's present scope."""

STATE = "mirror.json"
LOCK = "mirror.lock"

LONGEST_EDITABLE = 400
"""Characters of a fact that can be edited in place; a longer one is stored in parts."""


CONFIRMING_OPERATIONS = frozenset({"create", "touch", "edit", "warm", "restore", "pin"})
"""Operations with which somebody says that a fact holds."""


class MirrorLocked(Exception):
    """Another process is mirroring this profile."""


class MemoryFileMirror:
    """The mirror of one profile in one theme of one store."""

    def __init__(self, home: str, db: str, theme: str) -> None:
        self.home = home
        self.folder = provider_settings.find_provider_folder(home)
        self.whose = {"db": db, "theme": theme}
        self.held: dict[str, dict[str, list[str]]] = {}
        """Uids of the facts of each entry, by kind and text; none of one that is about to be written, or was refused."""
        self.seen: dict[str, tuple[int, int, int] | None] = {}
        self.gone: dict[str, int] = {}
        self.unchecked: set[str] = set()
        """Kinds that a hook's record has changed since the file was last compared: a record may be older than the file."""
        self._stamp: tuple[int, int, int] | None = None

    def apply(self, call: Call, record: dict[str, Any]) -> None:
        """Apply one change reported by a hook.

        :raises MirrorLocked: another process is mirroring this profile
        :raises BridgeNotReachable: no bridge answers
        :raises BridgeBusy: the bridge cannot process it now
        """
        kind, key = str(record["kind"]), str(record["key"])
        new, old = str(record.get("content") or "").strip(), str(record.get("old") or "")
        if kind not in file_entries.KINDS:
            return
        with self._lock_state():
            self.unchecked.add(kind)
            entries = self.held[kind]
            if record["action"] == "add":
                self._add(call, kind, new, key)
                return
            entry = file_entries.find_meant_entry(entries, old)
            if entry is None or (record["action"] == "replace" and not new):
                return  # unknown or ambiguous here: the file tells what became of it
            if record["action"] == "replace":
                self._replace(call, kind, entry, new, key)
            elif record["action"] == "remove":
                self._remove(call, kind, entry)

    def has_changed(self, kind: str) -> bool:
        """Check whether the file, or what is held of it, has changed since they were last compared."""
        now = file_entries.find_file_signature(file_entries.find_memory_file(self.home, kind))
        if kind in self.seen and self.seen[kind] == now and kind not in self.unchecked:
            return False
        if now is None and os.path.isdir(os.path.join(self.home, "memories")):
            # An editor may take a file away for a moment; a memory that was reset stays away.
            self.gone[kind] = self.gone.get(kind, 0) + 1
            return self.gone[kind] >= 3
        self.gone[kind] = 0
        return now is not None

    def reconcile(self, call: Call, kind: str) -> tuple[int, int]:
        """Bring the facts in line with the file; return how many entries were added and removed.

        :raises MirrorLocked: another process is mirroring this profile
        :raises BridgeNotReachable: no bridge answers
        :raises BridgeBusy: the bridge cannot process it now
        """
        path = file_entries.find_memory_file(self.home, kind)
        with self._lock_state():
            looked = file_entries.find_file_signature(path)
            try:
                present = file_entries.read_memory_entries(path)
            except file_entries.UnreadableMemoryFile as why:
                log.warning("hermes-memory: %s; its facts stay as they are", why)
                self._note_compared(kind, looked)
                return (0, 0)
            mirrored = self.held[kind]
            new = [entry for entry in present if not mirrored.get(entry)]
            removed = [entry for entry in mirrored if entry not in present]
            self._announce(kind, new)
            for entry in new:
                self._add(call, kind, entry, None)
            before = self.seen.get(kind)
            moved = file_entries.find_moved_entries(self.home, kind, before[0] if before else 0) if removed else set()
            for entry in removed:
                if entry in moved:
                    self._forget(kind, entry)
                else:
                    self._remove(call, kind, entry, is_explicit=False)
            self._note_compared(kind, looked)
        return (len(new), len(removed))

    def _note_compared(self, kind: str, looked: tuple[int, int, int] | None) -> None:
        self.seen[kind] = looked
        self.unchecked.discard(kind)

    def _announce(self, kind: str, entries: list[str]) -> None:
        """Save that entries are about to be written: a process that is killed leaves no fact that nobody knows of."""
        unknown: dict[str, list[str]] = {entry: [] for entry in entries if entry not in self.held[kind]}
        if unknown:
            self.held[kind].update(unknown)
            self._save()

    def _add(self, call: Call, kind: str, entry: str, key: str | None) -> None:
        if not entry or self.held[kind].get(entry):
            return
        self._announce(kind, [entry])
        uids: list[str] = []
        for number, line in enumerate(file_entries.to_fact_lines(entry, kind)):
            uids += self._write(call, line, None if key is None else f"{key}-{number}")
        self.held[kind][entry] = uids
        self._save()

    def _write(self, call: Call, line: str, key: str | None) -> list[str]:
        """Write one fact; return the uids it was stored under, none when it was refused."""
        try:
            _, data = call("memory_write", {"content": line, "split": True, "session_id": SESSION}, key)
        except CallRefused as refused:
            log.warning("hermes-memory: an entry was not mirrored: %s", str(refused)[:300])
            return []
        return [str(uid) for uid in data.get("parts") or [data.get("uid")] if uid]

    def _replace(self, call: Call, kind: str, entry: str, new: str, key: str) -> None:
        if new == entry:
            return
        uids = self.held[kind][entry]
        before, after = file_entries.to_fact_lines(entry, kind), file_entries.to_fact_lines(new, kind)
        alone = len(uids) == len(before) == len(after) == 1 and not self._is_shared(kind, entry, uids[0])
        plain = not file_entries.is_notation_line(entry) and not file_entries.is_notation_line(new)
        alike = plain or file_entries.find_line_head(before[0]) == file_entries.find_line_head(after[0])
        content = file_entries.find_line_content(after[0])
        if alone and alike and new not in self.held[kind] and len(content) <= LONGEST_EDITABLE:
            with contextlib.suppress(CallRefused):  # a person purged or archived it: then it is another fact
                call("memory_edit", {"uid": uids[0], "content": content, "session_id": SESSION}, f"{key}-edit")
                self._rename(kind, entry, new)
                return
        self._add(call, kind, new, key)
        self._remove(call, kind, entry)

    def _rename(self, kind: str, entry: str, new: str) -> None:
        self.held[kind] = {new if text == entry else text: uids for text, uids in self.held[kind].items()}
        self._save()

    def _remove(self, call: Call, kind: str, entry: str, *, is_explicit: bool = True) -> None:
        """Archive the facts of a removed entry, and those only.

        :param is_explicit: somebody removed it by name; otherwise it is merely missing from the file, and a fact that
            somebody else wrote too is kept
        """
        lines = file_entries.to_fact_lines(entry, kind)
        # Of an entry whose writing was interrupted, writing it again tells the facts.
        for uid in self.held[kind][entry] or [uid for line in lines for uid in self._write(call, line, None)]:
            if self._is_shared(kind, entry, uid) or (not is_explicit and self._is_others(call, uid)):
                continue
            with contextlib.suppress(CallRefused):  # superseded, archived or purged already
                call("memory_archive", {"uid": uid, "session_id": SESSION}, None)
        heads = set(map(file_entries.find_line_head, lines))
        self._forget(kind, entry)
        self._restore_entry(call, heads)

    def _forget(self, kind: str, entry: str) -> None:
        """Forget a removed entry and keep its facts."""
        del self.held[kind][entry]
        self._save()

    def _restore_entry(self, call: Call, heads: set[str]) -> None:
        """Restore the earlier of two entries about the same target after the later one is gone."""
        for kind in file_entries.KINDS:
            for entry in self.held[kind]:
                lines = file_entries.to_fact_lines(entry, kind)
                if heads.intersection(map(file_entries.find_line_head, lines)):
                    uids = [uid for line in lines for uid in self._write(call, line, None)]
                    self.held[kind][entry] = uids or self.held[kind][entry]
                    self._save()

    def _is_shared(self, kind: str, entry: str, uid: str) -> bool:
        """Check whether another entry is the same fact."""
        return any(
            uid in uids
            for other in file_entries.KINDS
            for text, uids in self.held[other].items()
            if (other, text) != (kind, entry)
        )

    def _is_others(self, call: Call, uid: str) -> bool:
        """Check whether somebody else wrote this fact too; relief of pressure does not count as a writer."""
        try:
            _, data = call("memory_history", {"uid": uid, "limit": 100, "session_id": SESSION}, None)
        except CallRefused:
            return False
        changes = data.get("changes") or []
        return any(
            change.get("op") in CONFIRMING_OPERATIONS and change.get("actor") not in ("relief", f"session:{SESSION}")
            for change in changes
        )

    @contextlib.contextmanager
    def _lock_state(self) -> Iterator[None]:
        """Hold the profile's mirror in its latest state.

        :raises MirrorLocked: another process is mirroring this profile
        """
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        handle = os.open(os.path.join(self.folder, LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise MirrorLocked from error
            self._load()
            yield
        finally:
            os.close(handle)

    def _load(self) -> None:
        path = os.path.join(self.folder, STATE)
        stamp = file_entries.find_file_signature(path)
        if stamp is not None and stamp == self._stamp:
            return
        state = provider_settings.load_json_object(path)
        ours = all(state.get(name) == value for name, value in self.whose.items())
        self.held = {kind: {} for kind in file_entries.KINDS}
        for kind in file_entries.KINDS:
            saved = state.get(kind) if ours else None
            if isinstance(saved, dict):
                self.held[kind] = {
                    text: [str(uid) for uid in uids] for text, uids in saved.items() if isinstance(uids, list)
                }
        self._stamp = stamp

    def _save(self) -> None:
        path = os.path.join(self.folder, STATE)
        provider_settings.write_private_file(path, json.dumps({**self.whose, **self.held}))
        self._stamp = file_entries.find_file_signature(path)
