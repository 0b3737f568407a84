"""Collection of tombstones and push marks.

Removes deleted rows that every store has long seen, and the marks of old pushes. Purged rows are never collected.
A store that comes back after years may still hold what was purged, and only the row that says so erases it there;
it has no content and costs some hundred bytes.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.errors import LockNotAvailable

from hermes_memory_bridge.team.database.lock_holders import RELEASE, ThemeHolder, to_held_state
from hermes_memory_bridge.team.database.team_schema import LOCK_TIMEOUT, verify_team_schema
from hermes_memory_bridge.team.database.team_states import TeamError, TeamState
from hermes_memory_store.errors import ArgumentError

NOBODY = uuid.UUID(int=0)
"""Node of the marks that collecting and repairing leave."""

# The clock of the theme is locked first, as by a push, so that no reader steps over what is collected.
LOCK = "SELECT seq FROM hm.clock WHERE theme = %(theme)s FOR UPDATE"

TRIES = 10
"""How often the lock is waited for: longer than a member may hold it."""

HORIZON = """
SELECT max(seq) FROM hm.mark WHERE theme = %(theme)s AND at < now() - make_interval(days => %(days)s)
"""

DELETED = "DELETE FROM hm.item WHERE theme = %(theme)s AND state = 1 AND seq <= %(upto)s"

ORPHANS = """
DELETE FROM hm.conflict c WHERE theme = %(theme)s AND NOT EXISTS (SELECT FROM hm.item f WHERE f.theme = c.theme AND f.id = c.id)
"""

# The mark at the horizon stays, since whoever has seen all before it may stand on it; and each node's last one, by which a
# copy of its store is known.
MARKS = """
DELETE FROM hm.mark m WHERE theme = %(theme)s AND seq < %(upto)s
  AND EXISTS (SELECT 1 FROM hm.mark n WHERE n.theme = m.theme AND n.node = m.node AND n.seq > m.seq)
"""

# A change of its own, so that every store hears how far was collected.
TICK = """
WITH c AS (UPDATE hm.clock SET seq = seq + 1, gc_seq = %(upto)s WHERE theme = %(theme)s RETURNING seq)
INSERT INTO hm.mark (theme, seq, token, node) SELECT %(theme)s, seq, %(token)s, %(nobody)s FROM c
"""


@dataclass(frozen=True, slots=True)
class CollectedTheme:
    theme: str
    rows: int
    marks: int


def collect_tombstones(dsn: str, *, days: int) -> list[CollectedTheme]:
    """Remove rows deleted at least that many days ago, theme by theme, as the owner of the tables. Idempotent.

    :raises TeamError: the database is of another version, or somebody holds a theme and cannot be disconnected
    """
    if days < 1:
        raise ArgumentError(f"--days must be at least 1, not {days}", days)
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None, connect_timeout=10) as conn:
        verify_team_schema(conn)
        conn.execute("SELECT set_config('lock_timeout', %s, false)", (LOCK_TIMEOUT,))
        themes = [theme for (theme,) in conn.execute("SELECT theme FROM hm.clock ORDER BY theme").fetchall()]
        collections = [collect_when_released(conn, theme, days) for theme in themes]
    return [collected for collected in collections if collected.rows or collected.marks]


def collect_when_released(conn: psycopg.Connection[Any], theme: str, days: int) -> CollectedTheme:
    """Collect the tombstones of one theme, once nobody else holds it.

    :raises TeamError: somebody holds it, and cannot be disconnected
    """
    holders: list[ThemeHolder] = []
    for _ in range(TRIES):
        try:
            return collect_theme_tombstones(conn, theme, days)
        except LockNotAvailable:
            holders = [ThemeHolder(*row) for row in conn.execute(RELEASE, (theme, None)).fetchall()]
    state = to_held_state(holders)
    raise TeamError(TeamState(state.name, f"theme {theme}: {state.words}"))


def collect_theme_tombstones(conn: psycopg.Connection[Any], theme: str, days: int) -> CollectedTheme:
    """Collect the tombstones of one theme in one transaction."""
    with conn.transaction():
        named: dict[str, Any] = {"theme": theme, "days": days}
        conn.execute(LOCK, named)
        row = conn.execute(HORIZON, named).fetchone()
        if row is None or row[0] is None:
            return CollectedTheme(theme, 0, 0)
        named |= {"upto": row[0], "token": uuid.uuid4(), "nobody": NOBODY}
        rows, marks = conn.execute(DELETED, named).rowcount, conn.execute(MARKS, named).rowcount
        conn.execute(ORPHANS, named)
        if rows or marks:
            conn.execute(TICK, named)
        return CollectedTheme(theme, rows, marks)
