"""Now: who is at work, how full each memory is, what is written and given, what waits, and what goes wrong."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from hermes_memory_store.model import Gauge, PressureLevel, Session
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.model.now_state import TRACE_CELLS, AgentNow, NowEvent, NowNote, NowReader, NowState, ThemeDay
from hermes_memory_tui.system import bridge_client, palettes
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.text.agent_counts import AgentCounts
from hermes_memory_tui.text.display_formats import format_sparkline, pluralise
from hermes_memory_tui.views.base_view import BaseView, RowContext, ago_cell, bar_cell
from hermes_memory_tui.views.session_actions import INKS, status_cell
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.lists.grid import Grid, GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.lists.grid_rows import to_row
from hermes_memory_tui.widgets.lists.line_list import LineList
from hermes_memory_tui.widgets.text_panel import Line, labelled_value

GAUGE = 10
"""Cells of a gauge."""

SYNC_S = 10.0
"""How often the bridge is asked about the sync."""

REST_S = 3.0
"""How soon after it was read the memory is read again while others write without a pause; k9s and btop do so, too."""

WATCHED_REST_S = 5.0
"""The same while the person only watches: a look costs some 20 ms of processor time, and this is open all day."""


class NowView(BaseView[NowState]):
    """Agents, memories and what needs attention beside the stream of what happens."""

    CSS_PATH = "../../screens/view.tcss"  # Textual looks from the folder of the class
    NAME = "now"
    TITLE_OF_LIST = "written and given"
    BINDING_GROUP_TITLE = "Now"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-normal"), (200, "-wide")]
    TICK_S = 10.0
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("ago", 4, right=True, value=lambda event, at: ago_cell(event.at, at.now)),
        GridColumn("", 1, value=lambda event, at: GridCell("■", f"mark-{at.hues.get(event.theme, 0)}")),
        GridColumn(
            "who",
            12,
            least=50,
            most=22,
            value=lambda event, _: GridCell(event.who, "accent" if event.who == "you" else "", name=True),
        ),
        GridColumn("what", 11, value=lambda event, _: GridCell(event.verb, "dim" if is_given(event) else "success")),
        GridColumn("text", value=lambda event, _: GridCell(event.text, "dim" if is_given(event) else "")),
        GridColumn("theme", 6, least=70, most=16, value=lambda event, _: GridCell(to_printable(event.theme), "dim")),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("M", "sources", "Sources", id="now.sources", tooltip="What can be imported or connected here"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.agents = Grid(
            (
                GridColumn("", 2, value=lambda agent, _: status_cell(agent.session)),
                GridColumn(
                    "agent", value=lambda agent, _: GridCell(to_printable(agent.session.title), bold=True, name=True)
                ),
                GridColumn(
                    "branch", 14, least=88, value=lambda agent, _: GridCell(agent.branch or "–", "dim", name=True)
                ),
                GridColumn("5 min", TRACE_CELLS + 5, least=62, value=lambda agent, _: calls_cell(agent, self._moves)),
                GridColumn("last word", least=40, value=lambda agent, _: GridCell(agent.word, "dim")),
                GridColumn("seen", 4, right=True, value=lambda agent, at: ago_cell(agent.session.heartbeat_at, at.now)),
            ),
            id="grid-agents",
        )
        self.memories = Grid(
            (
                GridColumn("", 1, value=lambda day, at: GridCell("■", f"mark-{at.hues[day.theme.name]}")),
                GridColumn("memory", value=lambda day, _: GridCell(to_printable(day.theme.name), bold=True, name=True)),
                GridColumn(
                    "",
                    GAUGE,
                    least=40,
                    value=lambda day, _: bar_cell(day.theme.gauge.pct, GAUGE, day.theme.gauge.level.value),
                ),
                GridColumn("full", 5, right=True, value=lambda day, _: full_cell(day.theme.gauge)),
                GridColumn("24 h", 24, least=62, value=lambda day, _: GridCell(hours_line(day), "accent")),
                GridColumn(
                    "written",
                    7,
                    right=True,
                    value=lambda day, _: GridCell(str(sum(day.written)), value=sum(day.written)),
                ),
                GridColumn(
                    "given",
                    7,
                    right=True,
                    least=50,
                    value=lambda day, _: GridCell(
                        display_formats.abbreviate_number(sum(day.given)), "dim", value=sum(day.given)
                    ),
                ),
            ),
            id="grid-memories",
        )
        self.attention = Grid((GridColumn("", 1), GridColumn("")), id="grid-attention")
        self.said = Static("", id="now-sentence", markup=False)
        self.grid.is_newest_first = True
        for grid in (self.agents, self.memories, self.attention, self.grid):
            grid.hides_cursor = True
        self._reader = NowReader()
        self._expiring: list[str] = []
        self._sync: dict[str, Any] | None = None
        self._asked_at = self._read_at = 0.0
        self._moves = True

    def compose(self) -> ComposeResult:
        yield self.title_bar
        yield self.strip
        yield self.said
        with self.body:
            with Vertical(id="now-left"):
                yield self.agents
                yield self.memories
                yield self.attention
                yield self.pages
            with Vertical(id="list"):
                yield self.grid
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        # Nothing moves over ssh, or where the person asked for that: the trace is a number then.
        self._moves = self.app.animation_level != "none" and "SSH_CONNECTION" not in os.environ
        self.agents.border_title, self.memories.border_title = "agents", "memories"
        self.attention.border_title = "needs you"
        self.watch(self.title_bar, "agents", self._follow_title, init=False)
        if not self.memory.is_past:
            self.run_worker(self._find_expiring, thread=True, group="disk")

    def _find_expiring(self) -> None:
        from hermes_memory_bridge.backfill.disk_sessions import list_expiring

        if expiring := list_expiring(self.memory.path):
            self._expiring = expiring
            self.app.call_from_thread(self.reload)

    def _follow_title(self, counts: AgentCounts | None) -> None:
        # The title counts again when a lease passes, which nothing in the file tells.
        if self.data is not None:
            self._show_counts(self.data)
            if counts != self.data.counts and not self.title_bar.paused:
                self.reload()

    def _show_counts(self, data: NowState) -> None:
        counts = self.title_bar.agents or data.counts
        sentence = replace(data, counts=counts).sentence()
        if sentence != self.said.content:
            self.said.update(sentence, layout=False)
        more = f" · {data.more_agents:,} more" if data.more_agents else ""
        self.agents.set_subtitle(counts.short() + more if data.agents else "")

    def check_for_changes(self) -> None:
        """Reload when the store has changed, but not more often than every `REST_S`, or `WATCHED_REST_S`."""
        rest_s = WATCHED_REST_S if self.inspector.is_watched else REST_S
        if self._epoch >= 0 and self.app._loop is not None and self.app._loop.time() - self._read_at < rest_s:
            self._update_title_error()
            return
        super().check_for_changes()

    def reload(self) -> None:
        self._read_at = 0.0 if self.app._loop is None else self.app._loop.time()
        super().reload()

    def ask_outside_store(self) -> None:
        if self._read_at - self._asked_at >= SYNC_S or not self._asked_at:
            self._asked_at = self._read_at or 1.0
            self._sync = bridge_client.request_sync(self.memory.path, "status")

    def load(self, store: Store) -> NowState:
        past = self.memory.is_past
        sync = None if past else self._sync
        capture = "" if past else self.memory.find_capture_stop()
        reader = NowReader() if past else self._reader
        state = reader.read(store, self.memory.now(), is_past=past, sync=sync, capture=capture)
        return replace(state, notes=[*state.notes, *(NowNote(line, "turns") for line in self._expiring)])

    def draw(self, data: NowState) -> None:
        at = RowContext(self.memory.now(), palettes.theme_hues(day.theme.name for day in data.days))
        self._show_counts(data)
        self.agents.empty = ("No agent is at work.", "", "connect a host: hermes-memory-bridge connect HOST")
        self.agents.show([to_row(self.agents.columns, agent.session.uid, agent, at) for agent in data.agents])
        self.memories.show([to_row(self.memories.columns, day.theme.name, day, at) for day in data.days])
        self.attention.empty = ("Nothing waits, and nothing is wrong.",)
        self.attention.show([note_row(note) for note in data.notes])
        self.grid.empty = ("Nothing has been written yet.",)
        self.grid.show([to_row(self.COLUMNS, event.key, event, at) for event in data.events])
        self._fit_panels(data)

    def _fit_panels(self, data: NowState) -> None:
        for grid, rows in ((self.agents, data.agents), (self.memories, data.days), (self.attention, data.notes)):
            height = max(len(rows), 0 if rows else len(grid.empty)) + grid.head_lines + 2
            if grid.styles.height is None or grid.styles.height.value != height:
                grid.styles.height = height
        self.set_class(not data.notes, "-calm")

    def title_place(self) -> str:
        return "now"

    # What stands beside the list

    @property
    def event(self) -> NowEvent | None:
        events = self.data.events if self.data is not None else []
        return next((event for event in events if event.key == self.grid.key), None)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        event = self.event
        if event is None:
            return "event", [Content.styled("nothing selected", "$dim")]
        now = self.memory.now()
        return f"{event.verb}", [
            Content(event.text),
            Content(""),
            labelled_value("by" if event.key[0] == "change" else "to", event.who),
            labelled_value("when", f"{display_formats.format_moment(event.at, now)}"),
            labelled_value("theme", to_printable(event.theme)),
            Content(""),
            Content.styled("enter: open it", "$dim"),
        ]

    # Going where it can be acted on

    def on_line_list_opened(self, message: LineList.Opened) -> None:
        if self.data is None:
            return
        if message.list is self.agents:
            self._open_agent(
                next((agent.session for agent in self.data.agents if agent.session.uid == self.agents.key), None)
            )
        elif message.list is self.memories:
            self._open_theme(self.memories.key)
        elif message.list is self.attention:
            note = next((other for other in self.data.notes if other.text == self.attention.key), None)
            if note is not None:
                self.inspector.open_view(note.view)
        else:
            super().on_line_list_opened(message)

    def open(self, key: object) -> None:
        event = self.event
        if event is None:
            return
        kind, number = event.key
        if event.uid is not None:
            main = self.inspector.main
            self.inspector.open_view("facts")
            main.go_to_fact(event.uid)
        elif kind == "change":
            view = self.inspector.open_view("journal")
            if view is not None:
                view.show_line(f"#{number}")
        elif event.session is not None and self.data is not None:
            sessions = [agent.session for agent in self.data.agents if agent.session.name == event.session]
            self._open_agent(next(iter(sessions), None))

    def _open_agent(self, session: Session | None) -> None:
        from hermes_memory_tui.views.session_view import SessionView

        if session is None:
            self.inspector.open_view("agents")
        else:
            self.app.push_screen(SessionView(self.memory, session))

    def _open_theme(self, name: object) -> None:
        if isinstance(name, str):
            main = self.inspector.main
            self.inspector.open_view("facts")
            main.go_to_scope(name, None)

    def action_sources(self) -> None:
        self.inspector.open_view("start")


def calls_cell(agent: AgentNow, moves: bool) -> GridCell:
    """Return the calls of an agent: their trace where things may move, else only how many there were."""
    trace = "".join("·" if not many else format_sparkline([many], 8, 1) for many in agent.trace)
    text = f"{trace} {agent.calls}" if moves else pluralise(agent.calls, "call")
    return GridCell(text, INKS.get(agent.session.status, "dim") if agent.calls else "dim", value=agent.calls)


def full_cell(gauge: Gauge) -> GridCell:
    alarm = "!" if gauge.level is PressureLevel.CONSOLIDATE else ""
    return GridCell(f"{gauge.pct:.0f}%{alarm}", gauge.level.value, value=gauge.pct)


def hours_line(day: ThemeDay) -> str:
    """Return what was written to a theme in each hour of its day."""
    top = max(*day.written, 1)
    return "".join("·" if not many else format_sparkline([many], top, 1) for many in day.written)


def note_row(note: NowNote) -> GridRow:
    """Return what needs a person as a row: `!` is wrong, `?` waits."""
    ink = "error" if note.is_wrong else "warning"
    return GridRow(note.text, (GridCell("!" if note.is_wrong else "?", ink, bold=True), GridCell(note.text)))


def is_given(event: NowEvent) -> bool:
    return event.key[0] == "given"
