"""`Inspector`: the Textual app. It opens on the main screen, or asks first what to do with an old file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.screen import Screen

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
    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = ["screens/app.tcss", "screens/main.tcss"]
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
        memory: Memory | None,
        theme: str | None = None,
        *,
        old: Path | None = None,
        look: str = looks.DEFAULT_LOOK,
    ) -> None:
        """Show a memory, and close it in the end.

        :param theme: the theme to begin with; all of them when None
        :param old: a file of hermes-memory 0.3.0 to ask about, when there is no memory yet
        """
        super().__init__()
        for one in looks.LOOKS:
            self.register_theme(one)
        self.theme = look
        self.memory = memory
        self._theme_name = theme
        self._old = old
        self._warned = False

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return looks.variable_defaults(self.current_theme.to_color_system().generate())

    def get_default_screen(self) -> Screen[Any]:
        # The first screen itself, not one pushed over a blank one: that would be laid out and painted for nothing.
        if self.memory is not None:
            return self._main(self.memory)
        return super().get_default_screen()

    def on_mount(self) -> None:
        if self.memory is None and self._old is not None:
            from hermes_memory_tui.screens.upgrade import UpgradeScreen

            self.push_screen(UpgradeScreen(self._old, self._theme_name or "default"), self._upgraded)

    def _upgraded(self, memory: Memory | None) -> None:
        if memory is not None:
            self.memory = memory
            self.push_screen(self._main(memory))

    def _main(self, memory: Memory) -> MainScreen:
        return MainScreen(memory, memory.overview(self._theme_name), self._theme_name)

    def action_help(self) -> None:
        from hermes_memory_tui.screens.help import HelpScreen

        panes = [node for node in self.screen.query("*") if node.can_focus and node.display]
        self.push_screen(HelpScreen([self.screen, *panes, self]))

    def action_leave(self) -> None:
        """Quit; with something typed and not saved, only when asked twice."""
        main = next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)
        if main is not None and main.drafts and not self._warned:
            self._warned = True
            self.notify(
                "Something you typed is not saved. Quit again; it is offered at the next start.",
                severity="warning",
                timeout=5,
            )
            return
        self.exit(0)

    def on_unmount(self) -> None:
        if self.memory is not None:
            self.memory.close()
