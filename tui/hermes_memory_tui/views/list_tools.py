"""`ListTools`: what every view can do with its list: filter, sort, export what is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen

from hermes_memory_store.system import filesystem
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.memory import ActionResult, Memory
from hermes_memory_tui.system.inspector_state import GridLayout
from hermes_memory_tui.text.display_formats import pluralise
from hermes_memory_tui.widgets.lists.grid import Grid, GridSort

if TYPE_CHECKING:
    from hermes_memory_tui.system.inspector_state import InspectorState
    from hermes_memory_tui.widgets.filter_line import FilterLine, SearchInput

MOST_FOLLOWED = 20_000
"""Rows up to which a list follows each letter of its filter: that takes some 20 ms for 10,000."""

EXPORTS = (".md", ".csv", ".jsonl")
"""Suffixes of the files that a list can be written to."""


class ListTools(Screen[None]):
    """A screen with a `Grid`. The order is kept by the view's name."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", id="view.filter", tooltip="Filter the list", show=False),
        Binding("s", "sort", "Sort", id="view.sort", tooltip="Sort by a column", show=False),
        Binding("x", "export", "Export", id="view.export", tooltip="Export the list", show=False),
    ]
    NAME: ClassVar[str]
    HINT: ClassVar[str] = "words, or letters of them in order; !word leaves out"
    memory: Memory
    grid: Grid
    list_filter: FilterLine | None = None
    """The line that filters what is read already; made when it is first asked for."""

    @property
    def kept(self) -> InspectorState:
        app: Any = self.app
        return app.main.kept  # type: ignore[no-any-return]

    def restore_layout(self) -> None:
        """Show the list in the order that was chosen before."""
        titles = [column.title for column in self.grid.columns]
        layout = self.kept.grid_layout(self.NAME)
        if layout.sort in titles and layout.sort:
            self.grid.set_sort(GridSort(titles.index(layout.sort), layout.descending))

    def _keep_layout(self) -> None:
        sort = self.grid.sort
        title = "" if sort is None else self.grid.columns[sort.column].title
        layout = GridLayout(title, sort is not None and sort.descending)
        self.kept.set_grid_layout(self.NAME, layout)

    # Filtering

    async def action_search(self) -> None:
        if self.list_filter is None:
            from hermes_memory_tui.widgets.filter_line import FilterLine

            self.list_filter = FilterLine(self.HINT)
            self.list_filter.input.is_followed = lambda: len(self.grid.all_rows) <= MOST_FOLLOWED
            await self.query_one("#list").mount(self.list_filter, before=0)
        self.list_filter.display = True
        self.set_focus(self.list_filter.input)

    def on_filter_line_query_changed(self) -> None:
        self._apply_filter()

    def on_search_input_exited(self, message: SearchInput.Exited) -> None:
        if self.list_filter is not None:
            self._apply_filter()
            self.list_filter.display = bool(self.list_filter.input.value.strip())
            self.set_focus(self.grid)

    def _apply_filter(self) -> None:
        if self.list_filter is not None:
            self.grid.set_filter(self.list_filter.input.value.strip())
            self.list_filter.show_match_count(f"{self.grid.row_count:,} of {len(self.grid.all_rows):,}")

    def clear_list(self) -> bool:
        """Clear the marks, else the filter; return whether there was either."""
        if self.grid.marked:
            self.grid.action_unmark()
            return True
        if self.list_filter is not None and self.grid.filter:
            self.list_filter.input.value = ""
            self.list_filter.display = False
            self._apply_filter()
            return True
        return False

    # Order

    def action_sort(self) -> None:
        from hermes_memory_tui.dialogs.picker import Picker
        from hermes_memory_tui.widgets.lists.pick_list import Choice

        if not self.grid.can_sort:
            self.notify("Newest first: only a part of it is read, and the rest as you go down.", timeout=4)
            return
        choices = [Choice("", "as it comes", "the view's own order")]
        for place, column in enumerate(self.grid.columns):
            if column.title:
                choices.append(Choice(f"{place} up", f"{column.title} ▲", "smallest, earliest or A first"))
                choices.append(Choice(f"{place} down", f"{column.title} ▼", "largest, latest or Z first"))
        at = (
            "" if self.grid.sort is None else f"{self.grid.sort.column} {'down' if self.grid.sort.descending else 'up'}"
        )
        self.app.push_screen(Picker("sort by", choices, at=at), self._sort_by)

    def _sort_by(self, choice: str | None) -> None:
        if choice is None:
            return
        place, _, way = choice.partition(" ")
        self.grid.set_sort(GridSort(int(place), way == "down") if choice else None)
        self._keep_layout()

    def on_grid_sort_chosen(self, message: Grid.SortChosen) -> None:
        if message.list is self.grid:
            self._keep_layout()

    # Export

    def action_export(self) -> None:
        """Ask for a file name, and write what is shown to it."""
        lines = [
            Content(f"{pluralise(self.grid.row_count, 'row')} as shown. .md is a table, .csv and .jsonl are data.")
        ]
        dialog = Question(
            "export list", lines, type_in="file", start=f"hermes-memory-{self.NAME}.md", check=self.find_export_problem
        )
        self.app.push_screen(dialog, lambda name: self.export_to(name) if name is not None else None)

    def find_export_problem(self, name: str) -> str | None:
        """Return what is wrong with the name of a file to write the list to, or None."""
        if Path(name).suffix not in EXPORTS:
            return f"the name ends with {', '.join(EXPORTS[:-1])} or {EXPORTS[-1]}"
        return file_name_problem(name)

    def export_to(self, name: str) -> None:
        """Write what is shown to a file; its suffix says how."""
        path = Path(name).expanduser()
        try:
            with open(path, "x", encoding="utf-8", newline="", opener=filesystem.open_private) as file:
                file.write(self.grid.to_text(path.suffix))
        except OSError as error:
            said = f"cannot write {path}: {error.strerror or error}"
            self.notify(said, severity="error", timeout=8, markup=False)
        else:
            done = self.memory.record_unjournaled(
                ActionResult(f"{pluralise(self.grid.row_count, 'row')} written to {path.absolute()}", back="")
            )
            self.notify(f"{done.said}.", timeout=5, markup=False)


def file_name_problem(name: str) -> str | None:
    """Return what is wrong with the name of a file to write, or None."""
    try:
        path = Path(name).expanduser()
        if path.exists():
            return f"{path} exists; choose another name"
        return None if path.parent.is_dir() else f"no such folder: {path.parent}"
    except (OSError, RuntimeError, ValueError) as error:  # too long a name, nobody's home
        return f"not a file name: {getattr(error, 'strerror', None) or error}"
