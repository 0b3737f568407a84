"""Start this user's own bridge when none is running, as the shim does."""

from __future__ import annotations

import socket

from hermes_memory_bridge.client.mcp_messages import BridgeUnreachable
from hermes_memory_bridge.launcher.dialing import dial_bridge, to_daemon_command
from hermes_memory_bridge.launcher.paths import BridgePaths
from hermes_memory_bridge.launcher.peers import ForeignSocket


def start_own_bridge() -> socket.socket:
    """Connect to the bridge of this user's store.

    Hold the connection until a session exists: it keeps the bridge running.

    :raises OSError: none is running, and none could be started
    :raises BridgeUnreachable: the one that is running is not this user's own
    """
    paths = BridgePaths.of()
    try:
        return dial_bridge(paths, {}, to_daemon_command(paths.store))[0]
    except ForeignSocket as error:
        raise BridgeUnreachable(str(error), paths.line) from error
