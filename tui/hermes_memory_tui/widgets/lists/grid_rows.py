"""Columns, cells and rows of a `Grid`, and which of the rows are shown, in what order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Protocol, TypeVar

from hermes_memory_store.language.tokenizer import fold_accents, natural_order
from hermes_memory_tui.text.highlight import merge_match_spans

SortValue = int | float | str
"""What a cell is sorted by: a number before any text."""


@dataclass(frozen=True, slots=True)
class GridColumn:
    title: str
    width: int = 0
    """Cells; 0 shares what the others leave."""
    right: bool = False
    """Whether it is set flush right."""
    least: int = 0
    """Cells of the whole table from which the column is shown."""
    most: int = 0
    """Cells that it grows to for its longest text, where those that share what is left keep enough; 0: never."""
    value: Callable[[Any, Any], GridCell] | None = None
    """What it says of an item, given the view's context; None where the view makes whole rows."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """One cell: a text and its colour, a variable of the look."""

    text: str
    ink: str = ""
    bold: bool = False
    on: str = ""
    name: bool = False
    """Whether its end says as much as its beginning, so that it is cut in the middle."""
    parts: tuple[tuple[str, str, str], ...] = ()
    """Instead of the text: pieces as (text, ink, on), for bars and strips."""
    value: SortValue | None = None
    """What it is sorted by; its text in natural order when None."""

    @property
    def plain(self) -> str:
        """The text without colours."""
        return ("".join(piece for piece, _, _ in self.parts) if self.parts else self.text).strip()

    @property
    def order(self) -> tuple[int, SortValue]:
        if isinstance(self.value, int | float):
            return 0, self.value
        return 1, natural_order(self.value or (self.plain if self.parts else self.text))


@dataclass(frozen=True)
class GridRow:
    """One row. Its `key` stays the same when its content changes."""

    key: object
    cells: Sequence[GridCell]

    @cached_property
    def words(self) -> str:
        """What a filter looks for: the texts of all cells, one a line, case and accents folded."""
        return fold_accents("\n".join([cell.plain if cell.parts else cell.text for cell in self.cells]))


class LazyCells(Sequence[GridCell]):
    """Cells that are made when they are looked at: of thousands of rows a screen shows some forty."""

    __slots__ = ("_item", "_made", "_makers")

    def __init__(self, item: Any, makers: Sequence[Callable[[Any], GridCell]]) -> None:
        self._item = item
        self._makers = makers
        self._made: dict[int, GridCell] = {}

    def __len__(self) -> int:
        return len(self._makers)

    def __getitem__(self, column: Any) -> Any:
        cell = self._made.get(column)
        if cell is None:
            cell = self._made[column] = self._makers[column](self._item)
        return cell

    def forget(self) -> None:
        self._made.clear()


class LazyRow(GridRow):
    """A row of `LazyCells`; what a filter looks for is made apart from them."""

    cells: LazyCells

    def __init__(self, key: object, cells: LazyCells, text: Callable[[], str]) -> None:
        super().__init__(key, cells)
        self.__dict__["_text"] = text

    @cached_property
    def words(self) -> str:
        return fold_accents(self.__dict__["_text"]())


@dataclass(frozen=True, slots=True)
class GridSort:
    """A column by its place, and the direction."""

    column: int
    descending: bool = False


def to_row(columns: Sequence[GridColumn], key: object, item: Any, context: Any) -> GridRow:
    return GridRow(key, tuple(column.value(item, context) for column in columns if column.value is not None))


def prepare_words(rows: Iterable[GridRow]) -> None:
    """Fold the texts of rows where that holds nobody up, so that the first letter of a filter does not."""
    for row in rows:
        _ = row.words


def arrange_rows(rows: Sequence[GridRow], query: str, sort: GridSort | None) -> Sequence[GridRow]:
    """Return the rows that match a filter, in order: by the column chosen, else the best match first.

    :param query: words, each of which must be in a row, as it is or as a subsequence of its letters; `!word` must not be
    """
    matches = rank_rows(rows, query) if query.strip() else rows
    if sort is not None:
        matches = sorted(matches, key=lambda row: row.cells[sort.column].order, reverse=sort.descending)
    return matches


