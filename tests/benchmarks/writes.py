"""One acknowledged write against the floor: a raw insert of a fact with its full-text row, same durability, same run.

    python -m tests.benchmarks.writes --stores DIR [--sizes 1000,10000,100000,1000000] [--rounds 400]

The stores are those of `generate.py`; each is copied first. The raw store is filled with the same facts.
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import sqlite3
import tempfile
from pathlib import Path

from hermes_memory_store.store import Store
from tests.benchmarks.timing import interleaved, median_us, p99_us, table

RAW = (
    "CREATE TABLE facts (id INTEGER PRIMARY KEY, type TEXT, target TEXT, content TEXT, scope INTEGER, at INTEGER)",
    "CREATE VIRTUAL TABLE words USING fts5 (target, content, content = 'facts', content_rowid = 'id',"
    " tokenize = 'porter unicode61')",
)


def raw_store(path: Path, source: Path) -> sqlite3.Connection:
    """The floor: the same facts in one table with external-content FTS5, WAL, synchronous=FULL."""
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute("PRAGMA synchronous = FULL")
    for statement in RAW:
        conn.execute(statement)
    conn.execute("ATTACH ? AS source", (str(source),))
    conn.execute(
        "INSERT INTO facts SELECT NULL, type, target, content, scope_id, created_at FROM source.facts ORDER BY id"
    )
    conn.execute("DETACH source")
    conn.execute("INSERT INTO words (words) VALUES ('rebuild')")
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return conn


def raw_write(conn: sqlite3.Connection, target: str, content: str) -> None:
    """One durable insert of a fact and its full-text row."""
    conn.execute("BEGIN IMMEDIATE")
    key = conn.execute("INSERT INTO facts VALUES (NULL, 'V', ?, ?, 1, 1)", (target, content)).lastrowid
    conn.execute("INSERT INTO words (rowid, target, content) VALUES (?, ?, ?)", (key, target, content))
    conn.execute("COMMIT")


def contents(source: Path, count: int) -> list[str]:
    """Texts of facts that are in the store already, shuffled word by word."""
    conn = sqlite3.connect(source)
    rng = random.Random(11)
    rows = conn.execute("SELECT content FROM facts ORDER BY id DESC LIMIT ?", (count,)).fetchall()
    conn.close()
    words = [word for (content,) in rows for word in content.split()]
    return [" ".join(rng.choices(words, k=rng.randint(4, 25)))[:200] for _ in range(count)]


def measure(source: Path, rounds: int, folder: Path) -> tuple[float, float, float, float, float]:
    """Median and p99 of raw and ours in microseconds, and the median of undoing one change."""
    said = contents(source, rounds * 2)
    copy = folder / source.name
    shutil.copy(source, copy)
    raw = raw_store(folder / f"raw-{source.name}", source)
    with Store.open(copy) as store:
        theme = store.themes()[0].name
        scopes = [scope.label for scope in store.scopes.list(theme)][:20] or [None]

        def ours(n: int) -> None:
            store.facts.write(theme, f"V[bench.n{n}]: {said[n]}", scope=scopes[n % len(scopes)])

        for n in range(rounds, rounds + 30):
            ours(n)
        floor, own, undo = interleaved(
            rounds,
            lambda n: raw_write(raw, f"bench.n{n}", said[n]),
            ours,
            lambda n: store.undo.last(1, theme=theme) if n % 4 == 0 else None,
        )
    raw.close()
    return median_us(floor), p99_us(floor), median_us(own), p99_us(own), median_us(undo[::4])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", type=Path, required=True)
    parser.add_argument("--sizes", default="1000,10000,100000,1000000")
    parser.add_argument("--rounds", type=int, default=400)
    options = parser.parse_args()
    rows, medians = [], {}
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory(dir=options.stores) as folder:
            raw, raw99, own, own99, undo = measure(options.stores / f"memory-{size}.db", options.rounds, Path(folder))
        medians[size] = own
        rows.append((f"{size:,}", raw, raw99, own, own99, own / raw, undo, undo / own))
    table(
        ("facts", "raw us", "raw p99", "write us", "write p99", "ratio (<= 2.5)", "undo us", "undo/write (<= 2)"), rows
    )
    sizes = sorted(medians)
    if len(sizes) > 1:
        growth = math.log(medians[sizes[-1]] / medians[sizes[0]]) / math.log(sizes[-1] / sizes[0])
        print(f"\ngrowth exponent from {sizes[0]:,} to {sizes[-1]:,}: {growth:.3f} (at most 0.15)")


if __name__ == "__main__":
    main()
