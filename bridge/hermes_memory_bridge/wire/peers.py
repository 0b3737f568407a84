"""The peer of a unix socket, and who may write to its folder: reported by the system, which a peer cannot forge.

Both ends check. The bridge rejects processes of other users; a client makes sure, before it sends anything, that
the listener is this user's and that nobody else can put a socket in its place. Root is no exception either way: a
listener of root is refused, since the bridge of this user's store never runs as root. Standard library only, and
little of that: the shim imports it, and the provider gets a copy of this file where it is installed
(`connect/provider_install.py`).
"""

from __future__ import annotations

import os
import socket
import stat
import sys

LOCAL_PEERCRED = 1
"""macOS and the BSDs (`sys/un.h`); Linux has SO_PEERCRED."""

LOCAL_PEERPID = 2
"""macOS alone: the process id, which its credentials do not contain."""

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class ForeignSocket(PermissionError):
    """A socket or its folder is not exclusively this user's; nothing was sent. The message says how to fix it."""


class Peer:
    """A process on this machine. `pid` is None when the system does not tell."""

    __slots__ = ("pid", "uid")

    def __init__(self, uid: int, pid: int | None) -> None:
        self.uid = uid
        self.pid = pid


def connect_own_socket(made: socket.socket, path: str) -> None:
    """Connect to a socket of this user's own.

    :raises ForeignSocket: it is not, or somebody else can write to its folder
    :raises OSError: nobody is listening
    """
    check_private_folders(path)
    made.connect(path)
    check_socket_listener(made, path)


def find_peer(connected: socket.socket) -> Peer:
    """Return the process at the other end. :raises OSError: the system does not tell"""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)  # struct ucred: pid, uid, gid
        return Peer(int.from_bytes(credentials[4:8], sys.byteorder), int.from_bytes(credentials[:4], sys.byteorder))
    credentials = connected.getsockopt(0, LOCAL_PEERCRED, 76)  # struct xucred: version, uid, groups
    pid = connected.getsockopt(0, LOCAL_PEERPID) if sys.platform == "darwin" else None
    return Peer(int.from_bytes(credentials[4:8], sys.byteorder), pid)


def check_socket_listener(connected: socket.socket, path: str) -> None:
    """Check the listener. :raises ForeignSocket: the process that listens at `path` runs as another user"""
    uid = find_peer(connected).uid
    if uid != os.getuid():
        raise ForeignSocket(
            f"the process that listens at {path} runs as user {uid}, not as you (user {os.getuid()}); nothing was sent. "
            f"Stop it, or remove {os.path.dirname(path)} and start your own bridge"
        )


def check_private_folders(path: str) -> None:
    """Check the folders above a socket, as `check_private_folder` does each."""
    for folder in find_private_folders(path):
        check_private_folder(folder)


def check_private_folder(folder: str) -> None:
    """Check a socket's folder.

    :raises ForeignSocket: it is no folder, a link, another user's, or others may write to it
    :raises FileNotFoundError: it does not exist
    """
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        problem = "is a link" if stat.S_ISLNK(status.st_mode) else "is no folder"
    elif status.st_uid != os.getuid():
        problem = f"belongs to user {status.st_uid}, not to you (user {os.getuid()})"
    elif status.st_mode & OTHERS_WRITE:
        problem = f"can be written by others (mode {stat.S_IMODE(status.st_mode):o})"
    else:
        return
    raise ForeignSocket(
        f"{folder} {problem}; nothing was sent. Remove it, or have its owner do so, or keep the store in a folder of your own "
        "with a shorter path"
    )


def make_private_folders(path: str) -> None:
    """Create the folders for a socket of this user's own, accessible to this user alone.

    :raises ForeignSocket: one exists already and is not this user's, or others may write to it
    """
    folders = find_private_folders(path)
    os.makedirs(os.path.dirname(folders[0]), mode=0o700, exist_ok=True)
    for folder in folders:
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            check_private_folder(folder)
            os.chmod(folder, 0o700)


def find_private_folders(path: str) -> tuple[str, ...]:
    """Return the folders above a socket that must be this user's alone.

    The socket's own folder and, in /tmp, this user's folder around it.
    """
    folder = os.path.dirname(path)
    around = os.path.dirname(folder)
    return (around, folder) if os.path.basename(around) == f"hermes-memory-{os.getuid()}" else (folder,)
