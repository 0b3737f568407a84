"""A host in a fresh home with the stand-in model; a host that cannot be installed is skipped with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.hosts.host_home import HostHome
from tests.hosts.installation import PACKAGES, find_version, hosts_folder, install_hosts
from tests.hosts.programs.all_programs import HOST_PROGRAMS
from tests.hosts.programs.host_program import HostProgram
from tests.hosts.stand_in_model import StandInModel
from tests.hosts.tree_programs import make_tree_programs


class StartHost(Protocol):
    """Starts nothing yet: gives a host a home, and the model it asks."""

    def __call__(self, name: str, *, is_asking: bool = False) -> HostProgram:
        """:param is_asking: whether it is started without any switch that allows everything"""


@pytest.fixture
def start_host(tmp_path: Path) -> Iterator[StartHost]:
    """Give a host a home and a model; afterwards its bridge has stopped."""
    with ExitStack() as stack:

        def start(name: str, *, is_asking: bool = False) -> HostProgram:
            installed = install_hosts([name])
            if installed.why_missing(name):
                pytest.skip(installed.why_missing(name))
            home = HostHome(
                tmp_path / name, make_tree_programs(tmp_path / "programs"), tuple(installed.program_folders)
            ).make()
            model = stack.enter_context(StandInModel(record=tmp_path / f"{name}.jsonl"))
            program = HOST_PROGRAMS[name](home, model, is_asking=is_asking)
            program.prepare()
            stack.callback(home.stop_bridge)
            return program

        yield start


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the version of each host, and each host that is not there."""
    if config.option.hosts:
        terminalreporter.section("hosts")
        for host, package in PACKAGES.items():
            version = find_version(hosts_folder(), package) or "not installed"
            terminalreporter.line(f"{host:12} {version}")
