"""Find facts and turns without a full-text index: read each text and compare it by the same terms.

Slower than the index, and just as complete, so that nothing is missed while an index is disabled. Memory stays bounded: of many
matches the newest are ranked.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_memory_store.database.db import Db
from hermes_memory_store.find.query_terms import BEGINNING, EXACT, QueryTerm, QueryTerms
from hermes_memory_store.find.ranking import (
    Candidate,
    inverse_document_frequency,
    rank_exact,
    rank_question,
    rank_some,
)
from hermes_memory_store.language.tokenizer import to_index_text

ROWS_AT_ONCE = 2_000
"""Rows that are read by one statement: a reader must not hold a snapshot of the store for seconds."""

RANKED = 1_000
"""Facts that are ranked at most of those with every word, and of those with some: the newest, and the best."""

MIN_EXACT_MATCHES = 5
"""With fewer facts that have every word, those that have some are added, as with the index."""

FACTS = """
    SELECT f.id, f.scope_id, f.target, f.content, f.tier, f.updated_at, f.created_at, f.type,
      CASE WHEN f.origin_id NOT NULL THEN f.origin_detail END
    FROM facts f WHERE f.id BETWEEN ? AND ? AND {} AND {} ORDER BY f.id DESC LIMIT ?
"""

TURNS = "SELECT id, content FROM turns WHERE id BETWEEN ? AND ? AND {} ORDER BY id DESC LIMIT ?"

ENDING, SHORT = 2, 3
"""Letters by which a term may differ from the words it stands for, as `happi` from `happy`; terms of so few letters may stand for
words that share only the first with them: `die` for `dying`."""


@dataclass(frozen=True, slots=True)
class Within:
    """Which facts a search is confined to, in the terms of the index."""

    ranges: list[tuple[int, int]]
    """Ranges of fact ids."""
    narrow: str | None
    """Expression for scope, type, target and tiers, None when only the usual tiers are asked for."""
    live: str
    """Expression for the tiers."""
    where: str
    """The same filter as SQL over `facts f`, for what the index does not know."""
    args: list[Any]
    checked: bool
    """Whether times, actors or pins must be checked while walking."""
    languages: tuple[str, ...]
    """Languages in whose forms words are looked for."""


def scan_facts(db: Db, look: QueryTerms, within: Within, question: str) -> tuple[list[Candidate], int]:
    """Return the facts that match a query, best first, and how many they are, by reading every fact in its range.

    :param question: the original text, for its time expressions
    """
    exact: list[Candidate] = []
    some: list[tuple[int, int, Candidate]] = []
    having = [0] * len(look.words)
    with_all = with_some = 0
    likely, args = likely_rows_sql(look, "(f.target || ' ' || f.content)")
    sql = FACTS.format(within.where, likely)
    rows = (row for low, high in within.ranges for row in rows_descending(db, sql, low, high, [*within.args, *args]))
    for candidate in (Candidate(*row) for row in rows):
        terms = [to_index_text(candidate.target).split(), to_index_text(candidate.content).split()]
        if is_excluded(look, terms):
            continue
        fits = [match_strength(word, terms) for word in look.words]
        having = [count + (fit > 0) for count, fit in zip(having, fits, strict=True)]
        phrases = sum(has_phrase(terms, phrase) for phrase in look.phrases)
        if all(fits) and phrases == len(look.phrases):
            candidate.fit = min(fits, default=EXACT)
            with_all += 1
            if len(exact) < RANKED:
                exact.append(candidate)
        elif any(fits) or phrases:
            with_some += 1
            entry = (sum(fit > 0 for fit in fits) + phrases, candidate.id, candidate)
            (heapq.heappush if len(some) < RANKED else heapq.heappushpop)(some, entry)
    total = sum(high - low + 1 for low, high in within.ranges)
    rarity = [inverse_document_frequency(count, total) for count in having]
    partial = [candidate for _, _, candidate in some]
    if look.question and look.words:
        return rank_question([*exact, *partial], look, rarity, question), with_all + with_some
    ranked = rank_exact(exact, look)
    if len(ranked) >= MIN_EXACT_MATCHES or not partial:
        return ranked, with_all
    scores = {key: float(count) for count, key, _ in some}
    return ranked + rank_some(partial, look, scores), with_all + with_some


def scan_turns(db: Db, look: QueryTerms, low: int, high: int) -> list[list[int]]:
    """Return the ids of the turns with each word, and last of those with every phrase if there is any, newest first."""
    hits: list[list[int]] = [[] for _ in range(len(look.words) + bool(look.phrases))]
    likely, args = likely_rows_sql(look, "content")
    for key, content in rows_descending(db, TURNS.format(likely), low, high, args):
        terms = [to_index_text(content).split()]
        if is_excluded(look, terms):
            continue
        for place, word in enumerate(look.words):
            if match_strength(word, terms, beginnings=False):
                hits[place].append(key)
        if look.phrases and all(has_phrase(terms, phrase) for phrase in look.phrases):
            hits[-1].append(key)
    return hits


def likely_rows_sql(look: QueryTerms, text: str) -> tuple[str, list[str]]:
    """Return SQL that passes every text that may have one of the words or phrases, and rejects most others.

    Texts with more than ASCII pass: SQLite folds no other letters.
    """
    terms = [term for word in look.words for term in (*word.terms, *(phrase[0] for phrase in word.phrases))]
    terms += [phrase[0] for phrase in look.phrases]
    if not terms:
        return "TRUE", []
    starts = sorted({term[:1] if len(term) <= SHORT else term[:-ENDING] for term in terms if term.isascii()})
    tests = [f"{text} LIKE ?"] * len(starts) + [f"{text} GLOB '*[^ -~]*'"]
    return f"({' OR '.join(tests)})", [f"%{start}%" for start in starts]


def rows_descending(db: Db, sql: str, low: int, high: int, args: Sequence[object]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a range of ids, the highest first, in batches."""
    while rows := db.rows(sql, (low, high, *args, ROWS_AT_ONCE)):
        yield from rows
        high = rows[-1][0] - 1


def match_strength(word: QueryTerm, texts: Sequence[Sequence[str]], *, beginnings: bool = True) -> float:
    """Return how well the terms of some texts match a word, 0 for no match.

    :param beginnings: longer words count, too
    """
    best = max((word.terms[term] for terms in texts for term in word.terms.keys() & set(terms)), default=0.0)
    if (beginnings or word.is_character) and best == 0.0 and word.terms:
        best = BEGINNING if any(term.startswith(word.text) for terms in texts for term in terms) else 0.0
    for phrase, fit in word.phrases.items():
        if fit > best and has_phrase(texts, phrase):
            best = fit
    return best


def has_phrase(texts: Sequence[Sequence[str]], phrase: Sequence[str]) -> bool:
    """Check whether these terms are consecutive in one of the texts."""
    first, row = phrase[0], list(phrase)
    return any(
        first == term and list(terms[place : place + len(row)]) == row
        for terms in texts
        for place, term in enumerate(terms)
    )


def is_excluded(look: QueryTerms, texts: Sequence[Sequence[str]]) -> bool:
    """Check whether some texts hold an excluded phrase, which is stored as an FTS5 expression."""
    return any(has_phrase(texts, expression.strip('"').split()) for expression in look.excluded)
