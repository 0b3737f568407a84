"""The facts that a message touches: few, or none, for a fraction of what a search costs.

It is asked with every message, and most messages touch nothing. One word may do if it is rare, both among the theme's facts and
in texts on any subject (`common_words.txt`); common words count where several agree, or where they are the whole target.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import log

from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import FACTS, is_index_usable
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.find.query_terms import (
    EXACT,
    OTHER_FORM,
    QueryTerm,
    add_synonyms,
    add_word_forms,
    settle_near_terms,
    to_query_terms,
)
from hermes_memory_store.find.ranking import TermMatches, text_terms
from hermes_memory_store.find.search import HITS
from hermes_memory_store.find.vocabulary import Vocabulary
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.items import fact_pages
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.language.binding_words import is_binding
from hermes_memory_store.language.stop_words import is_common_term
from hermes_memory_store.language.synonyms import SAME
from hermes_memory_store.language.tokenizer import fold_accents, index_terms
from hermes_memory_store.model import Fact

ROWS = """
    SELECT f.id, f.target, f.content FROM json_each(?) j CROSS JOIN facts f ON f.id = j.value
    WHERE f.tier IN ('hot', 'cold')
"""

LONGEST = 2_000
"""Characters of a message that are looked at."""

POSTINGS, TARGETS, MEASURED, MOST_USED = 100, 40, 80, 12
"""Newest facts that are looked at of one word, and of one word in their target; facts that are read and measured, and that one
message may use."""

RARE, LAST_PART, BEFORE, CONTENT = 0.95, 0.6, 0.4, 0.3
"""What a word counts that few texts hold; and a common one in the last part of a target, before it, and in the content."""

WHOLE_TARGET, FURTHER_WORD, BINDING, NAME = 0.65, 0.15, 0.2, 0.6
"""What is added where a message has every word of a target, for each word after the first, where a word stands in a clause that
forbids or demands, and for an identifier, a path or a number that stands there as it was written; for a folder, `migrations/`,
that is a part of the target, as far as it is rare."""

WHOLE_MESSAGE, INSIDE_NAME = 0.2, 0.5
"""What is added where a fact has every word of a message; and what a common word inside an identifier or a path still counts."""

LEAST_FIT, STANDS_BESIDE = 0.75, 0.65
"""How well a message must fit a fact, and what share of its best fit. These numbers were chosen on the choosing halves of
`tests/recall_sets/work` and `strangers`, and on `tests/bridge/hook_service/prompt_set.py`."""

MOST_WORDS = 200
"""Different words of a text that are looked for among a theme's facts."""

COMMON_SHARE = 0.3
"""What a common word counts among those by which a line is chosen."""

WORD = re.compile(r"[#@.]?\w[\w./-]*\w")
COLOUR = re.compile(r"#(?=[0-9a-f]*[a-f])(?:[0-9a-f]{3}){1,2}\b", re.IGNORECASE)
UNIT = re.compile(r"\b(\d+)(?=[a-z]{1,2}\b)", re.IGNORECASE)
CAMEL_CASE = re.compile(r"\b(?=\w*[a-z][A-Z][a-z])\w+")
CAMEL_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
NAME_SIGN = re.compile(r"[._/#]|[a-z][A-Z]|\d")
CLAUSE_ENDS = re.compile(r"[,;:.] | - ")


@dataclass(frozen=True, slots=True)
class WordHits:
    """The facts that hold one word of a message."""

    word: QueryTerm
    rarity: float
    """From 0, in every fact, to 1, in one."""
    anywhere: tuple[int, ...]
    in_target: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TouchedFact:
    """A fact, and how well a message fits it."""

    fact: Fact
    fit: float


