"""What stands in the first request of a session, before the model could have called a tool."""

from __future__ import annotations

import json

import pytest

from tests.hosts.conftest import StartHost
from tests.hosts.programs.all_programs import HOST_PROGRAMS
from tests.hosts.programs.host_program import ESSENTIAL_TOOLS

pytestmark = pytest.mark.hosts

RULE = "never store card numbers"


@pytest.mark.parametrize("name", HOST_PROGRAMS)
@pytest.mark.parametrize("is_warm", [False, True], ids=["cold", "warm"])
def test_hot_facts_and_all_tools_stand_in_the_first_request(start_host: StartHost, name: str, is_warm: bool) -> None:
    host = start_host(name)
    host.connect()
    host.home.remember(f"C[cards]: {RULE}")
    if is_warm:
        host.home.start_bridge()

    first = host.ask("Hello")[0]

    assert RULE in first.text
    assert "memory: 1 fact" not in json.dumps(first.body), "that is for the person alone"
    assert host.memory_tools(first) == ESSENTIAL_TOOLS


@pytest.mark.parametrize("name", [name for name, host in HOST_PROGRAMS.items() if host.reads_instructions])
def test_hot_facts_reach_a_host_that_has_no_hooks_of_ours(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.connect(hooks=False)
    host.home.remember(f"C[cards]: {RULE}")

    first = host.ask("Hello")[0]

    assert RULE in first.whole_text


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_a_session_is_given_its_projects_facts_and_no_others(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.connect()
    host.home.remember(f"C[cards]: {RULE}", folder=host.home.shop)
    host.home.remember("C[roses]: cut them in March", folder=host.home.garden)

    in_shop, in_garden = (host.ask("Hello", folder=folder)[0] for folder in (host.home.shop, host.home.garden))

    assert [RULE in request.text for request in (in_shop, in_garden)] == [True, False]
    assert ["cut them in March" in request.text for request in (in_shop, in_garden)] == [False, True]
