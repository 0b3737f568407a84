"""What was said, recalled over the team's database: as from a store that holds it, and never what may not be told."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.sync_run import SyncRun
from hermes_memory_bridge.team.vector_upload import VectorUpload
from hermes_memory_bridge.tools.recall_tools import recall_conversation
from hermes_memory_store.find import ranking
from hermes_memory_store.store import Store
from tests.bridge.team import test_asking
from tests.bridge.team.conftest import PARTITIONS, Database, admit_everything, migrate_openly
from tests.bridge.team.test_asking import DIMENSIONS, WORDS, ready

THEME = "ours"

SHARED = f"[themes.{THEME}]\nsync = true\nsync_turns = true\n"

QUERIES = [
    "database", "deploy", "when was the database deployed?", "who is the doctor of the team", "restore backup nightly",
    "cafe price", "strasse", "データベース", "設計", '"blue green"', "blue -green", "token key", "nothing of this exists",
    "what did the physician buy in march", "invoice", "how slow is the query on the server?", "-blue", "t: colon",
    "服务器在哪个城市？", "サーバーはどこにありますか？", "서버는 어디에 있나요?", "データベースの設計は誰ですか",
]  # fmt: skip


class Machine(test_asking.Machine):
    """A store with what was said, and who asks the team for it."""

    async def recall(self, query: str, **arguments: Any) -> dict[str, Any]:
        return await self.ask(recall_conversation, query, **arguments)

    def exchange(self) -> None:
        with TeamServer(self.dsn) as server, Store.open(self.path, policies=self.hub.store.policies) as own:
            SyncRun(own).run(server)


@pytest.fixture
def database(empty: Database) -> Database:
    """A database with vectors, all of which is open to its role."""
    migrate_openly(empty, dimension=DIMENSIONS, partitions=PARTITIONS)
    return empty


@pytest.fixture
async def ours(database: Database, tmp_path: Path) -> AsyncIterator[Machine]:
    """Holds and exchanges the theme."""
    machine = Machine(tmp_path / "ours", database.runtime, SHARED, THEME)
    yield machine
    await machine.close()


@pytest.fixture
async def other(database: Database, tmp_path: Path) -> AsyncIterator[Machine]:
    """Holds nothing of it."""
    machine = Machine(tmp_path / "other", database.runtime, "", "mine")
    yield machine
    await machine.close()


async def fill_vectors(ours: Machine, other: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the vectors of all that was said, send them to the team, and let both machines compare questions."""
    for machine in (ours, other):
        await ready(machine)
        machine.hub.vectors = machine.meaning
    with ours.hub.store.db.lock:
        last = ours.hub.store.embedding_inputs.last_change()
    filling = asyncio.create_task(ours.meaning.fill_forever())
    while ours.meaning._seen != last:
        await asyncio.sleep(0.02)
    filling.cancel()
    monkeypatch.setenv("HERMES_HOME", str(ours.path.parent))
    head = ours.hub.store.sync.inbox.cursor(THEME).seq
    upload = VectorUpload(ours.path, lambda: ours.dsn, lambda: {THEME: head}, lambda: ours.meaning.model)
    await asyncio.to_thread(upload._round)
    assert upload.state.name == "filled", upload.status()


