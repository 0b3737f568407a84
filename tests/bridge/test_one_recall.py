"""The same question through every way in finds the same facts in the same order: tools over MCP, hooks, the command line, the
inspector. (The provider's is in `provider/test_recall_order.py`.)"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_store.context.fence import parse_fenced_text
from hermes_memory_store.context.given import Given
from hermes_memory_store.model import Origin
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.command_runner import run_command_line
from tests.bridge.hook_service.hook_line import send_event
from tests.bridge.hook_service.prompt_set import FACTS
from tests.bridge.running import Shim, bridge, environment
from tests.tui.inspector.driving import inspecting, shown_facts, type_text, until

SAID = {
    "C[db.migrations]: never edited once released, forward only": "Once a migration is out nobody touches that column again.",
    "V[deploy.rollback]: fly releases rollback, takes 40 s": "When the release breaks on staging, roll back within a minute.",
}
"""What was said just before a fact was written: it finds the fact, too."""

QUESTIONS = (
    "which port does the staging database listen on?",
    "may I change a column of a released migration?",
    "what happens to payments when the webhook of Stripe breaks?",
    "staging",
    "tests database",
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    db = tmp_path_factory.mktemp("shop") / "memory.db"
    with Store.open(db) as store:
        session = store.sessions.open("default", "planning")
        for line in FACTS:
            if line in SAID:
                turn = store.turns.add("default", "user", SAID[line], session=session)
                with store.attribute(Origin(turns=(turn.uid,))):
                    store.facts.write("default", line)
            else:
                store.facts.write("default", line)
    return db


@pytest.fixture(scope="module")
def shim(shop: Path) -> Iterator[Shim]:
    with bridge(shop), Shim(shop, "--tools", "all") as shim:
        shim.open()
        yield shim


def rank(shop: Path, question: str, limit: int = 20) -> list[str]:
    with Store.open(shop, read_only=True) as store:
        items = store.recall.rank(["default"], question, kinds=("fact",), limit=limit).items
    return [item.line for item in items]


def give(shop: Path, question: str, budget: int) -> Given:
    with Store.open(shop, read_only=True) as store:
        return store.recall.give(["default"], question, budget)


def call(shim: Shim, tool: str, **arguments: Any) -> dict[str, Any]:
    result = shim.call(tool, **arguments)["result"]
    assert not result.get("isError"), result
    content: dict[str, Any] = result["structuredContent"]
    assert content["ranked_by"] == "words only"
    return content


def is_subsequence(some: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(one in rest for one in some)


@pytest.mark.parametrize("question", QUESTIONS)
def test_tools_over_mcp_find_the_same_facts_in_one_order(shop: Path, shim: Shim, question: str) -> None:
    expected = rank(shop, question)
    assert expected
    searched = call(shim, "memory_search", query=question, limit=20)
    assert [fact["notation"] for fact in searched["facts"]] == expected
    recalled = call(shim, "recall_memory", query=question, limit=20)
    assert [fact["content"] for fact in recalled["results"]] == expected
    assert {fact["notation"] for fact in call(shim, "memory_reflect", topic=question)["facts"]} == set(expected)
    asked = shim.request("prompts/get", {"name": "decided", "arguments": {"topic": question}})
    answer = shim.hear()
    assert answer["id"] == asked
    text = answer["result"]["messages"][0]["content"]["text"]
    brought = [line[2:].rpartition(" [")[0] for line in text.splitlines() if line.startswith("| ")]
    assert brought[: len(expected)] == expected


@pytest.mark.parametrize("tokens", [90, 180, 1_000])
@pytest.mark.parametrize("question", QUESTIONS)
def test_what_a_host_adds_to_a_message_is_what_the_library_gives(
    shop: Path, shim: Shim, question: str, tokens: int
) -> None:
    context = call(shim, "memory_context", message=question, tokens=tokens)
    given = give(shop, question.replace("?", "? "), tokens)
    assert [one["uid"] for one in context["lines"]] == [item.uid for item in given.items]
    assert context["tokens"] <= tokens
    assert set(context["reasons"]) <= {item.uid for item in given.items}


def test_prompts_are_given_the_facts_that_they_touch_in_that_order(shop: Path) -> None:
    prompt = "the migrations of the staging db, its port, the deploy target and the queue of payments"
    with bridge(shop) as places:
        started = parse_fenced_text(send_event(places, "start", source="startup")).splitlines()
        text = send_event(places, "prompt", text=prompt, turn="1")
    touched = [line for line in parse_fenced_text(text).splitlines() if line in FACTS]
    assert len(touched) > 1
    assert not set(touched) & set(started)
    assert is_subsequence(touched, rank(shop, prompt, 80))


@pytest.mark.parametrize("command", ["search", "facts"])
def test_the_command_line_prints_that_order(
    shop: Path, command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(shop.parent)
    for name, value in environment(shop.parent).items():
        monkeypatch.setenv(name, value)
    for question in QUESTIONS[:2]:
        assert run_command_line([command, "--db", str(shop), "--json", *question.split()]) == 0
        document = json.loads(capfd.readouterr().out)
        assert document["ranked_by"] == "words only"
        found = [f"{fact['notation']}" for fact in document["facts"]]
        assert found == rank(shop, question, 50)[: len(found)]
        assert found


async def test_the_inspectors_filter_shows_that_order(shop: Path) -> None:
    async with inspecting(shop) as pilot:
        for question in (QUESTIONS[0], QUESTIONS[3]):
            expected = rank(shop, question)
            await pilot.press("slash", "ctrl+u")
            await type_text(pilot, question)
            await until(
                pilot,
                lambda expected=expected: [fact.notation for fact in shown_facts(pilot)][: len(expected)] == expected,
                f"the order for {question}",
            )
