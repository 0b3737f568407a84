"""HTTP over a unix socket whose listener is verified as this user's own before any token or text is sent."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

from hermes_memory_bridge.wire.peers import ForeignSocket, check_private_folders, check_socket_listener
from hermes_memory_bridge.wire.silence import LOOK_S, check_listener

Options = Iterable[tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]]

LIMITS: Any = {"max_connections": 100, "max_keepalive_connections": 20, "keepalive_expiry": 5.0}
"""As httpx sets them itself."""


def to_unix_transport(path: str) -> httpx.HTTPTransport:
    """Return a transport over the socket at `path`; a request raises ForeignSocket if it is not this user's own."""
    made = httpx.HTTPTransport(uds=path)
    made._pool = httpcore.ConnectionPool(
        uds=path, network_backend=OwnSocketBackend(), **LIMITS
    )  # httpx takes no backend
    return made


def to_async_unix_transport(path: str) -> httpx.AsyncHTTPTransport:
    """Return the same transport for an asyncio event loop."""
    made = httpx.AsyncHTTPTransport(uds=path)
    made._pool = httpcore.AsyncConnectionPool(uds=path, network_backend=AsyncOwnSocketBackend(), **LIMITS)
    return made


class OwnSocketBackend(httpcore.SyncBackend):
    """Network backend that connects only to this user's own sockets."""

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Options | None = None
    ) -> httpcore.NetworkStream:
        """Connect and verify the listener.

        :raises ForeignSocket: it runs as somebody else
        """
        with contextlib.suppress(FileNotFoundError):  # reported by connecting
            check_private_folders(path)
        stream = super().connect_unix_socket(path, timeout, socket_options)
        try:
            check_socket_listener(stream.get_extra_info("socket"), path)
        except ForeignSocket:
            stream.close()
            raise
        read = stream.read

        def read_patiently(max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG001
            while True:
                try:
                    return read(max_bytes, LOOK_S)
                except httpcore.ReadTimeout:
                    check_listener(stream.get_extra_info("socket"))

        stream.read = read_patiently  # type: ignore[method-assign]  # the bridge is alive, however long a call takes
        return stream


class AsyncOwnSocketBackend(httpcore.AnyIOBackend):
    """Asyncio network backend that connects only to this user's own sockets."""

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - as the base class has it
        socket_options: Options | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect and verify the listener.

        :raises ForeignSocket: it runs as somebody else
        """
        with contextlib.suppress(FileNotFoundError):  # reported by connecting
            check_private_folders(path)
        stream = await super().connect_unix_socket(path, timeout, socket_options)
        try:
            check_socket_listener(stream.get_extra_info("socket"), path)
        except ForeignSocket:
            await stream.aclose()
            raise
        read = stream.read

        async def read_patiently(max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG001, ASYNC109
            while True:
                try:
                    return await read(max_bytes, LOOK_S)
                except httpcore.ReadTimeout:
                    check_listener(stream.get_extra_info("socket"))

        stream.read = read_patiently  # type: ignore[method-assign]  # as above
        return stream
