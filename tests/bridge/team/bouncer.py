"""A real PgBouncer in transaction mode before the embedded server, which speaks TLS where it is asked to."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from psycopg import conninfo

from tests.bridge.running import until
from tests.bridge.team.proxy import Proxy
from tests.processes import PATIENCE_S

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
OPENSSL = shutil.which("openssl")
LENT = 2
"""Connections to the server, which all clients share."""


def certificate(folder: Path) -> Path:
    """A certificate for the name `localhost`, and its own authority. Beside it, as `.key`, is its key."""
    made = folder / "team.crt"
    subprocess.run(
        [str(OPENSSL), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", str(made.with_suffix(".key")), "-out", str(made)],
        check=True, capture_output=True,
    )  # fmt: skip
    made.with_suffix(".key").chmod(0o644)  # of a test: read by the user that PgBouncer becomes
    return made


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def bouncer(folder: Path, dsn: str, *, tls: Path | None = None) -> Iterator[str]:
    """PgBouncer before a database; yields the DSN over it.

    :param folder: must be readable for all, as PgBouncer will not run as root
    :param tls: the certificate that it shows
    """
    given = conninfo.conninfo_to_dict(dsn)
    settings: list[str] = []
    if tls is not None:
        settings += [
            "client_tls_sslmode = require",
            f"client_tls_cert_file = {tls}",
            f"client_tls_key_file = {tls.with_suffix('.key')}",
        ]
    if os.geteuid() == 0:
        settings.append("user = nobody")
    with Proxy(dsn) as line:  # the server listens on a unix socket in a private folder
        users = {given["user"]: given.get("password") or ""}
        with pooling(folder, f"{given['dbname']} = host=127.0.0.1 port={line.port}", users, settings) as (port, _):
            yield conninfo.make_conninfo(dsn, host="localhost", port=port)


@contextmanager
def pooling(
    folder: Path, database: str, users: Mapping[str, str], settings: Sequence[str]
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A running PgBouncer; yields its port and its process.

    :param database: its line for it, without a size
    :param users: their passwords
    """
    port = free_port()
    users_file = folder / "users"
    users_file.write_text("".join(f'"{name}" "{word}"\n' for name, word in users.items()), encoding="utf-8")
    lines = [
        "[databases]",
        database,
        "[pgbouncer]",
        "listen_addr = 127.0.0.1",
        f"listen_port = {port}",
        "unix_socket_dir =",
        "pool_mode = transaction",
        f"default_pool_size = {LENT}",
        "auth_type = scram-sha-256",
        f"auth_file = {users_file}",
        *settings,
    ]
    (folder / "pgbouncer.ini").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([str(PROGRAM), str(folder / "pgbouncer.ini")], stderr=log, stdout=log)
    try:
        until(lambda: listens(port), "PgBouncer")
        yield port, process
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def listens(port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
