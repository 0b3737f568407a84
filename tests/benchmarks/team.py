"""Exchange with a team database: first push and pull, an exchange with nothing to do, and a change's way to the other machine.

python -m tests.benchmarks.team [--facts 100000] [--rounds 3]

Needs the extras `team` and `team-dev`: the server is a PostgreSQL of its own in a folder that is removed again. The floors
are made in the same run: binary COPY into a table with the same columns and indexes, a server-side cursor's worth of rows as
plain tuples, the same facts written in bulk, and SELECT 1.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from hermes_memory_bridge.team.database.dev_server import DevServer
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import BATCH, LOAD, PAGE, KnownTheme, TeamServer, new_push_token
from hermes_memory_bridge.trust import Vault
from hermes_memory_store.model import PERSON
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import PullCursor, SyncRow
from hermes_memory_themes import Policies
from tests.benchmarks.timing import interleaved, median_us, p99_us, table
from tests.bridge.team.machines import THEME, team

TAKEN = 1_000
"""Rows of a page that is taken in: about what fits in the time that local writers may be kept waiting."""

WORDS = [f"word{n}" for n in range(5_000)]


def rows_of(count: int, theme: str = "ours") -> list[SyncRow]:
    """Facts as a store hands them out."""
    chance = random.Random(7)
    node, now = str(uuid.uuid4()), int(time.time() * 1000)
    return [
        SyncRow(
            theme,
            str(uuid.uuid4()),
            "fact",
            " ".join(chance.choices(WORDS, k=10)),
            {"type": "V", "target": f"a{n % 977}.b", "scope": "s", "tier": "cold", "pinned": False, "created_at": now},
            0,
            (now << 16) + n,
            node,
            (now << 16,),
        )
        for n in range(count)
    ]


def copied(dsn: str, rows: list[SyncRow]) -> float:
    """Rows a second of the fastest way there is, into the same columns and indexes: no winner, no clock, no safety."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("CREATE TABLE hm.floor (LIKE hm.item INCLUDING ALL)")
        began = time.perf_counter()
        with conn.cursor().copy(
            "COPY hm.floor (theme, id, kind, content, attrs, supersedes, content_sha, state, hlc, node, anc, seq)"
            " FROM STDIN (FORMAT binary)"
        ) as copy:
            copy.set_types(
                ["text", "uuid", "text", "text", "jsonb", "uuid", "bytea", "int2", "int8", "uuid", "int8[]", "int8"]
            )
            for n, one in enumerate(rows):
                attrs = psycopg.types.json.Jsonb(one.attrs)
                copy.write_row(
                    ("t", uuid.UUID(one.uid), one.kind, one.content, attrs, None, b"", 0, one.hlc, uuid.UUID(one.node),
                     list(one.ancestors), n)
                )  # fmt: skip
        taken = time.perf_counter() - began
        conn.execute("DROP TABLE hm.floor")
    return len(rows) / taken


def in_parts(send: Any, rows: list[SyncRow], size: int, theme: str) -> float:
    """Rows a second, in parts of that size."""
    began = time.perf_counter()
    for n in range(0, len(rows), size):
        send(theme, rows[0].node, rows[n : n + size], new_push_token())
    return len(rows) / (time.perf_counter() - began)


def pulled(server: TeamServer, theme: str, size: int = PAGE) -> float:
    """Rows a second, in pages."""
    began = time.perf_counter()
    after, count, more = 0, 0, True
    while more:
        page = server.pull(theme, after, size)
        after, more, count = page.cursor.seq, page.more, count + len(page.rows)
    return count / (time.perf_counter() - began)


