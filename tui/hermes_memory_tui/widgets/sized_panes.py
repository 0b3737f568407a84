"""`SizedPanes`: a screen whose panes have the widths a person gave them, by keys or with the mouse, and zoom.

A zoomed pane has the whole body. When the focus moves to another pane, that one is zoomed instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget

if TYPE_CHECKING:
    from hermes_memory_tui.system.inspector_state import InspectorState

STEP = 4
"""Cells by which a key changes a width."""

LEAST = 16
"""The fewest cells of a pane, and of what is beside it."""

WIDE_CLASS = "-wide", "-vast"
"""Classes of a screen whose panes stand beside each other."""

ZOOMED = "-zoomed"


class SizedPanes(Screen[None]):
    """A screen with a row of panes in `#body`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z", "zoom", "Zoom", id="pane.zoom", tooltip="Give the pane the whole body, or end that", show=False),
        Binding(
            "less_than_sign",
            "widen(-1)",
            "Narrower",
            id="pane.narrower",
            key_display="<",
            tooltip="Make the pane narrower",
            show=False,
        ),
        Binding(
            "greater_than_sign",
            "widen(1)",
            "Wider",
            id="pane.wider",
            key_display=">",
            tooltip="Make the pane wider",
            show=False,
        ),
    ]
    PANES: ClassVar[tuple[tuple[str, bool], ...]] = (("pages", True),)
    """Ids of the panes that have a width of their own, and whether they stand at the right; the others share the rest."""
    _put_away: tuple[Widget, ...] = ()
    _dragged: tuple[str, bool] | None = None

    @property
    def is_current(self) -> bool:
        """Whether the person sees this screen.

        Textual takes the screen beneath an opaque one for visible: it lays it out, and draws the opaque one again with it.
        """
        top = self.app.screen_stack[-1:]
        return top == [self] or (super().is_current and not (top and top[0].styles.background.a == 1))

    @property
    def pane_state(self) -> InspectorState:
        """Where the widths are saved."""
        raise NotImplementedError

    @property
    def panes_name(self) -> str:
        raise NotImplementedError

    @property
    def is_zoomed(self) -> bool:
        return self.has_class(ZOOMED)

    @property
    def _stand_side_by_side(self) -> bool:
        return any(map(self.has_class, WIDE_CLASS)) and not self.is_zoomed

    def action_zoom(self) -> None:
        """Give the focused pane the whole body, or end that."""
        if self.is_zoomed:
            self._end_zoom()
        elif self.focused is not None and not self.has_class("-narrow"):
            self._zoom(self.focused)

    def _zoom(self, pane: Widget) -> None:
        body = self.query_one("#body")
        if body not in pane.ancestors:
            return
        away = []
        for one in (pane, *pane.ancestors):
            if one is body:
                break
            if isinstance(one.parent, Widget):
                away += [other for other in one.parent.children if other is not one and other.display]
        for other in away:
            other.display = False
        self._put_away = tuple(away)
        for name, _ in self.PANES:
            self.query_one(f"#{name}").styles.clear_rule("width")
        self.add_class(ZOOMED)

    def _end_zoom(self) -> None:
        for other in self._put_away:
            other.styles.clear_rule("display")
        self._put_away = ()
        self.remove_class(ZOOMED)
        self.apply_widths()

    def set_focus(self, widget: Widget | None, *args: Any, **options: Any) -> None:
        """Focus a pane; when another one is zoomed, it is zoomed instead."""
        if not self.is_zoomed:
            super().set_focus(widget, *args, **options)
            return
        self._end_zoom()
        super().set_focus(widget, *args, **options)
        if self.focused is not None:
            self._zoom(self.focused)

    @property
    def focus_chain(self) -> list[Widget]:
        """What can be focused, panes that another one hides while it is zoomed among it."""
        if not self.is_zoomed:
            return super().focus_chain
        for other in self._put_away:
            other.styles.clear_rule("display")
        try:
            return super().focus_chain
        finally:
            for other in self._put_away:
                other.display = False

    def on_resize(self) -> None:
        self.call_after_refresh(self.apply_widths)

    def apply_widths(self) -> None:
        """Give the panes the widths that were chosen, where they stand beside each other and fit."""
        # It comes once whatever screen is on top is drawn; this one may be leaving by then, with nothing on it.
        if not self.is_attached or not self.display or self.is_zoomed:
            return
        kept = self.pane_state.pane_widths(self.panes_name) if self._stand_side_by_side else {}
        for name, _ in self.PANES:
            pane = self.query_one(f"#{name}")
            if name in kept:
                pane.styles.width = self._fit_width(name, kept[name])
            elif pane.styles.inline.has_rule("width"):
                pane.styles.clear_rule("width")

    def action_widen(self, steps: int) -> None:
        """Make the focused pane wider or narrower; the one without a width of its own at the cost of the last."""
        if not self._stand_side_by_side or self.focused is None:
            self.notify("The panes stand beside each other from 130 columns on.", severity="warning", timeout=4)
            return
        around = {one.id for one in (self.focused, *self.focused.ancestors) if isinstance(one, Widget)}
        name = next((name for name, _ in self.PANES if name in around), None)
        if name is None:
            name, steps = self.PANES[-1][0], -steps
        pane = self.query_one(f"#{name}")
        chosen = pane.styles.inline.width if pane.styles.inline.has_rule("width") else None
        cells = pane.outer_size.width if chosen is None else int(chosen.value)  # keys may come faster than layouts
        self._set_width(name, cells + STEP * steps)

    def _set_width(self, name: str, cells: int) -> None:
        cells = self._fit_width(name, cells)
        self.query_one(f"#{name}").styles.width = cells
        self.pane_state.set_pane_width(self.panes_name, name, cells)

    def _fit_width(self, name: str, cells: int) -> int:
        kept = self.pane_state.pane_widths(self.panes_name)
        others = sum(
            kept.get(other) or self.query_one(f"#{other}").outer_size.width for other, _ in self.PANES if other != name
        )
        return max(LEAST, min(cells, self.size.width - others - 2 * LEAST))

    # The mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._dragged = self._find_border(event.screen_x, event.screen_y) if self._stand_side_by_side else None
        if self._dragged is not None:
            self.clear_selection()
            self.query_one(f"#{self._dragged[0]}").capture_mouse()
            event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged is None:
            return
        if not event.button:  # it was let go before the pane had the mouse
            self._end_drag()
            return
        name, is_right = self._dragged
        region = self.query_one(f"#{name}").region
        cells = region.right - event.screen_x if is_right else event.screen_x + 1 - region.x
        self.query_one(f"#{name}").styles.width = self._fit_width(name, cells)

    def on_mouse_up(self, _: events.MouseUp) -> None:
        self._end_drag()

    def _end_drag(self) -> None:
        if self._dragged is not None:
            (name, _), self._dragged = self._dragged, None
            self.app.capture_mouse(None)
            self._set_width(name, self.query_one(f"#{name}").outer_size.width)

    def _find_border(self, x: int, y: int) -> tuple[str, bool] | None:
        """Return the pane whose inner border is at a place of the screen, or beside it."""
        if not self.query_one("#body").region.contains(x, y):
            return None
        for name, is_right in self.PANES:
            region = self.query_one(f"#{name}").region
            edge = region.x if is_right else region.right - 1
            if x in ((edge - 1, edge) if is_right else (edge, edge + 1)):
                return name, is_right
        return None
