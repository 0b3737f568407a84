"""Small files of a folder that may be anybody's: bounded, regular, and never waited for."""

from __future__ import annotations

import os
import stat

MAX_SMALL = 4_096
"""Bytes of HEAD, of a ref, and of the files that point to a directory."""

MAX_PARENTS = 100
"""Folders above one that are looked at."""


def read_bounded(path: str, most: int) -> bytes | None:
    """Read a regular file of at most so many bytes; None where there is no such file, or a longer one."""
    handle = open_regular(path)
    if handle is None:
        return None
    try:
        text = os.read(handle, most + 1)
    except OSError:
        return None
    finally:
        os.close(handle)
    return None if len(text) > most else text


def open_regular(path: str) -> int | None:
    """Open a regular file; a pipe or a device of that name is never waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def read_pointer(path: str, base: str, prefix: bytes) -> str | None:
    """Return the directory that a file of Git names, relative to `base`."""
    text = read_bounded(path, MAX_SMALL)
    if text is None or not text.startswith(prefix):
        return None
    target = os.fsdecode(text[len(prefix) :].strip(b" \r\n"))
    return os.path.normpath(os.path.join(base, target)) if target and "\0" not in target else None


def read_mark(common: str) -> str | None:
    """Return what a repository's directory keeps where it is moved, and no copy has: device, number, and when it was made.

    None where Git wrote no `description` into it, the one file that it never writes again.
    """
    try:
        folder, made = os.stat(common), os.stat(os.path.join(common, "description"))
    except (OSError, ValueError):
        return None
    return f"{folder.st_dev}:{folder.st_ino}:{made.st_mtime_ns}"
