"""Regular files, and whether a process runs. Neither pathlib nor contextlib: what a host starts imports this."""

from __future__ import annotations

import errno
import os
import stat


def open_regular(path: str | os.PathLike[str], *, follow_links: bool = True) -> int:
    """Open a regular file to read it; a pipe or a device of that name is never waited for.

    :raises OSError: it cannot be read, or is of another kind
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    handle = os.open(path, flags if follow_links else flags | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return handle


def create_new_private(path: str | os.PathLike[str]) -> int:
    """Create a file that only its owner may read, and open it to write. :raises FileExistsError: the name is taken"""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def is_process_running(pid: int) -> bool:
    """Check whether a process of that number exists, of whatever user. :raises OverflowError: there is no such number"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
