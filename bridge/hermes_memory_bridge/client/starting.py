"""Starting this user's own bridge when none runs, as the shim does."""

from __future__ import annotations

import socket

from hermes_memory_bridge.client.words import BridgeUnreachable
from hermes_memory_bridge.dialing import daemon_command, dial
from hermes_memory_bridge.peers import ForeignSocket
from hermes_memory_bridge.places import Places


def start_own() -> socket.socket:
    """A connection to the bridge of this user's store, to be kept until there is a session: so long the bridge stays.

    :raises OSError: none runs, and none could be started
    :raises BridgeUnreachable: one runs that is not this user's own
    """
    places = Places.of()
    try:
        return dial(places, {}, daemon_command(places.store))[0]
    except ForeignSocket as error:
        raise BridgeUnreachable(str(error), places.line) from error
