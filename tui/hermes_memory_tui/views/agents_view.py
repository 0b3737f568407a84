"""Agents: every session with its heartbeats, lease and calls, and every process that holds the file open."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from hermes_memory_bridge.connect.hooks.host_states import HostState, list_host_states
from hermes_memory_store.context.context_records import ContextRecord
from hermes_memory_store.diagnostics.file_holders import Holder, find_holders
from hermes_memory_store.model import Change, Session
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.change_names import change_names
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.screens.memory_screen import WriteBinding
from hermes_memory_tui.system import bridge_client
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.text.agent_counts import count_agents
from hermes_memory_tui.views.base_view import BaseView, ago_cell
from hermes_memory_tui.views.session_actions import (
    ENDED,
    INKS,
    change_summary_line,
    changes_by_session,
    checkpoint_lines,
    confirm_end_session,
    confirm_undo_session,
    context_record_line,
    session_origin_lines,
    status_cell,
)
from hermes_memory_tui.widgets.gauge_panel import bar_parts
from hermes_memory_tui.widgets.lists.grid import Grid, GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.lists.grid_rows import LazyCells, LazyRow, to_row
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value

MOST_ENDED = 500
"""Sessions that have ended which are listed, the newest; of those that have not, all are."""

BEATS = 10
"""Heartbeats a pulse shows."""

LEASE = 6
"""Cells of a lease's bar."""

LATEST = 6
"""Changes and tellings that are shown beside a session."""


@dataclass(frozen=True, slots=True)
class AgentsData:
    sessions: list[Session]
    ended: int
    """How many have ended, also of those that are not listed."""
    holders: list[Holder]
    live: dict[tuple[str, str], dict[str, Any]]
    """What the bridge says of a session, by theme and name."""
    bridge: bool
    """Whether a bridge answered."""
    hosts: list[HostState]
    """The hosts whose hooks are installed or were heard."""


@dataclass(slots=True)
class HeartbeatStrip:
    beats: deque[int] = field(default_factory=lambda: deque(maxlen=4 * BEATS))

    def record_beat(self, at: int) -> None:
        if not self.beats or self.beats[-1] != at:
            self.beats.append(at)

    def format_strip(self, now: int, every: int) -> str:
        slots = [" "] * BEATS
        for at in self.beats:
            slot = BEATS - 1 - (now - at) // max(1, every)
            if 0 <= slot < BEATS:
                slots[slot] = "▂" if slots[slot] == " " else "▅"
        return "".join("·" if slot == " " else slot for slot in slots)


