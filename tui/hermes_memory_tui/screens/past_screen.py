"""The facts at a moment of the past, shown as those of the present are; single ones can be said again now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from hermes_memory_store.errors import UnknownFact
from hermes_memory_store.model import Fact
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.model.memory import ActionResult, Memory
from hermes_memory_tui.screens.facts_screen import MainScreen
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.key_line import KeyLine

FAR = 10_000
"""From so many facts on a listing takes longer to read than a step may take."""

RESTS_S = 0.6
"""How long one must stay at a moment until its whole listing is read: longer than between keys that are held."""


class TravelProgress(Message):
    """Posted to the app while a long way through time is gone: rows processed, and their number."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__()
        self.done = done
        self.total = total


class PastLoadingDialog(Modal[None]):
    """Says how far a long way through time has come; escape gives it up."""

    CSS_PATH = "dialogs.tcss"
    BINDING_GROUP_TITLE = "Time travel"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", id="past_loading.leave", tooltip="Cancel"),
    ]

    def __init__(self, cancel: Callable[[], None]) -> None:
        super().__init__()
        self._cancel = cancel
        self._said = Static("", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="ask"):
            yield self._said
            yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#ask").border_title = "time travel"

    def show_progress(self, app: App[Any], done: int, total: int) -> None:
        """Say how many changes were processed; the dialog opens with the first."""
        if not self.is_attached:
            app.push_screen(self)
        counts = f"{display_formats.format_count(done)} of {display_formats.format_count(total)}"
        self._said.update(Content(f"{counts} changes\n"))

    def action_leave(self) -> None:
        self._cancel()
        self.dismiss()


class PastScreen(MainScreen):
    """The facts of a past time. Read-only, but a fact can be restored to the present as it was."""

    NAME = "past"
    is_past = True
    AGENTS_TITLE = "agents at that time"
    BINDING_GROUP_TITLE = "The past"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "r",
            "bring_back",
            "Restore",
            id="past.bring_back",
            tooltip="Restore the fact as it was then",
        ),
        Binding("q", "to_present", "Present", id="past.leave", tooltip="Back to the present"),
    ]

    def __init__(self, past: Memory, present: Memory) -> None:
        self._resting: Timer | None = None  # a kept order by another column is read at once
        super().__init__(past, past.overview(), None)
        self._present = present
        self._known = present.newest_seq()
        self._band = ""
        self.title_bar.trouble = ""

    def on_mount(self) -> None:
        self.agents_pane.has_ages = False  # no journal holds heartbeats

    def show_band(self, band: str) -> None:
        """Say in the title where in time one is."""
        self._band = self.memory.band = band
        newer = self._present.newest_seq() - self._known
        self.title_bar.past = f"{band} · {newer:,} newer since" if newer > 0 else band

    def show_moment(self, band: str) -> None:
        """Show everything anew after the memory has gone to another moment; the cursor stays on its fact."""
        fact = self.table.fact
        self.show_band(band)
        self.overview = self.memory.overview()
        self._seq = self.overview.seq
        self.table.forget()
        self.tree_pane.show(self.overview.themes, self.overview.scopes)
        self.show_overview()
        self.show_listing(self._view)
        if fact is not None:
            super().go_to_fact(fact.uid)

    def read_listing(self) -> None:
        """Read the rest of a long listing once one stays at a moment: the next step would wait for it."""
        if self._resting is not None:
            self._resting.stop()
        if self._listing.view == self._view and self._listing.total > FAR:
            self._resting = self.set_timer(RESTS_S, super().read_listing)
        else:
            super().read_listing()

    def check_for_changes(self) -> None:
        """Say how much is newer."""
        self.show_band(self._band)

    def _explain_emptiness(self) -> None:
        if self.line:
            super()._explain_emptiness()
        elif self.overview.themes:
            self.table.empty = ("No facts at that time.", "", "/ tier:all includes archived and superseded facts")
        else:
            self.table.empty = ("The memory was empty at that time.", "", "esc: return to the present")

    def action_bring_back(self) -> None:
        if self._present.read_only:
            self.notify("The memory is open read-only.", severity="warning", timeout=4)
            return
        facts = self.memory.store.facts.by_ids(self.table.selected_keys)
        if facts:
            restore = partial(restore_past_facts, self._present, facts)
            self.writes.run(restore, self.table.action_unmark, in_present=True)

    def after_write(self, done: ActionResult) -> None:
        """Leave the past unchanged: the write was made in the present."""

    def go_to_fact(self, uid: str) -> None:
        """Ignore the fact that was written: it is in the present."""

    def action_back(self) -> None:
        if self.focused is self.table and not self.table.marked and not self.line:
            self.action_to_present()
        else:
            super().action_back()

    def action_to_present(self) -> None:
        app: Any = self.app
        app.time.leave()

    def on_unmount(self) -> None:
        # However it was left, by quitting too: its copy goes with it.
        self.memory.close()


def restore_past_facts(present: Memory, facts: list[Fact]) -> ActionResult:
    """Restore these facts in the present as they were: edited back, restored, or written anew; all or none."""

    def act(store: Store) -> int:
        for fact in facts:
            restore_past_fact(store, fact)
        return len(facts)

    subject = display_formats.fact_name(facts[0]) if len(facts) == 1 else display_formats.pluralise(len(facts), "fact")
    done = present.run_grouped_write(act, f"{subject} restored")
    return replace(done, back="In the present, u undoes.")


def restore_past_fact(store: Store, fact: Fact) -> None:
    """Restore one fact. A purged one is written anew, since nothing of it is left."""
    try:
        current = store.facts.get(fact.uid)
    except UnknownFact:
        store.facts.write(fact.theme, fact.notation, scope=fact.scope, confirmed=True)
        return
    if current.content != fact.content:
        store.facts.edit(fact.uid, fact.content, confirmed=True)
    if current.tier != fact.tier:
        match fact.tier.value:
            case "cold":
                store.facts.restore([fact.uid])
                store.facts.cool([fact.uid])
            case "archived":
                store.facts.archive([fact.uid])
            case "hot":
                store.facts.restore([fact.uid])
            case _:
                pass
    if current.scope != fact.scope:
        store.facts.move([fact.uid], fact.scope)
