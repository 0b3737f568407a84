"""Who called, as the system tells the bridge: the process at the other end and its program. A client cannot alter it."""

from __future__ import annotations

import os

from hermes_memory_bridge.wire.silence import find_process_state

SHIM_NAMES = (b"hermes_memory_bridge", b"hermes-memory-bridge")
"""What the command line of a shim names: the module or the command."""

SHIM_WORDS = 4
"""Words of a command line that are looked through: interpreter, options, module."""


def format_peer(*, uid: int | None, pid: int | None, address: str | None, token: str | None) -> str | None:
    """Format who called: `user 1000, process 4242`, `127.0.0.1, token 'ci'`."""
    parts = (
        (uid, "user {}"),
        (pid or None, "process {}"),
        (address, "{}"),
        (token, "token {!r}"),
    )
    return ", ".join(form.format(value) for value, form in parts if value is not None) or None


def find_program(pid: int | None) -> str | None:
    """Return the executable of a process; for a shim, that of the program which started it. None: nobody tells."""
    if not pid:
        return None
    if is_shim(pid):
        state = find_process_state(pid)
        pid = state[1] if state is not None and state[1] > 1 else pid
    return find_executable(pid)


def find_executable(pid: int) -> str | None:
    if os.path.isdir("/proc/self"):
        try:
            return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
        except OSError:
            return None
    import psutil  # here, not above: only systems without /proc need it

    try:
        return psutil.Process(pid).exe() or None
    except (psutil.Error, OSError):
        return None


def is_shim(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4_096).split(b"\0")[:SHIM_WORDS]
    except OSError:
        return False
    return any(os.path.basename(word) in SHIM_NAMES for word in words)
