"""Access control for MEMORY.md and USER.md.

A connection may have only those of the hermes profile relieved that its host runs with. A token grants access to
facts, never to files, and a TCP client has no host on this machine. On this user's own sockets the greeting may
name a profile, but the name alone proves nothing: it must be the bridge's own `$HERMES_HOME`, `~/.hermes`, the
`$HERMES_HOME` the system reports for the peer process, or a profile below one of them. The folder and the files
must belong to this user, and no link may lead out of it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_store.errors import StoreError
from hermes_memory_store.host_files.memory_files import find_memory_files, hermes_home

MEMORY_FILES = ("MEMORY.md", "USER.md")

VARIABLE = "HERMES_HOME"

PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]*")
"""A profile's name, as hermes-agent allows it."""

REMEDY = "the person whose files they are runs `hermes-memory-tui optimize`"


class HostFilesDenied(StoreError):
    """The connection may not access the host's files; none of them was read."""

    code = "access.denied"


def check_file_access(connection: Connection, files: Collection[str]) -> None:
    """Check that a connection may access files of its host at all; which, its profile decides.

    :param files: their names
    :raises HostFilesDenied: it presented a token, or came over the port
    """
    if connection.credential is not None:
        raise HostFilesDenied(f"a token opens no {' and no '.join(files)}; {REMEDY}", connection.credential)
    if connection.transport == "tcp":
        raise HostFilesDenied(f"{' and '.join(files)} are not reached over the port; {REMEDY}", connection.transport)


def find_host_profile(connection: Connection) -> Path:
    """Return the checked folder of the host's profile. :raises HostFilesDenied: this connection may not access it"""
    check_file_access(connection, MEMORY_FILES)
    home = connection.home or find_default_profile(connection)
    root = find_host_root(home, connection)
    for path in (home, home / "memories"):
        check_host_folder(path, root)
    for file in find_memory_files(home):
        check_host_file(file.path, root)
    return home


def find_default_profile(connection: Connection) -> Path:
    """Return the profile of a host that names none.

    On the line socket this means that the host has no `$HERMES_HOME`; the bridge's own belongs to whichever host
    started it.
    """
    environ = dict(os.environ)
    if connection.transport == "line":
        environ.pop(VARIABLE, None)
    return hermes_home(environ)


def find_host_root(home: Path, connection: Connection) -> Path:
    """Return the host's root folder that contains a profile, links resolved.

    :raises HostFilesDenied: no root contains it
    """
    if home.is_absolute() and "\0" not in str(home):
        real = Path(os.path.realpath(home))
        for root in find_host_roots(connection):
            if real == root or (real.parent == root / "profiles" and PROFILE.fullmatch(real.name)):
                return root
    raise HostFilesDenied(
        f"{home} is not the HERMES_HOME that the host at the other end runs with, nor a profile of it; "
        f"start the host with it, or {REMEDY}",
        home,
    )


def find_host_roots(connection: Connection) -> Iterator[Path]:
    """Return the possible root folders, links resolved: the bridge's, this user's and the peer process's."""
    named = [os.environ.get(VARIABLE, ""), find_peer_home(connection.pid), str(Path.home() / ".hermes")]
    for name in filter(os.path.isabs, named):
        real = Path(os.path.realpath(name))
        yield real.parent.parent if real.parent.name == "profiles" else real


def find_peer_home(pid: int | None) -> str:
    """Return `$HERMES_HOME` of a process as the system reports it; empty when the system does not tell."""
    import psutil  # here, not above: only the relief of files asks

    if not pid:
        return ""
    try:
        home: str = psutil.Process(pid).environ().get(VARIABLE, "")
    except (psutil.Error, OSError):
        return ""
    return home


def check_host_folder(folder: Path, root: Path) -> None:
    """Check a host folder if it exists.

    :raises HostFilesDenied: others can write to it, or it lies outside the root
    """
    status = stat_within_root(folder, root)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        raise HostFilesDenied(f"{folder} is no folder", folder)
    is_shared = status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and status.st_gid != os.getgid())
    if is_shared:
        raise HostFilesDenied(f"others may write in {folder}; take that right away: chmod go-w {folder}", folder)


def check_host_file(file: Path, root: Path) -> None:
    """Check a host file if it exists.

    :raises HostFilesDenied: it is no regular file of this user, or lies outside the root
    """
    status = stat_within_root(file, root)
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise HostFilesDenied(f"{file} is no plain file", file)


def stat_within_root(path: Path, root: Path) -> os.stat_result | None:
    """Return the stat of a path, None when nothing exists.

    :raises HostFilesDenied: another user's, or outside the root
    """
    real = Path(os.path.realpath(path))
    if os.path.lexists(path) and not real.is_relative_to(root):
        raise HostFilesDenied(f"{path} is a link to {real}, outside of {root}; {REMEDY}", path)
    try:
        status = os.stat(real)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HostFilesDenied(f"{path} cannot be looked at: {error.strerror or error}", path) from error
    if status.st_uid != os.getuid():
        raise HostFilesDenied(f"{path} belongs to another user, number {status.st_uid}; it was left alone", path)
    return status
