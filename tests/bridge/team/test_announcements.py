"""How a machine learns of changes: announced, asked for again after that, and asked for where nothing announces them."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hermes_memory_bridge.cli.team_commands import format_sync_status
from hermes_memory_bridge.team import syncer as module
from hermes_memory_bridge.team.database.team_server import TeamServer, new_push_token, to_channel, to_notify_name
from hermes_memory_bridge.team.sync_run import SyncRun
from hermes_memory_bridge.team.syncer import ASLEEP_S, Syncer
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.bridge.running import until
from tests.bridge.team.conftest import Database
from tests.bridge.team.side import Side, store_of
from tests.bridge.team.test_syncer import quickly, syncing

__all__ = ["quickly"]

NEVER_S = 3_600.0
"""An interval at which no test would be over in time: what arrives was announced, or asked for again."""


@dataclass
class Listener:
    """Whoever listens to all channels, and what is noted of a theme."""

    conn: psycopg.Connection[Any]

    def announced(self) -> list[tuple[str, str]]:
        """Channel and payload of each announcement since it was asked last."""
        self.conn.execute("SELECT 1")  # what is announced comes before the end of an answer
        return [(one.channel, one.payload) for one in self.conn.notifies(timeout=0)]

    def announced_at(self, theme: str = "ours") -> float:
        row = self.conn.execute(
            "SELECT extract(epoch FROM announced_at)::float8 FROM hm.clock WHERE theme = %s", (theme,)
        ).fetchone()
        assert row is not None
        return float(row[0])


@pytest.fixture
def listener(database: Database) -> Any:
    with psycopg.connect(database.admin, autocommit=True) as conn:
        for digit in "0123456789abcdef":
            conn.execute(f"LISTEN hm_{digit}")
        yield Listener(conn)


def push(server: TeamServer, theme: str = "ours", count: int = 1) -> None:
    side = Side(theme)
    for n in range(count):
        side.write(theme, f"fact {n}")
    server.push(theme, side.node, side.pending_rows(theme, limit=count), new_push_token())


def push_unannounced(database: Database, theme: str, content: str) -> None:
    """Push as a machine does whose push comes within a second of an announcement."""
    side = Side(theme)
    side.write(theme, content)
    with TeamServer(database.admin, listen=False) as server, server.conn.transaction():
        server.conn.execute("UPDATE hm.clock SET announced_at = clock_timestamp() WHERE theme = %s", (theme,))
        SyncRun(store_of(side)).run(server)


def test_a_theme_is_announced_once_a_second_on_the_channel_of_its_group(database: Database, listener: Listener) -> None:
    noted = []
    with TeamServer(database.runtime, listen=False) as server:
        for _ in range(30):
            push(server)
            noted.append(listener.announced_at())
    announced = sorted(set(noted))
    assert listener.announced() == [(to_channel("ours"), to_notify_name("ours"))] * len(announced)
    assert all(later - before >= 1.0 for before, later in itertools.pairwise(announced))


def test_the_themes_of_one_team_are_announced_apart(database: Database, listener: Listener) -> None:
    with TeamServer(database.runtime, listen=False) as server:
        for n in range(40):
            push(server, f"theme {n}")
    channels = {channel for channel, _ in listener.announced()}
    assert channels == {to_channel(f"theme {n}") for n in range(40)}
    assert len(channels) > 8


def test_a_push_that_takes_long_is_always_announced(database: Database, listener: Listener) -> None:
    with TeamServer(database.runtime, listen=False) as server:
        noted = []
        for count in (1, 101, 101):
            push(server, count=count)
            noted.append(listener.announced_at())
    assert len(set(noted)) == 3
    assert len(listener.announced()) == 3


def test_a_clock_of_the_database_that_was_set_back_keeps_no_announcement_back(
    database: Database, listener: Listener
) -> None:
    with TeamServer(database.runtime, listen=False) as server:
        push(server)
        database.run("UPDATE hm.clock SET announced_at = now() + interval '1 day'")
        push(server)
    assert len(listener.announced()) == 2


def test_a_connection_listens_to_the_groups_of_its_themes_alone(database: Database) -> None:
    with TeamServer(database.runtime) as server:
        for themes in (["ours"], [f"theme {n}" for n in range(20)], ["ours", "theirs"], []):
            server.listen_to(themes)
            heard = {name for (name,) in server.rows("SELECT pg_listening_channels()")}
            assert heard == {to_channel(theme) for theme in themes}


def test_bursts_of_several_machines_arrive_everywhere(database: Database, tmp_path: Path) -> None:
    sides = [Side("ours", f"other {n % 2}") for n in range(4)]
    with ExitStack() as stack:
        syncers = [
            stack.enter_context(syncing(side, database.runtime, tmp_path / str(n), poll_s=NEVER_S))
            for n, side in enumerate(sides)
        ]
        until(lambda: all(one.state.name == "idle" for one in syncers), "all connected")
        for count in range(1, 6):
            for n, side in enumerate(sides):
                side.write("ours", f"news {n} {count}")
                side.write(f"other {n % 2}", f"more {n} {count}")
            if count % 2:  # else the next burst comes while this one is under way
                until(
                    lambda count=count: all(sum(key[0] == "ours" for key in side.rows) == 4 * count for side in sides),
                    "all of it",
                )
        until(lambda: all(len(side.rows) == 4 * 5 + 2 * 5 for side in sides), "all of it")
        assert all(one.status()["listening"] for one in syncers)
    assert len({side.digest("ours") for side in sides}) == 1


def test_what_is_not_announced_is_asked_for_after_what_was(database: Database, tmp_path: Path) -> None:
    here, there = Side("ours"), Side("ours")
    take_in = there.apply
    late = iter(["the second", "the third"])

    def apply(theme: str, *args: Any, **settings: Any) -> Any:
        content = next(late, None)
        if content is not None:  # others push while this machine takes in what it fetched
            push_unannounced(database, theme, content)
        return take_in(theme, *args, **settings)

    with (
        syncing(here, database.runtime, tmp_path / "a", poll_s=NEVER_S) as one,
        syncing(there, database.runtime, tmp_path / "b", poll_s=NEVER_S) as two,
    ):
        until(lambda: one.state.name == two.state.name == "idle", "both connected")
        there.apply = apply  # type: ignore[method-assign]
        here.write("ours", "the first")
        until(lambda: len(there.rows) == 3, "all of them")
        until(lambda: len(here.rows) == 3, "all of them, where the first was written")
        assert two.status()["listening"]


def test_a_machine_that_lost_an_announcement_asks_as_behind_a_pooler(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_LISTENING_S", 0.1)
    monkeypatch.setattr(module, "ASK_AGAIN_S", 0.1)
    side = Side("ours")
    with syncing(side, database.runtime, tmp_path / "a") as syncer:
        until(lambda: syncer.state.name == "idle" and syncer._ask_again_at is None, "at rest")
        database.run("INSERT INTO hm.clock (theme) VALUES ('ours')")
        push_unannounced(database, "ours", "nobody was told")
        until(lambda: side.rows, "the change")
        until(lambda: not syncer.status()["listening"], "the doubt")
        assert syncer.status()["poll_s"] == 1.0
        assert "announcements did not arrive" in format_sync_status(syncer.status())


def test_a_machine_that_comes_back_does_not_doubt_announcements(database: Database, tmp_path: Path) -> None:
    here, there = Side("ours"), Side("ours")
    with (
        syncing(here, database.runtime, tmp_path / "a"),
        syncing(there, database.runtime, tmp_path / "b", poll_s=NEVER_S) as two,
    ):
        until(lambda: two.state.name == "idle", "the connection")
        database.run(f"ALTER ROLE {database.name}_runtime NOLOGIN")
        database.run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{database.name}_runtime'"
        )
        push_while_away = Side("ours")
        push_while_away.write("ours", "meanwhile")
        with TeamServer(database.admin, listen=False) as server:
            SyncRun(store_of(push_while_away)).run(server)
        two.run_now()
        until(lambda: two.state.name != "idle", "that it is away")
        database.run(f"ALTER ROLE {database.name}_runtime LOGIN")
        until(lambda: there.rows and two.state.name == "idle", "the change")
        assert two.status()["listening"]


def test_a_theme_that_is_shared_later_is_listened_to(database: Database, tmp_path: Path) -> None:
    here, there = Side("ours", "later"), Side("ours")
    assert to_channel("ours") != to_channel("later")
    with (
        syncing(here, database.runtime, tmp_path / "a", poll_s=NEVER_S),
        syncing(there, database.runtime, tmp_path / "b", poll_s=NEVER_S) as two,
    ):
        here.write("later", "before it was shared there")
        until(lambda: not here.unsent and two.state.name == "idle", "the first exchange")
        there.wanted.append("later")
        number = two.run_now()
        until(lambda: two.exchanges >= number and two._ask_again_at is None, "what was there, and then rest")
        assert len(there.rows) == 1
        here.write("later", "after that")
        until(lambda: len(there.rows) == 2, "the change")
        assert two.status()["listening"]
        there.wanted.remove("later")
        two.run_now()
        until(lambda: two._server is not None and two._server._channels == {to_channel("ours")}, "the other channel")


def with_team(path: Path, *lines: str) -> Callable[[], Policies]:
    """Write the policies, and return what opens them."""
    path.write_text("\n".join(["[themes.ours]", "sync = true", "[team]", *lines]) + "\n", encoding="utf-8")
    return lambda: Policies.load(path)


def test_a_theme_is_shared_as_soon_as_its_policy_says_so(database: Database, tmp_path: Path) -> None:
    other, policies = Side("ours"), tmp_path / "memory-themes.toml"
    other.write("ours", "was there before")
    with TeamServer(database.admin, listen=False) as server:
        SyncRun(store_of(other)).run(server)

    def open_store(path: Path) -> Store:
        return Store.open(path, policies=Policies.load(policies))

    syncer = Syncer(tmp_path / "memory.db", lambda: database.runtime, open_store=open_store, poll_s=NEVER_S)
    open_store(tmp_path / "memory.db").close()
    syncer.start()
    try:
        until(lambda: syncer.state.name == "idle" and syncer._ask_again_at is None, "at rest, with no theme")
        with_team(policies)
        until(lambda: any(one["cursor"] for one in syncer.report["themes"]), "the theme")
    finally:
        syncer.stop()


def connections(database: Database) -> object:
    """How many connections the machines hold."""
    return database.one("SELECT count(*) FROM pg_stat_activity WHERE usename = %s", f"{database.name}_runtime")


def test_a_machine_that_sleeps_holds_no_connection_and_sends_at_once(database: Database, tmp_path: Path) -> None:
    side, opened = Side("ours"), with_team(tmp_path / "t.toml", 'idle = "sleep"', "sleep_s = 3600")
    with syncing(side, database.runtime, tmp_path / "a", policies=opened()) as syncer:
        until(lambda: syncer.state.name == "idle", "the connection")
        status = syncer.status()
        assert (status["listening"], status["asleep"], status["poll_s"]) == (False, False, 1.0)
        assert connections(database) == 1
        assert 'every 1 s, since `idle = "sleep"`' in format_sync_status(status)

        syncer._moved_at -= ASLEEP_S
        until(lambda: connections(database) == 0, "its sleep")
        status = syncer.status()
        assert (status["state"], status["asleep"], status["poll_s"]) == ("idle", True, 3_600)
        assert "every 3600 s, and no connection is held" in format_sync_status(status)

        side.write("ours", "wakes it")
        until(lambda: not side.unsent, "the change")
        until(lambda: not syncer.status()["asleep"], "that it is awake")
        assert connections(database) == 1


def test_a_machine_that_sleeps_fetches_what_others_wrote_when_it_asks(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUIET_POLLS", ((ASLEEP_S, 0.2),))
    here, side = Side("ours"), Side("ours")
    opened = with_team(tmp_path / "t.toml", 'idle = "sleep"')
    with syncing(side, database.runtime, tmp_path / "a", policies=opened(), poll_s=0.1) as syncer:
        until(lambda: syncer.state.name == "idle", "the connection")
        syncer._moved_at -= ASLEEP_S
        until(lambda: connections(database) == 0, "its sleep")
        slept = syncer.exchanges
        until(lambda: syncer.exchanges > slept + 2, "that it asks")
        until(lambda: connections(database) == 0, "its sleep between two questions")
        here.write("ours", "from elsewhere")
        with TeamServer(database.admin, listen=False) as server:
            SyncRun(store_of(here)).run(server)
        until(lambda: side.rows and not syncer.status()["asleep"], "the change")
        assert [one.same for one in syncer.verify().result(10).themes] == [True]
        syncer._moved_at -= ASLEEP_S
        until(lambda: syncer.status()["asleep"], "its sleep")
        assert [one.same for one in syncer.verify().result(10).themes] == [True]


def test_what_is_set_for_idle_machines_counts_from_then_on(database: Database, tmp_path: Path) -> None:
    side, file = Side("ours"), tmp_path / "t.toml"
    opened = with_team(file, 'idle = "sleep"')
    with syncing(side, database.runtime, tmp_path / "a", policies=opened()) as syncer:
        until(lambda: syncer.state.name == "idle", "the connection")
        assert not syncer.status()["listening"]
        with_team(file, 'idle = "listen"')
        until(lambda: syncer.status()["listening"], "the announcements")
        with_team(file, 'idle = "sleep" ')
        until(lambda: syncer.status()["idle"] == "sleep" and not syncer.status()["listening"], "the sleep")
        side.write("ours", f"said {uuid.uuid4()}")
        until(lambda: not side.unsent, "the change")
