"""A relief that is killed at any of its steps loses nothing, and the next one finishes its work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_store.host_files import memory_files
from hermes_memory_store.model import FactFilter
from hermes_memory_store.relief.file_relief import relieve_files
from hermes_memory_store.store import Store

ENTRIES = ["V[port]: 5432", "the configuration of the database", "D[db]: Postgres\nC[db.id]: UUID", "x" * 1300]

LEFT = ["x" * 1300]

PROSE = "V[configuration.database]: the configuration of the database"
"""What becomes of the second entry."""

KILLED_AT_STEP = """
import json, os, shutil, signal, sys
from pathlib import Path
from hermes_memory_store.relief.file_relief import relieve_files
from hermes_memory_store.store import Store

folder, template = Path(sys.argv[1]), Path(sys.argv[2])
CALLS = {"open", "os.rename", "os.remove", "os.mkdir", "fcntl.flock", "tempfile.mkstemp", "os.listdir", "os.scandir"}

def run(place, last):
    step = 0
    def count(event, arguments):
        nonlocal step
        if event in CALLS:
            step += 1
            if step == last:
                os.kill(os.getpid(), signal.SIGKILL)
    with Store.open(place / "memory.db") as store:
        sys.addaudithook(count)
        relieve_files(store, "default", home=place)
    os._exit(0)

last, killed = 0, []
while True:
    last += 1
    place = folder / str(last)
    shutil.copytree(template, place)
    child = os.fork()
    if child == 0:
        run(place, last)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        break
    killed.append(str(place))
print(json.dumps({"killed": killed, "exit": os.WEXITSTATUS(status)}))
"""
"""Runs the same relief again and again, killed one system call later each time, until one reaches its end."""


@pytest.mark.crash
def test_a_relief_killed_at_any_step_loses_nothing_and_is_finished_by_the_next(tmp_path: Path) -> None:
    template = tmp_path / "template"
    (template / "memories").mkdir(parents=True)
    (template / "memories" / "MEMORY.md").write_text(memory_files.join_entries(ENTRIES), encoding="utf-8")
    with Store.open(template / "memory.db") as store:
        store.facts.write("default", "V[other]: fact")

    ran = subprocess.run(
        [sys.executable, "-c", KILLED_AT_STEP, str(tmp_path), str(template)],
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["exit"] == 0
    states = set()
    for place in map(Path, told["killed"]):
        file = place / "memories" / "MEMORY.md"
        with Store.open(place / "memory.db") as store:
            entries, stored = memory_files.parse_entries(memory_files.read_memory_text(file)), facts(store)
            states.add((tuple(entries) == tuple(LEFT), len(stored)))
            for line in "V[port]: 5432", "D[db]: Postgres", "C[db.id]: UUID":
                assert line in stored or any(line in entry.splitlines() for entry in entries)
            assert ENTRIES[1] in entries or PROSE in stored
            assert ENTRIES[3] in entries

            relieve_files(store, "default", home=place)

            assert memory_files.parse_entries(memory_files.read_memory_text(file)) == LEFT
            assert facts(store) == {"V[port]: 5432", "D[db]: Postgres", "C[db.id]: UUID", PROSE, "V[other]: fact"}
            assert store.journal.verify().ok
    # Before anything, between the store and the file, and after the file.
    assert {(False, 1), (False, 5), (True, 5)} <= states


def facts(store: Store) -> set[str]:
    return {fact.notation for fact in store.facts.page(FactFilter(theme="default"), limit=100).facts}
