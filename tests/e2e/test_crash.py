"""`kill -9` in the middle of a burst of writes: what was acknowledged is there, and the store is whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.model import FactFilter, Tier
from hermes_memory_store.store import Store

KILLS = 50

BURSTS = """
import json, os, random, signal, sys, time
from hermes_memory_store.store import Store

db, rounds = sys.argv[1], int(sys.argv[2])
moments = random.Random(20)

def burst(round, who, told):
    with Store.open(db) as store:
        number = 0
        while True:
            number += 1
            key = f"{round}.{who}.{number}"
            lines = (f"V[new.{key}]: {key}", f"D[changing.{who}]: {key}", f"?[asked.{key}]: why", f"C[asked.{key}]: so")
            for line in lines:
                written = store.facts.write("default", line, scope=f"scope-{number % 3}")
                os.write(told, f"{written.fact.uid} {line}\\n".encode())
            if number % 4 == 0:
                store.facts.edit(written.fact.uid, f"edited {key}")
                os.write(told, f"{written.fact.uid} C[asked.{key}]: edited {key}\\n".encode())
            if number % 7 == 0:
                store.scopes.close("default", f"scope-{number % 3}")

acknowledged, torn = {}, 0
for round in range(rounds):
    ends, children = [], []
    for who in range(1 + round % 2):
        told, tells = os.pipe()
        child = os.fork()
        if child == 0:
            burst(round, who, tells)
        os.close(tells)
        ends.append(told)
        children.append(child)
    heard = b""
    wanted = moments.randrange(60)
    while heard.count(b"\\n") < wanted:
        heard += os.read(ends[0], 65536)
    # Somewhere within the next write, which takes about a millisecond.
    until = time.perf_counter() + moments.uniform(0, 0.002)
    while time.perf_counter() < until:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    rest = [heard] + [b""] * (len(ends) - 1)
    for place, end in enumerate(ends):
        while part := os.read(end, 65536):
            rest[place] += part
        os.close(end)
    for said in rest:
        for line in said.decode().splitlines():
            uid, _, notation = line.partition(" ")
            acknowledged[uid] = notation
print(json.dumps(acknowledged))
"""
"""Forks writers and kills them, round after round on one file; says what they were acknowledged, newest per fact."""


@pytest.mark.crash
def test_fifty_kills_in_bursts_of_writes_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"

    ran = subprocess.run(
        [sys.executable, "-c", BURSTS, str(db), str(KILLS)],
        capture_output=True,
        text=True,
        timeout=120,
        env={"HOME": str(tmp_path)},
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    acknowledged: dict[str, str] = json.loads(ran.stdout)
    assert len(acknowledged) > 10 * KILLS
    with Store.open(db) as store:
        stored = {
            fact.uid: fact.notation
            for fact in store.facts.by_ids(store.facts.ids(FactFilter(tiers=frozenset(Tier) - {Tier.WITHDRAWN})))
        }
        lost = {uid: said for uid, said in acknowledged.items() if uid not in stored}
        assert lost == {}
        # An edit that was durable but not yet acknowledged when the kill came may stand in place of what was.
        changed = [uid for uid, said in acknowledged.items() if stored[uid] != said]
        assert len(changed) <= 2 * KILLS
        assert all("edited" in stored[uid] for uid in changed)
        assert [check for check in examine_store(store) if not check.ok] == []
        assert store.facts.write("default", "V[after]: all of it").created
