"""Git's own files, read as data: where a repository lies, its HEAD, its branch, its remote. No process, no hook.

A folder may belong to anybody, so every file is bounded, must be a regular file, and is believed only where it has the
form that Git writes. What cannot be read is None; nothing here raises for an odd folder.
"""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from typing import NamedTuple

from hermes_memory_store.places.bounded_files import MAX_PARENTS, MAX_SMALL, open_regular, read_bounded, read_pointer

MAX_CONFIG = 1 << 20
"""Bytes of a configuration that is read: Git itself writes a few hundred, and one entry for each branch."""

MAX_UNSORTED = 4 << 20
"""Bytes of a `packed-refs` that is searched from its beginning, as old versions of Git wrote it."""

MAX_SYMREFS = 5
"""Refs that point to refs, as Git follows them."""

COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")

REF = re.compile(r"refs/(?!.*(?:\.\.|//|@\{))[^\x00-\x20\x7f~^:?*\[\\]+")

SECTION = re.compile(r'\[\s*(?P<name>[A-Za-z0-9.-]+)(?:\s+"(?P<sub>(?:[^"\\\n]|\\.)*)")?\s*\]')

ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


class Repository(NamedTuple):
    """Where a repository lies."""

    root: str
    """Its working tree; the folder itself where it is bare."""
    git_dir: str
    """The directory of this working tree: HEAD is there."""
    common: str
    """The directory that all its working trees share."""


class Head(NamedTuple):
    """What is checked out. `branch` without `commit` is a branch without a commit yet."""

    branch: str | None = None
    commit: str | None = None


def find_repository(folder: str) -> Repository | None:
    """Find the repository that a folder is in; `folder` is absolute and without symbolic links."""
    place = folder
    for _ in range(MAX_PARENTS):
        found = repository_at(place)
        if found is not None:
            return found
        parent = os.path.dirname(place)
        if parent == place:
            break
        place = parent
    return None


def repository_at(place: str) -> Repository | None:
    """Return the repository whose working tree, or bare directory, is this folder."""
    dotted = os.path.join(place, ".git")
    try:
        mode = os.stat(dotted).st_mode
    except (OSError, ValueError):
        return Repository(place, place, place) if is_git_directory(place) else None
    git_dir: str | None = dotted
    if not stat.S_ISDIR(mode):
        git_dir = read_pointer(dotted, place, b"gitdir:")
    if git_dir is None or not os.path.lexists(os.path.join(git_dir, "HEAD")):
        return None
    common = read_pointer(os.path.join(git_dir, "commondir"), git_dir, b"") or git_dir
    return Repository(place, os.path.realpath(git_dir), os.path.realpath(common))


def is_git_directory(place: str) -> bool:
    """Check whether a folder is itself what `.git` is elsewhere: a bare repository, or within `.git`."""
    return os.path.lexists(os.path.join(place, "HEAD")) and all(
        os.path.isdir(os.path.join(place, name)) for name in ("objects", "refs")
    )


def read_head(repository: Repository) -> Head:
    """Read the branch and the commit that are checked out."""
    path = os.path.join(repository.git_dir, "HEAD")
    try:
        text: bytes | None = b"ref: " + os.fsencode(os.readlink(path))  # as Git wrote it before 2005, and may still
    except (OSError, ValueError):
        text = read_bounded(path, MAX_SMALL)
    if text is None:
        return Head()
    if not text.startswith(b"ref:"):
        return Head(None, to_commit(text))
    name = text[4:].strip().decode("utf-8", "surrogateescape")
    if REF.fullmatch(name) is None or name == "refs/heads/.invalid":
        return Head()  # `.invalid` is what HEAD says where refs are kept in tables
    return Head(name.removeprefix("refs/heads/"), read_ref(repository, name))


def read_ref(repository: Repository, name: str) -> str | None:
    """Return the commit that a ref names; None where it has none yet."""
    for _ in range(MAX_SYMREFS):
        text = read_bounded(os.path.join(repository.common, os.fsdecode(name)), MAX_SMALL)
        if text is None:
            return find_packed_ref(os.path.join(repository.common, "packed-refs"), os.fsencode(name))
        if not text.startswith(b"ref:"):
            return to_commit(text)
        name = text[4:].strip().decode("utf-8", "surrogateescape")
        if REF.fullmatch(name) is None:
            return None
    return None


def to_commit(text: bytes) -> str | None:
    """Return the commit that a file of Git holds."""
    found = COMMIT.fullmatch(text.strip())
    return None if found is None else found[0].decode()


def find_packed_ref(path: str, name: bytes) -> str | None:
    """Find a ref among the packed ones: by bisection where they are sorted, whatever the size of the file."""
    handle = open_regular(path)
    if handle is None:
        return None
    with os.fdopen(handle, "rb") as file:
        first = file.readline(MAX_SMALL)
        if b" sorted" not in first:
            lines = (first + file.read(MAX_UNSORTED)).split(b"\n")
            return next((to_commit(line[: -len(name) - 1]) for line in lines if line.endswith(b" " + name)), None)
        low, high = file.tell(), os.fstat(handle).st_size
        while low < high:
            middle = (low + high) // 2
            file.seek(middle)
            if middle > low:
                file.readline(MAX_SMALL)  # the rest of a line that began before
            line = file.readline(MAX_SMALL)
            while line.startswith((b"^", b"#")):
                line = file.readline(MAX_SMALL)
            commit, _, ref = line.rstrip(b"\n").partition(b" ")
            if ref == name:
                return to_commit(commit)
            if not line or ref > name:
                high = middle
            else:
                low = file.tell()
    return None


def read_remote_url(common: str) -> str | None:
    """Return the URL of the remote `origin`, else of the first one; as it is written, with a password if it has one."""
    path = os.path.join(common, "config")
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return remote_url_of(path, info.st_mtime_ns, info.st_size, info.st_ino)


@lru_cache(maxsize=64)
def remote_url_of(path: str, _changed: int, _size: int, _inode: int) -> str | None:
    """Return the remote's URL of a configuration in this state of its file."""
    text = read_bounded(path, MAX_CONFIG)
    urls = {} if text is None else parse_remote_urls(text.decode("utf-8", "replace"))
    return urls.get("origin", next(iter(urls.values()), None))


def parse_remote_urls(text: str) -> dict[str, str]:
    """Parse the first URL of each remote from a configuration."""
    urls: dict[str, str] = {}
    remote: str | None = None
    for line in re.sub(r"\\\r?\n", "", text.removeprefix("\ufeff")).splitlines():
        rest = line.strip()
        found = SECTION.match(rest)
        if found is not None:
            section, _, dotted = found["name"].partition(".")
            sub = dotted if found["sub"] is None else re.sub(r"\\(.)", r"\1", found["sub"])
            remote = sub if section.lower() == "remote" and sub else None
            rest = rest[found.end() :].strip()
        key, equals, value = rest.partition("=")
        if remote is not None and equals and key.strip().lower() == "url":
            urls.setdefault(remote, parse_config_value(value))
    return {name: url for name, url in urls.items() if url}


def parse_config_value(text: str) -> str:
    """Parse what stands behind the equals sign: quotes, escapes and comments."""
    made, quoted, letters = [], False, iter(text.strip())
    for letter in letters:
        if letter == "\\":
            following = next(letters, "")
            made.append(ESCAPES.get(following, following))
        elif letter == '"':
            quoted = not quoted
        elif letter in "#;" and not quoted:
            break
        else:
            made.append(letter)
    return "".join(made).strip()
