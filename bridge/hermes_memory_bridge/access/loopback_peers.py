"""The user at the other end of a TCP connection within this machine."""

from __future__ import annotations

import socket
import struct

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
ANY = 0xFFFFFFFF
"""Every state of a connection; no particular cookie."""

UID_AT = 16 + 4 + 48 + 12
"""In the answer: the header of netlink, states, addresses, and three counters stand before it (`inet_diag_msg`)."""


def find_loopback_user(connected: socket.socket) -> int | None:
    """Return the user at the other end of a TCP connection within this machine; None when the system does not tell.

    Linux tells by its socket diagnosis (`sock_diag(7)`), in some microseconds; other systems do not.
    """
    if not hasattr(socket, "AF_NETLINK"):
        return None
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as kernel:
            kernel.setblocking(False)
            kernel.send(to_socket_diag_request(connected.getpeername(), connected.getsockname()))
            answer = kernel.recv(8192)
    except OSError:  # it has left already, or the kernel was built without
        return None
    _, kind, *_ = struct.unpack_from("=IHHII", answer)
    return int(struct.unpack_from("=I", answer, UID_AT)[0]) if kind == SOCK_DIAG_BY_FAMILY else None


def to_socket_diag_request(source: tuple[str, int], destination: tuple[str, int]) -> bytes:
    """Return the request for the socket bound to `source` and connected to `destination` (`inet_diag_req_v2`)."""
    addresses = struct.pack(
        "!HH4s12x4s12x", source[1], destination[1], socket.inet_aton(source[0]), socket.inet_aton(destination[0])
    )
    states = (
        struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, ANY)
        + addresses
        + struct.pack("=III", 0, ANY, ANY)
    )
    return struct.pack("=IHHII", 16 + len(states), SOCK_DIAG_BY_FAMILY, 1, 0, 0) + states
