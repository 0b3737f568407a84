"""The branches of a repository, read from its files: the default branch, where each ends, and where each began."""

from __future__ import annotations

import os

from hermes_memory_store.places.bounded_files import MAX_SMALL, open_regular, read_bounded
from hermes_memory_store.places.branch_marks import USUAL_DEFAULTS
from hermes_memory_store.places.git_files import COMMIT, REF, Repository, read_ref

MAX_REMOTES = 8
"""Remotes that are looked through for a branch."""

MAX_LISTED = 2
"""Local branches that are counted: a repository with one branch has no other default."""


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
    only = list_loose_branches(repository)
    return only[0] if len(only) == 1 and not os.path.lexists(os.path.join(repository.common, "packed-refs")) else None


def read_default_tips(repository: Repository, name: str) -> tuple[str, ...]:
    """Return the commits at which the default branch ends: the local one, and that of the remote `origin`."""
    found = (read_ref(repository, f"{place}/{name}") for place in ("refs/heads", "refs/remotes/origin"))
    return tuple(dict.fromkeys(commit for commit in found if commit is not None))


def read_branch_tip(repository: Repository, name: str) -> str | None:
    """Return the commit at which a branch ends, the local one or else that of a remote; None where there is none."""
    if not is_branch_name(name):
        return None
    tip = read_ref(repository, f"refs/heads/{name}")
    if tip is not None:
        return tip
    for remote in ("origin", *list_remotes(repository)):
        tip = read_ref(repository, f"refs/remotes/{remote}/{name}")
        if tip is not None:
            return tip
    return None


def read_branch_birth(repository: Repository, name: str) -> str | None:
    """Return the commit at which a local branch began, by the first line of its log; None where that is not known."""
    if not is_branch_name(name):
        return None
    handle = open_regular(os.path.join(repository.common, "logs/refs/heads", os.fsdecode(os.fsencode(name))))
    if handle is None:
        return None
    with os.fdopen(handle, "rb") as file:
        words = file.readline(MAX_SMALL).split(b" ", 2)
    begins = len(words) == 3 and COMMIT.fullmatch(words[1]) is not None and not words[0].strip(b"0")
    return words[1].decode() if begins else None


def is_branch_name(name: str) -> bool:
    """Check whether this can be the name of a branch, and its ref a path below `refs/heads`."""
    return REF.fullmatch(f"refs/heads/{name}") is not None


def list_remotes(repository: Repository) -> list[str]:
    """Return the names of a few remotes that branches were fetched from."""
    return [
        name for name in list_folder(os.path.join(repository.common, "refs/remotes"), MAX_REMOTES) if name != "origin"
    ]


def list_loose_branches(repository: Repository) -> list[str]:
    """Return the names of up to `MAX_LISTED` branches that stand in files of their own."""
    folder = os.path.join(repository.common, "refs/heads")
    names = list_folder(folder, MAX_LISTED)
    return [name for name in names if read_ref(repository, f"refs/heads/{name}") is not None]


def list_folder(folder: str, most: int) -> list[str]:
    """Return up to `most` names in a folder that can be parts of a ref."""
    try:
        with os.scandir(folder) as entries:
            found = [entry.name for entry, _ in zip(entries, range(most), strict=False)]
    except OSError:
        return []
    return [name for name in sorted(found) if is_branch_name(name)]
