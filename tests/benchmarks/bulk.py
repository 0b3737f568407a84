"""Bulk import against the floor: raw batched inserts of facts with their full-text rows, same text, same run.

python -m tests.benchmarks.bulk [--facts 100000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from hermes_memory_store.memory.bulk_writer import BATCH
from hermes_memory_store.model import IMPORT
from hermes_memory_store.store import Store
from tests.benchmarks.generate import vocabulary
from tests.benchmarks.timing import table
from tests.benchmarks.writes import RAW


def texts(facts: int) -> list[tuple[str, str]]:
    """(target, content) of that many facts, 20 to 200 characters of Zipf words."""
    rng = random.Random(5)
    words = vocabulary(rng)
    drawn = rng.choices(words.words, cum_weights=words.sums, k=facts * 6)
    return [(f"n{n}.{drawn[n]}", " ".join(rng.choices(drawn, k=rng.randint(3, 28)))[:200]) for n in range(facts)]


def raw(path: Path, said: list[tuple[str, str]]) -> float:
    """Seconds of the floor."""
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("PRAGMA synchronous = FULL")
    for statement in RAW:
        conn.execute(statement)
    start = time.perf_counter()
    for first in range(0, len(said), BATCH):
        some = list(enumerate(said[first : first + BATCH], first + 1))
        conn.execute("BEGIN IMMEDIATE")
        conn.executemany("INSERT INTO facts VALUES (?, 'V', ?, ?, 1, 1)", ((n, *pair) for n, pair in some))
        conn.executemany(
            "INSERT INTO words (rowid, target, content) VALUES (?, ?, ?)", ((n, *pair) for n, pair in some)
        )
        conn.execute("COMMIT")
    taken = time.perf_counter() - start
    conn.close()
    return taken


def ours(path: Path, said: list[tuple[str, str]]) -> float:
    """Seconds of a bulk write into an empty store."""
    with Store.open(path) as store:
        start = time.perf_counter()
        result = store.facts.write_many(
            "default",
            [(f"V[{target}]: {content}", f"s{n % 200}") for n, (target, content) in enumerate(said)],
            actor=IMPORT,
        )
        taken = time.perf_counter() - start
        assert result.created == len(said)
    return taken


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    said = texts(options.facts)
    floor, own = [], []
    for n in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            floor.append(raw(Path(folder) / f"raw{n}.db", said))
            own.append(ours(Path(folder) / f"ours{n}.db", said))
    each = [seconds / options.facts * 1e6 for seconds in (statistics.median(floor), statistics.median(own))]
    table(
        ("facts", "raw us a fact", "ours us a fact", "of the floor's speed (>= 0.4)"),
        [(f"{options.facts:,}", *each, each[0] / each[1])],
    )


if __name__ == "__main__":
    main()
