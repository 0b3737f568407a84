"""What the inspector asks a running bridge. Without one it is told so at once, and everything else still works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_memory_bridge import control
from hermes_memory_bridge.control import ForeignBridge
from hermes_memory_bridge.places import Places

ANSWER_S = 1.0
"""How long the bridge may take: the screen waits in a thread, and asks again a moment later."""

MOST = 500
"""Calls that are asked for at once, the newest."""


def sessions(store: Path) -> dict[tuple[str, str], dict[str, Any]] | None:
    """What the bridge knows of each session, by theme and name; None when no bridge answers."""
    answer = ask(Places.of(store), "sessions", ANSWER_S)
    if answer is None:
        return None
    return {(one["theme"], one["session"]): one for one in answer.get("sessions", ())}


def calls(store: Path, theme: str, session: str, since: int = 0) -> list[dict[str, Any]]:
    """The calls of a session that the bridge still knows, oldest first; none when no bridge answers."""
    answer = ask(Places.of(store), "calls", ANSWER_S, since=since, theme=theme, session=session, limit=MOST)
    return [] if answer is None else list(answer.get("calls", ()))


def end(store: Path, theme: str, session: str) -> bool:
    """Have the bridge end a session; False when none answers, or it does not hold it."""
    answer = ask(Places.of(store), "end", 5.0, theme=theme, session=session)
    return answer is not None and bool(answer.get("ended"))


def status(store: Path) -> dict[str, Any] | None:
    """What the bridge says of itself; None when none answers."""
    return ask(Places.of(store), "status", ANSWER_S)


def sync(store: Path, action: str) -> dict[str, Any] | None:
    """Have the bridge do something about the exchange with a team, or say how it stands; None when none answers."""
    return ask(Places.of(store), "sync", 5.0 if action != "status" else ANSWER_S, action=action)


def ask(places: Places, command: str, timeout_s: float, **arguments: Any) -> dict[str, Any] | None:
    """What the bridge of this user answers; None when none does, or when somebody else's listens in its place."""
    try:
        return control.ask(places, command, timeout_s, **arguments)
    except ForeignBridge:
        return None
