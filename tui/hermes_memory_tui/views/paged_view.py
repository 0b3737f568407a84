"""`PagedView`: a view with a search line over its list, which is read page by page."""

from __future__ import annotations

from typing import ClassVar, Generic, Protocol, TypeVar

from textual.app import ComposeResult

from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.views.base_view import BaseView
from hermes_memory_tui.widgets.filter_line import FilterLine, SearchInput
from hermes_memory_tui.widgets.lists.line_list import LineList

MOST_PAGES = 25
"""Pages that are read at once when the cursor stands at the very end."""

NEAR = 100
"""Rows before the end at which the next page is read."""


class PagedData(Protocol):
    @property
    def complete(self) -> bool:
        """Whether the last page was read."""


P = TypeVar("P", bound=PagedData)


class PagedView(BaseView[P], Generic[P]):
    """`/` opens the search line; escape clears and closes it."""

    LINE: ClassVar[str]
    """What the empty line says."""
    PAGE: ClassVar[int]
    """Rows that are read at once; more when the cursor comes near the end."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.filter = FilterLine(self.LINE)
        self.grid.can_sort = False
        self.grid.is_newest_first = True
        self._pages = 1

    @property
    def limit(self) -> int:
        return self.PAGE * self._pages

    def above_list(self) -> ComposeResult:
        self.filter.display = False
        yield self.filter

    def reload_first_page(self) -> None:
        self._pages = 1
        self.grid.cursor = 0
        self.reload()

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        super().on_line_list_moved(message)
        rows = len(self.grid.rows)
        if message.list is not self.grid or self.data is None or self.data.complete or rows < self.limit:
            return
        if self.grid.cursor >= rows - NEAR:
            at_the_end = self.grid.cursor == rows - 1
            self._pages = min(4 * self._pages, self._pages + MOST_PAGES) if at_the_end else self._pages + 1
            self.reload()

    @property
    def line(self) -> str:
        return self.filter.input.value.strip()

    def show_line(self, line: str) -> None:
        self.filter.display = True
        self.filter.input.value = line

    async def action_search(self) -> None:
        self.filter.display = True
        self.set_focus(self.filter.input)

    def on_search_input_exited(self, message: SearchInput.Exited) -> None:
        if not self.filter.input.value.strip():
            self.filter.display = False
        self.set_focus(self.grid)

    def action_back(self) -> None:
        if self.focused is self.grid and self.grid.marked:
            self.grid.action_unmark()
        elif self.focused is self.grid and self.filter.input.value:
            self.filter.input.value = ""
            self.filter.display = False
        else:
            super().action_back()
