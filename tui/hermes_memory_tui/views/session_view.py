"""Session: the activity of one session: its calls, context records with reasons, writes, and what it ran and edited, live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.context.context_records import ContextRecord, RecordedFact
from hermes_memory_store.items.action_rows import Action, list_actions
from hermes_memory_store.memory_tests.memory_case import CaseStart
from hermes_memory_store.model import Change, Session, format_notation
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.model.change_names import change_names
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.screens.memory_screen import WriteBinding
from hermes_memory_tui.screens.memory_test_dialog import CaseDraft, ask_for_test, to_test_binding
from hermes_memory_tui.system import bridge_client
from hermes_memory_tui.text import display_formats, reason_lines
from hermes_memory_tui.text.change_subjects import change_subject
from hermes_memory_tui.text.line_differences import LineDifference, diff_lines
from hermes_memory_tui.views.base_view import BaseView
from hermes_memory_tui.views.session_actions import (
    INKS,
    changes_by_session,
    checkpoint_lines,
    confirm_end_session,
    confirm_undo_session,
    session_origin_lines,
)
from hermes_memory_tui.widgets import change_text
from hermes_memory_tui.widgets.lists.grid import GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value

MAX_EVENTS = 500
"""Events of each kind that are listed, the newest."""

ASKING_TOOLS = ("memory_search", "memory_context", "recall_memory", "recall_conversation")
"""Tools that are called with a question."""

KINDS = ("all", "calls", "context", "writes", "actions")


@dataclass(frozen=True, slots=True)
class SessionActivity:
    """The recorded activity of a session, each list newest first."""

    session: Session
    calls: list[dict[str, Any]]
    told: list[ContextRecord]
    wrote: list[Change]
    done: list[Action]
    named: dict[int, str]


class SessionView(BaseView[SessionActivity]):
    """One row per event."""

    NAME = "agent"
    TITLE_OF_LIST = "activity"
    BINDING_GROUP_TITLE = "Session"
    TICK_S = 1.0
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("ago", 4, right=True),
        GridColumn("", 9),
        GridColumn("event", 16, most=24),
        GridColumn("detail"),
        GridColumn("result", 14, right=True, least=70),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "l,right", "kind(1)", "Filter", id="agent.kind", tooltip="Filter: all, calls, context, writes, actions"
        ),
        Binding("h,left", "kind(-1)", "Previous filter", id="agent.kind_before", tooltip="Previous filter", show=False),
        Binding("=", "compare", "Diff", id="agent.compare", tooltip="Diff the context with the previous one"),
        WriteBinding("U", "undo_session", "Undo all", id="agent.undo", tooltip="Undo all writes of the session"),
        WriteBinding("K", "end_session", "End", id="agent.end", tooltip="End the session and release its lease"),
        to_test_binding("agent"),
    ]

    def __init__(self, memory: Memory, session: Session) -> None:
        super().__init__(memory)
        self.grid.is_newest_first = True
        self._session = session
        self._kind = 0
        self._compare = True
        self._calls: list[dict[str, Any]] = []
        self._known: dict[int, list[RecordedFact]] = {}
        self._left: dict[int, list[RecordedFact]] = {}

    def title_place(self) -> str:
        return f"{to_printable(self._session.theme)} › {to_printable(self._session.title)}"

    def on_mount(self) -> None:
        self.set_interval(1.0, self._follow)

    def _follow(self) -> None:
        if self.is_current:
            self.reload()

    def ask_outside_store(self) -> None:
        self._calls = bridge_client.recorded_calls(self.memory.path, self._session.theme, self._session.name)[::-1][
            :MAX_EVENTS
        ]

    def load(self, store: Store) -> SessionActivity:
        session = self._session
        wrote = changes_by_session(store, session, MAX_EVENTS)
        return SessionActivity(
            store.sessions.get(session.theme, session.name),
            self._calls,
            store.context_records.list(session.theme, session.name, limit=MAX_EVENTS),
            wrote,
            list_actions(store.db, session, MAX_EVENTS),
            change_names(store, wrote),
        )

    def draw(self, data: SessionActivity) -> None:
        now, kind = self.memory.now(), KINDS[self._kind]
        events: list[tuple[int, tuple[str, Any], tuple[GridCell, ...]]] = []
        if kind in ("all", "calls"):
            events += [(call["at"], ("call", call["number"]), call_cells(call)) for call in data.calls]
        if kind in ("all", "context"):
            events += [(record.at, ("context", record.id), context_cells(record)) for record in data.told]
        if kind in ("all", "writes"):
            events += [(row.at, ("write", row.seq), change_cells(row, data.named)) for row in data.wrote]
        if kind in ("all", "actions"):
            events += [(action.at, ("action", action.uid), action_cells(action)) for action in data.done]
        events.sort(key=lambda event: -event[0])
        self.grid.empty = ("No activity yet.", "", "calls, context and writes appear here live")
        is_cut = max(len(events) for events in (data.calls, data.told, data.wrote, data.done)) >= MAX_EVENTS
        more = f", the newest {MAX_EVENTS} of each kind" if is_cut else ""
        self.grid.set_subtitle(f"{kind} · {display_formats.format_count(len(events))}{more}")
        ages = [GridCell(display_formats.format_age(at, now), "dim", value=now - at) for at, _, _ in events]
        self.grid.show([GridRow(key, (age, *cells)) for age, (_, key, cells) in zip(ages, events, strict=True)])

    def action_kind(self, step: int) -> None:
        self._kind = (self._kind + step) % len(KINDS)
        self.redraw()

    def action_compare(self) -> None:
        self._compare = not self._compare
        self.show_text()

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        data = self.data
        if data is None or not isinstance(key, tuple):
            return "session", self._session_lines()
        kind, number = key
        now = self.memory.now()
        if kind == "context":
            place = next((place for place, record in enumerate(data.told) if record.id == number), None)
            if place is not None:
                return "context", self._context_text(data.told, place)
        if kind == "write":
            change = next((change for change in data.wrote if change.seq == number), None)
            if change is not None:
                return "write", [
                    *change_text.change_detail(change, data.named, now),
                    Content(""),
                    *self._session_lines(),
                ]
        action = next((action for action in data.done if action.uid == number), None)
        if kind == "action" and action is not None:
            return action.kind, [*action_detail(action, now), Content(""), *self._session_lines()]
        call = next((entry for entry in data.calls if entry["number"] == number), None)
        if kind == "call" and call is not None:
            return "call", [*call_detail(call, now), Content(""), *self._session_lines()]
        return "session", self._session_lines()

    def _session_lines(self) -> Sequence[Line]:
        session = self.data.session if self.data is not None else self._session
        now = self.memory.now()
        return [
            heading_line("session"),
            Content.styled(
                f"{display_formats.SESSION_SHAPES[session.status]} {session.status.value}",
                f"bold ${INKS.get(session.status, 'dim')}",
            ),
            labelled_value("name", to_printable(session.name)),
            *session_origin_lines(session),
            labelled_value("scope", to_printable(session.scope or "none")),
            labelled_value("turn", str(session.turn)),
            labelled_value("last seen", display_formats.format_ago(session.heartbeat_at, now)),
            *checkpoint_lines(session, now),
            Content(""),
            key_hint_line(("U", "undo all writes"), ("K", "end session")),
        ]

    def _context_text(self, tellings: list[ContextRecord], place: int) -> Sequence[Line]:
        record = tellings[place]
        now = self.memory.now()
        before = next((telling for telling in tellings[place + 1 :] if telling.kind == record.kind), None)
        facts, earlier = self._facts(record), self._facts(before) if before is not None else []
        lines: list[Line] = [
            Content.assemble(
                (to_printable(record.kind), "bold"), (f"  {to_printable(record.why)}" if record.why else "", "")
            ),
            labelled_value("when", display_formats.format_when(record.at, now)),
            labelled_value(
                "size",
                f"{display_formats.pluralise(len(record.facts), 'fact')}, {display_formats.pluralise(record.tokens, 'token')}",
            ),
            labelled_value("why", context_reason(record)),
            Content(""),
        ]
        if self._compare and before is not None:
            lines.append(heading_line("diff to previous", display_formats.format_ago(before.at, now)))
            return [*lines, *compare_contexts(earlier, facts), Content(""), key_hint_line(("=", "hide diff"))]
        lines.append(heading_line("content", "and why" if record.reasons is not None else ""))
        for fact in facts:
            lines += [fact_line(fact), *reason_line(record, fact)]
        left_out = self._left_out(record)
        if left_out:
            lines += [Content(""), heading_line("left out", "the best, and why")]
            for fact in left_out:
                lines += [fact_line(fact, "$dim"), *reason_line(record, fact)]
        return [
            *lines,
            *([Content(""), key_hint_line(("=", "diff to previous"))] if before is not None else []),
        ]

    def _facts(self, record: ContextRecord) -> list[RecordedFact]:
        if record.id not in self._known:
            self._known[record.id] = self.memory.read_now(lambda store: store.context_records.facts(record))
        return self._known[record.id]

    def action_make_test(self) -> None:
        ask_for_test(self, self._draft_case())

    def _draft_case(self) -> CaseDraft | None:
        """Return what was asked where the cursor is: in that record, or in the last one before that call or write."""
        if self.data is None or not isinstance(self.grid.key, tuple):
            return None
        kind, number = self.grid.key
        record = self._find_record(kind, number)
        wrote = [
            format_notation(row.after["type"], row.after["target"], row.after["content"])
            for row in self.data.wrote
            if kind == "write" and row.seq == number and row.after and {"type", "target", "content"} <= row.after.keys()
        ]
        question = self._find_question(kind, number)
        if question and not ((record and record.why) or "").startswith(question.removesuffix("…")):
            return CaseDraft(self.data.session.theme, ask=question)  # its record is not written yet
        if record is None and not wrote:
            return None
        texts = [] if record is None else [fact.notation for fact in self._facts(record) if fact.notation is not None]
        lines = tuple(dict.fromkeys([*wrote, *texts]))
        left_out = (
            [] if record is None else [fact.notation for fact in self._left_out(record) if fact.notation is not None]
        )
        draft = CaseDraft(self.data.session.theme, lines=lines, left_out=tuple(left_out))
        if record is not None and record.why:
            return replace(draft, ask=record.why)
        session = self.data.session
        return replace(draft, start=CaseStart(session.project, scope=session.scope))

    def _find_question(self, kind: str, number: int) -> str | None:
        """Return what a call asked; None for other rows, and for calls that ask nothing."""
        assert self.data is not None
        calls = (call for call in self.data.calls if kind == "call" and call["number"] == number)
        return next((call.get("about") for call in calls if call["tool"] in ASKING_TOOLS), None)

    def _find_record(self, kind: str, number: int) -> ContextRecord | None:
        """Return the context record of a row: itself, or the last one before a call or a write."""
        assert self.data is not None
        if kind == "context":
            return next((record for record in self.data.told if record.id == number), None)
        times = [call["at"] for call in self.data.calls if kind == "call" and call["number"] == number]
        times += [change.at for change in self.data.wrote if kind == "write" and change.seq == number]
        return next((record for record in self.data.told if times and record.at <= times[0]), None)

    def _left_out(self, record: ContextRecord) -> list[RecordedFact]:
        if record.reasons is None or not record.reasons.left_out:
            return []
        if record.id not in self._left:
            self._left[record.id] = self.memory.read_now(lambda store: store.context_records.left_out(record))
        return self._left[record.id]

    def action_back(self) -> None:
        if self.focused is self.pages or self.has_class("-show-text"):
            self.remove_class("-show-text")
            self.grid.focus()
        else:
            self.app.pop_screen()

    def action_undo_session(self) -> None:
        confirm_undo_session(self, self._session)

    def action_end_session(self) -> None:
        confirm_end_session(self, self.data.session if self.data is not None else self._session)


def call_cells(call: dict[str, Any]) -> tuple[GridCell, ...]:
    hits = call.get("hits")
    outcome = (
        call["outcome"]
        if call["outcome"] != "ok"
        else f"{display_formats.pluralise(hits, 'fact')}"
        if hits is not None
        else "ok"
    )
    return (
        GridCell("▸ call", "primary"),
        GridCell(to_printable(call["tool"]), bold=True),
        GridCell(to_printable(call.get("about") or "")),
        GridCell(to_printable(outcome), "" if call["outcome"] == "ok" else "error"),
    )


def context_cells(record: ContextRecord) -> tuple[GridCell, ...]:
    return (
        GridCell("● context", "hot"),
        GridCell(to_printable(record.kind)),
        GridCell(to_printable(record.why or "")),
        GridCell(display_formats.pluralise(len(record.facts), "fact"), "dim"),
    )


def change_cells(change: Change, names: dict[int, str]) -> tuple[GridCell, ...]:
    return (
        GridCell("✎ write", "warning"),
        GridCell(change_text.change_verb(change), change_text.change_ink(change), name=True),
        GridCell(change_subject(change, names)),
        GridCell(f"#{change.seq}", "dim"),
    )


def action_cells(action: Action) -> tuple[GridCell, ...]:
    return (
        GridCell("» action", "accent"),
        GridCell(action.kind),
        GridCell(to_printable(" ".join(action.what.split()))),
        GridCell(action.outcome, "error" if action.error is not None else "dim"),
    )


def action_detail(action: Action, now: int) -> Sequence[Line]:
    labelled = {
        "when": display_formats.format_ago(action.at, now),
        "folder": to_printable(action.folder or ""),
        "took": "" if action.duration_ms is None else f"{action.duration_ms / 1000:.1f} s",
        "result": action.outcome,
    }
    texts = [Content(to_printable(line)) for line in f"{action.what}\n\n{action.error or ''}".split("\n")]
    return [*(labelled_value(label, value) for label, value in labelled.items() if value), Content(""), *texts]


def call_detail(call: dict[str, Any], now: int) -> Sequence[Line]:
    lines: list[Line] = [
        Content.styled(to_printable(call["tool"]), "bold"),
        Content(to_printable(call.get("about") or "")),
        Content(""),
        labelled_value("when", display_formats.format_ago(call["at"], now)),
        labelled_value("took", f"{call['ms']:.1f} ms"),
        labelled_value("answer", to_printable(str(call["outcome"]))),
    ]
    if call.get("hits") is not None:
        lines.append(labelled_value("facts", str(call["hits"])))
    return lines


def context_reason(record: ContextRecord) -> str:
    """Return why a context record contains these facts."""
    if record.reasons is not None:
        return f"{to_printable(record.kind)}: worth most a token where the session works, within the budget"
    return f"query {to_printable(record.why)!r}" if record.why else f"tool {to_printable(record.kind)}"


def fact_line(fact: RecordedFact, ink: str = "") -> Line:
    """Return a fact of a record, with a note where it says something else now."""
    text = "(purged)" if fact.notation is None else to_printable(fact.notation)
    return Content.assemble((text, "$dim" if fact.notation is None else ink), (change_note(fact), "$warning"))


def reason_line(record: ContextRecord, fact: RecordedFact) -> list[Line]:
    """Return why a fact was given, or left out; nothing where that was not recorded."""
    reasons = record.reasons
    candidates = (*reasons.given, *reasons.left_out) if reasons is not None else ()
    candidate = next((candidate for candidate in candidates if candidate.uid == fact.uid), None)
    if candidate is None:
        return []
    parts = "  ".join(f"{to_printable(name)} {value:+.1f}" for name, value in candidate.parts)
    return [Content.styled(f"    {reason_lines.format_worth(candidate.value, candidate.tokens)}  {parts}", "$dim")]


def change_note(fact: RecordedFact) -> str:
    return "  (changed)" if fact.changed and fact.notation is not None else ""


def compare_contexts(before: Sequence[RecordedFact], after: Sequence[RecordedFact]) -> Sequence[Line]:
    """Compare two context records line by line: lines that were added, removed, moved, and that stayed."""
    differences = diff_lines(*([fact.notation or "(purged)" for fact in some] for some in (before, after)))
    return [difference_line(difference) for difference in differences] or [Content.styled("empty in both", "$dim")]


def difference_line(difference: LineDifference) -> Line:
    """Return a line of a comparison, with a sign and a colour for what became of it."""
    text = to_printable(difference.text)
    if difference.before is None:
        return Content.styled(f"+ {text}", "$success")
    if difference.after is None:
        return Content.styled(f"- {text}", "$error")
    if not difference.moved:
        return Content.styled(f"  {text}", "$dim")
    places = f" from {difference.before + 1} to {difference.after + 1}" if difference.before != difference.after else ""
    return Content.assemble(("↕ ", "$accent"), text, (f"  (moved{places})", "$dim"))
