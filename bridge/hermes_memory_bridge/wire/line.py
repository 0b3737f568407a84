"""The line socket of a bridge: connect, send and read lines of JSON. Standard library only.

The provider gets a copy of this file, and of what it imports, where it is installed.
"""

from __future__ import annotations

import json
import os
import socket
import time

from hermes_memory_bridge.wire.messages import BYE, CLOSE, GREETING, encode_message
from hermes_memory_bridge.wire.peers import connect_own_socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LINGER_S = "30"
"""How long a bridge that was started on demand stays after the last one has left; `$HERMES_MEMORY_LINGER` changes it."""

CHUNK = 1 << 16


class GreetingRefused(OSError):
    """The bridge rejected the greeting; the message says why and what to do."""


def connect_line(path: str, timeout_s: float) -> socket.socket:
    """Connect to a line socket.

    :raises ForeignSocket: it is not this user's own; nothing was sent
    :raises OSError: nobody listens
    """
    bridge = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bridge.settimeout(timeout_s)
        connect_own_socket(bridge, path)
    except BaseException:
        bridge.close()
        raise
    return bridge


def greet(bridge: socket.socket, hello: dict[str, Any]) -> None:
    """Send the greeting, without which the bridge answers nothing."""
    bridge.sendall(encode_message({**GREETING, **hello, "pid": os.getpid()}))


def parse_greeting(line: bytes) -> dict[str, Any]:
    """Parse the answer to a greeting. :raises GreetingRefused: it is a refusal"""
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise GreetingRefused(answer["error"]["message"])
    return answer


def read_line(bridge: socket.socket, deadline: float) -> bytes:
    """Read the next line and nothing behind it, which may belong to another reader.

    :param deadline: by `time.monotonic`
    :raises TimeoutError: the line was not whole by then
    :raises ConnectionError: the bridge closed the connection
    """
    line = b""
    while not line.endswith(b"\n"):
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the time for an answer is over")
        bridge.settimeout(left_s)
        ahead = bridge.recv(CHUNK, socket.MSG_PEEK)
        if not ahead:
            raise ConnectionResetError("the bridge closed the connection")
        line += bridge.recv(ahead.find(b"\n") + 1 or len(ahead))
    return line


def leave_bridge(bridge: socket.socket) -> None:
    """Close a connection properly: the bridge ends its sessions."""
    try:
        bridge.sendall(BYE + CLOSE)
    except OSError:
        return  # it has ended already
    finally:
        bridge.close()


def to_serve_words(store: str) -> list[str]:
    """Return the words of a command that starts a bridge which exits when nobody needs it."""
    return ["serve", "--db", store, "--linger", os.environ.get("HERMES_MEMORY_LINGER") or LINGER_S]
