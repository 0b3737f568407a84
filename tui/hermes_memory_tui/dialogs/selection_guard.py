"""`SelectionGuard`: text selection with the mouse on screens whose widgets may disappear, as toasts do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.geometry import Offset
    from textual.screen import Screen
    from textual.selection import SelectState
    from textual.widget import Widget

    Base = Screen[Any]
else:
    Base = object


class SelectionGuard(Base):
    """A screen that never selects in a widget that was removed.

    Textual asks such a widget for its parent and its screen: it is drawn until the next layout, and the check
    whether a selection is still attached (`if not state.is_attached_to_dom`, a method that is not called) always
    holds.
    """

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        widget, offset = super().get_widget_and_offset_at(x, y)
        return (widget, offset) if widget is None or widget is self or widget.is_attached else (None, None)

    def _watch__select_state(self, select_state: SelectState | None) -> None:
        if select_state is not None and not is_selection_attached(select_state):
            self._select_state = None
            return
        super()._watch__select_state(select_state)


def is_selection_attached(state: SelectState) -> bool:
    """Check whether every widget of a selection is still on its screen."""
    widgets = [state.start.container, state.start.content_widget]
    if state.end is not None:
        widgets += [state.end.container, state.end.content_widget]
    return all(widget is None or widget.is_attached for widget in widgets)
