"""Who is at the other end of a unix socket: the system knows, and cannot be lied to."""

from __future__ import annotations

import os
import socket
import struct
from typing import NamedTuple

LOCAL_PEERCRED = 1
"""macOS and the BSDs (`sys/un.h`); Linux has SO_PEERCRED."""


class Peer(NamedTuple):
    """A process on this machine. `pid` is None where the system does not tell."""

    uid: int
    pid: int | None


def peer_of(connected: socket.socket) -> Peer:
    """The process at the other end. :raises OSError: when the system does not tell"""
    if hasattr(socket, "SO_PEERCRED"):
        pid, uid, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return Peer(uid, pid)
    _, uid = struct.unpack_from("2I", connected.getsockopt(0, LOCAL_PEERCRED, 76))
    return Peer(uid, None)


def is_ours(connected: socket.socket) -> bool:
    """Whether the other end runs as the same user as this process."""
    return peer_of(connected).uid == os.getuid()
