"""What the words of a query may look like in a fact: the terms each of them stands for, and how well each fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hermes_memory_store.abbreviations import expand
from hermes_memory_store.stems import completions, stem
from hermes_memory_store.unspaced import (
    MAX_PAIRS,
    STOP_RUNS,
    other_particles,
    terms_of_run,
    without_particle,
    without_question_words,
    word_count,
)
from hermes_memory_store.words import MAX_WORD, fold, indexed, is_unspaced, runs

EXACT, OTHER_FORM, BEGINNING = 1.0, 0.95, 0.7
"""How well a term fits: the word itself (by stem), its abbreviation or long form, a longer word that begins with it."""

MAX_ASKED = 16
"""Words of a query that are looked up."""

STOP_WORDS = """
    a about am an and any are as at be been being but by can could did do does doing don for from had has have
    having he her hers him his how i if in into is it its me might my of on or our shall she should so some than
    that the their them then there these they this those to too was we were what when where which who whom whose
    why will with would you your

    à au aux avec ce ces cette dans de des du elle en est et eu il ils je la le les leur leurs lui ma mais même
    mes moi mon ne nos notre nous on ont ou où par pas pour quand que quel quelle quelles quels qui quoi sa se
    ses sont sur ta toi ton tu un une vos votre vous comment pourquoi était

    aber als an auch auf aus bei bis da das dass dem der doch ein eine einem einen einer er es für hatte ich ihr
    im ist ja kann mein nach noch nur ob oder sein sich sie sind über um und uns von vor wann warum was wer wie
    wir wird wo wurde zu zum zur welche welcher welches

    al con del donde dónde el ella ellos entre esta está este esto fue hasta las lo los más mi muy para pero por
    porque qué quien quién ser si sobre su sus tiene uno ya cómo cuál cuándo
"""
"""Words of questions rather than of answers, in English, French, German and Spanish. They are not looked for when a
query has others; words that are also names of things (`bin`, `hat`, `son`, `die`) are not among them."""

_STOPS = frozenset(fold(STOP_WORDS).split())

STOP_TERMS = frozenset(map(stem, _STOPS))
"""The same as index terms."""

_QUESTION_FORM = re.compile(
    r"\b(?:what|which) (?:kind|type|sort)s? of\b|\bhow (?:many|much|long|often|old|far)\b|\bin (?:what|which) ways?\b",
    re.IGNORECASE,
)
_ELISION = re.compile(r"(?<=\w)['’](?:s|t|re|ll|ve|d|m)\b|\b(?:l|d|j|m|n|s|t|c|qu)['’](?=\w)", re.IGNORECASE)


LEXICAL = 3
"""Up to so many words are a search for facts that have them all; more read like a sentence."""


@dataclass(slots=True)
class Word:
    """One word that is looked for."""

    text: str
    """As it was asked, folded."""
    terms: dict[str, float]
    """Single index terms that stand for it, each with how well it fits."""
    phrases: dict[tuple[str, ...], float] = field(default_factory=dict)
    """Several terms in a row that stand for it: an abbreviation's long form of several words."""
    opened: bool = False
    """Whether longer words that begin with it are among the terms."""

    @property
    def is_character(self) -> bool:
        """Whether it is one character of a script without spaces, which any pair may begin with."""
        return len(self.text) == 1 and is_unspaced(self.text)

    def expression(self) -> str:
        """The word in FTS5's language."""
        terms = [f'"{term}"' for term in self.terms]
        return "(" + " OR ".join(terms + [in_a_row(phrase) for phrase in self.phrases]) + ")"


@dataclass(slots=True)
class Asked:
    """All that a query looks for."""

    words: list[Word]
    phrases: list[tuple[str, ...]]
    excluded: list[str]
    """Expressions of what must not be there."""
    question: bool
    """Whether it reads like a sentence: then the best of what shares its words is an answer too."""

    def required(self, words: Sequence[Word]) -> str | None:
        """The expression for facts with all of these words, and with every phrase; None when nothing is asked."""
        parts = [in_a_row(phrase) for phrase in self.phrases] + [word.expression() for word in words]
        return " AND ".join(parts) or None

    def without_excluded(self, expression: str) -> str:
        """The expression, less what must not be there."""
        return f"({expression}) NOT ({' OR '.join(self.excluded)})" if self.excluded else expression


