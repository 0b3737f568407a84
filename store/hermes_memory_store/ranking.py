"""How well a fact answers a query: target above content, then tier and recency.

Scores are worked out here over a bounded number of candidates. FTS5's own bm25() would read the whole list of every
word for its document frequency, which is a scan of the store for a common one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from hermes_memory_store.asked import EXACT, STOP_TERMS, Asked, Word
from hermes_memory_store.model import Tier
from hermes_memory_store.months import dated, months_named
from hermes_memory_store.times import asks_when, tells_when
from hermes_memory_store.unspaced import joined
from hermes_memory_store.words import fold, indexed

TARGET = 2.0
"""A word in the target counts as much as twice in the content."""

WHOLE_TARGET = 0.5
"""What is added when the word is all of the target."""

IN_A_ROW = 0.25
"""What two asked words that stand side by side add."""

TIER = {Tier.HOT.value: 0.15, Tier.COLD.value: 0.0}
"""What a tier adds, in units of one word; the others come last."""
OTHER_TIER = -0.15

RECENCY = 0.1
"""What the newest candidate has above the oldest, in units of one word."""

SATURATION, LENGTH = 1.4, 0.5
"""BM25's k1 and b, for facts of a sentence."""

COVERAGE = 0.05
"""What each further asked word that is found adds to the whole, in a question."""

NEAR = {1: 0.4, 2: 0.2}
"""How much of its score a fact lends to those written just before and after it in the same scope: what was said
together is about the same thing."""

ANSWERED = 0.4
"""How much more of its score what asks lends to what was said next: the words of a question are in it, its answer follows."""

ASKING = 0.2
"""How much less what asks is worth itself."""

SPOKEN = 0.5
"""How much more it is worth that a turn was said by someone whom the question names."""

FEEDBACK_FACTS, FEEDBACK_TERMS, FEEDBACK = 10, 20, 0.15
"""Pseudo relevance feedback: the most telling terms of the best facts count for the others, a little."""

DATED = 1.0
"""What a fact of the month or year that a question names has above others."""

TIMED = 0.5
"""How much more it is worth that a text tells of a time, when the question asks for one."""

IN_QUESTION = 0.1
"""How much of a tier's weight is left where relevance decides."""


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
    in_target: Sequence[str] = ()
    in_content: Sequence[str] = ()
    speaker: str = ""
    """Who said it, where it says so."""
    asks: bool = False
    """Whether it ends in a question."""
    fit: float = EXACT
    """How well its content fits the words: `BEGINNING` when only longer words are known to."""
    score: float = 0.0

    def read(self) -> None:
        """Take its text apart."""
        self.in_target, self.in_content = terms_of(self.target), terms_of(self.content)

    def has(self, word: Word) -> bool:
        """Whether a term of it, once it was read, stands for the word."""
        return any(term in word.terms for term in (*self.in_target, *self.in_content))


@lru_cache(maxsize=4096)
def terms_of(text: str) -> tuple[str, ...]:
    """The terms of a text. The same facts come up again and again, and taking one apart costs more than ranking it."""
    return tuple(indexed(text))


def rank_exact(candidates: Sequence[Candidate], asked: Asked) -> list[Candidate]:
    """Order facts that have every word, best first: where the words stand, then tier, then recency.

    Only targets are taken apart: a word that is not in the target is in the content, as well as the candidate's `fit`.
    """
    fits = Fits(asked.words)
    in_a_row = [joined(here.text, there.text) for here, there in pairwise(asked.words)]
    newest = sorted(candidates, key=lambda one: (one.updated_at, one.id))
    for place, one in enumerate(newest):
        by_target = met_by_target(one, fits)
        one.score = sum(max(by_target.get(at, 0.0), one.fit) for at in range(len(asked.words)))
        if in_a_row:
            content = fold(one.content)
            one.score += IN_A_ROW * sum(pair in content for pair in in_a_row)
        one.score += TIER.get(one.tier, OTHER_TIER) + RECENCY * place / len(newest)
    return sorted(newest, key=lambda one: (-one.score, -one.updated_at, -one.id))


def rank_some(candidates: Sequence[Candidate], asked: Asked, scores: Mapping[int, float]) -> list[Candidate]:
    """Order facts that have some words, by how much those tell (`scores`), where they stand, tier and recency."""
    fits = Fits(asked.words)
    for one in candidates:
        one.score = scores[one.id] + sum(met_by_target(one, fits).values()) + TIER.get(one.tier, OTHER_TIER)
    return sorted(candidates, key=lambda one: (-one.score, -one.updated_at, -one.id))


def met_by_target(one: Candidate, fits: Fits) -> dict[int, float]:
    """How well the target meets each asked word (by place)."""
    terms = terms_of(one.target)
    best: dict[int, float] = {}
    for at, fit in fits.of(terms):
        whole = WHOLE_TARGET if fit == EXACT and len(terms) == 1 else 0.0
        best[at] = max(best.get(at, 0.0), fit * TARGET + whole)
    return best


