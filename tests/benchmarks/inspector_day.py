"""What the inspector costs when it is open all day, in a real pseudo-terminal.

    python -m tests.benchmarks.inspector_day STORE [--steps 30] [--scopes 10000] [--seconds 60]

*Idle*: processor time with Now open while ten agents work: each reads its context or writes a fact every five seconds, as
agents that think between their calls do. *Steps*: from `[` to the frame with the moment before, in each view. *Scopes*: a
list of many scopes, filtered, sorted and marked, beside a key that moves one line in the same list.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_memory_store.store import Store
from tests.benchmarks.inspector import INSPECTOR, LOADING_S, MODE_QUESTION, Terminal, facts_shown
from tests.processes import working_beside

AGENTS = 10

CALL_EVERY_S = 5.0

TYPED = 20
"""Cells at the beginning of a line that hold what is typed."""

COUNT = re.compile(r"[\d,]+ of [\d,]+")
"""How many rows match a filter."""

COUNT_LINE = 2
"""The line of the filter, which says how many scopes match."""

VIEWS = {"now": "0", "facts": "1", "scopes": "2", "pressure": "3", "context": "4", "agents": "5", "journal": "6"}

AT_WORK = """
import random, select, sys
from hermes_memory_store.store import Store
with Store.open(sys.argv[1]) as store:
    agents = [store.sessions.open("default", f"agent-{number}", client="claude-code") for number in range(int(sys.argv[2]))]
    print("ready", flush=True)
    number = 0
    while not select.select([sys.stdin], [], [], float(sys.argv[3]) / len(agents))[0]:
        agent = agents[number % len(agents)]
        store.sessions.heartbeat(agent)
        if number % 3:
            store.facts.write("default", f"V[work.{number % 40}]: at {number}", scope="day", session=agent)
        else:
            store.context.status("default", session=agent)
        number += 1
"""


@contextmanager
def copied(store: Path) -> Iterator[Path]:
    """A copy of a store, which others may write."""
    folder = Path(tempfile.mkdtemp(prefix="hermes-memory-benchmark-"))
    try:
        yield Path(shutil.copy(store, folder))
    finally:
        shutil.rmtree(folder)


def idle(store: Path, seconds: float) -> dict[str, float]:
    """Percent of a core, with Now open, with and without agents at work."""
    found = {}
    with copied(store) as copy, Terminal([sys.executable, "-c", INSPECTOR, str(copy)]) as terminal:
        terminal.until(facts_shown)
        terminal.rest(LOADING_S)
        os.write(terminal.fd, b"0")
        terminal.rest(3)
        found["nobody_pct"] = measure_cpu(terminal, seconds)
        with working_beside(AT_WORK, str(copy), str(AGENTS), str(CALL_EVERY_S)):
            terminal.rest(3)
            found["ten_agents_pct"] = measure_cpu(terminal, seconds)
    return found


def measure_cpu(terminal: Terminal, seconds: float) -> float:
    before, begin = terminal.cpu(), time.perf_counter()
    terminal.rest(seconds)
    return round(100 * (terminal.cpu() - before) / (time.perf_counter() - begin), 2)


def until_changed(
    terminal: Terminal, read: Callable[[list[str]], object], key: bytes, patience_s: float = 120.0
) -> float:
    """Seconds from a key until something is read from the lines of the screen that differs from before."""
    before, begin = read(terminal.screen.display), time.perf_counter()
    os.write(terminal.fd, key)
    while time.perf_counter() - begin < patience_s:
        data = terminal.read(0.02)
        taken = time.perf_counter() - begin
        if data:
            terminal.stream.feed(data.replace(MODE_QUESTION, b""))
            if read(terminal.screen.display) != before:
                return taken
    raise TimeoutError(f"nothing changed after {key!r}:\n" + "\n".join(terminal.screen.display))


def title_of(lines: list[str]) -> str:
    """What the title says, beside its beginning."""
    return lines[0][TYPED:]


def count_of(lines: list[str]) -> str | None:
    """How many rows match the filter; None before it was typed."""
    found = COUNT.search(lines[COUNT_LINE])
    return found and found[0]


def steps(store: Path, count: int) -> dict[str, object]:
    """Milliseconds of a step back through time, in each view; the first makes the copy, and is told apart."""
    found: dict[str, object] = {}
    with Terminal([sys.executable, "-c", INSPECTOR, str(store)]) as terminal:
        terminal.until(facts_shown)
        terminal.rest(LOADING_S)
        found["first_ms"] = round(until_changed(terminal, title_of, b"[") * 1000)
        for name, key in VIEWS.items():
            os.write(terminal.fd, key.encode())
            terminal.rest(1.5)
            taken = []
            for _ in range(count):
                taken.append(until_changed(terminal, title_of, b"[") * 1000)
                terminal.rest(0.15)
            found[name] = {"p50_ms": round(statistics.median(taken), 1), "most_ms": round(max(taken), 1)}
    return found


def scopes(count: int, rounds: int) -> dict[str, object]:
    """Milliseconds of a key in a list of many scopes: a line, a letter of the filter, a sort, and marking all."""
    folder = Path(tempfile.mkdtemp(prefix="hermes-memory-benchmark-"))
    taken: dict[str, list[float]] = {name: [] for name in ("line", "letter", "sort", "mark_all")}
    try:
        with Store.open(folder / "m.db") as store:
            for number in range(count):
                store.facts.write("default", f"V[v]: {number}", scope=f"unit {number}")
        with Terminal([sys.executable, "-c", INSPECTOR, str(folder / "m.db")]) as terminal:
            terminal.until(facts_shown)
            terminal.rest(2)
            os.write(terminal.fd, b"2")
            terminal.rest(4)
            for _ in range(rounds):
                taken["line"].append(terminal.key(b"j") * 1000)
                terminal.rest(0.3)
                os.write(terminal.fd, b"/")
                terminal.rest(0.5)
                for letter in b"97":
                    taken["letter"].append(until_changed(terminal, count_of, bytes([letter])) * 1000)
                    terminal.rest(0.5)
                os.write(terminal.fd, b"\x1b")
                terminal.rest(1)
                os.write(terminal.fd, b"s")
                terminal.rest(0.6)
                os.write(terminal.fd, b"j")
                terminal.rest(0.3)
                taken["sort"].append(terminal.key(b"\r") * 1000)
                terminal.rest(0.6)
                taken["mark_all"].append(terminal.key(b"*") * 1000)
                terminal.rest(0.4)
                os.write(terminal.fd, b"-")
                terminal.rest(0.4)
    finally:
        shutil.rmtree(folder)
    return {
        name: {"p50_ms": round(statistics.median(times), 1), "most_ms": round(max(times), 1)}
        for name, times in taken.items()
    }


def main() -> None:
    """Measure, and print each result as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--steps", type=int, default=30, metavar="N", help="steps through time in each view; 0: none")
    parser.add_argument("--scopes", type=int, default=10_000, metavar="N", help="scopes of the list; 0: none")
    parser.add_argument("--seconds", type=float, default=60, metavar="S", help="how long it idles; 0: not")
    given = parser.parse_args()
    if given.seconds:
        print(json.dumps({"idle": idle(given.store, given.seconds)}), flush=True)
    if given.steps:
        print(json.dumps({"steps": steps(given.store, given.steps)}), flush=True)
    if given.scopes:
        print(json.dumps({"scopes": scopes(given.scopes, 8)}), flush=True)


if __name__ == "__main__":
    main()
