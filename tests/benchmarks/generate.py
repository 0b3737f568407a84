"""Stores of any size to measure on: 8 themes, 200 scopes, Zipf words, the same bytes of text for the same seed.

    python -m tests.benchmarks.generate --facts 1000000 --out DIR

makes `DIR/memory-1000000.db` (a few minutes for a million facts) and leaves it alone when it is there already. Facts go in
by plain SQL, in batches, but through the same triggers, full-text index and journal as any write, so that sizes and speeds
are those of a store that grew by itself. Copy the file before writing to it.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_store import uids
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.items import fulltext
from hermes_memory_store.items.journal import JournalEntry
from hermes_memory_store.items.kinds import FACT, FactRow
from hermes_memory_store.items.mutation import INSERT_FACT, count_notation_chars, fact_index_columns
from hermes_memory_store.items.name_keys import UNSCOPED
from hermes_memory_store.model import Actor, Millis
from hermes_memory_store.store import Store

THEMES = ("default", "marketing", "intraday-sre", "frontend", "billing", "research", "support", "platform")
SCOPES = 200
WORDS = 50_000
BATCH = 5_000
START = 1_740_000_000_000
"""When the first fact is written: 2025-02-19 in UTC milliseconds. The last is a year later at any size."""
YEAR = 365 * 86_400_000
HOT_PER_THEME = 100
"""The newest facts of a theme are hot: about the budget of 10,000 characters."""
SUPERSEDED = 0.10
ARCHIVED = 0.12
TYPES = "CDV?✓~"
TYPE_WEIGHTS = (10, 30, 45, 9, 4, 2)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words by falling frequency, drawn as Zipf's law has it: the first is in two facts of three."""

    words: list[str]
    sums: list[float]

    def draw(self, rng: random.Random) -> str:
        return self.words[bisect.bisect(self.sums, rng.random() * self.sums[-1])]


