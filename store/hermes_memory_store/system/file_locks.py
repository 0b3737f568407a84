"""Locks on files and folders, which the system releases with the process that holds them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager


def open_lock(path: str | os.PathLike[str]) -> int:
    """Open a lock file, and create one that only its owner may read. :raises OSError:"""
    return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)


def try_lock(handle: int) -> bool:
    """Lock a file or folder unless another handle has it locked; return whether it is ours."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def share_lock(handle: int) -> None:
    fcntl.flock(handle, fcntl.LOCK_SH)


@contextmanager
def exclusive_lock(handle: int) -> Iterator[None]:
    """Wait for the lock on a file or folder and hold it for a block, which closes the handle."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def exclusive_folder_lock(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a lock on a folder itself, which leaves no file behind. :raises OSError:"""
    with exclusive_lock(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)):
        yield