def find_touched_facts(
    db: Db, names: Names, theme: str, words: str, *, limit: int, to_part: Callable[[str], str] | None = None
) -> list[TouchedFact]:
    """Return the hot and cold facts of a theme that a message touches, best first; none where the index is damaged.

    :param words: the message's words, without signs of the search language
    :param to_part: returns the part of a content that must be touched, beside the target; the whole one unless given
    """
    theme_id = names.theme_or_none(theme)
    if theme_id is None or not is_index_usable(db.conn, FACTS):
        return []
    total = int(db.value("SELECT last_fact FROM themes WHERE id = ?", (theme_id,)) or 0)
    low = theme_id << THEME_SHIFT
    hits = find_message_hits(db, words[:LONGEST], low, total) if total else []
    fits = measure_facts(db, hits, find_identifiers(words), to_part)
    least = max(LEAST_FIT, STANDS_BESIDE * max(fits.values(), default=0.0))
    best = sorted((key for key, fit in fits.items() if fit >= least), key=lambda key: (-fits[key], -key))[:limit]
    facts, altered = {fact.id: fact for fact in fact_pages.load_facts(db, names, best)}, db.find_altered(best)
    return [TouchedFact(facts[key], fits[key]) for key in best if key in facts and key not in altered]


def find_message_hits(db: Db, message: str, low: int, total: int) -> list[WordHits]:
    """Find the facts that hold each word of a message, one of its forms or a synonym."""
    message = UNIT.sub(r"\1 ", COLOUR.sub(" hex colour ", message))
    message = CAMEL_CASE.sub(lambda name: f"{name[0]} {CAMEL_HUMP.sub('_', name[0])}", message)
    look = to_query_terms(message.split(), (), ())
    vocabulary = Vocabulary(db, FACTS, [(low, low + total)])
    add_word_forms(look, vocabulary, ())
    add_synonyms(look)
    hits = [find_word_hits(db, word, low, low + total, total) for word in look.words]
    for word in look.words:
        if is_common_word(word):
            word.terms = {term: fit for term, fit in word.terms.items() if fit >= SAME}
            word.phrases = {terms: fit for terms, fit in word.phrases.items() if fit >= SAME}
    settle_near_terms(look, (), vocabulary)
    for at, hit in enumerate(hits):
        near = hit.word.near_expression()
        if near is not None and len(hit.anywhere) < POSTINGS:
            others = tuple(key for (key,) in db.rows(HITS, (near, low, low + total, POSTINGS)))
            rarity = hit.rarity if hit.anywhere else find_rarity(len(others), total)
            hits[at] = WordHits(hit.word, rarity, hit.anywhere + others, hit.in_target)
    return hits


def find_identifiers(message: str) -> list[str]:
    """Return the identifiers, paths and the like in a message, folded."""
    pieces = (piece.strip(" ,;!?()[]{}").rstrip(".") for piece in message[:LONGEST].split())
    return [
        fold_accents(piece) for piece in pieces if len(piece) > 3 and not piece.isdigit() and NAME_SIGN.search(piece)
    ]


def find_word_hits(db: Db, word: QueryTerm, low: int, high: int, total: int) -> WordHits:
    """Find the newest facts that hold a word, and how rare it is."""
    expression = word.expression()
    anywhere = [row[0] for row in db.rows(HITS, (expression, low, high, POSTINGS))]
    often = float(len(anywhere))
    if len(anywhere) == POSTINGS:  # of so many ids this many hold it; the others are taken for alike
        often = max(often, often * total / max(1, high - anywhere[-1] + 1))
    targets = [row[0] for row in db.rows(HITS, (f"target : {expression}", low, high, TARGETS))] if anywhere else []
    return WordHits(word, find_rarity(often, total), tuple(anywhere), tuple(targets))


def find_rarity(often: float, total: int) -> float:
    """Return how rare a word is, from 0 in every fact to 1 in one."""
    return max(0.0, log((total + 1) / max(1.0, often)) / log(total + 1))


def measure_facts(
    db: Db, hits: Sequence[WordHits], names: Sequence[str], to_part: Callable[[str], str] | None = None
) -> dict[int, float]:
    """Measure how well the facts with these words fit the message that has them.

    :param names: see `find_identifiers`
    :param to_part: see `find_touched_facts`
    """
    sums: dict[int, float] = {}
    for hit in hits:
        weight = CONTENT if is_common_word(hit.word) else RARE
        for key in hit.anywhere:
            sums[key] = sums.get(key, 0.0) + weight * hit.rarity
        for key in hit.in_target:
            sums[key] = sums.get(key, 0.0) + LAST_PART
    best = sorted(sums, key=lambda key: (-sums[key], -key))[:MEASURED]
    matches = TermMatches([hit.word for hit in hits])
    rows = db.rows(ROWS, (json.dumps(best),))
    if to_part is None:
        return {key: measure_fit(hits, matches, names, target, content) for key, target, content in rows}
    fits = {}
    for key, target, content in rows:
        fit = measure_fit(hits, matches, names, target, to_part(content))
        if fit >= measure_fit(hits, matches, names, target, "") + CONTENT:
            fits[key] = fit
    return fits


