"""The `peers` of `wire`. Where the provider is installed, a copy of that file replaces this one."""

from hermes_memory_bridge.wire.peers import connect_own_socket, make_private_folders

__all__ = ["connect_own_socket", "make_private_folders"]
