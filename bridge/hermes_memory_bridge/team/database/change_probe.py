"""A probe for changes, as cheap as a database query can be: every store sends it again and again.

Only the clocks of the themes are compared. The rest of a greeting (the time, the version, whether the database
lost its newest changes) as a rule changes only while a connection is down, and is requested once a minute. The
statement is prepared and bypasses the driver, whose own part costs more than the database's. A pooler would forget
it, and may have changed to a server that lost changes, so it is given a statement that looks for these, too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.pq import ConnStatus, ExecStatus

WHOLE_S = 60.0
"""How often all that a greeting asks is asked."""

MOST_THEMES = 20
"""More clocks are compared by a greeting."""

UTF8 = "utf-8"

PROBE = "SELECT hm.is_changed(%s::text[], %s::bigint[], %s::bigint[], %s::uuid[])"
"""What a pooler is given."""


class ChangeProbe:
    """The clocks of some themes at the last greeting over a connection."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self._conn = conn
        self._greeted: tuple[str, ...] | None = None
        self._due = 0.0
        self._prepared: set[int] = set()
        self._asked: Sequence[tuple[str, int]] = ()
        self._told: list[bytes] = []
        self.heard: set[str] = set()
        """Notices that came with an answer, and which the driver does not see."""

    def note_greeting(self, themes: Sequence[str], *, prepare: bool) -> None:
        """Note a full greeting about these themes. :param prepare: the statement for them"""
        self._greeted, self._due = tuple(themes), time.monotonic() + WHOLE_S
        if prepare and 0 < len(themes) <= MOST_THEMES and len(themes) not in self._prepared:
            self._prepared.add(len(themes))
            self._conn.pgconn.prepare(to_statement_name(len(themes)), to_probe_sql(len(themes)))

    def is_due(self, themes: Sequence[str]) -> bool:
        """Check whether a full greeting about these themes is due."""
        return time.monotonic() >= self._due or tuple(themes) != self._greeted or not 0 < len(themes) <= MOST_THEMES

    def is_unchanged(self, themes: Sequence[tuple[str, int]]) -> bool | None:
        """Check whether the clocks of these themes are unchanged. None when the prepared statement was forgotten.

        :raises psycopg.OperationalError: the connection is lost
        """
        if themes != self._asked:
            self._asked = list(themes)
            self._told = [part for theme, seq in themes for part in (theme.encode(UTF8), b"%d" % seq)]
        line = self._conn.pgconn
        answer = line.exec_prepared(to_statement_name(len(themes)), self._told)
        while (notice := line.notifies()) is not None:
            if notice.be_pid != line.backend_pid:
                self.heard.add(notice.extra.decode(UTF8))
        if answer.status == ExecStatus.TUPLES_OK:
            return answer.ntuples == 0
        if line.status == ConnStatus.BAD:
            raise psycopg.OperationalError("the connection is lost")
        return None


def to_statement_name(count: int) -> bytes:
    """Return the name of the statement for that many themes."""
    return b"hm_pulse_%d" % count


def to_probe_sql(count: int) -> bytes:
    """Return the SQL that checks whether any of that many clocks differs from the known one."""
    themes, seqs = (", ".join(f"${2 * n + place}" for n in range(count)) for place in (1, 2))
    return f"SELECT 1 WHERE hm.is_changed(ARRAY[{themes}]::text[], ARRAY[{seqs}]::bigint[])".encode()
