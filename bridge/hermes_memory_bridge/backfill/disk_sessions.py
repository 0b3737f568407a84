"""The sessions that hosts keep on this disk: where their files lie, and what the head of one says of it.

A host's data has a member `sessions`: `files`, patterns of paths as those of `entry`, in which the last folder without a `*` is
where they must really lie; `form`, as `session_forms.py` says; of lines the `head`, the paths of `name`, `folder`, `branch` and
`version`, with points between keys and `or` between paths, and `apart`, what stands in a subagent's lines; `projects`, a file
that gives the folder of each project's name, where the lines do not say it; and `retention`: after how many `days` the host
deletes them, unless the `key` of a `file` says otherwise, or its `switch` is off.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
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
    for host, member in find_hosts_with("sessions").items():
        if host not in hosts:
            continue
        folders = load_project_folders(place, member)
        for path in find_files(place, member["files"]):
            try:
                status = os.stat(path)
                changed_at = status.st_mtime_ns // 1_000_000
                if member.get("form") != "database" and changed_at not in changed:
                    continue
                heads = find_session_heads(path, member)
            except OSError as error:
                skipped.append(SkippedFile(host, path, error.strerror or str(error)))
                continue
            for head in heads:
                folder = str(head.get("folder") or folders.get(Path(path).parts[-3], ""))
                if not head.get("name"):
                    skipped.append(SkippedFile(host, path, "no line of it says which session it is"))
                elif folder and not Path(folder).is_absolute():
                    skipped.append(SkippedFile(host, path, f"its folder is {folder[:80]!r}, no whole path"))
                elif head.get("changed_at", changed_at) in changed:
                    words = (str(head["name"]), folder, str(head.get("branch") or ""), str(head.get("version") or ""))
                    size = 0 if "changed_at" in head else status.st_size
                    sessions.append(DiskSession(host, path, *words, size, head.get("changed_at", changed_at)))
    sessions.sort(key=lambda session: -session.changed_at)
    return sessions, skipped


def count_unkept_sessions(store_path: Path, found: Iterable[DiskSession]) -> Counter[str]:
    """Count by host the sessions of which a store holds nothing, and may. :raises StoreError: it cannot be read"""
    named = {(disk.host, disk.name): disk for disk in found}.values()
    sessions = [disk for disk in named if may_capture(str(store_path), "", disk.folder).allowed]
    kept = set[str]()
    if sessions and not is_store_missing(store_path):
        with Store.open(store_path, read_only=True) as store:
            kept = store.host_sessions.find_kept_names()
    return Counter(disk.host for disk in sessions if disk.name not in kept)


def offer_backfill(store_path: Path, hosts: Collection[str]) -> None:
    """Say of each of these hosts how many sessions a backfill would find."""
    with contextlib.suppress(StoreError):  # whoever opens the store hears why
        for host, count in count_unkept_sessions(store_path, find_disk_sessions(find_here(), hosts)[0]).items():
            sentence = f"{load_host(host)['title']} keeps {pluralise(count, 'session')} on this disk"
            print(f"{sentence}: `hermes-memory-tui backfill` brings them in")


def list_expiring(store_path: Path) -> list[str]:
    """Say which hosts delete sessions soon of which a store holds nothing."""
    lines, place = [], find_here()
    for host, member in find_hosts_with("sessions").items():
        days = find_retention_days(place, member)
        due = range(system_clock() - (days - DUE_DAYS) * DAY_MS)
        with contextlib.suppress(StoreError):
            found = find_disk_sessions(place, [host], due)[0] if days else []
            deleted = pluralise(len({disk.name for disk in found}), "session")
            lines += [
                f"{load_host(host)['title']} deletes {deleted} within {DUE_DAYS} days; {count:,} not kept here: "
                "`hermes-memory-tui backfill` brings them in"
                for count in count_unkept_sessions(store_path, found).values()
            ]
    return lines


def find_retention_days(place: HostEnvironment, member: dict[str, Any]) -> int:
    """Return for how many days a host keeps its sessions, as its settings say; 0 where it deletes none."""
    rule, settings = member.get("retention", {}), None
    with contextlib.suppress(OSError, ValueError, KeyError):
        settings = parse_jsonc(place.find_path(rule["file"]).read_text(encoding="utf-8")).value
    if not rule or find_member(settings, rule.get("switch", "")) is False:
        return 0
    match = re.fullmatch(r"(\d{1,5})([hdwm]?)", str(find_member(settings, rule["key"])))
    return int(rule["days"] if match is None else int(match[1]) * RULED_DAYS[match[2]])


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
