"""Tokenizer: split text into folded, stemmed words, and into character pairs in scripts without spaces.

The same function reads facts and questions, so the index and the query can never disagree. The full-text table
therefore uses SQLite's simplest tokenizer (`ascii`: split at spaces, keep everything else).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

MAX_WORD = 48
"""Characters of a word that count; longer ones (hashes, base64) are told apart by their beginning."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u309f\u30a1-\u30ff\u3100-\u312f"
    "\u3131-\u318f\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Chinese, Japanese and Korean: indexed as pairs of characters."""

_MARKS = "\u0900-\u0963\u0966-\u0dff"
"""Indic scripts: their vowel signs are marks, and a word must not fall apart at each of them."""

_PLAIN = re.compile("[a-z0-9]+")
_NUMBERS = re.compile("[0-9]+")
_ACCENTS = "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670]"
_LETTERS = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


@cache
def accent_pattern() -> re.Pattern[str]:
    """Return the pattern of an accent that was taken apart from its letter; ASCII needs none."""
    return re.compile(_ACCENTS)


@cache
def run_pattern() -> re.Pattern[str]:
    """Return the pattern of one word, or one run of characters of a script without spaces.

    Compiled on first use: it takes 10 ms.
    """
    return re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])+")


@cache
def unspaced_pattern() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]")


def fold_accents(text: str) -> str:
    """Fold to lower case without accents, one form for every character: `Déploiement` is `deploiement`."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFKC", accent_pattern().sub("", apart).translate(_LETTERS))


def split_runs(text: str) -> list[str]:
    """Return the words of a text, folded but not stemmed, in order."""
    folded = fold_accents(text)
    return (_PLAIN if folded.isascii() else run_pattern()).findall(folded)


def is_unspaced(word: str) -> bool:
    """Check whether a run is of a script without spaces between words."""
    return not word.isascii() and unspaced_pattern().match(word) is not None


@cache
def english_stemmer() -> Callable[[str], str]:
    """Return `stemmer.stem_word`, imported on first use: its patterns take 2 ms, and what only reads needs none."""
    from hermes_memory_store.language.stemmer import stem_word

    return stem_word


def index_terms(text: str) -> list[str]:
    """Return the terms under which a text is indexed, in order, with repetitions.

    A run of characters without spaces gives its overlapping pairs and its last character, so that every character
    begins a term and one character can be found like any beginning of a word.
    """
    stem_word = english_stemmer()
    folded = fold_accents(text)
    if folded.isascii():
        words = _PLAIN.findall(folded)
        if len(folded) > MAX_WORD:
            words = [word[:MAX_WORD] for word in words]
        return list(map(stem_word, words))
    terms = []
    for run in run_pattern().findall(folded):
        if is_unspaced(run):
            terms += character_pairs(run)
            terms.append(run[-1])
        else:
            terms.append(stem_word(run[:MAX_WORD]))
    return terms


def to_index_text(text: str) -> str:
    """Return `index_terms` as the text given to the index; words recur, so each is processed once."""
    return " ".join(filter(None, map(_to_index_word, text.split())))


def indexed_texts(*texts: str) -> tuple[str, ...]:
    return tuple(map(to_index_text, texts))


@lru_cache(maxsize=1 << 16)
def _to_index_word(word: str) -> str:
    return " ".join(index_terms(word))


def character_pairs(run: str) -> list[str]:
    """Return the overlapping pairs of a run of characters; none for a single character."""
    return [run[i : i + 2] for i in range(len(run) - 1)]


def natural_order(text: str) -> str:
    """Return a key that orders `q2` before `q10`, whatever the case: each number with its length before it."""
    return _NUMBERS.sub(_lengthen_number, fold_accents(text))


def _lengthen_number(number: re.Match[str]) -> str:
    digits = number[0].lstrip("0") or "0"
    return f"{len(digits):04}{digits}"
