"""Client of a running bridge. Without a bridge it reports so at once, and everything else still works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_memory_bridge.version import __version__
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.database.schema import STORE_VERSION
from hermes_memory_store.database.store_version import read_header_version
from hermes_memory_store.errors import StoreLocked

ANSWER_S = 1.0
"""How long the bridge may take: the screen waits in a thread, and asks again a moment later."""

MOST = 500
"""Calls that are asked for at once, the newest."""


def live_sessions(store: Path) -> dict[tuple[str, str], dict[str, Any]] | None:
    """Return the bridge's data on each session by theme and name, or None when no bridge answers."""
    answer = request_bridge(BridgePaths.of(store), "sessions", ANSWER_S)
    if answer is None:
        return None
    return {(session["theme"], session["session"]): session for session in answer.get("sessions", ())}


def recorded_calls(store: Path, theme: str, session: str, since: int = 0) -> list[dict[str, Any]]:
    """Return the calls of a session that the bridge still holds, oldest first; empty when no bridge answers."""
    answer = request_bridge(
        BridgePaths.of(store), "calls", ANSWER_S, since=since, theme=theme, session=session, limit=MOST
    )
    return [] if answer is None else list(answer.get("calls", ()))


def end_live_session(store: Path, theme: str, session: str) -> bool:
    """Ask the bridge to end a session. False when no bridge answers or it does not hold the session."""
    answer = request_bridge(BridgePaths.of(store), "end", 5.0, theme=theme, session=session)
    return answer is not None and bool(answer.get("ended"))


def request_sync(store: Path, action: str) -> dict[str, Any] | None:
    """Ask the bridge to run a sync action or to report the sync status. None when no bridge answers."""
    return request_bridge(BridgePaths.of(store), "sync", 5.0 if action != "status" else ANSWER_S, action=action)


def replace_older_bridge(store: Path) -> None:
    """Have a bridge of this version serve in place of an older one, before this program raises the store under it.

    :raises StoreLocked: the older one does not end, and must not go on writing to what this program would raise
    """
    paths = BridgePaths.of(store)
    if not Path(paths.line).exists():
        return
    # Imported where there is a bridge: the inspector shows its first frame 1 ms sooner without.
    from hermes_memory_bridge.wire.dialing import dial_bridge, to_daemon_command
    from hermes_memory_bridge.wire.line import leave_bridge
    from hermes_memory_bridge.wire.version_order import is_older

    answer = request_bridge(paths, "status", ANSWER_S)
    if answer is None or not is_older(answer.get("version"), __version__):
        return
    reason = "it did not end"
    try:
        bridge, greeting = dial_bridge(paths, {}, to_daemon_command(paths.store))
        leave_bridge(bridge)
        if not is_older(greeting.get("version"), __version__):
            return
    except OSError as error:
        reason = str(error)
    version = read_header_version(store)
    if version is not None and version < STORE_VERSION:
        raise StoreLocked(
            f"an older bridge, process {answer['pid']} of version {answer['version']}, serves {store} ({reason}); nothing was "
            "changed, stop it with `hermes-memory-bridge stop` and try again",
            store,
        )


def request_bridge(places: BridgePaths, command: str, timeout_s: float, **arguments: Any) -> dict[str, Any] | None:
    """Send a command to this user's bridge and return the answer.

    None when no bridge answers, its process is stopped, or another user's process listens in its place.
    """
    from hermes_memory_bridge.daemon import control  # here, as above: the first frame asks no bridge

    try:
        return control.ask_bridge(places, command, timeout_s, **arguments)
    except (control.ForeignBridge, control.StoppedBridge):
        return None
