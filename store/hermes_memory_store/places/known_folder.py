"""The project and the branch of a folder that the store has seen before: four small files of a repository at most.

Only what is as it was then: a new repository, an odd one, or one whose configuration has changed since is read in full by
`project_sighting.py`, whose import takes as long as an interpreter's start.
"""

from __future__ import annotations

import os

from hermes_memory_store.places.bounded_files import MAX_PARENTS, MAX_SMALL, read_bounded, read_mark, read_pointer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_memory_store.places.place_queries import Ask

KNOWN = """
    SELECT coalesce(p.joined_id, p.id), a.seen_at FROM project_aliases a JOIN projects p ON p.id = a.project_id
    WHERE a.kind = ? AND a.value = ?
"""

PLAIN = """
    SELECT coalesce(p.joined_id, p.id) FROM project_aliases a JOIN projects p ON p.id = a.project_id
    WHERE a.kind = 'path' AND a.value IN ({}) AND (a.value = ? OR EXISTS (
      SELECT 1 FROM place_themes WHERE project_id = p.id AND NOT EXISTS (
        SELECT 1 FROM project_aliases WHERE project_id = p.id AND kind = 'dir')))
    ORDER BY length(a.value) DESC LIMIT 1
"""

BRANCH = "ref: refs/heads/"


class KnownFolder:
    """What is known of a folder: its project's key and its branch, None for what takes a full look."""

    __slots__ = ("branch", "is_plain", "project")

    def __init__(self, project: int | None = None, branch: str | None = None, *, is_plain: bool = False) -> None:
        """:param is_plain: whether it is in no repository, so that its path is all that it is known by"""
        self.project = project
        self.branch = branch
        self.is_plain = is_plain


def find_known_folder(ask: Ask, folder: str) -> KnownFolder:
    """Find the project of a folder, if the store knows it and it is as it was."""
    try:
        place = at = os.path.realpath(folder)
    except (OSError, ValueError):
        return KnownFolder()
    for _ in range(MAX_PARENTS):
        dotted = os.path.join(at, ".git")
        if os.path.lexists(dotted):
            return find_known_repository(ask, dotted)
        if os.path.lexists(os.path.join(at, "HEAD")) and os.path.isdir(os.path.join(at, "objects")):
            return find_known_repository(ask, at)
        at, below = os.path.dirname(at), at
        if at == below:
            break
    return KnownFolder(find_plain_project(ask, place), is_plain=True)


def find_plain_project(ask: Ask, place: str) -> int | None:
    """Find the project of a folder in no repository: its own, else that of the nearest folder above which has a theme."""
    above = [to_stored_path(place)]
    while len(above) <= MAX_PARENTS and os.path.dirname(above[-1]) != above[-1]:
        above.append(os.path.dirname(above[-1]))
    rows = ask(PLAIN.format(", ".join("?" * len(above))), (*above, above[0]))
    return rows[0][0] if rows else None


def to_stored_path(path: str) -> str:
    """Return a path as the store has it, whose names may be bytes that are no text."""
    if path.isprintable():
        return path
    from hermes_memory_store.safe_text import to_printable  # here, not above: few paths need it

    return to_printable(path)


def find_known_repository(ask: Ask, git_dir: str) -> KnownFolder:
    """Find the project of a `.git`, a directory or the file that points to one, or of a bare repository."""
    if not os.path.isdir(git_dir):  # a worktree or a submodule
        git_dir = read_pointer(git_dir, os.path.dirname(git_dir), b"gitdir:") or ""
    head = os.path.join(git_dir, "HEAD")
    if not git_dir or os.path.islink(head):
        return KnownFolder()
    common = os.path.realpath(read_pointer(os.path.join(git_dir, "commondir"), git_dir, b"") or git_dir)
    text = read_bounded(head, MAX_SMALL)
    try:
        changed_at = os.stat(os.path.join(common, "config")).st_mtime_ns // 1_000_000
        mark = read_mark(common)  # a path says less: another repository may lie there by now
        rows = ask(KNOWN, ("dir", to_stored_path(common)) if mark is None else ("mark", mark))
    except (OSError, ValueError):
        return KnownFolder()
    if text is None or not rows or changed_at > rows[0][1]:
        return KnownFolder()
    branch = text.strip().decode("utf-8", "replace")
    return KnownFolder(rows[0][0], branch.removeprefix(BRANCH) if branch.startswith(BRANCH) else None)
