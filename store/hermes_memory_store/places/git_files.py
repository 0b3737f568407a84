"""Git's own files, read as data: where a repository lies, its HEAD, its branches. No process, no hook, no configuration.

A folder may belong to anybody, so every file is bounded, must be a regular file, and is believed only where it has the
form that Git writes. What cannot be read is None; nothing here raises for an odd folder. A host starts programs that read
this at each event: it imports nothing but `os`, `stat` and what opens a file.
"""

from __future__ import annotations

import os
import stat

from hermes_memory_store.system.file_handles import open_regular

MAX_SMALL = 4_096
"""Bytes of HEAD, of a ref, and of the files that point to a directory."""

MAX_PARENTS = 100
"""Folders above one that are looked at."""

MAX_UNSORTED = 4 << 20
"""Bytes of a `packed-refs` that is searched from its beginning, as old versions of Git wrote it."""

MAX_SHALLOW = 1 << 20
"""Bytes of the list of commits at which a shallow clone ends."""

LAST_LOGGED, LAST_STEPS = 2_048, 5
"""Bytes at the end of the log of HEAD, and steps, in which is looked for what was worked on last."""

MAX_SYMREFS = 5
"""Refs that point to refs, as Git follows them."""

MAX_REMOTES = 8
"""Remotes that are looked through for a branch."""

MAX_LISTED = 2
"""Local branches that are counted: a repository with one branch has no other default."""

USUAL_DEFAULTS = ("main", "master", "trunk")
"""Branches that are the default one of a project of which nothing was looked at here."""

HEX_DIGITS = frozenset(b"0123456789abcdef")

COMMIT_LENGTHS = (40, 64)
"""Digits of a SHA-1 and of a SHA-256."""

NOT_IN_REFS = frozenset("\x7f~^:?*[\\")


class Repository:
    __slots__ = ("common", "git_dir", "root")

    def __init__(self, root: str, git_dir: str, common: str) -> None:
        """:param root: its working tree; the folder itself where it is bare
        :param git_dir: the directory of this working tree, where HEAD is
        :param common: the directory that all its working trees share
        """
        self.root, self.git_dir, self.common = root, git_dir, common


def read_bounded(path: str, most: int) -> bytes | None:
    """Read a regular file of at most so many bytes; None where there is no such file, or a longer one."""
    handle = open_git_file(path)
    if handle is None:
        return None
    try:
        text = os.read(handle, most + 1)
    except OSError:
        return None
    finally:
        os.close(handle)
    return None if len(text) > most else text


def open_git_file(path: str) -> int | None:
    try:
        return open_regular(path)
    except (OSError, ValueError):
        return None


def read_pointer(path: str, base: str, prefix: bytes) -> str | None:
    """Return the directory that a file of Git names, relative to `base`."""
    text = read_bounded(path, MAX_SMALL)
    if text is None or not text.startswith(prefix):
        return None
    target = os.fsdecode(text[len(prefix) :].strip(b" \r\n"))
    return os.path.normpath(os.path.join(base, target)) if target and "\0" not in target else None


def find_repository(folder: str) -> Repository | None:
    """Find the repository that a folder is in; `folder` is absolute and without symbolic links."""
    for _ in range(MAX_PARENTS):
        repository = repository_at(folder)
        if repository is not None:
            return repository
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return None


def repository_at(place: str) -> Repository | None:
    """Return the repository whose working tree, or bare directory, is this folder."""
    dotted = os.path.join(place, ".git")
    try:
        mode = os.stat(dotted).st_mode
    except (OSError, ValueError):  # a bare repository, or within `.git`
        is_bare = os.path.lexists(os.path.join(place, "HEAD")) and all(
            os.path.isdir(os.path.join(place, name)) for name in ("objects", "refs")
        )
        return Repository(place, place, place) if is_bare else None
    git_dir = dotted if stat.S_ISDIR(mode) else read_pointer(dotted, place, b"gitdir:")
    if git_dir is None or not os.path.lexists(os.path.join(git_dir, "HEAD")):
        return None
    common = read_pointer(os.path.join(git_dir, "commondir"), git_dir, b"") or git_dir
    return Repository(place, os.path.realpath(git_dir), os.path.realpath(common))


def is_nowhere(path: str) -> bool:
    """Check whether a folder is where programs are started that work in no project: `/`, or the user's home."""
    return path in ("/", os.path.realpath(os.path.expanduser("~")))


def read_mark(common: str) -> str | None:
    """Return what a repository's directory keeps where it is moved, and no copy has: device, number, and when it was made.

    None where Git wrote no `description` into it, the one file that it never writes again.
    """
    try:
        folder, made = os.stat(common), os.stat(os.path.join(common, "description"))
    except (OSError, ValueError):
        return None
    return f"{folder.st_dev}:{folder.st_ino}:{made.st_mtime_ns}"


def read_head(repository: Repository) -> tuple[str | None, str | None]:
    """Return the branch and the commit that are checked out; a branch without a commit has none yet."""
    path = os.path.join(repository.git_dir, "HEAD")
    try:
        text: bytes | None = b"ref: " + os.fsencode(os.readlink(path))  # as Git wrote it before 2005, and may still
    except (OSError, ValueError):
        text = read_bounded(path, MAX_SMALL)
    if text is None:
        return None, None
    if not text.startswith(b"ref:"):
        return None, to_commit(text)
    name = to_ref_name(text)
    if name is None or name == "refs/heads/.invalid":
        return None, None  # `.invalid` is what HEAD says where refs are kept in tables
    return name.removeprefix("refs/heads/"), read_ref(repository, name)


