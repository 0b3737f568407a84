"""Repair what programs and roles of before left in the database, when every role could write its tables.

Nothing that says something is removed: a stamp of the future becomes one of now, a counter counts on behind what there is, a
purged row is emptied of what was left in it. Idempotent.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import psycopg

from hermes_memory_bridge.team.database.lock_holders import name_table_users
from hermes_memory_bridge.team.database.team_schema import LOCK_TIMEOUT, verify_team_schema
from hermes_memory_bridge.team.database.team_states import SKEW_MS
from hermes_memory_bridge.team.database.tombstone_collection import NOBODY

MOST_AHEAD = 1 << 40
"""Pushes that a counter may be ahead of its rows before it counts as set: at a thousand rows a second, 34 years."""

IS_TOO_LARGE = (
    "(octet_length(content) > 409600 OR pg_column_size(attrs) > 65536 OR pg_column_size(origin) > 65536) IS TRUE"
)
"""Such a row can be purged, and not be changed otherwise."""

STORED = """
SELECT c.theme, c.seq, greatest(
  (SELECT max(seq) FROM hm.item i WHERE i.theme = c.theme), (SELECT max(seq) FROM hm.mark m WHERE m.theme = c.theme), 0
) FROM hm.clock c ORDER BY c.theme FOR UPDATE OF c
"""

SET_COUNTER = "UPDATE hm.clock SET seq = %(seq)s, gc_seq = least(gc_seq, %(seq)s) WHERE theme = %(theme)s"

# Under numbers of their own, so that every store sees them again; no row is behind the newest mark.
STAMP_AGAIN = f"""
WITH late AS (
  SELECT theme, id, row_number() OVER (ORDER BY hlc) AS n FROM hm.item
  WHERE theme = %(theme)s AND NOT {IS_TOO_LARGE}
    AND hlc >> 16 > (extract(epoch FROM clock_timestamp()) * 1000)::bigint + {SKEW_MS}
), c AS (
  UPDATE hm.clock SET seq = seq + (SELECT count(*) FROM late) WHERE theme = %(theme)s
  RETURNING seq, seq - (SELECT count(*) FROM late) AS base
), m AS (
  INSERT INTO hm.mark (theme, seq, token, node) SELECT %(theme)s, seq, gen_random_uuid(), %(nobody)s FROM c WHERE seq > base
)
UPDATE hm.item f SET hlc = ((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 16) + late.n, seq = c.base + late.n
FROM late, c WHERE f.theme = late.theme AND f.id = late.id RETURNING f.id::text
"""

EMPTY_PURGED = """
UPDATE hm.item SET content = NULL, content_sha = NULL, attrs = '{}', origin = NULL, pushed_by = NULL
WHERE state = 2 AND (content_sha IS NOT NULL OR attrs <> '{}' OR origin IS NOT NULL OR pushed_by IS NOT NULL)
"""

DROP_RIGHTS = (
    "DELETE FROM hm.member m WHERE NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = m.role) RETURNING role::text"
)

DROP_HEADS = "DELETE FROM hm.chain_head h WHERE NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = h.role)"

TOO_LARGE = f"SELECT id::text FROM hm.item WHERE {IS_TOO_LARGE} ORDER BY id"


@dataclass(frozen=True, slots=True)
class RepairResult:
    counters: list[str]
    """Themes whose counters were behind their rows, or far ahead of them."""
    stamped: list[str]
    """Uids of rows that were stamped ahead of the database's time, and have a stamp of now."""
    emptied: int
    """Purged rows that still said something beside their text."""
    roles: list[str]
    """Restrictions of roles that do not exist any more, which are lifted."""
    too_large: list[str]
    """Uids of rows beyond the sizes that are taken now; they are left as they are."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def repair_team_database(dsn: str) -> RepairResult:
    """Repair what the tables hold that a push could not write now, in one transaction, as the owner.

    :raises TeamError: the database is of another version
    """
    with (
        psycopg.connect(dsn, prepare_threshold=None, connect_timeout=10) as conn,
        name_table_users(conn, "nothing was repaired"),
    ):
        verify_team_schema(conn)
        conn.execute("SELECT set_config('lock_timeout', %s, true)", (LOCK_TIMEOUT,))
        counters, stamped = [], []
        for theme, seq, stored in conn.execute(STORED).fetchall():
            if not stored <= seq <= stored + MOST_AHEAD:
                conn.execute(SET_COUNTER, {"theme": theme, "seq": stored})
                counters.append(theme)
            stamped += [uid for (uid,) in conn.execute(STAMP_AGAIN, {"theme": theme, "nobody": NOBODY}).fetchall()]
        emptied = conn.execute(EMPTY_PURGED).rowcount
        roles = [role for (role,) in conn.execute(DROP_RIGHTS).fetchall()]
        conn.execute(DROP_HEADS)
        too_large = [uid for (uid,) in conn.execute(TOO_LARGE).fetchall()]
    return RepairResult(counters, stamped, emptied, roles, too_large)
