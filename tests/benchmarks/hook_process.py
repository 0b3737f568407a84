"""A hook as a process beside the bare interpreter, taking turns, with a warm bridge; also on a busy machine.

    python -m tests.benchmarks.hook_process [--rounds 200] [--facts 1000] [--busy 8] [--event prompt]

What counts is how much longer the hook takes than its neighbour, the bare interpreter, at the same moment of the same machine.
`processor` is the time that both really used, which a busy machine stretches less. The hook is the console script of this
environment where there is one, with the packages of this tree.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from hermes_memory_store.hosts.capture_settings import allow_capture
from hermes_memory_store.store import Store
from tests.benchmarks.timing import table
from tests.bridge.running import bridge

SCRIPT = Path(sys.executable).with_name("hermes-memory-hook")

RUN = "from hermes_memory_bridge.hook_program.program import main; main()"

WARM_UP = 10


def hook_command(event: str, db: Path) -> list[str]:
    """The command that a host runs."""
    own = [sys.executable, str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-c", RUN]
    return [*own, "claude-code", event, "--db", str(db)]


def timed_process(command: Sequence[str], said: bytes) -> tuple[float, float]:
    """Milliseconds by the clock and of the processor that a process took."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, input=said, stdout=subprocess.DEVNULL, check=True)
    taken, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken * 1000, used * 1000


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """So many processes that never rest."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def percentile(times: Sequence[float], share: float) -> float:
    """The value below which this share of the times lies."""
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def measure_pairs(event: str, db: Path, rounds: int) -> list[tuple[str, list[float], list[float]]]:
    """Times by the clock and of the processor: of the bare interpreter, the hook, and how much more each hook took."""
    command, bare = hook_command(event, db), [sys.executable, "-c", ""]
    floor: list[tuple[float, float]] = []
    ours: list[tuple[float, float]] = []
    for number in range(-WARM_UP, rounds):
        payload = {
            "session_id": "bench",
            "cwd": str(db.parent),
            "prompt_id": str(number),
            "prompt": f"what of topic {number}",
        }
        payload |= {"hook_event_name": "UserPromptSubmit", "last_assistant_message": "done"}
        call = {"tool_name": "Bash", "tool_input": {"command": f"make {number}"}, "tool_use_id": f"toolu_{number}"}
        said = json.dumps(payload | call | {"error": "Exit code 2\nno rule", "duration_ms": 9}).encode()
        pair = timed_process(bare, said), timed_process(command, said)
        if number >= 0:
            floor.append(pair[0])
            ours.append(pair[1])
    more = [(hook[0] - plain[0], hook[1] - plain[1]) for plain, hook in zip(floor, ours, strict=True)]
    return [
        (name, [one[0] for one in times], [one[1] for one in times])
        for name, times in (("interpreter", floor), ("hook", ours), ("more", more))
    ]


def main() -> None:
    """Print the times, on this machine as it is and with busy processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--facts", type=int, default=1_000)
    parser.add_argument("--busy", type=int, default=8)
    parser.add_argument("--event", default="prompt")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hook-") as folder:
        os.environ |= {"HOME": folder, "HERMES_HOME": folder}
        db = Path(folder) / "memory.db"
        with Store.open(db) as store:
            for number in range(options.facts):
                store.facts.write("default", f"V[topic.{number}]: value {number} of topic {number}")
        allow_capture(db, "claude-code", True, of_tools=True)
        rows = []
        with bridge(db):
            for busy in dict.fromkeys((0, options.busy)):
                with busy_processes(busy):
                    for name, clock, used in measure_pairs(options.event, db, options.rounds):
                        shares = [percentile(times, share) for times in (clock, used) for share in (0.5, 0.95)]
                        rows.append((busy, name, *shares))
    table(("busy processes", "what", "median ms", "p95 ms", "processor median ms", "processor p95 ms"), rows)


if __name__ == "__main__":
    main()
