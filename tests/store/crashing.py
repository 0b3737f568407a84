"""Runs a piece of Python in a process of its own that ends itself with `kill -9` at a chosen step."""

from __future__ import annotations

import signal
import subprocess
import sys

HARNESS = """
import os, signal, sys

wanted, seen = int(sys.argv[1]), 0

def step(*_):
    global seen
    seen += 1
    if seen == wanted:
        os.kill(os.getpid(), signal.SIGKILL)

WATCHED = {"open", "os.rename", "os.link", "os.remove", "os.chmod", "sqlite3.connect"}

def audit(event, _):
    if event in WATCHED and armed:
        step()

def profile(frame, event, _):
    if event == "call" and frame.f_code.co_filename.endswith(("/database_copies.py", "/backup.py")):
        step()

armed = False
sys.addaudithook(audit)
"""

ARM = """
armed = True
sys.setprofile(profile)
"""


def killed_at(step: int, prepare: str, run: str) -> bool:
    """Run `prepare`, then `run` with a kill at its step number `step`; whether it got that far.

    A step is a file opened, linked, renamed, removed or made private, a connection, or a function of `database_copies.py` or
    `backup.py` called (one of them at every few pages that are poured).
    """
    code = HARNESS + prepare + ARM + run
    done = subprocess.run(
        [sys.executable, "-c", code, str(step)], capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode == -signal.SIGKILL:
        return True
    assert done.returncode == 0, done.stderr
    return False
