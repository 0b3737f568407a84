"""A line between a store and PostgreSQL that can be cut, slowed, blocked and torn in the middle of a message."""

from __future__ import annotations

import contextlib
import random
import select
import socket
import threading
import time
from typing import Any

from psycopg import conninfo


class Proxy:
    """Listens on a port of its own and passes bytes on to the unix socket of the embedded server."""

    def __init__(self, dsn: str, seed: int = 0) -> None:
        self.target = dsn
        where = conninfo.conninfo_to_dict(dsn)
        self.socket_path = f"{where['host']}/.s.PGSQL.{where.get('port') or 5432}"
        self.delay_s = 0.0
        self.down = False
        self.silent = False
        """Takes what is sent, and answers nothing."""
        self.cut_in: int | None = None
        """Cut each connection after so many bytes."""
        self.cut_chance = 0.0
        """Of each piece that passes."""
        self.lose_chance = 0.0
        """Of each answer: it is dropped and the line cut, after the database has done what was asked."""
        self.random = random.Random(seed)
        self.pooler = False
        """Names another process than the one that serves, as a pooler does."""
        self.cuts = 0
        self.pieces = 0
        """Pieces that clients have sent."""
        self.sockets: set[socket.socket] = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def dsn(self, of: str | None = None) -> str:
        """How to reach the database over this line."""
        return conninfo.make_conninfo(of or self.target, host="127.0.0.1", port=self.port)

    def cut(self) -> None:
        """Cut every line there is now."""
        for one in list(self.sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.listener.close()
        self.cut()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        if self.down:
            client.close()
            return
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        passed = 0
        try:
            server.connect(self.socket_path)
            self.sockets |= {client, server}
            while True:
                ready, _, _ = select.select([client, server], [], [], 30)
                for one in ready:
                    data = one.recv(65_536)
                    if not data:
                        return
                    passed += len(data)
                    self.pieces += one is client
                    if self.pooler and one is server:
                        data = other_process(data)
                    if self.delay_s:
                        time.sleep(self.delay_s)
                    if self.silent:
                        continue
                    if one is server and self.random.random() < self.lose_chance:
                        self.cuts += 1
                        return
                    if self.random.random() < self.cut_chance or (self.cut_in is not None and passed > self.cut_in):
                        self.cuts += 1
                        (server if one is client else client).sendall(data[: len(data) // 2])
                        return
                    (server if one is client else client).sendall(data)
        except OSError:
            return
        finally:
            self.sockets -= {client, server}
            client.close()
            server.close()


def other_process(data: bytes) -> bytes:
    """What a server says, with another process in its BackendKeyData message (K, length 12, process, key)."""
    at = data.find(b"K\x00\x00\x00\x0c")
    return data if at < 0 else data[: at + 5] + b"\x00\x00\x00\x07" + data[at + 9 :]
