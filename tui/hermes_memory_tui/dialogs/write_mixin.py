"""`WriteMixin`: the person's changes to the memory. Every write runs in a thread, so no lock freezes a frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import events
from textual.app import App
from textual.content import Content
from textual.screen import Screen

from hermes_memory_store.errors import NothingToUndo, SecretUnconfirmed, StoreError, UndoConflict, UnsafeText
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.model.memory import ActionResult

if TYPE_CHECKING:
    from hermes_memory_tui.model.bulk_actions import Preview
    from hermes_memory_tui.model.memory import Memory
    from hermes_memory_tui.widgets.title_bar import TitleBar

    Base = Screen[None]
else:
    Base = object

T = TypeVar("T")

WRITING_SHOWS_S = 0.2
"""From when on a waiting write is shown: an ordinary one is over long before."""


class WriteMixin(Base):
    """A screen that writes. The title shows when a write waits for the lock."""

    WRITES: ClassVar[frozenset[str]] = frozenset()
    """Actions that change the memory; hidden when it is open read-only."""
    title_bar: TitleBar
    memory: Memory
    _writes = 0
    _own_app: App[Any] | None = None

    @property
    def app(self) -> App[Any]:  # type: ignore[override]  # Textual leaves its setter out, too
        """The app, also for a thread that ends after the screen was left: a removed screen has no parent that knows it."""
        if self._own_app is None:
            self._own_app = super().app
        return self._own_app

    def write(
        self,
        act: Callable[[], ActionResult],
        then: Callable[[], object] | None = None,
        otherwise: Callable[[StoreError], object] | None = None,
    ) -> None:
        """Run a write in a thread; show what it did, or why it failed.

        :param then: called when it is done
        :param otherwise: called with the error instead of a notification
        """
        if not self.refuse_in_past():
            self.write_in_present(act, then, otherwise)

    def write_in_present(
        self,
        act: Callable[[], ActionResult],
        then: Callable[[], object] | None = None,
        otherwise: Callable[[StoreError], object] | None = None,
    ) -> None:
        """Run a write as `write` does, whatever moment is shown."""
        self._writes += 1
        self.set_timer(WRITING_SHOWS_S, self._show_writing)
        self.run_worker(partial(self._write, act, then, otherwise), thread=True, group="writing")

    def write_text(
        self,
        act: Callable[[bool], ActionResult],
        then: Callable[[], object] | None = None,
        otherwise: Callable[[StoreError], object] | None = None,
    ) -> None:
        """Write what the person typed, as `write`; ask first where it holds a secret or hidden characters.

        :param act: given whether the person agreed to mask and remove them
        """

        def refuse(error: StoreError) -> None:
            if isinstance(error, SecretUnconfirmed | UnsafeText):
                ask(error)
            elif otherwise is not None:
                otherwise(error)
            else:
                self.show_error(error)

        def ask(error: StoreError) -> None:
            from hermes_memory_tui.dialogs.question import Question

            secret = isinstance(error, SecretUnconfirmed)
            title = "mask the secret, and save" if secret else "remove hidden characters, and save"
            self.app.push_screen(Question(title, [Content(to_printable(error.message))]), decide)

        def decide(answer: str | None) -> None:
            if answer is not None:
                self.write(partial(act, True), then, otherwise)

        self.write(partial(act, False), then, refuse)

    def preview_then_write(
        self, preview: Callable[[], Preview], act: Callable[[], ActionResult], then: Callable[[], object] | None = None
    ) -> None:
        """Preview what an action would change, and run it when the person confirms.

        :param then: called when it is done
        """
        if self.refuse_in_past():
            return

        def ask(found: Preview) -> None:
            from hermes_memory_tui.dialogs.confirm_dialog import Confirmation

            if found.facts:
                self.app.push_screen(Confirmation(found), decide)
            else:
                self.notify("Nothing selected.", timeout=4)

        def decide(agreed: bool | None) -> None:
            if agreed:
                self.write(act, then)

        self.look_then(preview, ask)

    def look_then(self, look: Callable[[], T], then: Callable[[T], object]) -> None:
        """Read in a thread what an action would do; show it, or why that cannot be read."""

        def run() -> None:
            try:
                found = look()
            except StoreError as error:
                self.app.call_from_thread(self.show_error, error)
            else:
                self.app.call_from_thread(then, found)

        self.run_worker(run, thread=True, group="looking", exclusive=True)

    def on_key(self, event: events.Key) -> None:
        """Say why nothing happens when a key would change something in the past."""
        if self.memory.is_past:
            chain = (bindings for node, bindings in self._binding_chain if node is self)
            found = [one for bindings in chain for one in bindings.key_to_bindings.get(event.key, ())]
            if any(one.action in self.WRITES for one in found):
                event.stop()
                self.refuse_in_past()

    def refuse_in_past(self) -> bool:
        """Say that nothing changes in the past, while it is shown; return whether it is."""
        if self.memory.is_past:
            said = "This is the past: nothing changes here. r in the facts restores one, esc returns to the present."
            self.notify(said, severity="warning", timeout=5)
        return self.memory.is_past

    def _write(
        self,
        act: Callable[[], ActionResult],
        then: Callable[[], object] | None,
        otherwise: Callable[[StoreError], object] | None,
    ) -> None:
        try:
            done = act()
        except StoreError as error:
            self.app.call_from_thread(self._finish_refused_write, error, otherwise)
        else:
            self.app.call_from_thread(self._finish_write, done, then)

    def _show_writing(self) -> None:
        self.title_bar.writing = self._writes > 0

    def _finish_refused_write(self, error: StoreError, otherwise: Callable[[StoreError], object] | None) -> None:
        self._writes -= 1
        self._show_writing()
        (otherwise or self.show_error)(error)

    def _finish_write(self, done: ActionResult, then: Callable[[], object] | None) -> None:
        self._writes -= 1
        self._show_writing()
        if then is not None:
            then()
        self.notify(done.message, timeout=4, markup=False)
        self.after_write()

    def after_write(self) -> None:
        """Update the screen after a write made here."""

    def show_error(self, error: StoreError) -> None:
        """Show the person why an action failed."""
        said = str(error)
        if isinstance(error, UndoConflict | NothingToUndo):
            from hermes_memory_tui.text.undo_refusals import format_refusal

            said = format_refusal(said)
        self.notify(said, severity="error", timeout=8, markup=False)
