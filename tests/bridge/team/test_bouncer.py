"""The exchange through a real PgBouncer in transaction mode, over TLS, and with several hosts in the DSN."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from psycopg import conninfo

from hermes_memory_bridge.team.database.team_server import KnownTheme, TeamServer
from hermes_memory_bridge.team.search import fact_queries
from hermes_memory_bridge.team.search.fact_queries import QueryEmbedding
from hermes_memory_bridge.team.sync_run import SyncRun
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.model import Millis
from tests.bridge.running import until
from tests.bridge.team.bouncer import LENT, OPENSSL, PROGRAM, bouncer, certificate, free_port
from tests.bridge.team.conftest import Database, migrate_openly
from tests.bridge.team.proxy import Proxy
from tests.bridge.team.side import Side, store_of
from tests.bridge.team.test_syncer import quickly, syncing

__all__ = ["quickly"]

needs_bouncer = pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may read."""
    folder = Path(tempfile.mkdtemp(prefix="hm-bouncer-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@needs_bouncer
def test_more_stores_than_the_pooler_has_connections_exchange_through_it(
    database: Database, tmp_path: Path, open_folder: Path
) -> None:
    sides = [Side("ours", f"own {n}") for n in range(LENT + 2)]
    with bouncer(open_folder, database.runtime) as dsn, ExitStack() as stack:
        syncers = [stack.enter_context(syncing(side, dsn, tmp_path / str(n))) for n, side in enumerate(sides)]
        until(lambda: all(one.state.name == "idle" for one in syncers), "all connected")
        assert not any(one._server is not None and one._server.listening for one in syncers)
        for round_of_all in range(3):
            for n, side in enumerate(sides):
                side.write("ours", f"news {n} {round_of_all}")
                side.write(f"own {n}", f"mine {round_of_all}")
        news = 3 * len(sides)
        until(lambda: all(sum(key[0] == "ours" for key in side.rows) == news for side in sides), "everything")
        purged = next(iter(sides[0].rows))[1]
        sides[1].write("ours", None, purged, state=2)
        until(lambda: all(side.rows["ours", purged].content is None for side in sides), "the purge")
    assert len({side.digest("ours") for side in sides}) == 1


@needs_bouncer
def test_questions_leave_nothing_in_the_connections_a_pooler_lends(empty: Database, open_folder: Path) -> None:
    migrate_openly(empty, dimension=3)
    meant = QueryEmbedding("m:3", [1.0, 0.0, 0.0])
    with bouncer(open_folder, empty.runtime) as dsn, ExitStack() as stack:
        servers = [stack.enter_context(TeamServer(dsn, listen=False)) for _ in range(LENT + 2)]
        for _ in range(3):
            for server in servers:
                assert fact_queries.find_nearest_items(server, "ours", "fact", meant, 10, 0.0) == []
                assert fact_queries.find_matching_facts(server, "ours", parse_query("blue word", now=Millis(0))) == [
                    [],
                    [],
                    [],
                ]
        kept = {server.value("SELECT current_setting('hnsw.iterative_scan', true)") for server in servers}
        assert kept <= {"off", None}


@needs_bouncer
@needs_openssl
def test_tls_is_verified_to_the_name_of_the_server(database: Database, tmp_path: Path, open_folder: Path) -> None:
    authority = certificate(open_folder)
    here, there = Side("ours"), Side("ours")
    with bouncer(open_folder, database.runtime, tls=authority) as dsn:
        verified = conninfo.make_conninfo(dsn, sslmode="verify-full", sslrootcert=str(authority))
        with syncing(here, verified, tmp_path / "a"), syncing(there, verified, tmp_path / "b"):
            here.write("ours", "over TLS")
            until(lambda: there.rows, "the change")
        with syncing(here, conninfo.make_conninfo(verified, host="127.0.0.1"), tmp_path / "a") as syncer:
            until(lambda: syncer.state.name == "tls", "a name that the certificate does not have")
        with syncing(here, conninfo.make_conninfo(verified, sslrootcert="system"), tmp_path / "a") as syncer:
            until(lambda: syncer.state.name == "tls", "an authority that nobody knows")


def test_the_next_host_is_taken_when_the_first_is_away(database: Database, tmp_path: Path) -> None:
    """Both lines lead to one database: who is away is a host, not what was written."""
    here, there = Side("ours"), Side("ours")
    with Proxy(database.runtime) as first, Proxy(database.runtime) as second:
        hosts = conninfo.make_conninfo(
            database.runtime, host="127.0.0.1,127.0.0.1,127.0.0.1", port=f"{free_port()},{first.port},{second.port}"
        )
        with syncing(here, hosts, tmp_path / "a") as one, syncing(there, hosts, tmp_path / "b") as two:
            until(lambda: one.state.name == two.state.name == "idle", "both connected")
            here.write("ours", "over the first that answers")
            until(lambda: there.rows, "the change")
            assert first.pieces
            assert not second.pieces
            first.down = True
            first.cut()
            here.write("ours", "after it went")
            until(lambda: len(there.rows) == 2, "the change")
            assert second.pieces


@needs_bouncer
def test_a_fail_over_that_the_pooler_hides_is_noticed_at_the_next_question(
    database: Database, open_folder: Path
) -> None:
    side = Side("ours")
    side.write("ours", "said once")
    with bouncer(open_folder, database.runtime) as dsn, TeamServer(dsn) as server:
        run = SyncRun(store_of(side))
        run.run(server)
        assert run.run(server).idle
        known = [KnownTheme("ours", side.cursor("ours"))]
        assert server.is_unchanged(known)
        database.run("UPDATE hm.mark SET token = gen_random_uuid()")  # as far as before, by another's push
        assert not server.is_unchanged(known)
        run.run(server)
    assert side.offered == 1
