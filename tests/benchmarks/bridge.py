"""The bridge under load: starting, single calls beside the SDK's own echo, many agents at once, and what is left after them.

    python -m tests.benchmarks.generate --facts 100000 --out stores
    python -m tests.benchmarks.bridge stores/memory-100000.db

Works on a copy of the store. The floor is the SDK's `stdio_server` with a tool that gives its argument back.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from mcp import Client, StdioServerParameters

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.store import Store
from tests.benchmarks.timing import median_us, p99_us, table
from tests.bridge.running import INITIALIZE, INITIALIZED, Shim, bridge, until

ECHO = """
import anyio, mcp.types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server
async def call(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text=params.arguments["text"])])
async def tools(ctx, params):
    return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema={"type": "object"})])
async def main():
    server = Server("echo", on_call_tool=call, on_list_tools=tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
anyio.run(main)
"""


def starting(db: Path, rounds: int) -> list[list[object]]:
    """Spawn to first reply, with a bridge running and without."""
    command = [str(Path(sys.executable).with_name("hermes-memory-bridge")), "--db", str(db)]
    env = {"HOME": str(db.parent), "PATH": os.environ["PATH"], "HERMES_MEMORY_LINGER": "0.1"}

    def once() -> tuple[float, float]:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        took = time.perf_counter() - begun
        size = psutil.Process(process.pid).memory_info().rss / 2**20
        process.stdin.close()
        process.wait()
        process.stdout.close()
        return took, size

    cold = []
    for _ in range(5):
        cold.append(once()[0])
        until(lambda: ask_bridge(BridgePaths.of(db), "status") is None, "the end of the bridge")
    with bridge(db):
        warm = [once() for _ in range(rounds)]
    sdk = []
    for _ in range(5):
        begun = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        sdk.append(time.perf_counter() - begun)
        process.kill()
        process.wait()
    return [
        ["shim to first reply, bridge running", f"{median_us([took for took, _ in warm]) / 1e3:.0f} ms", "60 ms"],
        ["the same, best", f"{min(took for took, _ in warm) * 1e3:.0f} ms", ""],
        ["shim, resident", f"{max(size for _, size in warm):.1f} MiB", "15 MiB"],
        ["shim to first reply, no bridge", f"{median_us(cold) / 1e3:.0f} ms", "900 ms"],
        ["floor: an SDK server to first reply", f"{median_us(sdk) / 1e3:.0f} ms", ""],
    ]


async def single(db: Path, rounds: int) -> list[list[object]]:
    """One client, one call after the other, in turn with the floor."""
    words = queries(db)
    shim = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hermes_memory_bridge", "--db", str(db), "--theme", words[0][0]],
        env={"HOME": str(db.parent)},
    )
    echo = StdioServerParameters(command=sys.executable, args=["-c", ECHO])
    taken: dict[str, list[float]] = {"echo": [], "search": [], "write": []}
    async with Client(shim, mode="legacy") as memory, Client(echo, mode="legacy") as floor:
        await memory.call_tool("memory_status", {})
        for number in range(rounds):
            for name, call in (
                ("echo", floor.call_tool("echo", {"text": "hello"})),
                ("search", memory.call_tool("memory_search", {"query": words[number % len(words)][1]})),
                ("write", memory.call_tool("memory_write", {"content": f"V[bench.k{number % 400}]: value {number}"})),
            ):
                begun = time.perf_counter()
                await call
                taken[name].append(time.perf_counter() - begun)
    with Store.open(db) as store:
        inside = []
        for theme, query in words[:200]:
            begun = time.perf_counter()
            store.search.find(theme, query, limit=5)
            inside.append(time.perf_counter() - begun)
        written = []
        for number in range(100):
            begun = time.perf_counter()
            store.facts.write(words[0][0], f"V[bench.k{number}]: again {number}")
            written.append(time.perf_counter() - begun)
    rows: list[list[object]] = []
    for name, within in (("search", inside), ("write", written)):
        allowed = median_us(taken["echo"]) + median_us(within) + 200
        rows.append(
            [
                f"memory_{name} through the shim, median",
                f"{median_us(taken[name]) / 1e3:.2f} ms",
                f"{allowed / 1e3:.2f} ms = echo {median_us(taken['echo']) / 1e3:.2f} + store {median_us(within) / 1e3:.2f} + 0.2",
            ]
        )
        rows.append(
            [
                f"memory_{name}, p99 / median",
                f"{p99_us(taken[name]) / median_us(taken[name]):.1f}",
                "5",
            ]
        )
    return rows


def queries(db: Path) -> list[tuple[str, str]]:
    """Searches by two words of one fact, of every theme."""
    chance = random.Random(1)
    made = []
    with Store.open(db, read_only=True) as store:
        for theme in store.names.all_themes():
            rows = store.db.rows(
                "SELECT content FROM facts WHERE theme_id = ? ORDER BY id DESC LIMIT 400", (store.names.theme(theme),)
            )
            for (content,) in rows:
                words = [word for word in content.replace(",", " ").split() if len(word) > 3 and word.isalnum()]
                if len(words) > 1:
                    made.append((theme, " ".join(chance.sample(words, 2))))
    chance.shuffle(made)
    return made


async def many(db: Path, places: BridgePaths, agents: int, calls: int) -> list[list[object]]:
    """Many raw clients at once: nine searches to one write."""
    words = queries(db)
    themes = sorted({theme for theme, _ in words})
    start = asyncio.Event()
    taken: list[tuple[str, float]] = []
    errors: list[Any] = []

    async def agent(number: int) -> None:
        chance = random.Random(number)
        theme = themes[number % len(themes)]
        own = [query for whose, query in words if whose == theme]
        reader, writer = await asyncio.open_unix_connection(places.line, limit=1 << 22)

        def say(message: dict[str, Any]) -> None:
            writer.write(json.dumps(message).encode() + b"\n")

        async def call(count: int, tool: str, arguments: dict[str, Any]) -> None:
            begun = time.perf_counter()
            params = {"name": tool, "arguments": arguments}
            say({"jsonrpc": "2.0", "id": count, "method": "tools/call", "params": params})
            answer = json.loads(await reader.readline())
            taken.append((tool, time.perf_counter() - begun))
            if "error" in answer or "error" in answer["result"]["structuredContent"]:
                errors.append(answer)

        say({"hermes-memory": 1, "theme": theme})
        await reader.readline()
        say(INITIALIZE)
        await reader.readline()
        say(INITIALIZED)
        await call(1, "memory_status", {})
        await start.wait()
        for count in range(2, calls + 2):
            if chance.random() < 0.1:
                await call(
                    count, "memory_write", {"content": f"V[load.k{chance.randrange(400)}]: value {number} {count}"}
                )
            else:
                await call(count, "memory_search", {"query": chance.choice(own)})
        say({"hermes-memory": "bye"})
        writer.close()

    tasks = [asyncio.create_task(agent(number)) for number in range(agents)]
    while len(taken) < agents:
        await asyncio.sleep(0.01)
    taken.clear()
    begun = time.perf_counter()
    start.set()
    await asyncio.gather(*tasks)
    seconds = time.perf_counter() - begun
    times = [took for _, took in taken]
    return [
        [f"{agents} agents, calls a second", f"{len(taken) / seconds:.0f}", "1,500"],
        [f"{agents} agents, p99", f"{p99_us(times) / 1e3:.0f} ms", "80 ms"],
        [f"{agents} agents, errors", len(errors), "0"],
    ]


def sessions(db: Path, places: BridgePaths, count: int) -> list[list[object]]:
    """What is left in the bridge after many sessions came and went."""
    running = ask_bridge(places, "status")
    assert running is not None
    process = psutil.Process(running["pid"])

    async def round_of(number: int) -> None:
        for _ in range(number):
            reader, writer = await asyncio.open_unix_connection(places.line)
            call = {"name": "memory_status", "arguments": {}}
            for message in (
                {"hermes-memory": 1},
                INITIALIZE,
                INITIALIZED,
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
            ):
                writer.write(json.dumps(message).encode() + b"\n")
            for _ in range(3):
                await reader.readline()
            writer.write(b'{"hermes-memory":"bye"}\n')
            await reader.read()
            writer.close()

    asyncio.run(round_of(100))
    before = process.memory_info().rss, process.num_fds(), process.num_threads()
    asyncio.run(round_of(count))
    until(lambda: (ask_bridge(places, "status") or {}).get("connections") == 0, "the last session's end")
    after = process.memory_info().rss, process.num_fds(), process.num_threads()
    return [
        [f"resident after {count} sessions", f"{(after[0] - before[0]) / 2**20:+.1f} MiB", "within 10 MiB"],
        ["handles, threads", f"{after[1] - before[1]:+d}, {after[2] - before[2]:+d}", "equal"],
    ]


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("store", type=Path)
    options.add_argument("--rounds", type=int, default=200)
    options.add_argument("--agents", type=int, default=32)
    options.add_argument("--calls", type=int, default=100)
    options.add_argument("--sessions", type=int, default=3000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "memory.db"
        shutil.copy(given.store, db)
        Store.open(db).close()
        rows = starting(Path(folder) / "fresh.db", 15)
        with bridge(db) as places:
            with Shim(db) as shim:
                shim.open()
                shim.close()
            rows += asyncio.run(single(db, given.rounds))
            rows += asyncio.run(many(db, places, given.agents, given.calls))
            rows += sessions(db, places, given.sessions)
        table(["work", "measured", "to reach"], rows)


if __name__ == "__main__":
    main()
