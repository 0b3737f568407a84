"""Text as the words that search compares: folded, stemmed, and cut into pairs where a script has no spaces.

The same function reads facts and questions, so what is stored and what is asked can never disagree. The full-text table
therefore uses SQLite's plainest tokenizer (`ascii`: split at spaces, keep everything else).
"""

from __future__ import annotations

import re
import unicodedata
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
_ACCENTS = re.compile("[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670]")
_LETTERS = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


@cache
def run_of_any() -> re.Pattern[str]:
    """One word, or one run of characters of a script without spaces. Compiled when first met: it takes 10 ms."""
    return re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])+")


@cache
def unspaced() -> re.Pattern[str]:
    """One character of a script without spaces."""
    return re.compile(f"[{_UNSPACED}]")


def fold(text: str) -> str:
    """Lower case, accents off, one form for every way to write a character: `Déploiement` is `deploiement`."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", apart).translate(_LETTERS))


def runs(text: str) -> list[str]:
    """The words of a text, folded but not stemmed, in order."""
    folded = fold(text)
    return (_PLAIN if folded.isascii() else run_of_any()).findall(folded)


def is_unspaced(word: str) -> bool:
    """Whether a run is of a script without spaces between words."""
    return not word.isascii() and unspaced().match(word) is not None


def indexed(text: str) -> list[str]:
    """The terms a text is indexed under, in order, repeated as often as they stand there.

    A run of characters without spaces gives its overlapping pairs and its last character, so that every character begins
    a term and one character can be found like any beginning of a word.
    """
    from hermes_memory_store.stems import stem  # here: its patterns take 2 ms, and what only reads needs none

    folded = fold(text)
    if folded.isascii():
        return [stem(word[:MAX_WORD]) for word in _PLAIN.findall(folded)]
    terms = []
    for run in run_of_any().findall(folded):
        if is_unspaced(run):
            terms += pairs(run)
            terms.append(run[-1])
        else:
            terms.append(stem(run[:MAX_WORD]))
    return terms


def indexed_text(text: str) -> str:
    """`indexed` as the text the index is given. Texts share most of their words, so each word is worked out once."""
    return " ".join(filter(None, map(_indexed_word, text.split())))


def indexed_texts(*texts: str) -> tuple[str, ...]:
    """`indexed_text` of several."""
    return tuple(map(indexed_text, texts))


@lru_cache(maxsize=1 << 16)
def _indexed_word(word: str) -> str:
    return " ".join(indexed(word))


def pairs(run: str) -> list[str]:
    """The overlapping pairs of a run of characters; none of a single character."""
    return [run[i : i + 2] for i in range(len(run) - 1)]
