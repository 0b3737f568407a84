"""Queries to the team database for facts relevant to a query, and for what ranking must know of all others.

The database selects, and the store's own code ranks (see its `remote_facts.py`), so that a result is the same
wherever the facts are. Each step is bounded; no session state is left, so a pooler may share the connection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hermes_memory_bridge.team.database.team_server import TeamServer, to_postgres_array
from hermes_memory_bridge.team.database.team_states import DENIED, TeamError
from hermes_memory_store import uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.find.query_terms import QueryTerm, add_synonyms, to_query_terms
from hermes_memory_store.find.ranking import inverse_document_frequency
from hermes_memory_store.language.stemmer import IRREGULAR, stem_completions, stem_word
from hermes_memory_store.language.tokenizer import is_unspaced, split_runs
from hermes_memory_store.model import LIVE_TIERS, Query, Tier, Uid
from hermes_memory_store.remote.remote_facts import RemoteFact
from hermes_memory_store.sync.wire_format import scope_sync_uid

NEWEST = 300
"""Facts of one word: as many as a store looks at of its own."""

MOST = 5_000
"""Facts that have a word, among which the newest are looked for."""

MOST_RANKED = 400
"""Facts that are fetched to be ranked: those with the rarest words."""

MOST_COUNTED = 20_000
"""How far the facts of a theme are counted; how much a word tells hardly depends on more."""

EXTRA_NEAREST = 10
"""Nearest vectors beyond those wanted: halves of numbers order the last few otherwise than whole ones."""

SHORTEST_STEM = 3
"""Letters of a stem from which on it stands for all words that begin with it."""

SETTINGS = ("SET LOCAL hnsw.iterative_scan = relaxed_order", "SET LOCAL hnsw.ef_search = 100")
"""For this transaction alone. Only the index of a large theme heeds them."""

NEAREST = "SELECT * FROM hm.find_nearest(%(theme)s, %(kind)s, %(model)s, %(asked)s, %(limit)s)"

SIMILARITY_SQL = "SELECT * FROM hm.compare_vectors(%(theme)s, %(model)s, %(asked)s, %(ids)s::uuid[])"

MATCHING_SQL = """
SELECT n, array_agg(id::text), array_agg(bytes) FROM hm.worded(
  %(theme)s, %(kind)s, %(queries)s::text[], %(types)s::text[], %(tiers)s::text[], %(scopes)s::text[], %(newest)s, %(most)s
) GROUP BY n
"""

TOTAL = "SELECT hm.count_items(%s, %s, %s)"

FACTS = "SELECT * FROM hm.find_facts(%(theme)s, %(ids)s::uuid[])"

SCOPES = "SELECT * FROM hm.find_scopes(%s, %s::uuid[])"

NO_CLAIMS: Mapping[str, Sequence[str]] = {}

THEMES = "SELECT asked, theme FROM hm.list_themes(%s::text[], %s::text[])"


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """A query's unit vector, and its model: `name:384`."""

    model: str
    vector: Sequence[float]


@dataclass(frozen=True, slots=True)
class FactAnswers:
    """Relevant facts of one theme, and its semantic neighbours, best first, with their similarity."""

    theme: str
    facts: list[RemoteFact]
    near: list[tuple[Uid, float]]
    compared: dict[Uid, float]
    """Similarity of the others of these facts that have a vector, however far they are."""
    total: int
    scopes: list[str]


def find_remote_themes(
    server: TeamServer, named: Sequence[str] | None, claims: Mapping[str, Sequence[str]] = NO_CLAIMS
) -> dict[str, str]:
    """Return which of these themes the database has and shows to this role, with their names there; all when none is named.

    :param claims: what the projects of themes are recognised by; one that is another project's in the database is left out
    :raises TeamError: the database cannot be used now
    """
    arrays = [to_postgres_array(claims[theme]) if theme in claims else None for theme in named or ()]
    names = None if named is None else [server.to_name(theme) for theme in named]
    here = {server.to_name(theme): theme for theme in (server.names if named is None else named)}
    return {here.get(asked, asked): name for asked, name in server.rows(THEMES, (names, arrays))}


def find_fact_answers(
    server: TeamServer, theme: str, line: str, meant: QueryEmbedding | None, limit: int, floor: float, clock: Clock
) -> FactAnswers:
    """Query one theme.

    :param limit: maximum number of semantic neighbours
    :param floor: minimum similarity
    :raises TeamError: the database cannot be used now
    :raises QueryError: as `parse_query`
    """
    taken = parse_query(line, theme=theme, now=clock())
    total = min(MOST_COUNTED, server.value(TOTAL, (theme, "fact", MOST_COUNTED)) or 0)
    near = find_nearest_items(server, theme, "fact", meant, limit, floor)
    hits = find_matching_facts(server, theme, taken)
    best = select_rarest_facts(hits, total, keep=[uid for uid, _ in near or ()])
    rows = server.rows(FACTS, {"theme": theme, "ids": best}) if best else []
    similarities = compute_other_similarities(server, theme, meant, best, near)
    facts = [RemoteFact(Uid(uid), content, json.loads(attrs), between) for uid, content, attrs, between in rows]
    labels = [label for label in taken.filter.scopes if label]
    named = server.rows(SCOPES, (theme, [scope_sync_uid(theme, label) for label in labels])) if labels else []
    return FactAnswers(theme, facts, near or [], similarities, total, [label for (label,) in named])


