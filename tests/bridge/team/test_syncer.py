"""The exchange in the background: what it says when the database is away, and that it comes back by itself."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from psycopg import conninfo

from hermes_memory_bridge.team import sync_loop as module
from hermes_memory_bridge.team import sync_run as exchange_module
from hermes_memory_bridge.team.database import team_server as server_module
from hermes_memory_bridge.team.database.team_states import DOWN, TeamError
from hermes_memory_bridge.team.dsn import mask_dsn_password
from hermes_memory_bridge.team.sync_run import LEAST_PAGE, SyncRun
from hermes_memory_bridge.team.syncer import Syncer, choose_poll_interval
from hermes_memory_store.clock import DAY_MS, system_clock
from hermes_memory_themes import Policies
from tests.bridge.running import until
from tests.bridge.team.conftest import Database
from tests.bridge.team.proxy import Proxy
from tests.bridge.team.side import Side, store_of


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once, and wait a second for an answer."""
    monkeypatch.setattr(module, "FIRST_WAIT_S", 0.05)
    monkeypatch.setattr(module, "LONGEST_WAIT_S", 0.2)
    monkeypatch.setattr(server_module, "ANSWER_S", 1.0)
    monkeypatch.setattr(server_module, "LOOK_S", 0.1)


@contextmanager
def syncing(
    side: Side,
    dsn: str | Callable[[], str | None],
    path: Path,
    *,
    offset_ms: int = 0,
    policies: Policies | None = None,
    **settings: Any,
) -> Iterator[Syncer]:
    """A running syncer of a store's side in memory."""
    path.touch()

    def clock() -> int:
        return system_clock() + offset_ms

    def open_store(_: Path) -> Any:
        return store_of(side, clock, policies)

    find = dsn if callable(dsn) else (lambda: dsn)
    made = Syncer(path, find, open_store=open_store, **settings)
    made.start()
    try:
        yield made
    finally:
        made.stop()


def test_a_change_comes_to_the_other_machine(database: Database, tmp_path: Path) -> None:
    here, there = Side("ours"), Side("ours")
    with (
        syncing(here, database.runtime, tmp_path / "a") as one,
        syncing(there, database.runtime, tmp_path / "b") as two,
    ):
        until(lambda: one.state.name == two.state.name == "idle", "both connected")
        for n in range(3):
            uid = here.write("ours", f"news {n}")
            until(lambda uid=uid: ("ours", uid) in there.rows, "the change")


def test_the_database_says_when_something_changed(database: Database, tmp_path: Path) -> None:
    here, there = Side("ours"), Side("ours")
    with (
        syncing(here, database.runtime, tmp_path / "a", poll_s=60) as one,
        syncing(there, database.runtime, tmp_path / "b", poll_s=60) as two,
    ):
        until(lambda: one.state.name == two.state.name == "idle", "both connected")
        time.sleep(0.5)
        for n in range(3):
            here.write("ours", f"news {n}")
            until(lambda n=n: len(there.rows) == n + 1, "the change")


def test_behind_a_pooler_nothing_is_left_in_the_connections_it_lends(database: Database, tmp_path: Path) -> None:
    here, there = Side("ours"), Side("ours")
    with Proxy(database.runtime) as proxy:
        proxy.pooler = True
        with (
            syncing(here, proxy.dsn(), tmp_path / "a") as one,
            syncing(there, proxy.dsn(), tmp_path / "b") as two,
        ):
            until(lambda: one.state.name == two.state.name == "idle", "both connected")
            assert one._server is not None
            assert not one._server.listening
            here.write("ours", "news")
            until(lambda: there.rows, "the change")
            kept = "SELECT (SELECT count(*) FROM pg_prepared_statements) + (SELECT count(*) FROM pg_cursors)"
            one.pause(True)
            with server_module.TeamServer(proxy.dsn()) as server:
                SyncRun(store_of(here)).run(server)
                assert server.conn.execute(kept).fetchone() == (0,)
                assert server.conn.execute("SELECT count(*) FROM pg_listening_channels()").fetchone() == (0,)


