"""Agents: every session with its pulse, its lease and its calls, and every process that holds the file."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.errors import StoreError
from hermes_memory_store.holders import Holder, holders
from hermes_memory_store.model import Change, Session, SessionStatus
from hermes_memory_store.recorder import Told
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui import bridge, shown
from hermes_memory_tui.dialogs.ask import Ask
from hermes_memory_tui.memory import Memory
from hermes_memory_tui.naming import named
from hermes_memory_tui.views.view import View
from hermes_memory_tui.widgets import changes
from hermes_memory_tui.widgets.grid import Cell, Column, Grid, Row
from hermes_memory_tui.widgets.pages import Line, heading, keys, pair

MOST = 500
"""Sessions that are listed: those that run, then the newest that ended."""

BEATS = 10
"""Heartbeats a pulse shows."""

LEASE = 6
"""Cells of a lease's bar."""

LATEST = 6
"""Changes and tellings that are shown beside a session."""

INKS = {SessionStatus.LIVE: "success", SessionStatus.STALE: "warning", SessionStatus.ORPHANED: "error"}

UNDOABLE = ("fact", "scope")
"""What of a session's changes can be taken back."""

ENDED = (SessionStatus.CLOSED, SessionStatus.ORPHANED)


@dataclass(frozen=True, slots=True)
class Here:
    """What the view shows."""

    sessions: list[Session]
    holders: list[Holder]
    live: dict[tuple[str, str], dict[str, Any]]
    """What the bridge says of a session, by theme and name."""
    bridge: bool
    """Whether a bridge answered."""


@dataclass(slots=True)
class Pulse:
    """Heartbeats that were seen."""

    beats: deque[int] = field(default_factory=lambda: deque(maxlen=4 * BEATS))

    def see(self, at: int) -> None:
        """A session was last heard of then."""
        if not self.beats or self.beats[-1] != at:
            self.beats.append(at)

    def strip(self, now: int, every: int) -> str:
        """The last intervals, a tick in each that had a beat."""
        slots = [" "] * BEATS
        for at in self.beats:
            slot = BEATS - 1 - (now - at) // max(1, every)
            if 0 <= slot < BEATS:
                slots[slot] = "▂" if slots[slot] == " " else "▅"
        return "".join("·" if slot == " " else slot for slot in slots)


