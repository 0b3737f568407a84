"""Events of hosts as a hook sends them: one line to the bridge's socket, one back."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from hermes_memory_bridge.wire.paths import BridgePaths
from tests.bridge.running import dial


def send_event(places: BridgePaths, event: str, *, host: str = "claude-code", session: str = "s1", **said: Any) -> str:
    """Send an event and return the text that its session is given."""
    text: str = ask_event(places, event, host=host, session=session, **said)["text"]
    return text


def ask_event(
    places: BridgePaths, event: str, *, host: str = "claude-code", session: str = "s1", **said: Any
) -> dict[str, Any]:
    """Send an event and return the whole answer."""
    answer = ask_line(
        places, {"hermes-memory": 1, "command": "hook", "arguments": to_event(event, host, session, **said)}
    )
    assert "error" not in answer, answer
    return answer


def to_event(event: str, host: str = "claude-code", session: str = "s1", **said: Any) -> dict[str, Any]:
    """An event as the hook program sends it."""
    return {
        "host": host, "event": event, "session": session, "source": "", "turn": "", "folder": "", "text": "", "transcript": "",
        "agent": "", "trigger": "", "reason": "", "version": "", "theme": "", "pids": [], "at": round(time.time() * 1000),
        "capture": False, **said,
    }  # fmt: skip


def ask_line(places: BridgePaths, message: dict[str, Any]) -> dict[str, Any]:
    """Send one line, and return the line that comes back."""
    with dial(places) as line:
        line.sendall(json.dumps(message).encode() + b"\n")
        answer: dict[str, Any] = json.loads(line.makefile("rb").readline())
    return answer


def allow_capture(db: Path, *hosts: str) -> None:
    """Let these hosts bring what is said, as `connect --capture` does."""
    Path(f"{db}.capture.json").write_text(json.dumps({"hosts": dict.fromkeys(hosts, True), "off": False}))
