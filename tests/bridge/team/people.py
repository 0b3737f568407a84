"""People of a team: a role and a store each, which exchange by the database's functions alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import conninfo, sql

from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.sync_run import SyncOutcome, SyncRun
from hermes_memory_store.model import Fact, FactFilter, Tier
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.bridge.team.conftest import Database

THEME = "ours"


class Person:
    """A machine of somebody with a role of his own."""

    def __init__(self, home: Path, dsn: str, role: str) -> None:
        home.mkdir()
        (home / "memory-themes.toml").write_text(f"[themes.{THEME}]\nsync = true\n", encoding="utf-8")
        self.db, self.dsn, self.role = home / "memory.db", dsn, role
        self._open()

    def _open(self) -> None:
        policies = Policies.load(self.db.with_name("memory-themes.toml"))
        self.store, self._synced = (Store.open(self.db, policies=policies) for _ in range(2))
        self.run = SyncRun(self._synced)

    def close(self) -> None:
        self.store.close()
        self._synced.close()

    def reopen(self, between: Callable[[], object]) -> None:
        """End all that uses the store, do this, and begin again."""
        self.close()
        between()
        self._open()

    def write(self, notation: str, **settings: object) -> Fact:
        return self.store.facts.write(THEME, notation, **settings).fact  # type: ignore[arg-type]

    def exchange(self) -> SyncOutcome:
        with TeamServer(self.dsn) as server:
            self.run.expire_backoffs()
            return self.run.run(server)

    def fact(self, content: str) -> Fact:
        """The one fact with this content, in whichever tier."""
        tiers = frozenset(Tier) - {Tier.WITHDRAWN}
        (found,) = [
            one for one in self.store.facts.page(FactFilter(theme=THEME, tiers=tiers)).facts if one.content == content
        ]
        return found

    def shown(self, content: str) -> tuple[str, bool]:
        """Its tier, and whether it is pinned."""
        found = self.fact(content)
        return found.tier.value, found.pinned


def settle(*people: Person) -> None:
    """Exchange until nobody has anything to say."""
    for _ in range(3):
        for person in people:
            person.exchange()


@contextmanager
def team_of(database: Database, folder: Path, **rights: str) -> Iterator[list[Person]]:
    """People with a right to the theme each: `write`, `read` or `curate`."""
    levels = {"write": "themes", "read": "reads", "curate": "curates"}
    made: list[Person] = []
    roles = []
    try:
        for name, right in rights.items():
            role = f"{database.name}_{name}"
            with psycopg.connect(database.admin, autocommit=True) as conn:
                conn.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'x'").format(sql.Identifier(role)))
            roles.append(role)
            migrate_team_schema(database.admin, runtime_role=role)
            restrict_role_to_themes(database.admin, role, **{"themes": [], levels[right]: [THEME]})  # type: ignore[arg-type]
            made.append(Person(folder / name, conninfo.make_conninfo(database.admin, user=role, password="x"), role))
        yield made
    finally:
        for person in made:
            person.close()
        with psycopg.connect(database.admin, autocommit=True) as conn:
            for role in roles:
                conn.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(role)))
