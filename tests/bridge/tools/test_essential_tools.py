"""The tools that a host with hooks of ours is shown: seven, in few bytes, and enough to write facts by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.tools import TOOLS, select_tools
from hermes_memory_store.notation.memory_spec import SYMBOLS
from tests.bridge.running import Shim, bridge
from tests.bridge.wire.hosts import call_tool, hear_answer, modern

ESSENTIAL = {
    *("memory_edit", "memory_export", "memory_purge", "memory_search", "memory_status", "memory_write"),
    "recall_conversation",
}

MOST_BYTES = 3_072


def list_tools(shim: Shim, params: dict[str, Any] | None = None) -> dict[str, Any]:
    answer, _ = hear_answer(shim, shim.request("tools/list", params))
    result: dict[str, Any] = answer["result"]
    return result


def count_bytes(document: object) -> int:
    return len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


@pytest.mark.parametrize("is_warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("is_modern", [False, True], ids=["handshake", "without"])
def test_seven_tools_are_listed_in_few_bytes(db: Path, *, is_warm: bool, is_modern: bool) -> None:
    with Shim(db, "--tools", "essential") as shim:
        if is_modern:
            hear_answer(shim, shim.request("server/discover", modern()))
        else:
            shim.open()
        params = modern() if is_modern else {}
        if is_warm:
            hear_answer(shim, shim.request("tools/call", {**params, "name": "memory_status", "arguments": {}}))
        listed = list_tools(shim, params)

    assert {tool["name"] for tool in listed["tools"]} == ESSENTIAL
    assert count_bytes(listed) <= MOST_BYTES


def test_it_teaches_the_notation_and_what_each_tool_is_for() -> None:
    specs = select_tools("essential")
    written = specs["memory_write"].brief + json.dumps(specs["memory_write"].brief_input_schema, ensure_ascii=False)
    for symbol in SYMBOLS:
        assert f" {symbol} " in written
    assert "TYPE[target]: content" in written
    assert "C[db.id]: UUID mndtry" in written
    for name, spec in specs.items():
        assert spec.brief, name
        assert set(spec.required) <= spec.brief_input_schema["properties"].keys()


def test_hints_by_which_hosts_ask_are_those_of_the_long_list(db: Path) -> None:
    with bridge(db), Shim(db, "--tools", "essential") as brief, Shim(db, "--tools", "all") as whole:
        brief.open()
        whole.open()
        shown = {tool["name"]: tool.get("annotations", {}) for tool in list_tools(brief)["tools"]}
        long = {tool["name"]: tool["annotations"] for tool in list_tools(whole)["tools"]}

    usual = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
    for name, hints in shown.items():
        stated = {**usual, **hints}
        assert stated["readOnlyHint"] == long[name]["readOnlyHint"]
        if not stated["readOnlyHint"]:
            assert stated["destructiveHint"] == long[name]["destructiveHint"]


def test_what_is_not_shown_of_a_tool_works_and_other_tools_do_not_and_are_not_named(served: Path) -> None:
    content = "D[cache]: " + "redis " * 100
    with Shim(served, "--tools", "essential") as shim:
        shim.open()
        written, _ = call_tool(shim, "memory_write", content=content, split=True, session_id="s")
        refused, _ = call_tool(shim, "memory_tick", turn=1)
        text = call_tool(shim, "memory_status")[0]["result"]["content"][0]["text"]

    assert "split: stored as" in written["result"]["content"][0]["text"]
    assert "unknown tool: memory_tick" in refused["result"]["content"][0]["text"]
    assert "NOTATION" in text
    assert [name for name in TOOLS if name in text and name not in ESSENTIAL] == []
