"""Whether the host of a shim has been stopped, where the system tells it (Linux). Standard library only."""

from __future__ import annotations

import os

STOPPED = (b"T", b"t")
"""Stopped by a signal, or by a debugger (`man 5 proc_pid_stat`)."""

MOST_ANCESTORS = 8
"""Programs between a host and its shim, such as `sh`, `npx` or `uvx`."""


def is_host_stopped() -> bool:
    """Check whether the process that started this one, or one above it in the same session, is stopped."""
    process = os.getppid()
    session = os.getsid(0)
    for _ in range(MOST_ANCESTORS):
        found = find_process_state(process)
        if found is None:
            return False
        state, parent, its_session = found
        if its_session != session and process != os.getppid():
            return False
        if state in STOPPED:
            return True
        process = parent
    return False


def find_process_state(process: int) -> tuple[bytes, int, int] | None:
    """Return state, parent and session of a process; None where the system does not tell."""
    if process <= 1:
        return None
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            told = file.read()
    except OSError:
        return None
    state, parent, _group, session, *_ = told[told.rindex(b")") + 2 :].split(maxsplit=4)
    return state, int(parent), int(session)
