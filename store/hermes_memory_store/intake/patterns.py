"""Patterns of data files: compiled when a text first needs one, and spared where a text lacks words that they require.

`python -m tests.tools.read_required_words` reads `required_words.json` from the patterns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from hermes_memory_store.data_files import Rows, read_sections
from hermes_memory_store.intake.text_folding import has_hint
from hermes_memory_store.safe_text import load_pattern

REQUIRED_WORDS = Path(__file__).with_name("required_words.json")

HEAD = 4
"""Letters by which a word is looked up."""


class DataFile:
    """A data file, read for the first text that is looked through: who only reads a store needs none."""

    def __init__(self, path: Path, **columns: int) -> None:
        """:param columns: the columns of a row, by section"""
        self.path = path
        self.columns = columns
        self.words = NamedWords(self)
        """By section and name, what stands behind a name in all its rows."""

    @cached_property
    def sections(self) -> dict[str, Rows]:
        return read_sections(self.path, self.columns)

    def pairs(self, section: str) -> dict[str, str]:
        return {row[0]: row[1] for row in self.sections[section]}


class NamedWords(dict[tuple[str, str], frozenset[str]]):
    """Words of a data file, gathered when they are first asked for."""

    def __init__(self, data: DataFile) -> None:
        self._data = data

    def __missing__(self, key: tuple[str, str]) -> frozenset[str]:
        section, name = key
        rows = self._data.sections[section]
        words = self[key] = frozenset(word for first, *rest in rows for word in rest if first == name)
        return words


class NamedPatterns:
    """The patterns of a section by their names, compiled when they are first asked for."""

    def __init__(self, data: DataFile, section: str) -> None:
        self._data = data
        self._section = section

    def __getattr__(self, name: str) -> re.Pattern[str]:
        pattern = load_pattern(self._data.pairs(self._section)[name])
        setattr(self, name, pattern)
        return pattern


class WordIndex:
    """Find which of many words are in a text: only those are looked for whose first letters are, and all short ones."""

    def __init__(self, words: Iterable[str]) -> None:
        self._by_head: dict[tuple[str, ...], list[str]] = {}
        for word in words:
            self._by_head.setdefault(tuple(word[:HEAD]), []).append(word)
        self._heads = frozenset(self._by_head)
        self._short = frozenset(head for head in self._heads if len(head) < HEAD)
        self._whole: tuple[str, set[str]] = ("", set())

    def find(self, text: str) -> set[str]:
        whole, words = self._whole
        if text in whole:
            return {word for word in words if word in text}
        heads = self._short | (self._heads & find_heads(text))
        return {word for head in heads for word in self._by_head[head] if word in text}

    def prepare(self, whole: str) -> None:
        """Look through a text of which parts are looked through next: they have no other words."""
        self._whole = whole, self.find(whole)


@lru_cache(maxsize=4)
def find_heads(text: str) -> frozenset[tuple[str, ...]]:
    """Return what words in a text may begin with; several indexes ask for one text."""
    return frozenset(zip(text, text[1:], text[2:], text[3:], strict=False))


class SparedPatterns:
    """Patterns of which a text is matched against those alone whose required words it has; these are compiled then."""

    def __init__(self, patterns: Sequence[str], required: Sequence[Sequence[Collection[str]]]) -> None:
        """:param required: for each pattern, sets of words of which a match holds one each"""
        self.patterns = patterns
        self._required = required
        self._always = frozenset(place for place, sets in enumerate(required) if not sets)
        self._by_word: dict[str, set[int]] = {}
        for place, sets in enumerate(required):
            for word in sets[0] if sets else ():
                self._by_word.setdefault(word, set()).add(place)
        self._index = WordIndex(self._by_word)
        self.prepare = self._index.prepare

    def find_matches(self, text: str) -> Iterator[tuple[int, re.Match[str]]]:
        """Yield the places of the patterns that match a text, in their order, and the matches."""
        for place in self.find_likely(text):
            match = load_pattern(self.patterns[place]).search(text)
            if match is not None:
                yield place, match

    def find_likely(self, text: str) -> list[int]:
        """Return the places of the patterns whose required words a text has, in order."""
        likely = self._always.union(*(self._by_word[word] for word in self._index.find(text)))
        return [place for place in sorted(likely) if all(has_hint(text, words) for words in self._required[place][1:])]


@cache
def load_required_words() -> dict[str, Any]:
    """Return by group, for each pattern, sets of words, rarest first: a match holds one of each."""
    document: dict[str, Any] = json.loads(REQUIRED_WORDS.read_text(encoding="utf-8"))
    return document
