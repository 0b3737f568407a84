"""`Inspector`: the Textual app. It opens on the main screen, or asks first what to do with an old file."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from sqlite3 import ProgrammingError
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual._context import active_message_pump
from textual.app import App, ScreenStackError
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.css.query import NoMatches
from textual.dom import NoScreen
from textual.errors import NoWidget
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import NoActiveWorker, WorkerFailed, get_current_worker

from hermes_memory_store.frozen import dataclass
from hermes_memory_tui import looks
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.memory import Memory
from hermes_memory_tui.screens.main import MainScreen
from hermes_memory_tui.views import BY_NAME, CATALOG, FACTS, START

if TYPE_CHECKING:
    from textual.driver import Driver

    from hermes_memory_tui.recovery import Recovery, Work
    from hermes_memory_tui.settings import Settings
    from hermes_memory_tui.views.view import View


def commands() -> type[Provider]:
    """The palette's provider, imported when the palette is opened."""
    from hermes_memory_tui.commands import Commands

    return Commands


KEPT_MESSAGES = 200
"""Toasts that can be read again."""


@dataclass(frozen=True, slots=True)
class Said:
    """One toast."""

    at: float
    """Seconds since the epoch."""
    text: str
    severity: str


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
        *(
            Binding(
                entry.key, f"view('{entry.name}')", entry.title, id=f"view.{entry.name}", tooltip=entry.says, show=False
            )
            for entry in (*CATALOG, START)
        ),
        Binding(
            "exclamation_mark", "messages", "Messages", id="app.messages", tooltip="What was said before", show=False
        ),
        Binding("ctrl+o,semicolon", "jump", "Jump", id="app.jump", tooltip="To any pane, by its letter", show=False),
        Binding("q,ctrl+q", "leave", "Quit", id="app.quit", tooltip="Quit", show=False),
    ]

    def __init__(
        self,
        memory: Memory | None,
        theme: str | None = None,
        *,
        old: Path | None = None,
        look: str = looks.DEFAULT_LOOK,
        settings: Settings | None = None,
        read_only: bool = False,
        greets: bool = False,
        recovery: Recovery | None = None,
    ) -> None:
        """Show a memory, and close it in the end.

        :param theme: the theme to begin with; all of them when None
        :param settings: keys, accents and motion as the person set them
        :param read_only: offer nothing for the old file but a copy
        :param greets: whether an empty memory opens with what is on this machine
        :param recovery: what an app that failed leaves to this one
        :param old: a file of hermes-memory 0.3.0 to ask about, when there is no memory yet
        """
        super().__init__()
        for one in looks.LOOKS:
            self.register_theme(one)
        if settings is not None:
            looks.accent(settings.accents)
            self.set_keymap(settings.keys)
            if settings.reduced_motion:
                self.animation_level = "none"
        self.theme = look
        self.said: deque[Said] = deque(maxlen=KEPT_MESSAGES)
        self.memory = memory
        self._theme_name = theme
        self._old = old
        self._read_only = read_only
        self._warned = False
        self.greets = greets
        self._recovery = recovery
        self.work: Work | None = None
        """What the person had before them when this app failed."""
        self.typed: dict[str, str] = {}
        """What was typed into dialogs when the app before this one failed, by their names."""
        self.was_touched = False
        """Whether the person has pressed, clicked or pasted anything."""
        self.on_failure: Callable[[Exception], object] = lambda _: None
        """Called with the error when the app fails, before anything is closed."""
        self._views: dict[str, View[Any]] = {}

    def get_driver_class(self) -> type[Driver]:
        chosen = super().get_driver_class()
        if chosen.__name__ != "LinuxDriver":
            return chosen
        from hermes_memory_tui.terminal import Terminal

        return Terminal

    def restore_terminal(self) -> None:
        """Leave the terminal as it was found, waiting for nothing. May be called from any thread."""
        from hermes_memory_tui.terminal import Terminal

        if isinstance(self._driver, Terminal):
            self._driver.restore()

    def give_up_terminal(self) -> None:
        """Draw nothing any more, and wait for nobody to take what was drawn. May be called from any thread."""
        from hermes_memory_tui.terminal import Terminal

        if isinstance(self._driver, Terminal):
            self._driver.give_up()

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

            self.push_screen(UpgradeScreen(self._old, self._theme_name or "default", self._read_only), self._upgraded)
        elif self.memory is not None:
            if self.memory.kept is not None:
                said = f"This memory was of an older version and is up to date now; as it was it is kept in {self.memory.kept}"
                self.notify(said, timeout=15, markup=False)
            if self._recovery is not None:
                self.call_after_refresh(self._recover, self._recovery)
            if self.greets and not self.main.overview.themes:
                self.open_view(START.name)

    async def _recover(self, recovery: Recovery) -> None:
        from hermes_memory_tui.recovery import resume_work

        self.said.extendleft(reversed(recovery.said))
        self.notify(recovery.sentence, severity="error", timeout=20, markup=False)
        await resume_work(self, recovery.work)

    def _upgraded(self, memory: Memory | None) -> None:
        if memory is not None:
            self.memory = memory
            self.push_screen(self._main(memory))

    def _main(self, memory: Memory) -> MainScreen:
        return MainScreen(memory, memory.first_overview(self._theme_name), self._theme_name)

    def notify(self, message: str, **more: Any) -> None:
        """As `App.notify`; what was said can be read again."""
        self.remember(message, str(more.get("severity", "information")))
        super().notify(message, **more)

    def remember(self, message: str, severity: str) -> None:
        """Keep a message without showing it. May be called from any thread."""
        self.said.append(Said(time.time(), message, severity))

    # Failing

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.MouseDown | events.Paste):
            self.was_touched = True
        await super().on_event(event)

    def _handle_exception(self, error: Exception) -> None:
        """Stop, so that `run_inspector` can show the memory anew. In a test, which has no terminal, the error is raised."""
        if is_about_what_is_gone(error):
            return
        if self._exception is None:
            self._fail(error)
        if self.is_headless:
            super()._handle_exception(error)
        else:
            # Not as Textual does it: its report says what the variables held, facts among them.
            self._return_code = 1
            if self._exception is None:
                self._exception = error
                self._exception_event.set()
            self._close_messages_no_wait()

    def _fail(self, error: Exception) -> None:
        from hermes_memory_tui.recovery import Work, find_work

        try:
            self.work = find_work(self)
        except Exception as second:
            # What fails is what should say what is typed. Drafts of editors are written down while one types.
            self.work = Work()
            second.__context__ = error
            error = second
        self.on_failure(error)

    @property
    def failure(self) -> Exception | None:
        """What the app failed of."""
        return self._exception

    def exit(self, *args: Any, **more: Any) -> None:
        """As `App.exit`; what is typed and not saved is written down first, however the end came."""
        for screen in self.screen_stack:
            if isinstance(screen, Modal):
                screen.keep_text()
        super().exit(*args, **more)

    def action_messages(self) -> None:
        """What was said before."""
        from hermes_memory_tui.dialogs.messages import Messages

        self.push_screen(Messages(list(self.said)))

    def action_jump(self) -> None:
        """Letters on the panes of this screen."""
        from hermes_memory_tui.dialogs.jump import Jump

        panes = [node for node in self.screen.query("*") if node.can_focus and node.display and node.region]
        self.push_screen(Jump(panes), lambda pane: pane.focus() if pane is not None else None)

    # Views

    def action_view(self, name: str) -> None:
        if self.facts_screen is not None and self.facts_screen.is_past:
            title = BY_NAME[name].title
            what = "These are the facts as they were" if name == FACTS else f"{title} shows only the present"
            self.notify(f"{what}; esc leaves the past.", severity="warning", timeout=5)
            return
        self.open_view(name)

    @property
    def facts_screen(self) -> MainScreen | None:
        """The screen of facts that lies uppermost: that of the present or of the past."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, MainScreen)), None)

    @property
    def views(self) -> Mapping[str, View[Any]]:
        """The views of the catalogue that were opened, by name."""
        return self._views

    def open_view(self, name: str) -> View[Any] | None:
        """Open one of the views of the catalogue over the facts; None for the facts themselves."""
        if self.memory is None or not any(isinstance(screen, MainScreen) for screen in self.screen_stack):
            return None
        while self.screen is not self.main:  # the past, which is a main screen too, is left as any other
            if getattr(self.screen, "NAME", "") == name:
                return self._views[name]
            self.pop_screen()
        if name == FACTS:
            return None
        if name not in self._views:
            self._views[name] = BY_NAME[name].load()(self.memory)
            self.install_screen(self._views[name], f"view-{name}")
        self.push_screen(self._views[name])
        return self._views[name]

    @property
    def main(self) -> MainScreen:
        """The screen of the facts."""
        return next(screen for screen in self.screen_stack if isinstance(screen, MainScreen))

    def action_command_palette(self) -> None:
        from hermes_memory_tui.dialogs.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

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


def is_about_what_is_gone(error: Exception) -> bool:
    """Whether a widget that has left the screen, or work begun for one, misses that screen, what was on it, or its memory.

    Messages and workers outlive their widgets by a moment: a double click removes a toast, and its second half asks the
    toast for its screen.
    """
    cause = error.error if isinstance(error, WorkerFailed) else error
    if not isinstance(cause, NoScreen | NoMatches | NoWidget | ScreenStackError | ProgrammingError):
        return False
    try:
        node = get_current_worker().node if isinstance(error, WorkerFailed) else active_message_pump.get()
    except (NoActiveWorker, LookupError):
        return False
    if not node.app.is_running:  # it closes: screens lose what is on them one by one, and late keys find none
        return True
    if not isinstance(node, Widget):
        return False
    if node._closing or node._pruning:  # still attached, with nothing on it
        return True
    memories = [one.memory for one in node.ancestors_with_self if isinstance(one, MainScreen)]
    return not node.is_attached or any(memory.is_closed for memory in memories)
