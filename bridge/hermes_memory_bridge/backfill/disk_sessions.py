"""The sessions that hosts keep on this disk: where their files lie, and what the head of one says of it.

A host's data has a member `sessions`: `files`, patterns of paths as those of `entry`, in which the last folder without a `*` is
where they must really lie; `head`, the paths of `name`, `folder`, `branch` and `version` in its lines, with points between keys;
and `projects`, a file that gives the folder of each project's name, where the lines do not say it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect.hosts import HostEnvironment
from hermes_memory_bridge.hook_service.transcripts.transcript_file import find_member
from hermes_memory_store.hosts.host_data import find_hosts_with
from hermes_memory_store.system.file_handles import open_regular

HEAD_BYTES = 1 << 18
"""Of a file in which its head is looked for: what hosts add before the first message is long."""


@dataclass(frozen=True, slots=True)
class DiskSession:
    host: str
    path: str
    name: str
    """As the host calls it, and its hooks do."""
    folder: str
    """Where it worked, absolute; empty where nothing says."""
    branch: str
    version: str
    size: int
    changed_at: int
    """UTC milliseconds."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    host: str
    path: str
    reason: str


def find_disk_sessions(place: HostEnvironment, hosts: Collection[str]) -> tuple[list[DiskSession], list[SkippedFile]]:
    """Find the sessions of these hosts, those changed last first, and the files that are none that can be read."""
    sessions: list[DiskSession] = []
    skipped: list[SkippedFile] = []
    for host, member in find_hosts_with("sessions").items():
        if host not in hosts:
            continue
        folders = load_project_folders(place, member)
        for path in find_files(place, member["files"]):
            try:
                head, status = read_session_head(path, member["head"])
            except OSError as error:
                skipped.append(SkippedFile(host, path, error.strerror or str(error)))
                continue
            folder = head.get("folder") or folders.get(Path(path).parts[-3], "")
            if "name" not in head:
                skipped.append(SkippedFile(host, path, "no line of it says which session it is"))
            elif folder and not Path(folder).is_absolute():
                skipped.append(SkippedFile(host, path, f"its folder is {folder[:80]!r}, no whole path"))
            else:
                words = (head["name"], folder, head.get("branch", ""), head.get("version", ""))
                sessions.append(DiskSession(host, path, *words, status.st_size, status.st_mtime_ns // 1_000_000))
    sessions.sort(key=lambda session: -session.changed_at)
    return sessions, skipped


def find_files(place: HostEnvironment, patterns: list[str]) -> Iterator[str]:
    """Yield the files that match, without those that a link leads to out of their folder."""
    for pattern in patterns:
        whole = place.find_path(pattern)
        base = next(parent for parent in whole.parents if "*" not in str(parent))
        inside = os.path.realpath(base) + os.sep
        for path in sorted(base.glob(str(whole.relative_to(base)))):
            if os.path.realpath(path).startswith(inside):
                yield str(path)


def load_project_folders(place: HostEnvironment, member: dict[str, Any]) -> dict[str, str]:
    """Load the folder of each project's name; none where the host keeps no such file."""
    if "projects" not in member:
        return {}
    try:
        projects = json.loads(place.find_path(member["projects"]).read_bytes())["projects"]
        return {str(name): str(folder) for folder, name in projects.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def read_session_head(path: str, keys: dict[str, str]) -> tuple[dict[str, str], os.stat_result]:
    """Read what the first lines of a file say. :raises OSError: it cannot be read, or is a link, or another user's"""
    head: dict[str, str] = {}
    with os.fdopen(open_regular(path, follow_links=False), "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.getuid():
            raise PermissionError(0, "another user's file")
        for line in file.readlines(HEAD_BYTES):
            if head.keys() == keys.keys():
                break
            try:
                document = json.loads(line)
            except (ValueError, RecursionError):
                continue
            for name, key in keys.items():
                value = find_member(document, key)
                if name not in head and isinstance(value, str) and value:
                    head[name] = value
    return head, status
