"""What cannot be meant is refused by name, by every tool and for every argument; nothing is written then."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.cli.bridge_commands import run_bridge_command
from hermes_memory_bridge.protocol.error_flags import is_hermes_agent
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_store.model import FactFilter, Rights, Tier
from hermes_memory_store.store import Store
from tests.bridge.access.test_gate import bearer, call, door
from tests.bridge.access.test_host_files import SAID, exchange, profile
from tests.bridge.running import INITIALIZED, Shim, bridge, dial
from tests.bridge.test_command_line import parse_leaf
from tests.bridge.tools.test_more_tools import Desk

HUGE = 10**400

NO_FLAGS: list[Any] = ["", " ", "\t\n", "maybe", "2", 0, 1, 2, 1.0, math.nan, [], {}, [True], HUGE]
NO_NUMBERS: list[Any] = [
    "", " ", "abc", "+-5", "1e3", "0x10", "1_0", "²", "٣", "9" * 30, True, False, 1.5, math.nan, math.inf, [], {},
]  # fmt: skip
NO_TEXTS: list[Any] = [0, 1, 1.5, math.nan, True, False, [], {}, ["a"], HUGE]

SCHEMAS = [(spec.name, name, schema["type"]) for spec in TOOLS.values() for name, schema in spec.arguments.items()]


@pytest.fixture
async def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[StoreWorker]:
    profile(tmp_path)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    made = StoreWorker(tmp_path / "memory.db")
    yield made
    await asyncio.to_thread(made.close)


def good(tool: str) -> dict[str, Any]:
    """Arguments that a tool accepts."""
    values = {
        "content": "D[new]: fact",
        "query": "a",
        "topic": "a",
        "turn": 1,
        "role": "user",
        "message": "a",
        "uid": "x" * 6,
    }
    return {name: values.get(name, "a") for name in TOOLS[tool].required}


@pytest.mark.parametrize(("tool", "name", "kind"), SCHEMAS)
async def test_an_argument_of_another_type_is_refused_and_nothing_is_written(
    hub: StoreWorker, tmp_path: Path, tool: str, name: str, kind: Any
) -> None:
    ask = Desk(hub, rights=Rights(True, True, True, True, True))
    await ask("memory_write", content="D[kept]: as it was")
    file = tmp_path / "memories" / "MEMORY.md"
    before, text = await hub.read(lambda store: store.journal.changes(theme="default")), file.read_bytes()
    for value in NO_FLAGS if kind == "boolean" else NO_TEXTS if kind == "string" else NO_NUMBERS:
        if (name == "threshold_pct" and value == 1.5) or (kind == "array" and value == []):
            continue
        if name == "cites" and isinstance(value, str):
            continue  # the fact is stored, and the answer says what it does not cite
        answer = await ask(tool, **{**good(tool), name: value})
        error = answer.data.get("error", {})
        assert error.get("code") == "argument.invalid", (value, answer.text[:200])
        assert name in error["message"], value
        assert len(answer.text) < 400
        json.dumps(answer.data)
    assert await hub.read(lambda store: store.journal.changes(theme="default")) == before
    assert file.read_bytes() == text


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_blank_session_is_refused_or_of_no_account(hub: StoreWorker, tool: str) -> None:
    answer = await Desk(hub)(tool, **{**good(tool), "session_id": " "})
    assert answer.data.get("error", {}).get("code") != "internal"


@pytest.mark.parametrize("dry_run", [" ", "", "yes please", 1, [True]])
async def test_a_dry_run_that_is_not_understood_is_no_real_one(hub: StoreWorker, tmp_path: Path, dry_run: Any) -> None:
    file = tmp_path / "memories" / "MEMORY.md"
    before = file.read_bytes()
    answer = await Desk(hub)("memory_optimize", threshold_pct=0, dry_run=dry_run)
    assert answer.data["error"]["code"] == "argument.invalid"
    for misspelt in ("dryRun", "dry-run", "dryrun"):
        answer = await Desk(hub)("memory_optimize", **{"threshold_pct": 0, misspelt: True})
        assert misspelt in answer.data["error"]["message"]
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "pct", [True, False, "", " ", "nan", "inf", math.nan, math.inf, -1, 100.5, HUGE, -HUGE, "1" * 400]
)
async def test_a_threshold_that_is_none_is_refused(hub: StoreWorker, tmp_path: Path, pct: Any) -> None:
    before = (tmp_path / "memories" / "MEMORY.md").read_bytes()
    assert (await Desk(hub)("memory_optimize", threshold_pct=pct)).data["error"]["code"] == "argument.invalid"
    assert (tmp_path / "memories" / "MEMORY.md").read_bytes() == before


async def test_what_hermes_memory_accepts_is_accepted(hub: StoreWorker) -> None:
    ask = Desk(hub)
    await ask("memory_write", content="D[a]: b", scope="")
    for tool, arguments in (
        ("memory_search", {"query": "b", "limit": "3"}),
        ("memory_search", {"query": "b", "limit": 500, "scope": None}),
        ("memory_search", {"query": "b", "limit": HUGE}),
        ("memory_tick", {"turn": "2", "message": " "}),
        ("memory_tick", {"turn": 3.0}),
        ("memory_reflect", {"topic": "b", "limit": " 7 "}),
        ("memory_optimize", {"threshold_pct": "99.5", "dry_run": "TRUE", "session_id": "s"}),
        ("memory_purge", {"older_than_days": "30"}),
    ):
        assert "error" not in (await ask(tool, **arguments)).data, (tool, arguments)


@pytest.mark.parametrize("scope", ["", " ", "\t"])
async def test_a_blank_scope_does_not_purge_every_scope(hub: StoreWorker, scope: str) -> None:
    ask = Desk(hub)
    await ask("memory_write", content="D[a]: old")
    await ask("memory_write", content="D[a]: new")
    assert (await ask("memory_purge", scope=scope)).data["error"]["code"] == "argument.invalid"
    superseded = FactFilter(theme="default", tiers=frozenset({Tier.SUPERSEDED}))
    assert await hub.read(lambda store: store.facts.count(superseded)) == 1


@pytest.mark.parametrize("scope", ["*", "%", "_", "***", "12345678", "…", " * ", "ü" * 300])
async def test_a_scope_that_can_be_no_theme_is_an_unknown_one(hub: StoreWorker, scope: str) -> None:
    for rights in (Rights(), Rights(other_themes=True)):
        for tool in ("recall_memory", "recall_conversation"):
            for team in (False, True):
                error = (await Desk(hub, rights=rights)(tool, query="a", scope=scope, team=team)).data["error"]
                assert error["code"] == "theme.unknown"
                assert error["value"]


HINTS = {
    "read": "memory_search memory_status memory_reflect memory_export recall_memory recall_conversation memory_context "
    "memory_history memory_reveal",
    "destructive": "memory_edit memory_archive memory_optimize memory_purge",
    "not idempotent": "memory_write memory_optimize memory_turn memory_tick session_open",
}


def test_the_hints_say_what_the_tools_do(served: Path) -> None:
    with Shim(served, "--tools", "all") as shim:
        shim.open()
        shim.request("tools/list")
        hints = {tool["name"]: tool["annotations"] for tool in shim.hear()["result"]["tools"]}
        shim.close()
    assert hints.keys() == TOOLS.keys()
    assert {name for name, hint in hints.items() if hint["readOnlyHint"]} == set(HINTS["read"].split())
    assert {name for name, hint in hints.items() if hint["destructiveHint"]} == set(HINTS["destructive"].split())
    assert {name for name, hint in hints.items() if not hint["idempotentHint"]} == set(HINTS["not idempotent"].split())
    assert not any(hint["openWorldHint"] for hint in hints.values())


def test_a_hidden_tool_is_unknown_over_every_transport(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with Store.open(db) as store:
        _, secret = store.credentials.add("all", "marketing", Rights())
    with door(db) as made:
        for tcp, headers in ((True, bearer(secret)), (False, {})):
            for tools, tool in (("memory_search", "memory_write"), ("core", "session_open"), (None, "memory_reveal")):
                asked = {**headers, **({"x_hermes_tools": tools} if tools else {})}
                said = made.ask(body=call(tool, content="D[a]: hidden", name="x"), tcp=tcp, **asked)[2]
                assert "tool.unknown" in said
                assert f"unknown tool: {tool}" in said
        for options, hidden in ((("--tools", "memory_search"), "memory_write"), ((), "memory_context")):
            with Shim(db, *options) as shim:
                shim.open()
                for _ in range(2):
                    result = shim.call(hidden, content="D[a]: hidden", message="a")["result"]
                    assert result["structuredContent"]["error"]["code"] == "tool.unknown"
                    assert result["isError"] is True
                shim.close()
    with Store.open(db) as store:
        assert store.facts.count(FactFilter(tiers=frozenset(Tier))) == 0


def greeted_as(name: str, version: str) -> dict[str, Any]:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": version}}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def test_a_refusal_is_an_error_to_everybody_but_hermes_agent(tmp_path: Path) -> None:
    with bridge(tmp_path / "memory.db") as places:
        for name, version, is_error in (
            ("claude-code", "2.1", True),
            ("mcp", "0.1.0", True),
            ("hermes-agentic", "1", True),
            ("hermes-agent", "0.19.0", False),
            ("Hermes Agent", "1", False),
        ):
            with dial(places) as connection:
                exchange(connection, {"hermes-memory": 1})
                exchange(connection, greeted_as(name, version))
                connection.sendall(json.dumps(INITIALIZED).encode() + b"\n")
                for number, (tool, arguments, refused) in enumerate(
                    [
                        ("memory_write", {"content": "no notation"}, True),
                        ("memory_write", {"content": "D[a]: b"}, False),
                        ("memory_search", {}, True),
                        ("nope", {}, True),
                        ("memory_purge", {"scope": "nowhere"}, True),
                        ("memory_purge", {"everything": True}, True),
                    ]
                ):
                    params = {"name": tool, "arguments": arguments}
                    said = exchange(
                        connection, {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
                    )
                    assert said["result"].get("isError", False) is (refused and is_error), (name, tool)


def test_hermes_agent_without_a_name_is_known_by_its_process(tmp_path: Path) -> None:
    program = tmp_path / "hermes"
    program.write_text("import sys\nprint(1, flush=True)\nsys.stdin.read()\n")
    for words, known in (([str(program)], True), (["-c", "import sys; print(1, flush=True); sys.stdin.read()"], False)):
        with subprocess.Popen([sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()  # it runs: before that the system knows no command line
            connection = Connection(None, "default", pid=process.pid)  # type: ignore[arg-type]
            connection.client = "mcp 0.1.0"
            assert is_hermes_agent(connection) is known
            connection.transport = "tcp"
            assert not is_hermes_agent(connection)
            process.communicate()


def test_an_option_before_the_command_is_heeded(tmp_path: Path) -> None:
    db = tmp_path / "other.db"
    with bridge(db) as places:
        for words in (["--db", str(db), "status"], [f"--db={db}", "status", "--json"]):
            done = subprocess.run(
                [sys.executable, "-m", "hermes_memory_bridge", *words], capture_output=True, text=True
            )
            assert places.store in done.stdout, done.stderr
        command = [sys.executable, "-m", "hermes_memory_bridge", "--db", str(db), "stop"]
        assert subprocess.run(command, capture_output=True).returncode == 0


COMMANDS = "serve start restart stop status logs calls install-service uninstall-service connect"
NESTED = "token list, token add x, secret list, sync status, team status"


@pytest.mark.parametrize("words", [*COMMANDS.split(), *NESTED.split(", ")])
def test_every_command_heeds_the_store_named_before_it(words: str) -> None:
    assert parse_leaf(["--db", "one", *words.split()]).params["db"] == "one"
    assert parse_leaf(["--db", "one", *words.split(), "--db", "two"]).params["db"] == "two"
    assert parse_leaf(words.split()).params["db"] is None


@pytest.mark.parametrize("words", ["--theme me stop", "--profile work connect codex", "--tools all status"])
def test_an_option_that_a_command_does_not_take_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_bridge_command(words.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{words.split()[2]} takes no {words.split()[0]} before it" in said.err


def test_numbers_of_a_token_are_of_its_theme_alone(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with Store.open(db) as store:
        store.facts.write("hr", "V[salary]: 1")
        for _ in range(3):
            store.sessions.open("hr")
        _, secret = store.credentials.add("one", "marketing", Rights())
        _, blind = store.credentials.add("blind", "marketing", Rights(read=False))
        _, wide = store.credentials.add("wide", "marketing", Rights(other_themes=True))
    with door(db) as made:
        for _ in range(7):
            made.ask(body=call("memory_search", query=SAID), tcp=False, x_hermes_session_key="hr")
        made.ask(body=call("memory_search", query="x"), **bearer(secret))
        said = made.ask("GET", "/metrics", **bearer(secret))[2]
        assert 'hermes_memory_calls_total{outcome="ok",tool="memory_search"} 1.0' in said
        assert 'hermes_memory_sessions{status="open"} 3.0' not in said
        for name in ("store_bytes", "connections", "waiting_writes", "commit_writes", "refused_requests"):
            assert f"hermes_memory_{name}" not in said
        assert made.ask("GET", "/metrics", **bearer(blind))[0] == 403
        assert "hermes_memory_store_bytes" in made.ask("GET", "/metrics", **bearer(wide))[2]


def test_what_one_client_is_offered_over_http_is_not_what_another_of_the_same_identity_is(tmp_path: Path) -> None:
    """Since 2026-07-28 HTTP has no sessions: two hosts of one token and one name differ in the header alone."""
    db = tmp_path / "memory.db"
    with Store.open(db) as store:
        _, secret = store.credentials.add("both", "marketing", Rights())
    with door(db) as made:
        written = call("memory_write", content="D[a]: b")
        for header, refused in (
            (None, False),
            ("memory_search", True),
            ("all", False),
            ("memory_search,memory_tick", True),
        ):
            asked = {**bearer(secret), **({"x_hermes_tools": header} if header else {})}
            assert ("tool.unknown" in made.ask(body=written, **asked)[2]) is refused, header
