"""Agent: the flight recorder of one session: what it called, what it was told and why, what it wrote, as it happens."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.model import Change, Session
from hermes_memory_store.recorder import Told, ToldFact
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui import bridge, shown
from hermes_memory_tui.memory import Memory
from hermes_memory_tui.naming import named
from hermes_memory_tui.views.agents import INKS, ask_end, ask_undo, checkpoint, written_by
from hermes_memory_tui.views.view import View
from hermes_memory_tui.widgets import changes
from hermes_memory_tui.widgets.grid import Cell, Column, Row
from hermes_memory_tui.widgets.pages import Line, heading, keys, pair

MOST = 500
"""Events of each kind that are listed, the newest."""

KINDS = ("everything", "calls", "told", "wrote")


@dataclass(frozen=True, slots=True)
class Flight:
    """What is known of a session, each newest first."""

    session: Session
    calls: list[dict[str, Any]]
    told: list[Told]
    wrote: list[Change]
    named: dict[str, str]


class AgentView(View[Flight]):
    """One line an event."""

    NAME = "agent"
    TITLE_OF_LIST = "flight recorder"
    BINDING_GROUP_TITLE = "Agent"
    WRITES = View.WRITES | {"undo_session", "end_session"}
    TICK_S = 1.0
    COLUMNS: ClassVar[Sequence[Column]] = (
        Column("ago", 4, right=True),
        Column("", 7),
        Column("what", 16),
        Column("about"),
        Column("came of it", 14, right=True, least=70),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "l,right", "kind(1)", "Kind", id="agent.kind", tooltip="Everything, calls, what it was told, what it wrote"
        ),
        Binding("h,left", "kind(-1)", "Kind before", id="agent.kind_before", tooltip="The kind before", show=False),
        Binding("=", "compare", "Compare", id="agent.compare", tooltip="Set what it was told against the time before"),
        Binding("U", "undo_session", "Undo all", id="agent.undo", tooltip="Take back everything the session wrote"),
        Binding("K", "end_session", "End", id="agent.end", tooltip="End the session: its lease is released"),
    ]

    def __init__(self, memory: Memory, session: Session) -> None:
        super().__init__(memory)
        self.grid.stays_at_top = True
        self._session = session
        self._kind = 0
        self._compare = True
        self._calls: list[dict[str, Any]] = []
        self._known: dict[int, list[ToldFact]] = {}

    def place(self) -> str:
        return f"{printable(self._session.theme)} › {printable(self._session.name)}"

    def on_mount(self) -> None:
        self.set_interval(1.0, self._follow)

    def _follow(self) -> None:
        if self.is_current:
            self.reload()

    def ask(self) -> None:
        self._calls = bridge.calls(self.memory.path, self._session.theme, self._session.name)[::-1][:MOST]

    def load(self, store: Store) -> Flight:
        one = self._session
        wrote = written_by(store, one, MOST)
        return Flight(
            store.sessions.get(one.theme, one.name),
            self._calls,
            store.recorder.list(one.theme, one.name, limit=MOST),
            wrote,
            named(store, wrote),
        )

    def draw(self, data: Flight) -> None:
        now, kind = self.memory.now(), KINDS[self._kind]
        events: list[tuple[int, Row]] = []
        if kind in ("everything", "calls"):
            events += [(one["at"], call_row(one, now)) for one in data.calls]
        if kind in ("everything", "told"):
            events += [(one.at, told_row(one, now)) for one in data.told]
        if kind in ("everything", "wrote"):
            events += [(one.at, wrote_row(one, data.named, now)) for one in data.wrote]
        events.sort(key=lambda event: -event[0])
        self.grid.empty = ("Nothing yet.", "", "what this agent calls, is told and writes shows here as it happens")
        self.grid.border_subtitle = f"{kind} · {len(events)}"
        self.grid.show([row for _, row in events])

    def action_kind(self, step: int) -> None:
        self._kind = (self._kind + step) % len(KINDS)
        self._tick()

    def action_compare(self) -> None:
        self._compare = not self._compare
        self.show_text()

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        data = self.data
        if data is None or not isinstance(key, tuple):
            return "session", self._about()
        kind, number = key
        now = self.memory.now()
        if kind == "told":
            place = next((place for place, one in enumerate(data.told) if one.id == number), None)
            if place is not None:
                return "what it was told", self._told_text(data.told, place)
        if kind == "wrote":
            change = next((one for one in data.wrote if one.seq == number), None)
            if change is not None:
                return "what it wrote", [*changes.described(change, data.named, now), Content(""), *self._about()]
        call = next((one for one in data.calls if one["number"] == number), None)
        if kind == "call" and call is not None:
            return "call", [*call_text(call, now), Content(""), *self._about()]
        return "session", self._about()

    def _about(self) -> Sequence[Line]:
        session = self.data.session if self.data is not None else self._session
        now = self.memory.now()
        return [
            heading("the session"),
            Content.styled(
                f"{shown.SESSION_SHAPES[session.status]} {session.status.value}",
                f"bold ${INKS.get(session.status, 'dim')}",
            ),
            pair("client", printable(session.client or "unknown")),
            pair("scope", printable(session.scope or "none")),
            pair("turn", str(session.turn)),
            pair("heard", shown.ago(session.heartbeat_at, now)),
            *checkpoint(session, now),
            Content(""),
            keys(("U", "undoes all it wrote"), ("K", "ends it")),
        ]

    def _told_text(self, tellings: list[Told], place: int) -> Sequence[Line]:
        told = tellings[place]
        now = self.memory.now()
        before = next((one for one in tellings[place + 1 :] if one.kind == told.kind), None)
        facts, earlier = self._facts(told), self._facts(before) if before is not None else []
        lines: list[Line] = [
            Content.assemble((printable(told.kind), "bold"), (f"  {printable(told.why)}" if told.why else "", "")),
            pair("when", f"{shown.moment(told.at, now)} ({shown.ago(told.at, now)})"),
            pair("told", f"{shown.plural(len(told.facts), 'fact')}, {shown.plural(told.tokens, 'token')}"),
            pair("why", why(told)),
            Content(""),
        ]
        if self._compare and before is not None:
            lines.append(heading("against the time before", shown.ago(before.at, now)))
            return [*lines, *compared(earlier, facts), Content(""), keys(("=", "shows it alone"))]
        lines.append(heading("word for word"))
        for fact in facts:
            said = "(purged since)" if fact.notation is None else printable(fact.notation)
            lines.append(Content.assemble((said, "$dim" if fact.notation is None else ""), (changed(fact), "$warning")))
        return [*lines, *([Content(""), keys(("=", "compares it with the time before"))] if before is not None else [])]

    def _facts(self, told: Told) -> list[ToldFact]:
        if told.id not in self._known:
            self._known[told.id] = self.memory.look(lambda store: store.recorder.facts(told))
        return self._known[told.id]

    def action_back(self) -> None:
        if self.focused is self.pages or self.has_class("-show-text"):
            self.remove_class("-show-text")
            self.grid.focus()
        else:
            self.app.pop_screen()

    def action_undo_session(self) -> None:
        ask_undo(self, self._session)

    def action_end_session(self) -> None:
        ask_end(self, self.data.session if self.data is not None else self._session)


def call_row(call: dict[str, Any], now: int) -> Row:
    """One call in the list."""
    hits = call.get("hits")
    outcome = (
        call["outcome"] if call["outcome"] != "ok" else f"{shown.plural(hits, 'fact')}" if hits is not None else "ok"
    )
    return Row(
        ("call", call["number"]),
        (
            Cell(shown.age(call["at"], now), "dim"),
            Cell("▸ call", "primary"),
            Cell(printable(call["tool"]), bold=True),
            Cell(printable(call.get("about") or "")),
            Cell(printable(outcome), "" if call["outcome"] == "ok" else "error"),
        ),
    )


def told_row(told: Told, now: int) -> Row:
    """One telling in the list."""
    return Row(
        ("told", told.id),
        (
            Cell(shown.age(told.at, now), "dim"),
            Cell("● told", "hot"),
            Cell(printable(told.kind)),
            Cell(printable(told.why or "")),
            Cell(shown.plural(len(told.facts), "fact"), "dim"),
        ),
    )


def wrote_row(change: Change, names: dict[str, str], now: int) -> Row:
    """One change in the list."""
    return Row(
        ("wrote", change.seq),
        (
            Cell(shown.age(change.at, now), "dim"),
            Cell("✎ wrote", "warning"),
            Cell(changes.done(change), changes.ink(change)),
            Cell(changes.subject(change, names)),
            Cell(f"#{change.seq}", "dim"),
        ),
    )


def call_text(call: dict[str, Any], now: int) -> Sequence[Line]:
    """Everything about a call."""
    lines: list[Line] = [
        Content.styled(printable(call["tool"]), "bold"),
        Content(printable(call.get("about") or "")),
        Content(""),
        pair("when", shown.ago(call["at"], now)),
        pair("took", f"{call['ms']:.1f} ms"),
        pair("answer", printable(str(call["outcome"]))),
    ]
    if call.get("hits") is not None:
        lines.append(pair("facts", str(call["hits"])))
    return lines


def why(told: Told) -> str:
    """Why it was told these facts."""
    if told.kind == "status":
        return "it asked for its status: pinned, then most binding, then most recently used, within the token budget"
    return f"it asked {printable(told.why)!r}" if told.why else f"it called {printable(told.kind)}"


def changed(fact: ToldFact) -> str:
    """A remark on a fact that reads otherwise by now."""
    return "  (changed since)" if fact.changed and fact.notation is not None else ""


def compared(before: Sequence[ToldFact], after: Sequence[ToldFact]) -> Sequence[Line]:
    """Two tellings line by line: what came, what went, what stayed."""
    then = [one.notation or "(purged since)" for one in before]
    now = [one.notation or "(purged since)" for one in after]
    lines: list[Line] = []
    for op, begin, end, other, last in difflib.SequenceMatcher(a=then, b=now, autojunk=False).get_opcodes():
        if op == "equal":
            lines += [Content.styled(f"  {printable(one)}", "$dim") for one in then[begin:end]]
            continue
        lines += [Content.styled(f"- {printable(one)}", "$error") for one in then[begin:end]]
        lines += [Content.styled(f"+ {printable(one)}", "$success") for one in now[other:last]]
    return lines or [Content.styled("nothing, both times", "$dim")]
