"""Requests to the running bridge of a store about itself. Imports nothing heavy: commands answer at once."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from hermes_memory_bridge.wire.line import connect_line, read_line
from hermes_memory_bridge.wire.messages import GREETING, encode_message
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.peers import ForeignSocket
from hermes_memory_bridge.wire.silence import ListenerStopped, check_listener, wait_for_answer
from hermes_memory_store.errors import StoreError


class ForeignBridge(StoreError):
    """The listener is not this user's own bridge; nothing was sent to it."""

    code = "bridge.unreachable"


class StoppedBridge(StoreError):
    """The process of the running bridge is stopped, so nothing answers. The message names it."""

    code = "bridge.unreachable"


def format_no_bridge(paths: BridgePaths) -> str:
    """Say that no bridge is running for a store, and whether the store exists."""
    missing = "" if Path(paths.store).exists() else ", where there is no memory yet; check --db"
    return f"no bridge serves {paths.store}{missing}"


def ask_bridge(paths: BridgePaths, command: str, timeout_s: float = 5.0, **arguments: Any) -> dict[str, Any] | None:
    """Send a command to the running bridge; return None when none answers. A refusal is an answer with an `error`.

    :param command: `status`, `stop`, `calls`, `sessions`, `end` or `sync`; see docs/bridge.md
    :param arguments: the command's arguments; None counts as omitted
    :raises ForeignBridge: the listener is not this user's own
    :raises StoppedBridge: its process is stopped
    """
    request: dict[str, Any] = {**GREETING, "command": command}
    if arguments := {name: value for name, value in arguments.items() if value is not None}:
        request["arguments"] = arguments
    try:
        with connect_line(paths.line, timeout_s) as bridge:
            check_listener(bridge, paths)  # before it is asked: what a stopped bridge was sent, it does when it goes on
            bridge.sendall(encode_message(request))
            wait_for_answer(bridge, paths, timeout_s)
            answer: dict[str, Any] = json.loads(read_line(bridge, time.monotonic() + timeout_s))
    except ForeignSocket as error:
        raise ForeignBridge(str(error), paths.line) from error
    except ListenerStopped as error:
        raise StoppedBridge(str(error), paths.line) from error
    except OSError:
        return None
    return answer
