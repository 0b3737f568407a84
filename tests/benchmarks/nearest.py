"""How fast the nearest of a theme of many facts are found, beside one plain product of 32-bit floats.

    python -m tests.benchmarks.nearest [--facts 100000] [--dimensions 384]

Vectors are those of groups of like things: some hundred centres, and noise around each, as texts of a memory have. *float32* is
`matrix @ question` over everything, and its sixty best; *index* the bridge's, with 80 facts besides that words found. `found`
is the share of the sixty nearest by *float32* that *index* has among its sixty. Needs the extra `local`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from hermes_memory_bridge.embedding.vector_index import VectorIndex
from hermes_memory_store.find.vector_file import Vector, Vectors

TAKEN, BESIDES, ASKED, CENTRES = 60, 80, 200, 500


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--facts", type=int, default=100_000)
    options.add_argument("--dimensions", type=int, default=384)
    given = options.parse_args()
    chance = np.random.default_rng(1)
    centres = chance.standard_normal((CENTRES, given.dimensions)).astype(np.float32)

    def texts(count: int) -> np.ndarray:
        made = centres[chance.integers(0, CENTRES, count)]
        made = made + chance.standard_normal((count, given.dimensions)).astype(np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    matrix, questions = texts(given.facts), texts(ASKED)
    with tempfile.TemporaryDirectory() as folder, Vectors(Path(folder) / "memory.db") as vectors:
        save(vectors, matrix)
        index = VectorIndex(vectors)
        begun = time.perf_counter()
        index.load("fact", "m", (1, given.facts))
        print(f"{given.facts:,} vectors of {given.dimensions} numbers, loaded in {time.perf_counter() - begun:.2f} s")
        besides = [int(key) for key in chance.integers(1, given.facts + 1, BESIDES)]

        def by_floats(question: np.ndarray) -> set[int]:
            near = matrix @ question
            return {int(key) + 1 for key in np.argpartition(-near, TAKEN)[:TAKEN]}

        def by_index(question: np.ndarray) -> set[int]:
            found = index.nearest("fact", "m", (1, given.facts), question.tolist(), TAKEN, 0.0, besides)
            return {key for key, _ in found}

        best = [by_floats(question) for question in questions]
        found = [by_index(question) for question in questions]
        floor, ours = measure(by_floats, questions), measure(by_index, questions)
    shared = statistics.mean(len(some & every) / TAKEN for some, every in zip(found, best, strict=True))
    print(f"{'':8} {'p50 ms':>8} {'p95 ms':>8} {'found':>8}")
    print(f"{'float32':8} {floor[0]:8.2f} {floor[1]:8.2f} {1:8.4f}")
    print(f"{'index':8} {ours[0]:8.2f} {ours[1]:8.2f} {shared:8.4f}")
    print(f"index / float32: {ours[0] / floor[0]:.2f} of the median")


def save(vectors: Vectors, matrix: np.ndarray) -> None:
    """Save vectors as the bridge does."""
    steps = np.abs(matrix).max(1, keepdims=True) / 127
    rows = np.round(matrix / steps).astype(np.int8)
    scales = 1 / np.linalg.norm(rows.astype(np.float32), axis=1)
    vectors.save(
        [
            Vector("fact", at + 1, at.to_bytes(16, "big"), b"d", "m", float(scales[at]), row.tobytes())
            for at, row in enumerate(rows)
        ]
    )


def measure(find: Callable[[np.ndarray], object], questions: np.ndarray) -> tuple[float, float]:
    """Return the median and the 95th percentile in milliseconds."""
    times = []
    for question in questions:
        begun = time.perf_counter()
        find(question)
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


if __name__ == "__main__":
    main()