def test_a_server_that_is_down_at_the_start_is_waited_for(database: Database, tmp_path: Path) -> None:
    side = Side("ours")
    with Proxy(database.runtime) as proxy:
        proxy.down = True
        with syncing(side, proxy.dsn(), tmp_path / "a") as syncer:
            side.write("ours", "meanwhile")
            until(lambda: syncer.state.name == "unreachable", "the state")
            until(lambda: syncer.status()["themes"] and syncer.status()["themes"][0]["waiting"] == 1, "the backlog")
            proxy.down = False
            until(lambda: not side.unsent, "the exchange")
            until(lambda: syncer.state.name == "idle", "the state")
            proxy.cut()
            side.write("ours", "after the cut")
            until(lambda: not side.unsent, "the exchange after the cut")


def refuse_connections(database: Database) -> str:
    database.run(f"ALTER ROLE {database.name}_runtime CONNECTION LIMIT 0")
    return database.runtime


def be_older(database: Database) -> str:
    database.run("DELETE FROM hm.migration WHERE version > 1")
    return database.runtime


def be_newer(database: Database) -> str:
    database.run("INSERT INTO hm.migration VALUES (99, 'later')")
    return database.runtime


def be_bare(database: Database) -> str:
    database.run("DROP SCHEMA hm CASCADE")
    return database.runtime


def deny(database: Database) -> str:
    database.run(f"REVOKE ALL ON ALL TABLES IN SCHEMA hm FROM {database.name}_runtime")
    return database.runtime


