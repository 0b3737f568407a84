"""`FilterLine`: the line over a list that narrows it, with the number of matches; `FactFilterLine` searches facts."""

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

from hermes_memory_store.find.query_syntax import MAX_LINE, clean_query
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.text import query_completion
from hermes_memory_tui.text.display_formats import format_count
from hermes_memory_tui.text.query_completion import Completion, ValueSource

HINT = 'words "a phrase" -not type:decision tier:archived scope:x target:db after:7d by:person'

DEBOUNCE_S = 0.08
"""How long typing must rest before the listing follows it."""

OFFERED_LINES = 6
"""Completions that are seen at once."""


class SearchInput(Input):
    BINDING_GROUP_TITLE = "Search line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "done", "To the list", id="search.done", tooltip="Keep the filter and focus the list"),
        Binding("up", "recall(-1)", "Earlier", id="search.earlier", tooltip="Previous search", show=False),
        Binding("down", "recall(1)", "Down", id="search.down", tooltip="Next search, or the list", show=False),
        Binding("escape", "clear", "Clear", id="search.clear", tooltip="Clear the filter"),
    ]

    class Exited(Message):
        """Posted when the person leaves the line; `cleared` when the search was cancelled."""

        def __init__(self, cleared: bool) -> None:
            super().__init__()
            self.cleared = cleared

    class CompletionsChanged(Message):
        """Posted when the completions at the cursor have changed."""

    class TypingPaused(Message):
        """Posted when the line is to be searched: when typing pauses, or after each letter."""

    class PasteTruncated(Message):
        """Posted when pasted text was truncated to the maximum length of a line."""

        def __init__(self, characters: int) -> None:
            super().__init__()
            self.characters = characters

    value_source: ValueSource = staticmethod(lambda name, _: query_completion.fixed_filter_values(name))
    """The values a filter may have."""

    history: Callable[[], Sequence[str]] = staticmethod(lambda: ())
    """What was searched for before, oldest first."""

    is_followed: Callable[[], bool] = staticmethod(lambda: False)
    """Whether what is searched follows each letter, instead of waiting until typing rests."""

    offer: Completion | None = None
    """What may stand at the cursor, while it is shown."""

    chosen: int | None = None
    """Which of the offered texts stands in the line."""

    _rest: Timer | None = None
    _recalled: int | None = None
    _typed = ""
    _own = ""

    def action_done(self) -> None:
        if self.offer is not None:
            self.close_completions()
        else:
            self.post_message(self.Exited(cleared=False))

    def action_clear(self) -> None:
        if self.offer is not None and self.screen.focused is self:
            self.close_completions()
            return
        self.close_completions()
        self.value = ""
        self.post_message(self.Exited(cleared=True))

    def cycle_completions(self, step: int) -> None:
        """Put the next of the offered texts, or the one before, into the line."""
        if self.offer is None:
            return
        count = len(self.offer.texts)
        self.chosen = (0 if step > 0 else -1) % count if self.chosen is None else (self.chosen + step) % count
        self.insert_completion(self.offer, self.offer.texts[self.chosen])
        self.post_message(self.CompletionsChanged())

    def insert_completion(self, offer: Completion, text: str) -> None:
        rest = self.value[self.cursor_position :]
        self._own = self.value[: offer.start] + text + rest
        self.value = self._own
        self.cursor_position = offer.start + len(text)

    def close_completions(self) -> None:
        if self.offer is not None:
            self.offer = self.chosen = None
            self.post_message(self.CompletionsChanged())

    def watch_value(self, value: str) -> None:
        """Narrow the completions while typing, and leave the search history."""
        # From here, not when `Changed` has come up to the line: the letter's own frame would be waited for.
        if self._rest is not None:
            self._rest.stop()
        if self.is_followed():
            self.call_after_refresh(self.post_message, self.TypingPaused())
        else:
            self._rest = self.set_timer(DEBOUNCE_S, lambda: self.post_message(self.TypingPaused()))
        if value == self._own:
            return
        self._own = ""
        if self._recalled is not None and value != self.history_line():
            self._recalled = None
        if self.offer is not None:
            self.call_after_refresh(self._update_completions)

    def _update_completions(self) -> None:
        if self.offer is None:
            return
        offer = query_completion.complete_query(self.value, self.cursor_position, self.value_source)
        self.offer, self.chosen = (offer, None) if offer.texts else (None, None)
        self.post_message(self.CompletionsChanged())

    def action_recall(self, step: int) -> None:
        """Step through the search history, or an open list of completions; down past the newest to the list."""
        if self.offer is not None:
            self.cycle_completions(step)
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
        """Return the recalled line of the history, or None when the line is a different one."""
        lines = self.history()
        place = self._recalled
        return lines[place] if place is not None and place < len(lines) else None

    def _on_paste(self, event: events.Paste) -> None:
        # Textual would take the first line of it, whatever its length.
        event.stop()
        event.prevent_default()
        text = clean_query(event.text).strip()
        room = MAX_LINE - len(self.value) + len(self.selected_text)
        self.replace(text[:room], *self.selection)
        if len(event.text) > room:
            self.post_message(self.PasteTruncated(len(event.text)))


