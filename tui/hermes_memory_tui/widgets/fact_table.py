"""`FactTable`: one row per fact, for more than a million facts.

It holds only the keys in order (eight bytes per fact) and the facts of the rows near the screen, requested by
key.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache

from hermes_memory_store.model import Fact, ListOrder, Millis, Sort, Tier
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.text import fact_columns
from hermes_memory_tui.text.display_formats import TIER_SHAPES, fit_text, format_age
from hermes_memory_tui.text.fact_columns import FactColumn
from hermes_memory_tui.text.highlight import SearchHighlighter, split_at_spans
from hermes_memory_tui.widgets.lists.line_list import LineList, ListMessage
from hermes_memory_tui.widgets.lists.marked_list import MarkedList

BLOCK = 64
"""Facts that are asked for together."""

KEPT = 4_096
"""Facts that are kept: what scrolling back and forth needs."""

FLASH_S = 1.2
"""How long a changed row shows its mark."""

WORDS_FROM = 127
"""Cells from which types are written as words, not as symbols."""

ROOM_FROM = 54
"""Cells from which a row of one theme says its scope, and the columns have titles."""

SCOPES_FROM = 88
"""Cells from which rows that say their themes say their scopes, too."""

MEASURED = [column for column in fact_columns.COLUMNS if not column.right and column.name not in fact_columns.BEFORE]
"""Columns after the content that are as wide as the longest text that is shown."""

NOTE = 0
"""Key of the row that says something of the facts below it; no fact has it."""

Load = Callable[[Sequence[int]], "list[Fact] | None"]
"""Facts by key; None when the store could not be read just now."""


class FactTable(MarkedList):
    """The facts of a listing. Messages: `Moved` and `Opened` of `LineList`, `MarksChanged`."""

    BINDING_GROUP_TITLE = "Facts"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="facts.open", tooltip="Show the fact with its history", show=False),
    ]
    NOUN = "fact"

    class HeadClicked(ListMessage):
        """Posted when the head of a column is clicked that the facts can be ordered by."""

        def __init__(self, list: FactTable, sort: Sort | ListOrder) -> None:
            super().__init__(list)
            self.sort = sort

    def __init__(self, load: Load, clock: Callable[[], Millis], id: str | None = None) -> None:
        super().__init__(id)
        self._load = load
        self._clock = clock
        self._facts: LRUCache[int, Fact] = LRUCache(KEPT)
        self._gone: set[int] = set()
        self._aged_at = Millis(0)
        self._flashing: dict[int, str] = {}
        self._stale: set[str] = set()
        """Uids of facts whose cited lines are not as they were."""
        self._longest: dict[str, int] = {}
        """Cells of the longest text of the target and of each measured column, in what was read of this listing."""
        self.keys: array[int] = array("q")
        self._note = ""
        self.is_newest_first = True
        """Whether new facts come at the top, where an untouched cursor follows them."""
        self.columns: tuple[str, ...] = fact_columns.DEFAULT
        """Names of the columns that are shown, where there is room."""
        self.order: tuple[Sort | ListOrder, bool] | None = None
        """The order of the facts, and whether it is descending; None: the best match first."""
        self.hues: dict[str, int] = {}
        """The hue of each theme, when facts of several are shown; else rows need not say whose they are."""
        self.marks = SearchHighlighter()
        """The words that stand out in the rows, because they were searched for."""
        self.pending: Mapping[str, str] = {}
        """What waits in the basket for each fact, in words, by uid."""
        self.empty: Sequence[str] = ()
        """What is said where the facts would be."""

    @property
    def row_count(self) -> int:
        return len(self.keys)

    @property
    def fact(self) -> Fact | None:
        return self.fact_at(self.cursor) if self.keys else None

    def key_of_row(self, row: int) -> int | None:
        return self.keys[row] if self.fact_at(row) is not None else None

    def find_row(self, key: int) -> int | None:
        row = self._row_of(key, -1)
        return row if row >= 0 else None

    def keys_between(self, first: int, end: int) -> Sequence[int]:
        return [key for key in self.keys[first:end] if key != NOTE]

    @property
    def selected_keys(self) -> list[int]:
        if self.marked:
            return list(self.marked)
        before = self.before_following()
        if before is not None:
            return before
        return [] if self.fact is None else [self.fact.id]

    @property
    def head_lines(self) -> int:
        return int(bool(self.keys) and self.scrollable_content_region.width >= ROOM_FROM)

    def validate_cursor(self, row: int) -> int:
        """Return the row to go to: beyond the one that says something of the facts below it."""
        row = super().validate_cursor(row)
        if self.keys and self.keys[row] == NOTE:
            row += 1 if row > self.cursor or not row else -1
        return row

    def show(
        self,
        keys: array[int],
        facts: Iterable[Fact] = (),
        *,
        row: int | None = None,
        top: bool = False,
        note: tuple[int, str] | None = None,
    ) -> None:
        """Show other rows.

        :param facts: facts that need not be requested
        :param row: the new row of the fact under the cursor, when the caller knows it; looked up here when None
        :param top: start at the first row
        :param note: above which row of these something is said of it and of those below, and what
        """
        if top:
            self._longest.clear()
            self._facts.clear()  # each is measured when it is read
        self._hold(facts)
        key = self.keys[self.cursor] if self.keys and not top else None
        before, count, next_key = self.cursor, len(self.keys), self._next_key(key)
        place, self._note = note or (len(keys), "")
        self.keys = keys if place >= len(keys) else keys[:place] + array("q", [NOTE]) + keys[place:]
        self._gone.clear()
        if top:
            row = 0
            self._touch(False)
        elif row is None:
            row = self._row_of(key, before)
        if key in self._leaving and row != before:
            row = self._row_to_go_on(next_key, before)
        if self.is_newest_first and not top and key is not None:
            if self.is_following:
                if row:
                    self.note_followed([key])
                row = 0
            elif 0 < row - before <= len(keys) - count:
                self.note_new_above(row - before)
        offset = self.scroll_offset.y
        height = self.scrollable_content_region.height
        self.rows_changed()
        self.set_reactive(LineList.cursor, self.validate_cursor(row))
        shift = self.cursor - before
        if top:
            self.scroll_to(y=0, animate=False, force=True)
        elif offset and shift:
            self.scroll_to(y=offset + shift, animate=False, force=True)
        elif height:
            self.keep_in_view()
        self.post_message(self.Moved(self))

    def _row_of(self, key: int | None, near: int) -> int:
        if key is None:
            return 0
        for row in range(max(0, near - BLOCK), min(len(self.keys), near + BLOCK)):
            if self.keys[row] == key:
                return row
        try:
            return self.keys.index(key)
        except ValueError:
            return near

    def forget(self, keys: Iterable[int] | None = None) -> None:
        """Drop these facts (all when None) from the cache, so that they are requested again before they are drawn."""
        if keys is None:
            self._facts.clear()
        else:
            for key in keys:
                self._facts.discard(key)
        self._gone.clear()
        self._longest.clear()
        self._drawn.clear()
        self.refresh()

    def flash(self, marks: dict[int, str]) -> None:
        """Show a mark beside facts briefly: `+` for new ones, `~` for changed ones."""
        if not marks:
            return
        self._flashing.update(marks)
        self._drawn.clear()
        self.refresh()
        self.set_timer(FLASH_S, lambda: self._end_flash(marks))

    def show_pending(self, pending: Mapping[str, str]) -> None:
        self.pending = pending
        self._drawn.clear()
        self.refresh()

    def list_citing(self) -> list[Fact]:
        """Return those facts that were read and cite anything."""
        facts = (self._facts.get(key) for key in [*self._facts.keys()])
        return [fact for fact in facts if fact is not None and fact.cites is not None]

    def note_stale(self, stale: set[str]) -> None:
        """Mark facts whose cited lines changed. :param stale: their uids"""
        if stale != self._stale:
            self._stale = stale
            self._drawn.clear()
            self.refresh()

    def _end_flash(self, marks: dict[int, str]) -> None:
        for key in marks:
            self._flashing.pop(key, None)
        self._drawn.clear()
        self.refresh()

    def redraw_ages(self) -> None:
        """Redraw the rows whose age text has changed: few, unless somebody writes at this moment."""
        then, self._aged_at = self._aged_at, self._clock()
        for line in list(self._drawn.keys()):
            state = line[0]
            fact = self._facts.get(self.keys[state[0]]) if len(state) > 1 else None
            if fact is not None and format_age(fact.updated_at, then) != format_age(fact.updated_at, self._aged_at):
                self._drawn.discard(line)
                self.refresh_row(state[0])

    def fact_at(self, row: int) -> Fact | None:
        """Return the fact of a row, or None when it no longer exists or cannot be read just now."""
        if not 0 <= row < len(self.keys) or self.keys[row] == NOTE:
            return None
        key = self.keys[row]
        fact = self._facts.get(key)
        if fact is None and key not in self._gone:
            start = row - row % BLOCK
            missing = [other for other in self.keys_between(start, start + BLOCK) if other not in self._facts]
            facts = self._load(missing)
            if facts is None:
                return None
            self._hold(facts)
            self._gone.update(set(missing) - {fact.id for fact in facts})
            fact = self._facts.get(key)
        return fact

    def _hold(self, facts: Iterable[Fact]) -> None:
        """Keep facts that were read, and draw the columns as wide as the longest of their texts needs."""
        before = sum(self._longest.values())
        columns = [column for column in MEASURED if column.name in self._names]
        for fact in facts:
            self._facts[fact.id] = fact
            self._longest["target"] = max(self._longest.get("target", 0), cell_len(to_printable(fact.target)))
            for column in columns:
                self._longest[column.name] = max(self._longest.get(column.name, 0), cell_len(column.text(fact, 0)))
        if sum(self._longest.values()) != before and self.is_attached:
            self._drawn.clear()
            self._refresh_lines()

    @property
    def _names(self) -> tuple[str, ...]:
        """The names of the columns; rows of several themes say theirs."""
        return (*self.columns, "theme") if self.hues else self.columns

    def draw_row(self, row: int, width: int, selected: bool) -> list[Segment]:
        fact = self.fact_at(row)
        dim = self.ink("dim")
        if self.keys[row] == NOTE:
            return [Segment(fit_text(f"── {self._note} ".ljust(width, "─"), width), dim)]
        if fact is None:
            is_purged = self.keys[row] in self._gone
            return [Segment(fit_text("   … purged" if is_purged else "   …", width), dim)]
        away = fact.tier not in (Tier.HOT, Tier.COLD)
        plain = dim if away else self.ink()
        kind_width, target_width, content_width, after = self._widths(width)
        kind = fit_text(fact.type.word if kind_width > 2 else fact.type.value, kind_width)
        now = self._clock()
        tier = f"{TIER_SHAPES[fact.tier]} " if "tier" in self.columns else ""
        segments = [
            self._gutter(fact),
            Segment(tier, self._tier_style(fact.tier)),
            *self._theme_mark(fact),
            Segment(kind, dim),
            *self._highlighted_width(to_printable(fact.target), target_width, dim if away else self.ink(bold=True)),
            Segment("  ", plain),
        ]
        waits = self.pending.get(fact.uid)
        if waits is not None:
            label = fit_text(f"→ {waits}", min(content_width, cell_len(waits) + 2))
            segments.append(Segment(label, self.ink("warning", bold=True)))
            content_width -= cell_len(label)
            segments.append(Segment("  "[:content_width], plain))
            content_width = max(0, content_width - 2)
        segments += self._highlighted_width(to_printable(fact.content), content_width, plain)
        for column, cells in after:
            text = column.text(fact, now)
            segments.append(Segment(" " + column.fit_cell(text, cells), dim))
        segments.append(Segment(" ", dim))
        return segments

    def draw_head(self, width: int) -> list[Segment]:
        segments = []
        for text, sort in self._heads(width):
            is_chosen = self.order is not None and sort is self.order[0]
            segments.append(Segment(text, self.ink("accent" if is_chosen else "dim", underline=True)))
        return segments

    def _heads(self, width: int) -> list[tuple[str, Sort | ListOrder | None]]:
        """Return the parts of the head: what they say, and the order that a click on them chooses."""
        kind_width, target_width, content_width, after = self._widths(width)
        begin = 2 + 2 * ("tier" in self.columns) + 2 * bool(self.hues)
        heads: list[tuple[str, Sort | ListOrder | None]] = [
            (" " * begin, None),
            (fit_text(self._title("type", Sort.TYPE) if kind_width > 2 else "", kind_width), Sort.TYPE),
            (fit_text(self._title("target", Sort.TARGET), target_width) + "  ", Sort.TARGET),
            (fit_text("content", content_width), None),
        ]
        heads += [
            (" " + column.fit_cell(self._title(column.title, column.sort), cells), column.sort)
            for column, cells in after
        ]
        room = width - sum(cell_len(text) for text, _ in heads)
        return [*heads, (" " * max(0, room), None)]

    def _title(self, title: str, sort: Sort | ListOrder | None) -> str:
        if self.order is None or sort is not self.order[0]:
            return title
        return f"{title}{'▼' if self.order[1] else '▲'}"

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None or offset.y or not self.head_lines:
            super().on_click(event)
            return
        end = 0
        for text, sort in self._heads(self.scrollable_content_region.width):
            end += cell_len(text)
            if offset.x < end:
                if sort is not None:
                    self.post_message(self.HeadClicked(self, sort))
                return

    def _widths(self, width: int) -> tuple[int, int, int, list[tuple[FactColumn, int]]]:
        """Return the cells of the type, the target, the content, and each column after it."""
        kind = 0 if "type" not in self.columns else 11 if width >= WORDS_FROM else 2
        before = 2 + 2 * ("tier" in self.columns) + 2 * bool(self.hues) + kind
        target = max(len("target") + 1, min(self._longest.get("target", 0), 32, width // 4))
        room = width - before - target - 2 - 1
        scope_from = SCOPES_FROM if self.hues else ROOM_FROM
        names = [name for name in self._names if name != "scope" or width >= scope_from]
        after = fact_columns.trailing_columns(names, room, width, self._longest)
        return kind, target, room - sum(cells + 1 for _, cells in after), after

    def _highlighted_width(self, text: str, width: int, style: Style) -> list[Segment]:
        """Return a text fitted to its cells, with the search words highlighted."""
        cells = fit_text(text, width)
        if not self.marks:
            return [Segment(cells, style)]
        cut = len(cells) - 1 if cells.endswith("…") else len(text)
        spans = [(start, min(end, cut)) for start, end in self.marks.match_spans(text) if start < cut]
        highlight = self.ink("accent", bold=True, underline=True)
        return [Segment(part, highlight if hit else style) for part, hit in split_at_spans(cells, spans)]

    def draw_empty(self, line: int, width: int) -> list[Segment]:
        if self.keys or not 0 <= line - 1 < len(self.empty):
            return super().draw_empty(line, width)
        style = self.ink() if line == 1 else self.ink("dim")
        return [Segment(fit_text("  " + self.empty[line - 1], width), style)]

    def _gutter(self, fact: Fact) -> Segment:
        mark = self._flashing.get(fact.id)
        if mark is not None:
            return Segment(f"{mark} ", self.ink("success" if mark == "+" else "warning", bold=True))
        if fact.id in self.marked:
            return Segment("▌ ", self.ink("accent", bold=True))
        if fact.uid in self._stale:
            return Segment("≠ ", self.ink("warning", bold=True))
        return Segment("⚑ " if fact.pinned else "  " if fact.cites is None else "§ ", self.ink("dim"))

    def _tier_style(self, tier: Tier) -> Style:
        match tier:
            case Tier.HOT:
                return self.ink("hot")
            case Tier.COLD:
                return self.ink("cold")
            case Tier.QUARANTINED:
                return self.ink("warning", bold=True)
            case _:
                return self.ink("dim")

    def _theme_mark(self, fact: Fact) -> list[Segment]:
        return [Segment("■ ", self.ink(f"mark-{self.hues.get(fact.theme, 0)}"))] if self.hues else []
