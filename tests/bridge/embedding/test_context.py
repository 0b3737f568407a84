"""Context for a message: one text, fenced, within the budget at any size of the memory."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path

import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.embedding.vector_service import VectorService
from hermes_memory_store.context.fence import HEAD
from hermes_memory_store.find.turn_sentences import format_day
from hermes_memory_store.find.vector_file import vector_file_path
from hermes_memory_store.notation.token_count import count_tokens
from tests.bridge.embedding.standin import StandIn
from tests.bridge.embedding.test_meaning import CAR, RAIN, TEA, filled, remember
from tests.bridge.running import Shim, bridge, environment, run_command, until
from tests.bridge.tools.test_more_tools import Desk


async def test_facts_and_turns_come_as_one_fenced_text(ask: Desk, meaning: VectorService) -> None:
    await remember(ask, CAR, TEA, RAIN)
    await ask("memory_turn", role="user", content="I parked\nthe car")
    await filled(meaning, 4)
    await ask("recall_memory", query="automobile")  # may wait for the endpoint; what it knows then costs nothing
    answer = await ask("memory_context", message="automobile")
    now = ask.hub.store.clock()
    day = format_day(now, now)
    assert answer.text == f"{HEAD}\n| {CAR}\n| user, {day}: I parked the car"
    assert (len(answer.data["facts"]), len(answer.data["turns"])) == (1, 1)
    assert answer.data["ranked_by"] == "words and counting"


async def test_nothing_that_answers_is_an_empty_text(ask: Desk) -> None:
    await remember(ask, CAR)
    for message in ("zeppelin", "", "   ", "?"):
        answer = await ask("memory_context", message=message)
        assert (answer.text, answer.data["tokens"]) == ("", 0)


@pytest.mark.parametrize("tokens", [60, 90, 180, 500])
async def test_the_budget_holds(ask: Desk, tokens: int) -> None:
    await remember(
        ask, *(f"V[tea.t{number}]: green tea number {number} " + "of many " * number for number in range(25))
    )
    for number in range(8):
        await ask("memory_turn", role="user", content=f"tea {number} " + "and so on " * 300)
    answer = await ask("memory_context", message="which tea", tokens=tokens)
    assert count_tokens(answer.text) == answer.data["tokens"] <= tokens
    assert answer.data["facts"]


@pytest.mark.parametrize(
    "message",
    ['where is "the car"?', "the car -garage", "type:car before:car the car", "scope:car the car", "car: -- -x"],
)
async def test_a_message_is_plain_language(ask: Desk, message: str) -> None:
    await remember(ask, CAR)
    assert len((await ask("memory_context", message=message)).data["facts"]) == 1


async def test_what_a_host_was_given_is_on_record(ask: Desk) -> None:
    await remember(ask, CAR)
    await ask("memory_context", message="the car")
    await ask.hub.write(lambda store: store.reads.flush())
    rows = ask.hub.store.db.rows("SELECT kind, why, facts FROM injections WHERE kind <> 'status'")
    assert [(kind, why, len(json.loads(facts))) for kind, why, facts in rows] == [("context", "the car", 1)]


@pytest.mark.parametrize("tokens", [0, -5, "many"])
async def test_a_budget_that_is_none_is_refused(ask: Desk, tokens: object) -> None:
    assert "error" in (await ask("memory_context", message="car", tokens=tokens)).data


FACT = "V[family.car]: the car stands in the garage"


def test_a_bridge_recalls_by_meaning_and_says_so(tmp_path: Path, told: StandIn) -> None:
    db = tmp_path / "memory.db"
    with bridge(db) as places:
        shim = Shim(db)
        shim.open()
        shim.call("memory_write", content=FACT)
        until(lambda: "1 of 1" in str((ask_bridge(places, "status") or {}).get("recall")), "the vector")
        answer = shim.call("recall_memory", query="automobile")["result"]["structuredContent"]
        assert [one["content"] for one in answer["results"]] == [FACT]
        assert answer["ranked_by"] == "words and counting"
        said = run_command("embedding", "--db", str(db), **environment(tmp_path)).stdout
        assert said == "recall by words and counting (1 of 1 facts and turns have vectors)\n"
        assert stat.S_IMODE(vector_file_path(db).stat().st_mode) == 0o600
        shim.close()


def test_the_command_tries_what_is_configured_and_keeps_the_key(tmp_path: Path, told: StandIn) -> None:
    def run(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        environ = environment(tmp_path) | {"HERMES_MEMORY_SECRETS": "file"}
        return run_command("embedding", *words, "--db", str(tmp_path / "memory.db"), typed=typed, **environ)

    assert run("key", typed="sk-of-mine-123\n").returncode == 0
    tried = run("test")
    assert tried.returncode == 0, tried.stderr
    assert tried.stdout.startswith("counting: 64 dimensions")
    assert "sk-of-mine-123" not in tried.stdout + tried.stderr
    assert told.keys[-1] == "Bearer sk-of-mine-123"
    assert run("forget-key").returncode == 0
    told.fault = lambda _: (401, {}, json.dumps({"error": "no"}).encode())
    refused = run("test")
    assert (refused.returncode, told.keys[-1]) == (1, None)
    assert "the key is missing or wrong" in refused.stdout
