"""Open a file of another version: upgraded in place, or as an upgraded read-only copy."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hermes_memory_bridge.trust import open_store_vault
from hermes_memory_store.database.database_copies import Progress
from hermes_memory_store.errors import StoreUnreadable
from hermes_memory_store.files.upgrade_hermes_030 import upgrade_hermes_030
from hermes_memory_store.store import copy_migrated
from hermes_memory_tui.model.memory import Memory


def open_upgraded_in_place(path: Path, theme: str, progress: Progress) -> Memory:
    """Upgrade the file in place, with a verified backup next to it, and open it.

    :raises StoreError: the file is unchanged in that case
    """
    upgrade_hermes_030(path, theme=theme, vault=open_store_vault(path), progress=progress)
    return Memory.open(path)


def open_upgraded_copy(path: Path, theme: str, progress: Progress) -> Memory:
    """Open an upgraded copy of a hermes-memory 0.3.0 file read-only. :raises StoreError:"""

    def make(copy: Path) -> None:
        for part in ("", "-wal"):
            if path.with_name(path.name + part).exists():
                shutil.copyfile(path.with_name(path.name + part), copy.with_name(copy.name + part))
        upgrade_hermes_030(copy, theme=theme, progress=progress)

    return open_temporary_copy(path, make)


def open_migrated_copy(path: Path) -> Memory:
    """Open a migrated copy of a store of an older version read-only. :raises StoreError:"""
    return open_temporary_copy(path, lambda copy: copy_migrated(path, copy))


def open_temporary_copy(path: Path, make: Callable[[Path], None]) -> Memory:
    """Open a temporary copy read-only; the file is not touched, and the copy is deleted when the memory is closed."""
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
