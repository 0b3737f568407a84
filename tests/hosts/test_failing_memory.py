"""A memory that hangs, is gone or cannot write: the host answers as it would without us."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.hosts.conftest import StartHost
from tests.hosts.host_home import HostHome
from tests.hosts.programs.all_programs import HOST_PROGRAMS
from tests.hosts.stand_in_model import Rule

pytestmark = pytest.mark.hosts


def hang_bridge(home: HostHome) -> None:
    """Have a bridge that accepts connections and answers nobody."""
    home.start_bridge()
    os.kill(home.find_bridge(), signal.SIGSTOP)


def remove_programs(home: HostHome) -> None:
    for program in ("hermes-memory-hook", "hermes-memory-bridge"):
        (home.programs / program).unlink()


def block_folder(home: HostHome) -> None:
    """Have a file where the folder of the store belongs: nothing can be made there, by root neither."""
    folder = home.store.parent
    if folder.is_dir():
        folder.rename(folder.with_name("hermes-before"))
    folder.write_text("")


@pytest.mark.parametrize("name", HOST_PROGRAMS)
@pytest.mark.parametrize("fail", [hang_bridge, remove_programs, block_folder])
def test_the_host_answers_as_without_a_memory(
    start_host: StartHost, name: str, fail: Callable[[HostHome], None]
) -> None:
    host = start_host(name)
    host.connect()
    host.model.rules += [Rule("How are you?", text="Well, thank you.")]
    fail(host.home)

    done = host.try_ask("How are you?")

    assert done.returncode == 0, done.stderr[-3000:]
    assert "Well, thank you." in done.stdout
