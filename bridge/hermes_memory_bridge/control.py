"""Asking the running bridge of a store something about itself. Imports nothing heavy: commands answer at once."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from hermes_memory_bridge.peers import ForeignSocket, connect
from hermes_memory_bridge.places import Places
from hermes_memory_store.errors import StoreError


class ForeignBridge(StoreError):
    """What listens is not this user's own bridge; nothing was said to it."""

    code = "bridge.unreachable"


def describe_unserved(places: Places) -> str:
    """That no bridge serves a store, and whether there is a store at all."""
    missing = "" if Path(places.store).exists() else ", where there is no memory yet; check --db"
    return f"no bridge serves {places.store}{missing}"


def ask(places: Places, command: str, timeout_s: float = 5.0, **arguments: Any) -> dict[str, Any] | None:
    """Ask the running bridge something; None when none answers. What it will not do is an answer with an `error`.

    :param command: `status`, `stop`, `calls`, `sessions`, `end` or `sync`; see docs/bridge.md
    :param arguments: what the command takes; None counts as not given
    :raises ForeignBridge: what listens there is not this user's own
    """
    asked: dict[str, Any] = {"hermes-memory": 1, "command": command}
    given = {name: value for name, value in arguments.items() if value is not None}
    if given:
        asked["arguments"] = given
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bridge:
        bridge.settimeout(timeout_s)
        try:
            connect(bridge, places.line)
            bridge.sendall(json.dumps(asked).encode() + b"\n")
            said = b""
            while not said.endswith(b"\n"):
                more = bridge.recv(65_536)
                if not more:
                    return None
                said += more
        except ForeignSocket as error:
            raise ForeignBridge(str(error), places.line) from error
        except OSError:
            return None
    answer: dict[str, Any] = json.loads(said)
    return answer
