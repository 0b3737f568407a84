"""What is said to the team database of captured turns: they are sent, pulled and erased, and never change.

They share the clock of their theme with its facts (see `server.py`), whose row lock orders the commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_bridge.team.server import ANSWER_S, DATA_ERRORS, NOTIFY, TICK, Server, tick
from hermes_memory_store.model import Uid
from hermes_memory_store.shared_turns import TurnRow

PAGE = 500
"""Turns of one pull: each may be long."""

PUSH = f"""
{TICK}, w AS (
  INSERT INTO hm.turn AS h (theme, id, session, role, content, said_at, state, node, seq)
  SELECT %(theme)s, u.id, u.session, u.role, u.content, u.said_at, u.state, %(by)s, c.base + u.n
  FROM c, unnest(
    %(ids)s::uuid[], %(sessions)s::text[], %(roles)s::text[], %(contents)s::text[], %(times)s::bigint[], %(states)s::smallint[]
  ) WITH ORDINALITY AS u (id, session, role, content, said_at, state, n)
  ON CONFLICT (theme, id) DO UPDATE SET session = NULL, role = NULL, content = NULL, said_at = NULL, state = 2,
    node = excluded.node, seq = excluded.seq
  WHERE excluded.state = 2 AND h.state = 0
)
SELECT c.base, {NOTIFY} FROM c
"""

PULL = """
WITH c AS MATERIALIZED (SELECT seq FROM hm.clock WHERE theme = %(theme)s),
p AS MATERIALIZED (
  SELECT id, session, role, content, said_at, state, seq FROM hm.turn
  WHERE theme = %(theme)s AND seq > %(after)s ORDER BY seq LIMIT %(limit)s
)
SELECT CASE WHEN (SELECT count(*) FROM p) < %(limit)s THEN c.seq ELSE (SELECT max(seq) FROM p) END,
       p.id::text, p.session, p.role, p.content, p.said_at, p.state
FROM c LEFT JOIN p ON true ORDER BY p.seq
"""


@dataclass(frozen=True, slots=True)
class TurnPage:
    """Some turns of a theme, in order, and the sequence up to which they are all."""

    rows: list[TurnRow]
    upto: int
    more: bool


def push(server: Server, theme: str, node: str, rows: Sequence[TurnRow], token: str) -> int:
    """Send turns and erasures, in one statement; the theme's sequence before it.

    :raises TeamError: psycopg.Error: those of `DATA_ERRORS` name a turn that cannot be taken
    """
    with server.answering(ANSWER_S, telling=DATA_ERRORS):
        found = server.conn.execute(
            PUSH,
            {
                **tick(theme, node, len(rows), token),
                "ids": [one.uid for one in rows],
                "sessions": [one.session for one in rows],
                "roles": [None if one.erased else one.role for one in rows],
                "contents": [None if one.erased else one.content for one in rows],
                "times": [None if one.erased else one.at for one in rows],
                "states": [2 if one.erased else 0 for one in rows],
            },
        ).fetchone()
    assert found is not None
    return int(found[0])


def pull(server: Server, theme: str, after: int, limit: int = PAGE) -> TurnPage:
    """The turns after a place in a theme, in order. :raises TeamError:"""
    found = server.rows(PULL, {"theme": theme, "after": after, "limit": limit})
    if not found:
        return TurnPage([], after, more=False)
    rows = [turn_of(row) for row in found if row[1] is not None]
    return TurnPage(rows, max(after, found[0][0]), more=len(rows) == limit)


def turn_of(row: Sequence[object]) -> TurnRow:
    """A row of `PULL` as the store takes it, which looks at what it says."""
    _, uid, session, role, content, at, state = row
    if state == 2:
        return TurnRow(Uid(str(uid)), True)
    return TurnRow(Uid(str(uid)), False, role, content, session, at)  # type: ignore[arg-type]
