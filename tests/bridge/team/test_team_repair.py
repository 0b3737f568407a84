"""What programs of before left in the database is mended by its owner, and every machine goes on and agrees."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_bridge.team.database.team_repair import repair_team_database
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import TeamServer, new_push_token
from tests.bridge.team.clocks import Laptop, settle
from tests.bridge.team.conftest import Database, migrate_openly
from tests.bridge.team.machines import THEME
from tests.bridge.team.side import Side
from tests.bridge.team.test_clocks import forge

YEAR_MS = 365 * 86_400_000


@pytest.mark.parametrize("seq", ["0", "1", "9000000000000000000"])
def test_a_counter_that_was_set_is_right_again(database: Database, tmp_path: Path, seq: str) -> None:
    here, there = Laptop(tmp_path, "here", database), Laptop(tmp_path, "there", database)
    for letter in "abc":
        here.write(f"V[{letter}]: 1")
        settle(here, there)
    database.run(f"UPDATE hm.clock SET seq = {seq}")
    assert repair_team_database(database.admin).counters == [THEME]
    assert repair_team_database(database.admin).counters == []
    there.write("V[d]: 1")
    settle(here, there, here)
    assert here.store.sync.standing.digest(THEME) == there.store.sync.standing.digest(THEME)
    assert database.one("SELECT count(*) FROM hm.item WHERE kind = 'fact'") == 4
    here.close()
    there.close()


def test_a_row_of_the_future_has_a_stamp_of_now_and_reaches_everybody(database: Database, tmp_path: Path) -> None:
    here = Laptop(tmp_path, "here", database)
    here.write("V[a]: 1")
    settle(here)
    ahead = database.one("SELECT (extract(epoch FROM now()) * 1000)::bigint")
    forge(database, (int(str(ahead)) + YEAR_MS) << 16)
    settle(here)
    found = repair_team_database(database.admin)
    assert len(found.stamped) == 1
    assert repair_team_database(database.admin).stamped == []
    settle(here)
    there = Laptop(tmp_path, "there", database)
    settle(here, there)
    assert here.store.sync.standing.digest(THEME) == there.store.sync.standing.digest(THEME)
    assert "from tomorrow" in {row[0] for row in there.store.db.rows("SELECT content FROM facts")}
    here.close()
    there.close()


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE hm.clock SET seq = 0",
        "UPDATE hm.clock SET seq = (SELECT min(seq) FROM hm.mark)",
        "UPDATE hm.clock SET seq = 5000000",
        "DELETE FROM hm.clock",
        "DELETE FROM hm.clock; DELETE FROM hm.mark",
        "UPDATE hm.clock SET seq = 1; DELETE FROM hm.mark",
        "UPDATE hm.clock SET seq = 1; DELETE FROM hm.mark WHERE seq > (SELECT min(seq) + 1 FROM hm.mark)",
    ],
)
def test_no_push_takes_a_number_that_a_row_has_whatever_became_of_the_counter(database: Database, harm: str) -> None:
    side = Side(THEME)
    with TeamServer(database.runtime) as server:
        for n in range(4):
            side.write(THEME, f"fact {n}")
            pushed = server.push(THEME, side.node, side.pending_rows(THEME), new_push_token())
            side.unsent.clear()
        side.write(THEME, "after it")
        database.run(harm)
        after = server.push(THEME, side.node, side.pending_rows(THEME), new_push_token())
    assert after.base >= pushed.end
    assert after.accepted[0][1] == after.end == database.one("SELECT max(seq) FROM hm.item")
    assert after.end == database.one("SELECT seq FROM hm.clock") == database.one("SELECT max(seq) FROM hm.mark")


def test_a_counter_that_was_set_back_to_before_a_repair_counts_on_behind_it(database: Database, tmp_path: Path) -> None:
    here = Laptop(tmp_path, "here", database)
    here.write("V[a]: 1")
    settle(here)
    before = database.one("SELECT seq FROM hm.clock")
    ahead = database.one("SELECT (extract(epoch FROM now()) * 1000)::bigint")
    forge(database, (int(str(ahead)) + YEAR_MS) << 16)
    repair_team_database(database.admin)
    database.run(f"UPDATE hm.clock SET seq = {before}")
    for letter in "bcd":
        here.write(f"V[{letter}]: 1")
    settle(here)
    assert database.one("SELECT count(*) FROM hm.item WHERE kind = 'fact'") == 5
    here.close()


def test_rows_that_were_planted_ahead_before_the_migration_are_counted_behind(former: Database) -> None:
    row = "INSERT INTO hm.fact (theme, id, hlc, node, seq) VALUES ('ours', gen_random_uuid(), 1, gen_random_uuid(), 4)"
    former.run(f"INSERT INTO hm.clock VALUES ('ours', 3); {row}")
    former.run("INSERT INTO hm.mark VALUES ('ours', 3, gen_random_uuid(), gen_random_uuid())")
    migrate_openly(former)
    side = Side(THEME)
    side.write(THEME, "after it")
    with TeamServer(former.runtime) as server:
        assert server.push(THEME, side.node, side.pending_rows(THEME), new_push_token()).end == 5


def test_purged_rows_restrictions_and_sizes(former: Database) -> None:
    said = (
        "INSERT INTO hm.fact (theme, id, content, attrs, state, hlc, node, seq)"
        " VALUES ('ours', gen_random_uuid(), {}, gen_random_uuid(), {})"
    )
    former.run("INSERT INTO hm.clock VALUES ('ours', 2); INSERT INTO hm.member VALUES ('gone', '{ours}')")
    former.run(said.format('NULL, \'{"target": "secret"}\', 2, 1', 1))
    former.run(said.format("repeat('x', 500000), '{}', 0, 9000000000000000000", 2))
    migrate_team_schema(former.admin)
    found = repair_team_database(former.admin)
    assert (found.counters, found.stamped, found.emptied, found.roles, len(found.too_large)) == ([], [], 1, ["gone"], 1)
    assert former.one("SELECT attrs FROM hm.item WHERE state = 2") == {}
    again = repair_team_database(former.admin)
    assert (again.emptied, again.roles, again.too_large) == (0, [], found.too_large)
