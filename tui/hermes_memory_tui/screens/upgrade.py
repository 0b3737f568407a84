"""`UpgradeScreen`: what to do with a file that hermes-memory 0.3.0 made."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from hermes_memory_store.errors import StoreError
from hermes_memory_tui import shown
from hermes_memory_tui.memory import Memory
from hermes_memory_tui.screens.selection import Selection
from hermes_memory_tui.widgets.key_line import KeyLine

Choice = Literal["upgrade", "read_only", "quit"]


class UpgradeScreen(Selection, Screen[Memory]):
    """Dismissed with the opened memory; the app ends when the person would rather leave everything as it is."""

    CSS_PATH = "upgrade.tcss"
    BINDING_GROUP_TITLE = "Upgrade"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "choose('upgrade')",
            "Upgrade",
            id="upgrade.do",
            tooltip="Upgrade the file; a backup stays beside it",
        ),
        Binding("r", "choose('read_only')", "Read only", id="upgrade.read_only", tooltip="Look at a copy of it"),
        Binding("q,escape", "choose('quit')", "Quit", id="upgrade.quit", tooltip="Leave everything as it is"),
    ]

    def __init__(self, path: Path, theme: str, read_only: bool = False) -> None:
        """:param read_only: offer the copy alone"""
        super().__init__()
        self._read_only = read_only
        self._path = path
        self._theme = theme
        self._busy = False
        self._said = Static("", id="upgrade-said", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="upgrade"):
            yield Static(
                Content.assemble(
                    ("This memory was made by hermes-memory 0.3.0", "bold"),
                    f"\n{self._path}\n\n",
                    *self._in_place(),
                    ("r", "bold $accent"),
                    "  opens a copy for reading; the file stays as it is\n",
                    ("q", "bold $accent"),
                    "  quits; the file stays as it is",
                )
            )
            yield self._said
        yield KeyLine()

    def _in_place(self) -> list[str | tuple[str, str]]:
        if self._read_only:
            return []
        return [("⏎", "bold $accent"), "  upgrades it in place; a verified backup is written beside it first\n"]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not (self._read_only and action == "choose" and parameters == ("upgrade",))

    def action_choose(self, choice: Choice) -> None:
        if self._busy:
            return
        if choice == "quit":
            self.app.exit(0)
            return
        self._busy = True
        self._say("upgrading …" if choice == "upgrade" else "copying …")
        self.run_worker(partial(self._open, choice), thread=True)

    def _open(self, choice: Choice) -> None:
        from hermes_memory_tui.upgrading import copy_for_reading, upgraded_in_place

        act = upgraded_in_place if choice == "upgrade" else copy_for_reading
        try:
            memory = act(self._path, self._theme, self._progress)
        except StoreError as error:
            self.app.call_from_thread(self._failed, error)
        else:
            self.app.call_from_thread(self.dismiss, memory)

    def _progress(self, done: int, total: int) -> None:
        self.app.call_from_thread(self._say, f"{shown.count(done)} of {shown.count(total)} facts")

    def _failed(self, error: StoreError) -> None:
        self._busy = False
        self._say(str(error), error=True)

    def _say(self, text: str, *, error: bool = False) -> None:
        self._said.update(Content.styled(text, "$error" if error else "$dim"))
