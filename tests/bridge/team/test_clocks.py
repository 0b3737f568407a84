"""Clocks that are wrong: the database's, a machine's, a row's. Nothing is lost, nothing spins, and all agree in the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory_store.clock import DAY_MS
from tests.bridge.team.clocks import FAR_MS, THEME, Laptop, ServerClock, settle
from tests.bridge.team.conftest import Database

HOUR_MS = 3_600_000

SKEW_MS = 300_000


@pytest.fixture
def server_clock(database: Database) -> ServerClock:
    return ServerClock(database)


@pytest.fixture
def team(database: Database, server_clock: ServerClock, tmp_path: Path) -> Iterator[list[Laptop]]:
    laptops = [Laptop(tmp_path, f"laptop{n}", database) for n in range(3)]
    yield laptops
    for laptop in laptops:
        laptop.close()


@pytest.fixture
def ann(team: list[Laptop]) -> Laptop:
    return team[0]


@pytest.fixture
def bob(team: list[Laptop]) -> Laptop:
    return team[1]


def assert_agree(*laptops: Laptop) -> None:
    """All machines and the database say the same, in each version, and nothing waits."""
    there = {row.uid: row.digest for _, row in laptops[0].server.pull(THEME, 0).rows}
    for laptop in laptops:
        assert laptop.store.sync.standing.digests(THEME) == there
        assert laptop.waiting() == 0
        assert laptop.contents() == laptops[0].contents()


def ahead_of_time(database: Database) -> int:
    """How many milliseconds the newest row of the database is ahead of the true time."""
    asked = "SELECT coalesce(max(hlc >> 16), 0) - (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint FROM hm.item"
    return int(str(database.one(asked)))


def ticks(database: Database) -> int:
    """How often the clock of the theme moved."""
    return int(str(database.one("SELECT coalesce(max(seq), 0) FROM hm.clock")))


@pytest.mark.parametrize("shift_ms", [FAR_MS, HOUR_MS, -HOUR_MS, -FAR_MS])
def test_a_server_whose_clock_jumps_and_comes_back_stops_nobody(
    database: Database, server_clock: ServerClock, team: list[Laptop], shift_ms: int
) -> None:
    ann, bob, _ = team
    kept = ann.write("D[db]: SQLite")
    settle(*team)
    server_clock.shift(shift_ms)
    ann.restart()
    ann.sync()
    ann.write("D[cache]: none")
    ann.store.facts.edit(kept, "PostgreSQL")
    ann.store.turns.add(THEME, "user", "said meanwhile")
    for laptop in team:
        laptop.sync()
    server_clock.shift(0)
    for laptop in team:
        laptop.restart()
        laptop.write(f"V[port{laptop.path.stem}]: 80")
    settle(*team)
    bob.store.facts.edit(kept, "MariaDB")
    settle(*team)

    assert_agree(*team)
    assert "MariaDB" in ann.contents()
    assert len(ann.contents()) == 5
    assert [turn.content for turn in bob.store.turns.list(THEME)] == ["said meanwhile"]
    assert ahead_of_time(database) <= SKEW_MS
    assert max(laptop.newest() for laptop in team) <= SKEW_MS


@pytest.mark.parametrize("shift_ms", [FAR_MS, HOUR_MS, -HOUR_MS, -FAR_MS])
def test_a_machine_whose_clock_is_wrong_takes_part_and_comes_back(
    database: Database, team: list[Laptop], shift_ms: int
) -> None:
    ann, bob, _ = team
    kept = ann.write("D[db]: SQLite")
    settle(*team)
    bob.shift_ms = shift_ms
    bob.write("D[cache]: none")
    bob.store.facts.edit(kept, "PostgreSQL")
    bob.store.turns.add(THEME, "user", "said meanwhile")
    settle(*team)
    assert_agree(*team)
    assert ann.contents() == ["PostgreSQL", "none"]
    ann.store.facts.edit(kept, "MariaDB")
    settle(*team)
    assert bob.contents() == ["MariaDB", "none"]
    bob.shift_ms = 0
    bob.store.facts.edit(kept, "DuckDB")
    settle(*team)

    assert_agree(*team)
    assert ann.contents() == ["DuckDB", "none"]
    assert not ann.store.sync.standing.conflicts()
    assert ahead_of_time(database) <= SKEW_MS


def test_a_machine_that_was_ahead_without_a_network_sends_all_when_it_came_back(
    database: Database, team: list[Laptop]
) -> None:
    ann, bob, _ = team
    kept = ann.write("D[db]: SQLite")
    settle(*team)
    bob.shift_ms = FAR_MS
    bob.store.facts.edit(kept, "PostgreSQL")
    bob.store.sync.outbox.pending_rows(THEME)
    bob.store.facts.edit(kept, "DuckDB")
    bob.write("D[cache]: none")
    bob.shift_ms = 0
    bob.restart()
    bob.write("V[port]: 80")
    settle(*team)

    assert_agree(*team)
    assert ann.contents() == ["80", "DuckDB", "none"]
    assert not ann.store.sync.standing.conflicts()
    assert ahead_of_time(database) <= SKEW_MS


def forge(database: Database, hlc: int, uid: str | None = None) -> None:
    """A row that some other program wrote to the database, in the place of the one that is there."""
    database.run(
        f"""
        WITH c AS (
          INSERT INTO hm.clock (theme, seq) VALUES ('{THEME}', 1)
          ON CONFLICT (theme) DO UPDATE SET seq = hm.clock.seq + 1 RETURNING seq
        )
        INSERT INTO hm.item (theme, id, kind, content, attrs, state, hlc, node, seq)
        SELECT '{THEME}', {f"'{uid}'" if uid else "gen_random_uuid()"}, 'fact', 'from tomorrow',
          '{ATTRS}', 0, {hlc}, gen_random_uuid(), seq FROM c
        ON CONFLICT (theme, id) DO UPDATE SET content = excluded.content, attrs = excluded.attrs, state = excluded.state,
          hlc = excluded.hlc, node = excluded.node, seq = excluded.seq
        """
    )


ATTRS = (
    '{"type": "D", "target": "tomorrow", "scope": null, "tier": "hot", "pinned": false, "created_at": 1790000000000,'
    ' "updated_at": 1790000000000, "superseded_by": null, "cooled_by": null, "by": "person"}'
)


@pytest.mark.parametrize("hlc", [(1 << 63) - 1, (1_795_000_000_000 + 4000 * DAY_MS) << 16])
def test_a_row_from_the_future_is_held_back_and_said_and_stops_nobody(
    database: Database, team: list[Laptop], hlc: int
) -> None:
    ann, bob, _ = team
    ann.write("D[db]: SQLite")
    forge(database, hlc)
    settle(*team)
    for laptop in team:
        laptop.write(f"V[{laptop.path.stem}]: 80")
        laptop.restart()
    settle(*team)

    assert len(bob.contents()) == 4
    assert "from tomorrow" not in bob.contents()
    for laptop in team:
        (held,) = laptop.store.sync.standing.hidden_versions(THEME)
        assert "ahead" in held.why
        assert laptop.waiting() == 0
        assert laptop.newest() <= SKEW_MS
    before = ticks(database)
    for _ in range(5):
        assert all(laptop.sync().idle for laptop in team)
    assert ticks(database) == before


def test_a_row_that_was_held_back_is_taken_in_once_its_time_has_come(
    database: Database, server_clock: ServerClock, team: list[Laptop]
) -> None:
    ann, _, _ = team
    ann.write("D[db]: SQLite")
    settle(*team)
    forge(database, ann.clock() + 2 * HOUR_MS << 16)
    settle(*team)
    assert [len(laptop.store.sync.standing.hidden_versions(THEME)) for laptop in team] == [1, 1, 1]
    assert ann.contents() == ["SQLite"]
    server_clock.shift(2 * HOUR_MS)
    for laptop in team:
        laptop.shift_ms = 2 * HOUR_MS
    settle(*team)

    assert ann.contents() == ["SQLite", "from tomorrow"]
    assert [laptop.store.sync.standing.hidden_versions(THEME) for laptop in team] == [[], [], []]
    assert_agree(*team)


def damage(database: Database, *laptops: Laptop) -> None:
    """What version 0.1.0 left after a server's clock had been far ahead: what was sent meanwhile, and clocks that followed."""
    by = FAR_MS << 16
    for laptop in laptops:
        with laptop.store.db.write_transaction() as conn:
            conn.execute("UPDATE sync_rows SET hlc = hlc + ?", (by,))
            conn.execute("UPDATE sync_store SET clock = clock + ?", (by,))
    database.run(f"UPDATE hm.item SET hlc = hlc + {by}")


