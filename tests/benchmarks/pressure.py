"""What local agents notice while somebody holds half-open HTTP connections to the bridge.

    python -m tests.benchmarks.pressure --connections 2000 --files 1024

Calls through the shim are timed at rest, then while another process holds unfinished requests on the port, then on the unix
socket. What the bridge closes is dialled again, at most `REDIALS` times a second. Loopback only; takes about a minute.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from hermes_memory_store.store import Store
from tests.benchmarks.timing import median_us, p99_us, table
from tests.bridge.running import INITIALIZE, INITIALIZED, Shim, bridge, free_port

MOST_S = 300.0
"""When the attacker gives up by itself."""

REDIALS = 1_000
"""Connections a second that the attacker makes at most."""

HALF = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-half: "

PATIENCE_S = 15.0
"""When a call counts as never answered."""

SETTLE_S = 30.0
"""How long the attacker may take to open its connections."""


def hold(address: str, count: int, seconds: float) -> None:
    """Hold half requests at `address` (a port, or the path of a unix socket) and say every 0.1 s how many are open."""
    chosen = selectors.DefaultSelector()
    opened = failed = 0
    now = began = spoke = time.monotonic()
    while (now := time.monotonic()) - began < seconds:
        while len(chosen.get_map()) < count and opened + failed < (time.monotonic() - began) * REDIALS:
            made = socket.socket(socket.AF_INET if address.isdigit() else socket.AF_UNIX)
            made.settimeout(1)
            try:
                made.connect(("127.0.0.1", int(address)) if address.isdigit() else address)
                made.sendall(HALF)
            except OSError:
                failed += 1
                made.close()
                break
            made.setblocking(False)
            chosen.register(made, selectors.EVENT_READ)
            opened += 1
        for key, _ in chosen.select(0.01):
            with contextlib.suppress(OSError):
                if key.fileobj.recv(4096):  # type: ignore[union-attr]
                    continue
            chosen.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr]
        if now - spoke > 0.1:
            spoke = now
            print(json.dumps({"open": len(chosen.get_map()), "opened": opened, "failed": failed}), flush=True)


@contextlib.contextmanager
def attacker(address: str, count: int) -> Iterator[dict[str, Any]]:
    """A process that holds half requests, once it has dialled `count` times; what it said last."""
    command = [sys.executable, "-m", "tests.benchmarks.pressure", "--hold", address, "--connections", str(count)]
    said: dict[str, Any] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        deadline = time.monotonic() + SETTLE_S
        try:
            for line in process.stdout:
                said |= json.loads(line)
                if said["opened"] + said["failed"] >= count or time.monotonic() > deadline:
                    break
            yield said
        finally:
            process.kill()
            said |= json.loads(process.stdout.read().splitlines()[-1])


def timed_call(shim: Shim, tool: str, **arguments: str) -> tuple[float, bool]:
    """Call a tool: seconds until its answer, and whether it failed. A shim that never answers is killed."""
    giving_up = threading.Timer(PATIENCE_S, shim.process.kill)
    giving_up.start()
    begun = time.perf_counter()
    try:
        answer = shim.call(tool, **arguments)
        failed = "error" in answer or "error" in answer["result"].get("structuredContent", {})
    except (ValueError, BrokenPipeError):  # it was killed
        failed = True
    finally:
        giving_up.cancel()
    return time.perf_counter() - begun, failed


def new_shim(db: Path) -> tuple[float, bool]:
    """Start a shim and search once: seconds until it is done, and whether it failed."""
    begun = time.perf_counter()
    search = {"name": "memory_search", "arguments": {"query": "benchmark"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": search}
    words = "".join(json.dumps(message) + "\n" for message in (INITIALIZE, INITIALIZED, call))
    with Shim(db) as shim:
        giving_up = threading.Timer(2 * PATIENCE_S, shim.process.kill)
        giving_up.start()
        answers, _ = shim.process.communicate(words.encode())
        giving_up.cancel()
    return time.perf_counter() - begun, b'"structuredContent"' not in answers


def phase(name: str, db: Path, shim: Shim, process: psutil.Process, rounds: int) -> list[object]:
    """One row: calls on a connection that stood before, new shims, descriptors."""
    search: list[tuple[float, bool]] = []
    write: list[tuple[float, bool]] = []
    files = 0
    for number in range(rounds):
        search.append(timed_call(shim, "memory_search", query="benchmark value"))
        write.append(timed_call(shim, "memory_write", content=f"V[bench.k{number % 50}]: value {name} {number}"))
        files = max(files, process.num_fds())
        if shim.process.poll() is not None:
            break
    new: list[tuple[float, bool]] = []
    while len(new) < 10 and not any(failed for _, failed in new):
        new.append(new_shim(db))
    return [name, measured(search), measured(write), measured(new), files]


def measured(calls: list[tuple[float, bool]]) -> str:
    """Median, 99th percentile, and how many failed."""
    seconds = [took for took, _ in calls]
    failed = sum(failed for _, failed in calls)
    return f"{median_us(seconds) / 1e3:.2f} / {p99_us(seconds) / 1e3:.2f} ms, {failed} of {len(calls)}"


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--connections", type=int, default=2000)
    options.add_argument("--files", type=int, default=1024, help="descriptors the bridge may have")
    options.add_argument("--rounds", type=int, default=300)
    options.add_argument("--hold", metavar="ADDRESS", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.hold:
        hold(given.hold, given.connections, MOST_S)
        return
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "memory.db"
        with Store.open(db) as store:
            for number in range(1000):
                store.facts.write("default", f"V[seed.k{number}]: benchmark value {number}")
        port = free_port()
        with bridge(db, "--tcp", str(port), files=given.files) as places:
            process = psutil.Process(int(Path(places.pid).read_text()))
            for name, address in (("at rest", ""), ("on the port", str(port)), ("on the unix socket", places.http)):
                with Shim(db) as shim:
                    shim.open()
                    shim.call("memory_status")
                    with attacker(address, given.connections) if address else contextlib.nullcontext({}) as said:
                        row = phase(name, db, shim, process, given.rounds)
                print(f"{name}: {row[1:]} {said}", file=sys.stderr)
                rows.append([*row, ", ".join(f"{count} {what}" for what, count in said.items())])
    heads = ["", "search: median / p99, failed", "write", "a new shim and its first search"]
    table([*heads, "descriptors of the bridge", "half requests"], rows)


if __name__ == "__main__":
    main()
