"""What is said to the team database of captured turns: they are sent, pulled and erased, and never change.

They share the clock of their theme with its facts (see `server.py`), whose row lock orders the commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_bridge.team.server import ANSWER_S, DATA_ERRORS, NOTIFY, TICK, Server, tick
from hermes_memory_store.model import Uid
from hermes_memory_store.shared_turns import MOST_CHARS, TurnRow

PAGE = 500
"""Turns of one pull, of `MOST_CHARS` characters in all, or one: who takes them in must not keep others waiting."""

PUSH = f"""
{TICK}, w AS (
  INSERT INTO hm.turn AS h (theme, id, session, role, content, said_at, state, node, seq)
  SELECT %(theme)s, u.id, u.session, u.role, u.content, u.said_at, u.state, u.node, c.base + u.n
  FROM c, unnest(
    %(ids)s::uuid[], %(nodes)s::uuid[], %(sessions)s::text[], %(roles)s::text[], %(contents)s::text[], %(times)s::bigint[],
    %(states)s::smallint[]
  ) WITH ORDINALITY AS u (id, node, session, role, content, said_at, state, n)
  ON CONFLICT (theme, id) DO UPDATE SET session = NULL, role = NULL, content = NULL, said_at = NULL, state = 2,
    seq = excluded.seq
  WHERE excluded.state = 2 AND h.state = 0
)
SELECT c.base, {NOTIFY} FROM c
"""

PULL = """
WITH p AS MATERIALIZED (
  SELECT *, sum(coalesce(length(content), 0)) OVER (ORDER BY seq) - coalesce(length(content), 0) AS before
  FROM (
    SELECT id, node, session, role, content, said_at, state, seq FROM hm.turn
    WHERE theme = %(theme)s AND seq > %(after)s AND seq <= %(upto)s AND (state = 2 OR %(live)s) ORDER BY seq LIMIT %(limit)s
  ) q
)
SELECT id::text, node::text, session, role, content, said_at, state, seq, (SELECT count(*) FROM p)
FROM p WHERE before <= %(chars)s ORDER BY seq
"""

NAMED = """
SELECT id::text, node::text, session, role, content, said_at, state FROM hm.turn WHERE theme = %s AND id = ANY (%s::uuid[])
ORDER BY seq
"""

STATES = "SELECT id::text, state FROM hm.turn WHERE theme = %s"


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
                "nodes": [one.node for one in rows],
                "sessions": [one.session for one in rows],
                "roles": [None if one.erased else one.role for one in rows],
                "contents": [None if one.erased else one.content for one in rows],
                "times": [None if one.erased else one.at for one in rows],
                "states": [2 if one.erased else 0 for one in rows],
            },
        ).fetchone()
    assert found is not None
    return int(found[0])


def pull(server: Server, theme: str, after: int, upto: int, *, live: bool = True) -> TurnPage:
    """The turns between two places in a theme, in order. :param live: not only those that were erased :raises TeamError:"""
    asked = {"theme": theme, "after": after, "upto": upto, "live": live, "limit": PAGE, "chars": MOST_CHARS}
    found = server.rows(PULL, asked)
    rows = [turn_of(row) for row in found]
    if not rows or len(rows) == found[0][8] < PAGE:
        return TurnPage(rows, upto, more=False)
    return TurnPage(rows, found[-1][7], more=found[-1][7] < upto)


def named(server: Server, theme: str, wanted: Sequence[Uid]) -> list[TurnRow]:
    """These turns, as far as they are there. :raises TeamError:"""
    return [turn_of(row) for row in server.rows(NAMED, (theme, list(wanted)))]


def states(server: Server, theme: str) -> dict[Uid, bool]:
    """Whether each turn that is there was erased. :raises TeamError:"""
    return {Uid(uid): state == 2 for uid, state in server.rows(STATES, (theme,))}


def turn_of(row: Sequence[object]) -> TurnRow:
    """A row of `PULL` as the store takes it, which looks at what it says."""
    uid, node, session, role, content, at, state = row[:7]
    if state == 2:
        return TurnRow(Uid(str(uid)), Uid(str(node)), True)
    return TurnRow(Uid(str(uid)), Uid(str(node)), False, role, content, session, at)  # type: ignore[arg-type]
