"""Edits of facts that have vectors, in tables that are divided into partitions, against the same edits in plain tables.

python -m tests.benchmarks.team_partitions [--vectors 30000] [--partitions 16] [--rounds 1500]

Two databases of one server, filled alike, take turns. An edit is a push of one fact, or of a hundred, by the code of the
bridge; each takes its vector away. The processor's time of the server process is compared, and the time of each pair, which
also depends on where the scheduler left the two processes.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from hermes_memory_bridge.team.database.dev_server import DevServer
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import LOAD, TeamServer, new_push_token
from hermes_memory_store.sync.wire_format import SyncRow
from tests.benchmarks.team import rows_of
from tests.benchmarks.timing import interleaved, table

DIMENSIONS = 384

THEMES = 30

MANY = 100
"""Facts of a larger push."""

VECTORS = f"""
INSERT INTO hm.vector (theme, id, kind, model, content_sha, embedding)
SELECT f.theme, f.id, f.kind, 'm:{DIMENSIONS}', f.content_sha,
       (SELECT array_agg(r.x) FROM (SELECT random() AS x FROM generate_series(1, {DIMENSIONS} + 0 * f.seq)) r)::real[]
FROM hm.item f ON CONFLICT DO NOTHING
"""


def filled(dsn: str, rows: dict[str, list[SyncRow]], partitions: int | None) -> str:
    """Fill a new database; return the DSN of a member."""
    migrate_team_schema(dsn, dimension=DIMENSIONS, runtime_role="stores", partitions=partitions)
    restrict_role_to_themes(dsn, "stores", [])
    member = make_conninfo(dsn, user="stores")
    with TeamServer(member) as server:
        for theme, some in rows.items():
            for n in range(0, len(some), LOAD):
                server.push(theme, some[0].node, some[n : n + LOAD], new_push_token())
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(VECTORS)
        conn.execute("VACUUM ANALYZE")
    return member


def edits(server: TeamServer, rows: dict[str, list[SyncRow]], count: int) -> Callable[[int], object]:
    """What edits so many facts of one theme after the other."""

    def edit(number: int) -> object:
        theme, some = list(rows.items())[number % len(rows)]
        at = number // len(rows) * count % len(some)
        changed = [
            replace(row, content=f"{row.content} {number}", hlc=row.hlc + (number + 1 << 8), ancestors=(row.hlc,))
            for row in some[at : at + count]
        ]
        return server.push(theme, changed[0].node, changed, new_push_token())

    return edit


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=30_000)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=1_500)
    options = parser.parse_args()
    rows = {f"theme {n}": rows_of(options.vectors // THEMES, f"theme {n}") for n in range(THEMES)}
    with tempfile.TemporaryDirectory(prefix="hm-pg-") as folder:
        postgres = DevServer(Path(folder))
        try:
            with psycopg.connect(postgres.dsn, autocommit=True) as conn:
                conn.execute("ALTER SYSTEM SET fsync = off")  # the disk would hide what partitions cost
                conn.execute("SELECT pg_reload_conf()")
                conn.execute("CREATE ROLE stores LOGIN")
                conn.execute("CREATE DATABASE plain")
                conn.execute("CREATE DATABASE divided")
            plain, divided = (
                filled(make_conninfo(postgres.dsn, dbname=name), rows, parts)
                for name, parts in (("plain", None), ("divided", options.partitions))
            )
            found = []
            with TeamServer(plain) as one, TeamServer(divided) as other:
                processes = [psutil.Process(server.conn.info.backend_pid) for server in (one, other)]
                for count, rounds in ((1, options.rounds), (MANY, options.rounds // 10)):
                    before = [sum(process.cpu_times()[:2]) for process in processes]
                    floor, ours = interleaved(rounds, edits(one, rows, count), edits(other, rows, count))
                    used = [sum(p.cpu_times()[:2]) - was for p, was in zip(processes, before, strict=True)]
                    ratio = statistics.median(a / b for a, b in zip(floor, ours, strict=True))
                    found.append((count, *(round(1e6 * s / rounds) for s in used), used[0] / used[1], ratio))
            table(
                ("facts a push", "processor, plain, us", "in partitions, us", "of the floor", "median of the pairs"),
                found,
            )
        finally:
            postgres.stop()


if __name__ == "__main__":
    main()
