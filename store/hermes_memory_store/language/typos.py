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

LONG, HEAD, MOST = 9, 3, 3
"""Letters from which on a word may have two errors; those at its beginning by which words are looked up, where an error is tried
letter by letter; words that may have been meant, of those with the fewest errors."""

ENDINGS = (
    "", "s", "es", "e", "ed", "ing", "er", "ers", "y", "ies", "ion", "ions", "ation", "ations", "ment", "ly", "al",
)  # fmt: skip
"""What a stem in the index may have lost: `postgr` was `postgres`."""

LONGEST_ENDING = max(map(len, ENDINGS))

KEYS = {
    letter: row[max(0, at - 1) : at] + row[at + 1 : at + 2]
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    for at, letter in enumerate(row)
}
"""The keys beside each letter."""

OFTEN = "aeiouylnrsth"
"""Letters that are left out, or taken for one another, most often."""


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
    stem = stem_word(word)
    near: dict[int, list[str]] = {}
    for term in walk(word[:HEAD]):
        if -most <= len(word) - len(term) <= most + LONGEST_ENDING and term.isalpha():
            errors = count_errors(word, term, most)
            if stem != word:
                errors = min(errors, count_errors(stem, term, most))
            if errors <= most:
                near.setdefault(errors, []).append(term)
    for errors in sorted(near):
        if corrections := among(sorted(near[errors])[: 4 * MOST])[:MOST]:
            return corrections
    return among(list(dict.fromkeys(mend_head(stem))))[:MOST]


@lru_cache(maxsize=4096)
def count_errors(word: str, term: str, most: int) -> int:
    """Return how many errors lead from a term of an index, which is a stem, to a word; more than `most` where too many."""
    place, shorter = 0, min(len(word), len(term))
    while place < shorter and word[place] == term[place]:
        place += 1
    if place == len(term):
        return ending_errors(word[place:])
    if not most:
        return 1
    word, term, left = word[place:], term[place:], most - 1
    if word[:2] == term[1::-1] and len(term) > 1:
        return 1 + count_errors(word[2:], term[2:], left)
    return 1 + min(
        count_errors(word[1:], term[1:], left), count_errors(word[1:], term, left), count_errors(word, term[1:], left)
    )


@lru_cache(maxsize=4096)
def ending_errors(tail: str) -> int:
    """Return the errors between the end of a word and the nearest ending that a stem may have lost: 0, 1 or more."""
    if tail in ENDINGS:
        return 0
    return 1 if len(tail) == 1 or any(has_one_error(tail, ending) for ending in ENDINGS) else len(tail)


def has_one_error(left: str, other: str) -> bool:
    """Check whether two short texts differ by one letter more, less or other, or by two that are swapped."""
    place, shorter = 0, min(len(left), len(other))
    while place < shorter and left[place] == other[place]:
        place += 1
    left, other = left[place:], other[place:]
    return left[1:] in (other, other[1:]) or left == other[1:] or (left[:2] == other[1::-1] and left[2:] == other[2:])


def mend_head(word: str) -> Iterator[str]:
    """Yield the words with one error less in the first letters; hardly anyone mistypes the very first."""
    for at in range(min(HEAD, len(word) - 1)):
        yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        yield word[:at] + word[at + 1 :]
    if word.isascii():
        for at in range(1, min(HEAD, len(word))):
            for letter in OFTEN + KEYS[word[at]]:
                yield word[:at] + letter + word[at + 1 :]
            for letter in OFTEN:
                yield word[:at] + letter + word[at:]
