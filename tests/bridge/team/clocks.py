"""Clocks that tests set: the database's, and that of each machine."""

from __future__ import annotations

from pathlib import Path

from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.sync_run import SyncOutcome, SyncRun
from hermes_memory_store.clock import DAY_MS, system_clock
from hermes_memory_store.model import FactFilter, Millis
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.bridge.team.conftest import Database

THEME = "ours"

FAR_MS = 400 * DAY_MS

TAKE_OVER = """
CREATE SCHEMA fake;
CREATE TABLE fake.shift (ms bigint NOT NULL);
INSERT INTO fake.shift VALUES (0);
CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
  $$ SELECT pg_catalog.clock_timestamp() + make_interval(secs => (SELECT ms FROM fake.shift) / 1000.0) $$;
GRANT USAGE ON SCHEMA fake TO PUBLIC;
GRANT SELECT ON fake.shift TO PUBLIC;
"""


class ServerClock:
    """The clock of one database, which may run ahead or behind."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.run(TAKE_OVER)
        database.run(f"ALTER DATABASE {database.name} SET search_path = fake, pg_catalog, public")
        for name in ("greet", "push"):
            database.run(f"ALTER FUNCTION hm.{name} SET search_path = fake, pg_catalog, pg_temp")

    def shift(self, ms: int) -> None:
        """Let it run so many milliseconds ahead of the true time; behind, where that is negative."""
        self.database.run(f"UPDATE fake.shift SET ms = {ms}")


class Laptop:
    """One machine with a real store and a clock that may run ahead or behind; it exchanges when it is told to."""

    def __init__(self, home: Path, name: str, database: Database) -> None:
        self.path = home / f"{name}.db"
        policies = home / "memory-themes.toml"
        policies.write_text(f"[themes.{THEME}]\nsync = true\nsync_turns = true\n", encoding="utf-8")
        self.policies = Policies.load(policies)
        self.database = database
        self.shift_ms = 0
        self.open()

    def clock(self) -> Millis:
        return Millis(system_clock() + self.shift_ms)

    def open(self) -> None:
        """As at the start of a bridge: nothing is remembered but what the store and the database say."""
        self.store = Store.open(self.path, clock=self.clock, policies=self.policies)
        self.synced = Store.open(self.path, clock=self.clock, policies=self.policies)
        self.exchange = SyncRun(self.synced)
        self.server = TeamServer(self.database.runtime)

    def close(self) -> None:
        self.server.close()
        self.synced.close()
        self.store.close()

    def restart(self) -> None:
        """End, and start again."""
        self.close()
        self.open()

    def write(self, notation: str) -> str:
        """Write a fact; its uid."""
        return str(self.store.facts.write(THEME, notation).fact.uid)

    def sync(self) -> SyncOutcome:
        """Exchange once."""
        return self.exchange.run(self.server)

    def contents(self) -> list[str]:
        """What stands."""
        if self.store.names.theme_or_none(THEME) is None:
            return []
        return sorted(fact.content for fact in self.store.facts.page(FactFilter(theme=THEME)).facts)

    def waiting(self) -> int:
        """Versions and turns that are not sent."""
        turns = self.store.shared_turns.pending_turn_count(THEME) if self.store.names.theme_or_none(THEME) else 0
        return self.store.sync.outbox.pending_counts()[THEME] + turns

    def newest(self) -> int:
        """How many milliseconds its clock of versions is ahead of the true time."""
        return int((self.store.db.value("SELECT clock FROM sync_store") or 0) >> 16) - system_clock()


def settle(*laptops: Laptop) -> None:
    """Exchange until nobody has anything to say."""
    for _ in range(10):
        done = [laptop.sync() for laptop in laptops]
        if all(one.idle for one in done):
            return
    raise AssertionError("the team does not come to rest")
