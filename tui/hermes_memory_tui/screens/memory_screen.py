"""`MemoryScreen`: what the facts screen and all views have: a memory, a title, panes, writes and the basket.

Every write runs in a thread, so no lock freezes a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from hermes_memory_store import errors
from hermes_memory_store.errors import NothingToUndo, SecretUnconfirmed, StoreError, UndoConflict, UnsafeText
from hermes_memory_store.model import Fact, Scope
from hermes_memory_store.safe_text import pluralise, to_printable
from hermes_memory_tui.dialogs.screen_guard import GuardedScreen
from hermes_memory_tui.model import bulk_actions
from hermes_memory_tui.widgets.pane_row import PaneRow
from hermes_memory_tui.widgets.title_bar import TitleBar

if TYPE_CHECKING:
    from hermes_memory_tui.basket.pending_changes import Basket
    from hermes_memory_tui.model.bulk_actions import BulkAction, Preview
    from hermes_memory_tui.model.memory import ActionResult, Memory
    from hermes_memory_tui.widgets.lists.marked_list import MarkedList


T = TypeVar("T")

WRITING_SHOWS_S = 0.2
"""From when on a waiting write is shown: an ordinary one is over long before."""

SHOWN_BY = "B shows the basket."
"""What is said with a change that was gathered in a dialog."""


class WriteBinding(Binding):
    """A key that changes the memory: hidden where it is open read-only, refused in the past."""


def to_action_name(binding: Binding) -> str:
    return binding.action.partition("(")[0]


def gather_binding(owner: str) -> Binding:
    """Return the key that turns gathering on and off. :param owner: the first part of its id"""
    return Binding(
        "b", "gather", "Gather", id=f"{owner}.gather", tooltip="Gather changes in the basket, or do them at once again"
    )


class MemoryScreen(GuardedScreen[None]):
    """A screen on a memory, at the moment that is shown."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-normal"), (160, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (16, "-low"), (34, "-high")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z", "zoom", "Zoom", id="pane.zoom", tooltip="Give the pane the whole body, or end that", show=False),
    ]
    write_actions: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = (binding for binding in cls.__dict__.get("BINDINGS", ()) if isinstance(binding, WriteBinding))
        cls.write_actions |= {to_action_name(binding) for binding in own}

    def __init__(self, memory: Memory) -> None:
        super().__init__()
        self.memory = memory
        self.title_bar = TitleBar(id="title")
        self.body = PaneRow(id="body")
        self.writes = Writes(self)
        self.gathering = Gathering(self)
        self._own_app: App[Any] | None = None

    @property
    def app(self) -> App[Any]:  # type: ignore[override]  # Textual leaves its setter out, too
        """The app, also for a thread that ends after the screen was left: a removed screen has no parent that knows it."""
        if self._own_app is None:
            self._own_app = super().app
        return self._own_app

    @property
    def is_current(self) -> bool:
        """Whether the person sees this screen.

        Textual takes the screen beneath an opaque one for visible: it lays it out, and draws the opaque one again with it.
        """
        top = self.app.screen_stack[-1:]
        return top == [self] or (super().is_current and not (top and top[0].styles.background.a == 1))

    # Panes

    def action_zoom(self) -> None:
        self.body.zoom()

    def set_focus(self, widget: Widget | None, *args: Any, **options: Any) -> None:
        with self.body.follow_focus():
            super().set_focus(widget, *args, **options)

    @property
    def focus_chain(self) -> list[Widget]:
        with self.body.show_all():
            return super().focus_chain

    # Writing

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not (action in self.write_actions and self.memory.read_only)

    def on_key(self, event: events.Key) -> None:
        """Say why nothing happens when a key would change something in the past."""
        if self.memory.is_past:
            chain = (bindings for node, bindings in self._binding_chain if node is self)
            pressed = [binding for bindings in chain for binding in bindings.key_to_bindings.get(event.key, ())]
            if any(to_action_name(binding) in self.write_actions for binding in pressed):
                event.stop()
                self.refuse_in_past()

    def refuse_in_past(self) -> bool:
        """Say that nothing changes in the past, while it is shown; return whether it is."""
        if self.memory.is_past:
            message = "This is the past: nothing changes here. r in the facts restores one, esc returns to the present."
            self.notify(message, severity="warning", timeout=5)
        return self.memory.is_past

    def action_gather(self) -> None:
        self.gathering.toggle()

    def after_write(self, done: ActionResult) -> None:
        """Update the screen after a write made here."""

    def show_pending(self) -> None:
        """Show in the rows what waits in the basket for each fact or scope."""

    def ask_then(self, dialog: Screen[str | None], then: Callable[[str], object]) -> None:
        """Open a dialog, and call `then` with its answer unless the person cancelled."""

        def pass_on(answer: str | None) -> None:
            if answer is not None:
                then(answer)

        self.app.push_screen(dialog, pass_on)

    def show_error(self, error: StoreError) -> None:
        """Show the person why an action failed."""
        message = str(error)
        if isinstance(error, errors.BackfillUnconfirmed):
            from hermes_memory_tui.dialogs.question import Question
            from hermes_memory_tui.model.memory import unreached_copies_note

            erase = partial(
                self.memory.run_write,
                lambda store: store.turns.take_back(error.value),
                lambda answer: f"{pluralise(answer[0], 'message')} of a backfill erased{unreached_copies_note(answer)}",
                back="`backfill` brings them in again.",
            )
            self.ask_then(Question("undo a backfill", [Content(message)], alarm=True), lambda _: self.writes.run(erase))
            return
        if isinstance(error, UndoConflict | NothingToUndo):
            from hermes_memory_tui.text.undo_refusals import format_refusal

            message = format_refusal(message)
        self.notify(message, severity="error", timeout=8, markup=False)


