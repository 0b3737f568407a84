"""Send one line to the bridge of a store, and read one line."""

from __future__ import annotations

import socket
import time

from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.peers import ForeignSocket, connect_own_socket
from hermes_memory_store.compact_json import parse_whole_object, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_ANSWER = 1 << 20
"""Bytes of an answer; a longer one is none of a bridge's."""

SEND_S = 0.05
"""What connecting and sending may take each where there is no time for an answer any more: the event is reported all the same."""

ANSWERED = "answered"
NO_BRIDGE = "no bridge"
"""Nobody listens: one is to be started."""

REFUSED = "refused"
"""The bridge takes no such line, as one of an earlier version."""

UNANSWERED = "unanswered"
"""Somebody listens, and the answer did not come in time: what the bridge made of the line is unknown."""

FOREIGN = "foreign"
"""The socket is not this user's own; nothing was sent."""


class Exchange:
    """What became of a line."""

    __slots__ = ("outcome", "text", "why")

    def __init__(self, outcome: str, text: str = "", why: str = "") -> None:
        self.outcome = outcome
        self.text = text
        """What the model is to be given."""
        self.why = why
        """What went wrong, for the debugging output."""


def report_event(paths: BridgePaths, event: dict[str, Any], until: float) -> Exchange:
    """Report an event to the bridge, and return what it answers.

    :param until: when to stop waiting, by `time.monotonic`
    """
    line = to_json({"hermes-memory": 1, "command": "hook", "arguments": event}).encode("ascii") + b"\n"
    bridge = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bridge.settimeout(max(SEND_S, until - time.monotonic()))
        try:
            connect_own_socket(bridge, paths.line)
        except ForeignSocket as error:
            return Exchange(FOREIGN, why=str(error))
        except (FileNotFoundError, NotADirectoryError, ConnectionError) as error:
            return Exchange(NO_BRIDGE, why=str(error))
        bridge.sendall(line)
        said = bytearray()
        while not said.endswith(b"\n"):
            bridge.settimeout(find_time_left(until))
            some = bridge.recv(65_536)
            if not some or len(said) > MOST_ANSWER:
                return Exchange(UNANSWERED, why="the bridge ended the connection")
            said += some
    except OSError as error:
        return Exchange(UNANSWERED, why=str(error) or type(error).__name__)
    finally:
        bridge.close()
    return parse_bridge_answer(bytes(said))


def parse_bridge_answer(said: bytes) -> Exchange:
    answer = parse_whole_object(said.decode("utf-8", "replace"))
    if answer is None or "error" in answer:
        return Exchange(REFUSED, why=repr(said[:300]))
    text = answer.get("text")
    return Exchange(ANSWERED, text if isinstance(text, str) else "")


def find_time_left(until: float) -> float:
    """Return the seconds left. :raises TimeoutError: none are"""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("the time for an answer is over")
    return left
