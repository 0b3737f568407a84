"""Whether this installation's command lasts: hosts and services start it for months, and a cache may be pruned tomorrow."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from hermes_memory_store.errors import ArgumentError

UV_CACHE_FOLDER = re.compile(r"(archive|environments|builds)-v\d+")
"""Folders of uv's cache that hold environments. The cache itself is marked by a `CACHEDIR.TAG`."""


def require_lasting_command(command: list[str]) -> list[str]:
    """Return the command of this installation.

    :raises ArgumentError: it runs from the cache of `uvx` or `pipx run`
    """
    cache = find_cache_around(Path(sys.prefix))
    if cache is not None:
        raise ArgumentError(
            f"this program runs from {cache}, a cache that may be pruned at any time, so nothing else can rely on it;"
            " install it from its source with `uv tool install .` or `pipx install .`, then run the installed"
            " `hermes-memory-bridge`",
            cache,
        )
    return command


def find_cache_around(prefix: Path) -> Path | None:
    """Return the cache that an environment stands in: that of uv, or of `pipx run`. None for an installation."""
    for folder in prefix.parents:
        if UV_CACHE_FOLDER.fullmatch(folder.name) and (folder.parent / "CACHEDIR.TAG").exists():
            return folder.parent
    if (prefix / "pipx_metadata.json").exists() and prefix.parent.name != "venvs":
        return prefix.parent
    return None
