"""How often a fact stands in a request, by each kind of giving: once, at a start, a resume, a compaction, in a subagent."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from hermes_memory_bridge.wire.paths import BridgePaths
from tests.hosts.conftest import StartHost
from tests.hosts.host_home import HostHome
from tests.hosts.programs.all_programs import HOST_PROGRAMS
from tests.hosts.protocols.conversation import ModelRequest
from tests.hosts.stand_in_model import Rule

pytestmark = pytest.mark.hosts

RULE = "never store card numbers"
"""Given with every start, and touched by no prompt."""

SHELF = "row 3 of the store"
"""Given with no start, since others are newer, and touched by a prompt."""

DELEGATE, TASK = "Have the bay looked at", "Please explore the harbour"

SUBAGENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "claude-code": ("Agent", {"subagent_type": "general-purpose", "run_in_background": False}),
    "codex": ("spawn_agent", {"message": TASK}),
    "opencode": ("task", {"subagent_type": "general"}),
    "copilot": ("task", {"agent_type": "general-purpose", "name": "harbour"}),
}
"""The tool of each host whose subagents can be given something. Gemini CLI has no event for them, and that of Qwen Code only
fills a place in the prompts of agents that name it."""


@contextmanager
def keep_bridge_away(home: HostHome) -> Iterator[None]:
    """Let no process start a bridge."""
    paths = BridgePaths.of(home.store)
    paths.make_folder()
    with open(paths.starting, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def count_copies(requests: Sequence[ModelRequest], words: str) -> list[int]:
    return [request.whole_text.count(words) for request in requests]


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_no_request_of_a_session_holds_a_fact_twice(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.connect()
    others = [f"C[rule-{number}]: never do {number} things of another kind at once" for number in range(40)]
    host.home.remember(f"V[shelf-3]: {SHELF}", *others, f"C[cards]: {RULE}")
    host.home.stop_bridge()

    host.ask("Hello")
    for _ in range(2):
        host.ask("What is in shelf-3, please?", resumed=True)
    host.fill_window()
    for _ in range(2):
        host.ask("And what is in shelf-3 now?", resumed=True)

    requests = host.conversation()
    assert host.request_after_compaction()
    assert count_copies(requests, RULE)[0] == 1
    assert max(count_copies(requests, RULE)) == 1, count_copies(requests, RULE)
    assert max(count_copies(requests, SHELF)) <= 1, count_copies(requests, SHELF)


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_a_session_that_goes_on_without_a_bridge_holds_no_fact_twice(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.connect()
    host.home.remember(f"C[cards]: {RULE}")
    host.home.stop_bridge()

    with keep_bridge_away(host.home):
        for number in range(3):
            host.ask("Which colours has the parrot?" if not number else "And the canary?", resumed=number > 0)

    assert set(count_copies(host.conversation(), RULE)) == {1}


@pytest.mark.parametrize("name", SUBAGENTS)
def test_a_subagent_is_given_the_facts_once(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.connect()
    host.home.remember(f"C[cards]: {RULE}")
    host.home.start_bridge()
    tool, options = SUBAGENTS[name]
    arguments = options if "message" in options else {"description": "look", "prompt": TASK, **options}
    waiting = Rule(tool="exec_command", arguments={"cmd": "sleep 20"})  # Codex ends with its main agent
    host.model.rules += [Rule(DELEGATE, tool=tool, arguments=arguments, then=waiting)]

    host.ask(DELEGATE)

    of_agent = [request for request in host.model.requests if TASK in request.text and DELEGATE not in request.text]
    assert count_copies(of_agent, RULE)[:1] == [1]
    assert max(count_copies(host.model.requests, RULE)) == 1