class AgentsView(View[Here]):
    """Above the sessions, below the processes."""

    NAME = "agents"
    TITLE_OF_LIST = "sessions"
    BINDING_GROUP_TITLE = "Agents"
    WRITES = View.WRITES | {"undo_session", "end_session", "revoke"}
    TICK_S = 1.0
    COLUMNS: ClassVar[Sequence[Column]] = (
        Column("", 2),
        Column("session"),
        Column("theme", 14, least=70),
        Column("scope", 14, least=100),
        Column("pulse", BEATS),
        Column("heard", 5, right=True),
        Column("lease", LEASE + 5, least=60),
        Column("turn", 4, right=True),
        Column("calls/m", 7, right=True, least=84),
        Column("client", 16, least=116),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("U", "undo_session", "Undo all", id="agents.undo", tooltip="Take back everything the session wrote"),
        Binding("K", "end_session", "End", id="agents.end", tooltip="End the session: its lease is released"),
        Binding("X", "revoke", "Revoke token", id="agents.revoke", tooltip="Revoke the token the session showed"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.processes = Grid(
            (
                Column("pid", 8, right=True),
                Column("program"),
                Column("age", 5, right=True),
                Column("heard", 6, right=True),
            ),
            id="grid-below",
        )
        self._pulses: dict[str, Pulse] = {}
        self._live: dict[tuple[str, str], dict[str, Any]] | None = None
        self._holders: list[Holder] = []

    def below(self) -> ComposeResult:
        yield self.processes

    def on_mount(self) -> None:
        self.processes.border_title = "processes that hold the file"
        self.set_interval(2.0, self._refresh_live)

    def _refresh_live(self) -> None:
        if self.is_current:
            self.reload()

    def ask(self) -> None:
        self._live, self._holders = bridge.sessions(self.memory.path), holders(self.memory.path)

    def load(self, store: Store) -> Here:
        return Here(store.sessions.list()[:MOST], self._holders, self._live or {}, self._live is not None)

    def draw(self, data: Here) -> None:
        now = self.memory.now()
        for session in data.sessions:
            if session.ended_at is None:
                self._pulses.setdefault(session.uid, Pulse()).see(session.heartbeat_at)
        running = sum(session.ended_at is None for session in data.sessions)
        self.grid.empty = (
            "No agent has connected yet.",
            "",
            "hermes-memory-bridge connect HOST names this memory in the host's configuration",
        )
        self.grid.border_subtitle = f"{running} running · {'bridge answers' if data.bridge else 'no bridge runs'}"
        self.grid.show([self._row(session, data, now) for session in data.sessions])
        heard = {session.pid: session.heartbeat_at for session in data.sessions if session.pid and not session.ended_at}
        self.processes.show(
            [
                Row(
                    one.pid,
                    (
                        Cell(str(one.pid), "dim"),
                        Cell(printable(one.program)),
                        Cell(shown.age(one.started_at, now) if one.started_at else "?", "dim"),
                        Cell(shown.age(heard[one.pid], now) if one.pid in heard else "–", "dim"),
                    ),
                )
                for one in data.holders
            ]
        )

    def _row(self, session: Session, data: Here, now: int) -> Row:
        ended = session.ended_at is not None
        ink = "dim" if ended else ""
        live = data.live.get((session.theme, session.name), {})
        per_minute = live.get("calls_per_minute")
        pulse = self._pulses.get(session.uid)
        return Row(
            session.uid,
            (
                Cell(shown.SESSION_SHAPES[session.status], INKS.get(session.status, "dim")),
                Cell(printable(session.name), ink, bold=not ended),
                Cell(printable(session.theme), "dim"),
                Cell(printable(session.scope or "–"), "dim"),
                Cell(
                    pulse.strip(now, session.heartbeat_ms) if pulse and not ended else "",
                    INKS.get(session.status, "dim"),
                ),
                Cell(shown.age(session.heartbeat_at, now), ink),
                Cell("ended", "dim") if ended else lease(session, now),
                Cell(str(session.turn), ink),
                Cell("–" if per_minute is None else f"{per_minute:.0f}", ink if per_minute else "dim"),
                Cell(printable(session.client or "–"), "dim"),
            ),
        )

    @property
    def session(self) -> Session | None:
        """The session under the cursor."""
        if self.data is None:
            return None
        return next((one for one in self.data.sessions if one.uid == self.grid.key), None)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        session = self.session
        if session is None or self.data is None:
            return "session", [Content.styled("no session is chosen", "$dim")]
        now = self.memory.now()

        def read(store: Store) -> tuple[list[Change], dict[str, str], list[Told]]:
            wrote = written_by(store, session, LATEST)
            return wrote, named(store, wrote), store.recorder.list(session.theme, session.name, limit=LATEST)

        wrote, names, tellings = self.memory.look(read)
        live = self.data.live.get((session.theme, session.name), {})
        return f"session {printable(session.name)[:24]}", [
            Content.assemble(
                (
                    f"{shown.SESSION_SHAPES[session.status]} {session.status.value}",
                    f"bold ${INKS.get(session.status, 'dim')}",
                ),
                (f"   {printable(session.theme)} › {printable(session.scope or 'no scope')}", "$dim"),
            ),
            Content(""),
            pair("client", printable(session.client or "unknown")),
            pair("process", str(session.pid or "not on this machine")),
            pair("since", f"{shown.moment(session.started_at, now)}, turn {session.turn}"),
            pair(
                "token", printable(str(live.get("credential") or "none was shown")) if live else "the bridge would know"
            ),
            pair("if lost", session.on_orphan.value.replace("_", " ")),
            *checkpoint(session, now),
            Content(""),
            heading("told last", "enter opens the flight recorder"),
            *(told_line(one, now) for one in tellings),
            Content(""),
            heading("wrote last", "U takes all of it back"),
            *(change_line(one, names, now) for one in wrote),
            *([] if self.data.bridge else [Content(""), Content.styled("Calls are seen while a bridge runs:", "$dim")]),
            *([] if self.data.bridge else [keys(("hermes-memory-bridge start", "starts it"))]),
        ]

    def open(self, key: object) -> None:
        """The session's flight recorder."""
        from hermes_memory_tui.views.agent import AgentView

        session = self.session
        if session is not None:
            self.app.push_screen(AgentView(self.memory, session))

    # What a person does

    def action_undo_session(self) -> None:
        session = self.session
        if session is not None:
            ask_undo(self, session)

    def action_end_session(self) -> None:
        session = self.session
        if session is not None:
            ask_end(self, session)

    def action_revoke(self) -> None:
        session = self.session
        if session is None or self.data is None:
            return
        live = self.data.live.get((session.theme, session.name), {})
        token = live.get("credential")
        if not token:
            self.notify(
                "This session showed no token: it came over the socket, where the system says whose process it is."
                if live
                else "Only a running bridge knows which token a session showed; this one is not connected.",
                timeout=6,
            )
            return
        lines: list[Line] = [
            Content.assemble(
                "Token ", (printable(token), "bold"), " will be void at once, for every session that uses it."
            ),
            Content.styled("hermes-memory-bridge token add makes another.", "$dim"),
        ]
        self.ask_then(Ask("revoke token", lines, alarm=True), lambda _: self._revoke(token))

    def _revoke(self, token: str) -> None:
        said = f"token {printable(token)} revoked"
        self.write(lambda: self.memory.do(lambda store: store.credentials.revoke(token), said, back=""))


def ask_undo(view: View[Any], session: Session) -> None:
    """Show what a session wrote, and take it all back when the person says so."""

    def read(store: Store) -> tuple[list[Change], dict[str, str]]:
        wrote = [one for one in written_by(store, session, 200) if one.undoes is None and one.entity in UNDOABLE]
        standing = [one for one in wrote if not store.undo.is_undone(one.change)]
        return standing, named(store, standing)

    try:
        standing, names = view.memory.look(read)
    except StoreError as error:
        view.say_error(error)
        return
    now = view.memory.now()
    lines: list[Line] = [
        Content.assemble(
            "Everything that ", (printable(session.name), "bold"), " wrote and that still holds will be taken back."
        ),
        Content.styled("What others built on since is left, and named. ctrl+r does it again.", "$dim"),
        Content(""),
        *(change_line(one, names, now) for one in standing[:14]),
        *([Content.styled(f"and {len(standing) - 14} more rows", "$dim")] if len(standing) > 14 else []),
    ]
    if not standing:
        view.notify("This session wrote nothing that is not undone already.", timeout=4)
        return
    view.ask_then(
        Ask(f"undo all that {printable(session.name)[:24]} wrote", lines),
        lambda _: view.write(lambda: view.memory.undo_session(session.theme, session.name)),
    )


def ask_end(view: View[Any], session: Session) -> None:
    """End a session when the person says so."""
    if session.status in ENDED:
        view.notify("This session has ended already.", timeout=4)
        return
    lines: list[Line] = [
        Content.assemble(
            (printable(session.name), "bold"), " ends as closed: its lease is released, its checkpoint kept."
        ),
        Content.styled(
            "What it wrote stays. An agent that still runs opens another session with its next call.", "$dim"
        ),
    ]
    view.ask_then(Ask("end session", lines), lambda _: view.write(partial(end, view.memory, session)))


def end(memory: Memory, session: Session) -> Any:
    """End a session through the bridge that holds it, else in the store."""
    if bridge.end(memory.path, session.theme, session.name):
        return memory.do(lambda _: None, f"session {printable(session.name)} ended", back="")
    return memory.do(lambda store: store.sessions.close(session), f"session {printable(session.name)} ended", back="")


def written_by(store: Store, session: Session, limit: int) -> list[Change]:
    """The newest changes of a session in its theme."""
    from hermes_memory_store.errors import UnknownSession

    try:
        found = store.journal.changes(
            actor=f"session:{session.name}", theme=session.theme, limit=2 * limit, newest_first=True
        )
    except UnknownSession:
        return []
    return [change for change in found if change.entity in ("fact", "scope")][:limit]


def lease(session: Session, now: int) -> Cell:
    """How long a session may still be silent, as a bar that shrinks."""
    left = max(0, session.heartbeat_at + session.lease_ms - now)
    share = min(1.0, left / max(1, session.lease_ms))
    full = round(share * LEASE)
    ink = "success" if share > 0.4 else "warning" if left else "error"
    seconds = f" {left // 1000:>3}s" if left else " lost"
    return Cell("", parts=((" " * full, "", ink), (" " * (LEASE - full), "", "track"), (seconds, "dim", "")))


def checkpoint(session: Session, now: int) -> Sequence[Line]:
    """What a session left behind when it ended."""
    kept = session.checkpoint
    if not kept:
        return []
    at = kept.get("at")
    known = {"turn": kept.get("turn"), "scope": kept.get("scope"), "writes": kept.get("writes")}
    said = ", ".join(f"{name} {printable(str(value))}" for name, value in known.items() if value is not None)
    more = {name: value for name, value in kept.items() if name not in (*known, "at")}
    lines = [pair("checkpoint", said + (f", {shown.moment(at, now)}" if isinstance(at, int) else ""))]
    if more:
        lines.append(pair("", printable(json.dumps(more, ensure_ascii=False))[:400]))
    return lines


def told_line(one: Told, now: int) -> Content:
    """One telling in a line."""
    return Content.assemble(
        (f"{shown.age(one.at, now):>4}  ", "$dim"),
        (f"{printable(one.kind):<8}", "bold"),
        f" {shown.plural(len(one.facts), 'fact')}",
        (f"  {printable(one.why)}" if one.why else "", "$dim"),
    )


def change_line(change: Change, names: dict[str, str], now: int) -> Content:
    """One change in a line. :param names: facts and scopes by uid"""
    subject = shown.fit(changes.subject(change, names), 60).rstrip()
    return Content.assemble(
        (f"{shown.age(change.at, now):>4}  ", "$dim"), (f"{changes.done(change):<12}", "bold"), f" {subject}"
    )
