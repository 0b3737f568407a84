"""`Inspector`: the Textual app. It opens the facts screen, or first asks what to do with an old file."""

from __future__ import annotations

import importlib
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import COLOR_SYSTEMS
from textual import events
from textual._compositor import CompositorUpdate
from textual._context import active_message_pump
from textual.app import ScreenStackError
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.css.query import NoMatches
from textual.dom import NoScreen
from textual.errors import NoWidget
from textual.notifications import Notification, Notify
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import NoActiveWorker, WorkerFailed, get_current_worker

from hermes_memory_store.database.driver import ProgrammingError
from hermes_memory_store.errors import StoreError
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.model.toast_messages import KEPT_MESSAGES, ToastMessage
from hermes_memory_tui.model.view_catalog import CATALOG, FACTS, NOW, START, VIEWS_BY_NAME, ViewEntry
from hermes_memory_tui.screens.facts_screen import MainScreen
from hermes_memory_tui.system import palettes
from hermes_memory_tui.system.type_ahead import TypeAhead
from hermes_memory_tui.text.display_formats import pluralise
from hermes_memory_tui.widgets.view_strip import FollowingToggled, OpenConversation, OpenView, WaitingChanged

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.filter import LineFilter

    from hermes_memory_tui.basket.pending_changes import Basket
    from hermes_memory_tui.commands.command_registry import CommandChoice
    from hermes_memory_tui.model.open_work import OpenWork, RecoveryState
    from hermes_memory_tui.model.past_memory import Way
    from hermes_memory_tui.screens.past_screen import TravelProgress
    from hermes_memory_tui.screens.time_mode import TimeTravel
    from hermes_memory_tui.system.inspector_settings import InspectorSettings
    from hermes_memory_tui.system.terminal import TerminalDriver
    from hermes_memory_tui.views.base_view import BaseView


POLL_S = 0.25
"""How often other processes' commits are looked for: a change shows within half a second."""

WATCH_S = 0.4
"""The same while the person only watches: each look at a quiet memory costs a millisecond of processor time."""

RESTS_AFTER_S = 0.3
"""Who has not pressed anything for so long holds no key."""

WATCHES_AFTER_S = 10.0
"""Who has not pressed or clicked anything for so long only watches."""


def load_view_class(entry: ViewEntry) -> type[BaseView[Any]]:
    """Import a view's class when the view is first opened."""
    module, _, name = entry.class_path.partition(":")
    loaded = getattr(importlib.import_module(f"hermes_memory_tui.views.{module}"), name)
    assert isinstance(loaded, type)
    return loaded


TIME_KEYS = (
    ("left_square_bracket", "step(-1)", "Change back", "back", "Show the memory before the latest change"),
    ("right_square_bracket", "step(1)", "Change forward", "forward", "Show the memory after the next change"),
    ("at", "name_moment", "Go to time", "moment", "Show the memory as of any time or change"),
)
"""Keys that move through time, from anywhere."""


MOST_HELD = 3
"""Toasts that wait for a dialog to close; what was before them is in the message log."""

NOTICES = {"error": ("✗", "$error"), "warning": ("!", "$warning"), "information": ("·", "$dim")}
"""The shape and the colour of a message in the frame of a dialog, by severity."""


SHORTEST_TOAST_S = 0.05
"""How long a toast is seen at least."""


class LastingNotification(Notification):
    """A notification that has time left when its toast is made, also when it expires meanwhile.

    A timer of Textual (8.2) whose time is negative goes round for ever, and nothing else is ever done.
    """

    @property
    def time_left(self) -> float:
        return max(super().time_left, SHORTEST_TOAST_S)

    @property
    def has_expired(self) -> bool:
        return super().time_left <= 0


