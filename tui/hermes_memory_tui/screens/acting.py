"""`Acting`: what a person does to the memory. Every write runs in a thread, so no lock freezes a frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.screen import Screen

from hermes_memory_store.errors import StoreError
from hermes_memory_tui.memory import Done

if TYPE_CHECKING:
    from hermes_memory_tui.acts import Preview
    from hermes_memory_tui.widgets.title_bar import TitleBar

    Base = Screen[None]
else:
    Base = object

WRITING_SHOWS_S = 0.2
"""From when on a waiting write is shown: an ordinary one is over long before."""


class Acting(Base):
    """A screen that writes. The title says while a write waits for its turn."""

    title_bar: TitleBar
    _writes = 0

    def write(
        self,
        act: Callable[[], Done],
        then: Callable[[], object] | None = None,
        otherwise: Callable[[StoreError], object] | None = None,
    ) -> None:
        """Run a write in a thread; say what it did, or why it was not done.

        :param then: called when it is done
        :param otherwise: called with the error instead of a notification
        """
        self._writes += 1
        self.set_timer(WRITING_SHOWS_S, self._show_writing)
        self.run_worker(partial(self._write, act, then, otherwise), thread=True, group="writing")

    def look_ahead(
        self, preview: Callable[[], Preview], act: Callable[[], Done], then: Callable[[], object] | None = None
    ) -> None:
        """Say what an act would change, and do it when the person agrees. :param then: called when it is done"""

        def look() -> None:
            try:
                found = preview()
            except StoreError as error:
                self.app.call_from_thread(self.say_error, error)
            else:
                self.app.call_from_thread(ask, found)

        def ask(found: Preview) -> None:
            from hermes_memory_tui.dialogs.confirming import Confirming

            if found.facts:
                self.app.push_screen(Confirming(found), decide)
            else:
                self.notify("There is nothing in it.", timeout=4)

        def decide(agreed: bool | None) -> None:
            if agreed:
                self.write(act, then)

        self.run_worker(look, thread=True, group="looking", exclusive=True)

    def _write(
        self,
        act: Callable[[], Done],
        then: Callable[[], object] | None,
        otherwise: Callable[[StoreError], object] | None,
    ) -> None:
        try:
            done = act()
        except StoreError as error:
            self.app.call_from_thread(self._refused, error, otherwise)
        else:
            self.app.call_from_thread(self._written, done, then)

    def _show_writing(self) -> None:
        self.title_bar.writing = self._writes > 0

    def _refused(self, error: StoreError, otherwise: Callable[[StoreError], object] | None) -> None:
        self._writes -= 1
        self._show_writing()
        (otherwise or self.say_error)(error)

    def _written(self, done: Done, then: Callable[[], object] | None) -> None:
        self._writes -= 1
        self._show_writing()
        if then is not None:
            then()
        self.notify(done.sentence, timeout=4, markup=False)
        self.after_write()

    def after_write(self) -> None:
        """A write was made here."""

    def say_error(self, error: StoreError) -> None:
        """Tell the person what could not be done."""
        self.notify(str(error), severity="error", timeout=8, markup=False)
