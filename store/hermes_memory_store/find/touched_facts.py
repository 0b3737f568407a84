"""The facts that a message touches: few, or none, for a fraction of what a search costs.

It is asked with every message, and most messages touch nothing. So a fact counts only where the message has its target, or
several rare words of it. A word is as rare as the theme's facts say: what half of them hold tells nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import log

from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.context.start_situation import SIGNS
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import FACTS, is_index_usable
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.find.query_terms import QueryTerm, to_query_terms
from hermes_memory_store.find.ranking import text_terms
from hermes_memory_store.find.search import HITS
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.items import fact_pages
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import Fact, Session

ROWS = """
    SELECT f.id, f.target, f.content FROM json_each(?) j CROSS JOIN facts f ON f.id = j.value
    WHERE f.tier IN ('hot', 'cold')
"""

SAME_TARGET = "SELECT id FROM facts WHERE id IN ({marks}) AND target = ?"

LONGEST = 2_000
"""Characters of a message that are looked at."""

POSTINGS, TARGETS, MEASURED, MOST_USED = 100, 40, 40, 12
"""Newest facts that are looked at of one word, and of one word in their target; facts that are read and measured, and that one
message may use."""

CONTENT_WEIGHT, LAST_PART = 0.5, 0.65
"""What a word of the content counts, beside one that is the whole target; and what the last part of a target counts, of one."""

LEAST_FIT = 0.6
"""Chosen on the `CHOOSING` half of `tests/bridge/hook_service/prompt_set.py`; see the figures there."""


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


def find_touched_facts(db: Db, names: Names, theme: str, words: str, *, limit: int) -> list[TouchedFact]:
    """Return the hot and cold facts of a theme that a message touches, best first; none where the index is damaged.

    :param words: the message's words, without signs of the search language
    """
    theme_id = names.theme_or_none(theme)
    if theme_id is None or not is_index_usable(db.conn, FACTS):
        return []
    total = int(db.value("SELECT last_fact FROM themes WHERE id = ?", (theme_id,)) or 0)
    low = theme_id << THEME_SHIFT
    look = to_query_terms(words[:LONGEST].split(), (), ())
    hits = [find_word_hits(db, word, low, low + total, total) for word in look.words] if total else []
    fits = measure_facts(db, hits)
    best = sorted((key for key, fit in fits.items() if fit >= LEAST_FIT), key=lambda key: (-fits[key], -key))[:limit]
    facts, altered = {fact.id: fact for fact in fact_pages.load_facts(db, names, best)}, db.find_altered(best)
    return [TouchedFact(facts[key], fits[key]) for key in best if key in facts and key not in altered]


class FactUses:
    """Count which of the facts that a session was given it uses: where what is said or written afterwards touches one."""

    def __init__(self, db: Db, names: Names, reads: ReadLog) -> None:
        self._db = db
        self._names = names
        self._reads = reads

    def note_said(self, session: Session, text: str) -> None:
        """Note that somebody said this in a session, user or assistant."""
        given_keys = self._reads.given_keys(session)
        words = text[:LONGEST].translate(SIGNS) if given_keys else ""
        if words.strip():
            touched = find_touched_facts(self._db, self._names, session.theme, words, limit=MOST_USED)
            self._reads.note_used(session, given_keys.intersection(touch.fact.id for touch in touched))

    def note_written(self, session: Session, fact: Fact) -> None:
        """Note that a session wrote this fact: it used the ones that it was given of the same target."""
        given_keys = [*self._reads.given_keys(session)]
        if given_keys:
            sql = SAME_TARGET.format(marks=", ".join("?" * len(given_keys)))
            self._reads.note_used(session, [key for (key,) in self._db.rows(sql, (*given_keys, fact.target))])


def find_word_hits(db: Db, word: QueryTerm, low: int, high: int, total: int) -> WordHits:
    """Find the newest facts that hold a word, and how rare it is."""
    expression = word.expression()
    anywhere = [row[0] for row in db.rows(HITS, (expression, low, high, POSTINGS))]
    often = float(len(anywhere))
    if len(anywhere) == POSTINGS:  # of so many ids this many hold it; the others are taken for alike
        often = max(often, often * total / max(1, high - anywhere[-1] + 1))
    targets = [row[0] for row in db.rows(HITS, (f"target : {expression}", low, high, TARGETS))] if anywhere else []
    rarity = max(0.0, log((total + 1) / max(1.0, often)) / log(total + 1))
    return WordHits(word, rarity, tuple(anywhere), tuple(targets))


def measure_facts(db: Db, hits: Sequence[WordHits]) -> dict[int, float]:
    """Measure how well the facts with these words fit the message that has them."""
    sums: dict[int, float] = {}
    for hit in hits:
        for key in hit.anywhere:
            sums[key] = sums.get(key, 0.0) + CONTENT_WEIGHT * hit.rarity
        for key in hit.in_target:
            sums[key] = sums.get(key, 0.0) + 1.0
    best = sorted(sums, key=lambda key: (-sums[key], -key))[:MEASURED]
    rows = db.rows(ROWS, (json.dumps(best),))
    return {key: measure_fit(hits, target, content) for key, target, content in rows}


def measure_fit(hits: Sequence[WordHits], target: str, content: str) -> float:
    """Measure how well a message's words fit a fact: the share of its target that they name, and the rare ones of its content."""
    weights = weigh_target(target)
    in_content = set(text_terms(content))
    fit = 0.0
    for hit in hits:
        named = hit.word.terms.keys() & weights.keys()
        if named:
            fit += (1 + hit.rarity) / 2 * sum(weights[term] for term in named)
        elif hit.word.terms.keys() & in_content:
            fit += CONTENT_WEIGHT * hit.rarity
    return fit


def weigh_target(target: str) -> dict[str, float]:
    """Return the weights of a target's terms, which sum up to one: `migrations` says more than `db` of `db.migrations`."""
    *first, last = target.split(".")
    before, behind = list(text_terms(" ".join(first))), list(text_terms(last))
    if not before or not behind:
        return dict.fromkeys(before or behind, 1 / max(1, len(before or behind)))
    weights = dict.fromkeys(before, (1 - LAST_PART) / len(before))
    return weights | dict.fromkeys(behind, LAST_PART / len(behind))
