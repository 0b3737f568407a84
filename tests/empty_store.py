"""An empty store to be copied: that takes a tenth of the time that creating one takes."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from hermes_memory_store.store import Store


@functools.cache
def empty_store() -> bytes:
    """The file, created once in a process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        Store.open(path).close()
        return path.read_bytes()


def put_empty_store(path: Path) -> Path:
    """Put a store without anything in it where none is, for its owner alone."""
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(empty_store())
    return path
