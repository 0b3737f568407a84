"""Hosts' configuration files: read, backed up and replaced, byte for byte as their owner keeps them."""

from __future__ import annotations

import itertools
import os
import shutil
import time
from pathlib import Path

from hermes_memory_store.database.filesystem import atomic_write
from hermes_memory_store.errors import StoreError


class HostFileError(StoreError):
    """A host's configuration file cannot be read or changed; it was left unchanged."""

    code = "host.unreadable"


def read_host_config(file: Path) -> str:
    """Return the file's text; empty when there is none.

    :raises HostFileError: it cannot be read
    """
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise HostFileError(f"{file} cannot be read: {error}", file) from error


def replace_host_config(file: Path, text: str) -> Path | None:
    """Replace the file atomically, following links and keeping its mode; return the path of the backup."""
    target = file.resolve()
    kept = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o600
        if target.exists():
            mode = target.stat().st_mode & 0o777
            kept = back_up_host_config(target)
        with atomic_write(target, mode=mode) as new:
            new.write(text.encode())
    except OSError as error:
        raise HostFileError(f"{target} cannot be written: {error.strerror or error}", target) from error
    return kept


def back_up_host_config(file: Path) -> Path:
    """Copy a file beside itself under an unused name.

    :raises OSError: it cannot be copied
    """
    stamp = time.strftime("%Y%m%dT%H%M%S")
    for number in itertools.count(1):
        kept = file.with_name(f"{file.name}.{stamp}{'' if number == 1 else f'-{number}'}.bak")
        try:
            handle = os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as copy:
            copy.write(file.read_bytes())
        shutil.copystat(file, kept)
        return kept
    raise AssertionError
