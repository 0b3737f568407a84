"""Query terms: the index terms that each word of a query stands for, and how well each matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice

from hermes_memory_store.find.vocabulary import Vocabulary
from hermes_memory_store.language.stemmer import stem_completions, stem_word
from hermes_memory_store.language.stop_words import is_common_term, is_stop_word, stop_forms
from hermes_memory_store.language.synonyms import (
    NEAR,
    SAME,
    find_phrases,
    find_synonyms,
    find_unspaced,
    known_members,
    members_beginning_with,
)
from hermes_memory_store.language.tokenizer import (
    MAX_WORD,
    character_pairs,
    fold_accents,
    index_terms,
    is_unspaced,
    split_runs,
)
from hermes_memory_store.language.typos import find_corrections, is_correctable
from hermes_memory_store.language.unspaced_scripts import (
    MAX_PAIRS,
    estimate_word_count,
    load_unspaced_words,
    particle_variants,
    without_particle,
)
from hermes_memory_store.language.word_forms import (
    SHORTEST_PART,
    detect_languages,
    find_forms,
    find_root,
    split_compound,
)
from hermes_memory_store.notation.abbreviations import abbreviation_variants

EXACT, OTHER_FORM, BEGINNING = 1.0, 0.95, 0.7
"""How well a term fits: the word itself (by stem), its abbreviation or long form, a longer word that begins with it. What fits
less is a synonym (`SAME`, `NEAR`) or what may have been meant by a typing error."""

CHARACTER = 0.2
"""How well a pair fits that has one character of a Chinese pair which nothing has, as 牙医 has of 看牙. A word that was probably
meant by one that nothing has fits like another way to write it (`SAME`), a part of a compound like a near word (`NEAR`)."""

MAX_PAIRS_APART, MAX_CORRECTED, MAX_NEAR = 8, 2, 24
"""Pairs of a query whose characters are looked for; its words that are taken for typing errors, the longest first; terms and
phrases that may stand for one word, the closest."""

OWN_SCRIPTS = frozenset({"ru", "ar"})
"""Languages whose synonyms are looked for in all their forms: a script tells which of a group are theirs."""

OTHER_SCRIPTS = (("\u0370", "\u0590"), ("\u0590", "\u0900"), ("\u0e00", "\ue000"))
"""Greek and Cyrillic; Hebrew and Arabic; the scripts without spaces: from the first character to before the last."""

MAX_QUERY_TERMS = 16
"""Words of a query that are looked up."""

IDEOGRAPHS = re.compile("[\u3400-\u9fff]{2}")
"""Two characters that mean something by themselves, as in Chinese, and are no syllables."""

_QUESTION_FORM = re.compile(
    r"\b(?:what|which) (?:kind|type|sort)s? of\b|\bhow (?:many|much|long|often|old|far)\b|\bin (?:what|which) ways?\b",
    re.IGNORECASE,
)
_ELISION = re.compile(r"(?<=\w)['’](?:s|t|re|ll|ve|d|m)\b|\b(?:l|d|j|m|n|s|t|c|qu)['’](?=\w)", re.IGNORECASE)

_AROUND = " ,.;:!?()[]{}\"'“”‘’«»…¿¡、。？！；："

LEXICAL = 3
"""Up to so many words are a search for facts that have them all; more read like a sentence."""


@dataclass(slots=True)
class QueryTerm:
    text: str
    """As it was asked, folded."""
    terms: dict[str, float]
    """Single index terms that stand for it, each with how well it fits."""
    phrases: dict[tuple[str, ...], float] = field(default_factory=dict)
    """Several terms in a row that stand for it: an abbreviation's long form of several words."""
    opened: bool = False
    """Whether longer words that begin with it are among the terms."""
    is_plain: bool = False
    """Whether it stood by itself and not in an identifier, a version or a path."""

    @property
    def is_character(self) -> bool:
        """Whether it is one character of a script without spaces, with which any pair may begin."""
        return len(self.text) == 1 and is_unspaced(self.text)

    @property
    def has_long_form(self) -> bool:
        """Whether several terms in a row are another form of it."""
        return any(fit >= BEGINNING for fit in self.phrases.values())

    def forms(self, *, near: bool) -> list[tuple[tuple[str, ...], float]]:
        """Return the terms in a row that are the word or a form of it; or, near it, that may be meant by it or stand for it."""
        forms: list[tuple[tuple[str, ...], float]] = [
            ((term,), fit) for term, fit in self.terms.items() if (fit < BEGINNING) is near
        ]
        return [*forms, *(form for form in self.phrases.items() if (form[1] < BEGINNING) is near)]

    def expression(self) -> str:
        """Return the word as an FTS5 expression, without its synonyms."""
        return f"({' OR '.join(to_fts_phrase(terms) for terms, _ in self.forms(near=False))})"

    def near_expression(self) -> str | None:
        """Return what may be meant by the word or stand for it as an FTS5 expression; None when there is nothing."""
        phrases = [to_fts_phrase(terms) for terms, _ in self.forms(near=True)]
        return f"({' OR '.join(phrases)})" if phrases else None

    @property
    def near_terms(self) -> tuple[str, ...]:
        """What may be meant by the word or stand for it, the closest first."""
        near = sorted(self.forms(near=True), key=lambda form: (-form[1], len(form[0]) == 1))
        return tuple(" ".join(terms) for terms, _ in near)

    @property
    def near_fit(self) -> float:
        """How well the best of these fits, 0 where there is none."""
        return max((fit for _, fit in self.forms(near=True)), default=0.0)

    def add(self, terms: Sequence[str], fit: float) -> None:
        """Let one term, or several in a row, stand for the word, too."""
        if len(terms) == 1:
            self.terms.setdefault(terms[0], fit)
        elif terms:
            self.phrases.setdefault(tuple(terms), fit)

    def scale_near(self, share: float) -> None:
        """Let what stands for the word fit less, as it is more common than the word."""
        self.terms = {term: fit if fit >= BEGINNING else fit * share for term, fit in self.terms.items()}
        self.phrases = {terms: fit if fit >= BEGINNING else fit * share for terms, fit in self.phrases.items()}


