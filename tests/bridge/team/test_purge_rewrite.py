"""What was purged stands in no file of the database once it was collected: table, index, long value, statistic or vector."""

from __future__ import annotations

import uuid
from pathlib import Path

import psycopg
import pytest

from hermes_memory_bridge.team.database.dev_server import DevServer
from hermes_memory_bridge.team.database.purge_rewrite import release_canary, rewrite_purged
from hermes_memory_bridge.team.database.team_states import TeamError
from tests.bridge.team.conftest import Database
from tests.bridge.team.side import Side
from tests.bridge.team.test_exchange import settle


def find_on_disk(postgres: DevServer, words: list[str]) -> set[str]:
    """The words that stand in any file of the server but its log of changes, which no statement rewrites."""
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        conn.execute("CHECKPOINT")
        (folder,) = conn.execute("SHOW data_directory").fetchone() or ("",)
    found = set()
    for path in Path(str(folder)).rglob("*"):
        if path.is_file() and "pg_wal" not in path.parts:
            data = path.read_bytes()
            found |= {word for word in words if word.encode() in data}
    return found


def new_words(count: int) -> list[str]:
    return [f"secret{uuid.uuid4().hex}" for _ in range(count)]


@pytest.fixture
def purged(database: Database) -> tuple[list[str], list[str]]:
    """Words that were pushed, sampled for statistics, edited and purged; and words that stay."""
    here = Side("ours")
    words, edited, kept = new_words(40), new_words(40), new_words(200)
    uids = [here.write("ours", word) for word in words]
    for word in kept:
        here.write("ours", word)
    long = new_words(1)
    uids.append(here.write("ours", " ".join([long[0], *(uuid.uuid4().hex for _ in range(9000))])))
    settle(database, here)
    database.run("ANALYZE hm.item")
    for uid, word in zip(uids, edited, strict=False):
        here.write("ours", word, uid)
    settle(database, here)
    database.run("ANALYZE hm.item")
    for uid in uids:
        here.write("ours", None, uid, state=2)
    settle(database, here)
    return words + edited + long, kept


def test_no_file_of_the_server_holds_a_purged_word_once_it_was_collected(
    database: Database, postgres: DevServer, purged: tuple[list[str], list[str]]
) -> None:
    words, kept = purged
    assert find_on_disk(postgres, words), "the search finds nothing that is there"
    done = rewrite_purged(database.admin)
    assert done.left == []
    assert find_on_disk(postgres, words) == set()
    assert find_on_disk(postgres, kept) == set(kept)
    assert int(str(database.one("SELECT value FROM hm.setting WHERE name = 'collected'"))) > 1_700_000_000_000
    assert rewrite_purged(database.admin).rewritten == []


def test_an_open_transaction_that_may_read_them_is_said_and_the_next_run_erases(
    database: Database, postgres: DevServer, purged: tuple[list[str], list[str]]
) -> None:
    with psycopg.connect(postgres.dsn, dbname=database.name) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1 FROM hm.migration")
        late = Side("ours")
        settle(database, late)
        word = new_words(1)[0]
        uid = late.write("ours", word)
        settle(database, late)
        late.write("ours", None, uid, state=2)
        settle(database, late)
        done = rewrite_purged(database.admin)
        assert any("a transaction that is open" in one for one in done.left)
        assert database.one("SELECT value FROM hm.setting WHERE name = 'collected'") is None
    assert rewrite_purged(database.admin).left == []
    assert find_on_disk(postgres, [word, *purged[0]]) == set()


def test_who_holds_a_table_is_waited_for_five_seconds_and_no_longer(
    database: Database, purged: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_memory_bridge.team.database.purge_rewrite.LOCK_TIMEOUT", "200ms")
    with psycopg.connect(database.admin) as reader:
        reader.execute("SELECT 1 FROM hm.item LIMIT 1")
        with pytest.raises(TeamError, match=r"hm\.item"):
            rewrite_purged(database.admin)
    assert rewrite_purged(database.admin).left == []


def test_a_canary_proves_it_and_leaves_nothing(database: Database, postgres: DevServer) -> None:
    here = Side("ours")
    here.write("ours", "stays")
    settle(database, here)
    result = release_canary(database.admin)
    assert result.before == result.words
    assert result.found == []
    assert result.left == []
    assert database.one("SELECT count(*) FROM hm.clock WHERE starts_with(theme, 'canary-')") == 0
    assert database.one("SELECT count(*) FROM hm.item") == 1
    assert rewrite_purged(database.admin).rewritten == []


def test_who_may_not_read_the_files_is_told_that_nothing_was_proven(database: Database) -> None:
    with pytest.raises(TeamError, match="superuser"):
        release_canary(database.runtime)
    assert database.one("SELECT count(*) FROM hm.item") == 0
