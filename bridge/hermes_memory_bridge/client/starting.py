"""Starting this user's own bridge when none runs, as the shim does."""

from __future__ import annotations

from hermes_memory_bridge.dialing import daemon_command, dial
from hermes_memory_bridge.places import Places


def start_own() -> None:
    """Make sure that a bridge serves this user's store. :raises OSError: none runs, and none could be started"""
    places = Places.of()
    connection, _ = dial(places, {}, daemon_command(places.store))
    connection.close()
