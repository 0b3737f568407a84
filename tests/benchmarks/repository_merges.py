"""Merge branches that change different facts at random, by Git alone: `python -m tests.benchmarks.repository_merges 1000`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.e2e.test_repository_facts import merge_randomly


def main(count: int) -> None:
    lost = conflicts = 0
    for seed in range(count):
        with tempfile.TemporaryDirectory() as folder:
            lines, code = merge_randomly(Path(folder), seed)
        lost, conflicts = lost + lines, conflicts + (code != 0)
    print(f"{count:,} merges: {lost:,} lines lost, {conflicts:,} conflicts")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
