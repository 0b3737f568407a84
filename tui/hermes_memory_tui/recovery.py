"""Recovery: captures what a person had open and typed when the inspector failed, and restores it.

It is read from the screens of the failing app and passed in memory to the app that replaces it. Only the
unsaved text of editors is also saved to disk, since the process may end, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from textual.geometry import Size
from textual.screen import Screen

from hermes_memory_store.errors import StoreError
from hermes_memory_store.frozen import dataclass
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.model.open_work import OpenWork, RecoveryState, UnsavedText
from hermes_memory_tui.model.toast_messages import ToastMessage
from hermes_memory_tui.screens.facts_screen import MainScreen
from hermes_memory_tui.system.crash_report import unwrap_worker_error, write_crash_report
from hermes_memory_tui.views.base_view import BaseView

if TYPE_CHECKING:
    from hermes_memory_tui.basket.pending_changes import Basket
    from hermes_memory_tui.screens.fact_editor import Editor


class RecoverableApp(Protocol):
    was_touched: bool
    toasts: deque[ToastMessage]
    memory: Memory | None
    work: OpenWork | None
    typed: dict[str, str]

    @property
    def is_gathering(self) -> bool:
        """Whether changes go into the basket now."""

    @property
    def basket(self) -> Basket:
        """The gathered changes."""

    @property
    def screen_stack(self) -> Sequence[Screen[Any]]:
        """The open screens, the topmost last."""

    @property
    def size(self) -> Size:
        """The size of the terminal."""

    @property
    def views(self) -> Mapping[str, BaseView[Any]]:
        """The open views of the catalogue, by name."""

    @property
    def main(self) -> MainScreen:
        """The facts screen."""

    def open_view(self, name: str) -> BaseView[Any] | None:
        """Open a view of the catalogue."""


@dataclass(frozen=True, slots=True)
class AppFailure:
    """An unexpected error, and where its report is."""

    name: str
    """The error's type: what it says may quote a fact."""
    report: Path | None

    @classmethod
    def report_failure(cls, app: RecoverableApp, error: Exception) -> AppFailure:
        screens = ", ".join(type(screen).__name__ for screen in app.screen_stack)
        details = [f"screens: {screens}", f"terminal: {app.size.width} x {app.size.height}"]
        return cls(type(unwrap_worker_error(error)).__name__, write_crash_report(error, details))

    @property
    def report_location(self) -> str:
        """A sentence that says where the report is."""
        if self.report is None:
            return "The crash report could not be written."
        return f"A crash report (without fact contents) is at {self.report}."

    @property
    def exit_message(self) -> str:
        return (
            f"internal error ({self.name}); the inspector was closed. The memory is unchanged, and unsaved text is "
            f"offered at the next start. {self.report_location}"
        )

    def to_recovery(self, app: RecoverableApp, before: RecoveryState | None) -> RecoveryState:
        """Return what the next app receives. :param before: what this app had received"""
        failures = 1 if before is None or app.was_touched else before.failures + 1
        work = app.work if app.work is not None and failures == 1 else OpenWork()
        text = f"Internal error ({self.name}). The screen was restarted; your input was kept. {self.report_location}"
        undo_history = app.memory.undo_history if app.memory is not None else None
        return RecoveryState(text, list(app.toasts), work, failures, undo_history)


def capture_work(app: RecoverableApp) -> OpenWork:
    """Return what the person has open, and save unsaved texts as drafts."""
    from hermes_memory_tui.screens.fact_editor import Editor

    main = next((screen for screen in app.screen_stack if type(screen) is MainScreen), None)
    if main is None:
        return OpenWork()
    view = next(
        (screen for screen in app.screen_stack if isinstance(screen, BaseView) and screen.NAME in app.views), None
    )
    editor = next((screen for screen in app.screen_stack if isinstance(screen, Editor)), None)
    if editor is not None:
        editor.keep_text()
    place, fact = main.tree_pane.place, main.table.fact
    return OpenWork(
        theme=place.theme.name if place.theme else None,
        scope=place.scope.label if place.scope else None,
        line=main.line,
        fact=fact.uid if fact is not None else None,
        view=view.NAME if view is not None else None,
        view_line=view.line if view is not None else "",
        is_gathering=app.is_gathering,
        editor=None if editor is None or editor.unsaved_text is None else to_unsaved_text(editor),
        typed=tuple(dialog_texts(app.screen_stack)),
    )


def to_unsaved_text(editor: Editor) -> UnsavedText:
    from hermes_memory_tui.screens.fact_editor import NewFactEditor

    if isinstance(editor, NewFactEditor):
        return UnsavedText(editor.area.text, None, editor.theme_name, editor.scope or "")
    return UnsavedText(editor.area.text, editor.base)


def dialog_texts(screens: Sequence[Screen[object]]) -> Iterator[tuple[str, str]]:
    for screen in screens:
        if isinstance(screen, Modal) and screen.typed_text:
            yield screen.draft_name, screen.typed_text


async def restore_work(app: RecoverableApp, work: OpenWork) -> None:
    main = app.main
    app.typed = dict(work.typed)
    if work.is_gathering:
        app.basket.is_gathering = True
    if work.theme is not None:
        main.go_to_scope(work.theme, work.scope)
    if work.line:
        await main.show_line(work.line)
    if work.fact is not None:
        main.go_to_fact(work.fact)
    if work.view is not None:
        view = app.open_view(work.view)
        if view is not None and work.view_line:
            view.show_line(work.view_line)
    if work.editor is not None:
        try:
            main.edit_unsaved(work.editor)
        except StoreError as error:
            main.show_error(error)  # what was typed is kept, and offered as every draft is
