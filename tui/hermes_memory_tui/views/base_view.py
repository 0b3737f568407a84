"""`BaseView`: what all views share: title, strip, and a list with a text, both updated while others write.

A view reads in a thread (`load`) and draws the result (`draw`). It changes the memory through its `writes`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.timer import Timer

from hermes_memory_store.database import driver
from hermes_memory_store.errors import StoreError
from hermes_memory_store.store import Store
from hermes_memory_tui.model.memory import Memory, Overview
from hermes_memory_tui.screens.memory_screen import MemoryScreen, WriteBinding
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.views.list_tools import ListTools
from hermes_memory_tui.widgets.gauge_panel import bar_parts
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.lists.grid import Grid, GridCell, GridColumn
from hermes_memory_tui.widgets.lists.line_list import LineList
from hermes_memory_tui.widgets.text_panel import Line, TextPanel
from hermes_memory_tui.widgets.title_bar import update_title_bar
from hermes_memory_tui.widgets.view_strip import ViewStrip

if TYPE_CHECKING:
    from hermes_memory_tui.model.memory import ActionResult
    from hermes_memory_tui.model.past_memory import Way
    from hermes_memory_tui.screens.facts_screen import MainScreen
    from hermes_memory_tui.widgets.filter_line import SearchInput

FIRST_S = 0.25
"""How long a view that opens waits for its data before it is drawn without: what was open before is seen meanwhile."""

TEXT_S = 0.06
"""How long the cursor must rest before the text beside the list is made."""

TICKS_PART = 0.005
"""The part of the time that may be spent on ages: a list that takes long to draw is drawn anew less often."""

T = TypeVar("T")


class InspectorApp(Protocol):
    """What a view needs of the app: see `Inspector`."""

    @property
    def main(self) -> MainScreen: ...
    @property
    def pause_note(self) -> str: ...
    @property
    def is_watched(self) -> bool: ...
    @property
    def is_at_rest(self) -> bool: ...
    def travel(self, way: Way, view: str | None = None) -> None: ...
    def go_back(self) -> None: ...
    def open_view(self, name: str) -> BaseView[Any] | None: ...


@dataclass(frozen=True, slots=True)
class RowContext:
    """What the cells of a row say besides what its item holds."""

    now: int
    hues: Mapping[str, int] = field(default_factory=dict)
    """The hue of each theme."""


def ago_cell(moment: int, now: int) -> GridCell:
    return GridCell(display_formats.format_age(moment, now), "dim", value=now - moment)


def bar_cell(pct: float, width: int, ink: str) -> GridCell:
    filled, rest = bar_parts(pct, width)
    return GridCell("", parts=((filled, ink, ""), (rest, "track", "")))


class BaseView(MemoryScreen, Generic[T]):
    """Base class of a view. A subclass names its columns, loads, and draws."""

    CSS_PATH = "../screens/view.tcss"
    AUTO_FOCUS = "#grid"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", id="view.filter", tooltip="Filter the list", show=False),
        Binding("s", "sort", "Sort", id="view.sort", tooltip="Sort by a column", show=False),
        Binding("x", "export", "Export", id="view.export", tooltip="Export the list", show=False),
        Binding("escape", "back", "Back", id="view.back", tooltip="Back", show=False),
        WriteBinding("u", "undo", "Undo", id="view.undo", tooltip="Undo your latest change"),
        WriteBinding("ctrl+r", "redo", "Redo", id="view.redo", tooltip="Redo", show=False),
        Binding("y", "copy_text", "Copy", id="view.copy", tooltip="Copy the detail text", show=False),
    ]
    NAME: ClassVar[str]
    TITLE_OF_LIST: ClassVar[str]
    COLUMNS: ClassVar[Sequence[GridColumn]]
    TICK_S: ClassVar[float] = 5.0
    """How often what depends on the time is drawn anew: ages, and when it was changed last."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.strip = ViewStrip(self.NAME)
        self.grid = Grid(self.COLUMNS)
        self.list_tools = ListTools(self, self.grid, self.NAME, self.match_count)
        self.pages = TextPanel()
        self.data: T | None = None
        self._epoch = -1
        self._loading = False
        self._again = False
        self._text_timer: Timer | None = None
        self._text_of: object = None
        """What the text beside the list was last made of: when the data was drawn, and the key of the row."""
        self._trouble: StoreError | None = None
        self._drawn_at = 0.0
        self._overview: Overview | None = None
        self._ages_again_at = 0.0
        self._is_new = True

    @property
    def is_unread(self) -> bool:
        """Whether it has only just opened, and has nothing to show yet that would be true."""
        return self._is_new and self.data is None and self._trouble is None

    def _end_first_wait(self) -> None:
        if self.is_unread:
            if self.memory is self.inspector.main.memory:  # the header says what is known until more is
                self.show_overview(self.inspector.main.overview)
            self.grid.empty = ("reading …",)
            self.grid.show(())
        self._is_new = False
        self.refresh()

    @property
    def inspector(self) -> InspectorApp:
        app: Any = self.app
        return app  # type: ignore[no-any-return]

    def compose(self) -> ComposeResult:
        yield self.title_bar
        yield self.strip
        yield from self.above_list()
        with self.body:
            with Vertical(id="list"):
                yield self.grid
                yield from self.below_list()
            yield self.pages
        yield KeyLine(id="keys")

    def above_list(self) -> ComposeResult:
        yield from ()

    def below_list(self) -> ComposeResult:
        yield from ()

    def on_mount(self) -> None:
        self.grid.border_title = self.TITLE_OF_LIST
        self.list_tools.restore_layout()
        self.set_timer(FIRST_S, self._end_first_wait)
        self.set_interval(self.TICK_S, self._redraw_ages)

    def on_screen_resume(self) -> None:
        self.check_for_changes()

    @property
    def line(self) -> str:
        """The text of the search line; empty where there is none."""
        return ""

    def show_line(self, line: str) -> None:
        """Set the search line, where there is one."""

    # Keeping it true

    def check_for_changes(self) -> None:
        """Reload when the store has changed, while the person sees this view."""
        if not self.is_current:
            return
        self._update_title_error()
        self.title_bar.capture_stop = self.memory.find_capture_stop()
        self.title_bar.paused = self.inspector.pause_note
        self.gathering.show()
        if self.title_bar.paused and self.data is not None:
            return
        if self._epoch != self.memory.epoch or self._trouble is not None:
            self.reload()

    def on_following_toggled(self) -> None:
        self.check_for_changes()

    def set_memory(self, memory: Memory, band: str) -> None:
        """Show another moment; `band` says which in the title, and is empty in the present."""
        self.memory = memory
        self.title_bar.past = band
        self._epoch = -1
        if self.is_current:
            self.reload()

    def reload(self) -> None:
        """Reload everything in a thread.

        While one load runs, at most one more waits, so threads never pile up.
        """
        self._epoch = self.memory.epoch
        self._again = self._loading
        if not self._loading:
            self._loading = True
            self.run_worker(self._load, thread=True, group="load")

    def _load(self) -> None:
        then: Callable[[], None]
        try:
            if not self.memory.is_past:  # what others say now is nothing of that moment
                self.ask_outside_store()
            overview = self.memory.summary()
            then = partial(self._show_loaded, overview, self.memory.read_view(self.load))
        except StoreError as error:
            then = partial(self.show_read_error, error)
        except driver.ProgrammingError:
            then = self._mark_stale
        self.app.call_from_thread(self._finish_load, then)

    def _finish_load(self, then: Callable[[], None]) -> None:
        self._loading = False
        then()
        if self._again:
            self.reload()

    def _mark_stale(self) -> None:
        # The file was replaced, and its old connections closed, meanwhile: the next look reads the new one.
        self._epoch = -1

    def _show_loaded(self, overview: Overview, data: T) -> None:
        if not self.is_mounted:
            return
        is_first, self.data = self.data is None, data
        self._drawn_at = time.monotonic()
        self.show_read_error(None)
        self._overview = overview
        self.show_overview(overview)
        self.draw(data)
        self.show_text()  # in the same frame
        if is_first:
            self.refresh()

    def _redraw_ages(self) -> None:
        began = time.monotonic()
        is_due = began - self._drawn_at >= self.TICK_S / 2 and began >= self._ages_again_at
        if not (is_due and self.is_current and self.inspector.is_at_rest) or self.memory.is_closed:
            return
        if self._overview is not None:
            self.show_overview(self._overview)
        self.redraw()
        self._ages_again_at = began + (time.monotonic() - began) / TICKS_PART

    def redraw(self) -> None:
        if self.is_current and self.data is not None:
            self.draw(self.data)
            self.show_text()  # in the same frame

    def ask_outside_store(self) -> None:
        """Fetch data from outside the store; called in a thread before `load`, and may take any time."""

    def pending_cell(self, uid: str, text: str = "") -> GridCell | None:
        """Return a cell with what waits in the basket for a fact or scope, and a text after it; None when nothing waits."""
        waits = self.gathering.pending.get(uid)
        return None if waits is None else GridCell(f"→ {waits}  {text}".rstrip(), "warning", bold=True)

    def load(self, store: Store) -> T:
        """Read the data of the view; called in a thread, on a read-only connection."""
        raise NotImplementedError

    def draw(self, data: T) -> None:
        raise NotImplementedError

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        """Return title and lines about the row with this key, or None when there is no such row."""
        raise NotImplementedError

    def show_overview(self, overview: Overview) -> None:
        update_title_bar(self.title_bar, self.memory, overview, self.title_place())
        self.strip.waiting = display_formats.quarantined_count(overview.themes)

    def title_place(self) -> str:
        return ""

    # The text beside the list

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        if message.list is self.grid and self._text_of != (self._drawn_at, self.grid.key):
            self.show_text_soon()

    def on_line_list_opened(self, message: LineList.Opened) -> None:
        if message.list is self.grid and self.grid.key is not None:
            self.open(self.grid.key)

    def open(self, key: object) -> None:
        """Handle enter, or a second click on a row: show the text, unless a view does something else."""
        self.add_class("-show-text")
        self.pages.focus()

    def show_text_soon(self) -> None:
        """Update the text once the cursor rests."""
        if not self.is_running:
            return
        if self._text_timer is not None:
            self._text_timer.stop()
        self._text_timer = self.set_timer(TEXT_S, self.show_text)

    def show_text(self) -> None:
        """Update the text about the row under the cursor."""
        if self.data is None:
            return
        try:
            title, lines = self.text(self.grid.key)
        except StoreError as error:
            self.show_read_error(error)
            return
        except driver.ProgrammingError:
            return
        self._text_of = (self._drawn_at, self.grid.key)
        self.pages.show(title, lines, of=self.grid.key)

    def action_back(self) -> None:
        """Go back from the text to the list, or from the list to the facts."""
        if self.focused is self.pages or self.has_class("-show-text"):
            self.remove_class("-show-text")
            self.grid.focus()
        elif not self.list_tools.clear():
            self.inspector.go_back()

    async def action_search(self) -> None:
        await self.list_tools.open_filter()

    def on_filter_line_query_changed(self) -> None:
        self.list_tools.apply_filter()

    def on_search_input_exited(self, message: SearchInput.Exited) -> None:
        self.list_tools.close_filter()

    def match_count(self) -> str:
        """Return how many rows the filter leaves, as the filter line says it."""
        return f"{self.grid.row_count:,} of {len(self.grid.all_rows):,}"

    def action_sort(self) -> None:
        self.list_tools.choose_order()

    def on_grid_sort_chosen(self, message: Grid.SortChosen) -> None:
        if message.list is self.grid:
            self.list_tools.save_layout()

    def action_export(self) -> None:
        self.list_tools.ask_file()

    def action_copy_text(self) -> None:
        self.app.copy_to_clipboard(self.pages.plain)
        self.notify("Copied.", timeout=2)

    # What a person does

    def after_write(self, done: ActionResult) -> None:
        """Reload after a write made here, without waiting for the next poll."""
        self.reload()

    def action_undo(self) -> None:
        if not self.gathering.take_back():
            self.writes.run(self.memory.undo)

    def action_redo(self) -> None:
        self.writes.run(self.memory.redo)

    def show_read_error(self, error: StoreError | None) -> None:
        """Show in the title that the store cannot be read, for as long as that lasts."""
        previous, self._trouble = self._trouble, error
        self._update_title_error()
        if error is not None and previous is None:
            self.show_error(error)

    def _update_title_error(self) -> None:
        if not self.is_current:
            return
        # The first screen looks after the file for all views: that it is gone shows there, not in what is read.
        trouble = self.inspector.main.title_bar.trouble if self._trouble is None else str(self._trouble)
        self.title_bar.trouble = trouble
