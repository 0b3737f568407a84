"""MEMORY.md and USER.md as facts: which entry became which facts, and how a change of one becomes a change of the other.

The file is the truth. A hook tells what a change meant (this entry was replaced by that one), so that the fact keeps its
history; looking at the file tells what no hook did. Both end in the same state, whichever comes first and however often.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os

from . import entries, settings
from .line import Refused

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

LONGEST = 400
"""Characters of a fact that can be edited in place; a longer one is stored in parts."""


SAYING = frozenset({"create", "touch", "edit", "warm", "restore", "pin"})
"""Operations with which somebody says that a fact holds."""


class Busy(Exception):
    """Another process mirrors this profile just now."""


class Mirror:
    """What is mirrored of one profile into one theme of one store."""

    def __init__(self, home: str, db: str, theme: str) -> None:
        self.home = home
        self.folder = settings.folder_of(home)
        self.whose = {"db": db, "theme": theme}
        self.held: dict[str, dict[str, list[str]]] = {}
        """Uids of the facts of each entry, by kind and text."""
        self.seen: dict[str, tuple[int, int, int] | None] = {}
        self.gone: dict[str, int] = {}
        self._stamp: tuple[int, int, int] | None = None

    def carry_out(self, call: Call, record: dict[str, Any]) -> None:
        """One change that a hook told. :raises Busy: Unreachable, Later"""
        kind, key = str(record["kind"]), str(record["key"])
        new, old = str(record.get("content") or "").strip(), str(record.get("old") or "")
        if kind not in entries.KINDS:
            return
        with self._locked():
            known = self.held[kind]
            if record["action"] == "add":
                self._add(call, kind, new, key)
                return
            entry = entries.meant(known, old)
            if entry is None or (record["action"] == "replace" and not new):
                return  # unknown or ambiguous here: the file tells what became of it
            if record["action"] == "replace":
                self._replace(call, kind, entry, new, key)
            elif record["action"] == "remove":
                self._remove(call, kind, entry)

    def changed(self, kind: str) -> bool:
        """Whether the file is another one than when it was last looked at."""
        now = entries.signature(entries.path_of(self.home, kind))
        if kind in self.seen and self.seen[kind] == now:
            return False
        if now is None and os.path.isdir(os.path.join(self.home, "memories")):
            # An editor may take a file away for a moment; a memory that was reset stays away.
            self.gone[kind] = self.gone.get(kind, 0) + 1
            return self.gone[kind] >= 3
        self.gone[kind] = 0
        return now is not None

    def reconcile(self, call: Call, kind: str) -> tuple[int, int]:
        """Bring the facts to what the file says; how many entries came and went.

        :raises Busy: Unreachable, Later
        """
        path = entries.path_of(self.home, kind)
        with self._locked():
            looked = entries.signature(path)
            try:
                said = entries.read(path)
            except entries.Unreadable as why:
                log.warning("hermes-memory: %s; its facts stay as they are", why)
                self.seen[kind] = looked
                return (0, 0)
            known = self.held[kind]
            new = [entry for entry in said if entry not in known]
            gone = [entry for entry in known if entry not in said]
            for entry in new:
                self._add(call, kind, entry, None)
            before = self.seen.get(kind)
            moved = entries.moved(self.home, kind, before[0] if before else 0) if gone else set()
            for entry in gone:
                if entry in moved:
                    self._forget(kind, entry)
                else:
                    self._remove(call, kind, entry, asked=False)
            self.seen[kind] = looked
        return (len(new), len(gone))

    def _add(self, call: Call, kind: str, entry: str, key: str | None) -> None:
        if not entry or entry in self.held[kind]:
            return
        uids: list[str] = []
        for number, line in enumerate(entries.lines(entry, kind)):
            uids += self._write(call, line, None if key is None else f"{key}-{number}")
        self.held[kind][entry] = uids
        self._save()

    def _write(self, call: Call, line: str, key: str | None) -> list[str]:
        """Write one fact; the uids it was stored under, none when it was refused."""
        try:
            _, data = call("memory_write", {"content": line, "split": True, "session_id": SESSION}, key)
        except Refused as refused:
            log.warning("hermes-memory: an entry was not mirrored: %s", str(refused)[:300])
            return []
        return [str(uid) for uid in data.get("parts") or [data.get("uid")] if uid]

    def _replace(self, call: Call, kind: str, entry: str, new: str, key: str) -> None:
        if new == entry:
            return
        uids = self.held[kind][entry]
        before, after = entries.lines(entry, kind), entries.lines(new, kind)
        alone = len(uids) == len(before) == len(after) == 1 and not self._shared(kind, entry, uids[0])
        plain = not entries.is_notation(entry) and not entries.is_notation(new)
        alike = plain or entries.head(before[0]) == entries.head(after[0])
        said = entries.content(after[0])
        if alone and alike and new not in self.held[kind] and len(said) <= LONGEST:
            with contextlib.suppress(Refused):  # a person purged or archived it: then it is another fact
                call("memory_edit", {"uid": uids[0], "content": said, "session_id": SESSION}, f"{key}-edit")
                self._rename(kind, entry, new)
                return
        self._add(call, kind, new, key)
        self._remove(call, kind, entry)

    def _rename(self, kind: str, entry: str, new: str) -> None:
        self.held[kind] = {new if held == entry else held: uids for held, uids in self.held[kind].items()}
        self._save()

    def _remove(self, call: Call, kind: str, entry: str, *, asked: bool = True) -> None:
        """An entry is gone: archive its facts, and those only.

        :param asked: somebody removed it by name; else it is merely gone from the file, and a fact that somebody else
            said too is kept
        """
        for uid in self.held[kind][entry]:
            if self._shared(kind, entry, uid) or (not asked and self._is_others(call, uid)):
                continue
            with contextlib.suppress(Refused):  # superseded, archived or purged already
                call("memory_archive", {"uid": uid, "session_id": SESSION}, None)
        heads = {entries.head(line) for line in entries.lines(entry, kind)}
        self._forget(kind, entry)
        self._bring_back(call, heads)

    def _forget(self, kind: str, entry: str) -> None:
        """An entry is gone; its facts stand for themselves."""
        del self.held[kind][entry]
        self._save()

    def _bring_back(self, call: Call, heads: set[str]) -> None:
        """Of two entries about the same target the later one stood; now that it is gone, the other one does."""
        for kind in entries.KINDS:
            for entry in self.held[kind]:
                said = entries.lines(entry, kind)
                if heads.intersection(map(entries.head, said)):
                    uids = [uid for line in said for uid in self._write(call, line, None)]
                    self.held[kind][entry] = uids or self.held[kind][entry]
                    self._save()

    def _shared(self, kind: str, entry: str, uid: str) -> bool:
        """Whether another entry is the same fact."""
        return any(
            uid in uids
            for other in entries.KINDS
            for text, uids in self.held[other].items()
            if (other, text) != (kind, entry)
        )

    def _is_others(self, call: Call, uid: str) -> bool:
        """Whether somebody else has said this fact too; relief of pressure says nothing."""
        try:
            _, data = call("memory_history", {"uid": uid, "limit": 100, "session_id": SESSION}, None)
        except Refused:
            return False
        changes = data.get("changes") or []
        return any(
            one.get("op") in SAYING and one.get("actor") not in ("relief", f"session:{SESSION}") for one in changes
        )

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the profile's mirror, in its newest state. :raises Busy:"""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        handle = os.open(os.path.join(self.folder, LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Busy from error
            self._load()
            yield
        finally:
            os.close(handle)

    def _load(self) -> None:
        path = os.path.join(self.folder, STATE)
        stamp = entries.signature(path)
        if stamp is not None and stamp == self._stamp:
            return
        state = settings.read(path)
        ours = all(state.get(name) == value for name, value in self.whose.items())
        self.held = {kind: {} for kind in entries.KINDS}
        for kind in entries.KINDS:
            known = state.get(kind) if ours else None
            if isinstance(known, dict):
                self.held[kind] = {
                    text: [str(uid) for uid in uids] for text, uids in known.items() if isinstance(uids, list)
                }
        self._stamp = stamp

    def _save(self) -> None:
        path = os.path.join(self.folder, STATE)
        settings.write(path, json.dumps({**self.whose, **self.held}))
        self._stamp = entries.signature(path)
