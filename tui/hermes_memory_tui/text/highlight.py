"""Highlight the words of a text that match a search line.

Matches the same words, stems, abbreviations and prefixes as the search itself
(`hermes_memory_store.find.query_terms`), folding accents and case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from hermes_memory_store.find.query_terms import QueryTerms

from hermes_memory_store.errors import QueryError
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.language.tokenizer import MAX_WORD, fold_accents, is_unspaced, split_runs, unspaced_pattern
from hermes_memory_store.model import Millis

LONGEST = 2_000
"""Characters of a text that are looked through: a fact has 400."""

STYLE = "bold underline $accent"
"""How a found word is written where styles have names; underlined, so that colour does not say it alone."""

Span = tuple[int, int]

_WORD = r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*"


@dataclass(frozen=True, slots=True)
class TextWord:
    start: int
    end: int
    folded: str
    term: str


class SearchHighlighter:
    """The terms of a search line, compiled to find them in texts."""

    def __init__(self, line: str = "") -> None:
        self._asked: QueryTerms | None = None
        try:
            query = parse_query(line, now=Millis(0)) if line else None
        except QueryError:
            query = None
        if query is not None and (query.words or query.phrases):
            from hermes_memory_store.find.query_terms import to_query_terms  # only where something is searched for

            self._asked = to_query_terms(query.words, query.phrases, ())

    def __bool__(self) -> bool:
        return self._asked is not None

    def match_spans(self, text: str) -> list[Span]:
        """Return the spans of the matched words, in order, without overlaps."""
        if self._asked is None:
            return []
        pieces = list(split_words(text[:LONGEST]))
        spans = [span for piece in pieces for span in self._word_spans(piece)]
        spans += phrase_spans(pieces, self._phrases())
        return merge_match_spans(spans)

    def _word_spans(self, piece: TextWord) -> Iterator[Span]:
        assert self._asked is not None
        for word in self._asked.words:
            if is_unspaced(piece.folded):
                if len(piece.folded) == piece.end - piece.start:
                    for match in re.finditer(re.escape(word.text), piece.folded):
                        yield piece.start + match.start(), piece.start + match.end()
            elif piece.term in word.terms or piece.folded.startswith(word.text):
                yield piece.start, piece.end

    def _phrases(self) -> list[tuple[str, ...]]:
        assert self._asked is not None
        return [*self._asked.phrases, *(row for word in self._asked.words for row in word.phrases)]


def split_words(text: str) -> Iterator[TextWord]:
    """Yield the words of a text with their positions; scripts without spaces are split from the rest."""
    from hermes_memory_store.language.stemmer import stem_word  # not before something is searched for

    for word in re.finditer(_WORD, text):
        start = word.start()
        for run in _split_scripts(word[0]):
            several = split_runs(run)
            folded = several[0] if len(several) == 1 else fold_accents(run)
            yield TextWord(start, start + len(run), folded, stem_word(folded[:MAX_WORD]))
            start += len(run)


def _split_scripts(word: str) -> list[str]:
    if word.isascii():
        return [word]
    unspaced = unspaced_pattern().pattern
    return [match[0] for match in re.finditer(f"(?:{unspaced})+|(?:(?!{unspaced}).)+", word)]


def phrase_spans(pieces: list[TextWord], rows: list[tuple[str, ...]]) -> Iterator[Span]:
    """Yield the spans where several terms occur in sequence."""
    terms = [piece.term for piece in pieces]
    for row in rows:
        for start in range(len(terms) - len(row) + 1):
            if tuple(terms[start : start + len(row)]) == row:
                yield pieces[start].start, pieces[start + len(row) - 1].end


def merge_match_spans(spans: list[Span]) -> list[Span]:
    """Return the spans in order, with those that touch or overlap merged."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def split_at_spans(text: str, spans: list[Span]) -> Iterator[tuple[str, bool]]:
    """Split a text at its spans: yield each part, and whether it matched."""
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


def highlight_text(text: str, marks: SearchHighlighter, style: str = "") -> Content:
    """Highlight the matched words in a text; nothing in it is parsed as markup."""
    return Content.assemble(
        *((part, f"{style} {STYLE}" if hit else style) for part, hit in split_at_spans(text, marks.match_spans(text)))
    )
