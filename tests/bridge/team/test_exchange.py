"""One exchange after another, over lines that fail, between stores that know the contract and nothing else."""

from __future__ import annotations

import json
import random
import threading
import time
import uuid
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from hermes_memory_bridge.team import sync_run as module
from hermes_memory_bridge.team.database import change_probe
from hermes_memory_bridge.team.database.team_server import KnownTheme, TeamServer
from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.sync_run import SyncRun
from hermes_memory_store.sync.wire_format import PullCursor
from tests.bridge.team.conftest import LONG, Database
from tests.bridge.team.proxy import Proxy
from tests.bridge.team.side import Side, store_of


def exchange_of(side: Side) -> SyncRun:
    return SyncRun(store_of(side))


def settle(database: Database, *sides: Side) -> None:
    """Exchange until nobody has anything to say."""
    with TeamServer(database.runtime) as server:
        for _ in range(3):
            for side in sides:
                exchange_of(side).run(server)


def test_what_one_store_writes_another_has(database: Database) -> None:
    here, there = Side("ours"), Side("ours")
    for n in range(1_200):
        here.write("ours", f"fact {n}")

    settle(database, here, there)

    assert len(there.rows) == 1_200
    assert here.digest("ours") == there.digest("ours")
    assert not here.unsent


def test_a_first_push_in_large_parts_gives_the_same(database: Database) -> None:
    here, there = Side("ours"), Side("ours")
    for n in range(module.LOAD + 300):
        here.write("ours", f"fact {n}")

    settle(database, here, there)

    assert here.digest("ours") == there.digest("ours")
    assert database.one("SELECT count(*) FROM hm.mark") == 2


def test_nothing_to_do_is_one_round_trip(database: Database) -> None:
    side = Side("ours", "other")
    side.write("ours", "said once")
    settle(database, side)

    with Proxy(database.runtime) as proxy, TeamServer(proxy.dsn()) as server:
        exchange = exchange_of(side)
        exchange.run(server)
        before = proxy.pieces
        assert exchange.run(server).idle
        assert proxy.pieces - before == 1


def test_a_notice_that_comes_with_an_answer_is_heard(database: Database) -> None:
    side = Side("ours", "theirs")
    with TeamServer(database.runtime) as server, TeamServer(database.runtime) as other:
        known = [KnownTheme("ours", PullCursor())]
        server.listen_to(["ours", "theirs"])
        server.greet(side.node, known)
        side.write("theirs", "said meanwhile")
        exchange_of(side).run(other)
        assert server.is_unchanged(known)
        assert server.wait_for_notification(["theirs"], 5.0)
        assert not server.wait_for_notification(["theirs"], 0.0)


def test_all_is_asked_again_once_a_minute_and_when_other_themes_are_asked_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, ours, theirs = str(uuid.uuid4()), KnownTheme("ours", PullCursor()), KnownTheme("theirs", PullCursor())
    with TeamServer(database.runtime) as server:
        assert not server.is_unchanged([ours])
        server.greet(node, [ours])
        assert server.is_unchanged([ours])
        assert not server.is_unchanged([ours, theirs])
        server.greet(node, [ours, theirs])
        assert server.is_unchanged([ours, theirs])
        monkeypatch.setattr(change_probe, "WHOLE_S", 0.0)
        server.greet(node, [ours, theirs])
        assert not server.is_unchanged([ours, theirs])


def test_a_pooler_that_looks_like_a_server_is_noticed_by_what_it_forgets(database: Database) -> None:
    side = Side("ours", 'odd "name", \\ {of}')
    for theme in side.themes():
        side.write(theme, "said once")
    settle(database, side)

    with TeamServer(database.runtime) as server:
        exchange = exchange_of(side)
        assert exchange.run(server).idle
        assert server.direct
        server.conn.pgconn.exec_(b"DEALLOCATE ALL")  # as another connection knows none of it
        assert exchange.run(server).idle
        assert not server.direct
        assert server.conn.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
        side.write("ours", "said later")
        assert not exchange.run(server).idle


def test_a_lost_acknowledgement_costs_nothing(database: Database) -> None:
    side = Side("ours")
    with Proxy(database.runtime) as proxy:
        exchange = exchange_of(side)
        with TeamServer(proxy.dsn()) as server:
            exchange.run(server)
            side.write("ours", "did it arrive?")
            proxy.lose_chance = 1.0
            with pytest.raises(TeamError):
                exchange._push(server, "ours")
        proxy.lose_chance = 0.0
        assert side.unsent
        with TeamServer(proxy.dsn()) as server:
            exchange.run(server)

    assert not side.unsent
    assert side.renewed == 0
    assert database.one("SELECT count(*) FROM hm.item") == 1


def test_purged_wins_over_any_later_edit_and_stays(database: Database) -> None:
    here, there = Side("ours"), Side("ours")
    uid = here.write("ours", "a secret")
    settle(database, here, there)

    here.write("ours", None, uid, state=2)
    for _ in range(5):
        there.write("ours", "a secret, edited", uid)
    settle(database, there, here, there)

    assert here.rows["ours", uid].state == there.rows["ours", uid].state == 2
    assert database.one("SELECT count(*) FROM hm.item WHERE content IS NOT NULL") == 0


