"""Journal: all changes, newest first; undo one, or open the memory as it was before it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.errors import StoreError
from hermes_memory_store.journal.change_folds import ChangeFold
from hermes_memory_store.model import Change, Check
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.model.journal_pages import (
    UNFOLDED_ROWS,
    JournalFilter,
    JournalPage,
    load_journal_page,
    parse_journal_filter,
)
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.model.view_catalog import FACTS
from hermes_memory_tui.screens.memory_screen import WriteBinding
from hermes_memory_tui.system import palettes
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.text.change_subjects import change_subject
from hermes_memory_tui.text.fold_phrases import format_fold_subject, format_fold_verb
from hermes_memory_tui.text.origin_text import origin_values
from hermes_memory_tui.views.base_view import RowContext
from hermes_memory_tui.views.paged_view import PagedView
from hermes_memory_tui.views.session_actions import confirm_undo_fold, load_named_rows, to_row_lines
from hermes_memory_tui.widgets import change_text
from hermes_memory_tui.widgets.lists.grid import GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.lists.grid_rows import to_row
from hermes_memory_tui.widgets.text_panel import Line, heading_line, key_hint_line, labelled_value

DETAIL_ROWS = 50
"""Rows of a change that the detail names."""


class FoldKey(NamedTuple):
    """Names the line of a change of several rows, which are named by their numbers."""

    first: int
    """The number of its first row."""
    is_rest: bool = False
    """Whether it is the line below its rows, which stands for those that were not read."""


class JournalLine(NamedTuple):
    """A change, or a row of it, with the words that the list has for it."""

    change: Change
    verb: str
    subject: str


class JournalView(PagedView[JournalPage]):
    """One line for each change; enter unfolds what it did into its rows."""

    NAME = "journal"
    TITLE_OF_LIST = "journal"
    BINDING_GROUP_TITLE = "Journal"
    LINE = "words  by:person  by:agent-name  theme:marketing  op:edit,archive  #1036"
    PAGE = 400
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("#", 5, right=True, least=60, most=8, value=lambda line, _: GridCell(str(line.change.seq), "dim")),
        GridColumn(
            "ago",
            4,
            right=True,
            value=lambda line, at: GridCell(display_formats.format_age(line.change.at, at.now), "dim"),
        ),
        GridColumn("", 1, value=lambda line, at: GridCell("■", f"mark-{at.hues.get(line.change.theme, 0)}")),
        GridColumn("by", 12, most=21, value=lambda line, _: actor_cell(line.change)),
        GridColumn("op", 8, most=24, value=lambda line, _: verb_cell(line.change, line.verb)),
        GridColumn("change", value=lambda line, _: GridCell(line.subject)),
        GridColumn(
            "theme", 6, least=70, most=16, value=lambda line, _: GridCell(to_printable(line.change.theme), "dim")
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash", "search", "Search", id="journal.filter", tooltip="Words, by:agent theme:x op:edit, or #number"
        ),
        WriteBinding("U", "undo_change", "Undo", id="journal.undo", tooltip="Undo this change, whoever made it"),
        Binding(
            "left_square_bracket",
            "step_back",
            "Change back",
            id="journal.past",
            tooltip="Show the memory before this change",
        ),
        Binding(
            "E", "everything", "Everything", id="journal.everything", tooltip="Show or hide sessions and conversations"
        ),
        Binding("H", "verify", "Verify", id="journal.verify", tooltip="Verify the hash chain"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._wanted = JournalFilter()
        self._everything = False
        self._unfolded: dict[int, int] = {}
        self._line_refused = False

    def load(self, store: Store) -> JournalPage:
        return load_journal_page(store, self._wanted, self._unfolded, self.limit, everything=self._everything)

    def draw(self, data: JournalPage) -> None:
        at = RowContext(self.memory.now(), palettes.theme_hues(theme.name for theme in data.themes))
        self.grid.empty = ("No matching changes." if self._wanted != JournalFilter() else "Journal is empty.",)
        more = "" if data.complete else "+"
        kinds = "of every kind" if self._everything else "of facts and scopes"
        changes = "change" if len(data.folds) == 1 and data.complete else "changes"
        self.grid.set_subtitle(f"{display_formats.format_count(len(data.folds))}{more} {changes} {kinds}, newest first")
        self.grid.show([row for fold in data.folds for row in to_fold_rows(fold, data, at)])
        if self.filter.display and not self._line_refused:
            self.filter.show_match_count(f"{display_formats.format_count(len(data.folds))}{more} found")

    @property
    def fold(self) -> ChangeFold | None:
        """The change under the cursor, also where the cursor is on one of its rows."""
        key = self.grid.key
        number = key.first if isinstance(key, FoldKey) else key
        if self.data is None or not isinstance(number, int):
            return None
        return next((fold for fold in self.data.folds if fold.first <= number <= fold.last), None)

    @property
    def change(self) -> Change | None:
        """The row under the cursor; of a folded change, the row that names it."""
        fold = self.fold
        if fold is None or self.data is None:
            return None
        rows = self.data.rows.get(fold.first, ())
        return next((row for row in rows if row.seq == self.grid.key), fold.lead)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        change, fold = self.change, self.fold
        if change is None or fold is None or self.data is None:
            return "change", [Content.styled("no change selected", "$dim")]
        hints = key_hint_line(("U", "undo"), ("[", "show the memory before this change"))
        if not isinstance(key, FoldKey):
            lines = change_text.change_detail(change, self.data.named, self.memory.now())
            return f"change #{change.seq}", [*lines, Content(""), hints]
        rows, named = self.memory.read_now(partial(load_named_rows, fold=fold, limit=DETAIL_ROWS))
        lines = fold_detail(fold, rows, named, self.memory.now())
        does = "fold" if fold.first in self.data.rows else "unfold"
        return f"change #{fold.first}", [*lines, Content(""), key_hint_line(("enter", does)), hints]

    def open(self, key: object) -> None:
        fold = self.fold
        if not isinstance(key, FoldKey) or fold is None or self.data is None:
            super().open(key)
            return
        shown = len(self.data.rows.get(fold.first, ()))
        self._unfolded[fold.first] = 4 * shown if key.is_rest else 0 if shown else UNFOLDED_ROWS
        self.reload()

    # The line

    def on_filter_line_query_changed(self) -> None:
        try:
            journal_filter = self.memory.read_now(partial(parse_journal_filter, self.filter.input.value))
        except StoreError as error:
            self._line_refused = True
            self.filter.show_query_error(str(error))
            return
        if self._line_refused:
            self._line_refused = False
            self.redraw()
        if journal_filter != self._wanted:
            self._wanted = journal_filter
            self.reload_first_page()

    # What a person does

    def action_everything(self) -> None:
        """Toggle between changes of facts and scopes only, and all rows with sessions and turns."""
        self._everything, self._pages = not self._everything, 1
        self.reload()

    def action_undo_change(self) -> None:
        if self.fold is not None:
            confirm_undo_fold(self, self.fold)

    def action_step_back(self) -> None:
        """Open the memory as it was before the change, and show its facts."""
        from hermes_memory_tui.model.past_memory import before_change

        change, app = self.change, self.inspector
        if change is not None:
            app.travel(before_change(change.change), FACTS)

    def action_verify(self) -> None:
        self.notify("Verifying …", timeout=2)
        self.run_worker(self._verify, thread=True, group="verify", exclusive=True)

    def _verify(self) -> None:
        try:
            with self.memory.open_reader() as store:
                check = store.journal.verify()
        except StoreError as error:
            self.app.call_from_thread(self.show_error, error)
        else:
            self.app.call_from_thread(self._show_verification, check)

    def _show_verification(self, check: Check) -> None:
        message = f"✓ {check.detail}" if check.ok else f"Hash chain broken: {check.detail}"
        self.notify(message, severity="information" if check.ok else "error", timeout=8, markup=False)


def to_fold_rows(fold: ChangeFold, page: JournalPage, at: RowContext) -> list[GridRow]:
    """Return a change as a row of the list, and below it its own rows where it is unfolded."""
    rows = page.rows.get(fold.first)
    mark = "" if fold.size == 1 else "▸ " if rows is None else "▾ "
    subject = format_fold_subject(fold, change_subject(fold.lead, page.named))
    verb = change_text.change_verb(fold.lead) if fold.size == 1 else format_fold_verb(fold)
    head = to_row(JournalView.COLUMNS, fold.lead.seq, JournalLine(fold.lead, verb, mark + subject), at)
    if fold.size == 1:
        return [head]
    number = GridCell(str(fold.first), "dim")
    listed = [GridRow(FoldKey(fold.first), (number, *head.cells[1:]))]
    for row in rows or ():
        foot = "└ " if row.seq == fold.first else "├ "
        subject = foot + change_subject(row, page.named)
        line = JournalLine(row, change_text.change_verb(row), subject)
        cells = list(to_row(JournalView.COLUMNS, row.seq, line, at).cells)
        cells[1] = GridCell("")
        if row.actor == fold.lead.actor:
            cells[3] = GridCell("")
        listed.append(GridRow(row.seq, tuple(cells)))
    if rows and len(rows) < fold.size:
        left = display_formats.pluralise(fold.size - len(rows), "row")
        cells = [GridCell("") for _ in head.cells]
        cells[5] = GridCell(f"└ {left} more: enter", "dim")
        listed.append(GridRow(FoldKey(fold.first, is_rest=True), tuple(cells)))
    return listed


def actor_cell(change: Change) -> GridCell:
    person = change.actor.kind == "person"
    return GridCell(display_formats.actor_name(change.actor), "accent" if person else "", name=True)


def verb_cell(change: Change, verb: str) -> GridCell:
    """Return the cell of what was done. Its end is the number of what was undone."""
    return GridCell(verb, change_text.change_ink(change), bold=change.op in ("edit", "create"), name=True)


def fold_detail(fold: ChangeFold, rows: Sequence[Change], names: dict[int, str], now: int) -> list[Line]:
    lead = fold.lead
    more = f" to #{fold.last}" if fold.last > fold.first else ""
    return [
        Content.assemble(
            (format_fold_verb(fold), "bold"),
            "  ",
            format_fold_subject(fold, change_subject(lead, names)),
        ),
        Content(""),
        labelled_value("by", display_formats.actor_name(lead.actor)),
        labelled_value("when", display_formats.format_when(lead.at, now)),
        labelled_value("theme", to_printable(lead.theme)),
        labelled_value("rows", f"#{fold.first}{more}"),
        *(labelled_value(label, value) for label, value in origin_values(lead.origin)),
        Content(""),
        heading_line("what happened", display_formats.pluralise(fold.size, "row")),
        *to_row_lines(fold, rows, names),
    ]
