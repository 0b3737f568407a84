"""Plugins of one script, for hosts that run code of ours instead of a command: opencode and Cline."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from hermes_memory_bridge.connect.hosts import TABLES, HostEnvironment


@dataclass(frozen=True, slots=True)
class ScriptPlugin:
    path: str
    project: str
    """Where it stands in a project."""
    source: str
    """What is particular to the host. What reports an event, `hook_report.js`, stands before it."""


SCRIPTS = {name: ScriptPlugin(**table) for name, table in TABLES["scripts"].items()}

REPORT = "hook_report.js"

COMMAND_LINE = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)


def format_script_plugin(host: str, command: list[str], *, capture: bool) -> bytes:
    """Return the plugin of a host.

    :param command: the hook program of this installation; the plugin adds the host, the event and the options
    :param capture: whether what is said may be kept; without it the events that only capture are not reported
    """
    folder = resources.files(__package__)
    report, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in (REPORT, SCRIPTS[host].source))
    values = {
        '/*HOST*/ ""': json.dumps(host),
        "/*COMMAND*/": ", ".join(map(json.dumps, command)),
        "/*CAPTURE*/ false": str(capture).lower(),
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
        found = COMMAND_LINE.search(file.read_text(encoding="utf-8"))
        words = json.loads(found[1]) if found else []
    except (OSError, ValueError):
        return []
    return words if all(isinstance(word, str) for word in words) else []


def find_plugin_problems(host: str, file: Path, program: Path, *, capture: bool) -> list[str]:
    """Return what is wrong with a plugin of ours, in words that follow its path.

    :param program: the hook program of this installation
    :param capture: whether the person allowed what is said to be kept
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
        is_same = file.read_bytes() == format_script_plugin(host, words, capture=capture)
    except OSError as error:
        return [f"it cannot be read ({error.strerror or error})"]
    return [] if is_same else ["it is of another version, or was changed"]
