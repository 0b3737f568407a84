"""What is asked of the team database for what was said: the turns that may answer, and those said around them.

As `questions.py` asks for facts: the database chooses, the store's own code ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

from hermes_memory_bridge.team.questions import COUNTED, MOST, NEWEST, OLD, queries_of, rarest
from hermes_memory_bridge.team.schema import TURNS
from hermes_memory_bridge.team.server import Server
from hermes_memory_bridge.team.states import TeamError
from hermes_memory_store import uids
from hermes_memory_store.asked import asked
from hermes_memory_store.clock import Clock
from hermes_memory_store.gathered_turns import ForeignTurn
from hermes_memory_store.portable import SaidTurn
from hermes_memory_store.query import parse_query
from hermes_memory_store.ranking import NEAR
from hermes_memory_store.turns import plain

TAKEN = 120
"""Turns that are fetched for their words: half as many again as a store ranks."""

READ = 20_000
"""Characters of a turn that are fetched: ten times what recall shows."""

WORDED = """
SELECT n, array_agg(id::text) FROM hm.turns_worded(%(theme)s, %(queries)s::text[], %(newest)s, %(most)s) GROUP BY n
"""

TOTAL = "SELECT count(*) FROM (SELECT id FROM hm.turn WHERE theme = %s ORDER BY id LIMIT %s) t"

AROUND = """
WITH a AS (
  SELECT DISTINCT b.id FROM unnest(%(ids)s::uuid[]) AS u (id), LATERAL (
    (SELECT t.id FROM hm.turn t WHERE t.theme = %(theme)s AND t.id >= u.id AND t.state = 0 ORDER BY t.id LIMIT %(far)s + 1)
    UNION ALL
    (SELECT t.id FROM hm.turn t WHERE t.theme = %(theme)s AND t.id < u.id AND t.state = 0 ORDER BY t.id DESC LIMIT %(far)s)
  ) b
), c AS (SELECT id, lag(id) OVER (ORDER BY id) AS before FROM a)
SELECT t.id::text, t.session, t.role, left(t.content, %(read)s), t.said_at, (
  SELECT count(*) FROM (
    SELECT 1 FROM hm.turn n WHERE n.theme = %(theme)s AND n.id > c.before AND n.id < c.id AND n.state = 0 LIMIT 2
  ) s
)
FROM c JOIN hm.turn t ON t.theme = %(theme)s AND t.id = c.id WHERE t.state = 0 ORDER BY t.id
"""
"""In the order of their uids, which is that of capturing on each machine."""


@dataclass(frozen=True, slots=True)
class TurnAnswers:
    """Turns of one theme that may answer."""

    turns: list[ForeignTurn]
    total: int


def turn_answers(server: Server, theme: str, line: str, clock: Clock) -> TurnAnswers:
    """Ask about one theme. :raises TeamError: QueryError: as `parse_query`"""
    if server.schema.version < TURNS:
        raise TeamError(OLD)
    taken = parse_query(plain(line), theme=theme, now=clock())
    look = asked(taken.words, taken.phrases, taken.excluded)
    queries = [one for one in queries_of(taken, theme) if one]
    total = min(COUNTED, server.value(TOTAL, (theme, COUNTED)) or 0)
    if not queries or not total:
        return TurnAnswers([], total)
    told = {"theme": theme, "queries": queries, "newest": NEWEST, "most": MOST}
    ids = rarest([found for _, found in server.rows(WORDED, told)], total, ())[:TAKEN]
    # A question may be answered by what was said next to what shares its words.
    far = max(NEAR) if look.question and not look.phrases and not look.excluded else 0
    rows = server.rows(AROUND, {"theme": theme, "ids": ids, "far": far, "read": READ})
    return TurnAnswers(
        [
            ForeignTurn(SaidTurn(uids.to_bytes(uid), session, role, content, at), between)
            for uid, session, role, content, at, between in rows
        ],
        total,
    )
