"""Time travel: a copy rewound to a past time, shown by the same screens; single facts can be restored from it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from hermes_memory_store.errors import StoreError, UnknownFact
from hermes_memory_store.history.time_travel import open_store_at
from hermes_memory_store.model import Fact, SessionStatus
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.model.memory import ActionResult, Memory, Overview
from hermes_memory_tui.screens.facts_screen import WRITES, MainScreen
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.key_line import KeyLine


class LoadCancelled(Exception):
    """Raised when nobody waits for the copy any more."""


class PastMemory(Memory):
    """A read-only memory as of a past time."""

    def overview(self) -> Overview:
        """Return the overview as of that time.

        The last heartbeat of open sessions is unknown, since the journal holds no heartbeats; so none is called live
        or stale.
        """
        found = super().overview()
        return replace(found, sessions=[replace(one, status=SessionStatus.OPEN) for one in found.sessions])


class PastLoadingDialog(Modal[None]):
    """Makes the copy, and opens it."""

    CSS_PATH = "dialogs.tcss"
    BINDING_GROUP_TITLE = "Time travel"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", id="past_loading.leave", tooltip="Cancel"),
    ]

    def __init__(self, memory: Memory, moment: int) -> None:
        super().__init__()
        self._memory = memory
        self._moment = moment
        self._left = False
        self._said = Static("", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="ask"):
            yield self._said
            yield KeyLine()

    def on_mount(self) -> None:
        when = display_formats.format_moment(self._moment, self._memory.now())
        self.query_one("#ask").border_title = "time travel"
        self._said.update(Content(f"rewinding to {when} …\n"))
        self.run_worker(self._make, thread=True)

    def _make(self) -> None:
        try:
            with self._memory.open_reader() as store:
                past = open_store_at(store, self._moment, progress=self._progress)
        except LoadCancelled:
            return
        except StoreError as error:
            self.app.call_from_thread(self._show_failure, error)
            return
        self.app.call_from_thread(self._open_past, past)

    def _progress(self, done: int, total: int) -> None:
        if self._left:
            raise LoadCancelled
        self.app.call_from_thread(
            self._said.update,
            Content(f"{display_formats.format_count(done)} of {display_formats.format_count(total)} changes rewound\n"),
        )

    def _open_past(self, past: Store) -> None:
        if self._left:
            past.close()
            return
        path, clock, policies = past.path, past.clock, past.policies
        folder = path.parent
        past.db.close()
        memory = PastMemory(lambda: Store.open(path, read_only=True, force=True, clock=clock, policies=policies))
        memory.shown_path = self._memory.shown_path
        memory.on_close = partial(shutil.rmtree, folder, ignore_errors=True)
        self.app.switch_screen(PastScreen(memory, self._memory))

    def _show_failure(self, error: StoreError) -> None:
        self.notify(str(error), severity="error", timeout=8, markup=False)
        if self.is_current:
            self.dismiss()

    def action_leave(self) -> None:
        self._left = True
        self.dismiss()

    def on_unmount(self) -> None:
        self._left = True  # however it was left, by quitting too: making the copy may take minutes


class PastScreen(MainScreen):
    """The facts of a past time. Read-only, but a fact can be restored to the present as it was."""

    NAME = "past"
    is_past = True
    AGENTS_TITLE = "agents at that time"
    BINDING_GROUP_TITLE = "The past"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("R", "bring_back", "Restore", id="past.bring_back", tooltip="Restore this version in the present"),
        Binding("q", "to_present", "Present", id="past.leave", tooltip="Back to the present"),
    ]

    def __init__(self, past: Memory, present: Memory) -> None:
        super().__init__(past, past.overview(), None)
        self._present = present
        self.title_bar.trouble = ""

    def on_mount(self) -> None:
        self.strip.display = False
        self.table.border_title = "the past"
        self.agents_pane.has_ages = False
        when = self.memory.now()
        self.title_bar.past = f"as it was on {display_formats.format_moment(when, self._present.now())}"

    def on_key(self, event: events.Key) -> None:
        """Say that the snapshot is read-only when a key would change something in the present."""
        chain = (bindings for node, bindings in self._binding_chain if node is self)
        found = [one for bindings in chain for one in bindings.key_to_bindings.get(event.key, ())]
        if any(one.action in WRITES for one in found):
            event.stop()
            said = "Read-only snapshot. R restores a fact, esc returns to the present."
            self.notify(said, severity="warning", timeout=5)

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
        facts = self.memory.facts_for_write(self.table.selected_keys)
        if facts:
            self.write(lambda: restore_past_facts(self._present, facts), self.table.action_unmark)

    def after_write(self) -> None:
        """Leave the past unchanged: the write was made in the present."""

    def go_to_fact(self, uid: str) -> None:
        """Ignore the fact that was written: it is in the present."""

    def action_back(self) -> None:
        if self.focused is self.table and not self.table.marked and not self.line:
            self.action_to_present()
        else:
            super().action_back()

    def action_to_present(self) -> None:
        """Return to the present."""
        self.app.pop_screen()

    def on_unmount(self) -> None:
        # However it was left, by a digit or by quitting too: its copy goes with it.
        self.memory.close()


def restore_past_facts(present: Memory, facts: list[Fact]) -> ActionResult:
    """Restore these facts in the present as they were: edited back, restored, or written anew; all or none."""

    def act(store: Store) -> int:
        for fact in facts:
            restore_past_fact(store, fact)
        return len(facts)

    what = display_formats.fact_name(facts[0]) if len(facts) == 1 else display_formats.pluralise(len(facts), "fact")
    done = present.run_grouped_write(act, f"{what} restored")
    return replace(done, back="In the present, u undoes.")


def restore_past_fact(store: Store, fact: Fact) -> None:
    """Restore one fact. A purged one is written anew, since nothing of it is left."""
    try:
        stands = store.facts.get(fact.uid)
    except UnknownFact:
        store.facts.write(fact.theme, fact.notation, scope=fact.scope, confirmed=True)
        return
    if stands.content != fact.content:
        store.facts.edit(fact.uid, fact.content, confirmed=True)
    if stands.tier != fact.tier:
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
    if stands.scope != fact.scope:
        store.facts.move([fact.uid], fact.scope)
