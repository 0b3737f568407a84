"""`GuardedScreen`: what Textual's screens get wrong: selection in widgets that disappear, and sizes that are past."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen, ScreenResultType

if TYPE_CHECKING:
    from textual import events
    from textual.geometry import Offset
    from textual.selection import SelectState
    from textual.widget import Widget


class GuardedScreen(Screen[ScreenResultType]):
    """A screen that has the size of the terminal, and never selects in a widget that was removed.

    Textual tells a screen that it has laid out its size once more. While the screen is busy that comes after sizes
    that the terminal got meanwhile: it laid out the old and the new one in turn, for ever, and did nothing else.

    It also asks a removed widget for its parent and its screen: it is drawn until the next layout, and the check
    whether a selection is still attached (`if not state.is_attached_to_dom`, a method that is not called) always
    holds.
    """

    async def _on_resize(self, event: events.Resize) -> None:
        event.size = self.app.size  # Textual's own handler comes after this one

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        widget, offset = super().get_widget_and_offset_at(x, y)
        return (widget, offset) if widget is None or widget is self or widget.is_attached else (None, None)

    def _watch__select_state(self, select_state: SelectState | None) -> None:
        if select_state is not None and not is_selection_attached(select_state):
            self._select_state = None
            return
        super()._watch__select_state(select_state)


def is_selection_attached(state: SelectState) -> bool:
    widgets = [state.start.container, state.start.content_widget]
    if state.end is not None:
        widgets += [state.end.container, state.end.content_widget]
    return all(widget is None or widget.is_attached for widget in widgets)
