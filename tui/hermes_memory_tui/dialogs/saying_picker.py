"""`SayingPicker`: paste what an agent said, or choose one of its captured messages."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.widgets import Input

from hermes_memory_store.journal.saying_sources import LONGEST_SAYING
from hermes_memory_store.language.tokenizer import fold_accents
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.dialogs.picker import NEW, Picker
from hermes_memory_tui.widgets.lists.pick_list import Choice


class PastedLine(Input):
    """An input line that takes every line of what is pasted, as one, without what would disturb the terminal.

    A plain input takes the first line alone.
    """

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = " ".join(event.text[:LONGEST_SAYING].split())
        self.insert_text_at_cursor("".join(sign for sign in text if to_printable(sign) == sign))


class SayingPicker(Picker):
    """Dismissed with the key of a message, with `NEW` and the pasted text, or None."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        super().__init__(
            "why did it say that?",
            choices,
            typing=True,
            empty="No message of an agent was captured. Paste or type what it said.",
        )
        self.line = PastedLine(placeholder="paste what it said, or choose below", id="picker-line", compact=True)

    @property
    def text(self) -> str:
        return " ".join(self.line.value.split())

    def _show(self) -> None:
        words = fold_accents(self.text).split()
        # All words and not letters in their order: what is pasted may be a page long.
        shown = [choice for choice in self._choices if all(word in fold_accents(choice.says) for word in words)]
        if self.text:
            shown.append(Choice(NEW, f"explain: {self.text}"))
        self.list.empty = self._empty
        self.list.show(shown, 0)

    def action_choose(self) -> None:
        choice = self.list.choice
        if choice is not None:
            self.dismiss(f"{NEW}{self.text}" if choice.key == NEW else choice.key)
