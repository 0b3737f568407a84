"""What idle machines cost that share a team database behind PgBouncer in transaction mode.

python -m tests.benchmarks.team_pooler [--machines 1000] [--people 50] [--seconds 20]

Each machine is a connection of its own through the pooler, as the role of its person, and syncs by the code of the bridge at
the interval of a machine that is idle for so long. A machine's store is kept in memory. What counts is the processor's time
of PgBouncer and of all processes of the server, as a share of one core; at 1 s, which no single client can keep up for a
thousand, it is taken from what one question costs.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import os
import random
import shutil
import tempfile
import time
from pathlib import Path

import psutil
import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from hermes_memory_bridge.team.database.dev_server import DevServer
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.sync_run import SyncRun
from hermes_memory_bridge.team.syncer import choose_poll_interval
from tests.benchmarks.timing import table
from tests.bridge.team.bouncer import PROGRAM, pooling
from tests.bridge.team.side import Side, store_of

QUIET_S = (0.0, 600.0, 3_600.0)
"""For how long nothing has moved, when it is measured."""

RARE_S = 10.0
"""An interval from which on the machines are asked for at their real pace."""


class Machine:
    """One machine, idle."""

    def __init__(self, dsn: str, *themes: str) -> None:
        self.server = TeamServer(dsn)
        assert not self.server.direct
        self.run = SyncRun(store_of(Side(*themes)))
        self.sync()

    def sync(self) -> None:
        self.run.run(self.server)


def used_s(processes: list[psutil.Process]) -> float:
    """Seconds of the processor that they and their children have used."""
    found = 0.0
    for process in processes:
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                found += sum(one.cpu_times()[:2])
    return found


def ask(machines: list[Machine], interval_s: float, seconds: float) -> int:
    """Let each machine sync at its interval, from a moment of its own on; return how many times they did."""
    chance = random.Random(7)
    began = time.monotonic()
    due = [(began + chance.random() * interval_s, n) for n in range(len(machines))]
    heapq.heapify(due)
    count = 0
    while due[0][0] < began + seconds:
        at, n = due[0]
        time.sleep(max(0.0, at - time.monotonic()))
        if time.monotonic() > began + seconds:
            break
        machines[n].sync()
        heapq.heapreplace(due, (at + interval_s, n))
        count += 1
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    return count


def measure(machines: list[Machine], processes: list[psutil.Process], seconds: float) -> None:
    """Print the share of a core at each interval."""
    ask(machines, 0.0, seconds / 4)
    rows = []
    for quiet_s in QUIET_S:
        interval_s = choose_poll_interval(quiet_s, 1.0)
        before, began = used_s(processes), time.monotonic()
        count = ask(machines, interval_s if interval_s > RARE_S else 0.0, seconds)
        used, taken = used_s(processes) - before, time.monotonic() - began
        share = used / taken if interval_s > RARE_S else used / count * len(machines) / interval_s
        rows.append((round(quiet_s), round(interval_s), round(count / taken), 1000 * used / count, 100 * share))
    table(("quiet for, s", "asks every, s", "questions/s", "ms of the processor each", "% of a core"), rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=1_000)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    if PROGRAM is None:
        raise SystemExit("PgBouncer is not installed")
    people = [f"person{n}" for n in range(options.people)]
    with tempfile.TemporaryDirectory(prefix="hm-pg-") as folder, contextlib.ExitStack() as stack:
        postgres = DevServer(Path(folder))
        stack.callback(postgres.stop)
        migrate_team_schema(postgres.dsn)
        for name in people:
            with psycopg.connect(postgres.dsn, autocommit=True) as conn:
                conn.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'pw-of-{name}'")
            migrate_team_schema(postgres.dsn, runtime_role=name)
            restrict_role_to_themes(postgres.dsn, name, ["common", f"of {name}"])
        first = Side("common", *(f"of {name}" for name in people))
        for theme in first.wanted:
            first.write(theme, "a fact")
        with TeamServer(postgres.dsn) as server:
            SyncRun(store_of(first)).run(server)
        given = conninfo_to_dict(postgres.dsn)
        host = Path(str(given["host"]))
        open_folder = Path(tempfile.mkdtemp(prefix="hm-bouncer-"))
        stack.callback(shutil.rmtree, open_folder)
        open_folder.chmod(0o755)
        settings = [
            f"max_client_conn = {options.machines + 50}",
            *([f"user = {host.owner()}"] if os.geteuid() == 0 else []),
        ]
        users = {name: f"pw-of-{name}" for name in people}
        line = f"{given['dbname']} = host={host} pool_size=1"
        port, bouncer = stack.enter_context(pooling(open_folder, line, users, settings))
        machines = []
        for n in range(options.machines):
            name = people[n % len(people)]
            dsn = make_conninfo(postgres.dsn, host="127.0.0.1", port=port, user=name, password=users[name])
            machines.append(Machine(dsn, "common", f"of {name}"))
            stack.callback(machines[-1].server.close)
        measure(machines, [psutil.Process(bouncer.pid), psutil.Process(postgres.server.get_pid())], options.seconds)


if __name__ == "__main__":
    main()
