"""Asking whether anything changed, as cheaply as a database can be asked: every store does so again and again.

Only the clocks of the themes are compared. Whatever else a greeting asks (the time, the version, whether the database lost
its newest changes) changes while a connection is cut, as a rule, and is asked once a minute. The statement is prepared, which
a pooler in between would forget, and goes past the driver, whose own part costs more than the database's.
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


class Pulse:
    """Knows what the clocks of some themes were at the last greeting over a connection."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self._conn = conn
        self._greeted: tuple[str, ...] | None = None
        self._due = 0.0
        self._prepared: set[int] = set()
        self._asked: Sequence[tuple[str, int]] = ()
        self._told: list[bytes] = []
        self.heard: set[str] = set()
        """Notices that came with an answer, and which the driver does not see."""

    def greeted(self, themes: Sequence[str]) -> None:
        """All was asked about these themes just now."""
        self._greeted, self._due = tuple(themes), time.monotonic() + WHOLE_S
        if 0 < len(themes) <= MOST_THEMES and len(themes) not in self._prepared:
            self._prepared.add(len(themes))
            self._conn.pgconn.prepare(name_of(len(themes)), question(len(themes)))

    def is_still(self, known: Sequence[tuple[str, int]]) -> bool | None:
        """Whether the clocks of these themes stand where they are known to; False also when all is to be asked; None when the
        statement was forgotten.

        :raises psycopg.OperationalError: the connection is lost
        """
        if time.monotonic() >= self._due or not 0 < len(known) <= MOST_THEMES:
            return False
        if known != self._asked:
            self._asked = list(known)
            self._told = [part for theme, seq in known for part in (theme.encode(UTF8), b"%d" % seq)]
            if tuple(theme for theme, _ in known) != self._greeted:
                self._due = 0.0
                return False
        line = self._conn.pgconn
        answer = line.exec_prepared(name_of(len(known)), self._told)
        while (notice := line.notifies()) is not None:
            if notice.be_pid != line.backend_pid:
                self.heard.add(notice.extra.decode(UTF8))
        if answer.status == ExecStatus.TUPLES_OK:
            return answer.ntuples == 0
        if line.status == ConnStatus.BAD:
            raise psycopg.OperationalError("the connection is lost")
        return None


def name_of(count: int) -> bytes:
    """What the statement about so many themes is called."""
    return b"hm_pulse_%d" % count


def question(count: int) -> bytes:
    """Whether one of so many clocks stands elsewhere than it is known to."""
    parts = (f"(theme = ${2 * n + 1} AND seq <> ${2 * n + 2})" for n in range(count))
    return f"SELECT 1 FROM hm.clock WHERE {' OR '.join(parts)} LIMIT 1".encode()
