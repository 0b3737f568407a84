"""Ranking: how well a fact matches a query, target above content, then tier and recency.

FTS5's bm25() would read the whole list of every word for its document frequency: of a common one, a scan of the store.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from hermes_memory_store.find.query_terms import EXACT, QueryTerm, QueryTerms
from hermes_memory_store.language.asked_times import find_months, has_time_expression, is_asking_when, is_within_months
from hermes_memory_store.language.tokenizer import fold_accents, index_terms
from hermes_memory_store.language.unspaced_scripts import join_query_words
from hermes_memory_store.model import Tier

if TYPE_CHECKING:
    from hermes_memory_store.items.kinds import TurnRow
    from hermes_memory_store.projects.branch_labels import MarkedFact

TARGET = 2.0
"""A word in the target counts as much as twice in the content."""

WHOLE_TARGET, IN_A_ROW = 0.5, 0.25
"""What is added where the word is all of the target, and where two asked words stand side by side."""

TIERS = (Tier.HOT.value, Tier.COLD.value)
"""Of what fits alike these come first, in this order."""

SATURATION, LENGTH = 1.2, 0.4
"""BM25's k1 and b, for facts of a sentence, turns and sessions."""

LIKELY = 4
"""Of so many for each that is ranked it is looked at what they lend their neighbours."""

RARER = 0.5
"""Of a question's words, those are looked for first whose rarity is at least this share of the highest."""

ENOUGH = 30
"""Facts or turns with a word, from which on nothing is looked for that may stand for it."""

NEIGHBOUR_SHARE = {1: 0.4, 2: 0.2}
"""How much of its score a fact lends to those written just before and after it in the same scope: what was said
together is about the same thing."""

SESSION_SHARE = 0.4
"""How much of the best score the session that fits a question best lends to its turns, others in proportion."""

ANSWERED = 0.6
"""How much more of its score what asks lends to what was said next, its answer."""

SPEAKER_BONUS = 0.35
"""How much more it is worth that a turn was said by someone whom the question names."""

DATED = 4.0
"""What a fact of the month or year that a question names has above others."""

SAYS_WHEN = 0.5
"""How much more it is worth that a text tells of a time, if the question asks for one."""


@dataclass(slots=True, eq=False)
class Candidate:
    """A fact or turn that may match, with what ranking needs of it."""

    id: int
    scope_id: int
    target: str
    content: str
    tier: str
    updated_at: int
    created_at: int
    type: str = ""
    origin_detail: str | None = None
    in_target: Sequence[str] = ()
    in_content: Sequence[str] = ()
    speaker: str = ""
    asks: bool = False
    """Whether it ends in a question."""
    turn: TurnRow | None = None
    """None for a fact."""
    fit: float = EXACT
    """How well its content fits the words: `BEGINNING` when only longer words are known to."""
    score: float = 0.0
    """How well it matches by words; in recall from 0 to 1 for the best: see `score_candidates`."""
    meaning: float | None = None
    """Cosine similarity; None without a vector."""
    is_exact: bool = False
    """Whether it has every word of a look-up: in recall such facts come first, in this order."""
    beside: tuple[Candidate, ...] = ()
    """Of a fact the candidate turns that it was written from, of a turn the candidate facts written from it."""
    parts: tuple[float, ...] = ()
    """What makes up the score: see `recall.PARTS`."""
    marked: MarkedFact | None = None
    """The fact with the label of its branch, where branches count."""
    line: str = ""
    tokens: int = 0
    """As it is given, once it is written, and what that takes in its fence."""


class TermPostings(NamedTuple):
    """The facts or turns that contain one word."""

    keys: list[int]
    cut: bool
    """Whether there are more than these."""
    share: float
    """About which part of all has it."""
    rarity: float
    near: Mapping[int, float] = {}
    """What only synonyms of the word, or a word that was meant by it, contribute: a weight for each."""


class FactRanking(NamedTuple):
    """The facts that match a query, best first: see `FactSearchResult`."""

    candidates: list[Candidate]
    total: int
    more: bool = False
    exact: int = 0
    note: str | None = None
    meant: dict[str, tuple[str, ...]] = {}


@lru_cache(maxsize=4096)
def text_terms(text: str) -> tuple[str, ...]:
    """Return the terms of a text; the same facts recur, and tokenizing costs more than ranking."""
    return tuple(index_terms(text))


def rank_exact(candidates: Sequence[Candidate], look: QueryTerms) -> list[Candidate]:
    """Rank facts that have every word, best first: by where the words stand, then tier, then recency.

    A word that is not in the target is in the content, as good as the candidate's `fit`.
    """
    fits = TermMatches(look.words)
    in_a_row = [join_query_words(here.text, there.text) for here, there in pairwise(look.words)]
    for candidate in candidates:
        by_target = target_matches(candidate, fits)
        candidate.score = sum(max(by_target.get(at, 0.0), candidate.fit) for at in range(len(look.words)))
        if in_a_row:
            content = fold_accents(candidate.content)
            candidate.score += IN_A_ROW * sum(pair in content for pair in in_a_row)
    return sorted(candidates, key=to_rank)


