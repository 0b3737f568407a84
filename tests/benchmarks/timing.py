"""Timing that is honest on a noisy machine: the floor and ours take turns, and what counts is the ratio."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence


def interleaved(rounds: int, *works: Callable[[int], object]) -> list[list[float]]:
    """Seconds of each work, one list each, taken in turn: A B A B … Each gets the number of the round."""
    taken: list[list[float]] = [[] for _ in works]
    for n in range(rounds):
        for work, times in zip(works, taken, strict=True):
            start = time.perf_counter()
            work(n)
            times.append(time.perf_counter() - start)
    return taken


def median_us(times: Sequence[float]) -> float:
    """Median in microseconds."""
    return statistics.median(times) * 1e6


def p99_us(times: Sequence[float]) -> float:
    """99th percentile in microseconds."""
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.99))] * 1e6


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(headings) + " |")
    print("|" + " --- |" * len(headings))
    for row in rows:
        print("| " + " | ".join(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row) + " |")
