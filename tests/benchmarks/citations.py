"""Whether cited lines are told rightly as true, moved, changed or missing at later commits, beside what `git diff` says.

    python -m tests.benchmarks.citations REPOSITORY... [--facts 40] [--commits 20] [--seed 1]

Of each repository random lines at a commit of the older half are cited, and checked in the same file at later commits.
`git diff -U0` without renames says what became of them: lines that it leaves alone are true where they stood and moved elsewhere;
lines that it changed, or between which it put others, are changed. What it deletes in one place and adds in another it calls
changed, and this calls moved: those count as wrong here. Milliseconds are processor time of one comparison.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hermes_memory_store.places.citations import (
    Citation,
    compare_cited_lines,
    digest_lines,
    find_symbol,
    mark_lines,
    split_file_lines,
)
from tests.benchmarks.timing import table

HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@", re.MULTILINE)

TEXTS = (".py", ".go", ".ts", ".js", ".rs", ".c", ".java", ".rb", ".md", ".toml", ".yml", ".cfg", ".sh")

LENGTHS = (1, 1, 2, 3, 5, 8, 12)

Outcome = tuple[str, int]
"""A state, and the line where it stands."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("repositories", nargs="+", type=Path)
    options.add_argument("--facts", type=int, default=40)
    options.add_argument("--commits", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    rows = []
    for repository in given.repositories:
        dice = random.Random(given.seed)
        pairs: Counter[tuple[str, str]] = Counter()
        seconds: list[float] = []
        for truth, told, took in check_history(repository, dice, given.facts, given.commits):
            is_right = truth[0] == told[0] and (truth[0] != "moved" or truth[1] == told[1])
            pairs[truth[0], "right" if is_right else told[0]] += 1
            seconds.append(took)
        total = sum(pairs.values()) or 1
        right = sum(count for (_, told), count in pairs.items() if told == "right")
        wrongly_true = sum(count for (_, told), count in pairs.items() if told == "true")
        wrong = ", ".join(f"{count} {truth} as {told}" for (truth, told), count in pairs.items() if told != "right")
        p50, p99 = (sorted(seconds)[int(len(seconds) * share)] * 1e3 for share in (0.5, 0.99))
        rows.append(
            (
                repository.parent.name,
                total,
                f"{right / total:.4f}",
                f"{wrongly_true / total:.4f}",
                wrong,
                f"{p50:.2f}",
                f"{p99:.2f}",
            )
        )
    table(("repository", "checks", "right", "wrongly true", "wrong", "p50 ms", "p99 ms"), rows)


def check_history(
    repository: Path, dice: random.Random, facts: int, commits: int
) -> Iterator[tuple[Outcome, Outcome, float]]:
    """Yield what Git says of cited lines at a later commit, what we say, and the seconds that took."""
    history = git(repository, "log", "--first-parent", "--format=%H", "-n", "600").decode().split()[::-1]
    for _ in range(facts):
        start = dice.randrange(max(1, len(history) // 2))
        listed = git(repository, "ls-tree", "-r", "--name-only", history[start]).decode().splitlines()
        path = dice.choice([name for name in listed if name.endswith(TEXTS)] or [""])
        content = show(repository, history[start], path) or b""
        lines = split_file_lines(content)
        first = dice.randrange(len(lines))
        last = min(len(lines) - 1, first + dice.choice(LENGTHS))
        if b"\0" in content or not any(lines[first:last]):
            continue
        marks = mark_lines(lines, first, last)
        cited = Citation(
            "lines",
            path,
            first + 1,
            last,
            digest_lines(lines[first:last]),
            find_symbol(lines, first),
            marks,
            (),
            len(lines),
        )
        for commit in dice.sample(history[start:], min(commits, len(history) - start)):
            now = show(repository, commit, path)
            if now is None:
                yield ("missing", 0), ("missing", 0), 0.0
                continue
            began = time.process_time()
            check = compare_cited_lines(cited, now)
            took = time.process_time() - began
            yield find_truth(repository, history[start], commit, cited), (check.state.value, check.first), took


def find_truth(repository: Path, before: str, after: str, cited: Citation) -> Outcome:
    shift = 0
    for hunk in HUNK.finditer(
        git(repository, "diff", "--no-ext-diff", "-U0", "--no-renames", before, after, "--", cited.what)
    ):
        start, removed, added = int(hunk[1]), int(hunk[2] or 1), int(hunk[3] or 1)
        end = start + removed - 1 if removed else start  # of an insertion: the line behind which it is
        if end < cited.first:
            shift += added - removed
        elif start <= cited.last - (not removed):
            return "changed", 0
    return ("moved", cited.first + shift) if shift else ("true", cited.first)


def git(repository: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", repository, *words], capture_output=True, check=True).stdout


def show(repository: Path, commit: str, path: str) -> bytes | None:
    done = subprocess.run(["git", "-C", repository, "show", f"{commit}:{path}"], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


if __name__ == "__main__":
    main()
