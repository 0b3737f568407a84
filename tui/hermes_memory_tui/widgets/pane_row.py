"""`PaneRow`: a row of panes that can be zoomed.

A zoomed pane has the whole row. When the focus moves to another pane, that one is zoomed instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from textual.containers import Horizontal
from textual.widget import Widget

ZOOMED = "-zoomed"


class PaneRow(Horizontal):
    """The body of a screen: its panes side by side."""

    BLANK = True  # covered by them wholly: Textual need not draw its lines below theirs
    _put_away: tuple[Widget, ...] = ()

    @property
    def is_zoomed(self) -> bool:
        return self.is_attached and self.screen.has_class(ZOOMED)

    def zoom(self) -> None:
        """Give the focused pane the whole row, or end that."""
        focused = self.screen.focused
        if self.is_zoomed:
            self._end_zoom()
        elif focused is not None and not self.screen.has_class("-narrow"):
            self._zoom(focused)

    @contextmanager
    def follow_focus(self) -> Iterator[None]:
        """Zoom the pane that is focused meanwhile, where one is zoomed."""
        was_zoomed = self.is_zoomed
        if was_zoomed:
            self._end_zoom()
        yield
        if was_zoomed and self.screen.focused is not None:
            self._zoom(self.screen.focused)

    @contextmanager
    def show_all(self) -> Iterator[None]:
        """Show the panes that another one hides while it is zoomed."""
        for pane in self._put_away:
            pane.styles.clear_rule("display")
        try:
            yield
        finally:
            for pane in self._put_away:
                pane.display = False

    def _zoom(self, pane: Widget) -> None:
        if self not in pane.ancestors:
            return
        away: list[Widget] = []
        for node in (pane, *pane.ancestors):
            if node is self:
                break
            if isinstance(node.parent, Widget):
                away += [sibling for sibling in node.parent.children if sibling is not node and sibling.display]
        for sibling in away:
            sibling.display = False
        self._put_away = tuple(away)
        self.screen.add_class(ZOOMED)

    def _end_zoom(self) -> None:
        for pane in self._put_away:
            pane.styles.clear_rule("display")
        self._put_away = ()
        self.screen.remove_class(ZOOMED)
