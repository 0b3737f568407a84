"""Queries to the team database for captured messages: the relevant turns, and those around them.

As in `fact_queries.py`, the database selects by words and by meaning, and the store's own code ranks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.search.fact_queries import (
    MATCHING_SQL,
    MOST,
    MOST_COUNTED,
    NEWEST,
    TOTAL,
    QueryEmbedding,
    compute_other_similarities,
    find_nearest_items,
    select_rarest_facts,
    to_tsqueries,
)
from hermes_memory_store.clock import Clock
from hermes_memory_store.conversations.turns import to_plain_query
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.find.query_terms import to_query_terms
from hermes_memory_store.find.ranking import NEIGHBOUR_SHARE
from hermes_memory_store.model import Uid
from hermes_memory_store.remote.remote_facts import RemoteTurn
from hermes_memory_store.sync.shared_turns import to_portable_turn

TAKEN = 120
"""Turns that are fetched for their words: half as many again as a store ranks."""

READ = 20_000
"""Characters of a turn that are fetched: ten times what recall shows. A word behind them is not found so."""

READ_BESIDE = 4_000
"""Characters of a turn that stands beside one with the words, or is near in meaning: as many as ranking and a vector take."""

MOST_BYTES = 600_000
"""Of the turns with the words, all together; one may be longer."""

AROUND = (
    "SELECT * FROM hm.find_turns_around(%(theme)s, %(ids)s::uuid[], %(near)s::uuid[], %(far)s, %(read)s, %(beside)s)"
)
"""In the order of the theme's clock, in which a machine that pulls them numbers them."""


@dataclass(frozen=True, slots=True)
class TurnAnswers:
    """Relevant turns of one theme, and its semantic neighbours, best first, with their similarity."""

    turns: list[RemoteTurn]
    near: list[tuple[Uid, float]]
    compared: dict[Uid, float]
    """Similarity of the others of these turns that have a vector, however far they are."""
    total: int


def find_turn_answers(
    server: TeamServer, theme: str, line: str, meant: QueryEmbedding | None, limit: int, floor: float, clock: Clock
) -> TurnAnswers:
    """Query one theme.

    :param limit: maximum number of semantic neighbours
    :param floor: minimum similarity
    :raises TeamError: the database cannot be used now
    :raises QueryError: as `parse_query`
    """
    taken = parse_query(to_plain_query(line), theme=theme, now=clock())
    look = to_query_terms(taken.words, taken.phrases, taken.excluded)
    queries = [expression for expression in to_tsqueries(taken, theme, "turn") if expression]
    total = min(MOST_COUNTED, server.value(TOTAL, (theme, "turn", MOST_COUNTED)) or 0)
    near = find_nearest_items(server, theme, "turn", meant, limit, floor) if total else None
    if not total or not (queries or near):
        return TurnAnswers([], [], {}, total)
    filters = {"types": None, "tiers": None, "scopes": None, "newest": NEWEST, "most": MOST}
    arguments = {"theme": theme, "kind": "turn", "queries": queries, **filters}
    hits = server.rows(MATCHING_SQL, arguments) if queries else []
    ids = limit_by_size(
        select_rarest_facts([uids for _, uids, _ in hits], total, ())[:TAKEN],
        {uid: size for _, uids, sizes in hits for uid, size in zip(uids, sizes, strict=True)},
    )
    # A question may be answered by what was said next to what shares its words.
    far = max(NEIGHBOUR_SHARE) if look.question and not look.phrases and not look.excluded else 0
    close = [uid for uid, _ in near or ()]
    read_arguments = {"theme": theme, "ids": ids, "near": close, "far": far, "read": READ, "beside": READ_BESIDE}
    rows = server.rows(AROUND, read_arguments)
    similarities = compute_other_similarities(server, theme, meant, [Uid(row[0]) for row in rows], near)
    return TurnAnswers(
        [
            RemoteTurn(to_portable_turn(uid, content, json.loads(attrs)), between)
            for uid, content, attrs, between in rows
        ],
        near or [],
        similarities,
        total,
    )


def limit_by_size(ids: Sequence[Uid], sizes: Mapping[Uid, int]) -> list[Uid]:
    """Return the first ids whose total size can be fetched while somebody waits, and at least one."""
    sums = accumulate(min(READ, sizes[uid]) for uid in ids)
    return [uid for place, (uid, so_far) in enumerate(zip(ids, sums, strict=True)) if not place or so_far <= MOST_BYTES]
