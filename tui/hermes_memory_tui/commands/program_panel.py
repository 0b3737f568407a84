"""`ProgramPanel`: runs the programs of a custom command, and shows what they print."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.commands.custom_command import CustomCommand, ProgramCall
from hermes_memory_tui.commands.program_run import ProgramRun
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.text.display_formats import pluralise
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.text_panel import Line, TextPanel, to_border_title

SHOW_S = 0.1
"""How often what was printed is shown, and the time that it takes."""


class ProgramPanel(Modal[None]):
    """One program after the other, until one fails. Closes by itself never: what was printed is there to be read."""

    CSS_PATH = "../screens/commands.tcss"
    BINDING_GROUP_TITLE = "Program"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "escape,q",
            "leave",
            "Stop or close",
            id="program.leave",
            tooltip="Stop the program, or close what it printed",
        ),
        Binding("y", "copy", "Copy", id="program.copy", tooltip="Copy what was printed"),
    ]

    def __init__(self, command: CustomCommand, calls: Sequence[ProgramCall]) -> None:
        super().__init__()
        self._name_shown = command.name
        self._runs = [(call, ProgramRun(call.arguments, call.environment, command.limit_s)) for call in calls]
        self._begun = 0
        self._since = time.monotonic()
        self.end: str | None = None
        """What became of it; None while it runs."""
        self._pages = TextPanel("program-text")

    def compose(self) -> ComposeResult:
        with Vertical(id="program"):
            yield self._pages
            yield KeyLine()

    def on_mount(self) -> None:
        self._pages.focus()
        self.set_interval(SHOW_S, self._show_running)
        self._show()
        self.run_worker(self._run_all, thread=True, group="programs")

    def _run_all(self) -> None:
        for number, (_, run) in enumerate(self._runs, 1):
            self._begun = number
            trouble = run.run()
            if trouble:
                left = len(self._runs) - number
                self._finish(f"✗ {trouble}", f"; {left} not begun" if left else "")
                return
        self._finish("✓ done", "")

    def _finish(self, end: str, rest: str) -> None:
        self.end = f"{end} after {time.monotonic() - self._since:.1f} s{rest}"
        if self.is_running:  # else it was left, or the app ends
            self.app.call_later(self._show)

    def _show_running(self) -> None:
        if self.end is None:
            self._show()

    def _show(self) -> None:
        if not self.is_attached:
            return
        lines: list[Line] = []
        for call, run in self._runs[: max(self._begun, 1)]:
            lines.append(Content.styled(f"$ {to_printable(call.text)}", "bold"))
            for line in list(run.lines):
                lines.append(Content.styled(to_printable(line.text), "$warning" if line.is_error else ""))
        if self.end is not None:
            lines += [Content(""), Content.styled(self.end, "bold $success" if self.end.startswith("✓") else "$error")]
        state = "running, esc stops it" if self.end is None else "esc closes"
        frame = self.query_one("#program")
        frame.border_title = to_border_title(to_printable(self._name_shown))
        frame.border_subtitle = to_border_title(
            f"{state} · {int(time.monotonic() - self._since)} s" if self.end is None else state
        )
        at_end = self._pages.scroll_offset.y >= self._pages.max_scroll_y
        self._pages.show("", lines)
        if at_end:
            self._pages.scroll_end(animate=False)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._pages.plain)
        self.notify("Copied.", timeout=2)

    def action_leave(self) -> None:
        """Stop what runs; when nothing runs, close."""
        if self.end is None:
            self._stop()
        else:
            self.dismiss(None)

    def _stop(self) -> None:
        for _, run in self._runs:
            run.stop()

    def on_unmount(self) -> None:
        self._stop()


def run_question(command: CustomCommand, calls: Sequence[ProgramCall]) -> Question:
    how = "by /bin/sh, with what is selected in its environment" if command.shell else "as it stands, without a shell"
    head = f"{pluralise(len(calls), 'program')}, {how}; stopped after {command.limit_s:g} s each"
    lines: list[Line] = [Content.styled(head, "$dim"), Content("")]
    for call in calls:
        lines.append(Content(f"$ {to_printable(call.text)}"))
        if command.shell:
            lines += [
                Content.styled(f"  {name}={to_printable(value)!r}", "$dim")
                for name, value in sorted(call.environment.items())
            ]
    return Question(f"run {command.name}", lines)
