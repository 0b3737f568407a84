"""Start: import sources and hosts on this machine, each with its next step; shown first for an empty memory."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.memory import ActionResult, Memory
from hermes_memory_tui.model.view_catalog import NOW
from hermes_memory_tui.screens.memory_screen import WriteBinding
from hermes_memory_tui.system import discovery
from hermes_memory_tui.system.discovery import DiscoveredSource
from hermes_memory_tui.text.display_formats import pluralise
from hermes_memory_tui.views.base_view import BaseView
from hermes_memory_tui.widgets.lists.grid import GridCell, GridColumn
from hermes_memory_tui.widgets.lists.grid_rows import to_row
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value

NEXT = {"old": "open", "files": "relieve", "archive": "import", "host": "connect"}


@dataclass(frozen=True, slots=True)
class StartData:
    findings: list[DiscoveredSource]
    facts: int | None
    """Facts the memory holds already; None where nothing was ever written."""


class StartView(BaseView[StartData]):
    """One row per discovered source."""

    CSS_PATH = "../../screens/view.tcss"  # Textual looks from the folder of the class
    NAME = "start"
    TITLE_OF_LIST = "on this machine"
    BINDING_GROUP_TITLE = "Start"
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn(
            "", 2, value=lambda source, _: GridCell("✓" if source.done else "○", "success" if source.done else "accent")
        ),
        GridColumn(
            "kind",
            22,
            value=lambda source, _: GridCell(
                to_printable(source.title), "dim" if source.done else "", bold=not source.done
            ),
        ),
        GridColumn("name", 18, value=lambda source, _: GridCell(to_printable(source.name), "dim")),
        GridColumn(
            "status", value=lambda source, _: GridCell(to_printable(source.state), "dim" if source.done else "")
        ),
        GridColumn(
            "next", 12, least=70, value=lambda source, _: GridCell("" if source.done else NEXT[source.kind], "accent")
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        WriteBinding("n", "new_fact", "New fact", id="start.new", tooltip="Write a fact by hand"),
        Binding("f5", "look_again", "Rescan", id="start.again", tooltip="Scan this machine again"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.strip.present = NOW.name

    def load(self, store: Store) -> StartData:
        themes = store.themes()
        facts = sum(theme.live for theme in themes) if themes else None
        return StartData(discovery.discover_sources(self.memory.path), facts)

    def draw(self, data: StartData) -> None:
        self.grid.empty = (
            "No import sources found.",
            "",
            "n: write a fact · or add hermes-memory-bridge to any MCP host",
        )
        self.grid.set_subtitle("enter: next step")
        self.grid.show([to_row(self.COLUMNS, finding.path, finding, None) for finding in data.findings])

    @property
    def selected_source(self) -> DiscoveredSource | None:
        if self.data is None:
            return None
        return next((finding for finding in self.data.findings if finding.path == self.grid.key), None)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        source, lines = self.selected_source, self._welcome()
        if source is None:
            return "welcome", lines
        return "welcome", [
            *lines,
            Content(""),
            heading_line(to_printable(source.title), to_printable(source.name)),
            labelled_value("file", to_printable(str(source.path))),
            labelled_value("status", to_printable(source.state)),
            Content(""),
            *next_step_lines(source),
        ]

    def _welcome(self) -> list[Line]:
        assert self.data is not None
        if self.data.facts is not None:
            return [Content(f"This memory holds {pluralise(self.data.facts, 'fact')}. Other sources:")]
        return [
            Content.styled("This memory is empty.", "bold"),
            Content(
                "Connect an agent: its facts are stored here, typed and bounded, and returned to it at the start of every "
                "session."
            ),
            Content(""),
            Content.assemble(
                ("hermes-memory-tui backfill", "bold $accent"),
                (" brings in the sessions that hosts keep on this disk.", "$dim"),
            ),
            Content.assemble(("hermes-memory-tui demo", "bold $accent"), (" opens an example memory.", "$dim")),
        ]

    def open(self, key: object) -> None:
        source = self.selected_source
        if source is None or source.done:
            return
        match source.kind:
            case "host":
                self._preview(source)
            case "files" | "archive":
                view = self.inspector.open_view("pressure")
                if view is not None:
                    view.grid.go_to("archive" if source.kind == "archive" else source.name)
            case _:
                self.app.copy_to_clipboard(open_command(source))
                self.notify("Copied. Quit with q and run the command to open that file.", timeout=6)

    def _preview(self, source: DiscoveredSource) -> None:
        if self.memory.read_only:
            self.notify("The inspector is open read-only.", severity="warning", timeout=4)
            return
        self.run_worker(lambda: self._run_preview(source), thread=True, group="connect", exclusive=True)

    def _run_preview(self, source: DiscoveredSource) -> None:
        well, output = discovery.connect_discovered_host(source.name, self.memory.path, dry_run=True)
        self.app.call_from_thread(self._ask if well else self._show_failure, source, output)

    def _ask(self, source: DiscoveredSource, output: str) -> None:
        lines: list[Line] = [Content(f"Changes to the configuration of {source.title}:"), Content("")]
        for text in output.splitlines():
            style = "$success" if text.startswith("+") else "$error" if text.startswith("-") else "$dim"
            lines.append(Content.styled(to_printable(text), style))
        lines += [Content(""), Content.styled("A backup is kept next to the file.", "$dim")]
        self.ask_then(Question(f"connect {source.title}", lines), lambda _: self._connect(source))

    def _connect(self, source: DiscoveredSource) -> None:
        self.run_worker(lambda: self._run_connect(source), thread=True, group="connect", exclusive=True)

    def _run_connect(self, source: DiscoveredSource) -> None:
        well, output = discovery.connect_discovered_host(source.name, self.memory.path, dry_run=False)
        self.app.call_from_thread(self._show_connected if well else self._show_failure, source, output)

    def _show_connected(self, source: DiscoveredSource, output: str) -> None:
        back = f"To undo: hermes-memory-bridge connect {source.name} --remove"
        done = self.memory.record_unjournaled(ActionResult(f"{source.title} is connected; restart it", back=back))
        self.notify(done.message, timeout=6, markup=False)
        self.reload()

    def _show_failure(self, source: DiscoveredSource, output: str) -> None:
        self.notify(
            to_printable(output) or f"{source.title} could not be connected.", severity="error", timeout=8, markup=False
        )

    def action_new_fact(self) -> None:
        main = self.inspector.main
        self.inspector.open_view("facts")
        main.action_new()

    def action_look_again(self) -> None:
        self.reload()


def open_command(source: DiscoveredSource) -> str:
    return f"hermes-memory-tui --db {shlex.quote(str(source.path))}"


def next_step_lines(source: DiscoveredSource) -> list[Line]:
    if source.done:
        return [Content.styled("done", "$success")]
    if source.kind == "old":
        return [
            Content("Can be imported completely:"),
            key_hint_line(("enter", f"copy the command: {open_command(source)}")),
        ]
    if source.kind == "host":
        return [key_hint_line(("enter", "preview the change to its configuration"))]
    return [key_hint_line(("enter", "preview"))]
