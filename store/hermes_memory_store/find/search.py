"""Search: facts by words and by filters, at a cost that does not grow with the store.

A word's hits are read from the end of its list, newest first, and only within the theme; the index itself intersects scope,
tier and type (see `items/fulltext.py`). Then a few hundred candidates are ranked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.clock import Clock
from hermes_memory_store.context.read_log import ReadLog
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import (
    FACTS,
    SQLITE_FAILURES,
    index_note,
    is_index_usable,
    note_index_trouble,
)
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.find.query_syntax import clean_query, parse_query
from hermes_memory_store.find.query_terms import (
    BEGINNING,
    EXACT,
    QueryTerms,
    add_synonyms,
    add_word_forms,
    add_word_synonyms,
    allow_particle_variants,
    allow_prefix_matches,
    phrase_terms,
    settle_near_terms,
    to_fts_phrase,
    to_query_terms,
)
from hermes_memory_store.find.ranking import (
    ENOUGH,
    LIKELY,
    Candidate,
    FactRanking,
    TermPostings,
    add_near_postings,
    best_keys,
    inverse_document_frequency,
    rank_exact,
    rank_question,
    rank_some,
    spread_scores,
    sum_scores,
    text_terms,
)
from hermes_memory_store.find.text_scan import MIN_EXACT_MATCHES, Within, scan_facts
from hermes_memory_store.find.vocabulary import Vocabulary
from hermes_memory_store.items import fact_pages
from hermes_memory_store.items.fulltext import scope_facet, tier_facet, type_facet
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import Fact, FactFilter, FactSearchResult, Query, Session, Sort, Tier
from hermes_memory_themes import Policies

MAX_LIMIT = 1_000
"""Facts or turns that one search returns at most."""

NEWEST = 60
"""Facts with every one of several words that are ranked at least, the newest."""

SELECT = 30
"""Where there are more facts than are ranked: how many with the first word in the target, and how many hot ones, are added."""

POSTINGS, NEAR_POSTINGS, LOOK_UP_POSTINGS = 300, 150, 120
"""Hits that are looked at: of one word of a question, of what may stand for one, and of one of several words of a look-up, where
what has them all is looked for anyway."""

RANKED = 80
"""Facts or turns of a question that are read and ranked."""

COMMON = 0.05
"""A word that more than this part of all facts has is looked for in the text of what has the others."""

MAX_PREFIX_TERMS = 16
"""Longer words that the beginnings in one query stand for, all together."""

SEPARATE_THEMES = 16
"""Up to so many themes are each searched newest first; of more, the range of all of them is walked as one."""

CANDIDATES = """
    SELECT f.id, f.scope_id, f.target, f.content, f.tier, f.updated_at, f.created_at, f.type,
      CASE WHEN f.origin_id NOT NULL THEN f.origin_detail END
    FROM json_each(?) j CROSS JOIN facts f ON f.id = j.value
    WHERE {}