class Searchable(Protocol):
    """What a filter can look through."""

    @property
    def words(self) -> str:
        """Texts, one a line, case and accents folded."""


S = TypeVar("S", bound=Searchable)


def rank_rows(rows: Sequence[S], query: str) -> list[S]:
    """Return the rows that match a filter, the best first; rows that match as well keep their order."""
    words = fold_accents(query).split()
    excluded = [word[1:] for word in words if word[0] == "!" and len(word) > 1]
    scores = [score_word(word) for word in words if word[0] != "!"]
    scored: list[tuple[int, S]] = []
    for row in rows:
        text = row.words
        if any(word in text for word in excluded):
            continue
        total = 0
        for score in scores:
            points = score(text)
            if not points:
                break
            total += points
        else:
            scored.append((total, row))
    scored.sort(key=lambda pair: -pair[0])
    return [row for _, row in scored]


WHOLE, BEGINNING, INSIDE, SCATTERED = 8, 6, 4, 1
"""How well a word matches: a whole cell or word, the beginning of a word, inside one, its letters in their order."""


MOST_LETTERS = 100
"""Letters of a word that may stand apart; nobody types more, and what is pasted is meant as it is."""


def score_word(word: str) -> Callable[[str], int]:
    """Return a function that says how well a word matches the text of a row; 0 when it does not."""

    @cache  # compiled once, with the first row that holds the word: a long text that was pasted is in none
    def patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
        begins = rf"(?<!\w){re.escape(word)}"
        return re.compile(begins), re.compile(rf"{begins}(?!\w)")

    @cache
    def scattered() -> re.Pattern[str]:
        # From the beginning of a line, and each letter at its first place: there is one way only, and it is tried once.
        return re.compile("(?m)^" + "".join(f"[^{re.escape(letter)}\n]*{re.escape(letter)}" for letter in word))

    def score(text: str) -> int:
        if word in text:
            begins, whole = patterns()
            return WHOLE if whole.search(text) else BEGINNING if begins.search(text) else INSIDE
        return SCATTERED if 1 < len(word) <= MOST_LETTERS and scattered().search(text) else 0

    return score


def find_letters(word: str, text: str) -> list[int]:
    """Return where the letters of a word stand in their order within one line of a text; empty when they do not.

    Letter by letter, since a pattern of them would try every way: "aaaaaaaab" in a line of many a's takes it minutes.
    """
    begin = 0
    for line in text.split("\n"):
        places, place = [], -1
        for letter in word if len(word) <= len(line) else "":
            place = line.find(letter, place + 1)
            if place < 0:
                break
            places.append(begin + place)
        if len(places) == len(word):
            return places
        begin += len(line) + 1
    return []


def find_word_spans(text: str, query: str, row: str | None = None) -> list[tuple[int, int]]:
    """Return what of a text the words of a filter mean, as spans of characters in order.

    A word that stands nowhere in the row matched by its letters: then these are meant.

    :param row: the folded text of the whole row; that of the text when None
    """
    folded, places = fold_by_character(text)
    spans = []
    for word in fold_accents(query).split():
        if word[0] == "!":
            continue
        hits = [match.span() for match in re.finditer(re.escape(word), folded)] if word in folded else []
        if not hits and 1 < len(word) <= MOST_LETTERS and word not in (folded if row is None else row):
            hits = [(place, place + 1) for place in find_letters(word, folded)]
        spans += [(places[start], places[end - 1] + 1) for start, end in hits]
    return merge_match_spans(spans)


def fold_by_character(text: str) -> tuple[str, Sequence[int]]:
    if text.isascii():
        return text.lower(), range(len(text))
    pieces = [fold_accents(character) for character in text]
    return "".join(pieces), [place for place, piece in enumerate(pieces) for _ in piece]
