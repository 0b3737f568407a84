"""How fast the journal is folded by change, and a sentence traced to its facts, at each size of a store.

    python -m tests.benchmarks.journal stores/memory-1000000.db

The floor is as many rows of the journal, read as they stand; of a sentence, one search for its words.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from hermes_memory_store.journal.change_folds import ChangeFolds
from hermes_memory_store.journal.saying_sources import Saying, explain_saying
from hermes_memory_store.store import Store
from tests.benchmarks.timing import interleaved, median_us, p99_us, table

PAGE = 400
"""Changes that the inspector reads at once."""

ROUNDS = 30

SAID = 40
"""Words of a sentence."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("stores", nargs="+", type=Path)
    rows: list[tuple[object, ...]] = []
    for path in options.parse_args().stores:
        with Store.open(path, read_only=True) as store:
            rows += measure_store(store)
    table(("rows", "what", "floor, ms", "ours, ms", "p99, ms", "ratio"), rows)


def measure_store(store: Store) -> list[tuple[object, ...]]:
    """Measure each work beside its floor."""
    last = store.journal.last_seq()
    contents = (str((change.after or {}).get("content", "")) for change in store.journal.changes(limit=SAID))
    words = " ".join(contents).split()
    said = " ".join(list(dict.fromkeys(words))[:SAID])
    theme = store.themes()[0].name

    def flat(until: int | None) -> Callable[[int], object]:
        return lambda _: store.journal.changes(until=until, limit=PAGE, newest_first=True)

    def folded(until: int | None, ops: tuple[str, ...] = ()) -> Callable[[int], object]:
        return lambda _: ChangeFolds(store).newest(PAGE, until=until, ops=ops)

    works: list[tuple[str, Callable[[int], object], Callable[[int], object]]] = [
        (f"the newest {PAGE} changes", flat(None), folded(None)),
        (f"{PAGE} changes from the middle", flat(last // 2), folded(last // 2)),
        (f"the newest {PAGE} that created facts", flat(None), folded(None, ("create",))),
        (
            f"what {len(said.split())} words came from",
            lambda _: store.search.find(theme, said.split()[0], limit=12),
            lambda _: explain_saying(store, Saying(said, theme)),
        ),
    ]
    found: list[tuple[object, ...]] = []
    for name, floor, ours in works:
        before, after = interleaved(ROUNDS, floor, ours)
        ratio = median_us(after) / median_us(before)
        found.append((f"{last:,}", name, median_us(before) / 1e3, median_us(after) / 1e3, p99_us(after) / 1e3, ratio))
    return found


if __name__ == "__main__":
    main()
