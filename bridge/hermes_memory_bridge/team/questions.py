"""What is asked of the team database to answer a question: the facts that may, and what ranking must know of all others.

The database chooses, the store's own code ranks (see `gathered.py` of the store), so that an answer is the same wherever the
facts lie. Each step is bounded; nothing is left in a session, so a pooler may lend the connection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_bridge.team.schema import RECALL
from hermes_memory_bridge.team.server import Server
from hermes_memory_bridge.team.states import DENIED, State, TeamError
from hermes_memory_store import uids
from hermes_memory_store.asked import Word, asked
from hermes_memory_store.clock import Clock
from hermes_memory_store.gathered import Foreign
from hermes_memory_store.model import LIVE_TIERS, Query, Tier, Uid
from hermes_memory_store.query import parse_query
from hermes_memory_store.ranking import rarity_of
from hermes_memory_store.stems import IRREGULAR, completions, stem
from hermes_memory_store.travelling import uid_of_scope
from hermes_memory_store.words import is_unspaced, runs

NEWEST = 300
"""Facts of one word: as many as a store looks at of its own."""

MOST = 5_000
"""Facts that have a word, among which the newest are looked for."""

TAKEN = 400
"""Facts that are fetched to be ranked: those with the rarest words."""

COUNTED = 20_000
"""How far the facts of a theme are counted; how much a word tells hardly depends on more."""

SPARE = 10
"""Nearest vectors beyond those wanted: halves of numbers order the last few otherwise than whole ones."""

SHORT = 3
"""Letters of a stem from which on it stands for all words that begin with it."""

OLD = State("old schema", "the team database is too old to be asked: its owner must run `team migrate`")

SETTINGS = ("SET LOCAL hnsw.iterative_scan = relaxed_order", "SET LOCAL hnsw.ef_search = 100")
"""For this transaction alone. Only the index of a large theme heeds them."""

NEAREST = """
SELECT v.id::text, 1 - (v.embedding::{place}.vector OPERATOR({place}.<=>) %(asked)s::{place}.vector)
FROM (
  SELECT id, embedding FROM hm.vector WHERE theme = %(theme)s AND model = %(model)s
  ORDER BY embedding OPERATOR({place}.<=>) %(rounded)s::{place}.halfvec LIMIT %(limit)s
) v
"""
"""A theme with an index of its own is looked through by it, any other is compared whole: no index spans several themes. What is
nearest is compared once more in full precision, as a store does; one parameter for both would be rounded for both."""

COMPARED = """
SELECT v.id::text, 1 - (v.embedding::{place}.vector OPERATOR({place}.<=>) %(asked)s::{place}.vector)
FROM hm.vector v WHERE v.theme = %(theme)s AND v.model = %(model)s AND v.id = ANY (%(ids)s::uuid[])
"""

WORDED = """
SELECT n, array_agg(id::text) FROM hm.worded(
  %(theme)s, %(queries)s::text[], %(types)s::text[], %(tiers)s::text[], %(scopes)s::text[], %(newest)s, %(most)s
) GROUP BY n
"""

TOTAL = """
SELECT count(*) FROM (SELECT id FROM hm.fact WHERE theme = %s ORDER BY id LIMIT %s) f
WHERE get_byte(uuid_send(id), 6) >> 4 <> 5
"""
"""By the key's index alone: scopes are known by the version of their uids, which are made of their labels."""

FACTS = """
WITH c AS (SELECT id, lag(id) OVER (ORDER BY id) AS before FROM unnest(%(ids)s::uuid[]) AS u (id))
SELECT f.id::text, f.content, f.attrs::text, (
  SELECT count(*) FROM (
    SELECT 1 FROM hm.fact n WHERE n.theme = %(theme)s AND n.id > c.before AND n.id < c.id AND n.kind = 'fact' LIMIT 2
  ) t
)
FROM c JOIN hm.fact f ON f.theme = %(theme)s AND f.id = c.id
WHERE f.kind = 'fact' AND f.state = 0 ORDER BY f.id
"""

SCOPES = "SELECT content FROM hm.fact WHERE theme = %s AND id = ANY (%s::uuid[]) AND kind = 'scope' AND state = 0"

THEMES = "SELECT theme FROM hm.clock WHERE theme = ANY (%s)"

ALL_THEMES = "SELECT theme FROM hm.clock ORDER BY theme"


@dataclass(frozen=True, slots=True)
class Meant:
    """A question's vector, of length one, and whose it is: `name:384`."""

    model: str
    vector: Sequence[float]


@dataclass(frozen=True, slots=True)
class Answers:
    """Facts of one theme that may answer, and those that are near in meaning, best first, with their similarity."""

    theme: str
    facts: list[Foreign]
    near: list[tuple[Uid, float]]
    compared: dict[Uid, float]
    """Similarity of the others of these facts that have a vector, however far they are."""
    total: int
    scopes: list[str]


def themes_there(server: Server, named: Sequence[str] | None) -> list[str]:
    """Which of these themes the database has and shows to this role; all of them when none is named. :raises TeamError:"""
    if server.schema.version < RECALL:
        raise TeamError(OLD)
    rows = server.rows(ALL_THEMES) if named is None else server.rows(THEMES, (list(named),))
    return [theme for (theme,) in rows]