def asked(words: Sequence[str], phrases: Sequence[str], excluded: Sequence[str]) -> Asked:
    """Work out what a query looks for."""
    line = fold(_ELISION.sub(" ", " ".join(words)))
    said = runs(line)
    informative = informative_runs(line, said)
    kept = list(dict.fromkeys(informative or said or runs(" ".join(words))))[:MAX_ASKED]
    question = bool(informative) and (informative != said or sum(map(word_count, kept)) > LEXICAL)
    if question:
        kept = list(dict.fromkeys(map(without_particle, kept)))
    return Asked(
        words=words_of(kept),
        phrases=[terms for phrase in phrases if (terms := exact_terms(phrase))][:MAX_ASKED],
        excluded=[in_a_row(terms) for text in excluded if (terms := exact_terms(text))][:MAX_ASKED],
        question=question,
    )


def informative_runs(line: str, said: Sequence[str]) -> list[str]:
    """The runs of a folded line that an answer may have. :param said: all its runs"""
    left = runs(without_question_words(_QUESTION_FORM.sub(" ", line)))
    unspaced = sum(map(is_unspaced, said))
    # Amid Chinese or Japanese, `EU` is a name and not a word of French.
    stops = _STOPS if 2 * unspaced < len(said) else STOP_RUNS
    if not unspaced:
        return [run for run in left if run not in stops]
    whole = frozenset(said)  # a single character that only the removal of its neighbours set free is none
    return [
        run
        for run in left
        if run not in stops and run not in STOP_RUNS and (len(run) > 1 or run in whole or not is_unspaced(run))
    ]


def words_of(kept: Sequence[str]) -> list[Word]:
    """What these runs are looked up by: a word each, and the pairs of those of a script without spaces."""
    found: dict[str, Word] = {}
    room = MAX_PAIRS
    for run in kept:
        if not is_unspaced(run):
            found.setdefault(run, word_of(run))
            continue
        for term in terms_of_run(run):
            if term not in found and room:
                found[term] = Word(term, {term: EXACT})
                room -= 1
    return list(found.values())


def word_of(run: str) -> Word:
    """What one asked word stands for, longer words that begin with it aside."""
    word = Word(run[:MAX_WORD], {stem(run[:MAX_WORD]): EXACT})
    for form in expand(run):
        terms = exact_terms(form)
        if len(terms) == 1:
            word.terms.setdefault(terms[0], OTHER_FORM)
        elif terms:
            word.phrases.setdefault(terms, OTHER_FORM)
    return word


def open_up(word: Word, beginnings: Callable[[str], list[str]]) -> bool:
    """Let longer words that begin with this one match too; whether the index has any.

    :param beginnings: the index terms that begin with some characters
    """
    known = len(word.terms)
    word.opened = True
    if is_unspaced(word.text) and len(word.text) > 1:  # no term is longer than a pair
        return False
    for longer in completions(word.text):
        word.terms.setdefault(stem(longer), BEGINNING)
    for term in beginnings(word.text):
        word.terms.setdefault(term, BEGINNING)
    return len(word.terms) > known


def accept_other_particles(word: Word) -> bool:
    """Let a noun of one character match with other particles than the one it was asked with; whether it can have others.

    Only for a word that nothing has as it was asked: many a noun of two characters ends like a particle.
    """
    if word.opened or not is_unspaced(word.text):
        return False
    forms = other_particles(word.text)
    word.opened = bool(forms)
    word.terms |= dict.fromkeys(forms, OTHER_FORM)
    return word.opened


def exact_terms(text: str) -> tuple[str, ...]:
    """The terms of a phrase, in a row. The single character that ends a run in the index is not asked for."""
    found = runs(text[:400])
    if not found:
        return ()
    terms = indexed(text[:400])
    return tuple(terms[:-1] if is_unspaced(found[-1]) and len(found[-1]) > 1 else terms)


def in_a_row(terms: Sequence[str]) -> str:
    """Terms as an FTS5 phrase. They are letters and digits only, so nothing needs escaping."""
    return '"' + " ".join(terms) + '"'
