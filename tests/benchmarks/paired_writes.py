"""One acknowledged write, and one captured turn, beside another version's: each in a process of its own, taking turns.

    git worktree add ../0.1.0 357c04a
    python -m tests.benchmarks.paired_writes --before ../0.1.0 [--rounds 500] [--folders /tmp,/dev/shm]

What counts is the median of the ratios of neighbours: both wrote the same text at the same moment of the same machine.
`library` is `store.facts.write` in a session; `tool` is `memory_write` over the bridge's line socket, `turn` is
`memory_turn` there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks.timing import table

HERE = Path(__file__).parents[2]
ORDINARY = HERE / "tests" / "content_corpus" / "ordinary"

PACKAGES = ("themes", "store", "bridge", "tui")

WARM_UP = 40

LIBRARY = """
import json, sys, time
from hermes_memory_store.store import Store
with Store.open(sys.argv[1]) as store:
    session = store.sessions.open("default", "bench", client="bench 1")
    for line in sys.stdin:
        text = json.loads(line)["content"]
        begun = time.perf_counter()
        store.facts.write("default", text, session=session)
        print(time.perf_counter() - begun, flush=True)
"""

INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}

Work = Callable[[dict[str, str]], float]
"""Writes one text and returns the seconds it took."""


def environment(tree: Path, home: Path) -> dict[str, str]:
    """The environment in which a process imports the packages of that tree."""
    found = os.pathsep.join(str(tree / package) for package in PACKAGES)
    return os.environ | {"PYTHONPATH": found, "HOME": str(home), "HERMES_HOME": str(home)}


@contextlib.contextmanager
def run_library(tree: Path, folder: Path) -> Iterator[Work]:
    """A process that writes through the library."""
    command = [sys.executable, "-c", LIBRARY, str(folder / "memory.db")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(tree, folder), cwd=folder
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        tell, hear = process.stdin, process.stdout

        def write(arguments: dict[str, str]) -> float:
            tell.write(json.dumps(arguments).encode() + b"\n")
            tell.flush()
            return float(hear.readline())

        yield write
        tell.close()


@contextlib.contextmanager
def run_bridge(tree: Path, folder: Path, tool: str) -> Iterator[Work]:
    """A bridge, whose tool is called over its line socket."""
    (folder / "config.toml").write_text('[embedding]\nprovider = "off"\n')
    command = [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", str(folder / "memory.db")]
    process = subprocess.Popen(
        command,
        env=environment(tree, folder) | {"HERMES_MEMORY_SECRETS": "file"},
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        line = find_line(folder)
        stream = line.makefile("rwb")

        def ask(message: dict[str, object]) -> dict[str, object]:
            stream.write(json.dumps(message).encode() + b"\n")
            stream.flush()
            answer: dict[str, object] = json.loads(stream.readline())
            return answer

        ask({"hermes-memory": 1, "theme": "default"})
        ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE})
        stream.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        stream.flush()

        def call(arguments: dict[str, str]) -> float:
            begun = time.perf_counter()
            answer = ask(
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
            )
            taken = time.perf_counter() - begun
            assert "result" in answer, answer
            return taken

        yield call
        line.close()
    finally:
        process.terminate()
        process.wait()


def find_line(folder: Path, patience_s: float = 30.0) -> socket.socket:
    """Connect to the line socket of the bridge that is starting there."""
    deadline = time.monotonic() + patience_s
    while True:
        for place in folder.rglob("line.sock"):
            line = socket.socket(socket.AF_UNIX)
            with contextlib.suppress(OSError):
                line.connect(str(place))
                return line
            line.close()
        if time.monotonic() > deadline:
            raise TimeoutError("the bridge did not start")
        time.sleep(0.02)  # nothing tells when another process listens


def list_texts(rounds: int) -> list[str]:
    """Ordinary facts, each under a target of its own."""
    files = [
        ORDINARY / f"{name}.txt"
        for name in ("decisions", "done_unknown", "imperatives", "longer", "security", "values")
    ]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    known = random.Random(7).sample(lines, len(lines))
    known = [line for line in known if "]: " in line and not line.startswith(("✓", "#"))]
    made = []
    for number in range(rounds):
        head, _, content = known[number % len(known)].partition("]: ")
        made.append(f"{head[0]}[bench.n{number}.name]: {content}")
    return made


def measure(kind: str, trees: tuple[Path, Path], folder: Path, rounds: int) -> tuple[float, float, float]:
    """Return the medians of both in microseconds, and the median of the paired ratios."""
    works: list[Work] = []
    with contextlib.ExitStack() as stack:
        for name, tree in zip(("before", "now"), trees, strict=True):
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{name}-", dir=folder)))
            runner = (
                run_library(tree, place)
                if kind == "library"
                else run_bridge(tree, place, {"tool": "memory_write", "turn": "memory_turn"}[kind])
            )
            works.append(stack.enter_context(runner))
        taken: list[list[float]] = [[], []]
        for number, text in enumerate(list_texts(rounds + WARM_UP)):
            arguments = {"content": text} | ({"role": "user"} if kind == "turn" else {})
            order = (0, 1) if number % 2 else (1, 0)
            for one in order:
                taken[one].append(works[one](arguments))
    before, now = (times[WARM_UP:] for times in taken)
    ratio = statistics.median(new / old for old, new in zip(before, now, strict=True))
    return statistics.median(before) * 1e6, statistics.median(now) * 1e6, ratio


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the other version")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--folders", default=f"{tempfile.gettempdir()},/dev/shm")
    parser.add_argument("--kinds", default="library,tool,turn")
    given = parser.parse_args()
    rows = []
    for folder in map(Path, given.folders.split(",")):
        for kind in given.kinds.split(","):
            before, now, ratio = measure(kind, (given.before.resolve(), HERE), folder, given.rounds)
            rows.append((str(folder), kind, before, now, now - before, ratio))
    table(("folder", "what", "before us", "now us", "more us", "ratio"), rows)


if __name__ == "__main__":
    main()
