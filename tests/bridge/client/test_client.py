"""`MemoryClient`, sync and async, on a real bridge: nothing twice, nothing lost, and errors by their codes."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hermes_memory_bridge
from hermes_memory_bridge.client import AsyncMemoryClient, MemoryClient, RetryPolicy, SessionConfig
from hermes_memory_bridge.client.client_log import ClientTransactionLog
from hermes_memory_bridge.client.mcp_messages import BridgeAddress, BridgeUnreachable
from hermes_memory_bridge.client.memory_client import BaseClient, load_reading_tools
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_store.context.fence import parse_fenced_text
from hermes_memory_store.errors import ArgumentError, NotationError, StoreError, UnknownScope
from hermes_memory_store.model import SessionStatus
from hermes_memory_store.store import Store
from tests.bridge.running import bridge, until


def endpoint(places: Any) -> str:
    """The socket of a bridge as the sidecar's clients write it."""
    return f"unix://{places.http}"


def test_a_worker_writes_finds_and_ends_its_session(db: Path) -> None:
    with bridge(db) as places:
        with MemoryClient(endpoint(places), theme="Mark Eting") as memory:
            written = memory.write("D[cache]: redis", scope="speed")
            assert written.data["status"] == "created"
            assert parse_fenced_text(memory.search("redis").text) == "D[cache]: redis"
            assert memory.status().data["theme"] == "mark-eting"
            assert memory.edit(written.data["uid"], "valkey").data["fact"]["content"] == "valkey"
            assert len(memory.history(written.data["uid"]).data["changes"]) == 2
            memory.turn("user", "what did we say about valkey")
            assert memory.recall_conversation("valkey", scope="session").data["count"] == 1
            assert memory.recall("valkey").data["count"] == 1
            assert memory.tick(1).data["turn"] == 1
            assert memory.close_scope("speed").data["scope"] == "speed"
            session = memory.session_id
        with Store.open(db) as store:
            ended = store.sessions.get("mark-eting", str(session))
            assert ended.status is SessionStatus.CLOSED
            assert ended.lease_ms == 25_000


async def test_an_async_worker_does_the_same(db: Path) -> None:
    with bridge(db) as places:
        async with AsyncMemoryClient(endpoint(places)) as memory:
            await asyncio.gather(*(memory.write(f"V[k{number}]: {number}") for number in range(8)))
            assert len((await memory.export()).data["lines"]) == 8


def test_a_refusal_is_the_error_of_its_code(db: Path) -> None:
    with bridge(db) as places, MemoryClient(endpoint(places)) as memory:
        with pytest.raises(NotationError) as caught:
            memory.write("no notation")
        assert caught.value.code == "notation.invalid"
        memory.write("D[a]: b", scope="speed")
        with pytest.raises(UnknownScope, match="speed"):
            memory.search("a", scope="spead")
        with pytest.raises(StoreError) as unknown:
            memory.call_tool("no_such_tool")
        assert unknown.value.code == "tool.unknown"


def test_a_session_is_resumed_at_its_checkpoint(db: Path) -> None:
    with bridge(db) as places:
        with MemoryClient(endpoint(places)) as memory:
            memory.write("D[a]: b", scope="work")
            memory.tick(4)
            session = memory.session_id
        with MemoryClient(endpoint(places), session_id=session) as again:
            assert again.checkpoint is not None
            assert (again.checkpoint["turn"], again.checkpoint["scope"]) == (4, "work")


def test_heartbeats_keep_a_quiet_session_alive(db: Path) -> None:
    with bridge(db, "--heartbeat", "0.2", "--timeout", "0.5") as places, Store.open(db) as store:
        config = {"heartbeat_interval_s": 0.2, "heartbeat_timeout_s": 1}
        with MemoryClient(endpoint(places), session_config=config) as memory:
            first = store.sessions.get("default", str(memory.session_id)).heartbeat_at
            until(
                lambda: store.sessions.get("default", str(memory.session_id)).heartbeat_at > first + 1_500,
                "heartbeats beyond one lease",
            )
            assert store.sessions.get("default", str(memory.session_id)).status is not SessionStatus.ORPHANED


def test_a_bridge_that_restarts_costs_a_retry_and_stores_nothing_twice(db: Path) -> None:
    policy = {"max_retries": 5, "base_delay_ms": 300}
    with bridge(db) as places:
        memory = MemoryClient(endpoint(places), retry_policy=policy).open()
        memory.turn("user", "before")
    with bridge(db):
        memory.turn("user", "after")
        memory.close()
    with Store.open(db) as store:
        assert sorted(turn.content for turn in store.turns.list("default")) == ["after", "before"]


