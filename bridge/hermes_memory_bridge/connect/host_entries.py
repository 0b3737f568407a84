"""The bridge's entry in a host's configuration: its command, where it goes, and whether it is there."""

from __future__ import annotations

import difflib
import itertools
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from hermes_memory_bridge.connect.host_config_files import HostFileError, read_host_config
from hermes_memory_bridge.connect.hosts import HOSTS, Entry, Host, HostEnvironment, to_started_command
from hermes_memory_bridge.connect.lasting_command import require_lasting_command
from hermes_memory_bridge.wire.messages import ESSENTIAL
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.system.filesystem import default_store_path

BRIDGE_PROGRAM = "hermes-memory-bridge"


@dataclass(frozen=True)
class ConnectRequest:
    host: str | None = None
    db: str | None = None
    theme: str | None = None
    tools: str | None = None
    """The selection of tools to offer; unless given, the essential ones where hooks of ours do the rest."""
    project: bool = False
    remove: bool = False
    check: bool = False
    dry_run: bool = False
    yes: bool = False
    every: bool = False
    """Every host that is there."""
    hooks: bool | None = None
    """Whether agents are given what is remembered by hooks; None asks."""
    capture: bool | None = None
    """Whether what is said is kept; None asks."""
    hear: bool | None = None
    """Whether what tools return is heard; None asks."""
    actions: bool | None = None
    """Whether what agents run, read and edit is kept; None asks."""
    allow: bool | None = None
    """Whether tools run without a question; None asks."""
    rules: bool | None = None
    """Whether files with facts are written into workspaces, for hosts that need them; None asks."""
    plugin: str | None = None
    """The folder to write as a plugin or an extension, instead of files of the host."""
    provider: bool = False
    profiles: tuple[str, ...] = ()
    all_profiles: bool = False


def find_host(name: str) -> Host:
    """Find a host by name. :raises ArgumentError: it is unknown; names the nearest match"""
    host = HOSTS.get(name.lower())
    if host is None:
        near = difflib.get_close_matches(name.lower(), HOSTS, n=1)
        meant = f", did you mean {near[0]}?" if near else ""
        raise ArgumentError(f"{name!r} is no host I know{meant}; choose from {', '.join(HOSTS)}, antigravity", name)
    return host


def find_host_config(host: Host, place: HostEnvironment, *, project: bool) -> Path:
    """Return the configuration file to change. :raises ArgumentError: the host has none inside a project"""
    if not project:
        return host.file(place)
    if host.project is None:
        raise ArgumentError(f"{host.title} has no configuration inside a project; leave --project out", host.name)
    return Path.cwd() / host.project


def to_host_entry(host: Host, request: ConnectRequest) -> Entry:
    """Return the entry for the host's file: this installation's own command, by its absolute path.

    In a project it is named alone, for whoever opens that finds it on his own PATH.

    :raises ArgumentError: this installation has no command that lasts, or a file of this machine would stand in a project
    """
    if request.project and request.db:
        raise ArgumentError("--db names a file of this machine; leave it out with --project", request.db)
    command = [BRIDGE_PROGRAM] if request.project else require_lasting_command(find_own_command())
    tools = ["--tools", request.tools] if request.tools else []
    words = [*command, *tools, *to_command_options(request)]
    return host.entry(words[0], words[1:])


def to_standing_request(host: Host, place: HostEnvironment, request: ConnectRequest) -> ConnectRequest:
    """Return a request with the store, the theme and the tools that the host's entry names, where it names none itself."""
    words = to_started_command(find_bridge_entry(host, find_host_config(host, place, project=request.project)) or {})
    options = dict(itertools.pairwise(words))
    db = request.db or (None if request.project else options.get("--db"))
    standing_tools = options.get("--tools")
    tools = request.tools or (None if standing_tools == ESSENTIAL else standing_tools)
    return replace(request, db=db, theme=request.theme or options.get("--theme"), tools=tools)


def to_command_options(request: ConnectRequest) -> list[str]:
    """Return the options that a request gives to the commands it writes: store and theme."""
    db = ["--db", str(Path(request.db).expanduser().absolute())] if request.db else []
    return [*db, *(["--theme", request.theme] if request.theme else [])]


def find_store_path(db: str | None) -> Path:
    """Return the store that a request names, else the usual one."""
    return Path(db).expanduser().absolute() if db else default_store_path()


def find_own_command() -> list[str]:
    """Return the command of this installation, by its path: hosts know no virtual environment.

    `-EP`: nothing is imported from the folder that a host works in, whatever `PYTHONPATH` says.
    """
    script = Path(sys.executable).with_name(BRIDGE_PROGRAM)
    return [sys.executable, "-EP", *([str(script)] if script.exists() else ["-m", "hermes_memory_bridge"])]


def to_changed_config(host: Host, file: Path, text: str, entry: Entry | None) -> str:
    """Return the text with the entry, or without any, verified by parsing it again.

    :raises HostFileError: the file cannot be changed safely
    """
    try:
        present = host.find_entry(text) if text.strip() else None
        if present == entry:
            return text
        bare = text if present is None else host.remove_entry(text)
        # Without the present entry if that is as it was added: removing the new one then restores the text before the first.
        is_as_added = present is None or entry is None or host.add_entry(bare, present) == text
        after = bare if entry is None else host.add_entry(bare if is_as_added else text, entry)
        if host.find_entry(after) != entry:
            raise ValueError("the change would not read back as it was meant")
    except ValueError as error:
        raise HostFileError(f"{file} was left alone: {error}", file) from error
    return after


def find_bridge_entry(host: Host, file: Path) -> Entry | None:
    """Return the bridge's entry in a host's file; None also when the file cannot be read."""
    try:
        return host.find_entry(read_host_config(file)) if file.exists() else None
    except (ValueError, HostFileError):
        return None
