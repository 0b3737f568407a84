"""First handshake and list of tools with a cold bridge, beside the bare interpreter of the same run.

`python -m tests.benchmarks.cold_handshake [--runs N] [--busy N]`: pairs of a shim on a store of its own, which no bridge serves,
and an interpreter that does nothing; while so many other processes compute. Prints medians, p95 and their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.store import Store
from tests.bridge.running import INITIALIZE, INITIALIZED, environment, until

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

FACTS = 60

ENTRY = "import sys; from hermes_memory_bridge.__main__ import main; sys.exit(main())"
"""What the console script does."""


def time_interpreter() -> float:
    """Seconds of an interpreter that starts, says a line and ends."""
    begun = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", "print(1)"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    spent = time.perf_counter() - begun
    process.communicate()
    return spent


def installed_environment(folder: Path) -> dict[str, str]:
    """The environment of a shim whose modules are compiled, as they are after an installation."""
    written = {name: value for name, value in environment(folder).items() if name != "PYTHONDONTWRITEBYTECODE"}
    return written | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def time_handshake(db: Path) -> tuple[float, int]:
    """Seconds from the start of a shim to its list of tools, and the number of those."""
    begun = time.perf_counter()
    shim = subprocess.Popen(
        [sys.executable, "-c", ENTRY, "--db", str(db)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=installed_environment(db.parent),
    )
    assert shim.stdin is not None
    assert shim.stdout is not None
    shim.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    shim.stdin.flush()
    assert b"topic" in shim.stdout.readline()
    for message in (INITIALIZED, LIST):
        shim.stdin.write(json.dumps(message).encode() + b"\n")
    shim.stdin.flush()
    listed = json.loads(shim.stdout.readline())
    spent = time.perf_counter() - begun
    shim.terminate()  # before it starts a bridge, which would be one more busy process
    shim.communicate()
    return spent, len(listed["result"]["tools"])


def to_p95(times: list[float]) -> float:
    """The time that one in twenty exceeds."""
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.95))]


def run_benchmark(runs: int, busy: int) -> dict[str, float]:
    """Times in milliseconds, and the ratio of the two p95."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    bare, shims = [], []
    try:
        with tempfile.TemporaryDirectory() as folder:
            db = Path(folder) / "memory.db"
            with Store.open(db) as store:
                for number in range(FACTS):
                    store.facts.write("default", f"V[topic.{number}]: a value that is long enough to fill the budget")
            time_handshake(db)
            for _ in range(runs):
                bare.append(time_interpreter())
                spent, tools = time_handshake(db)
                assert tools == 12, tools
                shims.append(spent)
            until(lambda: ask_bridge(BridgePaths.of(db), "status") is None, "the end of bridges")
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    middle = len(bare) // 2
    figures = {
        "bare_median": sorted(bare)[middle] * 1000,
        "bare_p95": to_p95(bare) * 1000,
        "shim_median": sorted(shims)[middle] * 1000,
        "shim_p95": to_p95(shims) * 1000,
    }
    return {**figures, "p95_ratio": figures["shim_p95"] / figures["bare_p95"]}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--busy", type=int, default=8)
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {given.runs} pairs, {given.busy} busy processes")
    for name, value in run_benchmark(given.runs, given.busy).items():
        print(f"{name:12} {value:8.2f}")


if __name__ == "__main__":
    main()
