"""Eight processes on one file: no error, nothing lost, gauges and chain whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hermes_memory_store.database import gauge_recount
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.model import FactFilter, Tier
from hermes_memory_store.store import Store

PROCESSES = 8

WRITER = """
import sys
from hermes_memory_store.model import Actor
from hermes_memory_store.store import Store
db, who, count, line = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
print("ready", flush=True)
sys.stdin.readline()
with Store.open(db) as store:
    for number in range(count):
        said = line.format(who=who, number=number)
        written = store.facts.write(f"theme-{number % 2}", said, scope=f"scope-{number % 5}", actor=Actor("session", str(who)))
        print(written.fact.uid, flush=True)
"""
"""Opens the store together with all the others, and says the uid of every fact it was told is written."""


def written_at_once(db: Path, count: int, line: str) -> list[list[str]]:
    """What eight processes were acknowledged, each by each. :raises AssertionError: when one of them failed"""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(db), str(who), str(count), line],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"HOME": str(db.parent)},
        )
        for who in range(PROCESSES)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    ended = [writer.communicate(timeout=120) for writer in writers]
    assert [(writer.returncode, error) for writer, (_, error) in zip(writers, ended, strict=True)] == [
        (0, "")
    ] * PROCESSES
    return [output.split() for output, _ in ended]


def assert_whole(store: Store) -> None:
    with store.db.snapshot() as conn:
        assert gauge_recount.find_gauge_differences(conn) == []
    assert store.journal.verify().ok
    assert [check for check in examine_store(store) if not check.ok] == []


@pytest.mark.long
def test_eight_processes_of_500_facts_each_lose_nothing(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"

    acknowledged = written_at_once(db, 500, "V[host.{who}.{number}]: 10.0.{who}.{number}")

    with Store.open(db) as store:
        stored = facts(store)
        expected = {f"V[host.{who}.{number}]: 10.0.{who}.{number}" for who in range(PROCESSES) for number in range(500)}
        assert set(stored.values()) == expected
        assert {uid for uids in acknowledged for uid in uids} == set(stored)
        assert len(store.scopes.list()) == 10
        assert_whole(store)


def test_the_same_fact_written_by_eight_processes_is_stored_once(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"

    acknowledged = written_at_once(db, 50, "V[number.{number}]: {number}")

    with Store.open(db) as store:
        assert len(facts(store)) == 50
        assert all(uids == acknowledged[0] for uids in acknowledged)
        assert_whole(store)


def test_eight_processes_that_contradict_each_other_leave_one_fact_standing(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"

    acknowledged = written_at_once(db, 50, "D[shared]: as {who} says for the {number}th time")

    with Store.open(db) as store:
        standing = store.facts.page(FactFilter()).facts
        # One for each of the ten scopes they wrote to; the others are superseded and linked.
        assert len(standing) == 10
        assert {uid for uids in acknowledged for uid in uids} == set(facts(store, (*Tier,)))
        assert_whole(store)


def facts(store: Store, tiers: Sequence[Tier] = (Tier.HOT, Tier.COLD)) -> dict[str, str]:
    keys = store.facts.ids(FactFilter(tiers=frozenset(tiers)))
    return {fact.uid: fact.notation for fact in store.facts.by_ids(keys)}
