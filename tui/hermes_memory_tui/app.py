"""The inspector: opens a memory and shows it.

Import this module instead of `textual` first: how often Textual draws is read from the environment when it is imported.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

os.environ.setdefault("TEXTUAL_FPS", "120")

from hermes_memory_store.errors import StoreError, StoreNeedsUpgrade
from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import Provider

from hermes_memory_tui import looks
from hermes_memory_tui.memory import Memory
from hermes_memory_tui.screens.main import MainScreen


def commands() -> type[Provider]:
    """The palette's provider, imported when the palette is opened."""
    from hermes_memory_tui.commands import Commands

    return Commands


class Inspector(App[int]):
    """One memory on the screen. The exit value is the exit code."""

    TITLE = "hermes-memory-tui"
    CSS_PATH = "screens/app.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", "Next pane", id="app.next", tooltip="To the next pane", show=False),
        Binding(
            "shift+tab", "app.focus_previous", "Previous pane", id="app.previous", tooltip="Back a pane", show=False
        ),
        Binding("question_mark", "help", "Help", id="app.help", key_display="?", tooltip="All keys"),
        Binding(
            "ctrl+p,colon", "command_palette", "Commands", id="app.palette", tooltip="Find anything that can be done"
        ),
        Binding("q,ctrl+q", "leave", "Quit", id="app.quit", tooltip="Quit", show=False),
    ]

    def __init__(
        self,
        path: str | Path | None = None,
        theme: str | None = None,
        *,
        read_only: bool = False,
        memory: Memory | None = None,
        look: str = looks.DEFAULT_LOOK,
    ) -> None:
        """:param memory: an open one, instead of opening `path`; the app closes it all the same"""
        super().__init__()
        for one in looks.LOOKS:
            self.register_theme(one)
        self.theme = look
        self._path = path
        self._theme_name = theme
        self._read_only = read_only
        self.memory = memory
        self._warned = False

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return looks.variable_defaults(self.current_theme.to_color_system().generate())

    def on_mount(self) -> None:
        if self.memory is None:
            try:
                self.memory = Memory.open(self._path, read_only=self._read_only)
            except StoreNeedsUpgrade as error:
                self._ask_for_upgrade(Path(str(error.value)))
                return
        self._show()

    def _show(self) -> None:
        assert self.memory is not None
        self.push_screen(MainScreen(self.memory, self.memory.overview(), self._theme_name))

    def _ask_for_upgrade(self, path: Path) -> None:
        from hermes_memory_tui.screens.upgrade import UpgradeScreen

        self.push_screen(UpgradeScreen(path, self._theme_name or "default"), self._upgraded)

    def _upgraded(self, memory: Memory | None) -> None:
        self.memory = memory
        self._show()

    def action_help(self) -> None:
        from hermes_memory_tui.screens.help import HelpScreen

        panes = [node for node in self.screen.query("*") if node.can_focus and node.display]
        self.push_screen(HelpScreen([self.screen, *panes, self]))

    def action_leave(self) -> None:
        """Quit; with something typed and not saved, only when asked twice."""
        main = next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)
        if main is not None and main.drafts and not self._warned:
            self._warned = True
            self.notify("Something you typed is not saved. Quit again to throw it away.", severity="warning", timeout=5)
            return
        self.exit(0)

    def on_unmount(self) -> None:
        if self.memory is not None:
            self.memory.close()


def run_inspector(db_path: str | Path | None = None, theme: str | None = None, read_only: bool = False) -> int:
    """Show a memory until the person quits; the exit code.

    :param db_path: the file; `$HERMES_MEMORY_DB`, else `~/.hermes/memory.db`; created when there is none
    :param theme: the theme to begin with; all of them when None
    :param read_only: change nothing, and create nothing
    """
    if os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        print("hermes-memory-tui needs a terminal; its commands do not: see hermes-memory-tui --help", file=sys.stderr)
        return 1
    memory = None
    try:
        memory = Memory.open(db_path, read_only=read_only)
    except StoreNeedsUpgrade:
        pass
    except StoreError as error:
        print(f"hermes-memory-tui: {error}", file=sys.stderr)
        return 1
    # The collector would run several times while everything is being made and nothing is garbage yet.
    gc.disable()
    app = Inspector(db_path, theme, read_only=read_only, memory=memory)
    app.call_after_refresh(settle)
    app.run()
    return app.return_value if app.return_value is not None else app.return_code or 0


def settle() -> None:
    """After the first paint: what is there now stays, and need not be looked through again."""
    gc.collect()
    gc.freeze()
    gc.enable()