class AgentsView(BaseView[AgentsData]):
    """Sessions above, processes below."""

    NAME = "agents"
    TITLE_OF_LIST = "sessions"
    BINDING_GROUP_TITLE = "Agents"
    TICK_S = 1.0
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("", 2, value=lambda row, _: status_cell(row)),
        GridColumn(
            "session",
            value=lambda row, _: GridCell(
                to_printable(row.title), ended_ink(row), bold=row.status not in ENDED, name=True
            ),
        ),
        GridColumn("theme", 6, least=70, most=16, value=lambda row, _: GridCell(to_printable(row.theme), "dim")),
        GridColumn("scope", 6, least=96, most=14, value=lambda row, _: GridCell(to_printable(row.scope or "–"), "dim")),
        GridColumn("pulse", BEATS, value=lambda row, view: view.pulse_cell(row)),
        GridColumn(
            "seen",
            5,
            right=True,
            value=lambda row, view: replace(ago_cell(row.heartbeat_at, view.memory.now()), ink=ended_ink(row)),
        ),
        GridColumn("lease", LEASE + 5, least=60, value=lambda row, view: lease_cell(row, view.memory.now())),
        GridColumn("turn", 4, right=True, value=lambda row, _: GridCell(str(row.turn), ended_ink(row), value=row.turn)),
        GridColumn("calls/m", 7, right=True, least=84, value=lambda row, view: view.calls_cell(row)),
        GridColumn(
            "client", 6, least=96, most=16, value=lambda row, _: GridCell(to_printable(row.client or "–"), "dim")
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        WriteBinding("U", "undo_session", "Undo all", id="agents.undo", tooltip="Undo all writes of the session"),
        WriteBinding("K", "end_session", "End", id="agents.end", tooltip="End the session and release its lease"),
        WriteBinding("X", "revoke", "Revoke token", id="agents.revoke", tooltip="Revoke the session's token"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.processes = Grid(
            (
                GridColumn(
                    "pid", 8, right=True, value=lambda holder, _: GridCell(str(holder.pid), "dim", value=holder.pid)
                ),
                GridColumn("program", value=lambda holder, _: GridCell(to_printable(holder.program))),
                GridColumn("age", 5, right=True, value=lambda holder, now: since_cell(holder.started_at, "?", now)),
                GridColumn(
                    "seen", 6, right=True, value=lambda holder, now: since_cell(self._heard.get(holder.pid), "–", now)
                ),
            ),
            id="grid-below",
        )
        self.hosts = Grid((GridColumn("", 2), GridColumn("host", 12), GridColumn("hooks")), id="grid-hosts")
        self._pulses: dict[str, HeartbeatStrip] = {}
        self._rows: list[LazyRow] = []
        self._rows_of: AgentsData | None = None
        self._heard: dict[int, int] = {}
        """When each process was heard."""
        self._live: dict[tuple[str, str], dict[str, Any]] | None = None
        self._holders: list[Holder] = []

    def below_list(self) -> ComposeResult:
        yield self.hosts
        yield self.processes

    def on_mount(self) -> None:
        self.hosts.border_title = "hosts"
        self.processes.border_title = "open file handles"
        self.set_interval(2.0, self._refresh_live)
        self.watch(self.title_bar, "agents", lambda _: self.redraw(), init=False)

    def _refresh_live(self) -> None:
        if self.is_current:
            self.reload()

    def ask_outside_store(self) -> None:
        self._live, self._holders = bridge_client.live_sessions(self.memory.path), find_holders(self.memory.path)

    def load(self, store: Store) -> AgentsData:
        sessions = store.sessions.list(most_ended=MOST_ENDED)
        counts = store.sessions.counts()
        ended = sum(counts.get(status.value, 0) for status in ENDED)
        if self.memory.is_past:  # processes, calls and hooks are of the present
            return AgentsData(sessions, ended, [], {}, False, [])
        return AgentsData(
            sessions,
            ended,
            self._holders,
            self._live or {},
            self._live is not None,
            list_host_states(store, sessions),
        )

    def draw(self, data: AgentsData) -> None:
        now = self.memory.now()
        running = [session for session in data.sessions if session.ended_at is None]
        if data is not self._rows_of:
            for session in running:
                pulse = self._pulses.get(session.uid)
                if pulse is None:
                    pulse = self._pulses[session.uid] = HeartbeatStrip()
                pulse.record_beat(session.heartbeat_at)
            self._heard = {session.pid: session.heartbeat_at for session in running if session.pid}
            makers = [partial(make_cell, column, self) for column in self.COLUMNS]
            self._rows = [LazyRow(row.uid, LazyCells(row, makers), partial(filter_text, row)) for row in data.sessions]
            self._rows_of = data
        else:
            for row in self._rows:
                row.cells.forget()
        self.grid.empty = (
            "No agent has connected yet.",
            "",
            "connect a host with: hermes-memory-bridge connect HOST",
        )
        bridge = "bridge up" if data.bridge else "no bridge"
        parts = [(self.title_bar.agents or count_agents(running, now)).short()]
        if data.ended > MOST_ENDED:
            parts.append(f"the last {MOST_ENDED} of {display_formats.format_count(data.ended)} ended")
        if not self.memory.is_past:
            parts.append(bridge)
        self.grid.set_subtitle(" · ".join(parts))
        if self.grid.all_rows is self._rows:
            self.grid.rows_changed()
        else:
            self.grid.show(self._rows)
        self.hosts.display = bool(data.hosts)
        self.hosts.show([host_row(state, now) for state in data.hosts])
        self.processes.show([to_row(self.processes.columns, holder.pid, holder, now) for holder in data.holders])

    def pulse_cell(self, session: Session) -> GridCell:
        beats = None if session.status in ENDED else self._pulses.get(session.uid)
        strip = "" if beats is None else beats.format_strip(self.memory.now(), session.heartbeat_ms)
        return GridCell(strip, INKS.get(session.status, "dim"))

    def calls_cell(self, session: Session) -> GridCell:
        live = {} if self.data is None else self.data.live.get((session.theme, session.name), {})
        per_minute = live.get("calls_per_minute")
        ink = ended_ink(session) if per_minute else "dim"
        return GridCell("–" if per_minute is None else f"{per_minute:.0f}", ink)

    def match_count(self) -> str:
        left_out = 0 if self.data is None else max(0, self.data.ended - MOST_ENDED)
        listed = super().match_count()
        return f"{listed} listed, {left_out:,} that ended are not" if left_out else listed

    @property
    def session(self) -> Session | None:
        if self.data is None:
            return None
        return next((session for session in self.data.sessions if session.uid == self.grid.key), None)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        session = self.session
        if session is None or self.data is None:
            return "session", [Content.styled("no session selected", "$dim")]
        now = self.memory.now()

        def read(store: Store) -> tuple[list[Change], dict[int, str], list[ContextRecord]]:
            wrote = changes_by_session(store, session, LATEST)
            return (
                wrote,
                change_names(store, wrote),
                store.context_records.list(session.theme, session.name, limit=LATEST),
            )

        wrote, names, tellings = self.memory.read_now(read)
        live = self.data.live.get((session.theme, session.name), {})
        return f"session {to_printable(session.title)}", [
            Content.assemble(
                (
                    f"{display_formats.SESSION_SHAPES[session.status]} {session.status.value}",
                    f"bold ${INKS.get(session.status, 'dim')}",
                ),
                (f"   {to_printable(session.theme)} › {to_printable(session.scope or 'no scope')}", "$dim"),
            ),
            Content(""),
            labelled_value("name", to_printable(session.name)),
            *session_origin_lines(session),
            labelled_value("process", str(session.pid or "on another machine")),
            labelled_value("since", f"{display_formats.format_moment(session.started_at, now)}, turn {session.turn}"),
            labelled_value(
                "token",
                to_printable(str(live.get("credential") or "none")) if live else "unknown (no bridge)",
            ),
            labelled_value("on orphan", session.on_orphan.value.replace("_", " ")),
            *checkpoint_lines(session, now),
            Content(""),
            heading_line("recent context", "enter: session activity"),
            *(context_record_line(telling, now) for telling in tellings),
            Content(""),
            heading_line("recent writes", "U: undo all"),
            *(change_summary_line(change, names, now) for change in wrote),
            *(
                []
                if self.data.bridge
                else [Content(""), Content.styled("Calls are only visible while a bridge is running:", "$dim")]
            ),
            *([] if self.data.bridge else [key_hint_line(("hermes-memory-bridge start", "start it"))]),
        ]

    def open(self, key: object) -> None:
        from hermes_memory_tui.views.session_view import SessionView

        session = self.session
        if session is not None:
            self.app.push_screen(SessionView(self.memory, session))

    # What a person does

    def action_undo_session(self) -> None:
        session = self.session
        if session is not None:
            confirm_undo_session(self, session)

    def action_end_session(self) -> None:
        session = self.session
        if session is not None:
            confirm_end_session(self, session)

    def action_revoke(self) -> None:
        session = self.session
        if session is None or self.data is None:
            return
        live = self.data.live.get((session.theme, session.name), {})
        token = live.get("credential")
        if not token:
            self.notify(
                "This session has no token; it connected over the local socket."
                if live
                else "The session's token is known only while it is connected to a running bridge.",
                timeout=6,
            )
            return
        lines: list[Line] = [
            Content.assemble(
                "Token ", (to_printable(token), "bold"), " is revoked immediately for every session using it."
            ),
            Content.styled("Create another with: hermes-memory-bridge token add", "$dim"),
        ]
        self.ask_then(Question("revoke token", lines, alarm=True), lambda _: self._revoke(token))

    def _revoke(self, token: str) -> None:
        result = f"token {to_printable(token)} revoked"
        self.writes.run(lambda: self.memory.run_write(lambda store: store.credentials.revoke(token), result, back=""))


def host_row(state: HostState, now: int) -> GridRow:
    """Format when a host was heard last and what it was given; one that is silent stands out."""
    ink = "warning" if state.is_silent else "success" if state.installed_at is not None else "dim"
    shape = "!" if state.is_silent else "●" if state.installed_at is not None else "○"
    return GridRow(
        state.host,
        (GridCell(shape, ink), GridCell(state.host), GridCell(state.describe(now), "dim" if ink == "dim" else "")),
    )


def filter_text(session: Session) -> str:
    texts = (session.title, session.theme, session.scope, session.client, session.status.value)
    ended = "ended" if session.status in ENDED else None
    return "\n".join([to_printable(text) for text in (*texts, ended) if text])


def make_cell(column: GridColumn, view: AgentsView, session: Session) -> GridCell:
    assert column.value is not None
    return column.value(session, view)


def ended_ink(session: Session) -> str:
    return "dim" if session.status in ENDED else ""


def since_cell(moment: int | None, otherwise: str, now: int) -> GridCell:
    return GridCell(display_formats.format_age(moment, now) if moment else otherwise, "dim")


def lease_cell(session: Session, now: int) -> GridCell:
    """Format the time until a session's lease expires as a shrinking bar."""
    if session.status in ENDED:
        return GridCell("ended", "dim")
    left = max(0, session.heartbeat_at + session.lease_ms - now)
    share = min(1.0, left / max(1, session.lease_ms))
    filled, rest = bar_parts(100 * share, LEASE)
    ink = "success" if share > 0.4 else "warning" if left else "error"
    seconds = f" {left // 1000:>3}s" if left else " exp."
    return GridCell("", parts=((filled, ink, ""), (rest, "track", ""), (seconds, "dim", "")))
