"""Forms of a word in other languages than English: `серверов` and `серверы`, `Einstellungen` and `Einstellung`.

The index holds English stems, under which words of other languages stand nearly as they were written. Their forms are
therefore looked for in the vocabulary when a question is asked: the terms that share a root and differ by endings. So a
theme's languages can change without indexing anything anew, and a question in another language is understood in any theme.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from pathlib import Path

from hermes_memory_store.data_files import read_sections
from hermes_memory_store.language.stop_words import load_stop_words

FILE = Path(__file__).with_name("word_forms.txt")

MAX_FORMS = 24
"""Forms of one word that are looked for."""

SHORTEST_ROOT = {"ru": 3, "ar": 2}
"""Letters of a root at least; 4 in other languages."""

SHORTEST_PART = 4
"""Letters of each part of a compound at least."""

_SCRIPTS = {"ru": ("\u0400", "\u04ff"), "ar": ("\u0600", "\u06ff")}
"""Languages that a script stands for."""


@cache
def load_affixes(section: str) -> dict[str, dict[str, None]]:
    """Return the `endings` or `prefixes` of words by language, in their order."""
    affixes: dict[str, dict[str, None]] = {}
    for language, words in read_sections(FILE, {"endings": 2, "prefixes": 2})[section]:
        affixes.setdefault(language, {}).update(dict.fromkeys(words.split()))
    return affixes


@cache
def endings_of(language: str) -> frozenset[str]:
    """Return the endings of a language, and their beginnings, which are left where the index stripped an English ending."""
    return frozenset(ending[:size] for ending in load_affixes("endings")[language] for size in range(len(ending) + 1))


def detect_languages(words: Sequence[str]) -> frozenset[str]:
    """Return the languages other than English in which a question seems to be asked. :param words: folded"""
    languages = {
        language
        for language, (first, last) in _SCRIPTS.items()
        if any(first <= letter <= last for word in words for letter in word[:1])
    }
    shares = {
        language: sum(word in stops for word in words) for language, stops in load_stop_words("questions").items()
    }
    most = max(shares.values())
    if most > shares["en"]:
        languages |= {language for language, share in shares.items() if share == most}
    return frozenset(languages)


def find_forms(word: str, languages: Collection[str], walk: Callable[[str], Iterable[str]]) -> list[str]:
    """Return the terms of an index that are other forms of a folded word.

    :param walk: returns the terms that begin with some characters
    """
    forms: dict[str, None] = {}
    for language in languages:
        if language not in load_affixes("endings") or not word.isalpha() or not is_written_so(word, language):
            continue
        endings, root = endings_of(language), find_root(word, language)
        if root is None:
            continue
        for prefix in ("", *load_affixes("prefixes").get(language, ())):
            beginning = prefix + root
            forms |= dict.fromkeys(term for term in walk(beginning) if term[len(beginning) :] in endings)
    return list(forms)[:MAX_FORMS]


def is_written_so(word: str, language: str) -> bool:
    """Check whether a word is in the script of a language."""
    first, last = _SCRIPTS.get(language, ("a", "\u024f"))
    return first <= word[0] <= last


def find_root(word: str, language: str) -> str | None:
    """Return a word without the longest ending, and without what is written before it; None for one too short to say."""
    least = SHORTEST_ROOT.get(language, 4)
    for prefix in sorted(load_affixes("prefixes").get(language, ()), key=len, reverse=True):
        if word.startswith(prefix) and len(word) - len(prefix) >= least:
            word = word[len(prefix) :]
            break
    if len(word) < least:
        return None
    endings = load_affixes("endings")[language]
    return next((word[:at] for at in range(least, len(word)) if word[at:] in endings), word)


def split_compound(word: str) -> list[tuple[str, str]]:
    """Return the ways to split a folded German compound, without what joins the parts: `schema` and `anderung`."""
    if not word.isalpha() or not is_written_so(word, "de"):
        return []
    parts = []
    for at in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
        parts.append((word[:at], word[at:]))
        if word[at - 1] in "sn" and at > SHORTEST_PART:
            parts.append((word[: at - 1], word[at:]))
    return parts
