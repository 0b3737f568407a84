"""A disk that a test fills: a file system in memory of a few megabytes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, options: str = "size=4m") -> Iterator[Path]:
    """Mount a disk on a new folder until the block ends; skips the test where this user may mount nothing."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user cannot mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_disk(folder: Path) -> Path:
    """Fill a disk to its last byte; return the file that does."""
    filler = folder / "filler"
    for size in (1 << 16, 1):  # the last page of a disk is filled by the byte
        with suppress(OSError), filler.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(size))
    return filler


def use_up_names(folder: Path) -> None:
    """Make empty files until the disk takes no more."""
    with suppress(OSError):
        for number in range(10_000):
            (folder / f"name{number}").touch()
