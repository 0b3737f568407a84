"""Token estimates: what a text costs an agent, computed without a tokenizer and on the safe side.

Measured against cl100k (OpenAI's tokenizer of 2023, the one with the highest counts of those in wide use) on the
corpus beside the tests: never less than the real count by more than 3 % in total, also for keys, emoji and other
scripts; a quarter more on average.
"""

from __future__ import annotations

import re
from functools import lru_cache

PIECES = r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*| ?[0-9]+|[\u0400-\u04ff]+|[\uac00-\ud7a3]+|[^\sA-Za-z0-9]"
"""Words by case, numbers with the space before them (which cl100k counts apart), every other sign by itself."""

VOWELS = str.maketrans("aeiouy", " " * 6)

UNSPOKEN = 4
"""Consonants that no word holds in a row: an abbreviation (`mndtry`) or a password, known in small pieces only."""

UNBROKEN = r"[A-Za-z0-9+]{12,}"
"""Long enough for a key."""

KINDS = ("[A-Z]", "[a-z]", "[0-9]")
"""A key holds all of these, mixed without a break; a word does not."""

PLAIN_LETTERS = 6
"""Letters of one token in a long lower-case word: most are English and known to the tokenizer in large pieces."""

CAPITAL_LETTERS = 3
"""Letters of one token in a long capitalised word: a German noun, or part of an identifier."""

SPACED = str.maketrans(dict.fromkeys("!\"#$%&'()*,-./:;<=>?@[\\]^_`{|}~…", " "))
"""Signs of one token each, which part pieces."""

DIGITS = 3
"""cl100k splits numbers into groups of at most three digits."""


def estimate_tokens(text: str) -> int:
    return sum(map(_cost_of_word, text.split()))


@lru_cache(maxsize=1 << 16)
def _cost_of_word(word: str) -> int:
    """Return the cost of a word as if a space preceded it; cached, since texts share most of their words."""
    runs = word.translate(SPACED).split()
    if all(map(_is_piece, runs)):  # as most; to compile `PIECES` takes longer than a start's read
        return len(word) - sum(map(len, runs)) + sum(map(_cost, runs)) + word[0].isdigit()
    spent = sum(map(_cost, re.findall(PIECES, " " + word)))
    if not word.isascii() or len(word) < 12:
        return spent
    drawn = sum(len(run) for run in re.findall(UNBROKEN, word) if all(re.search(kind, run) for kind in KINDS))
    return max(spent, drawn * 3 // 4 + (len(word) - drawn) // PLAIN_LETTERS) if drawn else spent


def _is_piece(run: str) -> bool:
    return run.isascii() and (run.isdigit() or (run.isalpha() and (run.islower() or run.isupper() or run.istitle())))


def _cost(piece: str) -> int:
    size, first = len(piece), piece[0]
    if first > "\x7f":
        return _cost_beyond_ascii(size, first)
    if size == 1:
        return 1
    if first == " " or first <= "9":
        return (first == " ") - (-len(piece.strip()) // DIGITS)
    if first <= "Z":
        return 1 if size <= 4 else 1 + (size - 2) // CAPITAL_LETTERS
    spoken = 1 if size <= 6 else 1 + (size - 1) // PLAIN_LETTERS
    return spoken + sum((len(run) - 2) // 2 for run in piece.translate(VOWELS).split() if len(run) >= UNSPOKEN)


def _cost_beyond_ascii(size: int, first: str) -> int:
    """Return the cost of other scripts, as measured: Cyrillic and Hangul by runs, everything else by character."""
    if "\u0400" <= first <= "\u04ff":
        return 1 + size * 3 // 5
    if "\uac00" <= first <= "\ud7a3":
        return 1 + size * 6 // 5
    if first >= "\U0001f000":
        return 3
    if (
        first >= "\ud7a4"
        or "\u0100" <= first <= "\u024f"
        or "\u0940" <= first <= "\u0dff"
        or "\u1e00" <= first <= "\u1eff"
    ):
        return 2
    return 1
