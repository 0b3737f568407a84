"""What one recall costs in a theme of many facts and turns, beside plain FTS5 in the same run.

    python -m tests.benchmarks.recall_scale --items 100000 --out DIR

The store stays in DIR: so many facts and as many turns of one theme, of made-up words by Zipf's law, a quarter of the facts
written from turns. Questions have six words: common, ordinary and rare ones. `plain FTS5` asks one index of all texts for any of
the words, ranked by bm25. `block` is the context block.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hermes_memory_store.model import Origin, Way
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.benchmarks.generate import vocabulary
from tests.benchmarks.timing import median_us, p99_us, table

THEME = "default"
POLICY = '[defaults]\nhot_chars = 10000\nquarantine = false\nsecrets = "allow"\n'
ROUNDS = 200
BUDGET = 180


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--items", type=int, default=100_000)
    options.add_argument("--out", type=Path, required=True, help="the folder of the store")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    given = options.parse_args()
    path, plain = make_store(given.out, given.items)
    rng = random.Random(7)
    words = vocabulary(random.Random(1))
    with Store.open(path, read_only=True) as store:
        found = store.recall
        asked = [make_question(rng, words.words) for _ in range(given.rounds)]
        rows: list[tuple[object, ...]] = []
        ways: dict[str, Callable[[str], object]] = {
            "facts and turns": lambda line: found.give([THEME], line, BUDGET),
            "facts": lambda line: found.give([THEME], line, BUDGET, kinds=("fact",)),
            "turns": lambda line: found.give([THEME], line, BUDGET, kinds=("turn",)),
            "block": lambda _: store.context.status(THEME, record=False),
            "plain FTS5": lambda line: ask_plain(plain, line),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for line in asked:
            for name, ask in ways.items():
                begun = time.perf_counter()
                ask(line)
                times[name].append(time.perf_counter() - begun)
        for name, some in times.items():
            p95 = sorted(some)[int(0.95 * len(some))]
            figures = (median_us(some) / 1000, p95 * 1000, p99_us(some) / 1000)
            rows.append((f"{given.items:,}", name, *(f"{one:.2f}" for one in figures)))
        table(("items", "way", "p50 ms", "p95 ms", "p99 ms"), rows)


def make_question(rng: random.Random, words: list[str]) -> str:
    """Six words: two common ones, two ordinary, two rare."""
    drawn = [*rng.choices(words[:50], k=2), *rng.choices(words[200:3_000], k=2), *rng.choices(words[10_000:], k=2)]
    rng.shuffle(drawn)
    return " ".join(drawn)


def ask_plain(conn: sqlite3.Connection, line: str) -> list[tuple[int]]:
    expression = " OR ".join(f'"{word}"' for word in line.split())
    return conn.execute(
        "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 20", (expression,)
    ).fetchall()


def make_store(folder: Path, items: int) -> tuple[Path, sqlite3.Connection]:
    """Make the store and the plain index, or open those that are there."""
    folder.mkdir(parents=True, exist_ok=True)
    path, beside = folder / f"recall-{items}.db", folder / f"plain-recall-{items}.db"
    plain = sqlite3.connect(beside)
    if path.exists():
        return path, plain
    policies = folder / "memory-themes.toml"
    policies.write_text(POLICY, encoding="utf-8")
    rng, words = random.Random(3), vocabulary(random.Random(1))
    texts = [" ".join(words.draw(rng) for _ in range(rng.randint(6, 24))) for _ in range(2 * items)]
    with Store.open(path, policies=Policies.load(policies)) as store:
        session = store.sessions.open(THEME, "conversation")
        turns = [store.turns.add(THEME, "user", text, session=session) for text in texts[:items]]
        actor = store.facts.write(THEME, "V[first]: one").fact.actor
        for start in range(0, items, 1_000):
            origin = Origin(Way.LIBRARY)
            if start % 4_000 == 0:
                origin = replace(origin, turns=tuple(turn.uid for turn in turns[start : start + 3]))
            some = [
                (f"V[{words.draw(rng)}.{start + at}]: {text}", None)
                for at, text in enumerate(texts[items + start : items + start + 1_000])
            ]
            store.facts.write_many(THEME, some, actor=actor, origin=origin)
    plain.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61')")
    plain.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", enumerate(texts))
    plain.commit()
    return path, plain


if __name__ == "__main__":
    main()
