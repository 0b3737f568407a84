"""Write the hot facts of a workspace into a rules file, for hosts whose hooks give the model nothing: Cursor and Goose.

Only where the person said yes to that; never where Git tracks the path or it cannot be told; never over a file of somebody else,
through a link, or outside the workspace.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from hermes_memory_store.hosts.rules_files import RULES_PLACES, is_own_rules_file, may_write_rules, read_rules_file
from hermes_memory_store.places.git_files import find_repository
from hermes_memory_store.projects.git_exclude import exclude_path, is_path_tracked, is_repository_sound
from hermes_memory_store.store import Store

log = logging.getLogger(__name__)

EVENTS = frozenset({"start", "prompt", "end"})
"""Events at which the file is brought up to date."""

_logged: set[tuple[str, str]] = set()


def refresh_rules_file(
    store: Store, host: str, event: str, folder: str, theme: str, find_text: Callable[[], str]
) -> None:
    """Bring a workspace's rules file up to date. Within a write.

    :param folder: the workspace
    :param find_text: returns the fenced facts of a start, with nothing suspicious in them; without any, the file goes
    """
    if host not in RULES_PLACES or event not in EVENTS or not Path(folder).is_absolute():
        return
    if not may_write_rules(store.path, host):
        return
    path = Path(os.path.realpath(folder), *RULES_PLACES[host])
    text = find_text()
    if text and store.rules_files.is_current(path, host, text):
        return  # nothing is written, so nothing needs to be looked at: an index may have 100,000 entries
    obstacle = find_rules_obstacle(path, Path(os.path.realpath(folder)))
    if obstacle:
        log_once(str(path), obstacle)
        return
    try:
        if text:
            store.rules_files.write(path, host, theme, text)
        else:
            store.rules_files.erase(path)
    except OSError as error:
        log_once(str(path), str(error.strerror or error))


def find_rules_obstacle(path: Path, workspace: Path) -> str:
    """Return why a workspace gets no rules file; empty when it may have one, which its repository then ignores."""
    if workspace in (Path.home().resolve(), Path(workspace.anchor)):
        return "a home folder is no workspace"
    if Path(os.path.realpath(path)) != path:
        return "a link leads out of its place"
    try:
        if os.stat(workspace).st_uid != os.geteuid():
            return "the workspace belongs to another user"
    except OSError as error:
        return str(error.strerror or error)
    present = read_rules_file(path)
    if os.path.lexists(path) and (present is None or not is_own_rules_file(present)):
        return "a file stands there that hermes-memory did not write, or that was changed since; move it to have one"
    repository = find_repository(str(workspace))
    if repository is None:
        return ""
    if not is_repository_sound(repository):
        return f"its repository is not the one that {repository.git_dir} belongs to"
    tracked = is_path_tracked(repository, path)
    if tracked is not False:
        return "Git tracks that path" if tracked else "whether Git tracks that path cannot be told"
    return "" if exclude_path(repository, path) else f"{repository.common}/info/exclude cannot be changed"


def log_once(path: str, why: str) -> None:
    """Log why a file was not written, once while this process runs."""
    if (path, why) not in _logged:
        _logged.add((path, why))
        log.warning("%s was not written: %s", path, why)