def talk(store: Store, count: int) -> None:
    """A conversation of several sessions."""
    chance = random.Random(7)  # of words drawn by lot, none that reads like an attack
    sessions = [store.sessions.open(THEME, name) for name in ("one", "two", "three")]
    for n in range(count):
        said = " ".join(chance.choices(WORDS, k=chance.randint(3, 14))) + chance.choice([".", "?", ""])
        role = "user" if n % 2 else "assistant"
        store.turns.add(THEME, role, said, session=sessions[n * 3 // count])


@pytest.mark.parametrize("meaning", [True, False], ids=["words and vectors", "words"])
async def test_the_team_answers_as_a_store_that_holds_what_was_said(
    ours: Machine, other: Machine, meaning: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a session lends to its turns is measured by how far they lie apart, which the team's answer does not tell.
    monkeypatch.setattr(ranking, "SESSION_SHARE", 0.0)
    talk(ours.hub.store, 160)
    ours.exchange()
    if meaning:
        await fill_vectors(ours, other, monkeypatch)
    for query in QUERIES:
        here, there = await ours.recall(query, scope=THEME), await other.recall(query, scope=THEME)
        assert there.pop("team") == "answered"
        assert here == there, query
    assert (await ours.recall("database"))["count"] == 20
    for question in ("服务器在哪个城市？", "서버는 어디에 있나요?"):
        assert (await other.recall(question, scope=THEME))["count"] > 0


async def test_what_was_said_is_found_by_its_meaning_alone(
    ours: Machine, other: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(100):
        ours.hub.store.turns.add(THEME, "user", f"filler number {n}")
    ours.hub.store.turns.add(THEME, "user", "an automobile " + "." * 30_000)
    ours.exchange()
    await fill_vectors(ours, other, monkeypatch)

    best, *_ = (await other.recall("vehicle", scope=THEME))["results"]

    assert best["content"].startswith("an automobile")


async def test_an_answer_is_found_beside_its_question_though_two_machines_spoke_at_once(
    ours: Machine, other: Machine, database: Database, tmp_path: Path
) -> None:
    second = Machine(tmp_path / "second", database.runtime, SHARED, THEME)
    try:
        one, two = (machine.hub.store.turns for machine in (ours, second))
        for n in range(20):
            one.add(THEME, "user", "where did we put the invoices?" if n == 10 else f"filler {n} alpha")
            for k in range(3):
                two.add(THEME, "user", f"talk{n}x{k}")
            one.add(THEME, "assistant", "In the blue cabinet." if n == 10 else f"reply {n} beta")
        for machine in (ours, second, ours):
            machine.exchange()
        answers = [await one.recall("where did we put the invoices?", scope=THEME) for one in (ours, second, other)]
        firsts = [[found["content"] for found in told["results"][:2]] for told in answers]
        assert firsts[0] == firsts[1] == firsts[2]
        assert "In the blue cabinet." in firsts[0]
    finally:
        await second.close()


async def test_a_session_of_the_team_is_known_by_its_name(ours: Machine, other: Machine) -> None:
    talk(ours.hub.store, 30)
    ours.exchange()
    found = (await other.recall("database deploy team", scope=THEME))["results"]
    assert {one["session_id"] for one in found} <= {"one", "two", "three"}
    assert found


async def test_what_is_shared_and_here_is_answered_here(ours: Machine) -> None:
    talk(ours.hub.store, 10)
    ours.exchange()
    assert "team" not in await ours.recall("database")
    assert (await ours.recall("database", team=True))["team"].startswith("not asked: all of it is exchanged")


async def test_what_is_here_stands_and_what_was_erased_here_is_not_told_from_there(
    ours: Machine, other: Machine, database: Database
) -> None:
    file = other.path.parent / "memory-themes.toml"
    file.write_text(SHARED, encoding="utf-8")
    other.hub.store.policies.reload()
    ours.hub.store.turns.add(THEME, "user", "the database is on fire")
    ours.exchange()
    other.exchange()
    file.write_text("", encoding="utf-8")
    other.hub.store.policies.reload()
    ours.hub.store.turns.add(THEME, "user", "the database was put out")
    ours.exchange()
    both = await other.recall("database", scope=THEME, team=True)
    assert sorted(one["content"] for one in both["results"]) == ["the database is on fire", "the database was put out"]
    other.hub.store.turns.erase(THEME)
    left = await other.recall("database", scope=THEME, team=True)
    assert [one["content"] for one in left["results"]] == ["the database was put out"]


async def test_a_secret_is_not_told(ours: Machine, other: Machine) -> None:
    admit_everything(ours.hub.store)
    ours.hub.store.turns.add(THEME, "user", "the key of the database is AKIAIOSFODNN7EXAMPLE")
    ours.hub.store.turns.add(THEME, "user", "the database has a key")
    ours.exchange()
    told = await other.recall("database key", scope=THEME)
    assert [one["content"] for one in told["results"]] == ["the database has a key"]
