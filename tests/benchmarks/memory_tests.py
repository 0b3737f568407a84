"""How long a hundred tests of a memory take as a process, beside what the interpreter and click take by themselves, and how
many mutants of what they rest on are noticed.

    python -m tests.benchmarks.memory_tests [--facts 400 --facts 100000] [--out stores] [--rounds 7]

Eighty questions of three words of a fact each, and twenty starts in a scope, over a store of each size. They need not pass.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hermes_memory_store.memory_tests.case_file import read_case_file
from hermes_memory_store.model import FactFilter, Sort
from hermes_memory_store.store import Store
from tests.benchmarks.generate import THEMES, store_of
from tests.benchmarks.timing import table
from tests.tools.fact_mutants import run_mutants, share_noticed

FLOOR = [sys.executable, "-c", "import click, sqlite3"]

QUESTIONS, STARTS = 80, 20


def write_tests(store: Store, rng: random.Random) -> Iterator[str]:
    """The tests as TOML, drawn from what the store holds."""
    for number in range(QUESTIONS):
        theme = THEMES[number % len(THEMES)]
        facts = store.facts.page(FactFilter(theme=theme), sort=Sort.UPDATED, descending=bool(number % 2)).facts
        fact = rng.choice(facts)
        asked = " ".join(rng.sample(fact.content.split(), min(3, len(fact.content.split()))))
        yield f"[[test]]\nname = 'question {number}'\ntheme = '{theme}'\nask = '{asked}'\ngiven = ['{fact.uid}']\n"
    for number in range(STARTS):
        theme = THEMES[number % len(THEMES)]
        scope = rng.choice(store.names.labels(theme))
        hot = rng.choice(store.context.ranked_facts(theme))
        start = json.dumps(scope, ensure_ascii=False)
        yield f"[[test]]\nname = 'start {number}'\ntheme = '{theme}'\nstart = {{ scope = {start} }}\ngiven = ['{hot.uid}']\n"


def took_ms(command: list[str]) -> float:
    """Milliseconds of a process from its start to its end; a test that fails is no failure of the process."""
    begun = time.perf_counter()
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    taken = (time.perf_counter() - begun) * 1000
    assert ended.returncode in (0, 1), ended.stderr
    assert "error:" not in ended.stderr, ended.stderr
    return taken


def main() -> None:
    """Measure in turn, so that both see the same machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, action="append", help="sizes of stores; again for more  [400, 10000]")
    parser.add_argument("--out", type=Path, help="the folder stores are kept in")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in options.facts or [400, 10_000]:
            path = store_of(size, options.out or Path(folder))
            with Store.open(path, read_only=True) as store:
                file = Path(folder) / f"tests-{size}.toml"
                file.write_text("\n".join(write_tests(store, random.Random(size))), encoding="utf-8")
            ours = [
                sys.executable,
                "-m",
                "hermes_memory_tui",
                "--db",
                str(path),
                "test",
                str(file),
                "--theme",
                "default",
            ]
            times: dict[str, list[float]] = {"floor": [], "tests": []}
            for _ in range(options.rounds):
                times["floor"].append(took_ms(FLOOR))
                times["tests"].append(took_ms(ours))
            floor, taken = statistics.median(times["floor"]), statistics.median(times["tests"])
            with Store.open(path, read_only=True) as store:
                begun = time.perf_counter()
                mutants = run_mutants(store, read_case_file(file).cases)
                seconds = time.perf_counter() - begun
            effective = sum(one.has_effect for one in mutants)
            share = f"{share_noticed(mutants):.3f}"
            rows.append((size, round(taken), round(floor), taken / floor, len(mutants), effective, share, seconds))
    headings = ("facts", "100 tests, ms", "interpreter with click, ms", "ratio")
    table((*headings, "mutants", "with an effect", "share noticed", "s"), rows)


if __name__ == "__main__":
    main()
