"""Keeping a file of ours out of a repository: whether Git tracks its path, and the line of `info/exclude` that hides it.

Git's index is read as data and never changed. What cannot be told is an answer of its own: the caller then writes nothing.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from pathlib import Path

from hermes_memory_store.places.git_files import Repository, open_git_file, read_bounded
from hermes_memory_store.system.filesystem import atomic_write

MAX_EXCLUDE = 1 << 20
"""Bytes of an exclude file that is changed."""

MAX_INDEX = 256 << 20
"""Bytes of an index that is searched."""

STAT_BYTES = 40
"""What an entry of the index says of its file, before the object's name."""

HEADER_BYTES = 12

MAX_TAIL = 1 << 16
"""Bytes at the end of an index in which an extension would say that it is split."""

SHA256_CONFIG = re.compile(rb"^\s*objectformat\s*=\s*\"?sha256", re.IGNORECASE | re.MULTILINE)

NAME_MASK = 0x0FFF

EXTENDED = 0x4000

SPECIAL = re.compile(rb"([\\*?\[])")


def is_path_tracked(repository: Repository, path: Path) -> bool | None:
    """Check whether Git's index names a file, or a folder on the way to it; None where that cannot be told.

    :param path: absolute, within the working tree
    """
    handle = open_git_file(os.path.join(repository.git_dir, "index"))
    if handle is None:
        return None if os.path.lexists(os.path.join(repository.git_dir, "index")) else False
    try:
        size = os.fstat(handle).st_size
        if not HEADER_BYTES <= size <= MAX_INDEX:
            return None
        config = read_bounded(os.path.join(repository.common, "config"), MAX_EXCLUDE) or b""
        hash_bytes = 32 if SHA256_CONFIG.search(config) else 20
        with mmap.mmap(handle, size, access=mmap.ACCESS_READ) as index:
            return is_name_in_index(index, find_index_names(repository, path), hash_bytes)
    except (OSError, ValueError, IndexError):
        return None
    finally:
        os.close(handle)


def find_index_names(repository: Repository, path: Path) -> list[bytes]:
    """Return the names under which an index would hold a file: its own, and those of folders it has collapsed or linked."""
    parts = Path(os.path.relpath(path, repository.root)).parts
    folders = ["/".join(parts[: depth + 1]) for depth in range(len(parts) - 1)]
    return [os.fsencode(name) for name in ("/".join(parts), *folders, *(f"{name}/" for name in folders))]


def is_name_in_index(index: mmap.mmap, names: list[bytes], hash_bytes: int) -> bool | None:
    """Search an index for names; None where it is in parts, or of a form that is not known."""
    version = int.from_bytes(index[4:8])
    if index[:4] != b"DIRC" or version not in (2, 3, 4) or index.rfind(b"link", max(0, len(index) - MAX_TAIL)) >= 0:
        return None
    if version == 4:
        return any(name in names for name in iterate_shortened_names(index, hash_bytes))
    return any(has_entry(index, name) for name in names)


def iterate_shortened_names(index: mmap.mmap, hash_bytes: int) -> Iterator[bytes]:
    """Yield the names of an index of version 4, where each is told by what it does not share with the one before.

    :raises ValueError: the index ends too soon
    """
    at, name = HEADER_BYTES, b""
    for _ in range(int.from_bytes(index[8:HEADER_BYTES])):
        at += STAT_BYTES + hash_bytes
        at += 4 if int.from_bytes(index[at : at + 2]) & EXTENDED else 2
        byte = index[at]
        dropped = byte & 0x7F
        while byte & 0x80:
            at += 1
            byte = index[at]
            dropped = ((dropped + 1) << 7) | (byte & 0x7F)
        end = index.find(b"\0", at + 1)
        if end < 0 or dropped > len(name):
            raise ValueError("the index is cut off")
        name = name[: len(name) - dropped] + index[at + 1 : end]
        at = end + 1
        yield name


def has_entry(index: mmap.mmap, name: bytes) -> bool:
    """Check whether an index of version 2 or 3 has an entry of this name."""
    length = min(len(name), NAME_MASK)
    at = index.find(name + b"\0")
    while at >= 0:
        for back in (2, 4):  # version 3 may have two more bytes behind the length
            if at >= back and int.from_bytes(index[at - back : at - back + 2]) & NAME_MASK == length:
                return True
        at = index.find(name + b"\0", at + 1)
    return False


def is_repository_sound(repository: Repository) -> bool:
    """Check that a working tree belongs to the repository that it points to, before anything is written there.

    Its own `.git` folder does; a `.git` file does where the repository points back, as a linked working tree's does, or where
    it leads into the `.git` of a folder above, as a submodule's does.
    """
    root = os.path.realpath(repository.root)
    dotted = os.path.join(root, ".git")
    if os.path.isdir(dotted) and not os.path.islink(dotted):
        return repository.git_dir == dotted and repository.common == dotted
    back = read_bounded(os.path.join(repository.git_dir, "gitdir"), 4_096)
    if back is not None:
        return os.path.realpath(os.fsdecode(back.strip())) == os.path.realpath(dotted)
    parent, marked, _ = repository.git_dir.partition(f"{os.sep}.git{os.sep}")
    return bool(marked) and repository.git_dir == repository.common and root.startswith(parent + os.sep)


def to_exclude_line(repository: Repository, path: Path) -> bytes:
    """Return the pattern that names one file of a working tree and no other."""
    name = os.fsencode(Path(os.path.relpath(path, repository.root)).as_posix())
    return b"/" + SPECIAL.sub(rb"\\\1", name)


def find_exclude_file(repository: Repository) -> Path:
    """Return the file of patterns that a repository keeps for itself; all its working trees share it."""
    return Path(repository.common, "info", "exclude")


def exclude_path(repository: Repository, path: Path) -> bool:
    """Add a file's pattern to `info/exclude`; return whether it stands there. Nothing else of that file changes."""
    file = find_exclude_file(repository)
    line = to_exclude_line(repository, path)
    present = read_bounded(str(file), MAX_EXCLUDE)
    if present is None and os.path.lexists(file):
        return False
    text = present or b""
    if line in text.split(b"\n"):
        return True
    after = text + line + b"\n" if not text or text.endswith(b"\n") else text + b"\n" + line
    try:
        file.parent.mkdir(mode=0o755, exist_ok=True)
        with atomic_write(
            file, mode=file.stat().st_mode & 0o777 if present is not None else 0o644, durable=False
        ) as new:
            new.write(after)
    except OSError:
        return False
    return True


def remove_exclude_line(text: bytes, line: bytes) -> bytes:
    """Return an exclude file's text as it was before `exclude_path` added a line."""
    if text.endswith(b"\n" + line):
        return text[: -len(line) - 1]
    return b"".join(row for row in text.splitlines(keepends=True) if row.rstrip(b"\n") != line)