def select_theme_lines(db: Db, names: Names, themes: Iterable[str], text: str, *, limit: int) -> list[str]:
    """Return the lines of a long text that share most with the facts of themes, each as the words that facts hold too."""
    lows = [theme_id << THEME_SHIFT for theme_id in map(names.theme_or_none, themes) if theme_id is not None]
    if not lows or not is_index_usable(db.conn, FACTS):
        return []
    words: dict[str, list[str]] = {}
    lines = [WORD.findall(line) for line in text.splitlines()]
    for word in (word for line in lines for word in line):
        if len(words) < MOST_WORDS:
            words.setdefault(word, index_terms(word))
    vocabulary = Vocabulary(db, FACTS, [(low, low | (1 << THEME_SHIFT) - 1) for low in lows])
    held = set(vocabulary.among({term for terms in words.values() for term in terms}))
    shares = {
        word: COMMON_SHARE if all(map(is_common_term, terms)) else 1.0
        for word, terms in words.items()
        if not held.isdisjoint(terms) or COLOUR.fullmatch(word)
    }
    shared = {" ".join(dict.fromkeys(word for word in line if word in shares)): None for line in lines}
    best = sorted(shared, key=lambda line: -sum(shares[word] for word in line.split()))
    return [line for line in best[:limit] if line]


def measure_fit(
    hits: Sequence[WordHits], matches: TermMatches, names: Sequence[str], target: str, content: str
) -> float:
    """Measure how well a message fits a fact. A rare word may do; a common one needs others, or the whole target."""
    *before, last = target.split(".")
    best: dict[int, tuple[float, Sequence[str]]] = {}
    named: set[str] = set()
    clauses = [(clause, CONTENT) for clause in CLAUSE_ENDS.split(content)]
    for text, weight in (*clauses, (" ".join(before), BEFORE), (last, LAST_PART)):
        added: float | None = None
        for terms, at, fit in find_matches(matches, text_terms(text)):
            word = hits[at].word
            is_common = is_common_word(word) or all(map(is_common_term, terms))
            if fit == SAME and not is_common:  # another way to write it
                fit = OTHER_FORM
            if is_common and not word.is_plain:  # `name` of `file_name` says less than `name`
                fit *= INSIDE_NAME
            elif fit >= OTHER_FORM and weight != CONTENT:
                named.update(terms)
            if added is None:
                added = BINDING if weight == CONTENT and is_binding(text) else 0.0
            worth = (weight if is_common else RARE) * fit * hits[at].rarity ** 0.5 + added * fit
            best[at] = max((worth, terms), best.get(at, (0.0, terms)))
    fits = {terms: worth for worth, terms in sorted(best.values())}  # of two words that mean one term, the better
    total = sum(fits.values()) + FURTHER_WORD * max(0, len(fits) - 1) + WHOLE_MESSAGE * len(best) / len(hits)
    if named.issuperset(text_terms(target)):
        total += WHOLE_TARGET
    folded = fold_accents(f"{target} {content}")
    total += NAME * any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", folded) for name in names)
    parts = {f"{part}/" for part in fold_accents(target).split(".")}.intersection(names)
    return total + NAME * max((hit.rarity for hit in hits if f"{hit.word.text}/" in parts), default=0.0)


def find_matches(matches: TermMatches, terms: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int, float]]:
    """Yield each term, or several in a row, that a word stands for: with the word's position, and how well it fits."""
    for place, term in enumerate(terms):
        for at, fit in matches.known.get(term, ()):
            yield (term,), at, fit
        for phrase, at, fit in matches.phrases.get(term, ()):
            if terms[place : place + len(phrase)] == phrase:
                yield phrase, at, fit


def is_common_word(word: QueryTerm) -> bool:
    return all(is_common_term(term) for term, fit in word.terms.items() if fit == EXACT)