def rank_question(
    candidates: Sequence[Candidate], asked: Asked, rarity: Sequence[float], question: str
) -> list[Candidate]:
    """Order facts that share words with a question, best first.

    :param rarity: how much each asked word tells (inverse document frequency)
    :param question: as it was asked, for what it says about when
    """
    if not candidates:
        return []
    for one in candidates:
        one.read()
    average = max(1.0, sum(len(one.in_content) for one in candidates) / len(candidates))
    fits = Fits(asked.words)
    scores = {one.id: relevance(one, fits, rarity, average) for one in candidates}
    if months := months_named(question):
        for one in candidates:
            scores[one.id] += DATED * dated(one, months)
    fed = feedback(scores, candidates, fits, average)
    for one in candidates:
        scores[one.id] += fed.get(one.id, 0.0)
        if one.speaker and fits.of(terms_of(one.speaker)):
            scores[one.id] *= 1.0 + SPOKEN
    total = lend(scores, candidates)
    for one in candidates if asks_when(question) else ():
        total[one.id] *= 1.0 + TIMED * tells_when(one.content)
    newest = max(one.updated_at for one in candidates)
    for one in candidates:
        one.score = total[one.id] * (1.0 + IN_QUESTION * TIER.get(one.tier, OTHER_TIER))
        one.score += 1e-6 * one.updated_at / newest
    return sorted(candidates, key=lambda one: (-one.score, -one.updated_at, -one.id))


class Fits:
    """Which asked words (by place) a term fits, and how well."""

    def __init__(self, words: Sequence[Word]) -> None:
        self.known: dict[str, list[tuple[int, float]]] = {}
        for at, word in enumerate(words):
            for term, fit in word.terms.items():
                self.known.setdefault(term, []).append((at, fit))

    def of(self, terms: Sequence[str]) -> list[tuple[int, float]]:
        """Every fit of a text's terms, in their order."""
        known = self.known
        return [fit for term in terms if term in known for fit in known[term]]


def relevance(one: Candidate, fits: Fits, rarity: Sequence[float], average: float) -> float:
    """BM25 over the asked words, a target counted as often as it weighs, and more when many words are there."""
    often: dict[int, float] = {}
    for at, fit in fits.of(one.in_content):
        often[at] = often.get(at, 0.0) + fit
    for at in {at for at, _ in fits.of(one.in_target)}:
        often[at] = often.get(at, 0.0) + TARGET
    if not often:
        return 0.0
    dampened = SATURATION * (1 - LENGTH + LENGTH * len(one.in_content) / average)
    total = sum(rarity[at] * count * (SATURATION + 1) / (count + dampened) for at, count in often.items())
    return total * (1 + COVERAGE * (len(often) - 1))


def lend(scores: Mapping[int, float], among: Sequence[Candidate]) -> dict[int, float]:
    """Scores with what was written just before and after in the same scope lends, more where it asked."""
    by_id = {one.id: one for one in among}
    total = {key: score * (1.0 - ASKING * by_id[key].asks) for key, score in scores.items()}
    for distance, share in NEAR.items():
        for key, score in scores.items():
            later = by_id.get(key + distance)
            if later is not None and later.scope_id == by_id[key].scope_id:
                answered = ANSWERED if distance == 1 and by_id[key].asks else 0.0
                total[later.id] += (share + answered) * score
                total[key] += share * scores[later.id]
    return total


def spread(scores: Mapping[int, float]) -> dict[int, float]:
    """Scores with what neighbours by number lend, before it is known what they say."""
    total = dict(scores)
    for distance, share in NEAR.items():
        for key, score in scores.items():
            other = key + distance
            if other in total:
                total[other] += share * score
                total[key] += share * scores[other]
    return total


def feedback(
    scores: Mapping[int, float], candidates: Sequence[Candidate], fits: Fits, average: float
) -> dict[int, float]:
    """What the most telling terms of the best facts add to the candidates that have them."""
    ranked = sorted(candidates, key=lambda one: -scores[one.id])[:FEEDBACK_FACTS]
    best = [one for one in ranked if scores[one.id] > 0]  # what only stands beside a hit tells nothing yet
    sure = sum(scores[one.id] for one in best)
    telling = {term for one in best for term in one.in_content if term not in fits.known and term not in STOP_TERMS}
    having: dict[str, dict[int, int]] = {term: {} for term in telling}
    for one in candidates:
        for term in one.in_content:
            if term in telling:
                counts = having[term]
                counts[one.id] = counts.get(one.id, 0) + 1
    weights: dict[str, float] = {}
    for one in best:
        share = scores[one.id] / sure / max(1, len(one.in_content))
        for term in one.in_content:
            if term in telling and len(having[term]) > 1:
                told = math.log(1 + len(candidates) / len(having[term]))
                weights[term] = weights.get(term, 0.0) + share * told
    heaviest = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:FEEDBACK_TERMS]
    lengths = {one.id: SATURATION * (1 - LENGTH + LENGTH * len(one.in_content) / average) for one in candidates}
    added: dict[int, float] = {}
    for term, weight in heaviest:
        worth = FEEDBACK * weight / heaviest[0][1] * rarity_of(len(having[term]), len(candidates)) * (SATURATION + 1)
        for key, count in having[term].items():
            added[key] = added.get(key, 0.0) + worth * count / (count + lengths[key])
    return added


def rarity_of(documents: float, total: float) -> float:
    """Inverse document frequency: how much it tells that a fact has a word that `documents` of `total` have."""
    return math.log(1 + (max(total, documents) - documents + 0.5) / (documents + 0.5))
