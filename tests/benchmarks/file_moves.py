"""How often control passes between our files: for one write over MCP, one context block, and a pull of two rows applied.
Then the SQL statements of such a write, and the share of it that holds the lock of the store, from `BEGIN` to `COMMIT`.

    python -m tests.benchmarks.file_moves [--trace]

A call of a function in one file of the four packages by a function in another one is two moves: there and back. Frames of
libraries between the two are skipped; what a library calls by itself (an event loop, a thread) is no move. Each work is done
several times on real parts, and the round with the fewest is printed, since what runs beside it in the bridge only adds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

import hermes_memory_bridge
import hermes_memory_store
import hermes_memory_themes
import hermes_memory_tui

PACKAGES = {
    Path(package.__file__).parent.as_posix() + "/": package.__name__
    for package in (hermes_memory_themes, hermes_memory_store, hermes_memory_bridge, hermes_memory_tui)
    if package.__file__ is not None
}

NO_VECTORS = '[embedding]\nprovider = "off"\n'
"""A model that is looked for in the background would be counted where it happens to run."""

R = TypeVar("R")

WARM_UP, ROUNDS = 5, 5

CONTEXT_FACTS = 9
"""Facts of the context block."""

TIMED_WRITES = 2_000

WRITER = "writer"
"""Name of the bridge's thread that writes."""


@dataclass(frozen=True, slots=True)
class FileCall:
    """A call from one file to another."""

    caller: str
    callee: str
    thread: str

    def __str__(self) -> str:
        return f"{self.caller} -> {self.callee}"


@dataclass(slots=True)
class FileCallCounter:
    """Notes calls in every thread that starts while it is installed, and in the one that installs it."""

    calls: list[FileCall] = field(default_factory=list)
    counting: bool = False
    _places: dict[CodeType, tuple[str, str] | None] = field(default_factory=dict)

    def place_of(self, code: CodeType) -> tuple[str, str] | None:
        """File and function of a code object, None when it is none of ours."""
        if code not in self._places:
            name = Path(code.co_filename).as_posix()
            package = next((folder for folder in PACKAGES if name.startswith(folder)), None)
            self._places[code] = (
                None if package is None else (f"{PACKAGES[package]}/{name.removeprefix(package)}", code.co_qualname)
            )
        return self._places[code]

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """A function was entered or left (see `sys.setprofile`)."""
        if event != "call" or not self.counting:
            return
        entered = self.place_of(frame.f_code)
        if entered is None:
            return
        before = frame.f_back
        while before is not None and self.place_of(before.f_code) is None:
            before = before.f_back
        if before is None:
            return
        left = self.place_of(before.f_code)
        assert left is not None
        if left[0] != entered[0]:
            self.calls.append(FileCall(":".join(left), ":".join(entered), threading.current_thread().name))

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Look at calls, from now on and in the threads that start now."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def start(self) -> None:
        """Begin to count."""
        self.calls = []
        self.counting = True

    def stop(self) -> list[FileCall]:
        """The calls since the start."""
        self.counting = False
        return self.calls


def calls_of_write(folder: Path) -> list[FileCall]:
    """The calls of one `memory_write` over the line socket, in the bridge's process."""
    counter = FileCallCounter()
    with counter.installed():
        return min(asyncio.run(write_over_mcp(folder / "write.db", counter.start, counter.stop)), key=len)


@dataclass(slots=True)
class TracedWrite:
    """The statements of one write on the connection that committed it, with when each began."""

    seconds: float
    statements: list[tuple[float, str]]

    @property
    def locked_share(self) -> float:
        begun, committed = (
            next(at for at, sql in self.statements if sql.startswith(word)) for word in ("BEGIN", "COMMIT")
        )
        return (committed - begun) / self.seconds


def trace_writes(folder: Path) -> list[TracedWrite]:
    """Trace the statements of warm writes over MCP; nothing else counts meanwhile."""
    noted: dict[int, list[tuple[float, str]]] = {}
    started = [0.0]

    def start() -> None:
        gc.unfreeze()  # a bridge hides what it imported, and its connections, from the collector
        for found in gc.get_objects():
            if isinstance(found, sqlite3.Connection):
                noted[id(found)] = statements = []
                with suppress(sqlite3.ProgrammingError):  # one that is closed
                    found.set_trace_callback(lambda sql, to=statements: to.append((time.perf_counter(), sql)))
        started[0] = time.perf_counter()

    def stop() -> TracedWrite:
        seconds = time.perf_counter() - started[0]
        written = next(one for one in noted.values() if any(sql.startswith("COMMIT") for _, sql in one))
        return TracedWrite(seconds, written)

    return asyncio.run(write_over_mcp(folder / "traced.db", start, stop, 20))


async def write_over_mcp(path: Path, start: Callable[[], None], stop: Callable[[], R], count: int = ROUNDS) -> list[R]:
    """Run a bridge here, call its tool as an agent does, and return what was counted in each warm call."""
    from hermes_memory_bridge.daemon.daemon import Daemon, DaemonSettings, hold_daemon_lock
    from hermes_memory_bridge.wire.paths import BridgePaths
    from tests.bridge.running import INITIALIZE, INITIALIZED

    places = BridgePaths.of(path)
    places.make_folder()
    with hold_daemon_lock(places):
        daemon = Daemon(places, DaemonSettings())
        serving = asyncio.create_task(daemon.run())
        try:
            while not os.path.exists(places.line):
                await asyncio.sleep(0)
            reader, writer = await asyncio.open_unix_connection(places.line)

            async def answer_to(message: dict[str, Any]) -> dict[str, Any]:
                writer.write(json.dumps(message).encode() + b"\n")
                answer: dict[str, Any] = json.loads(await reader.readline())
                return answer

            await answer_to({"hermes-memory": 1, "theme": "moves"})
            await answer_to(INITIALIZE)
            writer.write(json.dumps(INITIALIZED).encode() + b"\n")
            rounds = []
            for number in range(WARM_UP + count):
                arguments = {"content": f"D[cache.{number}]: redis 7 with {number} replicas"}
                params = {"name": "memory_write", "arguments": arguments}
                call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
                start()
                answer = await answer_to(call)
                rounds.append(stop())
                assert answer["result"]["structuredContent"]["status"] == "created", answer
            writer.close()
            await writer.wait_closed()
        finally:
            daemon.stopping.set()
            await serving
    return rounds[WARM_UP:]


