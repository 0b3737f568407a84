"""Start this user's own bridge when none is running, or none any more, as the shim does."""

from __future__ import annotations

import logging
import socket

from hermes_memory_bridge.client.mcp_messages import BridgeUnreachable
from hermes_memory_bridge.wire.dialing import dial_bridge, to_daemon_command
from hermes_memory_bridge.wire.paths import BridgePaths

log = logging.getLogger(__name__)


def start_own_bridge() -> socket.socket:
    """Connect to the bridge of this user's store.

    Hold the connection until a session exists: it keeps the bridge running.

    :raises BridgeUnreachable: none could be started, or the one that runs refuses, is stopped, or is not this user's own
    """
    paths = BridgePaths.of()
    try:
        return dial_bridge(paths, {}, to_daemon_command(paths.store), log.warning)[0]
    except OSError as error:
        raise BridgeUnreachable(str(error), paths.line) from error
