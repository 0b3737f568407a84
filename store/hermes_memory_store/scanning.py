"""Finding facts and turns without a full-text index: each text is read and compared by the same terms that are indexed.

Slower than the index (about a second for 100,000 facts), and just as complete, so that nothing is missed while an index is set
aside (see `text_indexes.py`). Memory stays bounded: of many matches the newest are ranked.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermes_memory_store.asked import BEGINNING, EXACT, Asked, Word
from hermes_memory_store.db import Db
from hermes_memory_store.ranking import Candidate, rank_exact, rank_question, rank_some, rarity_of
from hermes_memory_store.words import indexed_text

if TYPE_CHECKING:
    from hermes_memory_store.search import Within

ROWS_AT_ONCE = 2_000
"""Rows that are read by one statement: a reader must not hold a snapshot of the store for seconds."""

RANKED = 1_000
"""Facts that are ranked at most of those with every word, and of those with some: the newest, and the best."""

FEW = 5
"""With fewer facts that have every word, those that have some are added, as with the index."""

FACTS = (
    "SELECT f.id, f.scope_id, f.target, f.content, f.tier, f.updated_at, f.created_at FROM facts f"
    " WHERE f.id BETWEEN ? AND ? AND {} ORDER BY f.id DESC LIMIT ?"
)

TURNS = "SELECT id, content FROM turns WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT ?"


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a scan found, best first."""

    ranked: list[Candidate]
    total: int
    """How many facts match."""


def scan_facts(db: Db, look: Asked, within: Within, question: str) -> Scanned:
    """The facts that answer a query, by reading every fact it is confined to.

    :param question: as it was asked, for what it says about when
    """
    exact: list[Candidate] = []
    some: list[tuple[int, int, Candidate]] = []
    having = [0] * len(look.words)
    read = with_all = with_some = 0
    for one in candidates(db, within):
        read += 1
        terms = [indexed_text(one.target).split(), indexed_text(one.content).split()]
        if any(is_row(terms, phrase_of(expression)) for expression in look.excluded):
            continue
        fits = [fit_of(word, terms) for word in look.words]
        having = [count + (fit > 0) for count, fit in zip(having, fits, strict=True)]
        phrases = sum(is_row(terms, phrase) for phrase in look.phrases)
        if all(fits) and phrases == len(look.phrases):
            one.fit = min(fits, default=EXACT)
            with_all += 1
            if len(exact) < RANKED:
                exact.append(one)
        elif any(fits) or phrases:
            with_some += 1
            entry = (sum(fit > 0 for fit in fits) + phrases, one.id, one)
            (heapq.heappush if len(some) < RANKED else heapq.heappushpop)(some, entry)
    rarity = [rarity_of(count, read) for count in having]
    others = [one for _, _, one in some]
    if look.question and look.words:
        return Scanned(rank_question([*exact, *others], look, rarity, question), with_all + with_some)
    ranked = rank_exact(exact, look)
    if len(ranked) >= FEW or not others:
        return Scanned(ranked, with_all)
    scores = {one.id: float(count) for count, _, one in some}
    return Scanned(ranked + rank_some(others, look, scores), with_all + with_some)


def scan_turns(db: Db, look: Asked, low: int, high: int) -> tuple[list[list[int]], int]:
    """Ids of the turns that have each word, and last those that have every phrase when any is asked for, newest first.

    With them, how many turns were read.
    """
    hits: list[list[int]] = [[] for _ in range(len(look.words) + bool(look.phrases))]
    read = 0
    for key, content in rows_down(db, TURNS, low, high, ()):
        read += 1
        terms = [indexed_text(content).split()]
        if any(is_row(terms, phrase_of(expression)) for expression in look.excluded):
            continue
        for place, word in enumerate(look.words):
            if fit_of(word, terms, beginnings=False):
                hits[place].append(key)
        if look.phrases and all(is_row(terms, phrase) for phrase in look.phrases):
            hits[-1].append(key)
    return hits, read


def candidates(db: Db, within: Within) -> Iterator[Candidate]:
    """Every fact a query is confined to, newest first in each theme."""
    sql = FACTS.format(within.where)
    for low, high in within.ranges:
        for row in rows_down(db, sql, low, high, within.args):
            yield Candidate(*row)


def rows_down(db: Db, sql: str, low: int, high: int, args: Sequence[object]) -> Iterator[tuple[Any, ...]]:
    """Rows of a range of ids, the highest first, some at a time."""
    while rows := db.rows(sql, (low, high, *args, ROWS_AT_ONCE)):
        yield from rows
        high = rows[-1][0] - 1


def fit_of(word: Word, texts: Sequence[Sequence[str]], *, beginnings: bool = True) -> float:
    """How well the terms of some texts fit a word; 0 when none does. :param beginnings: longer words count, too"""
    best, longer = 0.0, beginnings or word.is_character
    for terms in texts:
        for term in terms:
            best = max(best, word.terms.get(term, 0.0))
            if longer and best == 0.0 and word.terms and term.startswith(word.text):
                best = BEGINNING
    for phrase, fit in word.phrases.items():
        if fit > best and is_row(texts, phrase):
            best = fit
    return best


def is_row(texts: Sequence[Sequence[str]], phrase: Sequence[str]) -> bool:
    """Whether these terms stand in a row in one of the texts."""
    wanted, size = list(phrase), len(phrase)
    return any(
        wanted[0] == term and list(terms[place : place + size]) == wanted
        for terms in texts
        for place, term in enumerate(terms)
    )


def phrase_of(expression: str) -> list[str]:
    """The terms of an excluded phrase, which is kept as FTS5 is asked for it."""
    return expression.strip('"').split()
