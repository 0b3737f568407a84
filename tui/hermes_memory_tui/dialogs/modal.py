"""`Modal`: a screen over another that closes exactly once.

Without the guard, two keys pressed faster than it closes, or a write that ends after escape, would close the
screen beneath.
"""

from __future__ import annotations

from typing import Any, cast

from textual.await_complete import AwaitComplete
from textual.content import Content
from textual.screen import ScreenResultType

from hermes_memory_tui.dialogs.screen_guard import GuardedScreen


class Modal(GuardedScreen[ScreenResultType]):
    """Base class of all dialogs; it is over the screen beneath as Textual's own `ModalScreen` is."""

    DEFAULT_CSS = (
        "Modal { layout: vertical; overflow-y: auto; background: $background 60%; &:ansi { background: transparent; } }"
    )

    def __init__(self) -> None:
        super().__init__()
        self._modal = True

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def show_notice(self, text: str, ink: str) -> None:
        """Say in one line of the frame what a toast would say: one over the dialog would hide what is asked.

        :param ink: a colour of the look
        """
        for frame in self.children:
            if frame.styles.border_bottom[0]:
                frame.border_subtitle = cast("Any", Content.styled(text, ink))

    # What was typed into its line outlives a failure of the app

    @property
    def draft_name(self) -> str:
        """The key of the draft: the same dialog about the same subject has the same key."""
        return type(self).__name__

    @property
    def typed_text(self) -> str:
        """The typed text that may be restored here; empty where typing arms what cannot be undone."""
        return ""

    def keep_text(self) -> None:
        """Save the unsaved text, in dialogs that support it."""

    def take_recovered_text(self) -> str:
        """Return once the text that was typed here when the app failed; empty when there was none."""
        app: Any = self.app
        return str(app.typed.pop(self.draft_name, ""))
