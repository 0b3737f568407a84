"""How long a command takes as a process, beside what the interpreter and click take by themselves.

python -m tests.benchmarks.process [STORE] [--rounds 15] [--before ../0.1.0]

With another version's checkout it compares the processor's time instead, in pairs, each version with a store of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hermes_memory_store.store import Store
from tests.benchmarks.paired_writes import HERE, environment

FLOOR = [sys.executable, "-c", "import click, sqlite3"]


def took(command: list[str]) -> float:
    """Milliseconds of a process from its start to its end."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return (time.perf_counter() - begin) * 1000


def processor_ms(command: list[str], env: dict[str, str], folder: Path) -> float:
    """Milliseconds of the processor that a process takes."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=env, cwd=folder)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime) * 1000


FILL = """
from hermes_memory_store.store import Store
with Store.open() as store:
    for number in range(50):
        store.facts.write("default", f"V[v.{number}]: size {number} of the thing", scope="sizes")
"""


def compare(before: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Return the median of each command in both versions, and the median of the paired ratios."""
    commands = {"facts": ["facts"], "status": ["status"], "search": ["search", "size"], "write": ["write", "V[w]: {}"]}
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in commands}
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        sides = [(environment(tree, Path(home)), Path(home)) for tree, home in ((before, one), (HERE, other))]
        for env, home in sides:
            subprocess.run([sys.executable, "-c", FILL], check=True, env=env, cwd=home)
        for number in range(rounds + 1):
            for name, words in commands.items():
                command = [sys.executable, "-m", "hermes_memory_tui", *(word.format(number) for word in words)]
                for side in (0, 1) if number % 2 else (1, 0):
                    taken = processor_ms(command, *sides[side])
                    if number:  # the first reads the modules from the disk
                        times[name][side].append(taken)
    return {
        name: {
            "before_ms": round(statistics.median(old), 1),
            "now_ms": round(statistics.median(new), 1),
            "ratio": round(statistics.median(b / a for a, b in zip(old, new, strict=True)), 2),
        }
        for name, (old, new) in times.items()
    }


def main() -> None:
    """Measure in turn, so that all see the same machine, and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("store", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--before", type=Path, help="a checkout of another version")
    given = parser.parse_args()
    if given.before is not None:
        print(json.dumps(compare(given.before.resolve(), given.rounds), indent=2))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = given.store or Path(folder) / "memory.db"
        if given.store is None:
            with Store.open(path) as store:
                for number in range(50):
                    store.facts.write("default", f"V[v.{number}]: size {number}")
        ours = [sys.executable, "-m", "hermes_memory_tui", "--db", str(path)]
        commands = {"floor": FLOOR, "status": [*ours, "status"], "search": [*ours, "search", "size"]}
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(given.rounds):
            for name, command in commands.items():
                times[name].append(took(command))
    floor = statistics.median(times["floor"])
    report = {
        name: {"median_ms": round(statistics.median(taken)), "of_floor": round(statistics.median(taken) / floor, 2)}
        for name, taken in times.items()
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
