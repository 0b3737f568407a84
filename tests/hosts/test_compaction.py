"""What stands in the request after a host has compacted a conversation: hot constraints, and what was decided in it."""

from __future__ import annotations

import pytest

from tests.hosts.conftest import StartHost
from tests.hosts.programs.all_programs import HOST_PROGRAMS
from tests.hosts.programs.claude_program import WINDOW_TOKENS
from tests.hosts.programs.host_program import FILL, HostProgram
from tests.hosts.stand_in_model import Rule

pytestmark = pytest.mark.hosts

RULE = "never store card numbers"

DECIDE = "Decide how we pay out"

OTHERS = 25
"""Facts beside those that are looked for: more than fit into what a session is given."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "conversation" in metafunc.fixturenames:
        metafunc.parametrize("conversation", range(metafunc.config.option.conversations))


def begin_conversation(start_host: StartHost, name: str, number: int) -> tuple[HostProgram, str]:
    """Connect a host whose memory holds more than is given, and have a model that decides something; return the decision."""
    host = start_host(name)
    host.connect()
    others = [f"V[shelf-{shelf}]: row {shelf} of conversation {number}" for shelf in range(OTHERS)]
    host.home.remember(f"C[cards]: {RULE}", *others)
    decision = f"settle every {number + 2} days through the northern bank"
    write = {"content": f"D[payout]: {decision}"}
    host.model.rules += [Rule(DECIDE, text="It is settled.", tool="memory_write", arguments=write)]
    return host, decision


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_constraints_and_decisions_come_back_after_a_compaction(
    start_host: StartHost, name: str, conversation: int
) -> None:
    host, decision = begin_conversation(start_host, name, conversation)

    host.ask("Hello")
    host.ask(DECIDE, resumed=True)
    host.fill_window()
    host.ask("What comes next?", resumed=True)
    if not host.gives_at_compaction:
        host.ask("And then?", resumed=True)
    after = host.request_after_compaction() if host.gives_at_compaction else host.conversation()[-1]

    assert RULE in after.text
    assert decision in after.text
    assert host.request_after_compaction(), "nothing was compacted"


def test_they_come_back_after_an_automatic_compaction_in_one_process(start_host: StartHost, conversation: int) -> None:
    host, decision = begin_conversation(start_host, "claude-code", conversation)
    host.model.rules.append(Rule(FILL, tokens=WINDOW_TOKENS - 5000))

    host.hold_session(["Hello", DECIDE, FILL, "What comes next?"])
    after = host.request_after_compaction()

    assert RULE in after.text
    assert decision in after.text
