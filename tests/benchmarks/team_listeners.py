"""Pushes to a team database while many machines listen, against the same pushes while none does.

python -m tests.benchmarks.team_listeners [--listeners 200] [--writers 8] [--seconds 2] [--rounds 9]

PostgreSQL wakes every listening session of a database at each announcement, whatever its channel (before version 19). Three
cases take turns in one run: nobody listens; all listen, to themes that nobody writes to; all listen to the themes that are
written to, and ask as a machine does. Each writer is a process with a theme of its own, or all share one. What counts is the
median of the ratios of a round.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import select
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from hermes_memory_bridge.team.database.dev_server import DevServer
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import KnownTheme, TeamServer, new_push_token
from hermes_memory_bridge.team.syncer import ASK_AGAIN_S
from hermes_memory_store.sync.wire_format import PullCursor
from tests.benchmarks.team import rows_of
from tests.benchmarks.timing import table

ROWS = 5_000
"""Facts that a writer pushes one by one, again and again."""

forked = multiprocessing.get_context("fork")

Machines = tuple[Connection, psutil.Process]
"""Where machines are told what to listen to, and the server that they are connected to."""


def roomy_server(folder: Path, connections: int) -> DevServer:
    """A PostgreSQL that takes so many connections."""
    made = DevServer(folder)
    with psycopg.connect(made.dsn, autocommit=True) as conn:
        conn.execute(f"ALTER SYSTEM SET max_connections = {connections}")
    made.stop()
    return DevServer(folder)


def write(dsn: str, theme: str, seconds: float, start: Barrier, counts: Any) -> None:
    """Push one fact after the other; put how many."""
    rows, node, count = rows_of(ROWS, theme), str(uuid.uuid4()), 0
    with TeamServer(dsn, listen=False) as server:
        start.wait()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            server.push(theme, node, [rows[count % ROWS]], new_push_token())
            count += 1
    counts.put(count)


def pushed(dsn: str, themes: Sequence[str], seconds: float) -> float:
    """Pushes a second of one writer for each theme that is named."""
    start, counts = forked.Barrier(len(themes)), forked.Queue()
    writers = [forked.Process(target=write, args=(dsn, theme, seconds, start, counts)) for theme in themes]
    for one in writers:
        one.start()
    done: int = sum(counts.get() for _ in writers)
    for one in writers:
        one.join()
    return done / seconds


def listen(dsn: str, count: int, orders: Connection) -> None:
    """Be that many machines, which listen to the themes they are sent, and ask when they are told; answer how often they did."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(TeamServer(dsn)) for _ in range(count)]
        by_line = {server.conn.fileno(): server for server in servers}
        line = select.poll()
        for fd in (*by_line, orders.fileno()):
            line.register(fd, select.POLLIN)
        theme_of: dict[int, str] = {}
        due: dict[int, float] = {}
        asked = 0
        while True:
            for fd, _ in line.poll(50):
                if fd in by_line and by_line[fd].wait_for_notification([theme_of.get(fd, "")], 0.0):
                    due[fd] = 0.0
            if orders.poll(0):
                themes = orders.recv()
                if themes is None:
                    return
                for n, (fd, server) in enumerate(by_line.items()):
                    theme_of[fd] = themes[n % len(themes)] if themes else ""
                    server.listen_to([theme_of[fd]] if themes else [])
                    server.greet(str(uuid.uuid4()), [KnownTheme(theme_of[fd], PullCursor(1))])
                due.clear()
                orders.send(asked)
            for fd in [fd for fd, at in due.items() if at <= time.monotonic()]:
                by_line[fd].is_unchanged([KnownTheme(theme_of[fd], PullCursor(1))])
                asked += 1
                if due.pop(fd) == 0.0:
                    due[fd] = time.monotonic() + ASK_AGAIN_S


@contextlib.contextmanager
def listeners(dsn: str, count: int) -> Iterator[Connection]:
    """Machines in a process of their own, to which themes are sent that they listen to."""
    orders, theirs = forked.Pipe()
    process = forked.Process(target=listen, args=(dsn, count, theirs))
    process.start()
    try:
        yield orders
    finally:
        orders.send(None)
        process.join()


def used_s(server: psutil.Process) -> float:
    """Seconds of the processor that a server has used, with its sessions that have ended."""
    return sum(server.cpu_times()[:4]) + sum(sum(one.cpu_times()[:2]) for one in server.children())


def compare(dsn: str, name: str, themes: Sequence[str], machines: Machines, options: argparse.Namespace) -> None:
    """Print the pushes a second of each case."""
    orders, server = machines
    cases = {"nobody": [], "to other themes": [f"other {n}" for n in range(50)], "to these themes": list(themes)}
    rates: dict[str, list[float]] = {case: [] for case in cases}
    asked: dict[str, list[float]] = {case: [] for case in cases}
    costs: dict[str, list[float]] = {case: [] for case in cases}
    for _ in range(options.rounds):
        for case, heard in cases.items():
            orders.send(heard)
            before, used = orders.recv(), used_s(server)
            rates[case].append(pushed(dsn, themes, options.seconds))
            costs[case].append((used_s(server) - used) / (rates[case][-1] * options.seconds))
            orders.send([])
            asked[case].append((orders.recv() - before) / options.seconds)
    print(f"\n{len(themes)} writers, {name}; {options.listeners} machines\n")
    table(
        ("listening", "pushes/s", "of the floor", "server's processor, ms a push", "questions/s"),
        [
            (
                case,
                round(statistics.median(rates[case])),
                statistics.median(one / floor for one, floor in zip(rates[case], rates["nobody"], strict=True)),
                1000 * statistics.median(costs[case]),
                round(statistics.median(asked[case])),
            )
            for case in cases
        ],
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listeners", type=int, default=200)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hm-pg-") as folder:
        postgres = roomy_server(Path(folder), options.listeners + options.writers + 20)
        try:
            with psycopg.connect(postgres.dsn, autocommit=True) as conn:
                conn.execute("CREATE ROLE stores LOGIN")
            migrate_team_schema(postgres.dsn, runtime_role="stores")
            restrict_role_to_themes(postgres.dsn, "stores", [])
            dsn = make_conninfo(postgres.dsn, user="stores")
            with listeners(dsn, options.listeners) as orders:
                own = [f"own {n}" for n in range(options.writers)]
                machines = orders, psutil.Process(postgres.server.get_pid())
                compare(dsn, "each with a theme of its own", own, machines, options)
                compare(dsn, "all with one theme", ["shared"] * options.writers, machines, options)
        finally:
            postgres.stop()


if __name__ == "__main__":
    main()
