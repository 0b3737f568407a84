"""The supported hosts: where each keeps its MCP servers, and in which form, by the member `entry` of its file of data.

A path begins with `~`, with `{app data}`, or with `{VARIABLE or PATH}`, the folder that a variable of the environment names. In
an `entry_form` COMMAND, ARGS and WORDS stand for the program, for what follows it, and for both.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect import jsonc_edit, toml_yaml_edit
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.hosts.host_data import find_hosts_with, load_host

NAME = "hermes-memory"
"""What the bridge is called in every host."""

Entry = dict[str, Any]

COMMAND_KEYS = ("command", "cmd", "args")
"""What an entry says of the program; the rest of it may be the person's."""


@dataclass(frozen=True, slots=True)
class HostEnvironment:
    """The environment of this machine that host paths depend on."""

    home: Path
    platform: str
    """`linux`, `darwin` or `win32`."""
    environ: dict[str, str]

    def app_data(self) -> Path:
        """Return the folder where programs keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.find_folder("APPDATA", self.home / "AppData" / "Roaming")
        return self.find_folder("XDG_CONFIG_HOME", self.home / ".config")

    def find_folder(self, variable: str, standard: Path) -> Path:
        """Return the folder an environment variable names; the default when it is unset or blank.

        :raises ArgumentError: it names a relative path, which depends on where the host is started
        """
        value = self.environ.get(variable, "").strip()
        if not value:
            return standard
        path = Path(value).expanduser()
        if not path.is_absolute():
            raise ArgumentError(f"{variable} is {value!r}, a relative path; give the whole path, or unset it", value)
        return path

    def find_path(self, path: str) -> Path:
        """Return a path of a host's data, as the head of this module says. :raises ArgumentError: as `find_folder`"""
        by_variable = re.fullmatch(r"\{(\w+) or (.+)\}/?(.*)", path)
        if by_variable is not None:
            return self.find_folder(by_variable[1], self.find_path(by_variable[2])) / by_variable[3]
        base, _, rest = path.partition("/")
        return (self.home if base == "~" else self.app_data()) / rest


def find_here() -> HostEnvironment:
    return HostEnvironment(Path.home(), sys.platform, dict(os.environ))


def without_marks(text: str) -> tuple[str, Callable[[str], str]]:
    """Strip a byte order mark and Windows line ends, of which mixed ones are kept; return the text, and what restores them."""
    bare = text.removeprefix("\ufeff")
    crlf = "\r\n" in bare and bare.count("\n") == bare.count("\r\n") == bare.count("\r")

    def put_back(edited: str) -> str:
        return "\ufeff" * (bare != text) + (edited.replace("\n", "\r\n") if crlf else edited)

    return (bare.replace("\r\n", "\n") if crlf else bare), put_back


