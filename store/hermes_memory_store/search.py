"""Search: facts by words, and by filters, with a cost that does not grow with the store.

What is read is bounded at every step. A word's hits come off the end of its list, newest first, and only within the
theme; scope, tier and type are intersected by the index itself (see `fulltext.py`). Then a few hundred candidates are
ranked (see `ranking.py`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hermes_memory_store import errors, pages
from hermes_memory_store.asked import Asked, asked, exact_terms, in_a_row, open_up
from hermes_memory_store.clock import Clock
from hermes_memory_store.db import Db
from hermes_memory_store.fulltext import scope_facet, tier_facet, type_facet
from hermes_memory_store.model import Fact, FactFilter, Found, Query, Session, Sort, Tier
from hermes_memory_store.months import months_named
from hermes_memory_store.names import Names
from hermes_memory_store.query import clean, parse_query
from hermes_memory_store.ranking import Candidate, lend, rank_exact, rank_question, rarity_of
from hermes_memory_store.reads import Reads
from hermes_memory_store.schema import THEME_SHIFT

MAX_LIMIT = 1_000
"""Facts one search returns at most."""

NEWEST = 150
"""Hits that are ranked; of a word with more, the newest, those with it in the target, and the hot ones."""

POSTINGS = 300
"""Hits of one word of a question that are looked at."""

RANKED = 128
"""Facts of a question that are read and ranked."""

LONGER = 32
"""Longer words that a beginning stands for."""

SEPARATE_THEMES = 16
"""Up to so many themes are each searched newest first; of more, the range of all of them is walked as one."""

CANDIDATES = (
    "SELECT f.id, f.scope_id, f.target, f.content, f.tier, f.updated_at, f.created_at FROM json_each(?) j"
    " CROSS JOIN facts f ON f.id = j.value WHERE "
)

HITS = "SELECT rowid FROM facts_text WHERE facts_text MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?"

HITS_CHECKED = (
    "SELECT rowid FROM facts_text WHERE facts_text MATCH ? AND rowid BETWEEN ? AND ?"
    " AND EXISTS (SELECT 1 FROM facts f WHERE f.id = facts_text.rowid AND {}) ORDER BY rowid DESC LIMIT ?"
)


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

    @property
    def facets(self) -> str:
        return self.narrow or self.live


class Search:
    """Finds facts. It never writes; what was handed out is noted and written later (see `reads.py`)."""

    def __init__(self, db: Db, names: Names, reads: Reads, clock: Clock) -> None:
        self._db = db
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
    ) -> Found:
        """The facts that answer a search line, best first.

        :param theme: whose memory; None for all. One that nothing was written to is empty.
        :param query: a line in the search language (see `query.py`), or one already taken apart
        :param scope: confines the search to one scope, on top of the line's own filters
        :param limit: 1 to 1,000 facts
        :param session: the session that will be told, for the record
        :raises QueryError: for a filter value that means nothing
        :raises UnknownScope: for a scope that does not exist, with the nearest
        :raises ArgumentError: for another limit
        """
        checked_limit(limit)
        line = query if isinstance(query, str) else None
        taken = parse_query(query, theme=theme, now=self._clock()) if isinstance(query, str) else query
        wanted = confined(taken.filter, theme, scope)
        if wanted is None:
            return Found([], 0)
        scope_ids = self._names.scope_ids(wanted)
        if not taken.has_text:
            found = self._listed(wanted, limit)
        else:
            look = asked(taken.words, taken.phrases, taken.excluded)
            within = self._within(wanted, scope_ids)
            found = self._found(look, within, limit, taken) if within.ranges else Found([], 0)
        self._reads.note(
            "search", theme, found.facts, session=session, why=line, tokens=sum(f.tokens for f in found.facts)
        )
        return found

    def _listed(self, wanted: FactFilter, limit: int) -> Found:
        """Facts by filters alone, newest first."""
        page = pages.page(self._db, self._names, wanted, sort=Sort.UPDATED, descending=True, after=None, limit=limit)
        return Found(page.facts, page.total, page.total > len(page.facts))

    def _found(self, look: Asked, within: Within, limit: int, taken: Query) -> Found:
        if not look.words and not look.phrases and not look.excluded:
            return Found([], 0)
        keys, whole = self._with_all(look, within, max(NEWEST, limit))
        ranked = rank_exact(self._candidates(keys, within), look)
        if look.words and len(look.words) > 1 and (look.question or len(ranked) < limit):
            scored, complete = self._with_some(look, within, keys, max(RANKED, limit), taken)
            if look.question:
                ranked = scored
            else:
                seen = {one.id for one in ranked}
                ranked += [one for one in scored if one.id not in seen]
            whole = whole and complete
        facts = self._facts([one.id for one in ranked[:limit]])
        return Found(facts, max(len(ranked), len(facts)), not whole)

    def _with_all(self, look: Asked, within: Within, newest: int) -> tuple[list[int], bool]:
        """Ids of facts that have every word and phrase, and whether these are all there are."""
        keys, whole = self._newest(look, within, newest)
        if not whole or not look.words or look.question:
            return keys, whole
        gained = [open_up(word, self._beginnings) for word in look.words]
        return self._newest(look, within, newest) if any(gained) else (keys, whole)

    def _newest(self, look: Asked, within: Within, newest: int) -> tuple[list[int], bool]:
        required = look.required(look.words)
        expression = look.without_excluded(required or within.facets)
        if within.narrow is None and required and not within.checked:
            keys = self._hits(expression, within, newest)
            if len(keys) < newest:
                return keys, True
        narrowed = look.without_excluded(f"{required} AND {within.facets}" if required else within.facets)
        keys = self._hits(narrowed, within, newest)
        if len(keys) < newest:
            return keys, True
        if look.words:
            keys += self._hits(f"target : {look.words[0].expression()} AND ({narrowed})", within, newest // 2)
            keys += self._hits(f'"{tier_facet(Tier.HOT)}" AND ({narrowed})', within, newest // 2)
        return list(dict.fromkeys(keys)), False

    def _with_some(
        self, look: Asked, within: Within, keys: list[int], ranked: int, taken: Query
    ) -> tuple[list[Candidate], bool]:
        """Facts that have some of the words, those with the rarest first; whether these are all there are."""
        facets = f" AND {within.narrow}" if within.narrow else ""
        total = max(1, sum(high - low for low, high in within.ranges))
        scores: dict[int, float] = dict.fromkeys(keys, 0.0)
        rarity: list[float] = []
        whole = True
        for word in look.words:
            hits = self._hits(look.without_excluded(word.expression() + facets), within, POSTINGS)
            if not hits and look.question and open_up(word, self._beginnings):
                hits = self._hits(look.without_excluded(word.expression() + facets), within, POSTINGS)
            often = float(len(hits))
            if len(hits) >= POSTINGS:
                whole = False
                often = max(often, often * total / max(1, self._walked(hits, within)))
            rarity.append(rarity_of(often, total))
            for key in hits:
                scores[key] = scores.get(key, 0.0) + rarity[-1]
        lent = lend(scores)
        best = sorted(lent, key=lambda key: (-lent[key], -key))
        candidates = self._candidates(best[:ranked], within)
        return rank_question(candidates, look, rarity, months_named(" ".join(taken.words))), whole and len(
            best
        ) <= ranked

    def _walked(self, hits: Sequence[int], within: Within) -> int:
        """How many ids were passed to gather these hits, newest first in each range."""
        passed = 0
        for low, high in within.ranges:
            inside = [key for key in hits if low <= key <= high]
            passed += high - min(inside) + 1 if inside else high - low
        return passed

    def _hits(self, expression: str, within: Within, newest: int) -> list[int]:
        """Ids of the newest facts that match, at most `newest` over all ranges."""
        share = max(1, -(-newest // len(within.ranges)))
        sql = HITS_CHECKED.format(within.where) if within.checked else HITS
        args = within.args if within.checked else []
        return [
            row[0] for low, high in within.ranges for row in self._db.rows(sql, (expression, low, high, *args, share))
        ]

    def _beginnings(self, start: str) -> list[str]:
        """Index terms that begin with these characters, the first `LONGER` in alphabetical order."""
        found: dict[str, None] = {}
        after, end = start, start + "\U0010ffff"
        sql = "SELECT term FROM facts_words WHERE term >= ? AND term < ? LIMIT ?"
        rows = self._db.rows(sql, (after, end, 2 * LONGER))
        found.update((row[0], None) for row in rows)
        # One row for each place a term stands at: after a full answer, jump from term to term.
        while len(rows) > 0 and (len(rows) == 2 * LONGER or len(rows) == 1) and len(found) < LONGER:
            after = rows[-1][0] + "\x01"
            rows = self._db.rows(sql, (after, end, 1))
            found.update((row[0], None) for row in rows)
        return list(found)[:LONGER]

    def _candidates(self, keys: Sequence[int], within: Within) -> list[Candidate]:
        rows = self._db.rows(CANDIDATES + within.where, (json.dumps(list(keys)), *within.args))
        return [Candidate(*row) for row in rows]

    def _facts(self, keys: Sequence[int]) -> list[Fact]:
        return pages.fetched(self._db, self._names, keys)

    def _within(self, wanted: FactFilter, scope_ids: list[int] | None) -> Within:
        """The filter in the terms of the index and of SQL."""
        tiers = (wanted.tiers or frozenset(Tier)) - {Tier.WITHDRAWN}
        live = any_of(tier_facet(tier) for tier in sorted(tiers))
        narrow = [live]
        where = [f"f.tier IN ({', '.join(repr(tier.value) for tier in sorted(tiers))})"]
        if scope_ids is not None:
            narrow.append(any_of(scope_facet(key) for key in scope_ids))
            where.append(f"f.scope_id IN ({', '.join(map(str, scope_ids))})")
        if wanted.types:
            narrow.append(any_of(type_facet(kind.value) for kind in sorted(wanted.types)))
            where.append(f"f.type IN ({', '.join(repr(kind.value) for kind in sorted(wanted.types))})")
        if wanted.target is not None and (terms := exact_terms(wanted.target)):
            narrow.append("target : " + in_a_row(terms))
        conditions, args = pages.conditions(self._names, wanted)
        usual = len(narrow) == 1 and wanted.tiers >= {Tier.HOT, Tier.COLD}
        return Within(
            ranges=self._ranges(wanted.theme),
            narrow=None if usual else " AND ".join(narrow),
            live=live,
            where=" AND ".join(where + conditions),
            args=args,
            checked=bool(conditions),
        )

    def _ranges(self, theme: str | None) -> list[tuple[int, int]]:
        """Ids of the facts of a theme, or of each theme."""
        sql = "SELECT id, last_fact FROM themes WHERE last_fact > 0"
        rows = self._db.rows(sql + (" AND name = ?" if theme is not None else ""), () if theme is None else (theme,))
        ranges = [(key << THEME_SHIFT | 1, key << THEME_SHIFT | last) for key, last in rows]
        if len(ranges) > SEPARATE_THEMES:
            return [(min(low for low, _ in ranges), max(high for _, high in ranges))]
        return ranges


def any_of(facets: Any) -> str:
    """An expression for facts with one of these facets."""
    return "(" + " OR ".join(f'"{facet}"' for facet in facets) + ")"


def checked_limit(limit: int) -> None:
    """:raises ArgumentError: unless it is a whole number from 1 to `MAX_LIMIT`"""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise errors.ArgumentError(
            f"limit is a whole number from 1 to {MAX_LIMIT:,}, not {errors.shorten(limit)!r}", limit
        )


def confined(wanted: FactFilter, theme: str | None, scope: str | None) -> FactFilter | None:
    """The line's filter within a theme and a scope; None when they leave nothing."""
    wanted = replace(wanted, theme=theme if theme is not None else wanted.theme)
    if scope is None:
        return wanted
    label = clean(scope).strip() or None
    if wanted.scopes and label not in wanted.scopes:
        return None
    return replace(wanted, scopes=frozenset({label}))
