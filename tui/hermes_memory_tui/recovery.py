"""Recovery: what a person had open and typed when the inspector failed, and how it is put before them again.

It is read from the screens of the app that fails and handed to the one that takes its place, in memory: unsaved texts of
editors alone are written down as well, since the process may end, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.screen import Screen

from hermes_memory_store.errors import StoreError
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Fact
from hermes_memory_tui.crash_report import unwrap_error, write_crash_report
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.screens.main import MainScreen
from hermes_memory_tui.views.view import View

if TYPE_CHECKING:
    from hermes_memory_tui.inspector import Inspector, Said
    from hermes_memory_tui.memory import Deeds
    from hermes_memory_tui.screens.editor import Editor


@dataclass(frozen=True, slots=True)
class UnsavedText:
    """What stood in an editor."""

    text: str
    base: Fact | None
    """The fact as it was when editing began; None for a new one."""
    theme: str = ""
    scope: str = ""
    """As it was typed, for a new fact."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a person had before them."""

    theme: str | None = None
    scope: str | None = None
    line: str = ""
    """The search line of the facts."""
    fact: str | None = None
    """Uid of the fact under the cursor."""
    view: str | None = None
    view_line: str = ""
    """The line over the view's list."""
    editor: UnsavedText | None = None
    typed: tuple[tuple[str, str], ...] = ()
    """Lines of dialogs, each with the dialog's name."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What an app is told that takes the place of one that failed."""

    sentence: str
    said: Sequence[Said]
    """Messages of the one before."""
    work: Work
    """Empty when putting it back may be what fails."""
    failures: int
    """How often it failed since the person last pressed a key."""
    deeds: Deeds | None = None
    """What was done there that undo is to come to."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An unexpected error, and where its report lies."""

    name: str
    """The error's type: what it says may quote a fact."""
    report: Path | None

    @classmethod
    def reported(cls, app: Inspector, error: Exception) -> Failure:
        """Write a report of an error."""
        screens = ", ".join(type(screen).__name__ for screen in app.screen_stack)
        details = [f"screens: {screens}", f"terminal: {app.size.width} x {app.size.height}"]
        return cls(type(unwrap_error(error)).__name__, write_crash_report(error, details))

    @property
    def where(self) -> str:
        """Where the report lies, in a sentence."""
        if self.report is None:
            return "A report of it could not be written."
        return f"A report without any of your facts is at {self.report}."

    @property
    def last_sentence(self) -> str:
        """What is said where the inspector ends."""
        return (
            f"something went wrong inside ({self.name}), so it ended; the memory is as it was, and what you typed and did "
            f"not save is offered at the next start. {self.where}"
        )

    def recovery(self, app: Inspector, before: Recovery | None) -> Recovery:
        """What the next app is told. :param before: what this one was told"""
        failures = 1 if before is None or app.was_touched else before.failures + 1
        work = app.work if app.work is not None and failures == 1 else Work()
        said = f"Something went wrong inside ({self.name}); this screen was made anew, and what you typed is kept. {self.where}"
        deeds = app.memory.deeds if app.memory is not None else None
        return Recovery(said, list(app.said), work, failures, deeds)


def find_work(app: Inspector) -> Work:
    """What the person has before them; unsaved texts are written down."""
    from hermes_memory_tui.screens.editor import Editor

    main = next((screen for screen in app.screen_stack if type(screen) is MainScreen), None)
    if main is None:
        return Work()
    view = next((screen for screen in app.screen_stack if isinstance(screen, View) and screen.NAME in app.views), None)
    editor = next((screen for screen in app.screen_stack if isinstance(screen, Editor)), None)
    if editor is not None:
        editor.keep_text()
    place, fact = main.tree_pane.place, main.table.fact
    return Work(
        theme=place.theme.name if place.theme else None,
        scope=place.scope.label if place.scope else None,
        line=main.line,
        fact=fact.uid if fact is not None else None,
        view=view.NAME if view is not None else None,
        view_line=view.line if view is not None else "",
        editor=None if editor is None or editor.unsaved is None else unsaved_text(editor),
        typed=tuple(typed_lines(app.screen_stack)),
    )


def unsaved_text(editor: Editor) -> UnsavedText:
    """What stands in an editor."""
    from hermes_memory_tui.screens.editor import NewFactEditor

    if isinstance(editor, NewFactEditor):
        return UnsavedText(editor.area.text, None, editor.theme_name, editor.scope or "")
    return UnsavedText(editor.area.text, editor.base)


def typed_lines(screens: Sequence[Screen[object]]) -> Iterator[tuple[str, str]]:
    """What was typed into the dialogs that are open."""
    for screen in screens:
        if isinstance(screen, Modal) and screen.typed:
            yield screen.draft_name, screen.typed


async def resume_work(app: Inspector, work: Work) -> None:
    """Put before the person what they had before them."""
    main = app.main
    app.typed = dict(work.typed)
    if work.theme is not None:
        main.go_to_scope(work.theme, work.scope)
    if work.line:
        await main.show_line(work.line)
    if work.fact is not None:
        main.go_to(work.fact)
    if work.view is not None:
        view = app.open_view(work.view)
        if view is not None and work.view_line:
            view.show_line(work.view_line)
    if work.editor is not None:
        try:
            main.edit_unsaved(work.editor)
        except StoreError as error:
            main.say_error(error)  # what was typed is kept, and offered as every draft is