def listed(dsn: str, theme: str) -> float:
    """Rows a second of plain tuples, in pages of the same size by key."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        began = time.perf_counter()
        after, count = 0, 0
        while True:
            found = conn.execute(
                "SELECT seq, id::text, kind, content, attrs::text, supersedes::text, state, hlc, node::text, anc FROM hm.item"
                " WHERE theme = %s AND seq > %s ORDER BY seq LIMIT %s",
                (theme, after, PAGE),
            ).fetchall()
            if not found:
                return count / (time.perf_counter() - began)
            after, count = found[-1][0], count + len(found)
            for row in found:
                json.loads(row[4])


def rates(dsn: str, facts: int, rounds: int) -> None:
    """First push and pull."""
    found: dict[str, list[float]] = {}
    rows = rows_of(facts)
    with TeamServer(dsn) as server:
        for n in range(rounds):
            few = rows[: max(BATCH, facts // 10)]
            for name, rate in (
                ("COPY binary, nothing else", lambda: copied(dsn, rows)),
                ("first push: arrays of 2,000", lambda n=n: in_parts(server.push, rows, LOAD, f"load{n}")),
                ("daily push: arrays of 500", lambda n=n, few=few: in_parts(server.push, few, BATCH, f"push{n}")),
                ("pushing again what is there", lambda n=n, few=few: in_parts(server.push, few, BATCH, f"push{n}")),
                ("SELECT of plain tuples", lambda n=n: listed(dsn, f"load{n}")),
                ("pull", lambda n=n: pulled(server, f"load{n}")),
            ):
                found.setdefault(name, []).append(rate())
    middle = {name: statistics.median(values) for name, values in found.items()}
    copy, plain = middle["COPY binary, nothing else"], middle["SELECT of plain tuples"]
    table(
        ("way", "rows/s", "of the floor"),
        [
            (name, round(rate), rate / (plain if name in ("SELECT of plain tuples", "pull") else copy))
            for name, rate in middle.items()
        ],
    )


def idle(dsn: str, rounds: int) -> None:
    """An exchange with nothing to do, and the floor over the same connection.

    Of two connections that take turns, the one whose server process the scheduler left beside this one answers in a third
    of the time of the other.
    """
    with TeamServer(dsn) as server:
        node = str(uuid.uuid4())
        known = [KnownTheme("load0", server.pull("load0", 0, 1_000_000).cursor), KnownTheme("none", PullCursor())]
        assert not server.greet(node, known).news
        assert server.is_unchanged(known)
        ours, floor = interleaved(
            rounds, lambda _: server.is_unchanged(known), lambda _: server.conn.execute("SELECT 1").fetchone()
        )
    print()
    table(
        ("question", "median us", "p99 us"),
        [
            ("whether two themes changed", median_us(ours), p99_us(ours)),
            ("SELECT 1", median_us(floor), p99_us(floor)),
            ("ratio", median_us(ours) / median_us(floor), p99_us(ours) / p99_us(floor)),
        ],
    )


def taken_in(facts: int, rounds: int) -> None:
    """Rows that were pulled, taken into a store; the floor is writing the same facts there in bulk."""
    chance = random.Random(7)
    lines: list[Any] = [(f"V[a{n}.b]: {' '.join(chance.choices(WORDS, k=10))}", f"s{n % 50}") for n in range(facts)]
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            (home / "themes.toml").write_text("[themes.ours]\nsync = true\n", encoding="utf-8")
            shared, alone = Policies.load(home / "themes.toml"), Policies.load(home / "none.toml")
            with Store.open(home / "source.db", policies=shared) as store:
                store.sync.themes()
                store.facts.write_many("ours", lines, actor=PERSON)
                rows = list(enumerate(store.sync.outbox.pending_rows("ours", limit=10 * facts), 1))
            with Store.open(home / "floor.db", policies=alone) as store:
                began = time.process_time()
                store.facts.write_many("ours", lines, actor=PERSON)
                found.setdefault("written in bulk", []).append(facts / (time.process_time() - began))
            for name, guarded in (("taken in", False), ("taken in, screened", True)):
                with Store.open(home / f"{name}.db", policies=shared) as store:
                    if guarded:
                        store.intake.vault = Vault(home / "secrets.json", "file")
                    store.sync.themes()
                    began = time.process_time()
                    for start in range(0, len(rows), TAKEN):
                        page = rows[start : start + TAKEN]
                        store.sync.inbox.apply("ours", page, cursor=PullCursor(page[-1][0]))
                    found.setdefault(name, []).append(len(rows) / (time.process_time() - began))
    middle = {name: statistics.median(values) for name, values in found.items()}
    floor = middle["written in bulk"]
    print()
    table(
        ("by the processor's time", "rows/s", "of the floor"),
        [(name, round(rate), rate / floor) for name, rate in middle.items()],
    )


def machines(dsn: str, changes: int, idle_s: float) -> None:
    """A change's way from one machine to another, and what a bridge costs that has nothing to exchange."""
    with tempfile.TemporaryDirectory() as folder, team(Path(folder), dsn, dsn, None) as (here, there, alone):
        for machine in (here, there, alone):
            machine.start()
        while not (here.at_rest() and there.at_rest()):
            time.sleep(0.1)
        taken = []
        with here.store() as store, there.store() as other:
            for n in range(changes):
                content = f"port {n} of the day"
                store.facts.write(THEME, f"V[p{n}]: {content}")
                began = time.perf_counter()
                while not other.db.value("SELECT 1 FROM facts WHERE content = ?", (content,)):
                    time.sleep(0.01)
                taken.append(time.perf_counter() - began)
        processes = [psutil.Process(machine.process.pid) for machine in (here, alone) if machine.process]
        time.sleep(3)
        before = [sum(process.cpu_times()[:2]) for process in processes]
        time.sleep(idle_s)
        used = [sum(process.cpu_times()[:2]) - was for process, was in zip(processes, before, strict=True)]
    print()
    table(
        ("machines", ""),
        [
            ("a change on the other machine, median s", statistics.median(taken)),
            ("the slowest, s", max(taken)),
            ("idle CPU with a team, %", 100 * used[0] / idle_s),
            ("idle CPU without, %", 100 * used[1] / idle_s),
        ],
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle", type=float, default=30.0, help="seconds to look at an idle bridge")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hm-pg-") as folder:
        postgres = DevServer(Path(folder))
        try:
            with psycopg.connect(postgres.dsn, autocommit=True) as conn:
                conn.execute("CREATE ROLE stores LOGIN")
            migrate_team_schema(postgres.dsn, runtime_role="stores")
            restrict_role_to_themes(postgres.dsn, "stores", [])
            rates(postgres.dsn, options.facts, options.rounds)
            taken_in(max(1_000, options.facts // 10), options.rounds)
            idle(make_conninfo(postgres.dsn, user="stores"), 2_000)
            machines(make_conninfo(postgres.dsn, user="stores"), 20, options.idle)
        finally:
            postgres.stop()


if __name__ == "__main__":
    main()