class Writes:
    """The writes of a screen. Its title shows when one waits for the lock."""

    def __init__(self, screen: MemoryScreen) -> None:
        self._screen = screen
        self._running = 0

    def run(
        self,
        act: Callable[[], ActionResult],
        then: Callable[[], object] | None = None,
        otherwise: Callable[[StoreError], object] | None = None,
        *,
        in_present: bool = False,
    ) -> None:
        """Run a write in a thread; show what it did, or why it failed.

        :param then: called when it is done
        :param otherwise: called with the error instead of a notification
        :param in_present: whether it changes the present, whatever moment is shown
        """
        if not in_present and self._screen.refuse_in_past():
            return

        def finish(done: ActionResult) -> None:
            self._count(-1)
            if then is not None:
                then()
            self._screen.notify(done.message, timeout=4, markup=False)
            self._screen.after_write(done)

        def refuse(error: StoreError) -> None:
            self._count(-1)
            (otherwise or self._screen.show_error)(error)

        self._running += 1
        self._screen.set_timer(WRITING_SHOWS_S, partial(self._count, 0))
        self.in_thread(act, finish, refuse, group="writing")

    def run_text(
        self,
        act: Callable[[bool], ActionResult],
        then: Callable[[], object] | None = None,
        otherwise: Callable[[StoreError], object] | None = None,
    ) -> None:
        """Write what the person typed, as `run`; ask first where it holds a secret or hidden characters.

        :param act: given whether the person agreed to mask and remove them
        """

        def refuse(error: StoreError) -> None:
            if isinstance(error, SecretUnconfirmed | UnsafeText):
                ask(error)
            else:
                (otherwise or self._screen.show_error)(error)

        def ask(error: StoreError) -> None:
            from hermes_memory_tui.dialogs.question import Question

            secret = isinstance(error, SecretUnconfirmed)
            title = "mask the secret, and save" if secret else "remove hidden characters, and save"
            question = Question(title, [Content(to_printable(error.message))])
            self._screen.ask_then(question, lambda _: self.run(partial(act, True), then, otherwise))

        self.run(partial(act, False), then, refuse)

    def preview_then_run(
        self, preview: Callable[[], Preview], act: Callable[[], ActionResult], then: Callable[[], object] | None = None
    ) -> None:
        """Preview what an action would change, and run it when the person confirms.

        :param then: called when it is done
        """

        def ask(shown: Preview) -> None:
            from hermes_memory_tui.dialogs.confirm_dialog import Confirmation

            if shown.facts:
                self._screen.app.push_screen(Confirmation(shown), decide)
            else:
                self._screen.notify("Nothing selected.", timeout=4)

        def decide(agreed: bool | None) -> None:
            if agreed:
                self.run(act, then)

        if not self._screen.refuse_in_past():
            self.look_then(preview, ask)

    def change_facts(
        self,
        load: Callable[[], list[Fact]],
        choose: Callable[[Sequence[Fact]], BulkAction],
        rows: MarkedList,
        keys: Sequence[Any],
        then: Callable[[], object],
    ) -> None:
        """Gather a change of facts, or do it; to several, or where it cannot be undone, only after a preview.

        :param load: loads the facts, in a thread
        :param choose: returns the action for these facts
        :param rows: the list they are selected in, by these keys
        :param then: called when it is done or gathered
        """
        memory, gathering = self._screen.memory, self._screen.gathering
        looked: list[tuple[BulkAction, list[Fact]]] = []
        is_final = choose(()) is bulk_actions.PURGE

        def look() -> tuple[BulkAction, list[Fact]]:
            facts = load()
            return choose(facts), facts

        def gather() -> str:
            from hermes_memory_tui.basket.pending_changes import to_subject

            action, facts = look()
            return gathering.basket.gather(action.name, list(map(to_subject, facts)), action.scope)

        def preview() -> Preview:
            looked.append(look())
            return bulk_actions.preview_bulk_action(memory.store, *looked[0])

        if gathering.is_on and not is_final:
            gathering.add(gather, then)
            return
        rows.let_go(keys)
        if len(keys) > 1 or is_final:
            self.preview_then_run(preview, lambda: memory.run_action(*looked[0]), then)
        else:
            self.run(lambda: memory.run_action(*look()), then)

    def look_then(self, look: Callable[[], T], then: Callable[[T], object]) -> None:
        """Read in a thread what an action would do; show it, or why that cannot be read."""
        self.in_thread(look, then, self._screen.show_error, group="looking", exclusive=True)

    def in_thread(
        self,
        act: Callable[[], T],
        then: Callable[[T], object],
        otherwise: Callable[[StoreError], object],
        **worker: Any,
    ) -> None:
        def run() -> None:
            try:
                result = act()
            except StoreError as error:
                self._screen.app.call_from_thread(otherwise, error)
            else:
                self._screen.app.call_from_thread(then, result)

        self._screen.run_worker(run, thread=True, **worker)

    def _count(self, difference: int) -> None:
        self._running += difference
        self._screen.title_bar.writing = self._running > 0