@pytest.mark.parametrize("count", [1, 7, 2_500])
def test_a_row_the_database_refuses_is_found_and_blocks_nothing(database: Database, count: int) -> None:
    side = Side("ours")
    good = [side.write("ours", f"fact {n}") for n in range(count)]
    bad = [side.write("ours", "half \0 a text"), side.write("ours", "half of \ud83d a sign")]
    good += [side.write("ours", f"later {n}") for n in range(count)]

    settle(database, side)

    assert [uid for uid, _ in side.refusals] == bad
    assert not side.unsent
    assert database.one("SELECT count(*) FROM hm.item") == len(good)
    assert all("\0" not in why for _, why in side.refusals)


def test_a_text_too_long_to_index_is_taken_all_the_same(database: Database) -> None:
    side = Side("ours")
    side.write("ours", " ".join(f"word{n}" for n in range(9_000)))

    settle(database, side)

    assert not side.refusals
    assert database.one("SELECT count(*) FROM hm.item") == 1


def test_a_database_that_lost_its_tail_gets_everything_again(database: Database) -> None:
    here, there = Side("ours"), Side("ours")
    for n in range(10):
        here.write("ours", f"kept {n}")
    settle(database, here, there)
    # What a fail-over to a standby leaves that had not yet received the newest transactions.
    for statement in (
        "DELETE FROM hm.item WHERE seq > 5",
        "DELETE FROM hm.mark",
        "UPDATE hm.clock SET seq = 5",
        f"INSERT INTO hm.mark VALUES ('ours', 5, '{uuid.uuid4()}', '{uuid.uuid4()}')",
    ):
        database.run(statement)

    there.write("ours", "written after")
    settle(database, there, here, there)

    assert here.offered + there.offered >= 2
    assert here.digest("ours") == there.digest("ours")
    assert database.one("SELECT count(*) FROM hm.item") == 11


def test_commits_that_overtake_each_other_are_not_stepped_over(database: Database) -> None:
    # The trap: a transaction that takes its number first and commits last.
    here, there = Side("ours"), Side("ours")
    slow = psycopg.connect(database.admin)
    slow.execute("INSERT INTO hm.clock (theme, seq) VALUES ('ours', 1)")
    slow.execute(
        "INSERT INTO hm.item (theme, id, hlc, node, seq) VALUES ('ours', gen_random_uuid(), 1, gen_random_uuid(), 1)"
    )
    here.write("ours", "the quick one")
    pushing = threading.Thread(target=settle, args=(database, here))
    pushing.start()
    time.sleep(0.3)
    settle(database, there)
    assert there.cursor("ours").seq == 0

    slow.commit()
    slow.close()
    pushing.join()
    settle(database, there)

    assert len(there.rows) == 2


def act(side: Side, chance: random.Random, uids: list[str]) -> str | None:
    """Something a person or an agent does; the uid of what was purged."""
    what = chance.random()
    if what < 0.5 or not uids:
        uids.append(side.write("ours", f"fact {chance.random()}"))
    elif what < 0.85:
        side.write("ours", f"edited {chance.random()}", chance.choice(uids))
    elif what < 0.95:
        side.write("ours", None, chance.choice(uids), state=1)
    else:
        uid = chance.choice(uids)
        side.write("ours", None, uid, state=2)
        return uid
    return None


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(20 if LONG else 2))
def test_stores_on_lines_that_fail_all_end_with_the_same(database: Database, seed: int) -> None:
    chance = random.Random(seed)
    sides = [Side("ours") for _ in range(chance.randint(2, 5))]
    exchanges = [exchange_of(side) for side in sides]
    uids: list[str] = []
    purged = set()
    with Proxy(database.runtime, seed) as proxy:
        proxy.cut_chance, proxy.lose_chance = 0.02, 0.02
        servers: dict[int, TeamServer] = {}
        for _ in range(600 if LONG else 150):
            n = chance.randrange(len(sides))
            for _ in range(chance.randint(0, 3)):
                purged.add(act(sides[n], chance, uids))
            try:
                servers[n] = servers.get(n) or TeamServer(proxy.dsn())
                exchanges[n].run(servers[n])
            except TeamError:
                if n in servers:
                    servers.pop(n).close()
        assert proxy.cuts
        for server in servers.values():
            server.close()
    settle(database, *sides, *sides)

    assert len({side.digest("ours") for side in sides}) == 1
    assert set(uids) == {uid for _, uid in sides[0].rows}
    assert all(sides[0].rows["ours", uid].state == 2 for uid in purged - {None} if uid)
    kept: Any = database.one("SELECT json_agg(json_build_array(id, state, content)) FROM hm.item")
    kept = json.loads(kept) if isinstance(kept, str) else kept
    assert {uid: (state, content) for uid, state, content in kept} == {
        uid: (row.state, row.content) for (_, uid), row in sides[0].rows.items()
    }


def test_rows_come_back_as_they_were_sent(database: Database) -> None:
    here, there = Side("ours"), Side("ours")
    uid = here.write("ours", "naïve 日本 \\ \" ' \n\t{},NULL \x01")
    row = here.rows["ours", uid]
    attrs = {"target": "x.\\N", "pinned": True, "at": 1_795_251_804_415, "nothing": None, "list": ["ä", "\\", '"']}
    here.rows["ours", uid] = replace(row, attrs=attrs, ancestors=(2**62, 1), supersedes=str(uuid.uuid4()))
    empty = here.write("ours", None, state=1)

    settle(database, here, there)

    assert there.rows["ours", uid] == here.rows["ours", uid]
    assert there.rows["ours", empty] == here.rows["ours", empty]
