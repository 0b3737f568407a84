"""Statements to the team database for captured turns: they are pushed, pulled and erased, and never change.

They share the clock of their theme with its facts (see `team_server.py`), whose row lock orders the commits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_bridge.team.database.team_server import (
    ANSWER_S,
    DATA_ERRORS,
    TeamServer,
    format_origin_column,
)
from hermes_memory_store.model import Uid
from hermes_memory_store.sync.shared_turns import MOST_CHARS, SharedTurnRow
from hermes_memory_store.sync.team_origins import to_unknown_teammate

PAGE = 500
"""Turns of one pull, of `MOST_CHARS` characters in all, or one: who takes them in must not keep others waiting."""

PUSH = """
SELECT hm.push_turns(
  %(theme)s, %(by)s, %(token)s, %(ids)s::uuid[], %(nodes)s::uuid[], %(sessions)s::text[], %(roles)s::text[], %(contents)s::text[],
  %(times)s::bigint[], %(states)s::smallint[], %(origins)s::text[], %(claims)s::text[]
)
"""

PULL = "SELECT * FROM hm.pull_turns(%(theme)s, %(after)s, %(upto)s, %(live)s, %(limit)s, %(chars)s)"

NAMED = "SELECT * FROM hm.find_turns(%s, %s::uuid[])"

STATES = "SELECT * FROM hm.list_turn_states(%s)"


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
                "theme": server.to_name(theme),
                "by": node,
                "token": token,
                "ids": [one.uid for one in rows],
                "nodes": [one.node for one in rows],
                "sessions": [one.session for one in rows],
                "roles": [None if one.erased else one.role for one in rows],
                "contents": [None if one.erased else one.content for one in rows],
                "times": [None if one.erased else one.at for one in rows],
                "states": [2 if one.erased else 0 for one in rows],
                "origins": [None if one.erased else format_origin_column(one.origin) for one in rows],
                "claims": server.list_claims(theme),
            },
        ).fetchone()
    assert found is not None
    return int(found[0])


def pull_turns(server: TeamServer, theme: str, after: int, upto: int, *, live: bool = True) -> RemoteTurnPage:
    """Return the turns between two positions in a theme, in order.

    :param live: not only erased ones
    :raises TeamError: the database cannot be used now
    """
    named = server.to_name(theme)
    asked = {"theme": named, "after": after, "upto": upto, "live": live, "limit": PAGE, "chars": MOST_CHARS}
    found = server.rows(PULL, asked)
    rows = [to_turn_row(row) for row in found]
    if not rows or len(rows) == found[0][10] < PAGE:
        return RemoteTurnPage(rows, upto, more=False)
    return RemoteTurnPage(rows, found[-1][9], more=found[-1][9] < upto)


def fetch_turns(server: TeamServer, theme: str, wanted: Sequence[Uid]) -> list[SharedTurnRow]:
    """Return these turns, as far as they exist.

    :raises TeamError: the database cannot be used now
    """
    return [to_turn_row(row) for row in server.rows(NAMED, (server.to_name(theme), list(wanted)))]


def fetch_turn_states(server: TeamServer, theme: str) -> dict[Uid, bool]:
    """Return, for each existing turn, whether it was erased.

    :raises TeamError: the database cannot be used now
    """
    return {Uid(uid): state == 2 for uid, state in server.rows(STATES, (server.to_name(theme),))}


def to_turn_row(row: Sequence[object]) -> SharedTurnRow:
    """Return a row of `PULL` in the form the store takes, which validates it."""
    uid, node, session, role, content, at, state, origin, pushed_by = row[:9]
    if state == 2:
        return SharedTurnRow(Uid(str(uid)), Uid(str(node)), True)
    came = None if origin is None else json.loads(str(origin))
    teammate = str(pushed_by or to_unknown_teammate(str(node)))
    return SharedTurnRow(Uid(str(uid)), Uid(str(node)), False, role, content, session, at, came, teammate)  # type: ignore[arg-type]
