"""Files that are ours as a whole: plugins of one script, for hosts that run code of ours instead of a command, a plugin's
manifest, and the answer about rules files.

Beside the entries and hooks that `connect` puts into files of others, these are written and removed whole.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from hermes_memory_bridge.connect.host_config_files import FileEdits, HostFileError
from hermes_memory_bridge.connect.host_hooks import HOOKS, find_hook_program, list_acting_tools
from hermes_memory_bridge.connect.hosts import HostEnvironment
from hermes_memory_bridge.connect.lasting_command import require_lasting_command
from hermes_memory_bridge.connect.plugins.plugin_folder import MANIFEST
from hermes_memory_store.database.store_reading import read_store
from hermes_memory_store.hosts.host_data import find_hosts_with
from hermes_memory_store.hosts.rules_files import (
    RULES_PLACES,
    find_rules_consent_file,
    is_own_rules_file,
    read_rules_file,
    to_rules_consent,
)
from hermes_memory_store.places.git_files import find_repository
from hermes_memory_store.projects.git_exclude import find_exclude_file, remove_exclude_line, to_exclude_line


@dataclass(frozen=True, slots=True)
class ScriptPlugin:
    path: str
    project: str
    """Where it stands in a project."""
    source: str
    """What is particular to the host. What reports an event, `hook_report.js`, stands before it."""
    hears: bool = False
    """Whether it can report what tools do and return."""
    guards: bool = False
    """Whether it can ask before a tool runs."""


SCRIPTS = {name: ScriptPlugin(**table) for name, table in find_hosts_with("script").items()}

REPORT = "hook_report.js"

COMMAND_LINE = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)


def format_script_plugin(host: str, command: list[str], *, capture: bool, hears: bool, guards: bool) -> bytes:
    """Return the plugin of a host.

    :param command: the hook program of this installation; the plugin adds the host, the event and the options
    :param capture: whether what is said may be kept; without it the events that only capture are not reported
    :param hears: whether what tools return may be heard, or what they do kept
    :param guards: whether there is a guard
    """
    folder = resources.files(__package__)
    report, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in (REPORT, SCRIPTS[host].source))
    values = {
        '/*HOST*/ ""': json.dumps(host),
        "/*COMMAND*/": ", ".join(map(json.dumps, command)),
        "/*CAPTURE*/ false": str(capture).lower(),
        "/*HEARS*/ false": str(hears).lower(),
        "/*GUARDED*/ []": json.dumps(list_acting_tools(host) if guards and SCRIPTS[host].guards else []),
    }
    for mark, value in values.items():
        report = report.replace(mark, value)
    return (report + script).encode()


def find_script_plugin(host: str, place: HostEnvironment, project: Path | None = None) -> Path:
    """Return the file of a host's plugin: in a project, or the person's own."""
    plugin = SCRIPTS[host]
    return place.find_path(plugin.path) if project is None else project / plugin.project


def read_plugin_command(file: Path) -> list[str]:
    """Return the command of a plugin of ours; empty where no such plugin is."""
    try:
        match = COMMAND_LINE.search(file.read_text(encoding="utf-8"))
        words = json.loads(match[1]) if match else []
    except (OSError, ValueError):
        return []
    return words if all(isinstance(word, str) for word in words) else []


def find_plugin_problems(
    host: str, file: Path, program: Path, *, capture: bool, hears: bool, guards: bool
) -> list[str]:
    """Return what is wrong with a plugin of ours, in words that follow its path.

    :param program: the hook program of this installation
    :param capture: whether the person allowed what is said to be kept
    :param hears: whether he allowed what tools return to be heard, or what they do to be kept
    :param guards: whether there is a guard
    """
    words = read_plugin_command(file)
    if not words:
        return ["holds no plugin of ours"]
    present = shutil.which(words[0])
    if present is None:
        return [f"{words[0]} is gone, or cannot be run"]
    if Path(present) != program and not Path(present).samefile(program):
        return [f"{words[0]} is of another installation than this one ({program})"]
    try:
        is_same = file.read_bytes() == format_script_plugin(host, words, capture=capture, hears=hears, guards=guards)
    except OSError as error:
        return [f"it cannot be read ({error.strerror or error})"]
    return [] if is_same else ["it is of another version, or was changed"]


OWN_BEGINNING = "// Written by `hermes-memory-bridge connect`"
"""Begins every script of ours, of whatever version."""

RULES_WRITTEN = "SELECT path FROM rules_files WHERE host = ? ORDER BY path"


def hears_events(host: str) -> bool:
    """Check whether a host reports its events to us once it is connected: by hooks or by a plugin."""
    return host in HOOKS or host in SCRIPTS


def can_hear(host: str) -> bool:
    """Check whether a host's hooks or its plugin can report what tools return."""
    if host in SCRIPTS:
        return SCRIPTS[host].hears
    return host in HOOKS and any(line.hears for line in HOOKS[host].lines)


