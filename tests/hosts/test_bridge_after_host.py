"""A host that ends leaves the bridge that was started for it, also one that was still starting."""

from __future__ import annotations

import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from tests.bridge.running import until
from tests.hosts.conftest import StartHost
from tests.hosts.programs.all_programs import HOST_PROGRAMS
from tests.hosts.stand_in_model import Rule

pytestmark = pytest.mark.hosts


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_a_bridge_started_for_a_host_goes_on_after_it(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.connect()
    host.home.remember("D[cache]: redis")
    host.home.stop_bridge()
    host.model.rules += [Rule("How are you?", text="Well, thank you.")]

    host.ask("How are you?")

    paths = BridgePaths.of(host.home.store)
    until(lambda: ask_bridge(paths, "status"), "the bridge, which may still be starting")