def to_rank(candidate: Candidate) -> tuple[float, int, int, int]:
    """Return by what scored candidates are sorted: the best first, then by tier, then the newest."""
    tier = TIERS.index(candidate.tier) if candidate.tier in TIERS else len(TIERS)
    return -candidate.score, tier, -candidate.updated_at, -candidate.id


def rank_some(candidates: Sequence[Candidate], look: QueryTerms, scores: Mapping[int, float]) -> list[Candidate]:
    """Rank facts that have some words, by the weight of those (`scores`), position, tier and recency."""
    fits = TermMatches(look.words)
    for candidate in candidates:
        candidate.score = scores[candidate.id] + sum(target_matches(candidate, fits).values())
    return sorted(candidates, key=to_rank)


def target_matches(candidate: Candidate, fits: TermMatches) -> dict[int, float]:
    """Return how well the target matches each query word (by position)."""
    terms = text_terms(candidate.target)
    best: dict[int, float] = {}
    for at, fit in fits.of(terms):
        whole = WHOLE_TARGET if fit == EXACT and len(terms) == 1 else 0.0
        best[at] = max(best.get(at, 0.0), fit * TARGET + whole)
    return best


def rank_question(
    candidates: Sequence[Candidate], look: QueryTerms, rarity: Sequence[float], question: str
) -> list[Candidate]:
    """Rank facts that share words with a question, best first.

    :param rarity: weight of each query word (inverse document frequency)
    :param question: the original text, for its time expressions
    """
    if not candidates:
        return []
    for candidate in candidates:
        if not candidate.in_content:
            candidate.in_target, candidate.in_content = text_terms(candidate.target), text_terms(candidate.content)
    average = max(1.0, sum(len(candidate.in_content) for candidate in candidates) / len(candidates))
    fits = TermMatches(look.words)
    scores = {candidate.id: bm25_score(candidate, fits, rarity, average) for candidate in candidates}
    if months := find_months(question):
        for candidate in candidates:
            scores[candidate.id] += DATED * is_within_months(candidate.created_at, months)
    speakers = {candidate.speaker for candidate in candidates} - {""}
    named = {speaker for speaker in speakers if fits.of(text_terms(speaker))}
    for candidate in candidates:
        if candidate.speaker in named:
            scores[candidate.id] *= 1.0 + SPEAKER_BONUS
    total, asks_when = add_neighbour_scores(scores, candidates), is_asking_when(question)
    for candidate in candidates:
        candidate.score = total[candidate.id]
        if asks_when and has_time_expression(candidate.content):
            candidate.score *= 1.0 + SAYS_WHEN
    return sorted(candidates, key=to_rank)


class TermMatches:
    """The query words (by position) that a term matches, and how well."""

    def __init__(self, words: Sequence[QueryTerm]) -> None:
        self.known: dict[str, list[tuple[int, float]]] = {}
        self.phrases: dict[str, list[tuple[tuple[str, ...], int, float]]] = {}
        """By the first term: several terms in a row that stand for a word."""
        for at, word in enumerate(words):
            for term, fit in word.terms.items():
                self.known.setdefault(term, []).append((at, fit))
            for phrase, fit in word.phrases.items():
                self.phrases.setdefault(phrase[0], []).append((phrase, at, fit))
        self.terms = frozenset(self.known)

    def of(self, terms: Sequence[str]) -> list[tuple[int, float]]:
        """Return the matches of a text's terms, each term once."""
        shared: Collection[str] = self.terms.intersection(terms)
        matches = [fit for term in (sorted(shared) if len(shared) > 1 else shared) for fit in self.known[term]]
        if self.phrases and not self.phrases.keys().isdisjoint(terms):
            terms = tuple(terms)
            matches += [
                (at, fit)
                for place, term in enumerate(terms)
                for phrase, at, fit in self.phrases.get(term, ())
                if terms[place : place + len(phrase)] == phrase
            ]
        return matches


def bm25_score(candidate: Candidate, fits: TermMatches, rarity: Sequence[float], average: float) -> float:
    """Return the BM25 score over the query words; target words are weighted."""
    often: dict[int, float] = {}
    for at, fit in fits.of(candidate.in_content):
        often[at] = often.get(at, 0.0) + fit
    if candidate.in_target:
        in_target = dict(sorted(fits.of(candidate.in_target)))  # of several terms for one word, the one that fits best
        for at, fit in in_target.items():
            often[at] = often.get(at, 0.0) + TARGET * fit
    dampened = SATURATION * (1 - LENGTH + LENGTH * len(candidate.in_content) / average)
    score = 0.0
    for at, count in often.items():
        score += rarity[at] * count / (count + dampened)
    return score * (SATURATION + 1)


