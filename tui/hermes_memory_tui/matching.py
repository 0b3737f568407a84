"""Which words of a text a search line asked for, so that they can stand out where they are shown.

By the same words, stems, abbreviations and beginnings as the search itself (`asked.py`), accents and case folded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from hermes_memory_store.asked import Asked

from hermes_memory_store.errors import QueryError
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Millis
from hermes_memory_store.query import parse_query
from hermes_memory_store.words import MAX_WORD, fold, is_unspaced, runs, unspaced

LONGEST = 2_000
"""Characters of a text that are looked through: a fact has 400."""

STYLE = "bold underline $accent"
"""How a found word is written where styles have names; underlined, so that colour does not say it alone."""

Span = tuple[int, int]

_WORD = re.compile(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*")


@dataclass(frozen=True, slots=True)
class Piece:
    """One word of a text."""

    start: int
    end: int
    folded: str
    term: str


class Marks:
    """What a line looks for, ready to be found in texts."""

    def __init__(self, line: str = "") -> None:
        self._asked: Asked | None = None
        try:
            query = parse_query(line, now=Millis(0)) if line else None
        except QueryError:
            query = None
        if query is not None and (query.words or query.phrases):
            from hermes_memory_store.asked import asked  # only where something is searched for

            self._asked = asked(query.words, query.phrases, ())

    def __bool__(self) -> bool:
        return self._asked is not None

    def spans(self, text: str) -> list[Span]:
        """Where the words that were asked for stand, in order, without overlaps."""
        if self._asked is None:
            return []
        pieces = list(pieces_of(text[:LONGEST]))
        found = [span for piece in pieces for span in self._of_piece(piece)]
        found += in_rows(pieces, self._rows())
        return merged(found)

    def _of_piece(self, piece: Piece) -> Iterator[Span]:
        assert self._asked is not None
        for word in self._asked.words:
            if is_unspaced(piece.folded):
                if len(piece.folded) == piece.end - piece.start:
                    for found in re.finditer(re.escape(word.text), piece.folded):
                        yield piece.start + found.start(), piece.start + found.end()
            elif piece.term in word.terms or piece.folded.startswith(word.text):
                yield piece.start, piece.end

    def _rows(self) -> list[tuple[str, ...]]:
        assert self._asked is not None
        return [*self._asked.phrases, *(row for word in self._asked.words for row in word.phrases)]


def pieces_of(text: str) -> Iterator[Piece]:
    """The words of a text with where they stand; runs without spaces between words are cut from the others."""
    from hermes_memory_store.stems import stem  # not before something is searched for

    for word in _WORD.finditer(text):
        start = word.start()
        for said in _cut(word[0]):
            several = runs(said)
            folded = several[0] if len(several) == 1 else fold(said)
            yield Piece(start, start + len(said), folded, stem(folded[:MAX_WORD]))
            start += len(said)


def _cut(word: str) -> list[str]:
    if word.isascii():
        return [word]
    return [found[0] for found in re.finditer(f"(?:{unspaced().pattern})+|(?:(?!{unspaced().pattern}).)+", word)]


def in_rows(pieces: list[Piece], rows: list[tuple[str, ...]]) -> Iterator[Span]:
    """Where several terms stand in a row."""
    terms = [piece.term for piece in pieces]
    for row in rows:
        for start in range(len(terms) - len(row) + 1):
            if tuple(terms[start : start + len(row)]) == row:
                yield pieces[start].start, pieces[start + len(row) - 1].end


def merged(spans: list[Span]) -> list[Span]:
    """Spans in order, those that touch or overlap as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def parts(text: str, spans: list[Span]) -> Iterator[tuple[str, bool]]:
    """A text cut at its spans: each part, and whether it was asked for."""
    at = 0
    for start, end in spans:
        if start >= len(text):
            break
        if start > at:
            yield text[at:start], False
        yield text[start:end], True
        at = min(end, len(text))
    if at < len(text):
        yield text[at:], False


def marked(text: str, marks: Marks, style: str = "") -> Content:
    """A text, the words that were asked for standing out; nothing in it is markup."""
    return Content.assemble(
        *((part, f"{style} {STYLE}" if hit else style) for part, hit in parts(text, marks.spans(text)))
    )
