"""The handshake and the lists are answered before a bridge runs, and are what the bridge would say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.tools import select_tools
from hermes_memory_bridge.wire.early_answers import (
    HANDSHAKE_VERSIONS,
    LISTS,
    MODERN_VERSION,
    SHIPPED_FILE,
    load_shipped_answers,
)
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.model import FactFilter, Rights
from hermes_memory_store.store import Store
from tests.bridge.running import INITIALIZE, INITIALIZED, Shim, bridge, environment, until
from tests.bridge.wire.hosts import call_tool, discover, hear_answer, list_tools, modern, to_line
from tests.processes import PATIENCE_S
from tests.tools.handshakes import render_handshakes

TOOLS = list(select_tools("core"))


def is_served(places: BridgePaths) -> bool:
    return ask_bridge(places, "status") is not None


def test_what_is_shipped_is_what_a_bridge_answers(db: Path) -> None:
    with bridge(db) as places:
        assert Path(SHIPPED_FILE).read_text(encoding="utf-8") == render_handshakes(places), (
            "run `python -m tests.tools.handshakes`"
        )


def test_the_default_list_of_tools_stays_small() -> None:
    for version in (*HANDSHAKE_VERSIONS, MODERN_VERSION):
        answers = load_shipped_answers(version, "core")
        tools = json.loads(answers["tools/list"])["tools"]
        assert len(json.dumps(tools, ensure_ascii=False, separators=(",", ":")).encode()) <= 10_000
        assert [tool["name"] for tool in tools] == TOOLS


def test_a_host_with_a_handshake_is_answered_before_a_bridge_runs_and_alike_afterwards(db: Path) -> None:
    with Shim(db) as shim:
        answer = shim.open()
        assert answer["result"]["protocolVersion"] == "2025-06-18"
        assert answer["result"]["capabilities"]["tools"] == {"listChanged": True}
        assert answer["result"]["serverInfo"]["name"] == "hermes-memory"
        early, _ = hear_answer(shim, shim.request("tools/list"))
        assert [tool["name"] for tool in early["result"]["tools"]] == TOOLS
        assert len(hear_answer(shim, shim.request("prompts/list"))[0]["result"]["prompts"]) == 4
        assert not is_served(BridgePaths.of(db))
        written, before = call_tool(shim, "memory_write", content="D[cache]: redis")
        assert written["result"]["isError"] is False
        assert before == [], "a list that the host did not ask for is not announced"
        late, before = hear_answer(shim, shim.request("tools/list"))
        assert early["result"] == late["result"]
        assert before == []
        assert shim.close() == 0


def test_a_host_of_the_newest_revision_is_answered_before_a_bridge_runs(db: Path) -> None:
    with Shim(db) as shim:
        assert discover(shim)["supportedVersions"] == ["2026-07-28"]
        asked = {"toolsListChanged": True, "promptsListChanged": True}
        shim.say(
            {
                "jsonrpc": "2.0",
                "id": "l",
                "method": "subscriptions/listen",
                "params": {**modern(), "notifications": asked},
            }
        )
        acknowledged = shim.hear()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "l"}
        assert acknowledged["params"]["notifications"] == asked
        assert list_tools(shim, modern()) == TOOLS
        assert not is_served(BridgePaths.of(db))
        params = {**modern(), "name": "memory_write", "arguments": {"content": "D[cache]: redis"}}
        written, before = hear_answer(shim, shim.request("tools/call", params))
        assert written["result"]["structuredContent"]["status"] == "created"
        assert before == []
        assert shim.close() == 0


def test_a_warm_bridge_is_not_waited_for_either(db: Path) -> None:
    with bridge(db) as places:
        process = int(ask_bridge(places, "status")["pid"])  # type: ignore[index]
        os.kill(process, signal.SIGSTOP)
        try:
            with Shim(db) as shim:
                shim.open()
                assert list_tools(shim) == TOOLS
        finally:
            os.kill(process, signal.SIGCONT)


def test_resources_are_the_one_that_is_everywhere_until_the_bridge_says_more_once(db: Path) -> None:
    with Shim(db) as shim:
        shim.open()
        early, _ = hear_answer(shim, shim.request("resources/list"))
        assert [one["uri"] for one in early["result"]["resources"]] == ["memory://status"]
        _, before = call_tool(shim, "memory_status")
        late, between = hear_answer(shim, shim.request("resources/list"))
        # The bridge answers what it was asked in any order: the notice may come before or after either answer.
        notices = [*before, *between] or [shim.hear()]
        assert [one["method"] for one in notices] == ["notifications/resources/list_changed"]
        assert [one["uri"] for one in late["result"]["resources"]] == ["memory://status", "memory://theme/default"]
        places = BridgePaths.of(db)
        os.kill(int(ask_bridge(places, "status")["pid"]), signal.SIGKILL)  # type: ignore[index]
        until(lambda: not is_served(places), "the end of the bridge")
        _, before = call_tool(shim, "memory_status")
        assert [one for one in before if "method" in one] == []


def test_a_host_of_the_newest_revision_hears_of_a_list_on_its_stream(db: Path) -> None:
    with Shim(db) as shim:
        discover(shim)
        wishes = {**modern(), "notifications": {"resourcesListChanged": True}}
        shim.say({"jsonrpc": "2.0", "id": 77, "method": "subscriptions/listen", "params": wishes})
        shim.hear()
        early, _ = hear_answer(shim, shim.request("resources/list", modern()))
        assert [one["uri"] for one in early["result"]["resources"]] == ["memory://status"]
        notice = shim.hear()
        assert notice["method"] == "notifications/resources/list_changed"
        assert notice["params"] == {"_meta": {"io.modelcontextprotocol/subscriptionId": 77}}


@pytest.mark.parametrize("tools", ["memory_search", "none", ""])
def test_a_selection_of_tools_that_is_not_shipped_is_left_to_the_bridge(tools: str) -> None:
    assert load_shipped_answers("2025-06-18", tools) == {}
    assert load_shipped_answers("2025-06-18", "core").keys() == {"initialize", *LISTS}


def test_a_token_waits_for_the_bridge(db: Path) -> None:
    with Store.open(db) as store:
        _, secret = store.credentials.add("ci", "marketing", Rights.parse("read,tool:memory_search"))
    with Shim(db, "--token", secret) as shim:
        shim.open()
        assert list_tools(shim) == ["memory_search"]


def test_a_revoked_token_is_told_in_the_answer_to_the_first_request(db: Path) -> None:
    with Store.open(db) as store:
        _, secret = store.credentials.add("ci", "marketing", Rights.parse("read"))
        store.credentials.revoke("ci")
    with Shim(db, "--token", secret) as shim:
        answer = shim.open()
        assert "unknown, expired or revoked" in answer["error"]["message"]
        assert shim.process.wait(PATIENCE_S) == 1


def test_a_bridge_that_refuses_says_so_in_the_answer_to_the_first_call(db: Path) -> None:
    with Shim(db, "--theme", "???") as shim:
        shim.open()
        assert list_tools(shim) == TOOLS
        for _ in range(2):
            answer, _ = call_tool(shim, "memory_status")
            assert "cannot be a theme" in answer["error"]["message"]
        assert shim.close() == 0


def test_a_bridge_that_dies_during_its_start_fails_the_call_with_the_reason(tmp_path: Path) -> None:
    broken = tmp_path / "memory.db"
    broken.write_bytes(b"this is no database" * 100)
    with Shim(broken) as shim:
        shim.open()
        assert list_tools(shim) == TOOLS
        answer, _ = call_tool(shim, "memory_status")
        assert "not a readable SQLite database" in answer["error"]["message"]
        broken.unlink()
        assert call_tool(shim, "memory_status")[0]["result"]["isError"] is False
        assert shim.close() == 0


def test_after_a_first_message_of_two_megabytes_calls_come_in_the_order_in_which_they_were_made(db: Path) -> None:
    capabilities = {"experimental": {"x": {"y": "z" * 2**21}}}
    with Shim(db) as shim:
        shim.say({**INITIALIZE, "params": {**INITIALIZE["params"], "capabilities": capabilities}})  # type: ignore[dict-item]
        assert shim.hear()["result"]["serverInfo"]["name"] == "hermes-memory"
        shim.say(INITIALIZED)
        numbers = [
            shim.request("tools/call", {"name": "memory_write", "arguments": {"content": f"V[step]: {step}"}})
            for step in range(5)
        ]
        listed, before = hear_answer(shim, shim.request("tools/list"))
        assert len(listed["result"]["tools"]) == len(TOOLS)
        heard = {one["id"] for one in before}
        while len(heard) < len(numbers):
            heard.add(shim.hear()["id"])
        assert "4" in call_tool(shim, "memory_search", query="step")[0]["result"]["content"][0]["text"]
        shim.close()


def test_a_host_that_says_all_at_once_and_closes_the_pipe_is_answered(db: Path) -> None:
    call = {"name": "memory_write", "arguments": {"content": "D[cache]: redis"}}
    said = [
        INITIALIZE,
        INITIALIZED,
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    done = subprocess.run(
        [sys.executable, "-m", "hermes_memory_bridge", "--db", str(db), "--theme", "default"],
        input=b"".join(map(to_line, said)),
        capture_output=True,
        env=environment(db.parent),
        timeout=60,
    )
    heard = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in heard] == [0, 1, 2]
    assert done.returncode == 0
    with Store.open(db) as store:
        assert store.facts.count(FactFilter(theme="default")) == 1


def test_a_host_that_only_looks_and_leaves_starts_no_bridge(db: Path) -> None:
    with Shim(db) as shim:
        shim.open()
        assert list_tools(shim) == TOOLS
        assert shim.close() == 0
    assert not db.exists()


def test_a_host_that_asks_for_nothing_has_its_bridge_all_the_same(db: Path) -> None:
    with Shim(db) as shim:
        shim.open()
        until(lambda: is_served(BridgePaths.of(db)), "the bridge")
        shim.close()


def test_several_shims_that_start_at_once_share_one_bridge(db: Path) -> None:
    shims = [Shim(db) for _ in range(5)]
    try:
        for shim in shims:
            shim.open()
        assert all(list_tools(shim) == TOOLS for shim in shims)
        for number, shim in enumerate(shims):
            call_tool(shim, "memory_write", content=f"V[n.{number}]: {number}")
        status: dict[str, Any] = ask_bridge(BridgePaths.of(db), "status")  # type: ignore[assignment]
        assert status["connections"] == len(shims)
    finally:
        for shim in shims:
            shim.__exit__()


def test_a_revision_nobody_knows_is_left_to_the_bridge(db: Path) -> None:
    with Shim(db) as shim:
        shim.say({**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": "2099-01-01"}})  # type: ignore[dict-item]
        assert shim.hear()["result"]["protocolVersion"] == "2025-11-25"


def test_what_is_no_request_is_left_to_the_bridge(db: Path) -> None:
    with Shim(db) as shim:
        shim.open()
        assert shim.process.stdin is not None
        for line in (
            b"garbage",
            b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
            b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}',
        ):
            shim.process.stdin.write(line + b"\n")
            shim.process.stdin.flush()
            assert "error" in shim.hear()
