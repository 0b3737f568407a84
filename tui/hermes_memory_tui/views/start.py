"""Start: what is on this machine, and the next step with each; the first thing a person with an empty memory sees."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui import machine
from hermes_memory_tui.dialogs.ask import Ask
from hermes_memory_tui.machine import Finding
from hermes_memory_tui.memory import Done
from hermes_memory_tui.views.view import View
from hermes_memory_tui.widgets.grid import Cell, Column, Row
from hermes_memory_tui.widgets.pages import Line, heading, keys, pair

NEXT = {"old": "open it", "files": "relieve it", "archive": "rescue them", "host": "connect it"}


@dataclass(frozen=True, slots=True)
class Found:
    """What the view shows."""

    findings: list[Finding]
    facts: int
    """Facts the memory holds already."""


class StartView(View[Found]):
    """One line a finding."""

    NAME = "start"
    TITLE_OF_LIST = "on this machine"
    BINDING_GROUP_TITLE = "Start"
    WRITES = View.WRITES | {"new_fact"}
    COLUMNS: ClassVar[Sequence[Column]] = (
        Column("", 2),
        Column("what", 22),
        Column("name", 18),
        Column("how it stands"),
        Column("next", 12, least=70),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new_fact", "First fact", id="start.new", tooltip="Write a fact by hand"),
        Binding("r", "look_again", "Look again", id="start.again", tooltip="Look again what is on this machine"),
    ]

    def load(self, store: Store) -> Found:
        facts = sum(sum(theme.facts.values()) for theme in store.themes())
        return Found(machine.findings(self.memory.path), facts)

    def draw(self, data: Found) -> None:
        self.grid.empty = (
            "Nothing was found that a memory could begin with.",
            "",
            "n writes a first fact; any MCP host can be told of hermes-memory-bridge",
        )
        self.grid.border_subtitle = "enter does the next step"
        self.grid.show([line(one) for one in data.findings])

    @property
    def finding(self) -> Finding | None:
        """What is under the cursor."""
        if self.data is None:
            return None
        return next((one for one in self.data.findings if one.path == self.grid.key), None)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        one, lines = self.finding, self._welcome()
        if one is None:
            return "welcome", lines
        return "welcome", [
            *lines,
            Content(""),
            heading(printable(one.title), printable(one.name)),
            pair("file", printable(str(one.path))),
            pair("state", printable(one.state)),
            Content(""),
            *advice(one),
        ]

    def _welcome(self) -> list[Line]:
        assert self.data is not None
        if self.data.facts:
            return [Content(f"This memory holds {self.data.facts:,} facts. What else is here:")]
        return [
            Content.styled("This memory is empty.", "bold"),
            Content("Agents fill it: connect one, and what it must not forget is kept here,"),
            Content("typed and bounded, and told to it again at the start of every session."),
            Content(""),
            Content.assemble(("hermes-memory-tui demo", "bold $accent"), (" shows a memory at work.", "$dim")),
        ]

    def open(self, key: object) -> None:
        """The next step."""
        one = self.finding
        if one is None or one.done:
            return
        match one.kind:
            case "host":
                self._preview(one)
            case "files" | "archive":
                view = self.inspector.open_view("pressure")
                if view is not None:
                    view.grid.go_to("archive" if one.kind == "archive" else one.name)
            case _:
                self.app.copy_to_clipboard(opening(one))
                self.notify("Copied: leave with q, and paste the command to open that file.", timeout=6)

    def _preview(self, one: Finding) -> None:
        if self.memory.read_only:
            self.notify("The inspector is open for reading only.", severity="warning", timeout=4)
            return
        self.run_worker(lambda: self._previewed(one), thread=True, group="connect", exclusive=True)

    def _previewed(self, one: Finding) -> None:
        well, said = machine.connecting(one.name, self.memory.path, dry_run=True)
        self.app.call_from_thread(self._ask if well else self._failed, one, said)

    def _ask(self, one: Finding, said: str) -> None:
        lines: list[Line] = [Content(f"{one.title} will be told of this memory in its own file:"), Content("")]
        for text in said.splitlines():
            style = "$success" if text.startswith("+") else "$error" if text.startswith("-") else "$dim"
            lines.append(Content.styled(printable(text), style))
        lines += [Content(""), Content.styled("As it was before is kept beside it.", "$dim")]
        self.ask_then(Ask(f"connect {one.title}", lines), lambda _: self._connect(one))

    def _connect(self, one: Finding) -> None:
        self.run_worker(lambda: self._connected(one), thread=True, group="connect", exclusive=True)

    def _connected(self, one: Finding) -> None:
        well, said = machine.connecting(one.name, self.memory.path, dry_run=False)
        self.app.call_from_thread(self._done if well else self._failed, one, said)

    def _done(self, one: Finding, said: str) -> None:
        back = f"hermes-memory-bridge connect {one.name} --remove takes that back."
        done = self.memory.note(Done(f"{one.title} is connected; restart it", back=back))
        self.notify(done.sentence, timeout=6, markup=False)
        self.reload()

    def _failed(self, one: Finding, said: str) -> None:
        self.notify(
            printable(said) or f"{one.title} could not be connected.", severity="error", timeout=8, markup=False
        )

    def action_new_fact(self) -> None:
        main = self.inspector.main
        self.inspector.open_view("facts")
        main.action_new()

    def action_look_again(self) -> None:
        self.reload()


def line(one: Finding) -> Row:
    """One finding in the list."""
    return Row(
        one.path,
        (
            Cell("✓" if one.done else "○", "success" if one.done else "accent"),
            Cell(printable(one.title), "dim" if one.done else "", bold=not one.done),
            Cell(printable(one.name), "dim"),
            Cell(printable(one.state), "dim" if one.done else ""),
            Cell("" if one.done else NEXT[one.kind], "accent"),
        ),
    )


def opening(one: Finding) -> str:
    """The command that opens a file, for a shell."""
    return f"hermes-memory-tui --db {shlex.quote(str(one.path))}"


def advice(one: Finding) -> list[Line]:
    """What comes next with a finding."""
    if one.done:
        return [Content.styled("nothing is left to do", "$success")]
    if one.kind == "old":
        return [Content("Everything in it can be taken over:"), keys(("enter", f"copies {opening(one)}"))]
    if one.kind == "host":
        return [keys(("enter", "shows what would be written to its file, and asks"))]
    return [keys(("enter", "shows what would be done, and asks"))]
