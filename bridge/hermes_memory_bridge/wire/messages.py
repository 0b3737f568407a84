"""What the bridge and its clients say to each other beside the protocol. Standard library only, and little of that."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GREETING = {"hermes-memory": 1}
"""Members of each first line of a connection."""

BYE = b'{"hermes-memory":"bye"'
"""Begins the last line of a client that leaves properly."""

PING = b'{"hermes-memory":"ping"'
"""Begins the question to a client that said `pulse` in its greeting whether it is alive."""

PULSE = b'{"hermes-memory":"pulse"'
"""Begins its answer."""

END = b'{"hermes-memory":"end"'
"""Begins the last line to a client that said `ends` in its greeting, when the bridge ends the connection for a reason."""

CLOSE = b"}\n"
"""Ends each of these lines."""

ESSENTIAL = "essential"
"""The selection of tools for a host with hooks of ours: they count its turns and give what it is to know."""

KEY = "io.hermes-memory/key"
"""The idempotency key of a call, in its `_meta`."""

FOLDER = "io.hermes-memory/folder"
"""Key of the working folder in a call's `_meta`: an absolute path."""

WAY = "io.hermes-memory/way"
"""Key in a call's `_meta` of how it came about: `hook` or `host-file`; without it a model called a tool."""

OWN_REQUEST = "hermes-memory-shim-"
"""Begins the id of a request that the shim makes by itself: its answer goes no further."""

OWN_CLIENTS = ("hermes-agent provider", "hermes-memory-client ")
"""Prefix of the names of our own programs, the memory provider and the Python clients; they use all tools."""


def encode_message(message: Any) -> bytes:
    """Encode a message, or a batch of them, as one line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