class Gathering:
    """The basket of a screen. What is gathered is not written until the basket is done."""

    def __init__(self, screen: MemoryScreen) -> None:
        self._screen = screen
        self._shown_version = 0
        self.pending: Mapping[str, str] = {}
        """What waits in the basket for each fact or scope that is shown, in words, by uid."""

    @property
    def basket(self) -> Basket:
        app: Any = self._screen.app
        return app.basket  # type: ignore[no-any-return]

    @property
    def is_on(self) -> bool:
        app: Any = self._screen.app
        return not self._screen.memory.is_past and bool(app.is_gathering)

    def toggle(self) -> None:
        """Gather changes from now on, or do them at once again."""
        if self._screen.refuse_in_past():
            return
        if self._screen.memory.read_only:
            message = "The memory is open read-only: there is nothing to gather."
            self._screen.notify(message, severity="warning", timeout=4)
            return
        basket = self.basket
        basket.is_gathering = not basket.is_gathering
        if basket.is_gathering:
            message = "Changes are gathered, not done. B shows them; b ends gathering."
        elif basket.changes:
            message = f"Changes are done at once again. {basket.note.capitalize()}; B shows it."
        else:
            message = "Changes are done at once again."
        self._screen.notify(message, timeout=5, markup=False)
        self.show()

    def add_change(
        self,
        action: str,
        items: Sequence[Fact | Scope],
        value: str | None = None,
        then: Callable[[], object] | None = None,
    ) -> None:
        """Put a change of facts or scopes into the basket. :param then: called when they are in it"""
        from hermes_memory_tui.basket.pending_changes import to_subject

        self.add(lambda: self.basket.gather(action, list(map(to_subject, items)), value), then)

    def add(self, act: Callable[[], str], then: Callable[[], object] | None) -> None:
        """Run in a thread what puts a change into the basket and returns what to say.

        Row and title show it; it is said in the log only, since a message for each would cover the list.

        :param then: called when it is in it
        """

        def show(message: str) -> None:
            app: Any = self._screen.app
            app.remember(f"{message}.", "information")
            if then is not None:
                then()
            self.show_trouble()
            self.show()

        if not self._screen.refuse_in_past():
            self._screen.writes.in_thread(act, show, self._screen.show_error, group="gathering")

    def show_trouble(self) -> None:
        """Say that the basket could not be saved, where that is so."""
        if self.basket.trouble:
            message = f"Not saved: {self.basket.trouble}."
            self._screen.notify(message, severity="warning", timeout=5, markup=False)

    def take_back(self) -> bool:
        """Take out what was gathered last, where that is what was done last here; return whether it was."""
        message = self.basket.take_back() if self.is_on else None
        if message is not None:
            self._screen.notify(f"{message}.", timeout=2, markup=False)
            self.show()
        return message is not None

    def show_purged(self, names: Sequence[str]) -> None:
        """Say that erased facts left the basket. May be called in a thread; waits for nothing."""
        message = f"Purged, and out of the basket: {', '.join(names)}."
        self._screen.call_later(self._screen.notify, message, severity="warning", timeout=6, markup=False)
        self._screen.call_later(self.show)

    def show(self) -> None:
        """Show in the title how many changes wait, and in the rows which."""
        app: Any = self._screen.app
        title = self._screen.title_bar
        if title.basket != app.basket_note or self._shown_version != app.basket_version:
            title.basket, self._shown_version = app.basket_note, app.basket_version
            self.pending = app.basket.pending if app.basket_version else {}
            self._screen.show_pending()
