"""Whether what was found for a question touches it: a model is better told nothing than what shares a common word with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from hermes_memory_store.find.query_terms import (
    QueryTerms,
    add_synonyms,
    add_word_forms,
    may_be_mistyped,
    to_query_terms,
)
from hermes_memory_store.find.ranking import TermMatches, text_terms
from hermes_memory_store.find.touched_facts import find_matches, is_common_word
from hermes_memory_store.find.vocabulary import Vocabulary
from hermes_memory_store.language.asked_measures import find_asked_measure
from hermes_memory_store.language.stop_words import QUESTION_MARKS, is_common_term, is_stop_word, is_task
from hermes_memory_store.language.synonyms import SAME

COMMON, IN_TARGET = 0.4, 0.5
"""What a common word counts of a rare one; how much more a word counts in a target."""

ABSENT, MOST_ABSENT, LEAST_TOUCH = 0.3, 2.0, 0.34
"""What a word takes that a text lacks, and how many at most, since a message may speak of several things; and what must be left.

Chosen with the numbers above on `tests/recall_sets`, choosing halves of `work`, `strangers`, `developers`, below what keeps back
what answers a question there: at that edge, answers of other questions were lost. A word that many of the texts hold counts no
less, since counting it so kept back more answers than anything else.
"""

LONGEST_LOOK_UP = 6
"""Words of a search that names things without asking; more tell of something, or give work."""


def asks_nothing(message: str) -> bool:
    """Check whether a message gives work or tells of something, rather than asks what is known."""
    look = to_query_terms(message.split(), (), ())
    is_statement = len(look.runs) > LONGEST_LOOK_UP and not is_stop_word(look.runs[0], look.languages)
    return not any(mark in message for mark in QUESTION_MARKS) and (is_statement or is_task(look.runs))


def is_touched(question: str, texts: Iterable[tuple[str, str]]) -> bool:
    """Check whether one of some texts has enough of a question.

    :param texts: targets, empty for turns, and contents
    """
    look = to_query_terms(question.split(), (), ())
    if not look.words:
        return True
    words = range(len(look.words))  # what several of them mean comes behind them
    add_synonyms(look)
    measure = find_asked_measure(question)
    # What a message asks the next one tells: it need not hold the measure itself, as a fact must.
    texts = [pair for pair in texts if measure is None or not pair[0] or measure.can_be_told_by(*pair)]
    counted = None if measure is None else measure.counted
    if not look.languages and has_enough(look, words, texts, counted):
        return True
    known = TextTerms(texts)
    add_word_forms(look, known, ())
    for word in look.words:
        if known.terms.isdisjoint(word.terms) and may_be_mistyped(word):
            for term in known.correct(word.text):
                word.add((term,), SAME)
    return has_enough(look, words, texts, counted)


class TextTerms(Vocabulary):
    """The terms of a few texts, in place of those of an index."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self.terms = {term for pair in texts for text in pair for term in text_terms(text)}

    def walk(self, start: str) -> Iterator[str]:
        return iter(sorted(term for term in self.terms if term.startswith(start)))

    def among(self, terms: Collection[str]) -> list[str]:
        return [term for term in terms if term in self.terms]


def has_enough(look: QueryTerms, words: range, texts: Iterable[tuple[str, str]], counted: str | None) -> bool:
    """Check whether one of some targets and contents has enough of a question.

    :param words: places of those that it should not lack
    :param counted: the word that it must not lack
    """
    matches = TermMatches(look.words)
    weights = [COMMON if is_common_word(word) else 1.0 for word in look.words]
    needed = {at for at in words if look.words[at].text == counted}
    for target, content in texts:
        shared: dict[int, float] = {}
        for part, share in ((target, 1.0 + IN_TARGET), (content, 1.0)):
            for terms, at, fit in find_matches(matches, text_terms(part)):
                weight = COMMON if all(map(is_common_term, terms)) else weights[at]
                shared[at] = max(shared.get(at, 0.0), weight * share * min(1.0, fit / SAME))
        absent = min(MOST_ABSENT, sum(weights[at] for at in words if at not in shared))
        is_whole = bool(target) and matches.known.keys() >= {*text_terms(target)}
        if shared.keys() >= needed and (is_whole or sum(shared.values()) - ABSENT * absent >= LEAST_TOUCH):
            return True
    return False
