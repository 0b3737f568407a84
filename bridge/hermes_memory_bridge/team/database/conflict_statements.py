"""Statements to the team database for versions that lost against one that did not know of them.

Each machine keeps those that it saw itself; the database keeps them for all, so that everybody decides about the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_store.sync.wire_format import SyncRow, rename_theme_of_row

MOST = 500
"""Versions of one push."""

MOST_BYTES = 2 * 2**20
"""Bytes of their contents, or one: the database takes twice as many, with what describes them."""

PUSH = """
SELECT hm.push_conflicts(
  %(theme)s, %(ids)s::uuid[], %(kinds)s::text[], %(contents)s::text[], %(attrs)s::text[], %(states)s::smallint[],
  %(hlcs)s::bigint[], %(nodes)s::uuid[], %(ancestors)s::text[]
)
"""

LIST = "SELECT * FROM hm.list_conflicts(%s)"


def push_conflicts(server: TeamServer, theme: str, lost: Sequence[SyncRow]) -> int:
    """Push versions that lost, at most `MOST` and of `MOST_BYTES`; return how many the database had not.

    :raises TeamError: the database cannot be used now
    """
    return int(server.value(PUSH, server.to_version_arrays(theme, lost)))


def list_conflicts(server: TeamServer, theme: str) -> list[SyncRow]:
    """Return the versions that lost and that nobody has decided about.

    :raises TeamError: the database cannot be used now
    """
    name = server.to_name(theme)
    rows = (
        SyncRow(
            theme=name,
            uid=uid,
            kind=kind,
            content=content,
            attrs=json.loads(attrs),
            state=state,
            hlc=hlc,
            node=node,
            ancestors=tuple(ancestors),
            teammate=pushed_by,
        )
        for uid, kind, content, attrs, state, hlc, node, ancestors, pushed_by in server.rows(LIST, (name,))
    )
    return [rename_theme_of_row(conflict_row, theme) for conflict_row in rows]
