"""The first commit of a repository: its identity where it has no remote.

Git walks the history in the background, over borrowed objects. A shallow clone has no known root.
"""

from __future__ import annotations

from hermes_memory_store.projects.borrowed_objects import GitFailed, borrow_objects, read_shallow_ends

TIMEOUT_S = 60.0
"""The history of the Linux kernel, a million commits, takes 12 s without a commit graph."""


def find_root_commit(common: str, commit: str, seconds: float = TIMEOUT_S) -> str | None:
    """Return the commit without parents that is first in line before `commit`; None where that cannot be found.

    :param common: the repository's common directory
    :param seconds: how long Git may take
    """
    if read_shallow_ends(common):
        return None
    try:
        with borrow_objects(common, sha256=len(commit) == 64) as git:
            words = ("rev-list", "--first-parent", "--max-parents=0", commit, "--")
            found = git.run(*words, seconds=seconds).decode("ascii", "replace").split()
    except GitFailed:
        return None
    return found[-1] if found else None