def add_neighbour_scores(scores: Mapping[int, float], among: Sequence[Candidate]) -> dict[int, float]:
    """Add the scores lent by facts written just before and after in the same scope, more where those are questions."""
    by_id = {candidate.id: candidate for candidate in among}
    total = {**scores}
    for distance, share in NEIGHBOUR_SHARE.items():
        for key, score in scores.items():
            later = by_id.get(key + distance)
            if later is not None and later.scope_id == by_id[key].scope_id:
                answered = ANSWERED if distance == 1 and by_id[key].asks else 0.0
                total[later.id] += (share + answered) * score
                total[key] += share * scores[later.id]
    return total


def add_session_scores(
    candidates: Sequence[Candidate], postings: Sequence[Sequence[int]], stretches: Mapping[int, tuple[int, int]]
) -> list[Candidate]:
    """Add to ranked turns what their sessions lend, each taken as one text; return them best first, with the same average.

    :param postings: the turns of each word, oldest first
    :param stretches: the first and the last turn of each session; a turn of none is lent the average, and so is one of a session
        among whose turns stand those of another
    """
    ordered, mixed, reached = sorted(stretches.items(), key=lambda item: item[1]), set[int](), 0
    for (session, (_, last)), (following, (first, _)) in pairwise(ordered):
        reached = max(reached, last)
        if first <= reached:
            mixed |= {session, following}
    stretches = {session: ends for session, ends in ordered if session not in mixed}
    if len(stretches) < 2:
        return [*candidates]
    lengths = [last - first + 1 for first, last in stretches.values()]
    average, lent = fmean(lengths), dict.fromkeys(stretches, 0.0)
    for keys in postings:
        counts = [bisect_right(keys, last) - bisect_left(keys, first) for first, last in stretches.values()]
        rarity = inverse_document_frequency(sum(map(bool, counts)), len(counts))
        for session, count, length in zip(stretches, counts, lengths, strict=True):
            dampened = SATURATION * (1 - LENGTH + LENGTH * length / average)
            lent[session] += rarity * count / (count + dampened)
    share = SESSION_SHARE * candidates[0].score / (max(lent.values()) or 1.0)
    usual, before = fmean(lent.values()), sum(candidate.score for candidate in candidates)
    for candidate in candidates:
        candidate.score += share * lent.get(candidate.scope_id, usual)
    scale = before / sum(candidate.score for candidate in candidates)
    for candidate in candidates:
        candidate.score *= scale
    return sorted(candidates, key=to_rank)


def sum_scores(postings: Sequence[TermPostings], rarer: float = 0.0) -> dict[int, float]:
    """Sum the weights of the words of each item. :param rarer: leave out words with less than this share of the highest rarity"""
    least = rarer * max([hits.rarity for hits in postings if hits.keys or hits.near], default=0.0)
    scores: dict[int, float] = {}
    for hits in postings:
        if hits.rarity >= least:
            for key in hits.keys:
                scores[key] = scores.get(key, 0.0) + hits.rarity
            for key, weight in hits.near.items():
                scores[key] = scores.get(key, 0.0) + weight
    return scores


def add_near_postings(word: QueryTerm, own: TermPostings, near: TermPostings) -> TermPostings:
    """Return a word's postings with those of what may stand for it, which fits less where it is more common than the word."""
    if own.keys and own.rarity > 0:
        word.scale_near(min(1.0, near.rarity / own.rarity))
    rarity = own.rarity if own.keys else near.rarity
    weights = dict.fromkeys(set(near.keys).difference(own.keys), rarity * word.near_fit)
    return TermPostings(own.keys, own.cut or near.cut, own.share, rarity, weights)


def spread_scores(scores: Mapping[int, float], most: int) -> dict[int, float]:
    """Return the scores of the `most` best, with what these lend to their neighbours by number, before their text is known."""
    near, far = NEIGHBOUR_SHARE.values()
    total: dict[int, float] = {}
    before = total.get
    for key in sorted(scores, key=scores.__getitem__, reverse=True)[:most]:
        score = scores[key]
        total[key] = before(key, 0.0) + score
        total[key - 1] = before(key - 1, 0.0) + near * score
        total[key + 1] = before(key + 1, 0.0) + near * score
        total[key - 2] = before(key - 2, 0.0) + far * score
        total[key + 2] = before(key + 2, 0.0) + far * score
    return total


def best_keys(scores: Mapping[int, float], among: Collection[int] | None = None) -> list[int]:
    """Return the keys by falling score, the newest first of those that score alike. :param among: keys; all unless given"""
    newest = sorted(scores if among is None else scores.keys() & among, reverse=True)
    return sorted(newest, key=scores.__getitem__, reverse=True)


def inverse_document_frequency(documents: float, total: float) -> float:
    """Return how rare a word is that `documents` of `total` facts have."""
    return math.log(1 + (max(total, documents) - documents + 0.5) / (documents + 0.5))
