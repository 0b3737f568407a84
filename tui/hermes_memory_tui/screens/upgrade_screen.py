"""`UpgradeScreen`: choose what to do with a file that hermes-memory 0.3.0 made."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from hermes_memory_store.errors import StoreError
from hermes_memory_tui.dialogs.screen_guard import GuardedScreen
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.key_line import KeyLine

Choice = Literal["upgrade", "read_only", "quit"]


class UpgradeScreen(GuardedScreen[Memory]):
    """Dismissed with the opened memory; the app exits when the person chooses to change nothing."""

    CSS_PATH = "upgrade.tcss"
    BINDING_GROUP_TITLE = "Upgrade"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "choose('upgrade')",
            "Upgrade",
            id="upgrade.do",
            tooltip="Upgrade the file, keeping a backup",
        ),
        Binding("C", "choose('read_only')", "Copy", id="upgrade.read_only", tooltip="Open a copy read-only"),
        Binding("q,escape", "choose('quit')", "Quit", id="upgrade.quit", tooltip="Quit without changes"),
    ]

    def __init__(self, path: Path, theme: str, read_only: bool = False) -> None:
        """Create the screen. :param read_only: offer only the copy"""
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
                    ("C", "bold $accent"),
                    "  open a copy read-only; the file is not changed\n",
                    ("q", "bold $accent"),
                    "  quit; the file is not changed",
                )
            )
            yield self._said
        yield KeyLine()

    def _in_place(self) -> list[str | tuple[str, str]]:
        if self._read_only:
            return []
        return [("⏎", "bold $accent"), "  upgrade in place; a verified backup is written first\n"]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not (self._read_only and action == "choose" and parameters == ("upgrade",))

    def action_choose(self, choice: Choice) -> None:
        if self._busy:
            return
        if choice == "quit":
            self.app.exit(0)
            return
        self._busy = True
        self._update_progress("upgrading …" if choice == "upgrade" else "copying …")
        self.run_worker(partial(self._open, choice), thread=True)

    def _open(self, choice: Choice) -> None:
        from hermes_memory_tui.model.upgrade_on_open import open_upgraded_copy, open_upgraded_in_place

        act = open_upgraded_in_place if choice == "upgrade" else open_upgraded_copy
        try:
            memory = act(self._path, self._theme, self._progress)
        except StoreError as error:
            self.app.call_from_thread(self._show_failure, error)
        else:
            self.app.call_from_thread(self.dismiss, memory)

    def _progress(self, done: int, total: int) -> None:
        self.app.call_from_thread(
            self._update_progress,
            f"{display_formats.format_count(done)} of {display_formats.format_count(total)} facts",
        )

    def _show_failure(self, error: StoreError) -> None:
        self._busy = False
        self._update_progress(str(error), error=True)

    def _update_progress(self, text: str, *, error: bool = False) -> None:
        self._said.update(Content.styled(text, "$error" if error else "$dim"))