class Inspector(TypeAhead):
    """The app on one memory. The exit value is the exit code."""

    TITLE = "hermes-memory-tui"
    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = ["screens/app.tcss", "screens/main.tcss"]
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", "Next pane", id="app.next", tooltip="Next pane", show=False),
        Binding(
            "shift+tab", "app.focus_previous", "Previous pane", id="app.previous", tooltip="Previous pane", show=False
        ),
        Binding("question_mark", "help", "Help", id="app.help", tooltip="All keys"),
        Binding(
            "ctrl+p,colon",
            "palette",
            "Commands",
            id="app.palette",
            tooltip="Find a command, a scope, a theme or a look",
        ),
        *(
            Binding(
                entry.key,
                f"view('{entry.name}')",
                entry.title,
                id=f"view.{entry.name}",
                tooltip=entry.description,
                show=False,
            )
            for entry in CATALOG
        ),
        *(
            Binding(key, action, title, id=f"time.{name}", tooltip=tooltip, show=False)
            for key, action, title, name, tooltip in TIME_KEYS
        ),
        Binding(
            "quotation_mark",
            "explain",
            "Why did it say that?",
            id="app.explain",
            tooltip="Find the facts that an agent's words came from",
            show=False,
        ),
        Binding(
            "B",
            "basket",
            "Basket",
            id="app.basket",
            tooltip="Show the gathered changes and what would come of them",
            show=False,
        ),
        Binding("F", "pause", "Pause", id="app.pause", tooltip="Pause or continue following changes", show=False),
        Binding("exclamation_mark", "messages", "Messages", id="app.messages", tooltip="Message log", show=False),
        Binding("ctrl+z", "suspend_process", "Suspend", id="app.suspend", tooltip="Suspend; fg comes back", show=False),
        Binding(
            "ctrl+l",
            "redraw",
            "Redraw",
            id="app.redraw",
            tooltip="Draw the screen anew",
            show=False,
            priority=True,  # in dialogs and while typing, too
        ),
        Binding("q,ctrl+q", "leave", "Quit", id="app.quit", tooltip="Quit", show=False),
    ]

    def __init__(
        self,
        memory: Memory | None,
        theme: str | None = None,
        *,
        old: Path | None = None,
        look: str = palettes.DEFAULT_LOOK,
        settings: InspectorSettings | None = None,
        read_only: bool = False,
        offers_start: bool = False,
        recovery: RecoveryState | None = None,
    ) -> None:
        """Show a memory, and close it at the end.

        :param theme: the theme to start with; all themes when None
        :param settings: keys, accents and motion as configured
        :param read_only: offer only a copy for the old file
        :param offers_start: whether an empty memory opens with the import sources and hosts on this machine
        :param recovery: what an app that failed hands over to this one
        :param old: a file of hermes-memory 0.3.0 to ask about, when there is no memory yet
        """
        self._has_look = False
        super().__init__()
        for palette in palettes.LOOKS:
            self.register_theme(palette)
        if settings is not None:
            palettes.set_accents(settings.accents)
            self.set_keymap(settings.keys)
            if settings.reduced_motion:
                self.animation_level = "none"
        self.look = look
        self._begin_with_theme(look)
        self.toasts: deque[ToastMessage] = deque(maxlen=KEPT_MESSAGES)
        self._held_toasts: deque[Notification] = deque(maxlen=MOST_HELD)
        self.memory = memory
        self._theme_name = theme
        self._old = old
        self._read_only = read_only
        self._warned = False
        self.offers_start = offers_start
        self._recovery = recovery
        self._home = settings.home if settings is not None else None
        self._settings_notice = settings.notice if settings is not None else ""
        self._gives_notices = settings is not None and settings.notices
        self._quarantined = 0
        self.work: OpenWork | None = None
        """What the person had before them when this app failed."""
        self.typed: dict[str, str] = {}
        """What was typed into dialogs when the app before this one failed, by their names."""
        self._basket: Basket | None = None
        self._time: TimeTravel | None = None
        self.paused_at: int | None = None
        """The newest row of the journal when following was paused; None while changes are followed."""
        self.was_touched = False
        """Whether the person has pressed, clicked or pasted anything."""
        self._touched_at = time.monotonic()
        self.on_failure: Callable[[Exception], object] = lambda _: None
        """Called with the error when the app fails, before anything is closed."""
        self._views: dict[str, BaseView[Any]] = {}

    def _begin_with_theme(self, name: str) -> None:
        """Begin in a theme. Setting the attribute would parse all styles a second time before the first frame."""
        self._has_look = True
        self.set_reactive(Inspector.theme, name)
        is_dark = self.current_theme.dark
        self.update_classes({"-dark-mode": is_dark, "-light-mode": not is_dark}, update=False)
        self._refresh_truecolor_filter(self.ansi_theme)
        self.stylesheet.set_variables(self.get_css_variables())

    def get_line_filters(self) -> Sequence[LineFilter]:
        return palettes.TWO_COLOURS if self.theme == palettes.NO_COLOUR.name else super().get_line_filters()

    def get_driver_class(self) -> type[Driver]:
        driver = super().get_driver_class()
        if driver.__name__ != "LinuxDriver":
            return driver
        from hermes_memory_tui.system.terminal import TerminalDriver

        return TerminalDriver

    @property
    def _terminal(self) -> TerminalDriver | None:
        """The terminal this app has to itself, if there is one."""
        driver: Any = self._driver  # its class is imported with a terminal only
        return driver if hasattr(driver, "give_up") else None

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if getattr(screen, "is_unread", False):
            return  # a view is first drawn with what it shows
        terminal = self._terminal
        if terminal is None or not isinstance(renderable, CompositorUpdate):
            super()._display(screen, renderable)
        elif self._running and not self._closed and not self._batch_count:
            size = self.screen.outer_size
            colours = COLOR_SYSTEMS[self.console.color_system or "truecolor"]
            terminal.show(renderable, size, size.clamp_offset(self.cursor_position), colours)

    def action_redraw(self) -> None:
        if self._terminal is not None:
            self._terminal.redraw()

    def restore_terminal(self) -> None:
        """Restore the terminal without waiting for anything. May be called from any thread."""
        if self._terminal is not None:
            self._terminal.restore()

    def get_css_variables(self) -> dict[str, str]:
        # Generated once: Textual asks before the theme is known, too, and would generate them for our defaults again.
        if not self._has_look:
            return {}
        generated = self.current_theme.to_color_system().generate()
        self.theme_variables = palettes.default_variables(generated) | generated | self.current_theme.variables
        return self.theme_variables

    def get_default_screen(self) -> Screen[Any]:
        # The first screen itself, not one pushed over a blank one: that would be laid out and painted for nothing.
        if self.memory is not None:
            return self._main(self.memory)
        return super().get_default_screen()

    def on_mount(self) -> None:
        self._look_later()
        if self.memory is None and self._old is not None:
            from hermes_memory_tui.screens.upgrade_screen import UpgradeScreen

            self.push_screen(
                UpgradeScreen(self._old, self._theme_name or "default", self._read_only), self._open_upgraded
            )
        elif self.memory is not None:
            if self.memory.kept is not None:
                notice = f"This memory was upgraded from an older version; the old file is kept in {self.memory.kept}"
                self.notify(notice, timeout=15, markup=False)
            if self.memory.write_refusal is not None:
                self.notify(f"Reading only: {self.memory.write_refusal}", severity="warning", timeout=15, markup=False)
            if self._settings_notice and self._recovery is None:
                self.notify(self._settings_notice, severity="warning", timeout=15, markup=False)
            if self._recovery is not None:
                self.call_after_refresh(self._recover, self._recovery)
            self._open_home()

    @property
    def is_watched(self) -> bool:
        """Whether the person only watches, and has not pressed or clicked anything for a while."""
        return time.monotonic() - self._touched_at > WATCHES_AFTER_S

    @property
    def is_at_rest(self) -> bool:
        """Whether no key is being held, so that what takes a few milliseconds holds up nothing."""
        return time.monotonic() - self._touched_at > RESTS_AFTER_S

    def _look_later(self) -> None:
        self.set_timer(WATCH_S if self.is_watched else POLL_S, self._look_for_changes)

    def _look_for_changes(self) -> None:
        self._look_later()
        self._check_for_changes()

    def _check_for_changes(self) -> None:
        for screen in self.screen_stack:  # the facts first: they look after the file for all views
            check = getattr(screen, "check_for_changes", None)  # asking for a protocol took a sixth of each look
            if check is not None and screen.is_mounted:
                check()

    def _open_home(self) -> None:
        """Open the view that the person wants first; who begins with an empty memory gets *Now*."""
        state = self.main.kept
        if self.offers_start and not self.main.overview.themes:
            state.set_home(NOW.name)
            self.open_view(NOW.name)
        elif self._recovery is None and (self._home or state.home) == NOW.name:
            self.open_view(NOW.name)

    def on_waiting_changed(self, message: WaitingChanged) -> None:
        """Ask for a notice when more waits than before, and the person looks elsewhere."""
        more, self._quarantined = message.waiting > self._quarantined, message.waiting
        if more and self._gives_notices and not self.app_focus and self._driver is not None:
            from hermes_memory_tui.system.desktop_notices import format_notice

            self._driver.write(format_notice(f"{pluralise(message.waiting, 'fact')} quarantined", os.environ))

    async def _recover(self, recovery: RecoveryState) -> None:
        from hermes_memory_tui.recovery import restore_work

        self.toasts.extendleft(reversed(recovery.messages))
        self.notify(recovery.sentence, severity="error", timeout=20, markup=False)
        await restore_work(self, recovery.work)

    def _open_upgraded(self, memory: Memory | None) -> None:
        if memory is not None:
            self.memory = memory
            self.push_screen(self._main(memory))

    def _main(self, memory: Memory) -> MainScreen:
        return MainScreen(memory, memory.first_overview(self._theme_name), self._theme_name)

    def notify(self, message: str, **more: Any) -> None:
        """Show a notification as `App.notify` does, and keep it in the message log."""
        self.remember(message, str(more.get("severity", "information")))
        super().notify(message, **more)

    def remember(self, message: str, severity: str) -> None:
        """Add a message to the log without showing it. May be called from any thread."""
        self.toasts.append(ToastMessage(time.time(), message, severity))

    def _on_notify(self, event: Notify) -> None:
        """Let a dialog say it in its frame; the toast waits until it hides nothing that is asked."""
        event.notification = LastingNotification(**vars(event.notification))
        if isinstance(self.screen, Modal):
            event.prevent_default()
            self._held_toasts.append(event.notification)
            self._show_held_toasts()

    def _refresh_notifications(self) -> None:
        if isinstance(self.screen, Modal):
            self._show_held_toasts()
            return
        while self._held_toasts:
            self._notifications.add(replace(self._held_toasts.popleft(), raised_at=time.time()))
        super()._refresh_notifications()

    def _show_held_toasts(self) -> None:
        if self._held_toasts and isinstance(self.screen, Modal):
            last = self._held_toasts[-1]
            text = Content.from_markup(last.message).plain if last.markup else last.message
            shape, ink = NOTICES[last.severity]
            self.screen.show_notice(f"{shape} {' '.join(text.split())}", ink)

    # Failing

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.MouseDown | events.Paste):
            self.was_touched, self._touched_at = True, time.monotonic()
        await super().on_event(event)

    def _handle_exception(self, error: Exception) -> None:
        """Stop, so that `run_inspector` can reopen the memory.

        In a test, which has no terminal, the error is raised.
        """
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
        from hermes_memory_tui.model.open_work import OpenWork
        from hermes_memory_tui.recovery import capture_work

        try:
            self.work = capture_work(self)
        except Exception as second:
            # What fails is what should say what is typed. Drafts of editors are written down while one types.
            self.work = OpenWork()
            second.__context__ = error
            error = second
        self.on_failure(error)

    @property
    def failure(self) -> Exception | None:
        return self._exception

    def exit(self, *args: Any, **more: Any) -> None:
        """Exit as `App.exit` does; unsaved text is saved as drafts first, whatever the reason."""
        for screen in self.screen_stack:
            if isinstance(screen, Modal):
                screen.keep_text()
        super().exit(*args, **more)

    def action_pause(self) -> None:
        """Pause what follows the changes of others, or continue with all that came meanwhile."""
        if self.memory is not None:
            self.paused_at = self.memory.newest_seq() if self.paused_at is None else None
            self.screen.post_message(FollowingToggled())

    @property
    def pause_note(self) -> str:
        """What the title says while changes are not followed; empty while they are."""
        if self.paused_at is None or self.memory is None:
            return ""
        new = self.memory.newest_seq() - self.paused_at
        return f"paused, {new:,} new" if new > 0 else "paused"

    # The basket

    @property
    def basket(self) -> Basket:
        """The changes that were gathered for this memory and are not done yet."""
        if self._basket is None:
            from hermes_memory_tui.basket.pending_changes import Basket

            main = self.present_main
            self._basket = Basket(main.kept, main.drafts.file)
        return self._basket

    def _known_basket(self) -> Basket | None:
        """Return the basket, unless there is nothing in it that was ever asked for: its code is not loaded then."""
        if self._basket is None and self.memory is not None:
            main = self.present_main
            return self.basket if main.kept.basket(main.drafts.file) else None
        return self._basket

    @property
    def is_gathering(self) -> bool:
        return self._basket is not None and self._basket.is_gathering

    @property
    def basket_note(self) -> str:
        """What the title says of the basket; empty when there is nothing to say."""
        basket = self._known_basket()
        return "" if basket is None else basket.note

    @property
    def basket_version(self) -> int:
        """Number that rises with what is in the basket; 0 when it was never used."""
        return 0 if self._basket is None else self._basket.version

    def action_basket(self) -> None:
        from hermes_memory_tui.views.gathered.basket_view import BasketView

        if self.memory is None or isinstance(self.screen, Modal | BasketView):
            return
        if self.is_past:
            self.notify("The basket is of the present; esc returns to it.", severity="warning", timeout=4)
            return
        self.push_screen(BasketView(self.memory, self.basket))

    def action_explain(self) -> None:
        """Find out what an agent's words came from."""
        from hermes_memory_tui.views.sayings.saying_view import ask_why

        if self.memory is not None and not isinstance(self.screen, Modal):
            ask_why(self, self.memory)

    def action_messages(self) -> None:
        from hermes_memory_tui.dialogs.message_log import MessageLog

        self.push_screen(MessageLog(list(self.toasts)))

    # Views

    def action_view(self, name: str) -> None:
        self.open_view(name)

    # Time

    @property
    def time(self) -> TimeTravel:
        if self._time is None:
            from hermes_memory_tui.screens.time_mode import TimeTravel

            assert self.memory is not None
            self._time = TimeTravel(self, self.memory)
        return self._time

    @property
    def is_past(self) -> bool:
        return self._time is not None and self._time.past is not None

    def travel(self, way: Way, view: str | None = None) -> None:
        """Go to another moment; every view shows it. From the present, `view` is opened when it is given."""
        if self.memory is not None:
            self.time.go(way, view)

    def action_step(self, changes: int) -> None:
        """Go one change back or forward in time."""
        from hermes_memory_tui.model.past_memory import step

        if changes < 0 or self.is_past:
            self.travel(step(changes))

    def action_name_moment(self) -> None:
        from hermes_memory_tui.dialogs.question import Question
        from hermes_memory_tui.model.past_memory import MOMENTS, find_moment_problem

        if self.memory is not None:
            check = partial(find_moment_problem, self.memory)
            dialog = Question("time travel", [Content.styled(MOMENTS, "$dim")], type_in="when", check=check)
            self.push_screen(dialog, self._go_to_moment)

    def _go_to_moment(self, text: str | None) -> None:
        from hermes_memory_tui.model.past_memory import name_moment

        if text is not None:
            self.travel(name_moment(text))

    def on_travel_progress(self, message: TravelProgress) -> None:
        self.time.show_progress(message.done, message.total)

    def go_back(self) -> None:
        """Leave a view: to the facts, or from the past to the present."""
        if self.is_past:
            self.time.leave()
        else:
            self.open_view(FACTS)

    def on_open_view(self, message: OpenView) -> None:
        self.open_view(message.name)

    def on_open_conversation(self, message: OpenConversation) -> None:
        from hermes_memory_tui.views.conversations_view import ConversationsView

        self.action_view(ConversationsView.NAME)
        if isinstance(self.screen, ConversationsView):
            self.screen.show_turns(message.turns)

    @property
    def facts_screen(self) -> MainScreen | None:
        """The topmost facts screen: of the present or of the past."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, MainScreen)), None)

    @property
    def views(self) -> Mapping[str, BaseView[Any]]:
        return self._views

    def open_view(self, name: str) -> BaseView[Any] | None:
        """Open a view of the catalogue over the facts; None returns to the facts."""
        if self.memory is None or not any(isinstance(screen, MainScreen) for screen in self.screen_stack):
            return None
        while self.screen is not self.main:  # the past, which is a main screen too, is left as any other
            if getattr(self.screen, "NAME", "") == name:
                return self._views[name]
            self.pop_screen()
        if name == FACTS:
            return None
        if name == NOW.name and not self.main.overview.themes:
            name = START.name  # an empty memory: what can be done about that
        if name not in self._views:
            self._views[name] = load_view_class(VIEWS_BY_NAME[name])(self.memory)
            self.install_screen(self._views[name], f"view-{name}")
            if self.is_past:
                self._views[name].set_memory(self.main.memory, self.main.title_bar.past)
        self.push_screen(self._views[name])
        return self._views[name]

    @property
    def present_main(self) -> MainScreen:
        return next(screen for screen in self.screen_stack if isinstance(screen, MainScreen))

    @property
    def main(self) -> MainScreen:
        past = self._time.screen if self._time is not None else None
        return past if past is not None and past in self.screen_stack else self.present_main

    # Commands

    def action_palette(self) -> None:
        """Find a command by its words, and run it."""
        from hermes_memory_tui.commands.command_palette import CommandPalette
        from hermes_memory_tui.commands.command_registry import list_commands

        if not isinstance(self.screen, Modal) and any(isinstance(screen, MainScreen) for screen in self.screen_stack):
            recent = self.present_main.kept.commands
            self.push_screen(CommandPalette(list_commands(self), recent, self._preview_look), self._run_command)

    async def _run_command(self, choice: CommandChoice | None) -> None:
        """Run a command that was chosen; it is remembered first, since it may quit."""
        if choice is not None:
            self.present_main.kept.add_command(choice.line)
            await self._run_choice(choice)

    async def _run_choice(self, choice: CommandChoice | None) -> None:
        try:
            outcome = None if choice is None else choice.run()
            if isawaitable(outcome):
                await outcome
        except StoreError as error:  # what it was about is gone meanwhile
            self.notify(str(error), severity="error", timeout=8, markup=False)

    def _preview_look(self, name: str) -> None:
        """Show the colours of a look; with an empty name, those that were chosen."""
        self.theme = name or self.look

    def keep_look(self, name: str) -> None:
        """Change the colours, also for the next start."""
        self.theme = self.look = name
        state = self.present_main.kept
        state.set_look(name)
        if state.trouble:
            self.notify(f"This look is not kept: {state.trouble}.", severity="warning", timeout=6, markup=False)

    def action_help(self) -> None:
        from hermes_memory_tui.commands.command_palette import KeyHelp
        from hermes_memory_tui.commands.command_registry import list_keys

        panes = [node for node in self.screen.query("*") if node.can_focus and node.display]
        self.push_screen(KeyHelp(list_keys(self, [self.screen, *panes, self])), self._run_choice)

    def action_leave(self) -> None:
        """Quit; with unsaved text, only at the second request."""
        main = next((screen for screen in self.screen_stack if isinstance(screen, MainScreen)), None)
        if main is not None and main.drafts.unsaved and not self._warned:
            self._warned = True
            self.notify(
                "Unsaved changes. Quit again to leave; they are kept as drafts.",
                severity="warning",
                timeout=5,
            )
            return
        self.exit(0)

    def on_unmount(self) -> None:
        if self._time is not None:
            self._time.cancel()
        if self.memory is not None:
            self.memory.close()


def is_about_what_is_gone(error: Exception) -> bool:
    """Check whether an error comes from a widget that has left the screen, or from work started for one.

    Messages and workers outlive their widgets briefly: a double click removes a toast, and its second click asks
    the toast for its screen.
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
    memories = [ancestor.memory for ancestor in node.ancestors_with_self if isinstance(ancestor, MainScreen)]
    return not node.is_attached or any(memory.is_closed for memory in memories)
