"""What a host can read besides calling tools, through a real client on a real bridge, in both eras."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import warnings
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import PromptReference, ResourceTemplateReference

from hermes_memory_store.store import Store
from tests.bridge.conftest import ask
from tests.bridge.running import INITIALIZE, INITIALIZED, PATIENCE_S, bridge, dial

pytestmark = pytest.mark.usefixtures("served")

ERAS = ["legacy", "auto"]


def agent(db: Path, mode: str, theme: str = "default", **more: Any) -> Client:
    """A host's client."""
    env = {"HOME": str(db.parent), "HERMES_HOME": str(db.parent), "HERMES_MEMORY_LINGER": "0.1"}
    command = ["-m", "hermes_memory_bridge", "--db", str(db), "--theme", theme]
    server = StdioServerParameters(command=sys.executable, args=command, env=env)
    return Client(stdio_client(server, sys.stderr), mode=mode, **more)


def text_of(result: Any) -> str:
    """The text of a resource."""
    return str(result.contents[0].text)


@pytest.mark.parametrize("mode", ERAS)
async def test_status_theme_scope_and_fact_are_listed_and_read(db: Path, mode: str) -> None:
    async with agent(db, mode) as client:
        await ask(client, "memory_write", content="D[cache]: redis", scope="speed / 1")
        listed = {str(one.uri) for one in (await client.list_resources()).resources}
        assert listed == {"memory://status", "memory://theme/default", "memory://scope/default/speed%20%2F%201"}
        assert {one.uri_template for one in (await client.list_resource_templates()).resource_templates} == {
            "memory://theme/{theme}",
            "memory://scope/{theme}/{scope}",
            "memory://fact/{uid}",
            "memory://distil/{after}",
        }
        for uri in listed:
            said = text_of(await client.read_resource(uri))
            assert "| D[cache]: redis" in said, uri
            assert all(line.startswith("| ") for line in said.splitlines()[1:]), uri
        with Store.open(db) as store:
            (fact,) = store.search.find("default", "redis").facts
        assert "D[cache]: redis" in text_of(await client.read_resource(f"memory://fact/{fact.uid}"))


@pytest.mark.parametrize("mode", ERAS)
async def test_another_theme_answers_like_what_does_not_exist(db: Path, mode: str) -> None:
    with Store.open(db) as store:
        uid = store.facts.write("secret", "D[plan]: hidden", scope="launch").fact.uid
    async with agent(db, mode) as client:
        pairs = [
            ("memory://theme/secret", "memory://theme/nobody"),
            ("memory://scope/secret/launch", "memory://scope/nobody/launch"),
            (f"memory://fact/{uid}", "memory://fact/01990000-0000-7000-8000-000000000000"),
        ]
        for theirs, nobodys in pairs:
            errors = []
            for uri in (theirs, nobodys):
                with pytest.raises(mcp.MCPError) as caught:
                    await client.read_resource(uri)
                errors.append((caught.value.error.code, caught.value.error.message.replace(uri, "")))
            assert errors[0] == errors[1]
        assert "secret" not in str(await client.list_resources())


@pytest.mark.parametrize("uri", ["memory://nothing", "memory://fact/zz", "memory://scope/default/%ff", "file:///etc"])
async def test_an_address_of_nothing_is_an_error_that_names_it(db: Path, uri: str) -> None:
    async with agent(db, "legacy") as client:
        with pytest.raises(mcp.MCPError, match="there is no"):
            await client.read_resource(uri)


@pytest.mark.parametrize("mode", ERAS)
async def test_prompts_bring_fenced_memory(db: Path, mode: str) -> None:
    async with agent(db, mode) as client:
        await ask(client, "memory_write", content="D[cache]: redis", scope="speed")
        names = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert names == {"memory", "review_scope", "decided", "distil"}
        for name, arguments in (("memory", {}), ("review_scope", {"scope": "speed"}), ("decided", {"topic": "cache"})):
            prompt = await client.get_prompt(name, arguments)
            assert "| D[cache]: redis" in prompt.messages[0].content.text  # type: ignore[union-attr]
        with pytest.raises(mcp.MCPError, match="there is no"):
            await client.get_prompt("nothing", {})
        with pytest.raises(mcp.MCPError, match="spead"):
            await client.get_prompt("review_scope", {"scope": "spead"})


