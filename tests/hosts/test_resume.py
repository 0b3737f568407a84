"""What a resumed session is given: what changed, and nothing twice where the host still has what it was given before."""

from __future__ import annotations

import pytest

from tests.hosts.conftest import StartHost
from tests.hosts.programs.all_programs import HOST_PROGRAMS

pytestmark = pytest.mark.hosts

RULE = "never store card numbers"


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_a_resumed_session_has_what_changed_and_what_it_had(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.connect()
    host.home.remember(f"C[cards]: {RULE}")
    host.home.start_bridge()  # without one, what was given is known once the waiting records were read
    first = host.ask("Which colours has the parrot?")[0]
    host.home.remember("C[mail]: send receipts in the evening only")

    resumed = host.ask("And the canary?", resumed=True)[0]

    assert "send receipts in the evening only" in resumed.text
    assert RULE in resumed.text
    if host.keeps_what_hooks_gave:
        assert resumed.text.count(RULE) == first.text.count(RULE)
    assert "Which colours has the parrot?" in resumed.text, "the person's own message is lost"
