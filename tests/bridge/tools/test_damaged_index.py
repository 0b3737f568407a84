"""The tools when a full-text index is damaged while the bridge runs."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_store import FactFilter, Store
from hermes_memory_store.context.fence import parse_fenced_text
from hermes_memory_store.diagnostics.doctor import examine_store
from tests.bridge.tools.test_more_tools import Desk

HARM = {
    "blobs emptied": "UPDATE {}_data SET block = x''",
    "blobs random": "UPDATE {}_data SET block = randomblob(length(block))",
    "data dropped": "DROP TABLE {}_data",
    "config dropped": "DROP TABLE {}_config",
}


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[StoreWorker]:
    made = StoreWorker(tmp_path / "memory.db")
    yield made
    await asyncio.to_thread(made.close)


def harm(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute(sql)


@pytest.mark.parametrize("name", HARM)
async def test_agents_write_and_find_on_and_are_told(name: str, hub: StoreWorker) -> None:
    ask = Desk(hub)
    for n in range(5):
        await ask("memory_write", content=f"V[before{n}]: zebra {n}")
    harm(hub.path, HARM[name].format("facts_text"))

    written = await asyncio.gather(*(Desk(hub)("memory_write", content=f"V[t{n}]: okapi {n}") for n in range(20)))
    found = await ask("memory_search", query="okapi", limit=20)
    reflected = await ask("memory_reflect", topic="zebra")
    recalled = await ask("recall_memory", query="okapi 7")

    assert all(answer.text.startswith("stored: ") for answer in written), [answer.text for answer in written]
    assert len(found.data["facts"]) == 20
    assert "doctor --repair" in found.data["note"]
    assert found.text.splitlines()[-1].startswith("note: the full-text index of facts is damaged")
    assert "doctor --repair" in reflected.data["note"]
    assert "doctor --repair" in json.loads(parse_fenced_text(recalled.text))["note"]
    assert json.loads(parse_fenced_text(recalled.text))["results"][0]["content"] == "V[t7]: okapi 7"


@pytest.mark.parametrize("name", HARM)
async def test_turns_are_captured_and_recalled_on(name: str, hub: StoreWorker) -> None:
    ask = Desk(hub)
    await ask("memory_turn", role="user", content="we met a zebra on Monday morning in the garden")
    harm(hub.path, HARM[name].format("turns_text"))

    kept = await ask("memory_turn", role="user", content="we met an okapi on Tuesday morning in the garden")
    recalled = json.loads(parse_fenced_text((await ask("recall_conversation", query="okapi")).text))

    assert kept.data["kept"] is True
    assert "okapi" in recalled["results"][0]["content"]
    assert "turns is damaged" in recalled["note"]


async def test_a_running_bridge_uses_the_index_again_once_it_is_repaired(hub: StoreWorker) -> None:
    ask = Desk(hub)
    await ask("memory_write", content="V[a]: zebra")
    harm(hub.path, HARM["blobs random"].format("facts_text"))
    await ask("memory_write", content="V[b]: zebra")

    with Store.open(hub.path) as store:
        assert all(check.ok for check in examine_store(store, repair=True))
    await ask("memory_write", content="V[c]: zebra")
    found = await ask("memory_search", query="zebra")

    assert len(found.data["facts"]) == 3
    assert "note" not in found.data


async def test_a_write_whose_transaction_sqlite_ended_is_made_again(hub: StoreWorker) -> None:
    tries = []

    def job(store: Store) -> str:
        fact = store.facts.write(f"theme{len(tries)}", "V[a]: zebra").fact
        tries.append(fact.uid)
        if len(tries) == 1:
            store.db.conn.execute("ROLLBACK")  # as SQLite does when memory runs out in a search of a damaged index
        return fact.uid

    uid = await hub.write(job)

    assert (len(tries), uid) == (2, tries[-1])
    with Store.open(hub.path) as store:
        assert [fact.uid for fact in store.facts.page(FactFilter()).facts] == [uid]
        assert store.names.all_themes() == ["theme1"]
        assert all(check.ok for check in examine_store(store))