def test_stores_that_were_left_with_clocks_in_the_future_recover_and_lose_nothing(
    database: Database, team: list[Laptop]
) -> None:
    ann, bob, eve = team
    uids = [ann.write(f"V[port.{n}]: {n}") for n in range(4)]
    ann.store.facts.write(THEME, "D[db]: SQLite", scope="storage")
    settle(ann, bob)
    damage(database, ann, bob)
    # Written before any of them hears of the time again, as an earlier version stamped it.
    ann.store.facts.edit(uids[0], "edited by ann")
    ann.store.sync.outbox.pending_rows(THEME)
    ann.store.facts.edit(uids[0], "edited by ann again")
    ann.store.purge.erase([uids[3]])
    bob.store.facts.edit(uids[1], "edited by bob")
    bob.write("V[new]: by bob")
    for laptop in (bob, ann, eve):
        laptop.restart()
    settle(bob, eve, ann)
    settle(*team)

    assert_agree(*team)
    assert eve.contents() == ["2", "SQLite", "by bob", "edited by ann again", "edited by bob"]
    assert [laptop.store.sync.standing.hidden_versions() for laptop in team] == [[], [], []]
    assert [laptop.store.sync.standing.conflicts() for laptop in team] == [[], [], []]
    assert database.one("SELECT count(*) FROM hm.item WHERE state < 2 AND hlc >> 16 > %s", ann.clock() + SKEW_MS) == 0
    assert max(laptop.newest() for laptop in team) <= SKEW_MS


