"""Processes that tests watch, and that may end at any moment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

PATIENCE_S = 180.0
"""When something that a test waits for counts as never coming: a bound on a test that hangs, not on how fast anything is."""


def is_alive(process: psutil.Process) -> bool:
    """Whether a process has not ended: one that nobody has waited for counts as ended, one that goes during the look too."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@contextmanager
def working_beside(program: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    """Another Python process at work meanwhile: it says `ready`, and works until a line comes on its standard input."""
    command = [sys.executable, "-c", program, *args]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.communicate("end\n", timeout=PATIENCE_S)
    assert process.returncode == 0