def calls_of(work: Callable[[int], object]) -> list[FileCall]:
    """The calls of one work, done in this thread; it gets the number of the round."""
    counter = FileCallCounter()
    rounds = []
    with counter.installed():
        for number in range(WARM_UP + ROUNDS):
            counter.start()
            work(number)
            rounds.append(counter.stop())
    return min(rounds[WARM_UP:], key=len)


def calls_of_context_block(folder: Path) -> list[FileCall]:
    """The calls of the block that an agent gets at session start."""
    from hermes_memory_store.store import Store

    with Store.open(folder / "context.db") as store:
        for number in range(CONTEXT_FACTS):
            store.facts.write("moves", f"D[cache.{number}]: redis 7 with {number} replicas", scope="cache")
        session = store.sessions.open("moves", "agent")
        blocks = getattr(store, "context", None) or store.injection
        return calls_of(lambda _: blocks.status("moves", session=session))


def calls_of_pull(folder: Path) -> list[FileCall]:
    """The calls of applying two facts that another machine of the team wrote."""
    from hermes_memory_store.store import Store
    from hermes_memory_store.sync.wire_format import PullCursor, SyncRow
    from hermes_memory_themes import Policies
    from tests.store.conftest import HandClock
    from tests.store.team import THEME, Member, Server

    file = folder / "team.toml"
    file.write_text(f"[themes.{THEME}]\nsync = true\n")
    policies, clock, server = Policies.load(file), HandClock(), Server()
    ours, theirs = (Member(folder / f"{name}.db", clock, policies) for name in ("ours", "theirs"))
    pages: list[list[tuple[int, SyncRow]]] = []
    for number in range(WARM_UP + ROUNDS):
        clock.forward(1_000)
        for n in range(2):
            theirs.store.facts.write(THEME, f"D[cache.{number}.{n}]: redis 7 with {number} replicas", scope="cache")
        while theirs.push(server):
            pass
        # The scope travels with the first page, which is warm-up.
        pages.append(server.pull(pages[-1][-1][0] if pages else 0))
    assert [len(page) for page in pages[WARM_UP:]] == [2] * ROUNDS

    def apply(number: int) -> None:
        getattr(ours.store.sync, "inbox", ours.store.sync).apply(
            THEME, pages[number], cursor=PullCursor(pages[number][-1][0])
        )

    try:
        return calls_of(apply)
    finally:
        for member in (ours, theirs):
            store: Store = member.store
            store.close()


def time_works(folder: Path) -> None:
    """Print how long writes and context blocks take, uncounted, in processor time."""
    from hermes_memory_store.store import Store

    with Store.open(folder / "timed.db") as store:
        for number in range(CONTEXT_FACTS):
            store.facts.write("moves", f"D[cache.{number}]: redis 7 with {number} replicas", scope="cache")
        session = store.sessions.open("moves", "agent")

        def write(number: int) -> object:
            return store.facts.write("timed", f"V[size.{number}]: {number} MB", scope="cache", session=session)

        def context_block(_: int) -> object:
            return (getattr(store, "context", None) or store.injection).status("moves", session=session)

        session = store.sessions.open("timed", "agent")
        for work in (write, context_block):
            begun = time.process_time()
            for number in range(TIMED_WRITES):
                work(number)
            spent = (time.process_time() - begun) / TIMED_WRITES * 1e6
            print(f"{work.__name__}: {spent:.0f} us of processor time, mean of {TIMED_WRITES:,}")


def main() -> None:
    """Print the three figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", action="store_true", help="list the calls, in their order")
    parser.add_argument("--time", action="store_true", help="also time 2,000 writes and as many context blocks")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["HERMES_HOME"] = name
        (folder / "memory-themes.toml").write_text(NO_VECTORS)
        for work, calls in (
            ("one memory_write over MCP", calls_of_write(folder)),
            (f"one context block of {CONTEXT_FACTS} facts", calls_of_context_block(folder)),
            ("applying a pull of two rows", calls_of_pull(folder)),
        ):
            files = {place.partition(":")[0] for call in calls for place in (call.caller, call.callee)}
            inside = sum(call.thread == WRITER for call in calls)
            part = f", {2 * inside} of them in the tool and its commit" if inside else ""
            print(f"{work}: {len(calls)} calls, {2 * len(calls)} moves between {len(files)} files{part}")
            if options.trace:
                for call in calls:
                    print(f"  {call}")
                for line, times in Counter(map(str, calls)).most_common(15):
                    print(f"  {times:4} x {line}")
        traced = trace_writes(folder)
        count, share = min(len(one.statements) for one in traced), sorted(one.locked_share for one in traced)
        print(f"one memory_write over MCP: {count} statements, {share[len(share) // 2]:.0%} of its time under the lock")
        if options.trace:
            for _, sql in traced[-1].statements:
                print(f"  {' '.join(sql.split())[:150]}")
        if options.time:
            time_works(folder)


if __name__ == "__main__":
    main()