def vocabulary(rng: random.Random, size: int = WORDS) -> Vocabulary:
    """Made-up words of two to four syllables; frequent ones are shorter, as in any language."""
    syllables = [c + v + e for c in "bcdfgklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "s", "l", "t")]
    found: dict[str, None] = {}
    while len(found) < size:
        length = 2 if len(found) < size // 20 else rng.choice((3, 3, 4))
        found["".join(rng.choices(syllables, k=length))] = None
    return Vocabulary(list(found), list(itertools.accumulate(1 / rank for rank in range(1, size + 1))))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--facts", type=int, action="append", help="how many; repeat for several stores")
    options.add_argument("--out", type=Path, required=True, help="the folder the stores are kept in")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    for facts in given.facts or [1_000, 10_000, 100_000]:
        start = time.perf_counter()
        path = store_of(facts, given.out, seed=given.seed)
        print(
            f"{path}: {facts:,} facts, {path.stat().st_size / facts:,.0f} bytes a fact, {time.perf_counter() - start:.1f} s"
        )


def store_of(facts: int, folder: Path, *, seed: int = 1, themes: Sequence[str] = THEMES) -> Path:
    """The store of that many facts in the folder, generated when it is not there yet."""
    name = f"{facts}.db" if themes == THEMES else f"{facts}-{'-'.join(themes)}.db"
    path = folder / f"memory-{name}"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"unfinished-{name}"
    for leftover in folder.glob(unfinished.name + "*"):
        leftover.unlink()
    with Store.open(unfinished) as store:
        # A cut-off generation is thrown away, so durability would only cost time.
        store.db.conn.execute("PRAGMA synchronous = OFF")
        store.db.conn.execute("PRAGMA cache_size = -400000")
        Generator(store, facts, seed, themes).run()
        store.db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    unfinished.rename(path)
    return path


class Generator:
    """Fills an empty store."""

    def __init__(self, store: Store, facts: int, seed: int, themes: Sequence[str]) -> None:
        self.store = store
        self.facts = facts
        self.themes = themes
        self.rng = random.Random(seed)
        self.words = vocabulary(self.rng)
        self.actor = Actor("import")
        self.now = Millis(START)
        store.journal._clock = lambda: self.now

    def run(self) -> None:
        """Generate and store everything, in transactions of `BATCH` facts."""
        with self.store.db.write_transaction() as conn:
            self.theme_ids = [self.store.names.theme_for_writing(conn, name, START) for name in self.themes]
            self.scopes = self.open_scopes(conn)
            self.actor_id = self.store.names.actor(conn, self.actor)
        rows = self.rows()
        while batch := list(itertools.islice(rows, BATCH)):
            with self.store.db.write_transaction() as conn:
                self.insert(conn, batch)

    def open_scopes(self, conn: sqlite3.Connection) -> dict[int, list[tuple[int, str]]]:
        """The scopes of each theme, one of them the scope of facts without a scope: ids and labels."""
        scopes: dict[int, list[tuple[int, str]]] = {theme_id: [] for theme_id in self.theme_ids}
        for number in range(SCOPES):
            theme_id = self.theme_ids[number % len(self.themes)]
            label = f"{self.words.words[100 + number]} {number}" if number >= len(self.themes) else UNSCOPED
            uid = uids.new_uid(START)
            sql = (
                "INSERT INTO scopes (uid, theme_id, label, status, opened_at) VALUES (?, ?, ?, 'open', ?) RETURNING id"
            )
            scope_id = conn.execute(sql, (uid, theme_id, label, START)).fetchone()[0]
            scopes[theme_id].append((scope_id, label))
            if label:
                after = {"label": label, "status": "open", "opened_at": START}
                entry = JournalEntry("open", "scope", uid, theme_id, None, after)
                self.store.journal.append(conn, [entry], actor=self.actor, at=START)
        return scopes

    def rows(self) -> Iterator[tuple[FactRow, str]]:
        """Facts in the order of their writing, with the label of their scope."""
        rng, taken = self.rng, set[tuple[int, str, str]]()
        counts = dict.fromkeys(self.theme_ids, 0)
        hot_from = self.facts - HOT_PER_THEME * len(self.themes)
        made = 0
        while made < self.facts:
            theme_id = rng.choice(self.theme_ids)
            scope_id, label = rng.choice(self.scopes[theme_id])
            kind = rng.choices(TYPES, TYPE_WEIGHTS)[0]
            target = self.target()
            while (scope_id, kind, target) in taken:
                target = f"{self.target()}.{rng.randrange(1000)}"
            taken.add((scope_id, kind, target))
            versions = 2 if rng.random() < SUPERSEDED and made + 1 < self.facts else 1
            uid: bytes | None = None
            for version in range(versions, 0, -1):
                made += 1
                self.now = Millis(START + made * YEAR // self.facts)
                counts[theme_id] += 1
                uid, newer = uid or uids.new_uid(self.now), uids.new_uid(self.now) if version > 1 else None
                tier = "superseded" if newer else "hot" if made > hot_from else self.tier()
                key = theme_id << THEME_SHIFT | counts[theme_id]
                content = self.content()
                chars = count_notation_chars(target, content)
                yield (
                    FactRow(
                        key, uid, theme_id, scope_id, kind, target, content, tier, 0, chars, chars // 4 + 1,
                        self.actor_id, self.now, self.now, newer, None,
                    ),
                    label,
                )  # fmt: skip
                uid = newer

    def tier(self) -> str:
        draw = self.rng.random()
        return "archived" if draw < ARCHIVED else "quarantined" if draw < ARCHIVED + 0.001 else "cold"

    def target(self) -> str:
        return ".".join(self.words.draw(self.rng) for _ in range(self.rng.choice((1, 2, 2, 3))))

    def content(self) -> str:
        length, text = self.rng.randint(20, 200), self.words.draw(self.rng)
        while len(text) < length:
            text += " " + self.words.draw(self.rng)
        return text[:200].rstrip()

    def insert(self, conn: sqlite3.Connection, batch: list[tuple[FactRow, str]]) -> None:
        """One batch: facts (their triggers count them), words, journal."""
        conn.executemany(INSERT_FACT, [row for row, _ in batch])
        fulltext.index_items(conn, FACT, [fact_index_columns(row) for row, _ in batch])
        for row, label in batch:
            after = {
                "scope": label or None,
                "type": row.type,
                "target": row.target,
                "content": row.content,
                "tier": row.tier,
            }
            entry = JournalEntry("create", "fact", row.uid, row.theme_id, None, after)
            self.store.journal.append(conn, [entry], actor=self.actor, at=row.created_at)


if __name__ == "__main__":
    main()
