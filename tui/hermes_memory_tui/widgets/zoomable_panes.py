"""`ZoomablePanes`: a screen whose panes can be zoomed.

A zoomed pane has the whole body. When the focus moves to another pane, that one is zoomed instead.
"""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget

ZOOMED = "-zoomed"


class ZoomablePanes(Screen[None]):
    """A screen with a row of panes in `#body`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z", "zoom", "Zoom", id="pane.zoom", tooltip="Give the pane the whole body, or end that", show=False),
    ]
    _put_away: tuple[Widget, ...] = ()

    @property
    def is_current(self) -> bool:
        """Whether the person sees this screen.

        Textual takes the screen beneath an opaque one for visible: it lays it out, and draws the opaque one again with it.
        """
        top = self.app.screen_stack[-1:]
        return top == [self] or (super().is_current and not (top and top[0].styles.background.a == 1))

    @property
    def is_zoomed(self) -> bool:
        return self.has_class(ZOOMED)

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
        self.add_class(ZOOMED)

    def _end_zoom(self) -> None:
        for other in self._put_away:
            other.styles.clear_rule("display")
        self._put_away = ()
        self.remove_class(ZOOMED)

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
