"""What a person had open and typed when the inspector failed, and what the next app receives of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Fact
from hermes_memory_tui.model.toast_messages import ToastMessage

if TYPE_CHECKING:
    from hermes_memory_tui.model.memory import UndoHistory


@dataclass(frozen=True, slots=True)
class UnsavedText:
    text: str
    base: Fact | None
    """The fact as it was when editing began; None for a new one."""
    theme: str = ""
    scope: str = ""
    """As it was typed, for a new fact."""


@dataclass(frozen=True, slots=True)
class OpenWork:
    theme: str | None = None
    scope: str | None = None
    line: str = ""
    """The search line of the facts."""
    fact: str | None = None
    """Uid of the fact under the cursor."""
    view: str | None = None
    view_line: str = ""
    """The line over the view's list."""
    is_gathering: bool = False
    """Whether changes went into the basket."""
    editor: UnsavedText | None = None
    typed: tuple[tuple[str, str], ...] = ()
    """Lines of dialogs, each with the dialog's name."""


@dataclass(frozen=True, slots=True)
class RecoveryState:
    """What an app that failed hands over to the app that replaces it."""

    sentence: str
    """What to tell the person."""
    messages: Sequence[ToastMessage]
    """The message log of the app that failed."""
    work: OpenWork
    """Empty when restoring it may be what fails."""
    failures: int
    """How often it failed since the person last pressed a key."""
    undo_history: UndoHistory | None = None
    """The changes made in that app, so that undo still reaches them."""