class FactSearchInput(SearchInput):
    """The input of the search line over the facts: it completes filters, and can be saved as a view."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete(1)", "Complete", id="search.complete", tooltip="Complete a filter name or value"),
        Binding(
            "shift+tab",
            "complete(-1)",
            "Complete back",
            id="search.complete_back",
            tooltip="Previous completion",
            show=False,
        ),
        Binding("ctrl+s", "save_view", "Save view", id="search.save", tooltip="Save this search under a name"),
    ]

    class SaveRequested(Message):
        """Posted to save the line as a view."""

    def action_save_view(self) -> None:
        self.post_message(self.SaveRequested())

    def action_complete(self, step: int) -> None:
        """Complete the unambiguous part, then cycle through the completions."""
        if self.offer is not None:
            self.cycle_completions(step)
            return
        offer = query_completion.complete_query(self.value, self.cursor_position, self.value_source)
        if not offer.texts:
            raise SkipAction
        prefix = self.value[offer.start : self.cursor_position]
        if len(offer.texts) == 1:
            self.insert_completion(offer, offer.texts[0])
            return
        self.offer, self.chosen = offer, None
        if len(offer.common_prefix) > len(prefix):
            self.insert_completion(offer, offer.common_prefix)
        self.post_message(self.CompletionsChanged())


class FilterLine(Vertical):
    """Hidden unless it is opened or holds a text. Posts `QueryChanged` when it is to be searched."""

    # Here, not in a file of the app: the first frame has no such line, and waits for every rule that is parsed before it.
    DEFAULT_CSS = """
    FilterLine { height: auto; background: $footer-background; }
    FilterLine > #filter-row { height: 1; }
    FilterLine #filter-mark { width: 3; padding: 0 1; color: $accent; text-style: bold; }
    FilterLine #filter-input, FilterLine #filter-input:focus { width: 1fr; background: $footer-background; }
    FilterLine #filter-found { width: auto; padding: 0 1; color: $dim; }
    FilterLine > #filter-offers { height: auto; padding: 0 1 0 3; }
    FilterLine > #filter-error { height: auto; padding: 0 1 0 3; color: $error; }
    """

    INPUT: ClassVar[type[SearchInput]] = SearchInput

    class QueryChanged(Message):
        """Posted when there is another line to search for."""

    def __init__(self, hint: str) -> None:
        """Create the line. :param hint: the placeholder of the empty line"""
        super().__init__(id="filter")
        self._found = Static("", id="filter-found", markup=False)
        self._error = Static("", id="filter-error", markup=False)
        self._error.display = False
        self._offers = Static("", id="filter-offers", markup=False)
        self._offers.display = False
        self.input = self.INPUT(
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

    def set_sources(self, value_source: ValueSource, history: Callable[[], Sequence[str]]) -> None:
        self.input.value_source, self.input.history = value_source, history

    def show_match_count(self, text: str) -> None:
        self._found.update(text)
        self._error.display = False

    def show_query_error(self, message: str) -> None:
        """Show what is wrong with the line; the previous results stay on the screen."""
        self._found.update("")
        self._error.update(message)
        self._error.display = True

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()

    def on_search_input_typing_paused(self, event: SearchInput.TypingPaused) -> None:
        event.stop()
        self.post_message(self.QueryChanged())

    def on_search_input_paste_truncated(self, event: SearchInput.PasteTruncated) -> None:
        event.stop()
        self.notify(
            f"{format_count(event.characters)} characters were pasted; a search reads {format_count(MAX_LINE)}, the rest "
            "was left out.",
            severity="warning",
            timeout=6,
        )

    def on_search_input_completions_changed(self, event: SearchInput.CompletionsChanged) -> None:
        event.stop()
        offer = self.input.offer
        self._offers.display = offer is not None
        if offer is not None:
            self._offers.update(completion_line(offer.texts, self.input.chosen))


class FactFilterLine(FilterLine):
    INPUT = FactSearchInput

    def __init__(self) -> None:
        super().__init__(HINT)


def completion_line(texts: Sequence[str], chosen: int | None) -> Content:
    """Return the completions around the selected one, and how many more there are."""
    first = max(0, min((chosen or 0) - OFFERED_LINES // 2, len(texts) - OFFERED_LINES))
    lines = []
    for place, text in enumerate(texts[first : first + OFFERED_LINES], first):
        here = place == chosen
        lines.append(
            Content.assemble(("▸ " if here else "  ", "$accent"), (to_printable(text), "bold" if here else ""))
        )
    if len(texts) > OFFERED_LINES:
        lines.append(Content.styled(f"  {(chosen or 0) + 1} of {len(texts)}, tab: next", "$dim"))
    return Content("\n").join(lines)
