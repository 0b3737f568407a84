"""Limits of the tools' arguments, exactly: what stands on a limit is taken, one step beyond it is refused or clamped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.tool_results import ConsentRequired
from hermes_memory_bridge.tools.write_tool import format_relief
from hermes_memory_store.context.fence import parse_fenced_text
from hermes_memory_store.model import Relief
from tests.bridge.tools.test_more_tools import Desk


@pytest.fixture
async def ask(tmp_path: Path) -> AsyncIterator[Desk]:
    made = StoreWorker(tmp_path / "memory.db")
    yield Desk(made)
    await asyncio.to_thread(made.close)


@pytest.mark.parametrize(
    ("tool", "name", "least", "most"),
    [("session_open", "ttl", 1, 86_400), ("memory_purge", "older_than_days", 0, 36_500)],
)
async def test_a_number_on_its_bounds_is_taken_and_one_beyond_refused(
    ask: Desk, tool: str, name: str, least: int, most: int
) -> None:
    await ask("memory_write", content="D[a]: 1")
    for value in (least, most):
        assert "error" not in (await ask(tool, **{name: value})).data
    for value in (least - 1, most + 1):
        answer = await ask(tool, **{name: value})
        assert answer.data["error"]["code"] == "argument.invalid"
        assert f"from {least} to {most}" in answer.data["error"]["message"]


async def test_a_session_is_leased_for_as_long_as_it_asked_with_heartbeats_to_match(ask: Desk) -> None:
    opened = (await ask("session_open", ttl=50, name="mine")).data
    assert (opened["session_id"], opened["heartbeat_s"], opened["turn"]) == ("mine", 20.0, 0)
    assert (await ask("session_open", name="other")).data["heartbeat_s"] == 10.0
    assert (await ask("session_heartbeat", session_id="mine")).text.startswith("alive")
    assert (await ask("session_close", session_id="mine")).data["status"] == "closed"
    assert (await ask("session_heartbeat", session_id="mine")).text.startswith("closed")
    assert (await ask("session_open", resume="mine")).data["session_id"] == "mine"
    assert "error" in (await ask("session_open", resume="nobody")).data


@pytest.mark.parametrize(
    ("limit", "count"), [(None, 5), (-1, 1), (0, 1), (1, 1), (2, 2), (20, 20), (21, 20), (500, 20)]
)
async def test_recall_gives_as_many_as_asked_for_from_1_to_20(ask: Desk, limit: int | None, count: int) -> None:
    for number in range(22):
        await ask("memory_write", content=f"D[cache.n{number}]: redis {number}")
    arguments: dict[str, Any] = {} if limit is None else {"limit": limit}
    answer = await ask("recall_memory", query="redis", **arguments)
    assert answer.data["count"] == len(json.loads(parse_fenced_text(answer.text))["results"]) == count


async def test_a_purge_of_everything_asks_first_and_names_what_would_go(ask: Desk) -> None:
    await ask("memory_write", content="D[a]: 1", scope="s")
    await ask("memory_write", content="D[a]: 2", scope="s")
    await ask("memory_write", content="D[b]: 1", scope="t")

    assert (await ask("memory_purge", scope="t")).data["purged"].get("hot", 0) == 0, "what stands stays"
    with pytest.raises(ConsentRequired, match=r"scope 's': 1 hot, 1 superseded"):
        await ask("memory_purge", scope="s", everything=True)
    with pytest.raises(ConsentRequired, match=r"all of theme 'default': 2 hot, 1 superseded"):
        await ask("memory_purge", everything=True, confirm=False)
    assert (await ask("memory_purge", scope="s")).text.startswith("purged: 1 fact(s)\ngauge: ")
    done = await ask("memory_purge", scope="s", everything=True, confirm=True)
    assert done.data["purged"]["hot"] == 1
    assert "D[b]" in (await ask("memory_status")).text


async def test_what_is_close_under_another_target_is_told_at_the_write(ask: Desk) -> None:
    first = await ask("memory_write", content="D[cache]: redis")
    close = await ask("memory_write", content="D[caching]: redis 7")
    assert "close to" not in first.text
    assert f"close to D[cache] {first.data['uid'][-8:]}; supersede it?" in close.text.splitlines()
    assert close.data["near"] == [{"uid": first.data["uid"], "notation": "D[cache]: redis"}]
    assert (await ask("memory_write", content="D[queue]: redis")).data["near"] == []


async def test_a_repeated_write_and_a_replaced_one_are_told_apart(ask: Desk) -> None:
    first = await ask("memory_write", content="D[a]: 1")
    again = await ask("memory_write", content="D[a]: 1")
    other = await ask("memory_write", content="D[a]: 2")
    assert [one.data["status"] for one in (first, again, other)] == ["created", "deduplicated", "created"]
    assert again.data["uid"] == first.data["uid"]
    assert other.data["superseded"] == [first.data["uid"]]
    assert "superseded: " in other.text
    assert "superseded: " not in first.text + again.text
    assert "split" not in first.text
    parts = await ask("memory_write", content="D[long]: " + "word " * 150, split=True)
    assert f"split: stored as {len(parts.data['parts'])} facts" in parts.text
    assert len(parts.data["parts"]) >= 2
    assert (await ask("memory_write", content="D[long]: " + "word " * 150)).data["error"]


async def test_an_answer_warns_from_80_percent_on(ask: Desk) -> None:
    warned: dict[bool, list[float]] = {True: [], False: []}
    for number in range(400):
        answer = await ask("memory_write", content=f"C[n{number}]: {'x' * 380}", scope="s")
        gauge = answer.data["gauge"]
        warned["[MEMORY WARNING]" in answer.text].append(gauge["pct"])
        if gauge["pct"] > 84:
            break
    assert max(warned[False]) < 80 <= min(warned[True])


@pytest.mark.parametrize(
    ("relief", "said"),
    [
        (Relief(), ""),
        (Relief(merged=1), "merged 1 duplicate(s)"),
        (Relief(cooled=2), "pushed 2 oldest fact(s) to cold (no LLM)"),
        (
            Relief(1, 2, 3),
            "merged 1 duplicate(s), archived 3 cold-scope fact(s), pushed 2 oldest fact(s) to cold (no LLM)",
        ),
    ],
)
def test_what_relief_did_is_said_in_hermes_memorys_words(relief: Relief, said: str) -> None:
    assert format_relief(relief) == said
