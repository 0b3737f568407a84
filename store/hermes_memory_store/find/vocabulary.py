"""The vocabulary of a full-text index (`fts5vocab`): which terms it has, as far as facts or turns of some themes hold them.

All themes share one index, and the terms of others must neither show nor displace those of the themes asked.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

from hermes_memory_store.database.db import Db
from hermes_memory_store.language.typos import find_corrections

MAX_WALKED = 512
"""Terms with one beginning that are looked at."""

WALKED_AT_ONCE = 64

LAST = "\U0010ffff"

WALK = "SELECT term FROM {words} WHERE term >= ? AND term < ? ORDER BY term LIMIT ?"

HAVE_TERMS = (
    "SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM {index} WHERE {index} MATCH '\"' || value || '\"'"
    " AND rowid BETWEEN ? AND ? LIMIT 1)"
)


class Vocabulary:
    """The terms of one index within ranges of keys."""

    def __init__(self, db: Db, index: str, ranges: Sequence[tuple[int, int]]) -> None:
        """:param index: `facts_text` or `turns_text`"""
        self._db = db
        self._ranges = ranges
        names = {"index": index, "words": index.replace("_text", "_words")}
        self._walk, self._have = WALK.format(**names), HAVE_TERMS.format(**names)

    def beginning_with(self, start: str, most: int) -> list[str]:
        """Return terms that begin with these characters, the first `most` in alphabetical order."""
        return list(islice((term for term in self.walk(start) if self.among([term])), most))

    def walk(self, start: str) -> Iterator[str]:
        """Yield the terms that begin with these characters, of other themes too, in alphabetical order, bounded."""
        after = start
        for _ in range(MAX_WALKED // WALKED_AT_ONCE):
            rows = self._db.kept_rows()(self._walk, (after, start + LAST, WALKED_AT_ONCE))
            for (term,) in rows:
                yield term
            if len(rows) < WALKED_AT_ONCE:
                return
            after = rows[-1][0] + "\x01"

    def find_absent(self, spans: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the spans, from a first character to before a last, in which no term, of other themes too, begins."""
        ask = self._db.kept_rows()
        return [span for span in spans if not ask(self._walk, (*span, 1))]

    def correct(self, word: str) -> list[str]:
        """Return the terms that were probably meant by a word that it does not have."""
        return find_corrections(word, self.walk, self.among)

    def among(self, terms: Collection[str]) -> list[str]:
        """Return those of these terms that stand within the ranges, in their order."""
        ask, listed = self._db.kept_rows(), json.dumps(list(terms))
        there = {term for low, high in self._ranges for (term,) in ask(self._have, (listed, low, high))}
        return [term for term in terms if term in there]
