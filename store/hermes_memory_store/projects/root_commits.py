"""The first commit of a repository: its identity where it has no remote.

Git walks the history, in an empty repository of its own that only borrows the objects: the configuration, hooks and
attributes of the repository itself are never read, and no transport is allowed. A shallow clone has no known root.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

TIMEOUT_S = 60.0
"""The history of the Linux kernel, a million commits, takes 12 s without a commit graph."""


def find_root_commit(common: str, commit: str) -> str | None:
    """Return the commit without parents that is first in line before `commit`; None where that cannot be found.

    :param common: the repository's common directory
    """
    objects = os.path.join(common, "objects")
    if not os.path.isdir(objects):
        return None
    with tempfile.TemporaryDirectory(prefix="hermes-memory-root-") as folder:
        bare = Path(folder)
        for name in ("refs", "objects"):
            (bare / name).mkdir()
        (bare / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
        kind = "[extensions]\n\tobjectFormat = sha256\n" if len(commit) == 64 else ""
        version = 1 if kind else 0
        (bare / "config").write_text(
            f"[core]\n\trepositoryFormatVersion = {version}\n\tbare = true\n{kind}", encoding="utf-8"
        )
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": folder,
            "GIT_DIR": folder,
            "GIT_OBJECT_DIRECTORY": objects,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "LC_ALL": "C",
        }
        command = ["git", "--no-pager", "rev-list", "--first-parent", "--max-parents=0", commit, "--"]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    found = done.stdout.decode("ascii", "replace").split()
    return found[-1] if done.returncode == 0 and found else None
