"""`CommandLine`: takes a command after `:`, completes it, and remembers those before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.commands.command_registry import CommandRegistry
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.lists.grid_rows import rank_rows
from hermes_memory_tui.widgets.lists.line_list import LineList
from hermes_memory_tui.widgets.lists.pick_list import Choice, PickList


class PreparedLine(NamedTuple):
    """A line that was understood, and what it does."""

    line: str
    run: Callable[[], object]


class CommandLine(Modal[PreparedLine | None]):
    """Dismissed with a line that makes sense, or None. Anything else stays, with what is wrong with it."""

    CSS_PATH = "../screens/commands.tcss"
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (10, "-low")]
    BINDING_GROUP_TITLE = "Command line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "run_line", "Run", id="command.run", tooltip="Run the command", priority=True),
        Binding("tab", "complete(1)", "Complete", id="command.complete", tooltip="Complete, or the next completion"),
        Binding(
            "shift+tab", "complete(-1)", "Before", id="command.before", tooltip="The completion before", show=False
        ),
        Binding("up", "recall(-1)", "Older", id="command.older", tooltip="The command before"),
        Binding("down", "recall(1)", "Newer", id="command.newer", tooltip="The command after", show=False),
        Binding("escape", "leave", "Cancel", id="command.leave", tooltip="Cancel", priority=True),
    ]

    def __init__(self, registry: CommandRegistry, history: Sequence[str], start: str = "") -> None:
        """Create the line.

        :param history: earlier lines, the newest last
        :param start: what stands in it at first
        """
        super().__init__()
        self._registry = registry
        self._history = [*history, start]
        self._at = len(history)
        self._start = start
        self._completed: str | None = None
        """What the last completion left in the line; None once something else was typed."""
        self.line = Input(id="command-line", compact=True, max_length=2_000, select_on_focus=False)
        self.list = PickList(id="command-list")
        self.list.can_focus, self.list.is_steered = False, True
        self._said = Static("", id="command-said", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="command"):
            yield self.list
            yield self._said
            with Horizontal(id="command-row"):
                yield Static(":", id="command-colon")
                yield self.line
            yield KeyLine()

    @property
    def typed_text(self) -> str:
        return self.line.value

    def on_mount(self) -> None:
        self._put(self.take_recovered_text() or self._start)
        self.line.focus()
        self._show_completions()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.line.value != self._completed:
            self._completed = None
            self._show_completions()

    def _show_completions(self) -> None:
        word, space, rest = self.line.value.lstrip().partition(" ")
        self.list.show(self._complete_argument(word, rest) if space else self._complete_word(word), 0)
        self._say("", "")

    def _complete_word(self, word: str) -> list[Choice]:
        commands = [self._registry.commands[name] for name in sorted(self._registry.commands)]
        choices = [
            Choice(
                f"{command.word} " if command.argument else command.word,
                f"{command.word} {command.argument}".rstrip(),
                command.help,
            )
            for command in commands
        ]
        return rank_choices(choices, word)

    def _complete_argument(self, word: str, text: str) -> list[Choice]:
        try:
            command, _ = self._registry.find_command(word)
        except ArgumentError:
            return []
        if command.completions is not None:
            return [Choice(f"{word} {one}", to_printable(one)) for one in command.completions(text)]
        choices = [Choice(f"{word} {one.text}", to_printable(one.text), one.beside) for one in command.values()]
        return rank_choices(choices, text)

    def _say(self, text: str, ink: str) -> None:
        self._said.update(Content.styled(text, ink))
        self._said.display = bool(text)

    def show_notice(self, text: str, ink: str) -> None:
        self._say(text, ink)

    def _put(self, text: str) -> None:
        self.line.value = text
        self.line.cursor_position = len(text)

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        if self.list.choice is not None:
            self._put(self.list.choice.key)

    def action_complete(self, step: int) -> None:
        if not self.list.choices:
            return
        if self._completed is not None:
            self.list.cursor = (self.list.cursor + step) % self.list.row_count
        assert self.list.choice is not None
        self._completed = self.list.choice.key
        self._put(self._completed)
        if self.list.row_count == 1:
            self._completed = None
            self._show_completions()

    def action_recall(self, step: int) -> None:
        """Go through the lines before; what was typed is the last of them."""
        if self._at == len(self._history) - 1:
            self._history[-1] = self.line.value
        self._at = max(0, min(self._at + step, len(self._history) - 1))
        self._put(self._history[self._at])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_run_line()

    def action_run_line(self) -> None:
        line = self.line.value.strip()
        if not line:
            self.dismiss(None)
            return
        try:
            self.dismiss(PreparedLine(line, self._registry.prepare_line(line)))
        except ArgumentError as error:
            self._say(f"✗ {to_printable(error.message)}", "$error")

    def action_leave(self) -> None:
        self.dismiss(None)


def rank_choices(choices: Sequence[Choice], wanted: str) -> list[Choice]:
    """Return the choices that match, those that begin with it first."""
    found = rank_rows(choices, wanted)
    found.sort(key=lambda one: not one.says.casefold().startswith(wanted.casefold()))
    return found