@pytest.mark.parametrize(
    ("trouble", "name"),
    [
        (refuse_connections, "full"),
        (be_older, "old schema"),
        (be_newer, "new schema"),
        (be_bare, "not migrated"),
        (deny, "denied"),
        (lambda database: conninfo.make_conninfo(database.runtime, user="ghost"), "refused"),
        (lambda database: conninfo.make_conninfo(database.runtime, dbname="nothing"), "no database"),
        (lambda _: "postgresql://me:hunter2@127.0.0.1:1/team", "unreachable"),
        (lambda _: "host=127.0.0.1 port=1 user=me password=hunter2 sslmode=perhaps", "bad dsn"),
        (lambda _: "this is no dsn hunter2", "bad dsn"),
        (lambda _: "host=a\ud800b password=hunter2", "bad dsn"),
        (
            lambda _: "postgresql://me:hunter2@127.0.0.1:1,127.0.0.1:2/team?target_session_attrs=read-write",
            "unreachable",
        ),
        (lambda database: conninfo.make_conninfo(database.runtime, target_session_attrs="read-only"), "read-only"),
        (lambda _: None, "not connected"),
    ],
)
def test_every_trouble_is_a_state_in_words_without_the_dsn(
    database: Database,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    trouble: Callable[[Database], str | None],
    name: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    side = Side("ours")
    side.write("ours", "waits")
    dsn = trouble(database)
    with syncing(side, lambda: dsn, tmp_path / "a") as syncer:
        until(lambda: syncer.state.name not in ("starting", "exchanging"), "the state")
        status = syncer.status()

    assert status["state"] == name
    assert side.unsent
    told = caplog.text + str(status)
    for secret in ("hunter2", "pw-of", "127.0.0.1", "ghost", "/hm-pg-", "_runtime"):
        assert secret not in told


def test_tls_that_the_server_does_not_speak(database: Database, tmp_path: Path) -> None:
    side = Side("ours")
    with Proxy(database.runtime) as proxy:
        dsn = conninfo.make_conninfo(proxy.dsn(), sslmode="verify-full", sslrootcert="system")
        with syncing(side, dsn, tmp_path / "a") as syncer:
            until(lambda: syncer.state.name == "tls", "the state")


def test_a_standby_is_read_and_what_is_written_waits(database: Database, tmp_path: Path) -> None:
    other, side = Side("ours"), Side("ours")
    with syncing(other, database.runtime, tmp_path / "b"):
        other.write("ours", "from elsewhere")
        until(lambda: not other.unsent, "the first exchange")
    database.run(f"ALTER DATABASE {database.name} SET default_transaction_read_only = on")
    side.write("ours", "waits")
    with syncing(side, database.runtime, tmp_path / "a") as syncer:
        until(lambda: syncer.state.name == "read-only", "the state")
        assert len(side.rows) == 2
        assert side.unsent


def test_a_server_that_takes_and_never_answers_is_left(database: Database, tmp_path: Path) -> None:
    side = Side("ours")
    with Proxy(database.runtime) as proxy, syncing(side, proxy.dsn(), tmp_path / "a") as syncer:
        until(lambda: syncer.state.name == "idle", "the connection")
        proxy.silent = True
        until(lambda: syncer.state.name == "slow", "the state")
        syncer.stop()


@pytest.mark.parametrize(
    ("offset_ms", "words"),
    [(3_600_000, "60 min ahead of"), (-3_600_000, "60 min behind"), (-400 * DAY_MS, "400 days behind")],
)
def test_a_clock_that_is_off_is_told_and_rows_go_on(
    database: Database, tmp_path: Path, offset_ms: int, words: str
) -> None:
    side = Side("ours")
    side.write("ours", "stamped by the wrong clock", at=system_clock() + offset_ms)
    with syncing(side, database.runtime, tmp_path / "a", offset_ms=offset_ms) as syncer:
        until(lambda: syncer.state.name == "clock", "the state")
        assert words in syncer.state.words
        until(lambda: not side.unsent, "the exchange")


def test_paused_it_leaves_the_database_alone_until_resumed(database: Database, tmp_path: Path) -> None:
    side = Side("ours")
    with syncing(side, database.runtime, tmp_path / "a", paused=True) as syncer:
        side.write("ours", "waits")
        time.sleep(0.5)
        assert side.unsent
        assert syncer.status()["state"] == "paused"
        with pytest.raises(TeamError, match="paused"):
            syncer.verify().result(5)
        syncer.pause(False)
        until(lambda: not side.unsent, "the exchange")


def test_a_theme_is_said_to_be_fetched_until_its_first_pull_is_through(database: Database, tmp_path: Path) -> None:
    here, there = Side("ours", "empty"), Side("ours", "empty")
    for n in range(LEAST_PAGE + 1):
        here.write("ours", f"said {n}")
    with syncing(here, database.runtime, tmp_path / "a") as syncer:
        until(lambda: not here.unsent and syncer.last_at, "the exchange")
    take_in = there.apply

    def cut_off(theme: str, *args: Any, **settings: Any) -> Any:
        if there.cursor(theme).seq:
            raise TeamError(DOWN)
        return take_in(theme, *args, **settings)

    there.apply = cut_off  # type: ignore[method-assign]
    with syncing(there, database.runtime, tmp_path / "b") as syncer:
        until(lambda: syncer.state.name == "unreachable", "the first page")
        assert there.cursor("ours").seq == LEAST_PAGE
        states = {"ours": "fetching", "empty": "idle"}
        until(lambda: {one["theme"]: one["state"] for one in syncer.report["themes"]} == states, "the report of it")
        there.apply = take_in  # type: ignore[method-assign]
        until(lambda: syncer.last_at, "the rest")
        assert {one["state"] for one in syncer.report["themes"]} == {"idle"}


def test_what_waits_for_a_person_is_looked_up_once_an_exchange(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.0)
    monkeypatch.setattr(exchange_module, "PAGE", LEAST_PAGE)
    here, there = Side("ours"), Side("ours")
    for n in range(5 * LEAST_PAGE):
        here.write("ours", f"said {n}")
    with syncing(here, database.runtime, tmp_path / "a") as syncer:
        until(lambda: not here.unsent and syncer.last_at, "the exchange")
    looked, at_page, fetched = 0, [], []

    def aside(theme: str | None = None) -> list[Any]:
        nonlocal looked
        looked += 1
        return []

    take_in = there.apply

    def apply(*args: Any, **settings: Any) -> Any:
        at_page.append(looked)
        fetched.append(sum(one["cursor"] for one in syncer.report["themes"]))
        return take_in(*args, **settings)

    there.aside, there.apply = aside, apply  # type: ignore[method-assign]
    with syncing(there, database.runtime, tmp_path / "b", paused=True) as syncer:
        syncer.pause(False)
        until(lambda: syncer.last_at, "the exchange")
    assert len(at_page) >= 5
    assert len(set(at_page)) == 1
    assert fetched[-1] > 0


def test_another_syncer_of_the_same_store_waits_for_its_lease(database: Database, tmp_path: Path) -> None:
    side = Side("ours")
    side.try_lease = lambda holder, ttl_ms: holder == "the one"  # type: ignore[method-assign]
    with syncing(side, database.runtime, tmp_path / "a", holder="the other") as other:
        until(lambda: other.state.name == "elsewhere", "the state")
        side.write("ours", "once")
        time.sleep(0.5)
        assert side.unsent
        with syncing(side, database.runtime, tmp_path / "a", holder="the one"):
            until(lambda: not side.unsent, "the exchange")


def test_verifying_names_the_rows_that_differ(database: Database, tmp_path: Path) -> None:
    side = Side("ours")
    uids = [side.write("ours", f"fact {n}") for n in range(5)]
    with syncing(side, database.runtime, tmp_path / "a") as syncer:
        until(lambda: not side.unsent, "the exchange")
        assert [one.same for one in syncer.verify().result(10).themes] == [True]
        database.run(f"UPDATE hm.item SET content = 'altered' WHERE id = '{uids[1]}'")
        database.run(f"DELETE FROM hm.item WHERE id = '{uids[2]}'")
        del side.rows["ours", uids[3]]
        (found,) = syncer.verify().result(10).themes

    assert (found.differ, found.only_here, found.only_there) == ([uids[1]], [uids[2]], [uids[3]])


@pytest.mark.parametrize(
    ("dsn", "safe"),
    [
        (
            "postgresql://me:hunter2@db.example:5432/team?sslmode=verify-full",
            "postgresql://me@db.example:5432/team?sslmode=verify-full",
        ),
        ("postgresql://me@a,b/team?password=hunter2", "postgresql://me@a,b/team"),
        ("host=db user=me password=hunter2 dbname=team", "host=db user=me dbname=team"),
        ("host=db user=me password='hunter2 and more' dbname=team", "host=db user=me dbname=team"),
    ],
)
def test_a_dsn_is_shown_without_its_password(dsn: str, safe: str) -> None:
    assert mask_dsn_password(dsn) == safe


def test_the_longer_nothing_moves_the_more_seldom_the_database_is_asked(database: Database, tmp_path: Path) -> None:
    asked = [choose_poll_interval(quiet_s, 1.0) for quiet_s in (0, 599, 600, 3_599, 3_600, 1e9)]
    assert asked == [1.0, 1.0, 15.0, 15.0, 60.0, 60.0]
    assert choose_poll_interval(600, 30.0) == 30.0
    here = Side("ours")
    with syncing(here, database.runtime, tmp_path / "a") as one:
        until(lambda: one.state.name == "idle", "connected")
        one._moved_at -= 7_200
        assert (one.status()["listening"], one.status()["poll_s"]) == (True, 60.0)
        here.write("ours", "later")
        until(lambda: database.one("SELECT count(*) FROM hm.item WHERE content = 'later'") == 1, "the change")
        until(lambda: one.status()["poll_s"] < 15, "asking often again")