@dataclass(slots=True)
class QueryTerms:
    words: list[QueryTerm]
    phrases: list[tuple[str, ...]]
    excluded: list[str]
    """Expressions of what must not be there."""
    question: bool
    """Whether it reads like a sentence: then the best of what shares its words is an answer too."""
    runs: list[str] = field(default_factory=list)
    """All its words, folded, in order."""
    languages: frozenset[str] = frozenset()
    """Languages other than English in whose forms words are looked for; of a question, the one that it is asked in."""
    meant: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What was found instead of words that nothing has: see `FactSearchResult.meant`."""
    query: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] = ((), (), ())
    """Its words, phrases and excluded texts, as they were asked."""

    def match_expression(self, words: Sequence[QueryTerm]) -> str | None:
        """Return the expression for facts with all of these words and every phrase; None for an empty query."""
        parts = [to_fts_phrase(phrase) for phrase in self.phrases] + [word.expression() for word in words]
        return " AND ".join(parts) or None

    def without_excluded(self, expression: str) -> str:
        """Return the expression, less the excluded terms."""
        return f"({expression}) NOT ({' OR '.join(self.excluded)})" if self.excluded else expression


def to_query_terms(words: Sequence[str], phrases: Sequence[str], excluded: Sequence[str]) -> QueryTerms:
    """Return the terms of a query, to which more may be added: facts, turns and the gate each ask for them."""
    query = tuple(words), tuple(phrases), tuple(excluded)
    look = read_query_terms(*query)  # what one theme's index was found to mean must not show in another's answer
    return replace(look, words=copy_words(look), query=query, meant={})


def copy_words(look: QueryTerms) -> list[QueryTerm]:
    return [QueryTerm(word.text, {**word.terms}, {**word.phrases}, is_plain=word.is_plain) for word in look.words]


@lru_cache(maxsize=64)
def read_query_terms(words: tuple[str, ...], phrases: tuple[str, ...], excluded: tuple[str, ...]) -> QueryTerms:
    line = fold_accents(_ELISION.sub(" ", " ".join(words)))
    runs = split_runs(line)
    languages = detect_languages(runs)
    informative = find_informative_runs(line, runs, languages)
    texts = list(dict.fromkeys(informative or runs or split_runs(" ".join(words))))[:MAX_QUERY_TERMS]
    question = bool(informative) and (informative != runs or sum(map(estimate_word_count, texts)) > LEXICAL)
    if question:
        texts = list(dict.fromkeys(map(without_particle, texts)))
    query_terms = terms_for_runs(texts)
    pieces = [piece.strip(_AROUND) for piece in words]
    # A name from a program is no word: `userId`, `v2`, `db.host`.
    plain = {fold_accents(text) for text in pieces if text.isalpha() and (text[1:].islower() or text.isupper())}
    for word in query_terms:
        word.is_plain = word.text in plain
    return QueryTerms(
        words=query_terms,
        phrases=[terms for phrase in phrases if (terms := phrase_terms(phrase))][:MAX_QUERY_TERMS],
        excluded=[to_fts_phrase(terms) for text in excluded if (terms := phrase_terms(text))][:MAX_QUERY_TERMS],
        question=question,
        runs=runs,
        languages=languages if question else frozenset(),
    )


def add_word_forms(look: QueryTerms, vocabulary: Vocabulary, languages: Collection[str]) -> None:
    """Also look for other forms of the words, in these languages and, of a question, in the one that it is asked in."""
    look.languages = look.languages.union(languages) - {"en"}
    if not look.languages:
        return
    for word in look.words:
        for form in find_forms(word.text, look.languages, vocabulary.walk):
            word.terms.setdefault(form, OTHER_FORM)
    if "de" in look.languages:
        add_compound_parts(look, vocabulary)


def add_compound_parts(look: QueryTerms, vocabulary: Vocabulary) -> None:
    """Also look for the parts of German compounds, where the index has both, or one of them at least."""
    for word in [word for word in look.words if len(word.text) >= 2 * SHORTEST_PART]:
        if vocabulary.among(list(word.terms)):
            continue
        splits = split_compound(word.text)
        parts = {part for split in splits for part in split}
        terms = {part: {stem_word(part), find_root(part, "de") or part} for part in parts}
        indexed = set(vocabulary.among([*set().union(*terms.values())]))
        best = max(splits, key=lambda split: sum(len(part) for part in split if terms[part] & indexed), default=())
        for part in best:
            for term in sorted(terms[part] & indexed):
                word.add((term,), NEAR)
            for member in [stem_word(part), *find_forms(part, ["de"], members_beginning_with)]:
                for synonym in find_synonyms((member,)):
                    word.add(synonym, NEAR * NEAR)


def add_synonyms(look: QueryTerms) -> None:
    """Also look for what the words of a question may be called otherwise, each fitting less than the word itself."""
    if look.languages:
        add_synonyms_of_forms(look)
    else:
        look.words = copy_words(read_synonyms(*look.query))


@lru_cache(maxsize=64)
def read_synonyms(*query: tuple[str, ...]) -> QueryTerms:
    look = to_query_terms(*query)
    add_synonyms_of_forms(look)
    return look


def add_synonyms_of_forms(look: QueryTerms) -> None:
    for word in look.words:
        add_word_synonyms(word, look.languages)
    texts = {word.text for word in look.words}
    for phrase in find_phrases([term for run in look.runs if not is_unspaced(run) for term in index_terms(run)]):
        add_concept(look, texts, " ".join(phrase), phrase)
    for run in filter(is_unspaced, look.runs):
        for text, pairs in find_unspaced(run):
            if len(pairs) == 1 and text in texts:
                add_word_synonyms(next(word for word in look.words if word.text == text), look.languages)
            else:
                add_concept(look, texts, text, pairs)


def add_concept(look: QueryTerms, texts: set[str], text: str, terms: tuple[str, ...]) -> None:
    """Add several terms in a row that mean one thing as a word of their own, with its synonyms."""
    if text not in texts and len(look.words) < MAX_QUERY_TERMS + MAX_PAIRS:
        texts.add(text)
        word = QueryTerm(text, {}, {})
        word.add(terms, EXACT)
        look.words.append(word)
        for other, fit in find_synonyms(terms).items():
            word.add(other, fit)


def add_word_synonyms(word: QueryTerm, languages: frozenset[str] = frozenset()) -> None:
    """Also match the synonyms of a word. :param languages: whose forms of it count, too"""
    forms = [term for term, fit in word.terms.items() if fit >= OTHER_FORM]
    for term in dict.fromkeys([*forms, *find_member_forms(word.text, languages)]):
        for synonym, fit in find_synonyms((term,)).items():
            word.add(synonym, fit)


@lru_cache(maxsize=1024)
def find_member_forms(text: str, languages: frozenset[str]) -> list[str]:
    """Return the other forms of a word that the table of synonyms has."""
    return find_forms(text, languages, members_beginning_with)


def settle_near_terms(look: QueryTerms, unknown: Sequence[QueryTerm], vocabulary: Vocabulary) -> None:
    """Take the longest of the words that nothing has for typing errors, and bound what may stand for each word.

    Each term that is looked for costs ten microseconds, so none is in a script that the index does not have.
    """
    for word in sorted(unknown, key=lambda word: -len(word.text))[:MAX_CORRECTED]:
        allow_corrections(word, vocabulary)
    pairs = [word for word in unknown if IDEOGRAPHS.fullmatch(word.text)]
    for word in pairs[:MAX_PAIRS_APART]:
        for character in word.text:
            for term in islice(vocabulary.walk(character), MAX_NEAR // 2):
                word.add((term,), CHARACTER)
    scripts = look.languages & OWN_SCRIPTS
    for word in look.words if scripts else ():
        for term, fit in [(term, fit) for term, fit in word.terms.items() if fit < BEGINNING][:MAX_NEAR]:
            for form in find_forms(term, scripts, vocabulary.walk):
                word.add((form,), fit)
    absent = vocabulary.find_absent(OTHER_SCRIPTS)
    lowest = min((low for low, _ in absent), default="\U0010ffff")
    for word in look.words:
        near = word.forms(near=True)
        written = [
            form for form in near if form[0][0] < lowest or not any(low <= form[0][0] < high for low, high in absent)
        ]
        if len(written) == len(near) <= MAX_NEAR:
            continue
        closest = {terms for terms, _ in sorted(written, key=lambda form: -form[1])[:MAX_NEAR]}
        for terms, _ in near:
            if terms not in closest:
                (word.terms.pop(terms[0]) if len(terms) == 1 else word.phrases.pop(terms))


def allow_corrections(word: QueryTerm, vocabulary: Vocabulary) -> None:
    """Also match what was probably meant by a word that nothing has."""
    if not may_be_mistyped(word):
        return
    for term in vocabulary.correct(word.text):
        word.add((term,), SAME)
    for term in find_corrections(word.text, members_beginning_with, known_members):
        for synonym, fit in find_synonyms((term,)).items():
            word.add(synonym, fit * SAME)


def may_be_mistyped(word: QueryTerm) -> bool:
    """Check whether a word that nothing has may be another one: it is none that people use, and not one of the field."""
    is_known = any(map(is_common_term, word.terms)) or known_members(word.terms)
    return word.is_plain and is_correctable(word.text) and not is_known


def find_informative_runs(line: str, runs: Sequence[str], languages: Collection[str]) -> list[str]:
    """Return the runs of a folded line that an answer may contain. :param runs: all its runs"""
    line = _QUESTION_FORM.sub(" ", line)
    left = split_runs(line if line.isascii() else load_unspaced_words().question_words.sub(" ", line))
    unspaced = sum(map(is_unspaced, runs))
    if not unspaced:
        return [run for run in left if not is_stop_word(run, languages)]
    # Amid Chinese or Japanese, `EU` is a name and not a word of French.
    stops = load_unspaced_words().stop_runs
    if 2 * unspaced < len(runs):
        stops = stops | stop_forms()
    whole = frozenset(runs)  # a single character that only the removal of its neighbours set free is none
    return [run for run in left if run not in stops and (len(run) > 1 or run in whole or not is_unspaced(run))]


def terms_for_runs(runs: Sequence[str]) -> list[QueryTerm]:
    """Return the terms for these runs: one for each word, and pairs for runs of a script without spaces."""
    words: dict[str, QueryTerm] = {}
    room = MAX_PAIRS
    for run in runs:
        if not is_unspaced(run):
            word = words[run] = QueryTerm(run[:MAX_WORD], {stem_word(run[:MAX_WORD]): EXACT})
            for form in abbreviation_variants(run):
                word.add(phrase_terms(form), OTHER_FORM)
            continue
        for term in character_pairs(run[:MAX_WORD]) or [run]:
            if term not in words and room:
                words[term] = QueryTerm(term, {term: EXACT})
                room -= 1
    return list(words.values())


def allow_prefix_matches(word: QueryTerm, beginnings: Callable[[str], list[str]], *, is_known: bool = False) -> bool:
    """Also match longer words that begin with this one; return whether the index has any.

    :param beginnings: returns the index terms that begin with some characters
    :param is_known: the word itself has hits, so that it is none that stops inside an ending
    """
    before = len(word.terms)
    word.opened = True
    if is_unspaced(word.text) and len(word.text) > 1:  # no term is longer than a pair
        return False
    completions = [] if is_known else [stem_word(longer) for longer in stem_completions(word.text)]
    for term in [*completions, *beginnings(word.text)]:
        word.terms.setdefault(term, BEGINNING)
    return len(word.terms) > before


def allow_particle_variants(word: QueryTerm) -> bool:
    """Also match a noun of one character with other particles than in the query; return whether it can have others.

    Only for a word without any hit as written: many a noun of two characters ends like a particle.
    """
    if word.opened or not is_unspaced(word.text):
        return False
    variants = particle_variants(word.text)
    word.opened = bool(variants)
    word.terms |= dict.fromkeys(variants, OTHER_FORM)
    return word.opened


def phrase_terms(text: str) -> tuple[str, ...]:
    """Return the consecutive terms of a phrase, without the single character that ends a run in the index."""
    runs = split_runs(text[:400])
    if not runs:
        return ()
    terms = index_terms(text[:400])
    return tuple(terms[:-1] if is_unspaced(runs[-1]) and len(runs[-1]) > 1 else terms)


def to_fts_phrase(terms: Sequence[str]) -> str:
    """Format terms as an FTS5 phrase. They are letters and digits only, so nothing needs escaping."""
    return '"' + " ".join(terms) + '"'
