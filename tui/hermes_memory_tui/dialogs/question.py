"""`Question`: a dialog that states what will happen and asks to type a word where undo is not possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.text_panel import LabelledText, Line, to_border_title

Check = Callable[[str], str | None]
"""What is wrong with a text; nothing when it will do. A question is answered by entering the same text again."""


class Question(Modal[str | None]):
    """Dismissed with the typed text (empty for a question without an input line), or None.

    The key that opens it never confirms it: enter does, and only once `is_armed`.
    """

    CSS_PATH = "../screens/dialogs.tcss"
    BINDING_GROUP_TITLE = "Question"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "OK", id="ask.accept", tooltip="Confirm", priority=True),
        Binding("escape", "leave", "Cancel", id="ask.leave", tooltip="Cancel", priority=True),
        Binding("pagedown", "page(1)", "Page down", id="ask.down", tooltip="Scroll the text down", show=False),
        Binding("pageup", "page(-1)", "Page up", id="ask.up", tooltip="Scroll the text up", show=False),
    ]

    def __init__(
        self,
        title: str,
        lines: Sequence[Line] = (),
        *,
        type_in: str | None = None,
        start: str = "",
        armed_by: str | None = None,
        check: Check | None = None,
        alarm: bool = False,
    ) -> None:
        """Create the question.

        :param type_in: the label of the input line; no line when None
        :param armed_by: the word to type before enter confirms
        :param alarm: whether the action cannot be undone
        """
        super().__init__()
        self._heading = title
        self._lines = lines
        self._armed_by = armed_by
        self._check = check
        self._alarm = alarm
        self._label = type_in
        self._asked = ""
        self.line = Input(start, id="ask-line", compact=True) if type_in is not None or armed_by is not None else None
        self._said = Static("", id="ask-said", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="ask", classes="alarm" if self._alarm else ""):
            with VerticalScroll(id="ask-text", can_focus=False):
                yield Static(Content("\n").join(to_content(line) for line in self._lines), markup=False)
            if self.line is not None:
                label = self._label or f"type {self._armed_by} to confirm"
                yield Static(Content.styled(label, "$dim"), id="ask-label")
                yield self.line
                yield self._said
            yield KeyLine()

    @property
    def draft_name(self) -> str:
        return self._heading

    @property
    def typed_text(self) -> str:
        return self.line.value if self.line is not None and self._armed_by is None else ""

    def on_mount(self) -> None:
        if self.line is not None and self._armed_by is None:
            self.line.value = self.take_recovered_text() or self.line.value
        self.query_one("#ask").border_title = to_border_title(self._heading)
        self.query_one("#ask-text").display = bool(self._lines)
        self.refresh_bindings()

    @property
    def is_armed(self) -> bool:
        if self.line is None:
            return True
        if self._armed_by is not None:
            return self.line.value.strip() == self._armed_by
        return bool(self.line.value.strip()) and (not self._problem or self._problem.endswith("?"))

    @property
    def _problem(self) -> str:
        text = self.line.value.strip() if self.line is not None else ""
        return (self._check(text) or "") if text and self._check is not None else ""

    def on_input_changed(self) -> None:
        self._asked = ""
        self._said.update(Content.styled(self._problem, "$error"))
        self.refresh_bindings()

    def on_input_submitted(self) -> None:
        """Handle enter that arrives together with the typed text, as over a slow connection.

        Only now has the input line processed the text.
        """
        self.action_accept()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "accept" and self.is_mounted and not self.is_armed:
            return None
        return True

    def action_accept(self) -> None:
        if not self.is_armed:
            self._answer_unarmed()
            return
        previous, self._asked = self._asked, self._problem
        if self._asked != previous:
            self._said.update(Content.styled(f"{self._asked} Press enter again to confirm.", "$warning"))
        else:
            self.dismiss(self.line.value.strip() if self.line is not None else "")

    def _answer_unarmed(self) -> None:
        """Say why enter confirms nothing."""
        typed = self.line.value.strip() if self.line is not None else ""
        if not typed:
            message = f"Type {self._armed_by or 'something'} first; esc cancels."
        else:
            message = self._problem or f"{to_printable(typed)} is not {self._armed_by}; nothing was done."
        self._said.update(Content.styled(message, "$error"))

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_page(self, pages: int) -> None:
        text = self.query_one("#ask-text")
        text.scroll_relative(y=pages * max(1, text.size.height - 1), animate=False)


def to_content(line: Line) -> Content:
    return Content.assemble(line.label, line.value) if isinstance(line, LabelledText) else line


def file_name_problem(name: str, *, is_new: bool = True) -> str | None:
    """Return what is wrong with the name of a file to write, or None. :param is_new: whether nothing may have it yet"""
    try:
        path = Path(name).expanduser()
        if path.exists() if is_new else path.is_dir():
            return f"{path} exists; choose another name" if is_new else f"{path} is a folder; name a file in it"
        return None if path.parent.is_dir() else f"no such folder: {path.parent}"
    except (OSError, RuntimeError, ValueError) as error:  # too long a name, nobody's home
        return f"not a file name: {getattr(error, 'strerror', None) or error}"
