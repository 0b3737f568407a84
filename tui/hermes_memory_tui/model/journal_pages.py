"""What the journal shows: the filter of its line, and a page of changes, folded, newest first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from hermes_memory_store.errors import QueryError, UnknownSession
from hermes_memory_store.journal.change_folds import ChangeFold, ChangeFolds
from hermes_memory_store.model import Change, ThemeSummary, Way
from hermes_memory_store.operations import OPERATIONS
from hermes_memory_store.store import Store
from hermes_memory_tui.model.change_names import change_names

MEMORY = ("fact", "scope", "source", "token", Way.HISTORY)
"""What the journal shows at first: what is remembered, who may change it, and backfills."""

LONGEST_NUMBER = 16

UNFOLDED_ROWS = 500
"""Rows of a change that are read when it is unfolded; an import may have a million."""

MOST_ABOUT = 60
"""Facts whose changes are shown when words are looked for, best first."""

WORDS = ("by", "theme", "op")
"""Filters of the line."""


WORD = re.compile(r'(?:"[^"]*"?|[^\s"])+')
"""A word of the filter line; what stands in quotes may hold blanks."""


@dataclass(frozen=True, slots=True)
class JournalFilter:
    actor: str | None = None
    theme: str | None = None
    ops: tuple[str, ...] = ()
    words: str = ""
    """What the facts are about."""
    row: int | None = None
    """The newest row that is shown, by its number."""


@dataclass(frozen=True, slots=True)
class JournalPage:
    """Changes of the journal, newest first, and the names of their facts."""

    themes: list[ThemeSummary]
    folds: list[ChangeFold]
    rows: dict[int, list[Change]]
    """The newest rows of each fold that is unfolded, by its first row, newest first."""
    named: dict[int, str]
    """What their facts and scopes said then, by the numbers of rows that do not say it themselves."""
    complete: bool


def load_journal_page(
    store: Store, criteria: JournalFilter, unfolded: Mapping[int, int], limit: int, *, everything: bool
) -> JournalPage:
    """Load the newest changes that match.

    :param unfolded: how many rows are read of which folds, by their first rows; of others none, unless the filter
        names one of their rows
    :param everything: whether changes of sessions and turns are shown, too
    """
    about = find_facts_by_words(store, criteria) if criteria.words else []
    folds: list[ChangeFold] = []
    if about or not criteria.words:
        # A session may be known elsewhere, or the line would have been refused: nothing of it is in this theme.
        with suppress(UnknownSession):
            folds = ChangeFolds(store).newest(
                limit,
                until=None if criteria.row is None else criteria.row + 1,
                about=about,
                theme=criteria.theme,
                actor=criteria.actor,
                ops=criteria.ops,
                entities=() if everything or criteria.row is not None else MEMORY,
            )
    rows: dict[int, list[Change]] = {}
    for fold in folds:
        holds_row = criteria.row is not None and fold.first <= criteria.row <= fold.last
        shown = unfolded.get(fold.first, UNFOLDED_ROWS if holds_row else 0)
        if shown and fold.size > 1:
            rows[fold.first] = load_fold_rows(store, fold, shown)
    named = change_names(store, [*(fold.lead for fold in folds), *(row for some in rows.values() for row in some)])
    return JournalPage(store.themes(), folds, rows, named, len(folds) < limit)


def load_fold_rows(store: Store, fold: ChangeFold, limit: int) -> list[Change]:
    """Load the newest rows of a fold, newest first."""
    return store.journal.changes(since=fold.first - 1, until=fold.last + 1, limit=limit, newest_first=True)


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
            raise QueryError(
                f"{word!r} is not a filter here; use by:NAME, theme:NAME or op:{next(iter(OPERATIONS))}", word
            )
        if name == "by":
            actor = value
            store.names.actors_called(value)
        elif name == "theme":
            theme = value
            store.names.theme(value)
        else:
            ops += value.split(",")
    wrong = [op for op in ops if op and op not in OPERATIONS]
    if wrong:
        raise QueryError(f"there is no operation {wrong[0]!r}; one of {', '.join(OPERATIONS)}", wrong[0])
    return JournalFilter(actor, theme, tuple(op for op in ops if op), " ".join(words), row)


def find_facts_by_words(store: Store, criteria: JournalFilter) -> list[str]:
    """Find the facts that match the words of a line, archived and superseded ones included."""
    results = store.search.find(criteria.theme, f"{criteria.words} tier:all", limit=MOST_ABOUT)
    return [fact.uid for fact in results.facts]
