"""What is not exchanged is said by every command, and is tried again until it is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_store.backoff import Backoff
from tests.bridge.team.clocks import FAR_MS, Laptop, settle
from tests.bridge.team.conftest import Database
from tests.bridge.team.machines import THEME, Machine, team
from tests.bridge.team.test_clocks import assert_agree, forge

BREAK = f"UPDATE hm.clock SET seq = 0 WHERE theme = '{THEME}'"


@pytest.fixture
def machine(database: Database, tmp_path: Path) -> Iterator[Machine]:
    with team(tmp_path, database.runtime) as (one,):
        yield one


def asked(machine: Machine, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a command of the bridge."""
    done = machine.command(*words, "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def doctor(machine: Machine) -> tuple[int, str]:
    """Exit code of the doctor, and what it says of the team."""
    command = [sys.executable, "-m", "hermes_memory_tui", "--db", str(machine.db), "doctor", "--json"]
    done = subprocess.run(command, env=machine.environment, capture_output=True, text=True, timeout=120)
    checks = {check["name"]: check["detail"] for check in json.loads(done.stdout)["checks"]}
    return done.returncode, checks["team"]


def test_a_counter_that_was_set_back_counts_on_behind_what_there_is(database: Database, machine: Machine) -> None:
    for n in range(3):
        machine.write(f"V[port.{n}]: {n}")
        with machine.store() as store:
            store.turns.add(THEME, "user", f"said {n}")
        assert asked(machine, "sync", "now")[0] == 0
    database.run(BREAK)
    machine.write("V[later]: 4")
    with machine.store() as store:
        store.turns.add(THEME, "user", "said later")

    assert asked(machine, "sync", "now")[1]["state"] == "idle"
    assert asked(machine, "sync", "verify")[0] == 0
    assert doctor(machine)[0] == 0
    assert database.one("SELECT count(*) FROM hm.item WHERE content = '4'") == 1
    assert database.one("SELECT count(*) FROM hm.item WHERE content = 'said later'") == 1
    facts = database.one("SELECT max(seq) FROM hm.item WHERE NOT is_turn")
    assert facts < database.one("SELECT seq FROM hm.clock")  # type: ignore[operator]


def test_what_an_earlier_version_filed_as_refused_is_sent_after_a_restart(database: Database, machine: Machine) -> None:
    uid = machine.write("V[port]: 80")
    with machine.store() as store:
        (row,) = store.sync.outbox.pending_rows(THEME)
        store.sync.outbox.mark_rejected(THEME, uid, row.hlc, "duplicate key value violates unique constraint")
    assert doctor(machine)[0] == 1

    assert asked(machine, "sync", "now")[1]["state"] == "idle"
    assert database.one("SELECT count(*) FROM hm.item WHERE content = '80'") == 1
    assert doctor(machine) == (0, "all that came from the team is shown, or waits for you; nothing waits to be sent")


def test_a_row_the_database_refuses_is_said_until_it_accepts_it(database: Database, machine: Machine) -> None:
    database.run("ALTER TABLE hm.item ADD CONSTRAINT mild CHECK (content NOT LIKE '%strong%')")
    uid = machine.write("D[coffee]: strong")
    machine.write("D[tea]: weak")
    with machine.store() as store:
        turn = store.turns.add(THEME, "user", "make it strong")

    code, status = asked(machine, "sync", "now")
    assert (code, status["state"]) == (1, "incomplete")
    assert "2 refused" in status["words"]
    assert {one["uid"] for one in status["refused"]} == {uid, str(turn.uid)}
    assert (status["themes"][0]["state"], status["themes"][0]["refused"]) == ("incomplete", 2)
    code, compared = asked(machine, "sync", "verify")
    assert (code, compared["same"]) == (1, False)
    assert set(compared["themes"][0]["refused"]) == {uid, str(turn.uid)}
    assert "NOT ALL EXCHANGED" in machine.command("sync", "verify").stdout
    code, said = doctor(machine)
    assert (code, "2 rows refused" in said) == (1, True)

    database.run("ALTER TABLE hm.item DROP CONSTRAINT mild")
    assert asked(machine, "sync", "now")[1]["state"] == "idle"
    assert asked(machine, "sync", "verify")[0] == 0
    assert doctor(machine)[0] == 0


def test_a_row_that_is_held_back_is_said_by_every_command(database: Database, machine: Machine) -> None:
    machine.write("D[tea]: weak")
    asked(machine, "sync", "now")
    forge(database, (1 << 63) - 1)

    code, status = asked(machine, "sync", "now")
    assert (code, status["state"], status["aside_count"]) == (1, "incomplete", 1)
    assert "1 from the team held back" in status["words"]
    assert "held back" in machine.command("sync", "now").stdout
    code, compared = asked(machine, "sync", "verify")
    assert (code, compared["same"], len(compared["themes"][0]["held_back"])) == (1, False, 1)
    code, said = doctor(machine)
    assert (code, "held back" in said) == (1, True)
    machine.write("D[coffee]: none")
    assert database.one("SELECT count(*) FROM hm.item WHERE content = 'none'") == 0
    asked(machine, "sync", "now")
    assert database.one("SELECT count(*) FROM hm.item WHERE content = 'none'") == 1


def test_what_waits_to_be_sent_is_said_by_the_doctor(machine: Machine) -> None:
    machine.write("D[tea]: weak")
    with machine.store() as store:
        store.sync.themes()
        store.sync.outbox.pending_rows(THEME)
    assert doctor(machine)[0] == 1


def test_a_refused_row_is_tried_again_ever_more_seldom(database: Database, tmp_path: Path) -> None:
    laptop = Laptop(tmp_path, "laptop", database)
    database.run("ALTER TABLE hm.item ADD CONSTRAINT mild CHECK (content NOT LIKE '%strong%')")
    laptop.write("D[coffee]: strong")
    settle(laptop)
    assert laptop.exchange._refused.failures <= 1
    for _ in range(5):
        laptop.sync()
    assert laptop.exchange._refused.failures == 1
    assert not laptop.exchange._refused.is_due
    laptop.exchange.expire_backoffs()
    laptop.sync()
    assert laptop.exchange._refused.failures == 2
    database.run("ALTER TABLE hm.item DROP CONSTRAINT mild")
    laptop.exchange.expire_backoffs()
    settle(laptop)
    assert_agree(laptop)
    laptop.close()


def test_back_off_doubles_up_to_its_limit() -> None:
    again = Backoff(60.0, 3_600.0)
    assert again.is_due
    for _ in range(40):
        again.fail()
    assert not again.is_due
    again.hurry()
    assert (again.is_due, again.failures) == (True, 40)
    again.reset()
    assert (again.is_due, again.failures) == (True, 0)


def test_a_status_says_that_the_clock_is_wrong_beside_what_is_left(database: Database, tmp_path: Path) -> None:
    laptop = Laptop(tmp_path, "laptop", database)
    laptop.shift_ms = FAR_MS
    laptop.write("D[tea]: weak")
    assert laptop.sync().state.name == "clock"
    assert laptop.waiting() == 0
    laptop.close()


REMEDIES = {
    "deleted": "DELETE FROM hm.item WHERE content = 'from tomorrow'",
    "repaired": "UPDATE hm.item SET hlc = (extract(epoch FROM now()) * 1000)::bigint << 16 WHERE content = 'from tomorrow'",
}


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("remedy", REMEDIES)
def test_a_held_back_row_is_let_go_of_once_the_owner_of_the_database_deleted_or_repaired_it(
    database: Database, machine: Machine, replaced: bool, remedy: str
) -> None:
    uid = machine.write("D[tomorrow]: weak" if replaced else "D[tea]: weak")
    asked(machine, "sync", "now")
    forge(database, (1 << 63) - 1, uid if replaced else None)
    assert asked(machine, "sync", "now")[0] == 1
    database.run(REMEDIES[remedy])

    code, compared = asked(machine, "sync", "verify")

    assert (code, compared["same"]) == (0, True), compared
    assert asked(machine, "sync", "now")[1]["state"] == "idle"
    assert doctor(machine)[0] == 0
    wanted = {"weak"} if remedy == "deleted" else {"from tomorrow"} if replaced else {"weak", "from tomorrow"}
    assert machine.contents() == wanted
    assert database.one("SELECT count(*) FROM hm.item") == len(wanted)
