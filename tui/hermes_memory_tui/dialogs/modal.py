"""`Modal`: a screen over another that closes once.

Two keys pressed faster than it closes, or a write that ends after escape, would else close what lies beneath it.
"""

from __future__ import annotations

from typing import Any

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, ScreenResultType

from hermes_memory_tui.screens.selection import Selection


class Modal(Selection, ModalScreen[ScreenResultType]):
    """What every dialog is."""

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_active else AwaitComplete()

    # What was typed into its line outlives a failure of the app

    @property
    def draft_name(self) -> str:
        """What is typed here is kept under it: the same dialog about the same thing has the same."""
        return type(self).__name__

    @property
    def typed(self) -> str:
        """What was typed and may stand here again; nothing where typing arms what cannot be undone."""
        return ""

    def keep_text(self) -> None:
        """Write down what is typed and not saved, where that is done."""

    def take_typed(self) -> str:
        """What was typed here when the app failed, once; empty when nothing was."""
        app: Any = self.app
        return str(app.typed.pop(self.draft_name, ""))
