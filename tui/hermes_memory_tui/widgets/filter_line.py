"""`FilterLine`: the search line over the fact table, with what may be typed next below it and what came of it beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

from hermes_memory_store.query import MAX_LINE, clean
from hermes_memory_store.text import printable
from hermes_memory_tui import completing, shown
from hermes_memory_tui.completing import Known, Offer

HINT = 'words "a phrase" -not type:decision tier:archived scope:x target:db after:7d by:person'

DEBOUNCE_S = 0.08
"""How long typing must rest before the listing follows it."""

OFFERED_LINES = 6
"""Completions that are seen at once."""


class SearchInput(Input):
    """The line itself."""

    BINDING_GROUP_TITLE = "Search line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "done", "To the facts", id="search.done", tooltip="Keep the filter and go to the facts"),
        Binding("tab", "complete(1)", "Complete", id="search.complete", tooltip="Complete a filter's name or value"),
        Binding(
            "shift+tab",
            "complete(-1)",
            "Complete back",
            id="search.complete_back",
            tooltip="The completion before",
            show=False,
        ),
        Binding("up", "recall(-1)", "Earlier", id="search.earlier", tooltip="An earlier search", show=False),
        Binding("down", "recall(1)", "Down", id="search.down", tooltip="A later search, or to the facts", show=False),
        Binding("ctrl+s", "save_view", "Save view", id="search.save", tooltip="Save this search under a name"),
        Binding("escape", "clear", "Clear", id="search.clear", tooltip="Show everything again"),
    ]

    class Left(Message):
        """The person is done with the line; `cleared` when they gave it up."""

        def __init__(self, cleared: bool) -> None:
            super().__init__()
            self.cleared = cleared

    class Saved(Message):
        """The line is to be kept as a view."""

    class Offered(Message):
        """What may stand at the cursor has changed."""

    class Rested(Message):
        """Typing has rested: the line is as it is meant for now."""

    class Cut(Message):
        """A paste was longer than a line is read."""

        def __init__(self, characters: int) -> None:
            super().__init__()
            self.characters = characters

    known: Known = staticmethod(lambda name, _: completing.fixed(name))
    """The values a filter may have."""

    history: Callable[[], Sequence[str]] = staticmethod(lambda: ())
    """What was searched for before, oldest first."""

    offer: Offer | None = None
    """What may stand at the cursor, while it is shown."""

    chosen: int | None = None
    """Which of the offered texts stands in the line."""

    _rest: Timer | None = None
    _recalled: int | None = None
    _typed = ""
    _own = ""

    def action_done(self) -> None:
        if self.offer is not None:
            self.put_away()
        else:
            self.post_message(self.Left(cleared=False))

    def action_clear(self) -> None:
        if self.offer is not None and self.screen.focused is self:
            self.put_away()
            return
        self.put_away()
        self.value = ""
        self.post_message(self.Left(cleared=True))

    def action_save_view(self) -> None:
        self.post_message(self.Saved())

    def action_complete(self, step: int) -> None:
        """Complete as far as it is clear; then the offered texts one after the other."""
        if self.offer is None:
            offer = completing.offered(self.value, self.cursor_position, self.known)
            if not offer.texts:
                raise SkipAction
            begun = self.value[offer.start : self.cursor_position]
            if len(offer.texts) == 1:
                self._put(offer, offer.texts[0])
                return
            self.offer, self.chosen = offer, None
            if len(offer.shared) > len(begun):
                self._put(offer, offer.shared)
            self.post_message(self.Offered())
            return
        count = len(self.offer.texts)
        self.chosen = (0 if step > 0 else -1) % count if self.chosen is None else (self.chosen + step) % count
        self._put(self.offer, self.offer.texts[self.chosen])
        self.post_message(self.Offered())

    def _put(self, offer: Offer, text: str) -> None:
        rest = self.value[self.cursor_position :]
        self._own = self.value[: offer.start] + text + rest
        self.value = self._own
        self.cursor_position = offer.start + len(text)

    def put_away(self) -> None:
        """Offer nothing more."""
        if self.offer is not None:
            self.offer = self.chosen = None
            self.post_message(self.Offered())

    def watch_value(self, value: str) -> None:
        """Typing on narrows what is offered, and is no longer an earlier search."""
        # From here, not when `Changed` has come up to the line: the letter's own frame would be waited for.
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(DEBOUNCE_S, lambda: self.post_message(self.Rested()))
        if value == self._own:
            return
        self._own = ""
        if self._recalled is not None and value != self.history_line():
            self._recalled = None
        if self.offer is not None:
            self.call_after_refresh(self._narrow)

    def _narrow(self) -> None:
        if self.offer is None:
            return
        offer = completing.offered(self.value, self.cursor_position, self.known)
        self.offer, self.chosen = (offer, None) if offer.texts else (None, None)
        self.post_message(self.Offered())

    def action_recall(self, step: int) -> None:
        """Walk through earlier searches; in a list of completions, through that; down past the newest to the facts."""
        if self.offer is not None:
            self.action_complete(step)
            return
        lines = self.history()
        if self._recalled is None:
            if step > 0:
                self.action_done()
                return
            self._typed = self.value
        place = (len(lines) if self._recalled is None else self._recalled) + step
        if place >= len(lines):
            self._recalled = None
            self.value = self._typed
        elif place >= 0:
            self._recalled = place
            self.value = lines[place]
        self.cursor_position = len(self.value)

    def history_line(self) -> str | None:
        """The earlier search that stands in the line; None when it is another one."""
        lines = self.history()
        place = self._recalled
        return lines[place] if place is not None and place < len(lines) else None

    def _on_paste(self, event: events.Paste) -> None:
        # Textual would take the first line of it, whatever its length.
        event.stop()
        event.prevent_default()
        text = clean(event.text).strip()
        room = MAX_LINE - len(self.value) + len(self.selected_text)
        self.replace(text[:room], *self.selection)
        if len(event.text) > room:
            self.post_message(self.Cut(len(event.text)))


class FilterLine(Vertical):
    """Hidden until it is asked for, and as long as it holds something. Posts `Changed` when typing rests."""

    class Changed(Message):
        """Another line is to be searched for."""

    def __init__(self, hint: str = HINT) -> None:
        """:param hint: what stands in the line while it is empty"""
        super().__init__(id="filter")
        self._found = Static("", id="filter-found", markup=False)
        self._error = Static("", id="filter-error", markup=False)
        self._error.display = False
        self._offers = Static("", id="filter-offers", markup=False)
        self._offers.display = False
        self.input = SearchInput(
            placeholder=hint,
            id="filter-input",
            compact=True,
            max_length=MAX_LINE,
        )

    def compose(self) -> ComposeResult:
        with Horizontal(id="filter-row"):
            yield Static("/", id="filter-mark")
            yield self.input
            yield self._found
        yield self._offers
        yield self._error

    def serve(self, known: Known, history: Callable[[], Sequence[str]]) -> None:
        """Say what values filters may have, and what was searched for before."""
        self.input.known, self.input.history = known, history

    def found(self, text: str) -> None:
        """Say how many were found."""
        self._found.update(text)
        self._error.display = False

    def refuse(self, why: str) -> None:
        """Say what is wrong with the line; what was found before it stays on the screen."""
        self._found.update("")
        self._error.update(why)
        self._error.display = True

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()

    def on_search_input_rested(self, event: SearchInput.Rested) -> None:
        event.stop()
        self.post_message(self.Changed())

    def on_search_input_cut(self, event: SearchInput.Cut) -> None:
        event.stop()
        self.notify(
            f"{shown.count(event.characters)} characters were pasted; a search reads {shown.count(MAX_LINE)}, the rest "
            "was left out.",
            severity="warning",
            timeout=6,
        )

    def on_search_input_offered(self, event: SearchInput.Offered) -> None:
        event.stop()
        offer = self.input.offer
        self._offers.display = offer is not None
        if offer is not None:
            self._offers.update(listed(offer.texts, self.input.chosen))


def listed(texts: Sequence[str], chosen: int | None) -> Content:
    """The offered texts around the chosen one, and how many more there are."""
    first = max(0, min((chosen or 0) - OFFERED_LINES // 2, len(texts) - OFFERED_LINES))
    lines = []
    for place, text in enumerate(texts[first : first + OFFERED_LINES], first):
        here = place == chosen
        lines.append(Content.assemble(("▸ " if here else "  ", "$accent"), (printable(text), "bold" if here else "")))
    if len(texts) > OFFERED_LINES:
        lines.append(Content.styled(f"  {(chosen or 0) + 1} of {len(texts)}, tab goes on", "$dim"))
    return Content("\n").join(lines)