"""

HITS = "SELECT rowid FROM facts_text WHERE facts_text MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?"

HITS_CHECKED = (
    "SELECT rowid FROM facts_text WHERE facts_text MATCH ? AND rowid BETWEEN ? AND ?"
    " AND EXISTS (SELECT 1 FROM facts f WHERE f.id = facts_text.rowid AND {}) ORDER BY rowid DESC LIMIT ?"
)


class Search:
    """Find facts. It never writes: what was returned is noted, and written later."""

    def __init__(self, db: Db, names: Names, reads: ReadLog, clock: Clock, policies: Policies) -> None:
        self._db = db
        self._policies = policies
        self._names = names
        self._reads = reads
        self._clock = clock

    def find(
        self,
        theme: str | None,
        query: str | Query,
        *,
        scope: str | None = None,
        limit: int = 20,
        session: Session | None = None,
        record: bool = True,
        also: tuple[str, ...] = (),
    ) -> FactSearchResult:
        """Find the facts that match a search line, best first.

        :param theme: whose memory; None for all. One that nothing was written to is empty.
        :param also: themes that are read beside it: see `FactFilter.also`
        :param query: a line in the search language (see `query_syntax.py`), or a parsed one
        :param scope: limits the search to one scope, in addition to the line's own filters
        :param limit: 1 to 1,000 facts
        :param session: the session that receives the result, for the record
        :param record: False when the caller notes which of these it returns
        :raises QueryError: for a filter value that means nothing
        :raises UnknownScope: for a scope that does not exist, with the nearest
        :raises UnknownSession: for an author who never wrote here
        :raises ArgumentError: for another limit
        """
        with self._db.snapshot():
            ranking = self.rank(theme, query, limit, scope, also, RANKED)
            facts = self.load([candidate.id for candidate in ranking.candidates])
        if record:
            self.note("search", theme, facts, session=session, why=query if isinstance(query, str) else None)
        scores = [candidate.score for candidate in ranking.candidates]
        return FactSearchResult(facts, ranking.total, ranking.more, scores if any(scores) else [], *ranking[3:])

    def rank(
        self, theme: str | None, query: str | Query, limit: int, scope: str | None, also: tuple[str, ...], ranked: int
    ) -> FactRanking:
        """Return what `find` makes facts of. :param ranked: facts of a question that are read and ranked, at least `limit`"""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
            text = errors.shorten_value(limit)
            raise errors.ArgumentError(f"limit is a whole number from 1 to {MAX_LIMIT:,}, not {text!r}", limit)
        parsed = parse_query(query, theme=theme, now=self._clock()) if isinstance(query, str) else query
        fact_filter = confine_filter(parsed.filter, theme, scope, also)
        if fact_filter is None:
            self._names.scope_ids(
                FactFilter(theme=theme, scopes=frozenset({scope}), also=also)
            )  # an unknown one is an error
            return FactRanking([], 0)
        within = self._within(fact_filter, self._names.scope_ids(fact_filter))
        if parsed.has_text:
            ranking = self._rank_with_fallback(parsed, within, limit, max(ranked, limit))
            falling = accumulate((candidate.score for candidate in ranking.candidates), min)
            for candidate, score in zip(ranking.candidates, falling, strict=True):
                candidate.score = (
                    score  # every word and some are measured differently; what comes later never fits better
                )
            return ranking
        page = fact_pages.load_fact_page(
            self._db, self._names, fact_filter, sort=Sort.UPDATED, descending=True, after=None, limit=limit
        )
        by_key = {candidate.id: candidate for candidate in self._candidates([fact.id for fact in page.facts], within)}
        return FactRanking([by_key[fact.id] for fact in page.facts], page.total, page.total > len(by_key))

    def load(self, keys: Sequence[int]) -> list[Fact]:
        return fact_pages.load_facts(self._db, self._names, keys)

    def find_terms(self, line: str) -> QueryTerms | None:
        """Return what a search line looks for besides its filters; None for filters alone. :raises QueryError: as `find`"""
        query = parse_query(line, now=self._clock())
        return to_query_terms(query.words, query.phrases, query.excluded) if query.has_text else None

    def find_branch_filter(self, line: str) -> frozenset[str]:
        """Return the names of branches that a search line asks for. :raises QueryError: as `find`"""
        return parse_query(line, now=self._clock()).filter.branches

    def filter_keys(
        self, theme: str | None, line: str, keys: Sequence[int], *, scope: str | None = None, also: tuple[str, ...] = ()
    ) -> list[Candidate]:
        """Return those of these facts that pass the filters of a search line; the parameters are those of `find`.

        :raises QueryError: UnknownScope: as `find`
        """
        fact_filter = confine_filter(parse_query(line, theme=theme, now=self._clock()).filter, theme, scope, also)
        if fact_filter is None:
            return []
        within = self._within(fact_filter, self._names.scope_ids(fact_filter))
        inside = [key for key in keys if any(low <= key <= high for low, high in within.ranges)]
        return self._candidates(inside, within)

    def note(
        self, kind: str, theme: str | None, facts: Sequence[Fact], *, session: Session | None, why: str | None
    ) -> None:
        """Record that these facts were returned. :param why: the search line"""
        line = None if why is None else clean_query(why[:400])
        self._reads.note(kind, theme, facts, session=session, why=line, tokens=sum(fact.tokens for fact in facts))

    def _rank_with_fallback(self, query: Query, within: Within, limit: int, most_ranked: int) -> FactRanking:
        """Find facts by the index, or by reading the facts where the index is damaged."""
        look = to_query_terms(query.words, query.phrases, query.excluded)
        if not within.ranges or not (look.words or look.phrases or look.excluded):
            return FactRanking([], 0)
        question = " ".join(query.words)
        if is_index_usable(self._db.conn, FACTS):
            try:
                with self._db.snapshot():
                    return self._rank_by_index(look, within, limit, question, most_ranked)
            except (errors.StoreError, *SQLITE_FAILURES) as error:
                note_index_trouble(self._db.conn, FACTS, error)
        # The terms that the index may have added to the words before it failed are part of the question all the same.
        ranked, total = scan_facts(self._db, look, within, question)
        return FactRanking(ranked[:limit], total, total > len(ranked), note=index_note(FACTS))

    def _rank_by_index(
        self, look: QueryTerms, within: Within, limit: int, question: str, most_ranked: int
    ) -> FactRanking:
        add_word_forms(look, Vocabulary(self._db, FACTS, within.ranges), within.languages)
        if look.question:
            add_synonyms(look)
        most = POSTINGS if look.question else LOOK_UP_POSTINGS
        postings = (
            [self._postings(look, word.expression(), within, most) for word in look.words]
            if len(look.words) > 1
            else []
        )
        exact, whole, with_all = [], True, 0  # type: tuple[list[Candidate], bool, int]
        if not look.question or all(hits.cut for hits in postings):  # else what has a rarer word is looked at anyway
            exact, whole = self._find_with_all_words(look, within, postings, limit)
        if look.question and look.words:
            ranked, complete = self._find_answers(look, within, postings, exact, most_ranked, question)
            whole = whole and complete
        elif look.words and whole and len(exact) < (min(MIN_EXACT_MATCHES, limit) if postings else limit):
            ranked, with_all, whole = self._find_with_prefixes(look, within, postings, exact, limit)
        else:
            ranked, with_all, whole = rank_exact(exact, look), len(exact), whole and not look.words
        return FactRanking(ranked[:limit], len(ranked), not whole, min(with_all, limit), meant=look.meant)

    def _find_with_all_words(
        self, look: QueryTerms, within: Within, postings: list[TermPostings], limit: int
    ) -> tuple[list[Candidate], bool]:
        """Find facts that have every word and phrase; also return whether these are all."""
        # Of one word the newest, those in the target and the hot ones are looked for each, so few of the newest suffice.
        most = max(NEWEST, limit) if len(look.words) + len(look.phrases) > 1 else limit
        pairs = list(zip(look.words, postings, strict=False))
        common = [word for word, hits in pairs if hits.share > COMMON]
        rarer = [(word, hits) for word, hits in pairs if hits.share <= COMMON]
        if not rarer or any(word.has_long_form for word in common):
            return self._newest(look, within, most)
        if not any(hits.cut for _, hits in rarer):
            keys, cut = sorted(set.intersection(*(set(hits.keys) for _, hits in rarer)), reverse=True), False
        elif common and len(rarer) > 1:
            facets = f" AND {within.narrow}" if within.narrow else ""
            required = look.match_expression([word for word, _ in rarer])
            keys, cut = self._hits(look.without_excluded(f"{required}{facets}"), within, NEWEST)
        else:
            return self._newest(look, within, most)
        # FTS5 would walk the list of a common word to intersect it; a few facts are quicker read than that.
        if cut or (common and len(keys) > NEWEST):
            return self._newest(look, within, most)
        candidates = self._candidates(keys[: 2 * most], within)
        for word in common:
            candidates = [
                candidate
                for candidate in candidates
                if any(term in word.terms for term in text_terms(candidate.target) + text_terms(candidate.content))
            ]
        return candidates, len(keys) <= 2 * most

    def _find_with_prefixes(
        self, look: QueryTerms, within: Within, postings: list[TermPostings], exact: list[Candidate], limit: int
    ) -> tuple[list[Candidate], int, bool]:
        """Find facts with every word or longer ones, then, when they are few, those with some of the words.

        Also returns how many the former are, and whether these are all.
        """
        whole, gained, last = True, False, len(look.words) - 1
        for at, word in enumerate(look.words):
            # A common word needs no longer ones, and their hits would have to be walked. Of several, the last may be still
            # being typed.
            is_known = bool(postings[at].keys if postings else exact)
            may_be_open = not is_known or (at == last and not (postings and postings[at].cut))
            if may_be_open and allow_prefix_matches(word, self._prefixes(look, within), is_known=is_known):
                gained = True
                if postings:
                    postings[at] = self._postings(look, word.expression(), within, LOOK_UP_POSTINGS)
        if gained:
            keys = {candidate.id for candidate in exact}
            opened, whole = self._find_with_all_words(look, within, postings, limit)
            for candidate in opened:
                candidate.fit = EXACT if candidate.id in keys else BEGINNING
            opened_keys = {candidate.id for candidate in opened}
            exact = [*(candidate for candidate in exact if candidate.id not in opened_keys), *opened]
        ranked = rank_exact(exact, look)
        if not ranked and not postings:
            postings = [TermPostings([], cut=False, share=0.0, rarity=0.0)]
        if not postings or len(ranked) >= min(MIN_EXACT_MATCHES, limit):
            return ranked, len(ranked), whole
        for at, word in enumerate(look.words):
            if not postings[at].keys:
                add_word_synonyms(word)
        self._add_near_hits(look, postings, within)
        scores = dict.fromkeys(self._find_phrases(look, within), 0.0) | sum_scores(postings)
        best = best_keys(scores, scores.keys() - {candidate.id for candidate in ranked})
        some = self._candidates(best[: 2 * limit], within)
        return ranked + rank_some(some, look, scores), len(ranked), whole and len(best) <= 2 * limit

    def _find_answers(
        self,
        look: QueryTerms,
        within: Within,
        postings: list[TermPostings],
        exact: list[Candidate],
        most: int,
        question: str,
    ) -> tuple[list[Candidate], bool]:
        """Find facts that share words with a question; also return whether these are all."""
        postings = postings or [self._postings(look, look.words[0].expression(), within)]
        for at, word in enumerate(look.words):
            if (word.is_character or not postings[at].keys) and (
                allow_particle_variants(word) or allow_prefix_matches(word, self._prefixes(look, within))
            ):
                postings[at] = self._postings(look, word.expression(), within)
        self._add_near_hits(look, postings, within)
        whole = [*(candidate.id for candidate in exact), *self._find_phrases(look, within)]
        scores = dict.fromkeys(whole, 0.0) | sum_scores(postings)
        best = best_keys(spread_scores(scores, LIKELY * most), scores)
        candidates = self._candidates(best[:most], within)
        ranked = rank_question(candidates, look, [hits.rarity for hits in postings], question)
        return ranked, len(scores) <= most and not any(hits.cut for hits in postings)

    def _newest(self, look: QueryTerms, within: Within, most: int) -> tuple[list[Candidate], bool]:
        required = look.match_expression(look.words)
        facets = within.narrow or within.live
        narrowed = look.without_excluded(f"{required} AND {facets}" if required else facets)
        candidates: list[Candidate] = []
        expression, cut = narrowed, True
        if required and within.narrow is None and not within.checked:
            # Most facts are live: checking the tier of each costs less than intersecting with all that are.
            expression = look.without_excluded(required)
            keys, cut = self._hits(expression, within, most * 3 // 2)
            candidates = self._candidates(keys, within)
        if cut and len(candidates) < most // 2:
            expression = narrowed
            keys, cut = self._hits(expression, within, most)
            candidates = self._candidates(keys, within)
        if cut and look.words:
            span = [(within.ranges[0][0], within.ranges[-1][1])]
            added, _ = self._hits(f'"{tier_facet(Tier.HOT)}" AND ({expression})', within, SELECT, span)
            if not look.words[0].opened:
                in_target = f"target : {look.words[0].expression()} AND ({expression})"
                added += self._hits(in_target, within, SELECT, span)[0]
            candidates += self._candidates(list(set(added) - {candidate.id for candidate in candidates}), within)
        return candidates, not cut

    def _find_phrases(self, look: QueryTerms, within: Within) -> list[int]:
        """Find the newest facts that contain every phrase of the query."""
        required = look.match_expression([])
        if required is None:
            return []
        facets = f" AND {within.narrow}" if within.narrow else ""
        return self._hits(look.without_excluded(required + facets), within, NEWEST)[0]

    def _postings(self, look: QueryTerms, expression: str, within: Within, most: int = POSTINGS) -> TermPostings:
        """Find the newest facts that match a word's expression and every phrase of the query, and what the word tells."""
        required = [to_fts_phrase(phrase) for phrase in look.phrases]
        expression = " AND ".join([*required, expression, *([within.narrow] if within.narrow else [])])
        keys, cut = self._hits(look.without_excluded(expression), within, most)
        total = max(1, sum(high - low for low, high in within.ranges))
        often = float(len(keys))
        if cut:
            often = max(often, often * total / max(1, self._count_walked(keys, within)))
        return TermPostings(keys, cut, often / total, inverse_document_frequency(often, total))

    def _add_near_hits(self, look: QueryTerms, postings: list[TermPostings], within: Within) -> None:
        """Add the newest facts that have a synonym of a word, or what was meant by one that nothing has."""
        unknown = [word for word, hits in zip(look.words, postings, strict=True) if not hits.keys]
        settle_near_terms(look, unknown, Vocabulary(self._db, FACTS, within.ranges))
        for at, (word, own) in enumerate(zip(look.words, postings, strict=True)):
            expression = word.near_expression()
            if expression is None or len(own.keys) >= ENOUGH:
                continue
            near = self._postings(look, expression, within, NEAR_POSTINGS)
            if near.keys and not own.keys:
                look.meant[word.text] = word.near_terms
            postings[at] = add_near_postings(word, own, near)

    def _count_walked(self, hits: Sequence[int], within: Within) -> int:
        """Count the ids passed to collect these hits, newest first in each range."""
        passed = 0
        for low, high in within.ranges:
            inside = [key for key in hits if low <= key <= high]
            passed += high - min(inside) + 1 if inside else high - low
        return passed

    def _hits(
        self, expression: str, within: Within, newest: int, ranges: Sequence[tuple[int, int]] | None = None
    ) -> tuple[list[int], bool]:
        """Find the ids of the newest matching facts, about `newest` over all ranges, and whether there are more."""
        places = within.ranges if ranges is None else ranges
        share = -(-newest // len(places))
        sql = HITS_CHECKED.format(within.where) if within.checked else HITS
        args = within.args if within.checked else []
        keys: list[int] = []
        cut = False
        for low, high in places:
            rows = self._db.kept_rows()(sql, (expression, low, high, *args, share))
            keys += [row[0] for row in rows]
            cut = cut or len(rows) == share
        return keys, cut

    def _prefixes(self, look: QueryTerms, within: Within) -> Callable[[str], list[str]]:
        """Return what finds the first terms in alphabetical order that begin like a word of the query."""
        vocabulary = Vocabulary(self._db, FACTS, within.ranges)
        return lambda start: vocabulary.beginning_with(start, MAX_PREFIX_TERMS // len(look.words) or 1)

    def _candidates(self, keys: Sequence[int], within: Within) -> list[Candidate]:
        if not keys:
            return []

        def load(missing: list[int]) -> dict[int, tuple[Any, ...] | None]:
            rows = self._db.rows(CANDIDATES.format(within.where), (json.dumps(sorted(missing)), *within.args))
            parts = {row[0]: (*row, text_terms(row[2]), text_terms(row[3])) for row in rows}
            return {**dict.fromkeys(missing), **parts}

        rows = self._db.load_kept(f"candidates {within.where} {within.args}", sorted(keys), load).values()
        now, candidates = int(self._clock()), [Candidate(*row) for row in rows if row is not None]
        for candidate in candidates:
            candidate.updated_at = min(candidate.updated_at, now)  # what is dated ahead is not the newest
        return candidates

    def _within(self, fact_filter: FactFilter, scope_ids: list[int] | None) -> Within:
        """Convert the filter to the terms of the index and of SQL."""
        tiers = sorted((fact_filter.tiers or frozenset(Tier)) - {Tier.WITHDRAWN})
        types = sorted(fact_filter.types)
        live = any_facet(map(tier_facet, tiers))
        narrow = [live]
        where = [f"f.tier IN ({', '.join(repr(tier.value) for tier in tiers)})"]
        if scope_ids is not None:
            narrow.append(any_facet(map(scope_facet, scope_ids)))
            where.append(f"f.scope_id IN ({', '.join(map(str, scope_ids))})")
        if types:
            narrow.append(any_facet(type_facet(kind.value) for kind in types))
            where.append(f"f.type IN ({', '.join(repr(kind.value) for kind in types)})")
        if fact_filter.target is not None and (terms := phrase_terms(fact_filter.target)):
            narrow.append("target : " + to_fts_phrase(terms))
        conditions, args = fact_pages.filter_conditions(self._names, fact_filter)
        usual = len(narrow) == 1 and fact_filter.tiers >= {Tier.HOT, Tier.COLD}
        return Within(
            ranges=self._ranges(fact_filter.themes),
            narrow=None if usual else " AND ".join(narrow),
            live=live,
            where=" AND ".join(where + conditions),
            args=args,
            checked=bool(conditions),
            languages=self._policies.search_languages(fact_filter.theme),
        )

    def _ranges(self, themes: Sequence[str]) -> list[tuple[int, int]]:
        """Return the id range of each of these themes' facts; of every theme's where none is named."""
        names = [self._names.find_theme_name(theme) for theme in themes]
        named = f" AND name IN ({', '.join('?' * len(names))})" if names else ""
        sql = f"SELECT id, last_fact FROM themes WHERE last_fact > 0{named} ORDER BY id"
        rows = self._db.kept_rows()(sql, tuple(names))
        ranges = [(key << THEME_SHIFT | 1, key << THEME_SHIFT | last) for key, last in rows]
        if len(ranges) > SEPARATE_THEMES:
            return [(min(low for low, _ in ranges), max(high for _, high in ranges))]
        return ranges


def any_facet(facets: Any) -> str:
    """Return an FTS5 expression for facts with one of these facets."""
    return "(" + " OR ".join(f'"{facet}"' for facet in facets) + ")"


def confine_filter(
    fact_filter: FactFilter, theme: str | None, scope: str | None, also: tuple[str, ...] = ()
) -> FactFilter | None:
    """Combine the line's filter with a theme and a scope; return None when nothing can match."""
    fact_filter = replace(fact_filter, theme=theme if theme is not None else fact_filter.theme, also=also)
    if scope is None:
        return fact_filter
    label = clean_query(scope).strip() or None
    if fact_filter.scopes and label not in fact_filter.scopes:
        return None
    return replace(fact_filter, scopes=frozenset({label}))