@dataclass(frozen=True, slots=True)
class Host:
    """A host and its configuration file."""

    name: str
    title: str
    path: str
    path_on_windows: str | None = None
    """Where it stands on Windows, if elsewhere."""
    other_path: str | None = None
    """Another name of the file, for where that alone exists."""
    project: str | None = None
    """Its file inside a project, from the project's folder."""
    program: str | None = None
    """The program that shows that the host is there, where it has one."""
    entry_form: Entry = field(default_factory=lambda: {"command": "COMMAND", "args": "ARGS"})
    """An entry, with words in place of its command: see `entry`."""
    kind: str = "json"
    """`json`, `toml`, `yaml`, or `yaml-list`."""
    key: str = "mcpServers"
    """Under which key its servers stand."""
    switches: tuple[str, ...] = ()
    """Files of a project that may switch its hooks off, or say what tools may do, whoever wrote them."""

    def file(self, place: HostEnvironment) -> Path:
        """Return its configuration file. :raises ArgumentError: as `HostEnvironment.find_folder`"""
        windows = self.path_on_windows if place.platform == "win32" else None
        usual = place.find_path(windows or self.path)
        other = place.find_path(self.other_path) if self.other_path else usual
        return other if other.exists() and not usual.exists() else usual

    def entry(self, command: str, args: list[str]) -> Entry:
        words = {"COMMAND": command, "ARGS": args, "WORDS": [command, *args]}
        return {
            key: words.get(value, value) if isinstance(value, str) else value for key, value in self.entry_form.items()
        }

    def is_there(self, place: HostEnvironment) -> bool:
        """Check whether the host is on this machine: its program, or the folder of its configuration."""
        file = self.file(place)
        shared = (place.home, place.home / ".hermes")  # the second is made by our own store
        if file.exists() or (file.parent not in shared and file.parent.exists()):
            return True
        return self.program is not None and shutil.which(self.program, path=place.environ.get("PATH", "")) is not None

    def find_entry(self, text: str) -> Entry | None:
        """Find the bridge's entry in a configuration text. :raises ValueError: the text cannot be parsed"""
        text, _ = without_marks(text)
        if self.kind == "json":
            document = jsonc_edit.parse_jsonc(text).value or {}
        else:
            document = toml_yaml_edit.parse_toml(text) if self.kind == "toml" else toml_yaml_edit.parse_yaml(text)
        if not isinstance(document, dict):
            raise ValueError(f"it holds {document!r:.60}, not named settings")
        entries: Any = document.get(self.key) or {}
        if isinstance(entries, list) and self.kind == "yaml-list":
            return toml_yaml_edit.find_yaml_entry(document, self.key, NAME)
        if not isinstance(entries, dict):
            raise ValueError(
                f"its {self.key} is {entries!r:.60}, not a list of servers; remove it, or give it a form the host reads"
            )
        entry = entries.get(NAME)
        if entry is not None and not isinstance(entry, dict):
            raise ValueError(f"its {self.key} has {entry!r:.60} for {NAME}, which is no server; remove that first")
        return entry

    def add_entry(self, text: str, entry: Entry) -> str:
        """Add the bridge to a configuration text. :raises ValueError: the text cannot be edited safely"""
        bare, put_back = without_marks(text)
        present = self.find_entry(bare) if self.kind == "json" else None
        if self.kind == "toml":
            bare = toml_yaml_edit.add_toml_table(bare, self.key, NAME, entry)
        elif self.kind != "json":
            bare = toml_yaml_edit.add_yaml_entry(bare, self.key, NAME, entry, listed=self.kind == "yaml-list")
        elif present is None:
            bare = jsonc_edit.set_jsonc_member(bare, (self.key, NAME), entry)
        else:
            for key in (key for key in present if key not in entry):
                bare = jsonc_edit.remove_jsonc_member(bare, (self.key, NAME, key))
            for key, value in entry.items():  # one by one, for the comments between them
                if key not in present or present[key] != value:
                    bare = jsonc_edit.set_jsonc_member(bare, (self.key, NAME, key), value)
        return put_back(bare)

    def remove_entry(self, text: str) -> str:
        """Remove the bridge from a configuration text. :raises ValueError: the text cannot be edited safely"""
        bare, put_back = without_marks(text)
        if self.kind == "json":
            bare = jsonc_edit.remove_jsonc_member(bare, (self.key, NAME))
        elif self.kind == "toml":
            bare = toml_yaml_edit.remove_toml_table(bare, self.key, NAME)
        else:
            bare = toml_yaml_edit.remove_yaml_entry(bare, self.key, NAME, listed=self.kind == "yaml-list")
        return put_back(bare)


def to_merged_entry(entry: Entry, present: Entry | None) -> Entry:
    """Return our entry with what stands there besides the program, as its person left it.

    :param present: the entry that stands there; one that starts no program is replaced
    """
    if not present or not to_started_command(present):
        return entry
    return {**entry, **present, **{key: entry[key] for key in COMMAND_KEYS if key in entry}}


def to_started_command(entry: Entry) -> list[str]:
    command = entry.get("command") or entry.get("cmd") or []
    words = command if isinstance(command, list) else [command]
    return [str(word) for word in [*words, *(entry.get("args") or [])]]


HOSTS = {name: Host(name, load_host(name)["title"], **table) for name, table in find_hosts_with("entry").items()}
