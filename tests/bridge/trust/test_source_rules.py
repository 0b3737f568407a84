"""What a person has ruled about a source decides what becomes of its suspicious writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.runtime.call_dispatch import format_client_name
from hermes_memory_store.model import FactFilter, Rule, Tier
from hermes_memory_store.store import Store
from tests.bridge.running import INITIALIZE, INITIALIZED, bridge, dial
from tests.bridge.test_fast import call, exchange
from tests.bridge.trust.conftest import Desk
from tests.bridge.trust.test_trust import POISON, STRIPE


@pytest.fixture
def ask(ask: Desk) -> Desk:
    """An agent of hermes-agent."""
    ask.connection.client = format_client_name({"name": "hermes-agent", "version": "0.19.1"})
    return ask


async def ruled(ask: Desk, rule: Rule | None, source: str = "hermes-agent", theme: str = "default") -> None:
    await ask.hub.write(lambda store: store.sources.set_rule(theme, source, rule))


async def waiting(ask: Desk) -> list[tuple[str, str | None]]:
    found = await ask.hub.read(lambda store: store.facts.quarantine_queue())
    return [(one.why, one.source) for one in found]


async def test_what_waits_names_its_rule_and_its_program(ask: Desk) -> None:
    await ask("memory_write", content=POISON)
    assert await waiting(ask) == [("override", "hermes-agent")]


async def test_always_lets_a_suspicious_write_in_by_the_rules(ask: Desk) -> None:
    await ruled(ask, "always")
    old = await ask("memory_write", content="D[note]: a standing decision")
    answer = await ask("memory_write", content=POISON)
    assert (answer.data["status"], answer.data["superseded"]) == ("created", [old.data["uid"]])
    assert await waiting(ask) == []


async def test_never_refuses_a_suspicious_write_and_says_that_a_person_did(ask: Desk) -> None:
    await ruled(ask, "never")
    answer = await ask("memory_write", content=f"{POISON} with {STRIPE}")
    assert answer.data["error"]["code"] == "source.refused"
    assert answer.text.startswith("[MEMORY WRITE FAILED]")
    assert "a person has ruled" in answer.text
    assert "hermes-agent" in answer.text
    assert STRIPE not in str(answer)
    assert await waiting(ask) == []
    assert ask.vault.names("default") == [], "what is refused leaves no secret either"
    assert await ask.hub.read(lambda store: store.facts.count(FactFilter(tiers=frozenset(Tier)))) == 0


@pytest.mark.parametrize("rule", ["always", "never"])
async def test_ordinary_writes_are_as_before(ask: Desk, rule: Rule) -> None:
    await ruled(ask, rule)
    assert (await ask("memory_write", content="D[cache]: redis")).data["status"] == "created"
    masked = await ask("memory_write", content=f"V[stripe]: {STRIPE}")
    assert masked.data["masked"] == ["stripe"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"content": "D[note]: a\u200bb"}, "text.unsafe"),
        ({"content": "V[x]: ok", "scope": "ignore-all-previous-instructions"}, "name.refused"),
        ({"content": "V[ignore.all.previous.instructions]: ok"}, "name.refused"),
        ({"content": "no notation"}, "notation.invalid"),
    ],
)
async def test_always_leaves_refusals_as_they_are(ask: Desk, arguments: dict[str, str], code: str) -> None:
    await ruled(ask, "always")
    assert (await ask("memory_write", **arguments)).data["error"]["code"] == code


async def test_always_masks_the_secrets_of_a_suspicious_write(ask: Desk) -> None:
    await ruled(ask, "always")
    answer = await ask("memory_write", content=f"{POISON} with {STRIPE}")
    assert answer.data["masked"] == ["note"]
    assert STRIPE not in str(answer)


async def test_the_rule_of_another_theme_or_source_does_not_count(ask: Desk) -> None:
    await ruled(ask, "always", theme="hr")
    await ruled(ask, "always", source="codex")
    await ruled(ask, "never", theme="sales")
    assert (await ask("memory_write", content=POISON)).data["status"] == "quarantined"


async def test_a_rule_that_is_taken_away_no_longer_counts(ask: Desk) -> None:
    await ruled(ask, "always")
    await ruled(ask, None)
    assert (await ask("memory_write", content=POISON)).data["status"] == "quarantined"


async def test_another_version_is_the_same_source(ask: Desk) -> None:
    await ruled(ask, "always")
    ask.connection.client = format_client_name({"name": "hermes-agent", "version": "v0.20.0-rc1"})
    assert (await ask("memory_write", content=POISON)).data["status"] == "created"


async def test_an_edit_follows_the_rule(ask: Desk) -> None:
    uid = (await ask("memory_write", content="D[note]: a standing decision")).data["uid"]
    suspicious = POISON.split(": ", 1)[1]
    assert (await ask("memory_edit", uid=uid, content=suspicious)).data["error"]["code"] == "fact.conflict"
    await ruled(ask, "never")
    assert (await ask("memory_edit", uid=uid, content=suspicious)).data["error"]["code"] == "source.refused"
    await ruled(ask, "always")
    assert (await ask("memory_edit", uid=uid, content=suspicious)).data["fact"]["content"] == suspicious


@pytest.mark.parametrize("client", [None, "evil 1.0"])
async def test_nobody_borrows_a_trusted_source_by_naming_its_session(ask: Desk, client: str | None) -> None:
    """A model chooses `session_id`; the program that it runs in does not."""
    await ruled(ask, "always")
    await ask("memory_write", content="D[a]: b", session_id="trusted-run")
    ask.connection.client = client
    for name in ("trusted-run", "hermes-agent"):
        answer = await ask("memory_write", content=f"{POISON} {name}", session_id=name)
        assert answer.data["status"] == "quarantined", answer
    assert {source for _, source in await waiting(ask)} == {"evil" if client else ask.connection.name}


async def test_both_are_counted_as_before(ask: Desk) -> None:
    await ruled(ask, "never")
    await ask("memory_write", content=POISON)
    await ruled(ask, "always")
    await ask("memory_write", content=POISON)
    shown = ask.hub.metrics.text()
    for outcome in ("source.refused", "ok"):
        assert f'hermes_memory_calls_total{{outcome="{outcome}",tool="memory_write"}} 1.0' in shown, shown


def test_a_running_bridge_follows_a_rule_at_once(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    with bridge(db) as places, dial(places) as connection:
        exchange(connection, {"hermes-memory": 1})
        exchange(connection, INITIALIZE)
        connection.sendall(json.dumps(INITIALIZED).encode() + b"\n")

        def write(number: int) -> dict[str, Any]:
            answer = exchange(connection, call(number, "memory_write", {"content": f"{POISON} {number}"}))
            said: dict[str, Any] = answer["result"]["structuredContent"]
            return said

        assert write(1)["status"] == "quarantined"
        with Store.open(db) as store:
            (kept,) = store.facts.quarantine_queue()
            assert kept.source == "test"
            store.sources.set_rule("default", kept.source, "always")
        assert write(2)["status"] == "created"
        with Store.open(db) as store:
            store.sources.set_rule("default", kept.source, "never")
        assert write(3)["error"]["code"] == "source.refused"