def find_nearest_items(
    server: TeamServer, theme: str, kind: str, meant: QueryEmbedding | None, limit: int, floor: float
) -> list[tuple[Uid, float]] | None:
    """Find the nearest facts or turns, none below the floor; None where vectors cannot be compared."""
    if meant is None or server.schema.dimension != len(meant.vector):
        return None
    vector = format_pgvector(meant.vector)
    arguments = {"theme": theme, "kind": kind, "model": meant.model, "asked": vector, "limit": limit + EXTRA_NEAREST}
    try:
        rows = server.set_up(SETTINGS, NEAREST, arguments)
    except TeamError as error:
        if error.state.name != DENIED.name:
            raise
        return None  # words answer without
    close = [(Uid(uid), near) for uid, near in rows if near >= floor]
    return sorted(close, key=lambda pair: (-pair[1], tuple(-byte for byte in uids.parse_uid(pair[0]))))[:limit]


def compute_other_similarities(
    server: TeamServer,
    theme: str,
    meant: QueryEmbedding | None,
    found: Sequence[Uid],
    near: Sequence[tuple[Uid, float]] | None,
) -> dict[Uid, float]:
    """Return the similarity of those that were found beside the nearest, as far as they have vectors of that model."""
    missing = set(found) - {uid for uid, _ in near or ()}
    if meant is None or near is None or not missing:
        return {}
    arguments = {"theme": theme, "model": meant.model, "asked": format_pgvector(meant.vector), "ids": list(missing)}
    return {Uid(uid): near for uid, near in server.rows(SIMILARITY_SQL, arguments)}


def format_pgvector(vector: Sequence[float]) -> str:
    return "[" + ",".join(f"{value:.9g}" for value in vector) + "]"


def find_matching_facts(server: TeamServer, theme: str, taken: Query) -> list[list[Uid]]:
    """Find the newest facts that have each word, then those that have all."""
    queries = to_tsqueries(taken, theme, "fact")
    fact_filter = taken.filter
    usual = fact_filter.tiers >= LIVE_TIERS and not fact_filter.types and not fact_filter.scopes
    arguments = {
        "theme": theme,
        "kind": "fact",
        "queries": queries,
        "types": sorted(fact_filter.types) or None,
        # A store counts how often a word is over all tiers, unless a line asks for some.
        "tiers": None if usual else sorted((fact_filter.tiers or frozenset(Tier)) - {Tier.WITHDRAWN}),
        "scopes": [label or "" for label in fact_filter.scopes] or None,
        "newest": NEWEST,
        "most": MOST,
    }
    ids_by_query = {n: ids for n, ids, _ in server.rows(MATCHING_SQL, arguments)}
    return [ids_by_query.get(n, []) for n in range(1, len(queries) + 1)]


def select_rarest_facts(hits: Sequence[Sequence[Uid]], total: int, keep: Sequence[Uid]) -> list[Uid]:
    """Select the facts whose words are most significant, within one overall limit.

    Semantic neighbours are included anyway.
    """
    scores: dict[Uid, float] = {}
    for some in hits:
        weights = inverse_document_frequency(len(some), max(1, total))
        for uid in some:
            scores[uid] = scores.get(uid, 0.0) + weights
    best = sorted(scores, key=lambda uid: (scores[uid], uid), reverse=True)[:MOST_RANKED]
    return list(dict.fromkeys([*best, *keep]))


def to_tsqueries(taken: Query, theme: str, kind: str) -> list[str]:
    """Return one tsquery for each word of a line and one for all of them; an empty one when it has no text."""
    look = to_query_terms(taken.words, taken.phrases, taken.excluded)
    add_synonyms(look)
    words = [expression for word in look.words if (expression := to_word_tsquery(word))]
    phrases = [
        expression for phrase in taken.phrases if (expression := " & ".join(map(to_stem_prefix, split_runs(phrase))))
    ]
    if not words and not phrases:
        return [""] if not taken.has_text or look.excluded else []
    together = (
        [" & ".join(f"({expression})" for expression in [*words, *phrases])] if len(words) + len(phrases) > 1 else []
    )
    expressions = [*words, *phrases, *together]
    return [f"({expression}) & {to_theme_lexeme(theme, kind)}" for expression in expressions]


def to_theme_lexeme(theme: str, kind: str) -> str:
    """Return the lexeme that every fact of a theme has, or every turn."""
    return f"'@{'turn' if kind == 'turn' else ''}{hashlib.md5(theme.encode(), usedforsecurity=False).hexdigest()}'"


def to_word_tsquery(word: QueryTerm) -> str:
    """Return a tsquery for all forms of a word. Wider than the store's own terms, by which the results are ranked."""
    forms = {to_stem_prefix(word.text)}
    forms |= {to_stem_prefix(longer) for longer in stem_completions(word.text)}
    forms |= {f"'{other}'" for other, root in IRREGULAR.items() if stem_word(root) in word.terms}
    sequences = [(term,) for term in word.terms] + list(word.phrases)
    # A run without spaces has its own pairs among its terms, which its text stands for already.
    forms |= {
        " & ".join(map(to_stem_prefix, terms))
        for terms in sequences
        if not (is_unspaced(terms[0]) and all(term in word.text for term in terms))
    }
    return " | ".join(f"({form})" for form in sorted(forms))


def to_stem_prefix(word: str) -> str:
    """Return a common prefix: words of the same stem begin alike, except for a final `e`, `i` or `y`."""
    if is_unspaced(word):
        return " & ".join(f"'{letter}'" for letter in word)
    root = stem_word(word)
    if len(root) < SHORTEST_STEM:
        return f"('{word}' | '{root}' | '{root}s')"
    prefix = root[:-1] if len(root) > SHORTEST_STEM and root[-1] in "eiy" else root
    return f"'{prefix}':*" if word.startswith(prefix) else f"('{word}' | '{prefix}':*)"
