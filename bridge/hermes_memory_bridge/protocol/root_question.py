"""The roots of a host that has any: the folders it works in, asked for after the handshake and whenever they change.

The protocol deprecates roots since 2026-07-28, where no server may ask by itself: only hosts of the handshake era are asked.
"""

from __future__ import annotations

import asyncio
import json

from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.declared_folder import parse_root_folders
from hermes_memory_bridge.wire.messages import encode_message

MARK = "hermes-memory-roots-"
"""Begins the id of the question."""

ANSWER = MARK.encode()

CAUSES = (b'"notifications/initialized"', b'"notifications/roots/list_changed"')

MOST_BYTES = 256 * 1024
"""Of a message that is looked at."""


class RootQuestion:
    """The question to one host where it works."""

    def __init__(self, connection: Connection, writer: asyncio.StreamWriter) -> None:
        self.connection = connection
        self.writer = writer
        self.offered = False
        """Whether the host said that it has roots."""
        self.number = 0

    def is_answer(self, line: bytes) -> bool:
        """Take note of a message, and ask when it is time; return whether the message is the answer to this."""
        if len(line) > MOST_BYTES:
            return False
        if b'"initialize"' in line:
            params = parse_object(line).get("params")
            capabilities = params.get("capabilities") if isinstance(params, dict) else None
            self.offered = isinstance(capabilities, dict) and isinstance(capabilities.get("roots"), dict)
        elif self.offered and any(cause in line for cause in CAUSES):
            self.number += 1
            self.writer.write(encode_message({"jsonrpc": "2.0", "id": f"{MARK}{self.number}", "method": "roots/list"}))
        elif ANSWER in line:
            message = parse_object(line)
            if "method" not in message and str(message.get("id")).startswith(MARK):
                if message["id"] == f"{MARK}{self.number}" and "result" in message:
                    self.connection.roots = parse_root_folders(message["result"])
                return True
        return False


def parse_object(line: bytes) -> dict[str, object]:
    """Parse a line as an object; empty for what is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}
