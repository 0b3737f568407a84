"""HTTP over a unix socket, once it is clear that the listener is this user's own: tokens and texts go to nobody else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

from hermes_memory_bridge.peers import ForeignSocket, check_folder, check_listener, private_folders

Options = Iterable[tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]]

LIMITS: Any = {"max_connections": 100, "max_keepalive_connections": 20, "keepalive_expiry": 5.0}
"""As httpx sets them itself."""


def transport_to(path: str) -> httpx.HTTPTransport:
    """A transport over the socket at `path`; a request raises ForeignSocket where it is not this user's own."""
    made = httpx.HTTPTransport(uds=path)
    made._pool = httpcore.ConnectionPool(uds=path, network_backend=OwnSockets(), **LIMITS)  # httpx takes no backend
    return made


def async_transport_to(path: str) -> httpx.AsyncHTTPTransport:
    """The same for an event loop of asyncio."""
    made = httpx.AsyncHTTPTransport(uds=path)
    made._pool = httpcore.AsyncConnectionPool(uds=path, network_backend=AsyncOwnSockets(), **LIMITS)
    return made


class OwnSockets(httpcore.SyncBackend):
    """Connects to sockets of this user's own."""

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Options | None = None
    ) -> httpcore.NetworkStream:
        """Connect, and look who is there. :raises ForeignSocket: it is somebody else"""
        check_folders(path)
        stream = super().connect_unix_socket(path, timeout, socket_options)
        try:
            check_listener(stream.get_extra_info("socket"), path)
        except ForeignSocket:
            stream.close()
            raise
        return stream


class AsyncOwnSockets(httpcore.AnyIOBackend):
    """The same for an event loop of asyncio."""

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - as the base class has it
        socket_options: Options | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect, and look who is there. :raises ForeignSocket: it is somebody else"""
        check_folders(path)
        stream = await super().connect_unix_socket(path, timeout, socket_options)
        try:
            check_listener(stream.get_extra_info("socket"), path)
        except ForeignSocket:
            await stream.aclose()
            raise
        return stream


def check_folders(path: str) -> None:
    """:raises ForeignSocket: others can put a socket of their own at `path`; one that is not there is for connecting to tell"""
    for folder in private_folders(path):
        try:
            check_folder(folder)
        except FileNotFoundError:
            return
