"""What `connect` writes is what the released hosts run, and `--check` knows of it."""

from __future__ import annotations

import pytest

from tests.hosts.conftest import StartHost
from tests.hosts.programs.all_programs import HOST_PROGRAMS

pytestmark = pytest.mark.hosts


CALLED = dict.fromkeys(HOST_PROGRAMS, "itself reaches the memory, says") | {
    "codex": "itself called memory_status, theme ",
    "copilot": "itself lists it as enabled, which starts nothing, says",
}
"""How far each host shows without its model that it reaches the memory."""


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_a_check_says_that_hooks_ran_once_they_did(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.connect(capture=True)
    silent = host.home.try_run("hermes-memory-bridge", "connect", name, "--check")
    assert silent.returncode == 1, silent.stdout
    assert "never heard since they were installed" in silent.stdout

    host.ask("Hello")
    asked = len(host.model.requests)

    heard = host.home.try_run("hermes-memory-bridge", "connect", name, "--check")
    assert heard.returncode == 0, heard.stdout
    assert " heard " in heard.stdout
    assert CALLED[name] in heard.stdout
    assert "no model was asked" in heard.stdout
    assert len(host.model.requests) == asked, "a check costs nothing"


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_a_host_runs_as_before_once_it_is_taken_out(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.connect(capture=True)
    host.home.run("hermes-memory-bridge", "connect", "--all", "--remove", "--yes")

    first = host.ask("Hello")[0]

    assert host.memory_tools(first) == set()
    assert not host.home.store.exists()
