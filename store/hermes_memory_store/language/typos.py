"""Typing errors inside a word: which words of a vocabulary may have been meant.

One letter more, less, another one, or two swapped; in long words two of these. Only plain words are bent: an
identifier, a version or a number is exactly what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from hermes_memory_store.language.stemmer import stem_word
from hermes_memory_store.language.tokenizer import is_unspaced

SHORTEST, LONGEST = 5, 24
"""Letters of a word that may be mistyped: a shorter one has too many neighbours, a longer one is seldom typed."""

LONG = 9
"""From so many letters on a word may have two errors."""

HEAD = 3
"""Letters at the beginning by which words are looked up; an error within them is tried letter by letter."""

MOST = 3
"""Words that may have been meant, of those with the fewest errors."""

ENDINGS = (
    "",
    "s",
    "es",
    "e",
    "ed",
    "ing",
    "er",
    "ers",
    "y",
    "ies",
    "ion",
    "ions",
    "ation",
    "ations",
    "ment",
    "ly",
    "al",
)
"""What a stem in the index may have lost: `postgr` was `postgres`."""

ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрстуфхцчшщъыьэюя", "αβγδεζηθικλμνξοπρστυφχψω")


def is_correctable(word: str) -> bool:
    """Check whether a folded word may have been mistyped."""
    return SHORTEST <= len(word) <= LONGEST and word.isalpha() and not is_unspaced(word)


def find_corrections(
    word: str, walk: Callable[[str], Iterable[str]], among: Callable[[Sequence[str]], list[str]]
) -> list[str]:
    """Return the terms of an index that were probably meant by a word that it does not have.

    :param walk: returns the terms that begin with some characters
    :param among: returns those of some terms that there are
    """
    most = 2 if len(word) >= LONG else 1
    near: dict[int, list[str]] = {}
    for term in walk(word[:HEAD]):
        if term.isalpha() and (errors := count_errors(word, term, most)) <= most:
            near.setdefault(errors, []).append(term)
    for errors in sorted(near):
        if found := among(sorted(near[errors])[: 4 * MOST])[:MOST]:
            return found
    return among(list(dict.fromkeys(map(stem_word, mend_head(word)))))[:MOST]


def count_errors(word: str, term: str, most: int) -> int:
    """Return how many errors lead from a term of an index, which is a stem, to a word; more than `most` where too many."""
    if len(term) > len(word) + most or len(term) < len(word) - most - 5:
        return most + 1
    rows = distance_row(word, term)
    best = rows[-1]
    for at in range(max(len(word) - 6, HEAD), len(word)):
        if rows[at] < best:
            best = min(best, rows[at] + ending_errors(word[at:]))
    if best > most and (stem := stem_word(word)) != word:
        best = min(best, distance_row(stem, term)[-1])
    return best


@lru_cache(maxsize=4096)
def ending_errors(tail: str) -> int:
    """Return the errors between the end of a word and the nearest ending that a stem may have lost."""
    return min(distance_row(tail, ending)[-1] for ending in ENDINGS)


def distance_row(word: str, term: str) -> list[int]:
    """Return the errors between a term and each beginning of a word; two letters swapped are one error."""
    before: list[int] = []
    row = list(range(len(word) + 1))
    for at, sign in enumerate(term, 1):
        earlier, before, row = before, row, [at]
        for place, other in enumerate(word, 1):
            if sign == other:
                least = before[place - 1]
            else:
                least = 1 + min(before[place - 1], before[place], row[place - 1])
                if at > 1 and place > 1 and sign == word[place - 2] and term[at - 2] == other:
                    least = min(least, earlier[place - 2] + 1)
            row.append(least)
    return row


def mend_head(word: str) -> Iterator[str]:
    """Yield the words with one error in the first letters less."""
    letters = next((one for one in ALPHABETS if word[0] in one), "")
    for at in range(HEAD):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        yield word[:at] + word[at + 1 :]
        for letter in letters if at else ():  # hardly anyone mistypes the first
            yield word[:at] + letter + word[at + 1 :]
            yield word[:at] + letter + word[at:]
