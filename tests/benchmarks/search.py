"""What a search costs, class by class, beside `ORDER BY bm25 LIMIT 20` on plain FTS5 in the same run.

    python -m tests.benchmarks.search --facts 1000 --facts 1000000 --out DIR

Stores come from `generate.py` and stay in DIR, as does the plain index (porter, no themes, no filters) of the same texts.
Must reach at a million facts: a very common word at most 15 ms (median) and 30 ms (p99), anything else at most 10 ms (p99).
"""

from __future__ import annotations

import argparse
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hermes_memory_store.store import Store
from tests.benchmarks.generate import THEMES, store_of
from tests.benchmarks.timing import interleaved, median_us, p99_us, table

HEADINGS = ("facts", "search", "median ms", "p99 ms", "bm25 median ms", "bm25 p99 ms")
ROUNDS = 200


class Words:
    """Words of a store by how often they occur, from a sample of its facts."""

    def __init__(self, store: Store, facts: int) -> None:
        every = max(1, facts // 10_000)
        rows = store.db.rows("SELECT content FROM facts WHERE id % ? = 0", (every,))
        self.texts = [row[0].split() for row in rows]
        by_number = [word for word, _ in Counter(word for text in self.texts for word in set(text)).most_common()]
        count = len(by_number)
        self.common, self.ordinary = by_number[:5], by_number[20 : max(21, count // 10)]
        self.rare = by_number[count // 2 :]
        self.scopes = {theme: store.names.labels(theme) or [""] for theme in THEMES}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--facts", type=int, action="append")
    options.add_argument("--out", type=Path, required=True, help="the folder of the stores")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    given = options.parse_args()
    rows: list[tuple[object, ...]] = []
    for facts in given.facts or [1_000, 100_000]:
        path = store_of(facts, given.out)
        plain = plain_index(path, given.out / f"plain-{facts}.db")
        with Store.open(path, read_only=True) as store:
            for name, line in classes(Words(store, facts)).items():
                rows.append((f"{facts:,}", name, *measured(store, plain, line, given.rounds)))
        plain.close()
    table(HEADINGS, rows)


Line = Callable[[random.Random], tuple[str | None, str, str]]
"""Makes a search: theme, line, and the nearest that plain FTS5 can be asked ('' for nothing comparable)."""


def classes(words: Words) -> dict[str, Line]:
    """The kinds of search people and agents make."""

    def theme(rng: random.Random) -> str:
        return rng.choice(THEMES)

    def scoped(rng: random.Random, word: str) -> tuple[str, str, str]:
        name = theme(rng)
        return name, f'{word} scope:"{rng.choice(words.scopes[name])}"', f'"{word}"'

    def neighbours(rng: random.Random, count: int) -> list[str]:
        text = rng.choice([text for text in words.texts if len(text) > count])
        start = rng.randrange(len(text) - count)
        return text[start : start + count]

    def all_of(some: list[str]) -> str:
        return " ".join(f'"{word}"' for word in some)

    def question(rng: random.Random) -> tuple[str, str, str]:
        some = [*rng.sample(words.ordinary, 2), rng.choice(words.common), rng.choice(words.rare)]
        return theme(rng), f"what did we decide about {some[0]} and {some[1]} {some[2]} {some[3]}?", " OR ".join(some)

    def two(rng: random.Random, *kinds: list[str]) -> tuple[str, str, str]:
        some = [rng.choice(kind) for kind in kinds]
        return theme(rng), " ".join(some), all_of(some)

    def one(
        rng: random.Random, kind: list[str], extra: str = "", everywhere: bool = False
    ) -> tuple[str | None, str, str]:
        word = rng.choice(kind)
        return None if everywhere else theme(rng), word + extra, f'"{word}"'

    def prefix(rng: random.Random, kind: list[str], length: int) -> tuple[str, str, str]:
        start = rng.choice(kind)[:length]
        return theme(rng), start, f'"{start}" *'

    def phrase(rng: random.Random) -> tuple[str, str, str]:
        some = " ".join(neighbours(rng, 2))
        return theme(rng), f'"{some}"', f'"{some}"'

    return {
        "very common word": lambda rng: one(rng, words.common),
        "very common word, all themes": lambda rng: one(rng, words.common, everywhere=True),
        "very common word in a scope": lambda rng: scoped(rng, rng.choice(words.common)),
        "ordinary word": lambda rng: one(rng, words.ordinary),
        "ordinary word in a scope": lambda rng: scoped(rng, rng.choice(words.ordinary)),
        "ordinary word, all themes": lambda rng: one(rng, words.ordinary, everywhere=True),
        "rare word": lambda rng: one(rng, words.rare),
        "two words": lambda rng: two(rng, words.ordinary, words.ordinary),
        "a common and a rare word": lambda rng: two(rng, words.common, words.rare),
        "three words": lambda rng: two(rng, words.common, words.ordinary, words.ordinary),
        "words of one fact": lambda rng: (theme(rng), " ".join(some := neighbours(rng, 3)), all_of(some)),
        "phrase": phrase,
        "beginning, 3 letters": lambda rng: prefix(rng, words.ordinary, 3),
        "beginning, 5 letters": lambda rng: prefix(rng, words.ordinary, 5),
        "question": question,
        "common word tier:archived": lambda rng: one(rng, words.common, " tier:archived"),
        "ordinary word type:done": lambda rng: one(rng, words.ordinary, " type:done"),
        "common word after:7d": lambda rng: one(rng, words.common, " after:2026-02-10"),
        "ordinary word before": lambda rng: one(rng, words.ordinary, " before:2025-06-01"),
        "common word without another": lambda rng: one(rng, words.common, f" -{rng.choice(words.ordinary)}"),
        "filters only": lambda rng: (theme(rng), "type:decision", ""),
    }


def measured(store: Store, plain: sqlite3.Connection, line: Line, rounds: int) -> tuple[float, float, object, object]:
    """Milliseconds of ours (median, p99) and of plain FTS5, taken in turn over the same searches."""
    rng = random.Random(7)
    asked = [line(rng) for _ in range(rounds)]
    sql = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 20"

    def ours(n: int) -> object:
        theme, text, _ = asked[n]
        return store.search.find(theme, text, limit=20)

    def floor(n: int) -> object:
        return plain.execute(sql, (asked[n][2],)).fetchall()

    for n in range(min(5, rounds)):
        ours(n)
    if not asked[0][2]:
        (times,) = interleaved(rounds, ours)
        return median_us(times) / 1000, p99_us(times) / 1000, "-", "-"
    # The floor of a very common word takes half a second a round: a tenth of the rounds says as much.
    (times,) = interleaved(rounds, ours)
    (plain_times,) = interleaved(max(10, rounds // 10), floor)
    return (
        median_us(times) / 1000,
        p99_us(times) / 1000,
        f"{median_us(plain_times) / 1000:.2f}",
        f"{p99_us(plain_times) / 1000:.2f}",
    )


def plain_index(store: Path, path: Path) -> sqlite3.Connection:
    """Plain FTS5 over the same texts, made once."""
    made = path.exists()
    conn = sqlite3.connect(path.absolute().as_uri(), uri=True)
    if not made:
        conn.execute("PRAGMA synchronous = OFF")
        conn.execute(
            "CREATE VIRTUAL TABLE texts USING fts5 (target, content, content = '', tokenize = 'porter unicode61')"
        )
        conn.execute("ATTACH ? AS store", (store.absolute().as_uri() + "?mode=ro",))
        conn.execute("INSERT INTO texts (rowid, target, content) SELECT id, target, content FROM store.facts")
        conn.commit()
        conn.execute("DETACH store")
    return conn


if __name__ == "__main__":
    main()
