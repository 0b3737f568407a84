"""How long the provider's hooks keep a host waiting: with a bridge, without one, and while the queue behind them is long.

    python -m tests.benchmarks.provider [--rounds 400] [--facts 2000]

Hooks are called as hermes-agent does, one turn after the other; the bridge is a process of its own, started before. Without a
bridge none is started either, so everything waits on disk. `recalled` is the part of the turns whose own
message was recalled within `wait_ms`.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.provider import HermesMemory, provider_settings
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.store import Store
from tests.benchmarks.timing import median_us, p99_us, table

WORDS = [
    "deploy",
    "port",
    "cache",
    "token",
    "user",
    "build",
    "queue",
    "index",
    "theme",
    "cluster",
    "backup",
    "region",
    "schema",
    "budget",
    "review",
]

Times = dict[str, list[float]]


def timed(times: Times, name: str, hook: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a hook, and note how long it took."""
    begun = time.perf_counter()
    result = hook(*args, **kwargs)
    times[name].append(time.perf_counter() - begun)
    return result


def turns(home: Path, rounds: int, pause_s: float) -> tuple[Times, float]:
    """Many turns of one agent; the times of each hook, and the part of the turns whose own message was recalled."""
    rng = random.Random(7)
    times: Times = defaultdict(list)
    recalled = 0
    memory = HermesMemory()
    timed(times, "initialize", memory.initialize, "bench", hermes_home=str(home), agent_identity="default")
    time.sleep(0.3)
    for n in range(rounds):
        said = " ".join(rng.choices(WORDS, k=6)) + f" {n}"
        timed(times, "on_turn_start", memory.on_turn_start, n, said)
        found = timed(times, "prefetch", memory.prefetch, said)
        recalled += bool(found)
        timed(
            times, "on_memory_write", memory.on_memory_write, "add", "memory", f"entry {n}: {said}", {"session_id": "b"}
        )
        timed(times, "sync_turn", memory.sync_turn, said, said * 20, session_id="bench")
        timed(times, "queue_prefetch", memory.queue_prefetch, said)
        time.sleep(pause_s)
    begun = time.perf_counter()
    memory.shutdown()
    times["shutdown"].append(time.perf_counter() - begun)
    return times, recalled / rounds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--facts", type=int, default=2000)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    rows: list[tuple[object, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "memory.db"
        rng = random.Random(3)
        with Store.open(db) as store:
            for n in range(options.facts):
                store.facts.write("default", f"V[bench.n{n}]: {' '.join(rng.choices(WORDS, k=8))} {n}")
        places = BridgePaths.of(db)
        for name, pause_s, running in (
            ("bridge, turns 100 ms apart", 0.1, True),
            ("bridge, turns at once", 0.0, True),
            ("no bridge", 0.0, False),
        ):
            home = Path(folder) / name.replace(" ", "-").replace(",", "")
            provider_settings.save_provider_settings(str(home), {"db": str(db), "start": "false"})
            command = [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", str(db)]
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | {"HOME": folder})
            while ask_bridge(places, "status") is None:
                time.sleep(0.02)
            if not running:
                process.kill()
                process.wait()
            times, part = turns(home, options.rounds, pause_s)
            for hook, taken in times.items():
                shown = f"{part:.0%}" if hook == "prefetch" else ""
                rows.append((name, hook, median_us(taken), p99_us(taken), max(taken) * 1e6, shown))
            if running:
                process.terminate()
                process.wait()
    table(("when", "hook", "median us", "p99 us", "longest us", "recalled"), rows)


if __name__ == "__main__":
    main()
