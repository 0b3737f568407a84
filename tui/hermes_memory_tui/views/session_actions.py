"""What the list of agents and the view of one session share: undo and end a session, and lines about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from textual.content import Content

from hermes_memory_store.context.context_records import ContextRecord
from hermes_memory_store.errors import UnknownSession
from hermes_memory_store.journal.change_folds import ChangeFold
from hermes_memory_store.model import Change, Session, SessionStatus, UndoResult, split_client_version
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.change_names import change_names
from hermes_memory_tui.model.journal_pages import load_fold_rows
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.system import bridge_client
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.text.change_subjects import change_subject
from hermes_memory_tui.text.undo_refusals import format_refusal
from hermes_memory_tui.views.base_view import BaseView
from hermes_memory_tui.widgets import change_text
from hermes_memory_tui.widgets.lists.grid_rows import GridCell
from hermes_memory_tui.widgets.text_panel import Line, labelled_value

INKS = {SessionStatus.LIVE: "success", SessionStatus.STALE: "warning", SessionStatus.ORPHANED: "error"}

UNDOABLE = ("fact", "scope")
"""Entities whose changes a session can undo."""

LEFT_SHOWN = 8
"""Reasons why an undo leaves something that its dialog shows."""

MOST_PREVIEWED = 2_000
"""Rows of a change that are shown before it is undone."""

ENDED = (SessionStatus.CLOSED, SessionStatus.ORPHANED)


def confirm_undo_fold(view: BaseView[Any], fold: ChangeFold) -> None:
    """Undo a change; one of several rows is shown first, to its last row, and undone when the person confirms."""
    memory, lead = view.memory, fold.lead
    if fold.size == 1:
        view.writes.run(lambda: memory.undo_change(lead))
        return

    def look() -> tuple[list[Change], dict[int, str], Sequence[str]]:
        rows, names = memory.read_view(partial(load_named_rows, fold=fold, limit=MOST_PREVIEWED))
        return rows, names, memory.preview_undo_change(lead, fold.changes)

    def ask(preview: tuple[list[Change], dict[int, str], Sequence[str]]) -> None:
        rows, names, left = preview
        lines: list[Line] = [
            Content(f"This change has {display_formats.pluralise(fold.size, 'row')}; they are undone together."),
            Content.styled(
                f"made {display_formats.format_ago(lead.at, memory.now())} by {display_formats.actor_name(lead.actor)}",
                "$dim",
            ),
            *left_lines(left),
            Content(""),
            *to_row_lines(fold, rows, names),
        ]
        view.ask_then(
            Question(f"undo change #{fold.first}", lines),
            lambda _: view.writes.run(lambda: memory.undo_change(lead, fold.changes)),
        )

    view.writes.look_then(look, ask)


def load_named_rows(store: Store, fold: ChangeFold, limit: int) -> tuple[list[Change], dict[int, str]]:
    rows = load_fold_rows(store, fold, limit)
    return rows, change_names(store, [fold.lead, *rows])


def to_row_lines(fold: ChangeFold, rows: Sequence[Change], names: dict[int, str]) -> list[Line]:
    left = fold.size - len(rows)
    return [
        *(
            Content.assemble(
                (f"{change_text.change_verb(row):<12}", change_text.change_style(row)),
                f" {change_subject(row, names)}",
            )
            for row in rows
        ),
        *([Content.styled(f"and {display_formats.pluralise(left, 'row')} more", "$dim")] if left else []),
    ]


def confirm_undo_session(view: BaseView[Any], session: Session) -> None:
    def read(store: Store) -> tuple[list[Change], dict[int, str]]:
        wrote = [
            row for row in changes_by_session(store, session, 200) if row.undoes is None and row.entity in UNDOABLE
        ]
        standing = [row for row in wrote if not store.undo.is_undone(row.change)]
        return standing, change_names(store, standing)

    def look() -> tuple[list[Change], dict[int, str], UndoResult | None]:
        standing, names = view.memory.read_view(read)
        result = view.memory.preview_undo_session(session.theme, session.name) if standing else None
        return standing, names, result

    def ask(seen: tuple[list[Change], dict[int, str], UndoResult | None]) -> None:
        standing, names, result = seen
        if result is None:
            view.notify("Nothing to undo in this session.", timeout=4)
            return
        now = view.memory.now()
        undone = [row for row in standing if row.seq in result.undone]
        more = len(result.undone) - 14
        lines: list[Line] = [
            Content.assemble(
                "Undo all writes of ", (to_printable(session.title), "bold"), " that are still in effect."
            ),
            Content.styled("ctrl+r redoes.", "$dim"),
            Content(""),
            *(change_summary_line(row, names, now) for row in undone[:14]),
            *([Content.styled(f"and {display_formats.pluralise(more, 'more row')}", "$dim")] if more > 0 else []),
            *left_lines(result.left),
        ]
        view.ask_then(
            Question(f"undo writes of {to_printable(session.title)}", lines),
            lambda _: view.writes.run(lambda: view.memory.undo_session(session.theme, session.name)),
        )

    view.writes.look_then(look, ask)


def status_cell(session: Session) -> GridCell:
    return GridCell(display_formats.SESSION_SHAPES[session.status], INKS.get(session.status, "dim"))


def left_lines(left: Sequence[str]) -> list[Line]:
    if not left:
        return []
    more = len(left) - LEFT_SHOWN
    return [
        Content(""),
        Content.styled(f"left as is ({len(left)}):", "bold"),
        *(Content.styled(to_printable(format_refusal(reason)), "$warning") for reason in left[:LEFT_SHOWN]),
        *([Content.styled(f"and {more} more", "$dim")] if more > 0 else []),
    ]


def confirm_end_session(view: BaseView[Any], session: Session) -> None:
    if session.status in ENDED:
        view.notify("Session already ended.", timeout=4)
        return
    lines: list[Line] = [
        Content.assemble(
            "Close session ", (to_printable(session.title), "bold"), ": release its lease, keep its checkpoint."
        ),
        Content.styled("Its writes stay. A running agent opens a new session on its next call.", "$dim"),
    ]
    view.ask_then(Question("end session", lines), lambda _: view.writes.run(partial(end_session, view.memory, session)))


def end_session(memory: Memory, session: Session) -> Any:
    """End a session through the bridge that holds it, else in the store."""
    if bridge_client.end_live_session(memory.path, session.theme, session.name):
        return memory.run_write(lambda _: None, f"session {to_printable(session.title)} ended", back="")
    return memory.run_write(
        lambda store: store.sessions.close(session), f"session {to_printable(session.title)} ended", back=""
    )


def session_origin_lines(session: Session) -> Sequence[Line]:
    client, version = split_client_version(session.client) if session.client else ("unknown", None)
    text = " ".join(filter(None, (client, session.client_version or version)))
    lines = [labelled_value("client", to_printable(text))]
    return lines if session.project is None else [*lines, labelled_value("project", to_printable(session.project))]


def changes_by_session(store: Store, session: Session, limit: int) -> list[Change]:
    try:
        changes = store.journal.changes(
            actor=f"session:{session.name}", theme=session.theme, limit=2 * limit, newest_first=True
        )
    except UnknownSession:
        return []
    return [change for change in changes if change.entity in ("fact", "scope")][:limit]


def checkpoint_lines(session: Session, now: int) -> Sequence[Line]:
    checkpoint = session.checkpoint
    if not checkpoint:
        return []
    at = checkpoint.get("at")
    values = {"turn": checkpoint.get("turn"), "scope": checkpoint.get("scope"), "writes": checkpoint.get("writes")}
    text = ", ".join(f"{name} {to_printable(str(value))}" for name, value in values.items() if value is not None)
    more = {name: value for name, value in checkpoint.items() if name not in (*values, "at")}
    lines = [
        labelled_value(
            "checkpoint", text + (f", {display_formats.format_moment(at, now)}" if isinstance(at, int) else "")
        )
    ]
    if more:
        shown = display_formats.shortened_text(to_printable(json.dumps(more, ensure_ascii=False)), 400)
        lines.append(labelled_value("", shown))
    return lines


def context_record_line(record: ContextRecord, now: int) -> Content:
    return Content.assemble(
        (f"{display_formats.format_age(record.at, now):>4}  ", "$dim"),
        (f"{to_printable(record.kind):<8}", "bold"),
        f" {display_formats.pluralise(len(record.facts), 'fact')}",
        (f"  {to_printable(record.why)}" if record.why else "", "$dim"),
    )


def change_summary_line(change: Change, names: dict[int, str], now: int) -> Content:
    """Format a change as one line. :param names: facts and scopes by the numbers of rows"""
    subject = display_formats.fit_text(change_subject(change, names), 60).rstrip()
    return Content.assemble(
        (f"{display_formats.format_age(change.at, now):>4}  ", "$dim"),
        (f"{change_text.change_verb(change):<12}", "bold"),
        f" {subject}",
    )
