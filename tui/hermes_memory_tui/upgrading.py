"""Opening a file that hermes-memory 0.3.0 made: upgraded in place, or as an upgraded copy that is only read."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hermes_memory_store.copies import Progress
from hermes_memory_store.errors import StoreUnreadable
from hermes_memory_store.upgrade import upgrade
from hermes_memory_tui.memory import Memory


def upgraded_in_place(path: Path, theme: str, progress: Progress) -> Memory:
    """Upgrade the file, a verified backup beside it, and open it. :raises StoreError: the file is as it was then"""
    upgrade(path, theme=theme, progress=progress)
    return Memory.open(path)


def copy_for_reading(path: Path, theme: str, progress: Progress) -> Memory:
    """Open an upgraded copy for reading; the file is not touched, and the copy goes when the memory is closed."""
    folder = Path(tempfile.mkdtemp(prefix="hermes-memory-"))
    copy = folder / path.name
    try:
        for part in ("", "-wal"):
            if path.with_name(path.name + part).exists():
                shutil.copyfile(path.with_name(path.name + part), folder / (copy.name + part))
        upgrade(copy, theme=theme, progress=progress)
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
