"""How well a fact answers a query: target above content, then tier and recency.

Scores are worked out here over a bounded number of candidates. FTS5's own bm25() would read the whole list of every word
for its document frequency, which is a scan of the store for a common one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hermes_memory_store.asked import Asked, Word
from hermes_memory_store.model import Tier
from hermes_memory_store.words import indexed

TARGET = 2.0
"""A word in the target counts as much as twice in the content."""

IN_A_ROW = 0.25
"""What two asked words that stand side by side add."""

TIER = {Tier.HOT: 0.15, Tier.COLD: 0.0}
"""What a tier adds, in units of one word; the others come last."""
OTHER_TIER = -0.15

RECENCY = 0.1
"""What the newest candidate has above the oldest, in units of one word."""

SATURATION, LENGTH = 1.0, 0.5
"""BM25's k1 and b, for facts of a sentence."""

COVERAGE = 0.15
"""What each further asked word that is found adds to the whole, in a question."""

NEAR = {1: 0.4, 2: 0.2}
"""How much of its score a fact lends to those written just before and after it in the same scope: what was said together
is about the same thing."""

FEEDBACK_FACTS, FEEDBACK_TERMS, FEEDBACK = 10, 20, 0.2
"""Pseudo relevance feedback: the most telling terms of the best facts count for the others, a little."""

DATED = 1.0
"""What a fact of the month or year that a question names has above others, in units of one word."""


@dataclass(slots=True)
class Candidate:
    """A fact that may answer, with what ranking needs of it."""

    id: int
    scope_id: int
    target: str
    content: str
    tier: str
    updated_at: int
    created_at: int
    in_target: list[str] = field(default_factory=list)
    in_content: list[str] = field(default_factory=list)
    score: float = 0.0

    def read(self) -> None:
        """Take its text apart."""
        self.in_target, self.in_content = indexed(self.target), indexed(self.content)


def rank_exact(candidates: Sequence[Candidate], asked: Asked) -> list[Candidate]:
    """Order facts that have every word, best first: where the words stand, then tier, then recency."""
    newest = sorted(candidates, key=lambda one: (one.updated_at, one.id))
    for place, one in enumerate(newest):
        one.read()
        one.score = sum(fit_in(one, word) for word in asked.words) + IN_A_ROW * neighbours(one, asked.words)
        one.score += TIER.get(Tier(one.tier), OTHER_TIER) + RECENCY * place / len(newest)
    return sorted(newest, key=lambda one: (-one.score, -one.updated_at, -one.id))


def fit_in(one: Candidate, word: Word) -> float:
    """How well one word is met: by the target, else by the content."""
    target = max((word.fit(term) for term in one.in_target), default=0.0)
    content = max((word.fit(term) for term in one.in_content), default=0.0)
    whole = 0.5 if target == 1.0 and len(one.in_target) == 1 else 0.0
    return max(target * TARGET + whole, content)


def neighbours(one: Candidate, words: Sequence[Word]) -> int:
    """How many consecutive words of the query stand side by side."""
    if len(words) < 2:
        return 0
    count = 0
    for terms in (one.in_target, one.in_content):
        for here, there in pairwise(terms):
            count += any(a.fit(here) and b.fit(there) for a, b in pairwise(words))
    return min(count, len(words) - 1)


def rank_question(
    candidates: Sequence[Candidate],
    asked: Asked,
    rarity: Mapping[str, float],
    months: set[tuple[int | None, int | None]],
) -> list[Candidate]:
    """Order facts that share words with a question, best first.

    :param rarity: how much each asked word tells (inverse document frequency)
    :param months: months and years the question names, as (year, month)
    """
    if not candidates:
        return []
    for one in candidates:
        one.read()
    average = sum(len(one.in_target) + len(one.in_content) for one in candidates) / len(candidates)
    scores = {one.id: relevance(one, asked, rarity, average) for one in candidates}
    lent = lend(scores, candidates)
    fed = lend(feedback(scores, candidates, asked, average), candidates)
    newest = max(one.updated_at for one in candidates)
    for one in candidates:
        one.score = lent[one.id] + fed.get(one.id, 0.0)
        one.score *= 1.0 + 0.1 * TIER.get(Tier(one.tier), OTHER_TIER)
        one.score += 1e-6 * one.updated_at / newest
    return sorted(candidates, key=lambda one: (-one.score, -one.updated_at, -one.id))


def relevance(one: Candidate, asked: Asked, rarity: Mapping[str, float], average: float) -> float:
    """BM25 over the asked words, the target counted as often as it weighs, more when many words are there."""
    length = 1 - LENGTH + LENGTH * (len(one.in_target) + len(one.in_content)) / average
    total, found = 0.0, 0
    for word in asked.words:
        often = sum(word.fit(term) for term in one.in_content)
        if any(word.fit(term) for term in one.in_target):
            often += TARGET
        if often:
            total += rarity[word.text] * often * (SATURATION + 1) / (often + SATURATION * length)
            found += 1
    return total * (1 + COVERAGE * (found - 1)) if found else 0.0


def lend(scores: Mapping[int, float], candidates: Sequence[Candidate]) -> dict[int, float]:
    """Scores with what the facts written just before and after lend."""
    scopes = {one.id: one.scope_id for one in candidates}
    total = dict(scores)
    for key, score in scores.items():
        for distance, share in NEAR.items():
            for other in (key - distance, key + distance):
                if other in total and scopes.get(other) == scopes[key]:
                    total[other] += share * score
    return total


def feedback(
    scores: Mapping[int, float], candidates: Sequence[Candidate], asked: Asked, average: float
) -> dict[int, float]:
    """What the most telling terms of the best facts add to every candidate."""
    best = sorted(candidates, key=lambda one: -scores[one.id])[:FEEDBACK_FACTS]
    sure = sum(scores[one.id] for one in best)
    if sure <= 0:
        return {one.id: 0.0 for one in candidates}
    bags = {one.id: Counter(one.in_target + one.in_content) for one in candidates}
    documents: Counter[str] = Counter()
    for bag in bags.values():
        documents.update(bag.keys())
    weights: dict[str, float] = {}
    for one in best:
        share = scores[one.id] / sure / max(1, len(one.in_target) + len(one.in_content))
        for term, often in bags[one.id].items():
            if not any(word.fit(term) for word in asked.words):
                weights[term] = weights.get(term, 0.0) + share * often * math.log(1 + len(candidates) / documents[term])
    heaviest = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:FEEDBACK_TERMS]
    telling = [(term, weight) for term, weight in heaviest if documents[term] > 1]
    if not telling:
        return {one.id: 0.0 for one in candidates}
    most = telling[0][1]
    added = {}
    for one in candidates:
        bag = bags[one.id]
        length = 1 - LENGTH + LENGTH * (len(one.in_target) + len(one.in_content)) / average
        added[one.id] = sum(
            FEEDBACK * weight / most * rarity_of(documents[term], len(candidates))
            * often * (SATURATION + 1) / (often + SATURATION * length)
            for term, weight in telling
            if (often := bag.get(term, 0))
        )  # fmt: skip
    return added


def rarity_of(documents: float, total: float) -> float:
    """Inverse document frequency: how much it tells that a fact has a word that `documents` of `total` have."""
    return math.log(1 + (max(total, documents) - documents + 0.5) / (documents + 0.5))
