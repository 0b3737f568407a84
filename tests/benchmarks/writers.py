"""Several processes writing to one file at once, against as many raw sqlite3 writers in the same run.

python -m tests.benchmarks.writers [--facts 400] [--processes 2,4,8]
"""

from __future__ import annotations

import argparse
import multiprocessing
import sqlite3
import statistics
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

from hermes_memory_store.model import FactFilter
from hermes_memory_store.store import Store
from tests.benchmarks.timing import table
from tests.benchmarks.writes import RAW, raw_write


def raw_writer(path: Path, name: int, facts: int, together: Barrier) -> None:
    """One raw writer, waiting for the lock as sqlite3 does."""
    conn = sqlite3.connect(path, isolation_level=None, timeout=60)
    conn.execute("PRAGMA synchronous = FULL")
    together.wait()
    for n in range(facts):
        raw_write(conn, f"w{name}.n{n}", f"what writer {name} has to say about number {n} of its facts")
    conn.close()


def our_writer(path: Path, name: int, facts: int, together: Barrier) -> None:
    """One of ours: every write is acknowledged, journaled, counted and indexed."""
    with Store.open(path, lock_timeout_s=60) as store:
        together.wait()
        for n in range(facts):
            store.facts.write(
                "default", f"V[w{name}.n{n}]: what writer {name} has to say about number {n} of its facts"
            )


def at_once(work: object, path: Path, processes: int, facts: int) -> float:
    """Writes a second of all processes together."""
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(processes + 1)
    running = [context.Process(target=work, args=(path, n, facts, together)) for n in range(processes)]  # type: ignore[arg-type]
    for process in running:
        process.start()
    together.wait()
    start = time.perf_counter()
    for process in running:
        process.join()
    taken = time.perf_counter() - start
    assert all(process.exitcode == 0 for process in running)
    return processes * facts / taken


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=400)
    parser.add_argument("--processes", default="2,4,8")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows = []
    for processes in map(int, options.processes.split(",")):
        floor, own = [], []
        for n in range(options.rounds):
            with tempfile.TemporaryDirectory() as folder:
                raw, ours = Path(folder) / f"raw{n}.db", Path(folder) / f"ours{n}.db"
                conn = sqlite3.connect(raw)
                conn.execute("PRAGMA journal_mode = WAL")
                for statement in RAW:
                    conn.execute(statement)
                conn.close()
                floor.append(at_once(raw_writer, raw, processes, options.facts))
                own.append(at_once(our_writer, ours, processes, options.facts))
                with Store.open(ours, read_only=True) as store:
                    assert store.facts.count(FactFilter(tiers=frozenset())) == processes * options.facts
        both = statistics.median(floor), statistics.median(own)
        rows.append((processes, *both, both[1] / both[0]))
    table(("processes", "raw writes/s", "ours writes/s", "ratio (>= 0.8)"), rows)


if __name__ == "__main__":
    main()
