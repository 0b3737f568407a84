"""`ScopeTree`: themes with their pressure, and under each its scopes with their counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.message import Message

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import PressureLevel, Scope, ScopeStatus, ThemeSummary
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.system import palettes
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.gauge_panel import bar_parts
from hermes_memory_tui.widgets.lists.line_list import LineList

BAR = 6
"""Cells of a theme's pressure bar."""

NARROW_BAR = 4
"""The same in a tree of less than `NARROW` cells, so that names keep their room."""

NARROW = 30


SHAPE_INKS = {ScopeStatus.OPEN: "hot", ScopeStatus.COOLING: "warning", ScopeStatus.CLOSED: "dim"}


@dataclass(frozen=True, slots=True)
class TreePlace:
    """A row of the tree. Without a theme: everything. Without a scope: the whole theme, or the facts in no scope."""

    theme: ThemeSummary | None = None
    scope: Scope | None = None
    unscoped: bool = False
    hue: int = 0

    @property
    def key(self) -> tuple[str | None, str | None, bool]:
        """The identity of the row, which stays the same when counts change."""
        theme = None if self.theme is None else self.theme.name
        scope = None if self.scope is None else self.scope.uid
        return (theme, scope, self.unscoped)

    @property
    def title(self) -> str:
        """The place as text: `marketing › launch-032`."""
        if self.theme is None:
            return "all themes"
        name = to_printable(self.theme.name)
        if self.unscoped:
            return f"{name} › no scope"
        return name if self.scope is None else f"{name} › {to_printable(self.scope.label)}"


class ScopeTree(LineList):
    """Messages: `PlaceSelected` when the cursor comes to rest on another place."""

    BINDING_GROUP_TITLE = "Themes and scopes"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Facts", id="scopes.open", tooltip="Go to the facts of this place", show=False),
        Binding("space", "toggle_fold", "Fold", id="scopes.toggle", tooltip="Show or hide the scopes of a theme"),
        Binding("right,l", "unfold", "Unfold", id="scopes.unfold", tooltip="Show the scopes of the theme", show=False),
        Binding("left,h", "fold", "Fold", id="scopes.fold", tooltip="Hide the scopes of the theme", show=False),
    ]

    class PlaceSelected(Message):
        """Posted when another place is selected."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id)
        self._themes: Sequence[ThemeSummary] = ()
        self._scopes: dict[str, list[Scope]] = {}
        self._unfolded: set[str] = set()
        self.places: list[TreePlace] = [TreePlace()]

    @property
    def row_count(self) -> int:
        return len(self.places)

    @property
    def place(self) -> TreePlace:
        return self.places[self.cursor]

    def show(self, themes: Sequence[ThemeSummary], scopes: Sequence[Scope]) -> None:
        """Show these themes and scopes; the cursor stays on its place."""
        self._themes = themes
        self._scopes = {}
        for scope in scopes:
            self._scopes.setdefault(scope.theme, []).append(scope)
        if len(themes) == 1:
            self._unfolded.add(themes[0].name)
        self._lay_out()

    def choose(self, theme: str, scope: str | None = None) -> None:
        self._unfolded.add(theme)
        self._lay_out()
        for row, place in enumerate(self.places):
            label = None if place.scope is None else place.scope.label
            if place.theme is not None and place.theme.name == theme and label == scope and not place.unscoped:
                self.cursor = row
                return

    def widen(self) -> None:
        place = self.place
        if place.scope is not None or place.unscoped:
            assert place.theme is not None
            self.choose(place.theme.name)
        else:
            self.cursor = 0

    def _lay_out(self) -> None:
        key = self.place.key
        self.places = [TreePlace()]
        hues = palettes.theme_hues(theme.name for theme in self._themes)
        for theme in self._themes:
            hue = hues[theme.name]
            self.places.append(TreePlace(theme, hue=hue))
            if theme.name in self._unfolded:
                scopes = self._scopes.get(theme.name, [])
                self.places += [TreePlace(theme, scope, hue=hue) for scope in scopes]
                if scopes:
                    self.places.append(TreePlace(theme, unscoped=True, hue=hue))
        rows = {place.key: row for row, place in enumerate(self.places)}
        row = rows.get(key, rows.get((key[0], None, False), 0))
        self.rows_changed()
        if row != self.cursor:
            self.set_reactive(LineList.cursor, row)
            self.keep_in_view()
            self.post_message(self.PlaceSelected())

    def draw_row(self, row: int, width: int, selected: bool) -> list[Segment]:
        place = self.places[row]
        if place.theme is None:
            return self._draw_all(width)
        if place.scope is None and not place.unscoped:
            return self._draw_theme(place, place.theme, width)
        return self._draw_scope(place, width)

    def _draw_all(self, width: int) -> list[Segment]:
        number = right_aligned_count(sum(theme.live for theme in self._themes))
        return [
            Segment(display_formats.fit_text(" ☿ all themes", width - len(number)), self.ink(bold=True)),
            Segment(number, self.ink("dim")),
        ]

    def _draw_theme(self, place: TreePlace, theme: ThemeSummary, width: int) -> list[Segment]:
        gauge = theme.gauge
        fold = "▾" if theme.name in self._unfolded else "▸"
        alarm = "!" if gauge.level is PressureLevel.CONSOLIDATE else " "
        number = right_aligned_count(theme.live)
        cells = BAR if width >= NARROW else NARROW_BAR
        filled, rest = bar_parts(gauge.pct, cells)
        return [
            Segment(f" {fold} ", self.ink("dim")),
            Segment("■ ", self.ink(f"mark-{place.hue}")),
            Segment(
                display_formats.fit_middle(to_printable(theme.name), width - 7 - cells - len(number)),
                self.ink(bold=True),
            ),
            Segment(" ", self.ink()),
            Segment(filled, self.ink(gauge.level.value)),
            Segment(rest, self.ink("track")),
            Segment(alarm, self.ink("consolidate", bold=True)),
            Segment(number, self.ink("dim")),
        ]

    def _draw_scope(self, place: TreePlace, width: int) -> list[Segment]:
        dim = self.ink("dim")
        scope = place.scope
        if scope is None:
            return [Segment(display_formats.fit_text("     · no scope", width), dim)]
        closed = scope.status is ScopeStatus.CLOSED
        number = right_aligned_count(scope.live)
        tail = " closed" if closed else " cooling" if scope.status is ScopeStatus.COOLING else ""
        label = to_printable(scope.label)
        if cell_len(label) > width - 8 - len(tail) - len(number):
            tail = ""  # the shape says it as well
        name = display_formats.fit_middle(label, width - 8 - len(tail) - len(number))
        return [
            Segment("     ", dim),
            Segment(f"{display_formats.SCOPE_SHAPES[scope.status]} ", self.ink(SHAPE_INKS[scope.status])),
            Segment(name, dim if closed else self.ink()),
            Segment(f"{tail} {number}", dim),
        ]

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        if old != new:
            self.post_message(self.PlaceSelected())

    def action_toggle_fold(self) -> None:
        theme = self.place.theme
        if theme is not None:
            (self.action_fold if theme.name in self._unfolded else self.action_unfold)()

    def action_unfold(self) -> None:
        if self.place.theme is not None:
            self._unfolded.add(self.place.theme.name)
            self._lay_out()

    def action_fold(self) -> None:
        if self.place.theme is not None:
            self._unfolded.discard(self.place.theme.name)
            self._lay_out()


def right_aligned_count(number: int) -> str:
    return f"{display_formats.abbreviate_number(number):>4} "