def read_ref(repository: Repository, name: str) -> str | None:
    """Return the commit that a ref names; None where it has none yet."""
    target: str | None = name
    for _ in range(MAX_SYMREFS):
        if target is None:
            break
        text = read_bounded(os.path.join(repository.common, os.fsdecode(target)), MAX_SMALL)
        if text is None:
            return find_packed_ref(os.path.join(repository.common, "packed-refs"), os.fsencode(target))
        if not text.startswith(b"ref:"):
            return to_commit(text)
        target = to_ref_name(text)
    return None


def to_ref_name(text: bytes) -> str | None:
    """Return the name of the ref that a file of Git points to, `ref: refs/heads/main`."""
    name = text[4:].strip().decode("utf-8", "surrogateescape")
    return name if is_ref_name(name) else None


def is_ref_name(name: str) -> bool:
    """Check whether this is the name of a ref, and a path below `refs`."""
    rest = name.removeprefix("refs/")
    return (
        name.startswith("refs/")
        and bool(rest)
        and not any(part in rest for part in ("..", "//", "@{"))
        and not any(letter <= " " or letter in NOT_IN_REFS for letter in rest)
    )


def to_commit(text: bytes) -> str | None:
    text = text.strip()
    return text.decode() if len(text) in COMMIT_LENGTHS and HEX_DIGITS.issuperset(text) else None


def find_packed_ref(path: str, name: bytes) -> str | None:
    """Find a ref among the packed ones: by bisection where they are sorted, whatever the size of the file."""
    handle = open_git_file(path)
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


def find_default_branch(repository: Repository) -> str | None:
    """Find the name of the default branch: that of the remote `origin`, else one of the usual names, else the only one."""
    text = read_bounded(os.path.join(repository.common, "refs/remotes/origin/HEAD"), MAX_SMALL)
    if text is not None and text.startswith(b"ref:"):
        name = text[4:].strip().decode("utf-8", "surrogateescape").removeprefix("refs/remotes/origin/")
        if is_branch_name(name) and read_ref(repository, f"refs/remotes/origin/{name}") is not None:
            return name
    for name in USUAL_DEFAULTS:
        if read_branch_tip(repository, name) is not None:
            return name
    if os.path.lexists(os.path.join(repository.common, "packed-refs")):
        return None
    names = list_folder(os.path.join(repository.common, "refs/heads"), MAX_LISTED)
    loose = [name for name in names if read_ref(repository, f"refs/heads/{name}") is not None]
    return loose[0] if len(loose) == 1 else None


def read_default_tips(repository: Repository, name: str) -> tuple[str, ...]:
    """Return the commits at which the default branch ends: the local one, and that of the remote `origin`."""
    tips = (read_ref(repository, f"{place}/{name}") for place in ("refs/heads", "refs/remotes/origin"))
    return tuple(dict.fromkeys(tip for tip in tips if tip is not None))


def read_branch_tip(repository: Repository, name: str) -> str | None:
    """Return the commit at which a branch ends, the local one or else that of a remote; None where there is none."""
    if not is_branch_name(name):
        return None
    tip = read_ref(repository, f"refs/heads/{name}")
    if tip is not None:
        return tip
    remotes = list_folder(os.path.join(repository.common, "refs/remotes"), MAX_REMOTES)
    places = (f"refs/remotes/{remote}/{name}" for remote in dict.fromkeys(("origin", *remotes)))
    return next((tip for place in places if (tip := read_ref(repository, place)) is not None), None)


def read_branch_birth(repository: Repository, name: str) -> str | None:
    """Return the commit at which a local branch began, by the first line of its log; None where that is not known."""
    if not is_branch_name(name):
        return None
    handle = open_git_file(os.path.join(repository.common, "logs/refs/heads", os.fsdecode(os.fsencode(name))))
    if handle is None:
        return None
    with os.fdopen(handle, "rb") as file:
        words = file.readline(MAX_SMALL).split(b" ", 2)
    return to_commit(words[1]) if len(words) == 3 and not words[0].strip(b"0") else None


def read_last_work(folder: str) -> str:
    """Return what the log of HEAD says of its last steps: subjects of commits, branches that were checked out."""
    repository = find_repository(folder)
    handle = open_git_file(os.path.join(repository.git_dir, "logs/HEAD")) if repository is not None else None
    if handle is None:
        return ""
    with os.fdopen(handle, "rb") as file:
        file.seek(max(0, os.fstat(handle).st_size - LAST_LOGGED))
        lines = file.read(LAST_LOGGED).decode("utf-8", "replace").splitlines()
    steps = [line.partition("\t")[2].partition(": ")[2] for line in lines]
    return "\n".join(steps[-LAST_STEPS:])


def is_branch_name(name: str) -> bool:
    """Check whether this can be the name of a branch, and its ref a path below `refs/heads`."""
    return bool(name) and is_ref_name(f"refs/heads/{name}")


def list_folder(folder: str, most: int) -> list[str]:
    """Return up to `most` names in a folder that can be parts of a ref."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(most), strict=False)]
    except OSError:
        return []
    return [name for name in sorted(names) if is_branch_name(name)]


def read_shallow_ends(common: str) -> list[str]:
    """Return the commits at which a shallow clone ends; none where the history is whole."""
    text = read_bounded(os.path.join(common, "shallow"), MAX_SHALLOW) or b""
    return [commit for line in text.split() if (commit := to_commit(line)) is not None]
