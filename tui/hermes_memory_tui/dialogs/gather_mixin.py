"""`GatherMixin`: a screen whose changes can be gathered in the basket instead of being done at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textual.binding import Binding

from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Fact, Scope
from hermes_memory_tui.dialogs.write_mixin import WriteMixin

if TYPE_CHECKING:
    from hermes_memory_tui.basket.pending_changes import Basket

SHOWN_BY = "B shows the basket."
"""What is said with a change that was gathered in a dialog."""


def gather_binding(owner: str) -> Binding:
    """Return the key that turns gathering on and off. :param owner: the first part of its id"""
    return Binding(
        "b", "gather", "Gather", id=f"{owner}.gather", tooltip="Gather changes in the basket, or do them at once again"
    )


class GatherMixin(WriteMixin):
    """A screen with a basket. What is gathered is not written until the basket is done."""

    pending: Mapping[str, str] = {}
    """What waits in the basket for each fact or scope that is shown, in words, by uid."""
    _shown_basket = 0

    @property
    def basket(self) -> Basket:
        app: Any = self.app
        return app.basket  # type: ignore[no-any-return]

    @property
    def is_gathering(self) -> bool:
        app: Any = self.app
        return not self.memory.is_past and bool(app.is_gathering)

    def action_gather(self) -> None:
        if self.refuse_in_past():
            return
        if self.memory.read_only:
            self.notify("The memory is open read-only: there is nothing to gather.", severity="warning", timeout=4)
            return
        basket = self.basket
        basket.is_gathering = not basket.is_gathering
        if basket.is_gathering:
            said = "Changes are gathered, not done. B shows them; b ends gathering."
        elif basket.changes:
            said = f"Changes are done at once again. {basket.note.capitalize()}; B shows it."
        else:
            said = "Changes are done at once again."
        self.notify(said, timeout=5, markup=False)
        self.show_basket()

    def gather_facts(self, action: str, facts: Sequence[Fact], then: Callable[[], object] | None = None) -> None:
        """Put a change of facts into the basket. :param then: called when they are in it"""
        from hermes_memory_tui.basket.pending_changes import to_fact_subject

        self.gather(lambda: self.basket.gather(action, list(map(to_fact_subject, facts))), then)

    def gather_scopes(
        self, action: str, scopes: Sequence[Scope], value: str | None = None, then: Callable[[], object] | None = None
    ) -> None:
        """Put a change of scopes into the basket. :param then: called when they are in it"""
        from hermes_memory_tui.basket.pending_changes import to_scope_subject

        self.gather(lambda: self.basket.gather(action, list(map(to_scope_subject, scopes)), value), then)

    def gather(self, act: Callable[[], str], then: Callable[[], object] | None) -> None:
        """Run in a thread what puts a change into the basket and returns what to say.

        Row and title show it; it is said in the log only, since a message for each would cover the list.

        :param then: called when it is in it
        """

        def run() -> None:
            try:
                said = act()
            except StoreError as error:
                self.app.call_from_thread(self.show_error, error)
            else:
                self.app.call_from_thread(show, said)

        def show(said: str) -> None:
            app: Any = self.app
            app.remember(f"{said}.", "information")
            if then is not None:
                then()
            if self.basket.trouble:
                self.notify(f"Not saved: {self.basket.trouble}.", severity="warning", timeout=5, markup=False)
            self.show_basket()

        if not self.refuse_in_past():
            self.run_worker(run, thread=True, group="gathering")

    def take_back_gathered(self) -> bool:
        """Take out what was gathered last, where that is what was done last here; return whether it was."""
        said = self.basket.take_back() if self.is_gathering else None
        if said is not None:
            self.notify(f"{said}.", timeout=2, markup=False)
            self.show_basket()
        return said is not None

    def say_purged(self, names: Sequence[str]) -> None:
        """Say that erased facts left the basket. May be called in a thread; waits for nothing."""
        said = f"Purged, and out of the basket: {', '.join(names)}."
        self.call_later(self.notify, said, severity="warning", timeout=6, markup=False)
        self.call_later(self.show_basket)

    def show_basket(self) -> None:
        """Show in the title how many changes wait, and in the rows which."""
        app: Any = self.app
        if self.title_bar.basket != app.basket_note or self._shown_basket != app.basket_version:
            self.title_bar.basket, self._shown_basket = app.basket_note, app.basket_version
            self.pending = app.basket.pending if app.basket_version else {}
            self.show_pending(self.pending)

    def show_pending(self, pending: Mapping[str, str]) -> None:
        """Show in the rows what waits for each fact or scope. :param pending: words, by uid"""
