"""Synonyms of the field: what else a word or a few words may be called, each with how well it fits.

The table (`synonyms.txt`) holds index terms, so a look-up is one dictionary access. It is loaded with the first
question that asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

from hermes_memory_store.data_files import read_sections
from hermes_memory_store.language.tokenizer import MAX_WORD, is_unspaced

FILE = Path(__file__).with_name("synonyms.txt")

SAME, NEAR = 0.65, 0.5
"""How well another way to write a word fits, and one that people use for it; a longer word that begins with it fits 0.7.
Chosen on `CHOOSING` of tests/recall_sets/developers.txt."""

LONGEST_PHRASE = 4
"""Terms of the longest member of the table."""

Terms = tuple[str, ...]


@cache
def load_groups() -> dict[str, list[tuple[float, str]]]:
    """Return the groups of each member of the table, each as its line, with how well its members fit one another.

    Members stay as they stand in the table, terms with spaces between: taken apart, they load three times as long.
    """
    sections = read_sections(FILE, {"same": 1, "near": 1})
    groups: dict[str, list[tuple[float, str]]] = {}
    for section, fit in (("same", SAME), ("near", NEAR)):
        for (line,) in sections[section]:
            for member in line.split("|"):
                groups.setdefault(member, []).append((fit, line))
    return groups


@cache
def load_unspaced() -> dict[str, Terms]:
    """Return the members in scripts without spaces, by how they are written."""
    members = (tuple(member.split(" ")) for member in load_groups() if is_unspaced(member[0]))
    return {terms[0] + "".join(pair[-1] for pair in terms[1:]): terms for terms in members}


@lru_cache(maxsize=1024)
def find_synonyms(terms: Terms) -> Mapping[Terms, float]:
    """Return the synonyms of a word or of several in a row, the closest first; empty where there are none."""
    synonyms: dict[Terms, float] = {}
    for fit, line in load_groups().get(" ".join(terms), ()):
        for member in line.split("|"):
            synonyms.setdefault(tuple(member.split(" ")), fit)
    synonyms.pop(terms, None)
    return synonyms


@cache
def sorted_words() -> list[str]:
    return sorted(member for member in load_groups() if " " not in member)


def members_beginning_with(start: str) -> list[str]:
    """Return the members of one term that begin with these characters."""
    words = sorted_words()
    return words[bisect_left(words, start) : bisect_left(words, start + "\U0010ffff")]


def known_members(terms: Iterable[str]) -> list[str]:
    return [term for term in terms if term in load_groups()]


def find_phrases(terms: Sequence[str]) -> list[Terms]:
    """Return the members of several words that stand in a line. :param terms: the line's, in order"""
    groups = load_groups()
    phrases: list[Terms] = []
    for size in range(2, LONGEST_PHRASE + 1):
        some = (tuple(terms[at : at + size]) for at in range(len(terms) - size + 1))
        phrases += [phrase for phrase in some if " ".join(phrase) in groups]
    return phrases


def find_unspaced(run: str) -> Iterator[tuple[str, Terms]]:
    """Yield the members in a run of a script without spaces, the longest at each place: as written, and as terms."""
    unspaced, run = load_unspaced(), run[:MAX_WORD]
    longest = max(map(len, unspaced))
    at = 0
    while at < len(run):
        size = next((size for size in range(longest, 1, -1) if run[at : at + size] in unspaced), 0)
        if size:
            yield run[at : at + size], unspaced[run[at : at + size]]
        at += size or 1
