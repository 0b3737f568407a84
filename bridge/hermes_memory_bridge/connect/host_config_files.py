"""Hosts' configuration files: read, backed up and replaced, byte for byte as their owner keeps them, all or none."""

from __future__ import annotations

import contextlib
import difflib
import glob
import itertools
import os
import shutil
import stat
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_store.errors import StoreError
from hermes_memory_store.system.file_handles import create_new_private
from hermes_memory_store.system.filesystem import atomic_write


class HostFileError(StoreError):
    """A host's configuration file cannot be read or changed; it was left unchanged."""

    code = "host.unreadable"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change to one file, as bytes. Nothing is written by making one."""

    path: Path
    before: bytes | None
    """None where no such file exists."""
    after: bytes | None
    """None removes the file, and the folders that its removal leaves empty."""

    @property
    def is_needed(self) -> bool:
        return self.before != self.after

    def show(self) -> None:
        sys.stdout.writelines(self.diff())

    def diff(self) -> Iterator[str]:
        before, after = ((content or b"").decode().splitlines(keepends=True) for content in (self.before, self.after))
        return difflib.unified_diff(before, after, str(self.path), str(self.path))


def to_file_change(path: Path, after: bytes | None) -> FileChange:
    """Return the change that gives a file this content. :raises OSError: the file exists and cannot be read"""
    try:
        before = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        before = None
    return FileChange(path, before, after)


class FileEdits:
    """Edits of several files, one after the other; nothing is written."""

    def __init__(self) -> None:
        self._texts: dict[Path, str | None] = {}

    def read(self, file: Path) -> str:
        """Return a file's text as edited so far; empty when there is none. :raises HostFileError: it cannot be read"""
        if file not in self._texts:
            return read_host_config(file)
        return self._texts[file] or ""

    def write(self, file: Path, text: str | None) -> None:
        """Note what a file is to hold; None removes it."""
        self._texts[file] = text

    def copy(self) -> FileEdits:
        copied = FileEdits()
        copied._texts = dict(self._texts)
        return copied

    def is_edited(self, file: Path) -> bool:
        """Check whether a file is to hold something else than it does."""
        return file in self._texts and (self._texts[file] or "") != read_host_config(file)

    def to_changes(self) -> list[FileChange]:
        """Return the changes that are needed. :raises HostFileError: a file cannot be read, or cannot hold a path of ours"""
        try:
            changes = [
                to_file_change(file, None if text is None else text.encode()) for file, text in self._texts.items()
            ]
        except OSError as error:
            raise HostFileError(
                f"{error.filename} cannot be read: {error.strerror or error}", error.filename
            ) from error
        except UnicodeEncodeError as error:
            path = error.object[: error.end].splitlines()[-1].strip()
            raise HostFileError(
                "no host's file can hold a path that is no UTF-8; choose another with --db", path
            ) from error
        return [change for change in changes if change.is_needed]


def read_host_config(file: Path) -> str:
    """Return the file's text; empty when there is none. :raises HostFileError: it cannot be read"""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise HostFileError(f"{file} is no file; move it away, and try again", file)
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise HostFileError(f"{file} cannot be read: {error}", file) from error


def replace_host_config(file: Path, text: str) -> Path | None:
    """Replace the file atomically, following links; return the path of the backup."""
    target = file.resolve()
    backup = None
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if target.exists():
            backup = back_up_host_config(target)
        write_host_config(target, text.encode())
    except OSError as error:
        if backup is not None:
            backup.unlink(missing_ok=True)
        raise HostFileError(f"{target} cannot be written: {error.strerror or error}", target) from error
    return backup


def write_host_config(file: Path, content: bytes) -> None:
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    with atomic_write(file, mode=mode) as new:
        new.write(content)


def apply_file_changes(changes: Sequence[FileChange], *, without_backup: Collection[Path] = ()) -> dict[Path, Path]:
    """Write every change, or none: what was written is put back when a later one fails. Return the backups by file.

    :param without_backup: files of our own, which nobody else writes
    :raises HostFileError: a file cannot be written, or is another one than was shown; every file is as it was
    """
    backups: dict[Path, Path] = {}
    written: list[tuple[FileChange, list[Path]]] = []
    try:
        for change in changes:
            folders = [folder for folder in change.path.resolve().parents if not folder.exists()]  # innermost first
            written.append((change, folders))
            backup = apply_file_change(change)
            if backup is not None:
                backups[change.path] = backup
        for path in [path for path in backups if path in without_backup]:
            backups.pop(path).unlink(missing_ok=True)
    except HostFileError as error:
        for change, folders in reversed(written):
            put_back_file(change, folders, backups.get(change.path))
        raise HostFileError(f"{error}; no file was changed", error.value) from error
    return backups


def apply_file_change(change: FileChange) -> Path | None:
    """Write one change; return the path of the backup. :raises HostFileError: the file is not as it was, or not writable"""
    try:
        current = change.path.read_bytes() if change.path.exists() else None
    except OSError as error:
        raise HostFileError(f"{change.path} cannot be read: {error.strerror or error}", change.path) from error
    if current != change.before:
        raise HostFileError(f"{change.path} was changed meanwhile; try again", change.path)
    if change.after is not None:
        return replace_host_config(change.path, change.after.decode())
    target = change.path.resolve()
    try:
        target.unlink(missing_ok=True)
        for folder in target.parents:
            if any(folder.samefile(root) for root in (Path.home(), Path.cwd())) or any(folder.iterdir()):
                break
            folder.rmdir()
    except OSError as error:
        raise HostFileError(f"{target} cannot be removed: {error.strerror or error}", target) from error
    return None


def put_back_file(change: FileChange, folders: Sequence[Path], backup: Path | None) -> None:
    """Give a file its former content, as far as that is possible, and remove the backup and the folders made for it."""
    target = change.path.resolve()
    with contextlib.suppress(OSError):
        current = target.read_bytes() if target.exists() else None
        if current == change.after != change.before:
            if change.before is None:
                target.unlink()
            else:
                write_host_config(target, change.before)
        if backup is not None:
            backup.unlink(missing_ok=True)
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def was_made_by_us(file: Path) -> bool:
    """Check whether no backup of a file predates what we put into it: our name, which stands in all of that."""
    copies = file.resolve().parent.glob(f"{glob.escape(file.resolve().name)}.*.bak")
    return all(b"hermes-memory" in copy.read_bytes() for copy in copies)


def back_up_host_config(file: Path) -> Path:
    """Copy a file beside itself under an unused name. :raises OSError: it cannot be copied"""
    stamp = time.strftime("%Y%m%dT%H%M%S")
    for number in itertools.count(1):
        backup = file.with_name(f"{file.name}.{stamp}{'' if number == 1 else f'-{number}'}.bak")
        try:
            handle = create_new_private(backup)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as copy:
            copy.write(file.read_bytes())
        shutil.copystat(file, backup)
        return backup
    raise AssertionError