def plan_own_files(
    files: FileEdits,
    host: str,
    place: HostEnvironment,
    options: Sequence[str],
    store: Path,
    *,
    gives: bool,
    keeps: bool,
    hears: bool,
    guards: bool,
    rules: bool,
    project: Path | None = None,
) -> None:
    """Note the files of a host that are ours as a whole; without giving, keeping and hearing, their removal.

    :param options: what follows host and event in the hook program's command
    :param guards: whether there is a guard
    :param rules: whether the person wants a file with facts in each workspace
    :param project: the project that is connected, instead of the person
    :raises HostFileError: another program's file has the name of ours, or the file of the answers is damaged
    :raises ArgumentError: this installation has no hook program that lasts
    """
    if host in SCRIPTS:
        file = find_script_plugin(host, place, project)
        before = files.read(file)
        if before and not before.startswith(OWN_BEGINNING):
            raise HostFileError(f"{file} was not written by connect; move it, then connect again", file)
        script = None
        if gives or keeps or hears:
            program = find_hook_program(place.platform, in_project=project is not None)
            command = [*require_lasting_command([str(program)]), *options]
            script = format_script_plugin(host, command, capture=keeps, hears=hears, guards=guards).decode()
        files.write(file, script)
    if host in HOOKS and HOOKS[host].is_plugin and project is None:
        manifest = HOOKS[host].file(place).parent.parent / "plugin.json"
        files.write(manifest, json.dumps(MANIFEST, indent=2) + "\n" if gives or keeps else None)
    if host in RULES_PLACES and project is None:
        plan_rules_files(files, store, host, answer=gives and rules)


def plan_rules_files(files: FileEdits, store: Path, host: str, *, answer: bool) -> None:
    """Note whether a host's rules files may be written; without a yes, also the removal of those that were.

    The bridge writes them when the host's hooks are heard: a yes alone writes none.

    :raises HostFileError: the file of the answers is damaged
    """
    file = find_rules_consent_file(store)
    try:
        after = to_rules_consent(files.read(file).encode(), host, answer=answer)
    except ValueError as error:
        raise HostFileError(f"{file} was left alone: {error}; remove it, then connect again", file) from error
    files.write(file, None if after is None else after.decode())
    if answer:
        return
    rows = read_store(os.path.realpath(store), lambda conn: conn.execute(RULES_WRITTEN, (host,)).fetchall())
    for path in (Path(path) for (path,) in rows or []):
        content = read_rules_file(path)
        if content is not None and is_own_rules_file(content):
            files.write(path, None)
            plan_visible_path(files, path)


def plan_visible_path(files: FileEdits, path: Path) -> None:
    """Note the removal of a file's line from `info/exclude`."""
    repository = find_repository(str(path.parent))
    if repository is None:
        return
    exclude = find_exclude_file(repository)
    try:
        text = files.read(exclude)
    except HostFileError:
        return  # not in UTF-8: a line too many does no harm there
    line = to_exclude_line(repository, path)
    after = remove_exclude_line(text.encode(), line).decode()
    if after != text:
        files.write(exclude, after)
