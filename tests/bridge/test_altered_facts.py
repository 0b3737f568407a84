"""Facts that were changed in the file behind the program's back: no model is given them, and the status says so."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from hermes_memory_store.context.hot_context import read_hot_context
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.store import Store
from tests.bridge.conftest import ask
from tests.empty_store import put_empty_store

FORGED = """
    INSERT INTO facts SELECT id + 10, randomblob(16), {columns} FROM facts WHERE target = 'port' AND tier = 'hot'
"""

TAMPERED = {
    "a content": ("UPDATE facts SET content = 'forged' WHERE target = 'port' AND tier = 'hot'", ["port"]),
    "two contents in each other's place": (
        "UPDATE facts SET content = CASE target WHEN 'port' THEN 'alpha' ELSE '5432' END"
        " WHERE target IN ('port', 'host') AND tier = 'hot'",
        ["port", "host"],
    ),
    "a new row": (None, ["forged"]),
    "a content of another theme": (
        "UPDATE facts SET content = (SELECT content FROM facts WHERE target = 'region') WHERE target = 'host'",
        ["host"],
    ),
    "a former version": ("UPDATE facts SET content = '80' WHERE content = '5432'", ["port"]),
    "its time": ("UPDATE facts SET updated_at = updated_at + 86400000 WHERE target = 'host'", ["host"]),
    "its author": ("UPDATE facts SET actor_id = (SELECT max(id) FROM actors) WHERE target = 'deploy'", ["deploy"]),
    "its scope": (
        "UPDATE facts SET scope_id = (SELECT id FROM scopes WHERE label = 'release') WHERE target = 'host'",
        ["host"],
    ),
    "what no origin has": ("""UPDATE facts SET origin_detail = '{"odd":1}' WHERE target = 'host'""", ["host"]),
    "whose words it is": ("""UPDATE facts SET origin_detail = '{"voice":"said"}' WHERE target = 'host'""", ["host"]),
}


@pytest.fixture
def db(tmp_path: Path) -> Path:
    path = put_empty_store(tmp_path / "memory.db")
    with Store.open(path) as store:
        for line in ("C[deploy]: never on friday", "V[port]: 80", "V[port]: 5432", "V[host]: alpha"):
            store.facts.write("default", line)
        store.facts.write("default", "D[notes]: in markdown", scope="release")
        store.facts.write("other", "V[region]: north")
        store.sessions.open("default", "somebody")
        store.facts.write("default", "?[logs]: where", session=store.sessions.get("default", "somebody"))
    return path


@pytest.fixture
def server(server: StdioServerParameters) -> StdioServerParameters:
    server.args += ["--tools", "all"]
    return server


def tamper(path: Path, sql: str | None) -> None:
    with closing(sqlite3.connect(path)) as conn, conn:
        if sql is None:
            names = [row[1] for row in conn.execute("PRAGMA table_info(facts)")][2:]
            words = {"target": "'forged'", "content": "'send it all'"}
            sql = FORGED.format(columns=", ".join(words.get(name, name) for name in names))
        assert conn.execute(sql).rowcount


async def everything_given(client: Client, path: Path) -> str:
    start = read_hot_context(str(path), "", environ={"HERMES_HOME": str(path.parent)})
    assert start is not None
    texts = [start.text]
    for tool, arguments in (
        ("memory_status", {}),
        ("memory_search", {"query": "port host deploy forged north alpha 5432"}),
        ("memory_reflect", {"topic": "port host deploy forged north alpha 5432"}),
        ("memory_export", {}),
        ("memory_context", {"message": "which port has the host, may I deploy, what of forged?"}),
    ):
        texts.append(await ask(client, tool, **arguments))
    read = await client.read_resource("memory://theme/default")
    return "\n".join([*texts, *(part.text for part in read.contents)])  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", TAMPERED)
async def test_what_is_not_as_it_was_written_is_given_to_no_model(
    server: StdioServerParameters, db: Path, kind: str
) -> None:
    sql, hidden = TAMPERED[kind]
    async with Client(server) as client:
        await ask(client, "memory_status")  # the rules of the notation come once
        before = await everything_given(client, db)
        assert "V[port]: 5432" in before
        assert "behind" not in before
        tamper(db, sql)
        after = await everything_given(client, db)
        for word in hidden:
            assert f"[{word}]" not in after
            assert f"]: {word}" not in after
        assert f"{len(hidden)} left out, not what the journal says was written" in await ask(client, "memory_status")
        with Store.open(db) as store:
            assert all(check.ok for check in examine_store(store, repair=True))
        assert await everything_given(client, db) == before


async def test_a_fact_that_somebody_deleted_is_said_to_be_gone(server: StdioServerParameters, db: Path) -> None:
    async with Client(server) as client:
        tamper(db, "DELETE FROM facts WHERE target = 'deploy'")
        assert "1 gone that nobody purged: hermes-memory-tui doctor" in await ask(client, "memory_status")
        with Store.open(db) as store:
            assert all(check.ok for check in examine_store(store, repair=True))
        status = await ask(client, "memory_status")
        assert "C[deploy]: never on friday" in status
        assert "gone" not in status


async def test_a_fact_asked_for_by_its_uid_is_refused_by_name(server: StdioServerParameters, db: Path) -> None:
    with Store.open(db) as store:
        uid = store.search.find("default", "host").facts[0].uid
    tamper(db, "UPDATE facts SET content = 'forged' WHERE target = 'host'")
    async with Client(server) as client:
        refusal = await ask(client, "memory_history", uid=uid)
        assert "was changed behind the memory's back" in refusal
        assert "doctor --repair" in refusal
        assert "forged" not in refusal
