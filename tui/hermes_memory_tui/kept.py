"""`Kept`: what the inspector remembers between runs: lines that were searched for, saved views, how the table looks, drafts.

One small JSON file, 0600, replaced whole, so that a crash leaves the old one. Nothing of it matters enough to stop anybody:
a file that cannot be read counts as empty, one that cannot be written is said once and the inspector goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_memory_store.filesystem import atomic_write

FILE_NAME = "inspector-state.json"

MOST_LINES = 200
"""Searched lines that are remembered, the newest."""

MOST_VIEWS = 200
"""Saved views."""

MOST_DRAFTS = 50
"""Unsaved texts."""

LONGEST = 4_000
"""Characters of a line or a draft that are kept: what a search reads, and ten times what a fact may hold."""

LARGEST = 4 * 1024 * 1024
"""Bytes of a state file that is still read."""


class Kept:
    """The state file. Several inspectors may share it: every change is made to what the file says then."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self.trouble = ""
        """Why the last change could not be written; empty when it was."""
        self._said = self._read()

    @property
    def lines(self) -> list[str]:
        """What was searched for, oldest first."""
        return [line for line in listed(self._said.get("lines")) if isinstance(line, str)]

    @property
    def views(self) -> dict[str, str]:
        """Saved search lines by name."""
        return texts(self._said.get("views"))

    @property
    def columns(self) -> list[str] | None:
        """Names of the table's columns; None when nobody chose any."""
        said = self._said.get("columns")
        return None if said is None else [name for name in listed(said) if isinstance(name, str)]

    @property
    def order(self) -> tuple[str, bool] | None:
        """The order of the facts, and whether it is descending; None when nobody chose one."""
        said = listed(self._said.get("order"))
        if len(said) == 2 and isinstance(said[0], str) and isinstance(said[1], bool):
            return said[0], said[1]
        return None

    def drafts(self, of: str) -> dict[str, str]:
        """Unsaved texts of one memory file, by the fact they belong to."""
        said = self._said.get("drafts")
        return texts(said.get(of)) if isinstance(said, dict) else {}

    def add_line(self, line: str) -> None:
        """Remember what was searched for; the same line again becomes the newest."""
        if line and (not self.lines or self.lines[-1] != line):
            lines = [other for other in self.lines if other != line] + [line[:LONGEST]]
            # This run remembers it even where nothing may be written.
            self._said["lines"] = lines[-MOST_LINES:]
            self._change(lambda said: said.update(lines=joined(said.get("lines"), line)))

    def save_view(self, name: str, line: str) -> None:
        """Save a search line under a name; one of that name is replaced."""

        def add(said: dict[str, Any]) -> None:
            views = texts(said.get("views")) | {name: line[:LONGEST]}
            said["views"] = dict(list(views.items())[-MOST_VIEWS:])

        self._change(add)

    def remove_view(self, name: str) -> None:
        """Forget a saved view."""
        self._change(lambda said: said.update(views={k: v for k, v in texts(said.get("views")).items() if k != name}))

    def set_columns(self, names: list[str]) -> None:
        """Keep the table's columns."""
        self._change(lambda said: said.update(columns=names))

    def set_order(self, order: str, descending: bool) -> None:
        """Keep the order of the facts."""
        self._change(lambda said: said.update(order=[order, descending]))

    def set_draft(self, of: str, key: str, text: str | None) -> None:
        """Keep an unsaved text; None when it was saved or given up."""
        if text is None and key not in self.drafts(of):
            return

        def put(said: dict[str, Any]) -> None:
            all_drafts = said["drafts"] if isinstance(said.get("drafts"), dict) else {}
            drafts = {other: kept for other, kept in texts(all_drafts.get(of)).items() if other != key}
            if text is not None:
                drafts[key] = text[:LONGEST]
            said["drafts"] = all_drafts | {of: dict(list(drafts.items())[-MOST_DRAFTS:])}

        self._change(put)

    def _change(self, act: Callable[[dict[str, Any]], None]) -> None:
        if self.read_only:
            self.trouble = "the memory is open for reading only, so nothing is kept"
            return
        said = self._read()
        act(said)
        self._said = said
        try:
            self._write(said)
        except OSError as error:
            self.trouble = f"{self.path} cannot be written: {error.strerror or error}"
        else:
            self.trouble = ""

    def _read(self) -> dict[str, Any]:
        try:
            if self.path.stat().st_size > LARGEST:
                return {}
            said = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return said if isinstance(said, dict) else {}

    def _write(self, said: dict[str, Any]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with atomic_write(self.path, encoding="utf-8", encoding_errors="replace", durable=False) as file:
            json.dump(said, file, ensure_ascii=False, indent=1)


def joined(lines: object, line: str) -> list[str]:
    """Remembered lines with another one at their end."""
    kept = [other for other in listed(lines) if isinstance(other, str) and other != line]
    return [*kept, line[:LONGEST]][-MOST_LINES:]


def listed(said: object) -> list[Any]:
    """A list of a state file; empty when it is something else."""
    return said if isinstance(said, list) else []


def texts(said: object) -> dict[str, str]:
    """Named texts of a state file, without what is none."""
    if not isinstance(said, dict):
        return {}
    return {name: text for name, text in said.items() if isinstance(name, str) and isinstance(text, str)}
