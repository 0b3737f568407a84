"""Whose MEMORY.md and USER.md a connection may have relieved: those of the hermes profile that its host runs with, and no others.

A token opens facts, never files, and over the port there is no host on this machine. On this user's own sockets the greeting
may name a profile, but the name alone is worth nothing: it must be the bridge's own `$HERMES_HOME`, `~/.hermes`, or what the
system says of the environment of the process at the other end; or a profile below one of them. The folder and the files must be
this user's, and no link may lead out of it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from hermes_memory_bridge.connection import Connection
from hermes_memory_store.errors import StoreError
from hermes_memory_store.memory_files import files, hermes_home

VARIABLE = "HERMES_HOME"

PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]*")
"""A profile's name, as hermes-agent allows it."""

WAY_OUT = "the person whose files they are runs `hermes-memory-tui optimize`"


class HostFilesClosed(StoreError):
    """The files of a host that this connection may not reach; nothing of them was read."""

    code = "access.denied"


def home_of(connection: Connection) -> Path:
    """The folder of the host's profile, checked. :raises HostFilesClosed: it is not this connection's to reach"""
    if connection.credential is not None:
        raise HostFilesClosed(f"a token opens no MEMORY.md and no USER.md; {WAY_OUT}", connection.credential)
    if connection.transport == "tcp":
        raise HostFilesClosed(f"MEMORY.md and USER.md are not reached over the port; {WAY_OUT}", connection.transport)
    home = connection.home or standard_home(connection)
    root = root_of(home, connection)
    for path in (home, home / "memories"):
        check_folder(path, root)
    for file in files(home):
        check_file(file.path, root)
    return home


def standard_home(connection: Connection) -> Path:
    """The profile of a host that names none.

    On the line socket that says the host has no `$HERMES_HOME`; that of the bridge is then of whichever host started it.
    """
    environ = dict(os.environ)
    if connection.transport == "line":
        environ.pop(VARIABLE, None)
    return hermes_home(environ)


def root_of(home: Path, connection: Connection) -> Path:
    """The host's main folder that a profile belongs to, links resolved. :raises HostFilesClosed: it belongs to none"""
    if home.is_absolute() and "\0" not in str(home):
        real = Path(os.path.realpath(home))
        for root in roots(connection):
            if real == root or (real.parent == root / "profiles" and PROFILE.fullmatch(real.name)):
                return root
    raise HostFilesClosed(
        f"{home} is not the HERMES_HOME that the host at the other end runs with, nor a profile of it; "
        f"start the host with it, or {WAY_OUT}",
        home,
    )


def roots(connection: Connection) -> Iterator[Path]:
    """The main folders there may be, links resolved: of the bridge, of this user, of the process at the other end."""
    named = [os.environ.get(VARIABLE, ""), peer_home(connection.pid), str(Path.home() / ".hermes")]
    for name in filter(os.path.isabs, named):
        real = Path(os.path.realpath(name))
        yield real.parent.parent if real.parent.name == "profiles" else real


def peer_home(pid: int | None) -> str:
    """`$HERMES_HOME` of a process as the system knows it; empty where it does not tell."""
    try:
        held = Path(f"/proc/{pid}/environ").read_bytes() if pid else b""
    except OSError:
        return ""
    prefix = f"{VARIABLE}=".encode()
    return next((os.fsdecode(one.removeprefix(prefix)) for one in held.split(b"\0") if one.startswith(prefix)), "")


def check_folder(folder: Path, root: Path) -> None:
    """:raises HostFilesClosed: a folder that is there is not this user's alone to write, or lies outside the root"""
    found = found_within(folder, root)
    if found is None:
        return
    if not stat.S_ISDIR(found.st_mode):
        raise HostFilesClosed(f"{folder} is no folder", folder)
    others = found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and found.st_gid != os.getgid())
    if others:
        raise HostFilesClosed(f"others may write in {folder}; take that right away: chmod go-w {folder}", folder)


def check_file(file: Path, root: Path) -> None:
    """:raises HostFilesClosed: a file that is there is no plain file of this user, or lies outside the root"""
    found = found_within(file, root)
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise HostFilesClosed(f"{file} is no plain file", file)


def found_within(path: Path, root: Path) -> os.stat_result | None:
    """What is at a path, None when nothing is. :raises HostFilesClosed: it is another user's, or outside the root"""
    real = Path(os.path.realpath(path))
    if os.path.lexists(path) and not real.is_relative_to(root):
        raise HostFilesClosed(f"{path} is a link to {real}, outside of {root}; {WAY_OUT}", path)
    try:
        found = os.stat(real)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HostFilesClosed(f"{path} cannot be looked at: {error.strerror or error}", path) from error
    if found.st_uid != os.getuid():
        raise HostFilesClosed(f"{path} belongs to another user, number {found.st_uid}; it was left alone", path)
    return found
