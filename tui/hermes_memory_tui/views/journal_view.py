"""Journal: all changes, newest first; undo one, or open the memory as it was before it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from hermes_memory_store.errors import QueryError, StoreError, UnknownSession
from hermes_memory_store.model import Change, Check, ThemeSummary
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.change_names import change_names
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.model.view_catalog import FACTS
from hermes_memory_tui.system import palettes
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.views.base_view import BaseView
from hermes_memory_tui.views.paged_view import PagedView
from hermes_memory_tui.views.session_actions import left_lines
from hermes_memory_tui.widgets import change_text
from hermes_memory_tui.widgets.grid import GridCell, GridColumn, GridRow
from hermes_memory_tui.widgets.text_panel import Line, key_hint_line

OPS = (
    *("create", "touch", "supersede", "obsolete", "resolve", "edit", "pin", "unpin", "cool", "warm", "archive"),
    *(
        "restore",
        "merge",
        "move",
        "quarantine",
        "open",
        "close",
        "reopen",
        "rename",
        "withdraw",
        "undo",
        "purge",
        "hold",
        "branch_merged",
    ),
)
"""What can happen to a fact or a scope."""

MEMORY = ("fact", "scope", "source", "token")
"""What the journal shows at first: what is remembered, and who may change it."""

LONGEST_NUMBER = 16

MOST_ABOUT = 60
"""Facts whose changes are shown when words are looked for, best first."""

WORDS = ("by", "theme", "op")
"""Filters of the line."""


WORD = re.compile(r'(?:"[^"]*"?|[^\s"])+')
"""A word of the filter line; what stands in quotes may hold blanks."""


@dataclass(frozen=True, slots=True)
class JournalFilter:
    """The filter parsed from the line."""

    actor: str | None = None
    theme: str | None = None
    ops: tuple[str, ...] = ()
    words: str = ""
    """What the facts are about."""
    row: int | None = None
    """The newest row that is shown, by its number."""


@dataclass(frozen=True, slots=True)
class JournalPage:
    """Rows of the journal, newest first, and the names of their facts."""

    themes: list[ThemeSummary]
    changes: list[Change]
    named: dict[str, str]
    complete: bool


class JournalView(PagedView[JournalPage]):
    """One row per change."""

    NAME = "journal"
    TITLE_OF_LIST = "journal"
    BINDING_GROUP_TITLE = "Journal"
    LINE = "words  by:person  by:agent-name  theme:marketing  op:edit,archive  #1036"
    PAGE = 400
    WRITES = BaseView.WRITES | {"undo_change"}
    COLUMNS: ClassVar[Sequence[GridColumn]] = (
        GridColumn("#", 8, right=True, least=60),
        GridColumn("ago", 4, right=True),
        GridColumn("", 1),
        GridColumn("by", 21),
        GridColumn("op", 12),
        GridColumn("change"),
        GridColumn("theme", 14, least=110),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash",
            "search",
            "Filter",
            id="journal.filter",
            key_display="/",
            tooltip="Words, by:agent theme:x op:edit, or #number",
        ),
        Binding("U", "undo_change", "Undo", id="journal.undo", tooltip="Undo this change, whoever made it"),
        Binding("b", "step_back", "Time travel", id="journal.past", tooltip="Open the memory as of before this change"),
        Binding(
            "e", "everything", "All entries", id="journal.everything", tooltip="Show or hide sessions and conversations"
        ),
        Binding("H", "verify", "Verify", id="journal.verify", tooltip="Verify the hash chain"),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._wanted = JournalFilter()
        self._everything = False
        self._line_refused = False

    def load(self, store: Store) -> JournalPage:
        wanted, limit = self._wanted, self.limit
        about = find_facts_by_words(store, wanted) if wanted.words else [None]
        found: list[Change] = []
        try:
            for uid in about:
                found += store.journal.changes(
                    until=None if wanted.row is None else wanted.row + 1,
                    uid=uid,
                    theme=wanted.theme,
                    actor=wanted.actor,
                    ops=wanted.ops,
                    entities=() if self._everything or wanted.row is not None else MEMORY,
                    limit=limit,
                    newest_first=True,
                )
        except UnknownSession:
            found = []  # known elsewhere, or the line would have been refused: nothing of theirs is in this theme
        if wanted.words:
            found = sorted(found, key=lambda change: -change.seq)[:limit]
        return JournalPage(store.themes(), found, change_names(store, found), len(found) < limit)

    def draw(self, data: JournalPage) -> None:
        now = self.memory.now()
        hues = palettes.theme_hues(theme.name for theme in data.themes)
        self.grid.empty = ("No matching changes." if self._wanted != JournalFilter() else "Journal is empty.",)
        more = "" if data.complete else "+"
        kinds = "of every kind" if self._everything else "of facts and scopes"
        self.grid.set_subtitle(f"{display_formats.format_count(len(data.changes))}{more} changes {kinds}, newest first")
        self.grid.show([journal_row(one, data.named, hues.get(one.theme, 0), now) for one in data.changes])
        if self.filter.display and not self._line_refused:
            self.filter.show_match_count(f"{display_formats.format_count(len(data.changes))}{more} found")

    @property
    def change(self) -> Change | None:
        """The row under the cursor."""
        data = self.data
        return None if data is None else next((one for one in data.changes if one.seq == self.grid.key), None)

    def text(self, key: object) -> tuple[str, Sequence[Line]]:
        change = self.change
        if change is None or self.data is None:
            return "change", [Content.styled("no change selected", "$dim")]
        lines = change_text.change_detail(change, self.data.named, self.memory.now())
        return f"change #{change.seq}", [
            *lines,
            Content(""),
            key_hint_line(("U", "undo"), ("b", "open the memory before this change")),
        ]

    # The line

    def on_filter_line_query_changed(self) -> None:
        try:
            wanted = self.memory.read_view(partial(parse_journal_filter, self.filter.input.value))
        except StoreError as error:
            self._line_refused = True
            self.filter.show_query_error(str(error))
            return
        if self._line_refused:
            self._line_refused = False
            self._tick()
        if wanted != self._wanted:
            self._wanted = wanted
            self.reload_first_page()

    # What a person does

    def action_everything(self) -> None:
        """Toggle between changes of facts and scopes only, and all rows with sessions and turns."""
        self._everything, self._pages = not self._everything, 1
        self.reload()

    def action_undo_change(self) -> None:
        change = self.change
        if change is None:
            return
        rows = [one for one in (self.data.changes if self.data else []) if one.change == change.change]
        if len(rows) <= 1:
            self.write(lambda: self.memory.undo_change(change))
            return
        try:
            left = self.memory.preview_undo_change(change)
        except StoreError as error:  # the person sees why before asking for it all the same
            left = (str(error),)
        names, now = self.data.named if self.data else {}, self.memory.now()
        lines: list[Line] = [
            Content(f"This change has {len(rows)} rows; they are undone together."),
            Content(""),
            *(
                Content.assemble(
                    (f"{change_text.change_verb(one):<12}", "bold"),
                    f" {change_text.change_subject(one, names)}",
                    ("", ""),
                )
                for one in rows[:14]
            ),
            *([Content.styled(f"and {len(rows) - 14} more", "$dim")] if len(rows) > 14 else []),
            Content.styled(
                f"made {display_formats.format_ago(change.at, now)} by {display_formats.actor_name(change.actor)}",
                "$dim",
            ),
            *left_lines(left),
        ]
        self.ask_then(
            Question(f"undo change #{change.change}", lines),
            lambda _: self.write(lambda: self.memory.undo_change(change)),
        )

    def action_step_back(self) -> None:
        """Open the memory as it was before the change, and show its facts."""
        from hermes_memory_tui.model.past_memory import before_change

        change, app = self.change, self.inspector
        if change is not None:
            app.travel(before_change(change.change), FACTS)

    def action_verify(self) -> None:
        self.notify("Verifying …", timeout=2)
        self.run_worker(self._verify, thread=True, group="verify", exclusive=True)

    def _verify(self) -> None:
        try:
            with self.memory.open_reader() as store:
                check = store.journal.verify()
        except StoreError as error:
            self.app.call_from_thread(self.show_error, error)
        else:
            self.app.call_from_thread(self._show_verification, check)

    def _show_verification(self, check: Check) -> None:
        said = f"✓ {check.detail}" if check.ok else f"Hash chain broken: {check.detail}"
        self.notify(said, severity="information" if check.ok else "error", timeout=8, markup=False)


def journal_row(change: Change, named: dict[str, str], hue: int, now: int) -> GridRow:
    """Return a change as a row of the list."""
    person = change.actor.kind == "person"
    return GridRow(
        change.seq,
        (
            GridCell(str(change.seq), "dim"),
            GridCell(display_formats.format_age(change.at, now), "dim"),
            GridCell("■", f"mark-{hue}"),
            GridCell(display_formats.actor_name(change.actor), "accent" if person else "", name=True),
            GridCell(
                change_text.change_verb(change), change_text.change_ink(change), bold=change.op in ("edit", "create")
            ),
            GridCell(change_text.change_subject(change, named)),
            GridCell(to_printable(change.theme), "dim"),
        ),
    )


def parse_journal_filter(text: str, store: Store) -> JournalFilter:
    """Parse the filter line.

    :raises QueryError: names the word
    :raises UnknownTheme:
    :raises UnknownSession:
    """
    actor, theme, ops, words, row = None, None, [], [], None
    for quoted in WORD.findall(text):
        word = quoted.replace('"', "")
        name, colon, value = word.partition(":")
        if word.removeprefix("#").isdecimal() and len(word) < LONGEST_NUMBER:
            row = int(word.removeprefix("#"))
            continue
        if not colon:
            words.append(word)
            continue
        if name not in WORDS or not value:
            raise QueryError(f"{word!r} is not a filter here; use by:NAME, theme:NAME or op:{OPS[0]}", word)
        if name == "by":
            actor = value
            store.names.actors_called(value)
        elif name == "theme":
            theme = value
            store.names.theme(value)
        else:
            ops += value.split(",")
    wrong = [op for op in ops if op and op not in OPS]
    if wrong:
        raise QueryError(f"there is no operation {wrong[0]!r}; one of {', '.join(OPS)}", wrong[0])
    return JournalFilter(actor, theme, tuple(op for op in ops if op), " ".join(words), row)


def find_facts_by_words(store: Store, wanted: JournalFilter) -> list[str | None]:
    """Find the facts that match the words of a line, archived and superseded ones included."""
    found = store.search.find(wanted.theme, f"{wanted.words} tier:all", limit=MOST_ABOUT)
    return [fact.uid for fact in found.facts]
