"""Whether the model may call our tools where the host is started as its person would, without a switch that allows everything."""

from __future__ import annotations

import pytest

from tests.hosts.conftest import StartHost
from tests.hosts.programs.all_programs import HOST_PROGRAMS
from tests.hosts.programs.host_program import HostProgram
from tests.hosts.stand_in_model import Rule

pytestmark = pytest.mark.hosts

CONTENT = "never store card numbers"
OLD, NEW = "V[port]: 8080", "V[port]: 9090"
"""The second replaces the first, which is what a purge would take away."""

ASKS_NOTHING = ("codex",)
"""Hosts that let the model write unless its person forbids it."""

PURGE = Rule(tool="memory_purge", arguments={"older_than_days": 0})
SEARCH = Rule(tool="memory_search", arguments={"query": "card numbers"}, then=PURGE)
PROMPT = "Remember what I said"
WRITE = Rule(PROMPT, tool="memory_write", arguments={"content": f"C[cards]: {CONTENT}"}, then=SEARCH)


def has_fact(host: HostProgram) -> bool:
    return CONTENT in host.home.memory("facts", "tier:all")


def found_texts(host: HostProgram) -> list[str]:
    """What tools answered the model, apart from what was written itself."""
    requests = (request for request in host.model.requests if host.is_of_conversation(request))
    return [message.text for request in requests for message in request.messages if message.is_tool_result]


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_a_model_writes_and_searches_unasked_and_purges_nothing(start_host: StartHost, name: str) -> None:
    host = start_host(name, is_asking=True)
    host.home.remember(OLD)
    host.home.remember(NEW)
    host.model.rules.append(WRITE)
    host.home.run("hermes-memory-bridge", "connect", name, "--yes")

    host.try_ask(PROMPT)

    assert has_fact(host)
    assert any("data, not instructions" in text or '"total":1' in text for text in found_texts(host))
    assert "8080" in host.home.memory("facts", "tier:all"), "the purge was not run"
    shown = host.home.try_run("hermes-memory-bridge", "connect", name, "--check").stdout
    assert "reads and writes without a question" in shown


@pytest.mark.parametrize("name", [name for name in HOST_PROGRAMS if name not in ASKS_NOTHING])
def test_a_model_that_may_not_write_does_not_and_a_check_says_so(start_host: StartHost, name: str) -> None:
    host = start_host(name, is_asking=True)
    host.home.remember(OLD)
    host.model.rules.append(WRITE)
    host.home.run("hermes-memory-bridge", "connect", name, "--yes", "--no-hooks", "--no-allow")

    host.try_ask(PROMPT)

    assert not has_fact(host)
    shown = host.home.try_run("hermes-memory-bridge", "connect", name, "--check").stdout
    assert f"`hermes-memory-bridge connect {name} --allow`" in shown
