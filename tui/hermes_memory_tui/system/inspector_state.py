"""`InspectorState`: what the inspector saves between runs: search history, views, table layout, drafts, gathered changes.

One small JSON file, 0600, replaced atomically, so that a crash leaves the old one. It never blocks the
inspector: an unreadable file counts as empty, a failed write is reported once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.system.filesystem import atomic_write

FILE_NAME = "inspector-state.json"

MAX_LINES = 200
"""Searched lines that are remembered, the newest."""

MAX_VIEWS = 200
"""Saved views."""

MAX_DRAFTS = 50
"""Unsaved texts."""

LONGEST = 4_000
"""Characters of a line or a draft that are kept: what a search reads, and ten times what a fact may hold."""

LARGEST = 4 * 1024 * 1024
"""Bytes of a state file that is still read."""


@dataclass(frozen=True, slots=True)
class GridLayout:
    """How a view's list was left: the title of the column it is sorted by, and in which direction."""

    sort: str = ""
    descending: bool = False


class InspectorState:
    """The state file. Several inspectors may share it: every change applies to the current content of the file."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self.trouble = ""
        """Why the last change could not be written; empty when it was."""
        self._state = self._load()

    @property
    def lines(self) -> list[str]:
        """The search history, oldest first."""
        return [line for line in list_or_empty(self._state.get("lines")) if isinstance(line, str)]

    @property
    def views(self) -> dict[str, str]:
        """The saved search lines by name."""
        return text_entries(self._state.get("views"))

    @property
    def order(self) -> tuple[str, bool] | None:
        """The order of the facts and whether it is descending, or None when none was chosen."""
        order = list_or_empty(self._state.get("order"))
        if len(order) == 2 and isinstance(order[0], str) and isinstance(order[1], bool):
            return order[0], order[1]
        return None

    @property
    def home(self) -> str:
        """The view that opens first, unless the settings name one; empty where none was kept."""
        name = self._state.get("home")
        return name if isinstance(name, str) else ""

    @property
    def commands(self) -> list[str]:
        """The commands that were chosen or typed, as lines, oldest first."""
        return [line for line in list_or_empty(self._state.get("commands")) if isinstance(line, str)]

    @property
    def look(self) -> str | None:
        """The look that was chosen, or None."""
        name = self._state.get("look")
        return name if isinstance(name, str) else None

    def grid_layout(self, view: str) -> GridLayout:
        grids = self._state.get("grids")
        layout = grids.get(view) if isinstance(grids, dict) else None
        if not isinstance(layout, dict):
            return GridLayout()
        return GridLayout(str(layout.get("sort") or ""), layout.get("descending") is True)

    @property
    def hues(self) -> dict[str, int]:
        """The numbers of the colours of themes, by the theme's name."""
        hues = self._state.get("hues")
        entries = hues.items() if isinstance(hues, dict) else ()
        return {name: number for name, number in entries if isinstance(number, int)}

    def set_hues(self, hues: dict[str, int]) -> None:
        """Save the numbers of the colours of themes, of the last `MAX_VIEWS` of them."""
        hues = dict(list(hues.items())[-MAX_VIEWS:])
        if hues != self.hues and not self.read_only:
            self._change(lambda state: state.update(hues=hues))

    def drafts(self, of: str) -> dict[str, str]:
        """Return the drafts of one memory file, by the fact they belong to."""
        drafts = self._state.get("drafts")
        return text_entries(drafts.get(of)) if isinstance(drafts, dict) else {}

    def basket(self, of: str) -> list[Any]:
        """Return the gathered changes for one memory file, as they were saved."""
        baskets = self._state.get("baskets")
        return list_or_empty(baskets.get(of)) if isinstance(baskets, dict) else []

    def set_basket(self, of: str, changes: list[Any]) -> None:
        """Save the gathered changes for one memory file."""

        def put(state: dict[str, Any]) -> None:
            baskets = state["baskets"] if isinstance(state.get("baskets"), dict) else {}
            state["baskets"] = {other: basket for other, basket in baskets.items() if other != of}
            if changes:
                state["baskets"][of] = changes

        self._change(put)

    def add_line(self, line: str) -> None:
        """Add a line to the search history; a repeated line becomes the newest."""
        self._add_to("lines", line)

    def add_command(self, line: str) -> None:
        """Add a line to the commands; a repeated line becomes the newest."""
        self._add_to("commands", line)

    def _add_to(self, history: str, line: str) -> None:
        if line and list_or_empty(self._state.get(history))[-1:] != [line]:
            # This run remembers it even where nothing may be written.
            self._state[history] = append_line(self._state.get(history), line)
            self._change(lambda state: state.update({history: append_line(state.get(history), line)}))

    def set_look(self, name: str) -> None:
        self._change(lambda state: state.update(look=name))

    def save_view(self, name: str, line: str) -> None:
        def add(state: dict[str, Any]) -> None:
            views = text_entries(state.get("views")) | {name: line[:LONGEST]}
            state["views"] = dict(list(views.items())[-MAX_VIEWS:])

        self._change(add)

    def remove_view(self, name: str) -> None:
        self._change(
            lambda state: state.update(views={k: v for k, v in text_entries(state.get("views")).items() if k != name})
        )

    def set_order(self, order: str, descending: bool) -> None:
        self._change(lambda state: state.update(order=[order, descending]))

    def set_home(self, view: str) -> None:
        """Save which view opens first."""
        self._change(lambda state: state.update(home=view))

    def set_grid_layout(self, view: str, layout: GridLayout) -> None:
        def put(state: dict[str, Any]) -> None:
            grids = state["grids"] if isinstance(state.get("grids"), dict) else {}
            state["grids"] = grids | {view: asdict(layout)}

        self._change(put)

    def set_draft(self, of: str, key: str, text: str | None) -> None:
        """Save a draft, or delete it when None: the text was saved or discarded."""
        if text is None and key not in self.drafts(of):
            return

        def put(state: dict[str, Any]) -> None:
            all_drafts = state["drafts"] if isinstance(state.get("drafts"), dict) else {}
            drafts = {other: draft for other, draft in text_entries(all_drafts.get(of)).items() if other != key}
            if text is not None:
                drafts[key] = text[:LONGEST]
            state["drafts"] = all_drafts | {of: dict(list(drafts.items())[-MAX_DRAFTS:])}

        self._change(put)

    def _change(self, act: Callable[[dict[str, Any]], None]) -> None:
        if self.read_only:
            self.trouble = "the memory is open read-only"
            return
        state = self._load()
        act(state)
        self._state = state
        try:
            self._save(state)
        except OSError as error:
            self.trouble = f"cannot write {self.path}: {error.strerror or error}"
        else:
            self.trouble = ""

    def _load(self) -> dict[str, Any]:
        try:
            if self.path.stat().st_size > LARGEST:
                return {}
            state = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return state if isinstance(state, dict) else {}

    def _save(self, state: dict[str, Any]) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with atomic_write(self.path, encoding="utf-8", encoding_errors="replace", durable=False) as file:
            json.dump(state, file, ensure_ascii=False, indent=1)


def append_line(lines: object, line: str) -> list[str]:
    """Return the search history with a line moved or appended to its end."""
    earlier = [other for other in list_or_empty(lines) if isinstance(other, str) and other != line]
    return [*earlier, line[:LONGEST]][-MAX_LINES:]


def list_or_empty(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text_entries(value: object) -> dict[str, str]:
    """Return the named texts of the state file, without entries that are not text."""
    if not isinstance(value, dict):
        return {}
    return {name: text for name, text in value.items() if isinstance(name, str) and isinstance(text, str)}