def answers(
    server: Server, theme: str, line: str, meant: Meant | None, limit: int, floor: float, clock: Clock
) -> Answers:
    """Ask about one theme. :raises TeamError: QueryError: as `parse_query`

    :param limit: of those near in meaning
    :param floor: least similarity
    """
    taken = parse_query(line, theme=theme, now=clock())
    total = min(COUNTED, server.value(TOTAL, (theme, COUNTED)) or 0)
    near = nearest(server, theme, meant, limit, floor) if meant is not None else []
    hits = worded(server, theme, taken)
    best = rarest(hits, total, keep=[uid for uid, _ in near])
    rows = server.rows(FACTS, {"theme": theme, "ids": best}) if best else []
    close = {uid for uid, _ in near}
    others = compared(server, theme, meant, [uid for uid in best if uid not in close]) if meant and near else {}
    facts = [Foreign(Uid(uid), content, json.loads(attrs), between) for uid, content, attrs, between in rows]
    labels = [label for label in taken.filter.scopes if label]
    named = server.rows(SCOPES, (theme, [uid_of_scope(theme, label) for label in labels])) if labels else []
    return Answers(theme, facts, near, others, total, [label for (label,) in named])


def nearest(server: Server, theme: str, meant: Meant, limit: int, floor: float) -> list[tuple[Uid, float]]:
    """What is nearest in meaning, none below the floor; nothing where there are no vectors of that model."""
    if server.schema.dimension != len(meant.vector):
        return []
    asked = written(meant.vector)
    told = {"theme": theme, "model": meant.model, "asked": asked, "rounded": asked, "limit": limit + SPARE}
    try:
        found = server.set_up(SETTINGS, NEAREST.format(place=server.schema.place), told)
    except TeamError as error:
        if error.state.name != DENIED.name:
            raise
        return []  # words answer without
    close = [(Uid(uid), near) for uid, near in found if near >= floor]
    return sorted(close, key=lambda one: (-one[1], tuple(-byte for byte in uids.to_bytes(one[0]))))[:limit]


def compared(server: Server, theme: str, meant: Meant, wanted: Sequence[Uid]) -> dict[Uid, float]:
    """How near these are in meaning, as far as they have vectors of that model."""
    if not wanted:
        return {}
    told = {"theme": theme, "model": meant.model, "asked": written(meant.vector), "ids": list(wanted)}
    return {Uid(uid): near for uid, near in server.rows(COMPARED.format(place=server.schema.place), told)}


def written(vector: Sequence[float]) -> str:
    """A vector as PostgreSQL reads it."""
    return "[" + ",".join(f"{one:.9g}" for one in vector) + "]"


def worded(server: Server, theme: str, taken: Query) -> list[list[Uid]]:
    """The newest facts that have each word, then those that have all."""
    queries = queries_of(taken, theme)
    wanted = taken.filter
    usual = wanted.tiers >= LIVE_TIERS and not wanted.types and not wanted.scopes
    told = {
        "theme": theme,
        "queries": queries,
        "types": sorted(wanted.types) or None,
        # A store counts how often a word is over all tiers, unless a line asks for some.
        "tiers": None if usual else sorted((wanted.tiers or frozenset(Tier)) - {Tier.WITHDRAWN}),
        "scopes": [label or "" for label in wanted.scopes] or None,
        "newest": NEWEST,
        "most": MOST,
    }
    found = dict(server.rows(WORDED, told))
    return [found.get(n, []) for n in range(1, len(queries) + 1)]


def rarest(hits: Sequence[Sequence[Uid]], total: int, keep: Sequence[Uid]) -> list[Uid]:
    """The facts whose words tell most, all together; what is near in meaning is among them anyway."""
    scores: dict[Uid, float] = {}
    for some in hits:
        told = rarity_of(len(some), max(1, total))
        for uid in some:
            scores[uid] = scores.get(uid, 0.0) + told
    best = sorted(scores, key=lambda uid: (scores[uid], uid), reverse=True)[:TAKEN]
    return list(dict.fromkeys([*best, *keep]))


def queries_of(taken: Query, theme: str) -> list[str]:
    """One query for each word of a line and one for all of them, in PostgreSQL's language; an empty one when it has no text."""
    look = asked(taken.words, taken.phrases, taken.excluded)
    words = [one for word in look.words if (one := any_form(word))]
    phrases = [one for phrase in taken.phrases if (one := " & ".join(map(beginning, runs(phrase))))]
    if not words and not phrases:
        return [""] if not taken.has_text or look.excluded else []
    together = [" & ".join(f"({one})" for one in [*words, *phrases])] if len(words) + len(phrases) > 1 else []
    said = [*words, *phrases, *together]
    return [f"({one}) & {mark(theme)}" for one in said]


def mark(theme: str) -> str:
    """The word that every fact of a theme has."""
    return f"'@{hashlib.md5(theme.encode(), usedforsecurity=False).hexdigest()}'"


def any_form(word: Word) -> str:
    """All a word may look like. Wider than the store's own terms, by which what was found is ranked."""
    forms = {beginning(word.text)}
    forms |= {beginning(longer) for longer in completions(word.text)}
    forms |= {f"'{other}'" for other, root in IRREGULAR.items() if stem(root) in word.terms}
    forms |= {beginning(term) for term in word.terms if not is_unspaced(term)}
    forms |= {" & ".join(map(beginning, phrase)) for phrase in word.phrases if not is_unspaced(phrase[0])}
    return " | ".join(f"({one})" for one in sorted(forms))


def beginning(word: str) -> str:
    """Words of the same stem begin alike, but for a last `e`, `i` or `y`."""
    if is_unspaced(word):
        return " & ".join(f"'{letter}'" for letter in word)
    root = stem(word)
    if len(root) < SHORT:
        return f"('{word}' | '{root}' | '{root}s')"
    begun = root[:-1] if len(root) > SHORT and root[-1] in "eiy" else root
    return f"'{begun}':*" if word.startswith(begun) else f"('{word}' | '{begun}':*)"
