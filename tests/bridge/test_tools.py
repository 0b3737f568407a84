"""The eight tools through a real client over stdio, in both eras of the protocol, with good and bad input."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from hermes_memory_store.context.fence import parse_fenced_text
from hermes_memory_store.store import Store
from tests.bridge.conftest import ask
from tests.bridge.running import until

MODES = ["auto", "legacy"]

NASTY = [
    "D[x]: a\u202eb",
    "D[x]: nul\x00",
    "D[x]: \x1b[31mred",
    "D[x]: " + "y" * 401,
    "D[x]: " + "z" * 10_000_000,
    "no notation",
    "",
]


BAD_ARGUMENTS: list[tuple[str, dict[str, object], str]] = [
    ("memory_write", {}, "content is required"),
    ("memory_write", {"content": 5}, "content must be a text"),
    ("memory_search", {}, "query is required"),
    ("memory_search", {"query": "x", "limit": "abc"}, "'abc'"),
    ("memory_search", {"query": "x", "limit": -1}, "-1"),
    ("memory_search", {"query": "x", "limit": 1.5}, "1.5"),
    ("memory_search", {"query": "x", "scope": "shcema"}, "did you mean 'schema'"),
    ("memory_export", {"scope": "nowhere"}, "'nowhere'"),
    ("memory_export", {"status": "lukewarm"}, "'lukewarm'"),
    ("memory_purge", {"scope": "shcema"}, "did you mean 'schema'"),
    ("memory_purge", {"older_than_days": -3}, "-3"),
    ("memory_tick", {}, "turn is required"),
    ("memory_tick", {"turn": "next"}, "'next'"),
    ("memory_tick", {"turn": 10**30}, "at most"),
    ("memory_reflect", {"topic": None}, "topic is required"),
    ("memory_optimize", {"threshold_pct": "half"}, "'half'"),
    ("memory_optimize", {"dry_run": "perhaps"}, "'perhaps'"),
    ("memory_status", {"session_id": "s" * 300}, "256"),
]
"""A tool, its arguments, and what must be named in the refusal."""


def facts_in(db: Path) -> list[str]:
    with Store.open(db, read_only=True) as store:
        return [row[0] for row in store.db.rows("SELECT content FROM facts")]


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_is_described_truthfully_and_briefly(server: StdioServerParameters, mode: str) -> None:
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools

    assert len(tools) == 12
    listed = json.dumps(
        [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools], separators=(",", ":"), ensure_ascii=False
    )
    assert len(listed.encode()) <= 10_000
    hints = {tool.name: tool.annotations for tool in tools}
    assert hints["memory_search"].read_only_hint is True  # type: ignore[union-attr]
    assert hints["memory_purge"].destructive_hint is True  # type: ignore[union-attr]
    assert hints["memory_write"].read_only_hint is False  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", MODES)
async def test_a_fact_is_written_found_told_and_exported(server: StdioServerParameters, mode: str) -> None:
    async with Client(server, mode=mode) as client:
        assert (await ask(client, "memory_write", content="C[db.id]: UUID mndtry", scope="schema")).startswith(
            "stored: "
        )
        assert parse_fenced_text(await ask(client, "memory_search", query="mandatory uuid")) == "C[db.id]: UUID mndtry"
        assert "C[db.id]: UUID mndtry" in await ask(client, "memory_status")
        assert "Constraints:" in await ask(client, "memory_reflect", topic="uuid")
        assert parse_fenced_text(await ask(client, "memory_export", scope="schema")) == "C[db.id]: UUID mndtry"


async def test_a_bad_write_is_refused_as_text_and_changes_nothing(server: StdioServerParameters, db: Path) -> None:
    async with Client(server) as client:
        await ask(client, "memory_write", content="D[kept]: as it was")
        for content in NASTY:
            said = await ask(client, "memory_write", content=content, scope="typo-scope")
            assert said.startswith(("[MEMORY WRITE FAILED]", "error:")), content[:20]
            assert len(said) < 1_000
        assert parse_fenced_text(await ask(client, "memory_search", query="kept")) == "D[kept]: as it was"

    assert facts_in(db) == ["as it was"]
    with Store.open(db, read_only=True) as store:
        assert store.scopes.list() == []


async def test_a_bad_argument_is_named_in_a_text(server: StdioServerParameters) -> None:
    async with Client(server) as client:
        await ask(client, "memory_write", content="D[a]: b", scope="schema")
        for tool, arguments, named in BAD_ARGUMENTS:
            assert named in await ask(client, tool, **arguments)
            assert parse_fenced_text(await ask(client, "memory_search", query="b")) == "D[a]: b"


async def test_no_query_is_a_syntax_error(server: StdioServerParameters) -> None:
    async with Client(server) as client:
        await ask(client, "memory_write", content="D[a]: b")
        for query in ('"', "*", "NEAR(", "col:x", "AND OR NOT", "%_", "-", "^a", "\x00", "x" * 100_000, "(((", ""):
            assert "syntax" not in await ask(client, "memory_search", query=query), query[:20]


async def test_a_locked_store_is_said_so_and_does_not_wedge(server: StdioServerParameters, db: Path) -> None:
    async with Client(server) as client:
        await ask(client, "memory_write", content="D[a]: first")
        other = sqlite3.connect(db, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            said = await ask(client, "memory_write", content="D[b]: second")
            assert "locked" in said
            assert "NOT stored" in said
        finally:
            other.execute("ROLLBACK")
            other.close()
        assert (await ask(client, "memory_write", content="D[b]: second")).startswith("stored: ")


async def test_an_agents_purge_spares_what_stands_and_can_be_taken_back(
    server: StdioServerParameters, db: Path
) -> None:
    async with Client(server) as client:
        await ask(client, "memory_write", content="D[a]: old")
        await ask(client, "memory_write", content="D[a]: new")
        assert (await ask(client, "memory_purge")).startswith("purged: 1 fact(s)")
        assert await ask(client, "memory_search", query="tier:all old") == "no results"

    with Store.open(db) as store:
        store.undo.last(1)
        assert [fact.content for fact in store.search.find("default", "old tier:all").facts] == ["old"]


async def test_a_connection_is_a_session_that_ends_with_it(server: StdioServerParameters, db: Path) -> None:
    async with Client(server) as client:
        await ask(client, "memory_write", content="D[a]: b", scope="login")
        await ask(client, "memory_tick", turn=2)
        with Store.open(db, read_only=True) as store:
            (running,) = store.sessions.list()
            assert (running.turn, running.scope, running.ended_at) == (2, "login", None)

    # The shim has said goodbye; the bridge acts on it in a process of its own.
    with Store.open(db, read_only=True) as store:
        until(lambda: store.sessions.list()[0].ended_at, "the end of the session")
        (ended,) = store.sessions.list()
        assert ended.status.value == "closed"
        assert ended.checkpoint is not None


async def test_a_session_named_by_the_agent_keeps_its_own_turns(server: StdioServerParameters, db: Path) -> None:
    async with Client(server) as client:
        await ask(client, "memory_tick", turn=40, session_id="long")
        await ask(client, "memory_write", content="D[a]: b", scope="fresh", session_id="new")
        assert "cooled" not in await ask(client, "memory_tick", turn=41, session_id="long")
