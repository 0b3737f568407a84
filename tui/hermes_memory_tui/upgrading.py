"""Opening a file of another version: upgraded in place, or as an upgraded copy that is only read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hermes_memory_store.copies import Progress
from hermes_memory_store.errors import StoreUnreadable
from hermes_memory_store.store import copy_brought_up
from hermes_memory_store.upgrade import upgrade
from hermes_memory_tui.memory import Memory


def upgraded_in_place(path: Path, theme: str, progress: Progress) -> Memory:
    """Upgrade the file, a verified backup beside it, and open it. :raises StoreError: the file is as it was then"""
    upgrade(path, theme=theme, progress=progress)
    return Memory.open(path)


def copy_for_reading(path: Path, theme: str, progress: Progress) -> Memory:
    """Open an upgraded copy of a hermes-memory 0.3.0 file for reading. :raises StoreError:"""

    def make(copy: Path) -> None:
        for part in ("", "-wal"):
            if path.with_name(path.name + part).exists():
                shutil.copyfile(path.with_name(path.name + part), copy.with_name(copy.name + part))
        upgrade(copy, theme=theme, progress=progress)

    return opened_copy(path, make)


def older_for_reading(path: Path) -> Memory:
    """Open a migrated copy of a store of an older version for reading. :raises StoreError:"""
    return opened_copy(path, lambda copy: copy_brought_up(path, copy))


def opened_copy(path: Path, make: Callable[[Path], None]) -> Memory:
    """Make a copy and open it for reading; the file is not touched, and the copy goes when the memory is closed."""
    folder = Path(tempfile.mkdtemp(prefix="hermes-memory-"))
    copy = folder / path.name
    try:
        make(copy)
        memory = Memory.open(copy, read_only=True)
    except OSError as error:
        shutil.rmtree(folder)
        raise StoreUnreadable(f"{path} cannot be copied for reading: {error.strerror or error}", path) from error
    except BaseException:
        shutil.rmtree(folder)
        raise
    memory.on_close = lambda: shutil.rmtree(folder)
    memory.shown_path = path
    return memory
