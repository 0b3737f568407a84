"""The sessions that hosts keep on this disk: where their files lie, and what the head of one says of it.

A host's data has a member `sessions`: `files`, patterns of paths as those of `entry`, in which the last folder without a `*` is
where they must really lie; `form`, as `session_forms.py` says; of lines the `head`, the paths of `name`, `folder`, `branch` and
`version`, with points between keys and `or` between paths, and `apart`, what stands in a subagent's lines; `projects`, a file
that gives the folder of each project's name, where the lines do not say it; `named_by`, how many characters a session's name
begins with its file's ends with; and `retention`: after how many `days` the host deletes them, unless the `key` of a `file` says
otherwise, or its `switch` is off.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from hermes_memory_bridge.backfill.session_forms import find_session_heads
from hermes_memory_bridge.connect.hosts import HostEnvironment, find_here
from hermes_memory_bridge.connect.jsonc_edit import parse_jsonc
from hermes_memory_bridge.hook_service.transcripts.transcript_file import find_member
from hermes_memory_store.clock import DAY_MS, system_clock
from hermes_memory_store.errors import StoreError
from hermes_memory_store.hosts.capture_switch import may_capture
from hermes_memory_store.hosts.host_data import find_hosts_with, load_host
from hermes_memory_store.safe_text import pluralise
from hermes_memory_store.store import Store, is_store_missing

NO_END = 1 << 62

DUE_DAYS = 7

MOST_DUE = 100
"""Files of a host whose heads are read to say what it deletes soon."""

RULED_DAYS = {"": 1, "h": 1 / 24, "d": 1, "w": 7, "m": 30}


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
    """Bytes; 0 where others are in the same file."""
    changed_at: int
    """UTC milliseconds."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    host: str
    path: str
    reason: str


def find_disk_sessions(
    place: HostEnvironment, hosts: Collection[str], changed: range = range(NO_END)
) -> tuple[list[DiskSession], list[SkippedFile]]:
    """Find the sessions of these hosts, those changed last first, and the files that are none that can be read.

    :param changed: when those wanted were changed, UTC milliseconds
    """
    sessions: list[DiskSession] = []
    skipped: list[SkippedFile] = []
    for entry in iterate_disk_sessions(place, hosts, changed):
        if isinstance(entry, DiskSession):
            sessions.append(entry)
        else:
            skipped.append(entry)
    sessions.sort(key=lambda session: -session.changed_at)
    return sessions, skipped


def iterate_disk_sessions(
    place: HostEnvironment, hosts: Collection[str], changed: range, find_kept_names: Callable[[], Collection[str]] = set
) -> Iterator[DiskSession | SkippedFile]:
    """Yield what the files say, by their names; nothing of a file whose name says that its session is kept."""
    for host, member in find_hosts_with("sessions").items():
        if host not in hosts:
            continue
        folders = load_project_folders(place, member)
        files, length = find_files(place, member["files"]), member.get("named_by", 0)
        kept = {name[:length] for name in find_kept_names()} if files and length else ()
        for name, file_folder in sorted(file for file in files if file[0].rpartition(".")[0][-length:] not in kept):
            path = f"{file_folder}{os.sep}{name}"
            try:
                status = os.stat(path)
                changed_at = status.st_mtime_ns // 1_000_000
                if member.get("form") != "database" and changed_at not in changed:
                    continue
                heads = find_session_heads(path, member)
            except OSError as error:
                yield SkippedFile(host, path, error.strerror or str(error))
                continue
            for head in heads:
                folder = str(head.get("folder") or folders.get(Path(path).parts[-3], ""))
                if not head.get("name"):
                    yield SkippedFile(host, path, "no line of it says which session it is")
                elif folder and not Path(folder).is_absolute():
                    yield SkippedFile(host, path, f"its folder is {folder[:80]!r}, no whole path")
                elif head.get("changed_at", changed_at) in changed:
                    words = (str(head["name"]), folder, str(head.get("branch") or ""), str(head.get("version") or ""))
                    size = 0 if "changed_at" in head else status.st_size
                    yield DiskSession(host, path, *words, size, head.get("changed_at", changed_at))


