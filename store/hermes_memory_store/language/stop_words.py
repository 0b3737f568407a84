"""Stop words: words of questions rather than of answers, by language, from `stop_words.txt`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from hermes_memory_store.data_files import read_sections
from hermes_memory_store.language.stemmer import stem_word
from hermes_memory_store.language.tokenizer import fold_accents

FILE = Path(__file__).with_name("stop_words.txt")
COMMON = Path(__file__).with_name("common_words.txt")
QUESTION_MARKS = ("?", "？", "؟")


@cache
def load_stop_words(section: str) -> dict[str, frozenset[str]]:
    """Return the folded words of a section of the file by language."""
    rows = read_sections(FILE, {"questions": 2, "more": 2, "tasks": 2})[section]
    languages = dict.fromkeys(language for language, _ in rows)
    return {
        language: frozenset(fold_accents(" ".join(words for other, words in rows if other == language)).split())
        for language in languages
    }


@cache
def stop_forms() -> frozenset[str]:
    """Return the folded words that are not looked for when a query has others."""
    return frozenset().union(*load_stop_words("questions").values())


@cache
def stop_terms() -> frozenset[str]:
    return frozenset(map(stem_word, stop_forms()))


@cache
def common_terms() -> frozenset[str]:
    """Return the index terms that a text on any subject may hold."""
    return frozenset(" ".join(line for (line,) in read_sections(COMMON, {"common": 1})["common"]).split())


def is_common_term(term: str) -> bool:
    """Check whether an index term alone says little of what a text is about; a number of three digits or more says much."""
    return term in common_terms() or (term.isascii() and len(term) < 3)


def is_stop_word(word: str, languages: Iterable[str]) -> bool:
    """Check whether a folded word says nothing of what a question asks for. :param languages: in which it may be asked"""
    more = load_stop_words("more")
    return word in stop_forms() or any(word in more.get(language, ()) for language in languages)


def is_task(runs: Iterable[str]) -> bool:
    """Check whether a message, as folded words, asks for work to be done: it begins with a verb that does."""
    first = next((run for run in runs if run not in stop_forms()), "")
    return any(first in verbs for verbs in load_stop_words("tasks").values())
