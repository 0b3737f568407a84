"""What was deleted long ago leaves the database, and whoever was away meanwhile still hears of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_memory_bridge.cli.team_commands import TOMBSTONE_DAYS
from hermes_memory_bridge.team import sync_run as module
from hermes_memory_bridge.team.database.team_server import RowPage, TeamServer
from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.database.tombstone_collection import collect_tombstones
from hermes_memory_bridge.team.sync_run import SyncRun
from hermes_memory_store import uids
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import FactFilter
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.bridge.team.conftest import Database
from tests.bridge.team.machines import THEME
from tests.bridge.team.proxy import Proxy


@pytest.fixture
def join(tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """Makes a store that shares the theme."""
    file = tmp_path / "memory-themes.toml"
    file.write_text(f"[themes.{THEME}]\nsync = true\n", encoding="utf-8")
    made: list[Store] = []

    def store() -> Store:
        made.append(Store.open(tmp_path / f"{len(made)}.db", policies=Policies.load(file)))
        return made[-1]

    yield store
    for one in made:
        one.close()


def exchange(database: Database, *stores: Store) -> None:
    with TeamServer(database.runtime) as server:
        for store in stores:
            SyncRun(store).run(server)


def write(store: Store, line: str) -> str:
    return str(store.facts.write(THEME, line).fact.uid)


def contents(store: Store) -> set[str]:
    return {row[0] for row in store.db.rows("SELECT content FROM facts WHERE tier IN ('hot', 'cold', 'archived')")}


def a_year_passes(database: Database) -> None:
    database.run("UPDATE hm.mark SET at = at - interval '1 year'")


def rows(database: Database) -> object:
    return database.one("SELECT json_object_agg(state, n) FROM (SELECT state, count(*) n FROM hm.item GROUP BY 1) g")


def agree(database: Database, *stores: Store) -> None:
    """All say the same, and so does the database."""
    exchange(database, *stores, *stores)
    assert len({store.sync.standing.digest(THEME) for store in stores}) == 1
    assert len({frozenset(contents(store)) for store in stores}) == 1
    with TeamServer(database.runtime) as server:
        there = {row.uid: row.digest for _, row in server.pull(THEME, 0).rows}
    for store in stores:
        assert store.sync.standing.digests(THEME) == there
        assert [check for check in examine_store(store) if not check.ok] == []


def test_who_was_away_for_longer_lists_everything_once(database: Database, join: Callable[[], Store]) -> None:
    here, there, away = join(), join(), join()
    kept, purged = write(here, "V[a]: kept"), write(here, "V[b]: purged")
    exchange(database, here, there, away)
    write(here, "V[c]: deleted")
    exchange(database, here, there, away)
    here.undo.last()
    here.purge.facts([uids.parse_uid(purged)])
    exchange(database, here, there)
    assert contents(away) == {"kept", "purged", "deleted"}
    a_year_passes(database)
    own = write(away, "V[d]: written meanwhile")
    away.facts.edit(kept, "edited meanwhile")

    (found,) = collect_tombstones(database.admin, days=TOMBSTONE_DAYS)
    assert found.rows == 1
    assert rows(database) == {"0": 1, "2": 1}
    exchange(database, here)
    assert here.sync.inbox.cursor(THEME).seq == database.one("SELECT seq FROM hm.clock")
    agree(database, away, here, there)
    assert contents(away) == {"edited meanwhile", "written meanwhile"}
    assert own in away.sync.standing.digests(THEME)
    assert away.db.rows("SELECT uid FROM tombstones") == [(uids.parse_uid(purged),)]

    newcomer = join()
    agree(database, newcomer, here, there, away)
    assert collect_tombstones(database.admin, days=TOMBSTONE_DAYS) == []


def test_what_was_deleted_lately_stays(database: Database, join: Callable[[], Store]) -> None:
    here = join()
    write(here, "V[c]: deleted")
    exchange(database, here)
    here.undo.last()
    exchange(database, here)
    assert collect_tombstones(database.admin, days=TOMBSTONE_DAYS) == []
    assert rows(database) == {"1": 1}
    with pytest.raises(ArgumentError, match="at least 1"):
        collect_tombstones(database.admin, days=0)


@pytest.fixture
def listing(database: Database, join: Callable[[], Store]) -> tuple[Store, Store]:
    """One store that has everything, and one that was away for too long and was cut off after it listed a page."""
    here, away = join(), join()
    write(here, "V[gone]: deleted")
    exchange(database, here, away)
    here.undo.last()
    exchange(database, here)
    a_year_passes(database)
    for n in range(250):
        write(here, f"V[t{n}]: {n}")
    exchange(database, here)
    collect_tombstones(database.admin, days=TOMBSTONE_DAYS)
    with Proxy(database.runtime) as proxy, TeamServer(proxy.dsn()) as server, pytest.raises(TeamError):
        SyncRun(away, on_progress=proxy.cut).run(server)
    assert "deleted" in contents(away)
    return here, away


def pages(database: Database, store: Store) -> list[int]:
    """Exchange; from where each page began."""
    begun: list[int] = []
    with TeamServer(database.runtime) as server:
        pull = server.pull

        def noted(theme: str, after: int, limit: int) -> RowPage:
            begun.append(after)
            return pull(theme, after, limit)

        server.pull = noted  # type: ignore[method-assign]
        SyncRun(store).run(server)
    return begun


def test_one_that_is_cut_off_while_it_lists_goes_on_from_there(
    database: Database, listing: tuple[Store, Store]
) -> None:
    here, away = listing
    held = contents(away)
    begun = pages(database, away)
    assert 0 not in begun
    assert held - contents(away) == {"deleted"}
    agree(database, away, here)
    assert away.db.value("SELECT count(*) FROM sync_listed") == 0


def test_a_listing_begins_again_when_more_was_collected_meanwhile(
    database: Database, listing: tuple[Store, Store]
) -> None:
    here, away = listing
    assert "3" in contents(away)
    (third,) = here.facts.page(FactFilter(theme=THEME, target="t3")).facts
    here.undo.change(here.journal.changes(uid=third.uid)[-1].seq)
    exchange(database, here)
    a_year_passes(database)
    write(here, "V[later]: later")
    exchange(database, here)
    collect_tombstones(database.admin, days=TOMBSTONE_DAYS)
    assert 0 in pages(database, away)
    agree(database, away, here)
    assert not contents(away) & {"3", "deleted"}


def test_a_listing_begins_again_when_the_database_lost_some_of_what_was_listed(
    database: Database, listing: tuple[Store, Store]
) -> None:
    here, away = listing
    # A standby that was behind takes over, and gives the same numbers to what comes after.
    listed = away.db.value("SELECT seq FROM sync_listings")
    database.run(f"DELETE FROM hm.item WHERE seq > {listed - 50}")
    database.run(f"DELETE FROM hm.mark WHERE seq > {listed - 50}")
    database.run(f"UPDATE hm.clock SET seq = {listed - 50}")
    for n in range(400):
        write(here, f"V[t{n}]: {n} again")
    exchange(database, here)
    assert 0 in pages(database, away)
    agree(database, away, here)
    assert "deleted" not in contents(away)


def test_who_comes_new_after_a_collection_pulls_on_where_it_was(
    database: Database, join: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, new = join(), join()
    for n in range(12):
        write(here, f"V[n.{n}]: {n}")
    exchange(database, here)
    here.undo.last()
    write(here, "V[last]: last")
    exchange(database, here)
    a_year_passes(database)
    collect_tombstones(database.admin, days=TOMBSTONE_DAYS)
    monkeypatch.setattr(module, "LEAST_PAGE", 4)
    monkeypatch.setattr(module, "PAGE", 4)
    monkeypatch.setattr(SyncRun, "_list", lambda *_: pytest.fail("listed everything"))

    exchange(database, new)

    assert contents(new) == contents(here)
    monkeypatch.undo()
    agree(database, here, new)


def test_a_collection_in_the_middle_of_a_pull_is_noticed(database: Database, join: Callable[[], Store]) -> None:
    here, away = join(), join()
    for n in range(150):
        write(here, f"V[t{n}]: {n}")
    write(here, "V[gone]: deleted")
    exchange(database, here, away)
    here.undo.last()
    for n in range(150):
        write(here, f"V[t{n}]: {n} again")
    exchange(database, here)
    # The deletion is to come on a later page.
    database.run("UPDATE hm.item SET seq = 1 + (SELECT max(seq) FROM hm.item) WHERE state = 1")
    database.run("UPDATE hm.clock SET seq = (SELECT max(seq) FROM hm.item)")
    database.run("UPDATE hm.mark SET seq = (SELECT seq FROM hm.clock) WHERE seq = (SELECT max(seq) FROM hm.mark)")
    a_year_passes(database)

    def collect_now() -> None:
        if rows(database) != {"0": 300}:
            collect_tombstones(database.admin, days=TOMBSTONE_DAYS)

    with TeamServer(database.runtime) as server:
        SyncRun(away, on_progress=collect_now).run(server)
    agree(database, away, here)
    assert "deleted" not in contents(away)


def test_a_copy_and_a_lost_tail_are_still_told_apart(database: Database, join: Callable[[], Store]) -> None:
    here, there = join(), join()
    write(here, "V[a]: 1")
    write(there, "V[b]: 2")
    exchange(database, here, there, here)
    write(here, "V[gone]: deleted")
    exchange(database, here, there)
    here.undo.last()
    exchange(database, here, there)
    a_year_passes(database)
    collect_tombstones(database.admin, days=TOMBSTONE_DAYS)
    agree(database, here, there)
    names = here.sync.node, there.sync.node
    write(here, "V[c]: 3")
    agree(database, here, there)
    assert (here.sync.node, there.sync.node) == names
    # The newest push is lost, as after a fail-over.
    database.run("DELETE FROM hm.item WHERE content = '3'")
    database.run("DELETE FROM hm.mark WHERE seq = (SELECT seq FROM hm.clock)")
    database.run("UPDATE hm.clock SET seq = seq - 1")
    agree(database, here, there)
    assert "3" in contents(there)
