"""How long a command takes as a process, beside what the interpreter and click take by themselves.

python -m tests.benchmarks.process [STORE] [--rounds 15]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hermes_memory_store.store import Store

FLOOR = [sys.executable, "-c", "import click, sqlite3"]


def took(command: list[str]) -> float:
    """Milliseconds of a process from its start to its end."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return (time.perf_counter() - begin) * 1000


def main() -> None:
    """Measure in turn, so that all see the same machine, and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("store", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
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
