"""`MainPanes`: the layout of the facts screen at any width, and the movement between its panes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical

from hermes_memory_store.model import Fact

if TYPE_CHECKING:
    from hermes_memory_tui.widgets.filter_line import FilterLine, SearchInput

from hermes_memory_tui.model.memory import Memory, Overview
from hermes_memory_tui.screens.memory_screen import MemoryScreen
from hermes_memory_tui.widgets.agents_panel import AgentsPanel
from hermes_memory_tui.widgets.fact_detail import FactDetail
from hermes_memory_tui.widgets.fact_table import FactTable
from hermes_memory_tui.widgets.gauge_panel import GaugePanel
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.scope_tree import ScopeTree
from hermes_memory_tui.widgets.view_strip import ViewStrip


class PaneColumn(Vertical):
    BLANK = True


class MainPanes(MemoryScreen):
    """The tree, the table, the fact and the gauge. Narrow terminals show one of the first three at a time."""

    AUTO_FOCUS = "#facts"
    AGENTS_TITLE: ClassVar[str] = "agents"
    BLANK = True

    def __init__(self, memory: Memory, overview: Overview) -> None:
        super().__init__(memory)
        self.overview = overview
        self.strip = ViewStrip("facts")
        self.tree_pane = ScopeTree(id="scopes")
        self.agents_pane = AgentsPanel(id="agents")
        self.filter_line: FilterLine | None = None
        """Made when it is first asked for: a text input costs a fifth of the start."""
        self.table = FactTable(self.load_facts, memory.now, id="facts")
        self.gauge_pane = GaugePanel(id="gauge")
        self.detail_pane = FactDetail(id="detail")

    def compose(self) -> ComposeResult:
        yield self.title_bar
        yield self.strip
        with self.body:
            with PaneColumn(id="side"):
                yield self.tree_pane
                yield self.agents_pane
            with PaneColumn(id="middle"):
                yield self.table
                yield self.gauge_pane
            yield self.detail_pane
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        self.tree_pane.border_title = "themes and scopes"
        self.agents_pane.border_title = self.AGENTS_TITLE
        self.detail_pane.border_title = "fact"

    def load_facts(self, keys: Sequence[int]) -> list[Fact] | None:
        """Return facts for drawing rows, or None when the store cannot be read just now."""
        raise NotImplementedError

    def action_scopes_pane(self) -> None:
        self._show_overlay_pane("scopes")
        self.tree_pane.focus()

    def action_facts_pane(self) -> None:
        self._show_overlay_pane(None)
        self.table.focus()

    def action_detail_pane(self) -> None:
        self._show_overlay_pane("detail")
        self.detail_pane.focus()

    @property
    def line(self) -> str:
        return "" if self.filter_line is None else self.filter_line.input.value.strip()

    async def action_search(self) -> None:
        self._show_overlay_pane(None)
        if self.filter_line is None:
            from hermes_memory_tui.widgets.filter_line import FactFilterLine

            self.filter_line = FactFilterLine()
            await self.query_one("#middle").mount(self.filter_line, before=0)
        self.filter_line.display = True
        self.set_focus(self.filter_line.input)

    async def show_line(self, line: str) -> None:
        await self.action_search()
        if self.filter_line is not None:
            self.filter_line.input.value = line
        self.table.focus()

    def on_search_input_exited(self, message: SearchInput.Exited) -> None:
        if self.filter_line is not None and not self.line:
            self.filter_line.display = False
        self.table.focus()

    def on_line_list_opened(self, message: FactTable.Opened) -> None:
        if message.list is self.tree_pane:
            self.action_facts_pane()
        else:
            self.action_detail_pane()

    def action_back(self) -> None:
        """Go back one step: from a pane to the facts, then clear marks and filter, then from the scope to all facts."""
        if self.focused is not self.table:
            self.action_facts_pane()
        elif self.table.marked:
            self.table.action_unmark()
        elif self.filter_line is not None and self.line:
            self.filter_line.input.action_clear()
        else:
            self.tree_pane.widen()

    def _show_overlay_pane(self, pane: str | None) -> None:
        self.set_class(pane == "scopes", "-show-scopes")
        self.set_class(pane == "detail", "-show-detail")