def test_what_was_never_acknowledged_is_sent_again_and_stored_once(db: Path, tmp_path: Path) -> None:
    path = tmp_path / "tx.jsonl"
    log = ClientTransactionLog(path)
    log.note_request("k1", "memory_turn", {"role": "user", "content": "lost answer"})
    log.note_request("k2", "memory_turn", {"role": "user", "content": "never sent"})
    log.close()
    with path.open("a") as file:
        file.write('{"key": "k3", "state": "se')  # cut off when the worker died
    with bridge(db) as places:
        for _ in range(2):
            with MemoryClient(endpoint(places), transaction_log=path) as memory:
                memory.turn("user", "new")
        with Store.open(db) as store:
            contents = sorted(turn.content for turn in store.turns.list("default"))
    assert contents == ["lost answer", "never sent", "new", "new"]
    states = [json.loads(line)["state"] for line in path.read_text().splitlines() if line.endswith("}")]
    assert states.count("sent") == 6
    assert states.count("done") == 4
    assert os.stat(path).st_mode & 0o077 == 0


def test_a_bridge_that_is_not_there_is_named(tmp_path: Path) -> None:
    policy = RetryPolicy(max_retries=1, base_delay_ms=1)
    with pytest.raises(BridgeUnreachable, match=r"no\.sock"):
        MemoryClient(f"unix://{tmp_path}/no.sock", retry_policy=policy).open()


class Recorder(BaseClient[tuple[str, dict[str, Any]]]):
    """A client that returns what it would call."""

    def call_tool(self, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        return tool, arguments


METHODS = [
    name
    for name, method in vars(BaseClient).items()
    if inspect.isfunction(method) and not name.startswith(("_", "call"))
]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_takes_the_arguments_that_its_tool_declares(name: str) -> None:
    parameters = inspect.signature(getattr(BaseClient, name)).parameters.values()
    plain = [one for one in parameters if one.name != "self" and one.kind is not one.VAR_KEYWORD]
    tool, arguments = getattr(Recorder("http://localhost"), name)(
        **{one.name: one.name for one in plain}, **({"everything": True, "confirm": True} if name == "purge" else {})
    )
    assert arguments.keys() <= TOOLS[tool].arguments.keys()
    assert [one.name for one in plain if one.default is one.empty] == list(TOOLS[tool].required)


def test_a_tool_that_changes_nothing_is_called_without_a_key() -> None:
    assert load_reading_tools() == {name for name, spec in TOOLS.items() if spec.reads_only}


def test_importing_the_client_costs_no_sdk() -> None:
    probe = "import sys; import hermes_memory_bridge.client; assert not {'mcp', 'textual'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", probe], check=True)
    assert hermes_memory_bridge.MemoryClient is MemoryClient
    with pytest.raises(AttributeError):
        hermes_memory_bridge.nothing  # noqa: B018


@pytest.mark.parametrize("name", ["timeout_action", "on_orhpan"])
def test_old_names_of_settings_count_with_a_warning(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=name):
        assert SessionConfig.parse({name: "abort_quietly"}).on_orphan == "abort_quietly"
    with pytest.warns(DeprecationWarning, match="timeout_ms"):
        assert SessionConfig.parse({"timeout_ms": 5_000}).heartbeat_timeout_s == 5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"session_config": {"heartbeat_interval_s": -1}}, "heartbeat_interval_s"),
        ({"session_config": {"heartbeat_interval_s": 30}}, "longer"),
        ({"session_config": {"on_orphan": "explode"}}, "explode"),
        ({"session_config": {"nothing": 1}}, "nothing"),
        ({"retry_policy": {"max_retries": "three"}}, "max_retries"),
        ({"retry_policy": {"nothing": 1}}, "nothing"),
        ({"endpoint": "ftp://x"}, "ftp"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        MemoryClient(**given)


def test_more_than_five_retries_are_five() -> None:
    with pytest.warns(UserWarning, match="at most 5"):
        assert RetryPolicy.parse({"max_retries": 50}).max_retries == 5


@given(session=st.text(max_size=20), call=st.integers(0, 10**6), retries=st.integers(0, 5))
def test_pauses_grow_stay_below_the_cap_and_are_the_sessions_own(session: str, call: int, retries: int) -> None:
    policy = RetryPolicy(max_retries=retries)
    pauses = list(policy.pauses(session, call))
    assert len(pauses) == retries
    assert pauses == list(policy.pauses(session, call))
    for attempt, pause in enumerate(pauses):
        assert 0.75 * min(0.2 * 2**attempt, 30) <= pause <= min(0.2 * 2**attempt * 1.25, 30)


def test_endpoints_are_read_as_they_are_written() -> None:
    assert BridgeAddress.parse("unix:///var/run/mem.sock") == BridgeAddress("http://localhost/mcp", "/var/run/mem.sock")
    assert BridgeAddress.parse("http://127.0.0.1:8765") == BridgeAddress("http://127.0.0.1:8765/mcp")
