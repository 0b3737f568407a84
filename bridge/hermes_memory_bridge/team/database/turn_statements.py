"""Statements to the team database for captured turns: they are pushed, pulled and erased, and never change.

They share the clock of their theme with its facts (see `team_server.py`), whose row lock orders the commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_bridge.team.database.team_server import (
    ANSWER_S,
    DATA_ERRORS,
    NOTIFY,
    TICK,
    TeamServer,
    to_clock_tick,
)
from hermes_memory_store.model import Uid
from hermes_memory_store.sync.shared_turns import MOST_CHARS, SharedTurnRow

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
class RemoteTurnPage:
    """Some turns of a theme, in order, and the sequence up to which they are complete."""

    rows: list[SharedTurnRow]
    upto: int
    more: bool


def push_turns(server: TeamServer, theme: str, node: str, rows: Sequence[SharedTurnRow], token: str) -> int:
    """Push turns and erasures in one statement; return the theme's sequence before it.

    :raises TeamError: the database cannot be used now
    :raises psycopg.Error: those of `DATA_ERRORS` name a turn that cannot be accepted
    """
    with server.limit_answer_time(ANSWER_S, telling=DATA_ERRORS):
        found = server.conn.execute(
            PUSH,
            {
                **to_clock_tick(theme, node, len(rows), token),
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


def pull_turns(server: TeamServer, theme: str, after: int, upto: int, *, live: bool = True) -> RemoteTurnPage:
    """Return the turns between two positions in a theme, in order.

    :param live: not only erased ones
    :raises TeamError: the database cannot be used now
    """
    asked = {"theme": theme, "after": after, "upto": upto, "live": live, "limit": PAGE, "chars": MOST_CHARS}
    found = server.rows(PULL, asked)
    rows = [to_turn_row(row) for row in found]
    if not rows or len(rows) == found[0][8] < PAGE:
        return RemoteTurnPage(rows, upto, more=False)
    return RemoteTurnPage(rows, found[-1][7], more=found[-1][7] < upto)


def fetch_turns(server: TeamServer, theme: str, wanted: Sequence[Uid]) -> list[SharedTurnRow]:
    """Return these turns, as far as they exist.

    :raises TeamError: the database cannot be used now
    """
    return [to_turn_row(row) for row in server.rows(NAMED, (theme, list(wanted)))]


def fetch_turn_states(server: TeamServer, theme: str) -> dict[Uid, bool]:
    """Return, for each existing turn, whether it was erased.

    :raises TeamError: the database cannot be used now
    """
    return {Uid(uid): state == 2 for uid, state in server.rows(STATES, (theme,))}


def to_turn_row(row: Sequence[object]) -> SharedTurnRow:
    """Return a row of `PULL` in the form the store takes, which validates it."""
    uid, node, session, role, content, at, state = row[:7]
    if state == 2:
        return SharedTurnRow(Uid(str(uid)), Uid(str(node)), True)
    return SharedTurnRow(Uid(str(uid)), Uid(str(node)), False, role, content, session, at)  # type: ignore[arg-type]
