"""Playing a history through the functions of a real team database, as a role that may only call them."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from hermes_memory_bridge.team.database.dev_server import DevServer
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import TeamServer, new_push_token
from hermes_memory_bridge.team.database.tombstone_collection import collect_theme_tombstones
from hermes_memory_store.model import Uid
from hermes_memory_store.sync.wire_format import SyncRow
from tests.store.team import THEME, Server
from tests.tools.histories.player import Player
from tests.tools.histories.steps import History

ROLE = "stores"

TABLES = ("clock", "mark", "item", "conflict")

numbers = itertools.count()


@dataclass
class Database(Server):
    """The team's rows in a theme of their own of a real database, through the same statements as a bridge's."""

    owner_dsn: str = ""
    runtime_dsn: str = ""

    def __post_init__(self) -> None:
        self.server, self.owner = connect(self.owner_dsn, self.runtime_dsn)
        self.theme = f"{THEME}-{self.owner.info.backend_pid}-{next(numbers)}"

    def push(self, rows: list[SyncRow]) -> dict[tuple[Uid, int], int]:
        """Push in one statement; the sequence numbers of what was kept."""
        if not rows:
            return {}
        done = self.server.push(self.theme, rows[0].node, rows, new_push_token())
        assert not done.ahead, f"the database takes {done.ahead} for ahead of its clock"
        kept = {(row.uid, row.hlc): seq for row, seq in done.accepted if seq is not None}
        for row in rows:
            (self.accepted if (row.uid, row.hlc) in kept else self.outdated).append(row)
        return kept

    def pull(self, after: int, limit: int = 500) -> list[tuple[int, SyncRow]]:
        """The next rows in the order of their sequence."""
        return [(seq, replace(row, theme=THEME)) for seq, row in self.server.pull(self.theme, after, limit).rows]

    def collect(self) -> int:
        """Remove what was deleted; up to which sequence number."""
        there = self.load_rows()
        collect_theme_tombstones(self.owner, self.theme, 0)
        gone = there.keys() - self.load_rows().keys()
        self.accepted = [row for row in self.accepted if row.uid not in gone]
        row = self.owner.execute("SELECT gc_seq FROM hm.clock WHERE theme = %s", (self.theme,)).fetchone()
        return row[0] if row else 0

    def load_rows(self) -> dict[Uid, tuple[int, SyncRow]]:
        """All that the database has."""
        self.rows, after = {}, 0
        while page := self.pull(after):
            self.rows |= {row.uid: (seq, row) for seq, row in page}
            after = page[-1][0]
        return self.rows

    def clear(self) -> None:
        """Remove all of it, so that the tables stay small."""
        for table in TABLES:
            self.owner.execute(f"DELETE FROM hm.{table} WHERE theme = %s", (self.theme,))


class DatabasePlayer(Player):
    """The machines of a history around a real database."""

    def __init__(self, history: History, home: Path, *, owner_dsn: str, runtime_dsn: str) -> None:
        """:param runtime_dsn: of the role that stores connect as"""
        self.database = Database(owner_dsn=owner_dsn, runtime_dsn=runtime_dsn)
        super().__init__(history, home, server=self.database)

    def settle(self) -> None:
        super().settle()
        self.database.load_rows()

    def close(self) -> None:
        super().close()
        self.database.clear()


@cache
def connect(owner_dsn: str, runtime_dsn: str) -> tuple[TeamServer, psycopg.Connection[Any]]:
    """This process's connections, as the role of the stores and as the owner."""
    return TeamServer(runtime_dsn, listen=False), psycopg.connect(owner_dsn, autocommit=True)


@contextmanager
def running_database() -> Iterator[dict[str, str]]:
    """Yield how to reach a migrated database on a server of its own, as the player takes it."""
    # Not in a long folder: the path of its socket must be short.
    with tempfile.TemporaryDirectory(prefix="hm-pg-") as folder:
        postgres = DevServer(Path(folder))
        try:
            with psycopg.connect(postgres.dsn, autocommit=True) as conn:
                conn.execute("ALTER SYSTEM SET fsync = off")  # nobody cuts its power
                conn.execute("SELECT pg_reload_conf()")
                conn.execute(f"CREATE ROLE {ROLE} LOGIN")
            migrate_team_schema(postgres.dsn, runtime_role=ROLE)
            restrict_role_to_themes(postgres.dsn, ROLE, [])
            yield {"owner_dsn": postgres.dsn, "runtime_dsn": make_conninfo(postgres.dsn, user=ROLE)}
        finally:
            postgres.stop()
