"""Who keeps others from writing to a theme, or the owner from its tables, by a transaction that is left open.

A member's push holds its theme until his transaction ends, and his program decides when. Machines that wait for it call
`hm.release`, which disconnects him when he holds the theme for longer than any push takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.errors import LockNotAvailable

from hermes_memory_bridge.team.database.team_states import HELD, TeamError, TeamState
from hermes_memory_store.safe_text import to_printable

RELEASE = "SELECT * FROM hm.release(%s, %s::text[])"

TABLE_USERS = """
SELECT coalesce(a.usename, '?')::text, extract(epoch FROM clock_timestamp() - max(a.xact_start))::int
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a ON a.pid = l.pid
WHERE c.relnamespace = 'hm'::regnamespace AND l.granted AND l.pid <> pg_backend_pid()
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
GROUP BY 1 ORDER BY 1
"""
"""The time is known of roles whose statistics this one may read."""


@dataclass(frozen=True, slots=True)
class ThemeHolder:
    """A member whose transaction holds a theme."""

    role: str
    seconds: int
    """Since when somebody waits for him."""
    ended: bool | None
    """Whether he was disconnected; None while he holds it no longer than a push may."""


def to_held_state(holders: Sequence[ThemeHolder]) -> TeamState:
    """Return the state of a theme that is held by these members; by nobody who is known, where there are none."""
    descriptions = [describe_holder(holder) for holder in {holder.role: holder for holder in holders}.values()]
    return TeamState(HELD.name, f"{'; '.join(descriptions)}; what is written waits") if descriptions else HELD


def describe_holder(holder: ThemeHolder) -> str:
    """Say who held a theme for how long, and what can be done."""
    role = to_printable(holder.role)
    if holder.ended:
        return f"{role} held this theme for {holder.seconds} s and was disconnected; `team revoke {role}` keeps him out"
    words = f"{role} has held this theme for {holder.seconds} s"
    if holder.ended is None:
        return words
    return f"{words}, and the owner of the team database may not disconnect him: `team revoke {role}` as a superuser ends it"


@contextmanager
def name_table_users(conn: psycopg.Connection[Any], so: str) -> Iterator[None]:
    """Say who uses the tables of the team in an open transaction when a lock is not to be had.

    :param so: what follows from it
    :raises TeamError: names them
    """
    try:
        yield
    except LockNotAvailable:
        conn.rollback()
        rows = conn.execute(TABLE_USERS).fetchall()
        names = [to_printable(role) + ("" if seconds is None else f" (for {seconds} s)") for role, seconds in rows]
        users = ", ".join(names) or "somebody"
        words = f"the tables of the team database are in use by {users}, so {so}: run this again; `team revoke ROLE` ends a use"
        raise TeamError(TeamState("slow", words)) from None