def test_a_machine_that_has_a_row_from_the_future_since_long_lets_the_others_see_it(
    database: Database, team: list[Laptop]
) -> None:
    ann, bob, eve = team
    ann.write("D[db]: SQLite")
    settle(ann)
    damage(database, ann)
    settle(bob, eve)
    assert bob.contents() == []
    assert len(bob.store.sync.standing.held_versions()) == 1
    ann.restart()
    settle(*team)

    assert_agree(*team)
    assert bob.contents() == ["SQLite"]
    assert bob.store.sync.standing.held_versions() == []


def test_an_edit_of_what_a_row_from_the_future_replaced_reaches_all_and_the_row_waits_for_a_person(
    database: Database, team: list[Laptop]
) -> None:
    ann, bob, _ = team
    kept = ann.write("D[tomorrow]: SQLite")
    settle(*team)
    forge(database, (1 << 63) - 1, kept)
    settle(*team)
    assert ann.contents() == ["SQLite"]
    bob.store.facts.edit(kept, "PostgreSQL")
    settle(*team)

    assert_agree(*team)
    assert ann.contents() == ["PostgreSQL"]
    for laptop in team:
        assert laptop.store.sync.standing.held_versions() == []
        (met,) = laptop.store.sync.standing.conflicts()
        assert met.theirs.content == "from tomorrow"
    ann.store.sync.standing.resolve(kept, "theirs")
    settle(*team)
    assert_agree(*team)
    assert bob.contents() == ["from tomorrow"]
    assert bob.store.sync.standing.conflicts() == []


def test_an_edit_waits_while_the_server_is_behind_and_nothing_spins(
    database: Database, server_clock: ServerClock, team: list[Laptop]
) -> None:
    ann, bob, _ = team
    kept = ann.write("D[db]: SQLite")
    settle(*team)
    server_clock.shift(-FAR_MS)
    ann.restart()
    ann.sync()
    ann.store.facts.edit(kept, "PostgreSQL")
    ann.write("V[port]: 80")
    ann.sync()
    before = ticks(database)
    for _ in range(5):
        ann.sync()
    assert ticks(database) == before
    assert ann.waiting() == 1
    settle(bob)
    assert bob.contents() == ["80", "SQLite"]
    server_clock.shift(0)
    ann.restart()
    settle(*team)
    assert_agree(*team)
    assert bob.contents() == ["80", "PostgreSQL"]


def test_a_clock_that_is_set_while_the_bridge_runs_is_noticed_before_anything_is_sent(
    database: Database, team: list[Laptop]
) -> None:
    ann, bob, _ = team
    kept = ann.write("D[db]: SQLite")
    settle(*team)
    for shift_ms in (FAR_MS, -FAR_MS, HOUR_MS, -HOUR_MS, 0):
        ann.shift_ms = shift_ms
        ann.store.facts.edit(kept, f"shifted by {shift_ms}")
        settle(ann, bob)
        assert bob.contents() == [f"shifted by {shift_ms}"]
    settle(*team)
    assert_agree(*team)
    assert ann.store.sync.standing.conflicts() == []


def test_what_won_while_a_machine_held_its_own_version_for_newer_reaches_it(
    database: Database, team: list[Laptop]
) -> None:
    """A machine of an earlier version goes past a row that its own version, stamped in the future, seems to win over."""
    ann, bob, eve = team
    kept = ann.write("D[db]: SQLite")
    settle(ann, bob)
    damage(database, ann, bob)
    ann.restart()
    settle(ann)
    ann.store.facts.edit(kept, "PostgreSQL")
    settle(ann)
    with bob.store.db.write_transaction() as conn:
        conn.execute(
            "UPDATE sync_themes SET seq = ?, mark_seq = NULL, mark_token = NULL",
            (database.one("SELECT max(seq) FROM hm.clock"),),
        )
    bob.restart()
    settle(bob, ann, eve)

    assert_agree(*team)
    assert bob.contents() == ["PostgreSQL"]
    assert [laptop.store.sync.standing.conflicts() for laptop in team] == [[], [], []]