def describe_unkept_sessions(
    store_path: Path, place: HostEnvironment, changed: dict[str, range], most: int = NO_END
) -> dict[str, str]:
    """Return how many sessions of each host a store holds nothing of, and may, as `at least 3 sessions`.

    :param changed: when those wanted were changed, by host
    :param most: files of a host that are read; not those whose name says that their session is kept
    :raises StoreError: the store cannot be read
    """

    @cache
    def find_kept_names() -> set[str]:
        if is_store_missing(store_path):
            return set()
        with Store.open(store_path, read_only=True) as store:
            return store.host_sessions.find_kept_names()

    may_keep = cache(lambda folder: may_capture(str(store_path), "", folder).allowed)
    counts = {}
    for host, times in changed.items():
        entries = [*islice(iterate_disk_sessions(place, [host], times, find_kept_names), most)]
        names = {entry.name for entry in entries if isinstance(entry, DiskSession) and may_keep(entry.folder)}
        if names and (unkept := names - find_kept_names()):
            counts[host] = f"{'at least ' * (len(entries) == most)}{pluralise(len(unkept), 'session')}"
    return counts


def offer_backfill(store_path: Path, hosts: Collection[str]) -> None:
    """Say of each of these hosts how many sessions a backfill would find."""
    changed = dict.fromkeys(hosts, range(NO_END))
    with contextlib.suppress(StoreError):  # whoever opens the store hears why
        for host, sessions in describe_unkept_sessions(store_path, find_here(), changed).items():
            title = load_host(host)["title"]
            print(f"{title} keeps {sessions} on this disk: `hermes-memory-tui backfill` brings them in")


def list_expiring(store_path: Path) -> list[str]:
    """Say which hosts delete sessions soon of which a store holds nothing."""
    place, now = find_here(), system_clock()
    days = {host: find_retention_days(place, member) for host, member in find_hosts_with("sessions").items()}
    due = {host: range(now - (kept - DUE_DAYS) * DAY_MS) for host, kept in days.items() if kept}
    with contextlib.suppress(StoreError):
        return [
            f"{load_host(host)['title']} deletes {sessions} within {DUE_DAYS} days of which nothing is kept here: "
            "`hermes-memory-tui backfill` brings them in"
            for host, sessions in describe_unkept_sessions(store_path, place, due, MOST_DUE).items()
        ]
    return []


def find_retention_days(place: HostEnvironment, member: dict[str, Any]) -> int:
    """Return for how many days a host keeps its sessions, as its settings say; 0 where it deletes none."""
    rule, settings = member.get("retention", {}), None
    with contextlib.suppress(OSError, ValueError, KeyError):
        settings = parse_jsonc(place.find_path(rule["file"]).read_text(encoding="utf-8")).value
    if not rule or find_member(settings, rule.get("switch", "")) is False:
        return 0
    match = re.fullmatch(r"(\d{1,5})([hdwm]?)", str(find_member(settings, rule["key"])))
    return int(rule["days"] if match is None else int(match[1]) * RULED_DAYS[match[2]])


def find_files(place: HostEnvironment, patterns: list[str]) -> list[tuple[str, str]]:
    """Find the names and folders of the files that match, without folders that a link leads to out of theirs."""
    files = []
    for pattern in patterns:
        whole = place.find_path(pattern)
        base = next(parent for parent in whole.parents if "*" not in str(parent))
        inside = os.path.realpath(base) + os.sep
        folders = whole.parent.relative_to(base)
        for folder in base.glob(str(folders)) if folders.name else [base]:
            if f"{os.path.realpath(folder)}{os.sep}".startswith(inside):
                with contextlib.suppress(OSError):  # no folder, or none that may be read
                    names = os.listdir(folder)  # noqa: PTH208 - many thousands, of which few become paths
                    files += [(name, str(folder)) for name in fnmatch.filter(names, whole.name)]
    return files


def load_project_folders(place: HostEnvironment, member: dict[str, Any]) -> dict[str, str]:
    """Load the folder of each project's name; none where the host keeps no such file."""
    if "projects" not in member:
        return {}
    try:
        projects = json.loads(place.find_path(member["projects"]).read_bytes())["projects"]
        return {str(name): str(folder) for folder, name in projects.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
