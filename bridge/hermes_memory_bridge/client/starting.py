"""Starting this user's own bridge when none runs, as the shim does."""

from __future__ import annotations

import socket

from hermes_memory_bridge.dialing import daemon_command, dial
from hermes_memory_bridge.places import Places


def start_own() -> socket.socket:
    """A connection to the bridge of this user's store, to be kept until there is a session: so long the bridge stays.

    :raises OSError: none runs, and none could be started
    """
    places = Places.of()
    return dial(places, {}, daemon_command(places.store))[0]
