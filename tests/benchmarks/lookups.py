"""Library look-ups of facts in one large theme, beside hermes-memory 0.3.0 over the same texts, in turn in the same run.

    pip install --no-deps --target HERMES hermes-memory==0.3.0
    python -m tests.benchmarks.lookups --hermes HERMES --out DIR

Must reach at 100,000 facts: medians of ours at most hermes-memory's, a very common word at most 3 ms, p99 at most 5 ms.
hermes-memory counts its readers as it reads, in a transaction of its own; ours notes them and writes 128 searches at once.
"""

from __future__ import annotations

import argparse
import importlib
import random
import shutil
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from hermes_memory_store.store import Store
from tests.benchmarks.generate import store_of
from tests.benchmarks.timing import interleaved, median_us, p99_us, table

HEADINGS = ("look-up", "ours, median ms", "ours, p99 ms", "hermes-memory, median ms", "hermes-memory, p99 ms")
THEME = "default"
LIMIT = 20


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--facts", type=int, default=100_000)
    options.add_argument("--out", type=Path, required=True, help="the folder of the stores")
    options.add_argument("--hermes", type=Path, required=True, help="where hermes-memory 0.3.0 was installed")
    options.add_argument("--rounds", type=int, default=300)
    given = options.parse_args()
    sys.path.append(str(given.hermes))
    hermes = importlib.import_module("hermes_memory.core.facts")
    source = store_of(given.facts, given.out, themes=(THEME,))
    path = given.out / "lookups.db"
    shutil.copyfile(source, path)
    rows: list[tuple[object, ...]] = []
    with Store.open(path) as store:
        store.db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        other = hermes_store(path, given.out / f"hermes-{given.facts}.db")
        for name, lines in look_ups(store, given.rounds).items():

            def ours(n: int, lines: list[str] = lines) -> object:
                return store.search.find(THEME, lines[n], limit=LIMIT)

            def theirs(n: int, lines: list[str] = lines) -> object:
                return hermes.search(other, lines[n], limit=LIMIT)

            for n in range(5):
                ours(n), theirs(n)
            mine, its = interleaved(given.rounds, ours, theirs)
            rows.append((name, *(figure(times) / 1000 for times in (mine, its) for figure in (median_us, p99_us))))
        other.close()
    table(HEADINGS, rows)


def look_ups(store: Store, rounds: int) -> dict[str, list[str]]:
    """Lines by kind: words by how many of a sample of the facts have them."""
    texts = [row[0].split() for row in store.db.rows("SELECT content FROM facts WHERE id % 10 = 0")]
    by_number = [word for word, _ in Counter(word for text in texts for word in set(text)).most_common()]
    rng = random.Random(7)
    ordinary, rare = by_number[20 : max(21, len(by_number) // 10)], by_number[len(by_number) // 2 :]
    return {
        "one ordinary word": rng.choices(ordinary, k=rounds),
        "two words": [" ".join(rng.sample(ordinary, 2)) for _ in range(rounds)],
        "two words of one fact": [
            " ".join(rng.sample(rng.choice([t for t in texts[:999] if len(t) > 2]), 2)) for _ in range(rounds)
        ],
        "one rare word": rng.choices(rare, k=rounds),
        "one very common word": rng.choices(by_number[:3], k=rounds),
    }


def hermes_store(store: Path, path: Path) -> sqlite3.Connection:
    """The same facts in hermes-memory's store, made once with its own tables."""
    db: Any = importlib.import_module("hermes_memory.core.db")
    conn: sqlite3.Connection = db.get_connection(path)
    if conn.execute("SELECT 1 FROM facts LIMIT 1").fetchone() is None:
        conn.execute("ATTACH ? AS store", (str(store),))
        conn.execute(
            "INSERT INTO facts (id, content, type, target, status, created_at, updated_at, source_hash)"
            " SELECT id, content, CASE type WHEN '✓' THEN 'done' WHEN '~' THEN 'obs' ELSE type END, target,"
            " CASE tier WHEN 'hot' THEN 'active' WHEN 'cold' THEN 'cold' ELSE 'archived' END,"
            " created_at / 1000, updated_at / 1000, id FROM store.facts"
        )
        conn.commit()
        conn.execute("DETACH store")
    return conn


if __name__ == "__main__":
    main()