@pytest.mark.parametrize("mode", ERAS)
async def test_scopes_and_targets_are_completed_within_the_theme(db: Path, mode: str) -> None:
    with Store.open(db) as store:
        store.facts.write("secret", "D[db.hidden]: x", scope="spare")
    async with agent(db, mode) as client:
        await ask(client, "memory_write", content="D[db.id]: uuid", scope="speed")
        await ask(client, "memory_write", content="C[db.pool]: 5", scope="auth")
        scope = PromptReference(type="ref/prompt", name="review_scope")
        assert (await client.complete(scope, {"name": "scope", "value": "sp"})).completion.values == ["speed"]
        topic = PromptReference(type="ref/prompt", name="decided")
        targets = (await client.complete(topic, {"name": "topic", "value": "db."})).completion.values
        assert targets == ["db.id", "db.pool"]
        template = ResourceTemplateReference(type="ref/resource", uri="memory://theme/{theme}")
        assert (await client.complete(template, {"name": "theme", "value": ""})).completion.values == ["default"]


async def test_a_listener_hears_of_what_another_process_changed_and_of_no_other_theme(db: Path) -> None:
    async with agent(db, "auto") as client:
        await ask(client, "memory_write", content="D[cache]: redis", scope="speed")
        wanted = ["memory://status", "memory://scope/default/speed", "memory://scope/default/new"]
        async with client.listen(resources_list_changed=True, resource_subscriptions=wanted) as events:
            with Store.open(db) as store:
                store.facts.write("secret", "D[plan]: hidden", scope="new")
                store.facts.write("default", "D[queue]: kafka", scope="new")
            heard: set[str] = set()
            async with asyncio.timeout(PATIENCE_S):
                async for event in events:
                    heard.add(str(getattr(event, "uri", type(event).__name__)))
                    if "memory://scope/default/new" in heard and "ResourcesListChanged" in heard:
                        break
            assert not any("secret" in uri for uri in heard)


async def test_a_subscriber_of_the_handshake_era_hears_of_it_too(db: Path) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def note(message: Any) -> None:
        method = getattr(message, "method", None)
        if method == "notifications/resources/updated":
            await heard.put(str(message.params.uri))
        elif method == "notifications/resources/list_changed":
            await heard.put("list")

    async with agent(db, "legacy", message_handler=note) as client:
        await ask(client, "memory_status")
        await client.list_resources()
        with warnings.catch_warnings(action="ignore"):  # deprecated since 2026-07-28, and still what old clients say
            await client.session.subscribe_resource("memory://status")
        with Store.open(db) as store:
            store.facts.write("default", "D[queue]: kafka", scope="new")
        async with asyncio.timeout(PATIENCE_S):
            assert {await heard.get(), await heard.get()} == {"memory://status", "list"}


SUBSCRIBE = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "memory://status"}}


def say(connection: socket.socket, *messages: dict[str, object]) -> None:
    connection.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in messages))


def test_a_subscriber_that_never_reads_delays_no_notice_to_the_others(db: Path) -> None:
    many = [{"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": {}} for number in range(2, 200)]
    with Store.open(db) as store, bridge(db) as places, dial(places) as deaf, dial(places) as reading:
        heard = reading.makefile("rb")
        for connection in (deaf, reading):
            say(connection, {"hermes-memory": 1}, INITIALIZE, INITIALIZED, SUBSCRIBE)
        while json.loads(heard.readline()).get("id") != SUBSCRIBE["id"]:
            continue
        say(deaf, *many)  # far more than the system keeps for who does not read
        for number in range(3):
            store.facts.write("default", f"V[size]: {number}")
            while b"notifications/resources/updated" not in heard.readline():
                continue
