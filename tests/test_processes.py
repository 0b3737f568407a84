"""A process that a test watches may end while it is looked at."""

from __future__ import annotations

import subprocess
import sys

import psutil

from tests.bridge.running import until
from tests.processes import is_alive

WAITING = (sys.executable, "-Sc", "input()")


class EndsWhenSeen(psutil.Process):
    """A process that is gone as soon as somebody was told that it runs."""

    popen: subprocess.Popen[bytes]

    def is_running(self) -> bool:
        found = bool(super().is_running())
        self.popen.kill()
        self.popen.wait()
        return found


def test_a_process_that_ends_during_the_look_is_not_alive() -> None:
    with subprocess.Popen(WAITING, stdin=subprocess.PIPE) as popen:
        process = EndsWhenSeen(popen.pid)
        process.popen = popen
        assert not is_alive(process)


def test_a_process_is_alive_until_it_ends_whether_or_not_somebody_waits_for_it() -> None:
    with subprocess.Popen(WAITING, stdin=subprocess.PIPE) as popen:
        process = psutil.Process(popen.pid)
        assert is_alive(process)
        popen.kill()
        until(lambda: not is_alive(process), "its end")
        assert popen.returncode is None
    assert not is_alive(process)
