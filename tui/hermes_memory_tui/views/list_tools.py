"""`ListTools`: filter the list of a view, sort it, write it to a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.content import Content

from hermes_memory_store.system import filesystem
from hermes_memory_tui.dialogs.question import Question, file_name_problem
from hermes_memory_tui.model.memory import ActionResult
from hermes_memory_tui.system.inspector_state import GridLayout
from hermes_memory_tui.text.display_formats import pluralise
from hermes_memory_tui.widgets.lists.grid import Grid, GridSort

if TYPE_CHECKING:
    from hermes_memory_tui.screens.memory_screen import MemoryScreen
    from hermes_memory_tui.system.inspector_state import InspectorState
    from hermes_memory_tui.widgets.filter_line import FilterLine

MOST_FOLLOWED = 20_000
"""Rows up to which a list follows each letter of its filter: that takes some 20 ms for 10,000."""

FILTER_HINT = "words, or letters of them in order; !word leaves out"

EXPORTS = (".md", ".csv", ".jsonl")
"""Suffixes of the files that a list can be written to."""


class ListTools:
    """What a person does with the list of a view. The order is saved by the view's name."""

    def __init__(self, screen: MemoryScreen, grid: Grid, name: str, match_count: Callable[[], str]) -> None:
        self._screen = screen
        self._grid = grid
        self._name = name
        self._match_count = match_count
        self.filter_line: FilterLine | None = None
        """The line that filters what is read already; made when it is first asked for."""

    @property
    def _state(self) -> InspectorState:
        app: Any = self._screen.app
        return app.main.kept  # type: ignore[no-any-return]

    def restore_layout(self) -> None:
        """Show the list in the order that was chosen before."""
        titles = [column.title for column in self._grid.columns]
        layout = self._state.grid_layout(self._name)
        if layout.sort in titles and layout.sort:
            self._grid.set_sort(GridSort(titles.index(layout.sort), layout.descending))

    def save_layout(self) -> None:
        sort = self._grid.sort
        title = "" if sort is None else self._grid.columns[sort.column].title
        layout = GridLayout(title, sort is not None and sort.descending)
        self._state.set_grid_layout(self._name, layout)

    # Filtering

    async def open_filter(self) -> None:
        if self.filter_line is None:
            from hermes_memory_tui.widgets.filter_line import FilterLine

            self.filter_line = FilterLine(FILTER_HINT)
            self.filter_line.input.is_followed = lambda: len(self._grid.all_rows) <= MOST_FOLLOWED
            await self._screen.query_one("#list").mount(self.filter_line, before=0)
        self.filter_line.display = True
        self._screen.set_focus(self.filter_line.input)

    def close_filter(self) -> None:
        if self.filter_line is not None:
            self.apply_filter()
            self.filter_line.display = bool(self.filter_line.input.value.strip())
            self._screen.set_focus(self._grid)

    def apply_filter(self) -> None:
        if self.filter_line is not None:
            self._grid.set_filter(self.filter_line.input.value.strip())
            self.filter_line.show_match_count(self._match_count())

    def clear(self) -> bool:
        """Clear the marks, else the filter; return whether there was either."""
        if self._grid.marked:
            self._grid.action_unmark()
            return True
        if self.filter_line is not None and self._grid.filter:
            self.filter_line.input.value = ""
            self.filter_line.display = False
            self.apply_filter()
            return True
        return False

    # Order

    def choose_order(self) -> None:
        from hermes_memory_tui.dialogs.picker import Picker
        from hermes_memory_tui.widgets.lists.pick_list import Choice

        if not self._grid.can_sort:
            message = "Newest first: only a part of it is read, and the rest as you go down."
            self._screen.notify(message, timeout=4)
            return
        choices = [Choice("", "as it comes", "the view's own order")]
        for place, column in enumerate(self._grid.columns):
            if column.title:
                choices.append(Choice(f"{place} up", f"{column.title} ▲", "smallest, earliest or A first"))
                choices.append(Choice(f"{place} down", f"{column.title} ▼", "largest, latest or Z first"))
        sort = self._grid.sort
        at = "" if sort is None else f"{sort.column} {'down' if sort.descending else 'up'}"
        self._screen.ask_then(Picker("sort by", choices, at=at), self._sort_by)

    def _sort_by(self, choice: str) -> None:
        place, _, way = choice.partition(" ")
        self._grid.set_sort(GridSort(int(place), way == "down") if choice else None)
        self.save_layout()

    # Export

    def ask_file(self) -> None:
        rows = pluralise(self._grid.row_count, "row")
        lines = [Content(f"{rows} as shown. .md is a table, .csv and .jsonl are data.")]
        start = f"hermes-memory-{self._name}.md"
        self._screen.ask_then(
            Question("export list", lines, type_in="file", start=start, check=find_export_problem), self._write_to
        )

    def _write_to(self, name: str) -> None:
        """Write what is shown to a file; its suffix says how."""
        path = Path(name).expanduser()
        try:
            with open(path, "x", encoding="utf-8", newline="", opener=filesystem.open_private) as file:
                file.write(self._grid.to_text(path.suffix))
        except OSError as error:
            message = f"cannot write {path}: {error.strerror or error}"
            self._screen.notify(message, severity="error", timeout=8, markup=False)
        else:
            done = self._screen.memory.record_unjournaled(
                ActionResult(f"{pluralise(self._grid.row_count, 'row')} written to {path.absolute()}", back="")
            )
            self._screen.notify(f"{done.said}.", timeout=5, markup=False)


def find_export_problem(name: str) -> str | None:
    if Path(name).suffix not in EXPORTS:
        return f"the name ends with {', '.join(EXPORTS[:-1])} or {EXPORTS[-1]}"
    return file_name_problem(name)
