"""The supported hosts: where each keeps its MCP servers, and in which form."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect import jsonc_edit, toml_yaml_edit
from hermes_memory_store.errors import ArgumentError

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
        said = self.environ.get(variable, "").strip()
        if not said:
            return standard
        path = Path(said).expanduser()
        if not path.is_absolute():
            raise ArgumentError(f"{variable} is {said!r}, a relative path; give the whole path, or unset it", said)
        return path


@dataclass(frozen=True, slots=True)
class TextMarks:
    """The marks around a file's text that parsers do not accept."""

    bom: bool
    crlf: bool

    def put_back(self, text: str) -> str:
        return "\ufeff" * self.bom + (text.replace("\n", "\r\n") if self.crlf else text)


def without_marks(text: str) -> tuple[str, TextMarks]:
    """Strip a byte order mark and Windows line ends; return the text, and what restores them.

    Mixed line ends are kept.
    """
    bare = text.removeprefix("\ufeff")
    crlf = "\r\n" in bare and bare.count("\n") == bare.count("\r\n") == bare.count("\r")
    return (bare.replace("\r\n", "\n") if crlf else bare), TextMarks(bare != text, crlf)


def to_plain_entry(command: str, args: list[str]) -> Entry:
    return {"command": command, "args": args}


def to_goose_entry(command: str, args: list[str]) -> Entry:
    return {"type": "stdio", "name": NAME, "enabled": True, "cmd": command, "args": args, "envs": {}, "timeout": 300}


@dataclass(frozen=True, slots=True)
class Host:
    """A host and its configuration file."""

    name: str
    title: str
    file: Callable[[HostEnvironment], Path]
    project: str | None = None
    """Its file inside a project, from the project's folder."""
    program: str | None = None
    """The program that shows that the host is there, where it has one."""
    entry: Callable[[str, list[str]], Entry] = to_plain_entry
    kind: str = "json"
    """`json`, `toml`, `yaml`, or `yaml-list`."""
    key: str = "mcpServers"
    """Under which key its servers stand."""

    def is_there(self, place: HostEnvironment) -> bool:
        """Check whether the host is on this machine: its program, or the folder of its configuration."""
        file = self.file(place)
        shared = (place.home, place.home / ".hermes")  # the second is made by our own store
        if file.exists() or (file.parent not in shared and file.parent.exists()):
            return True
        return self.program is not None and shutil.which(self.program, path=place.environ.get("PATH", "")) is not None

    def find_entry(self, text: str) -> Entry | None:
        """Find the bridge's entry in a configuration text.

        :raises ValueError: the text cannot be parsed
        """
        text, _ = without_marks(text)
        if self.kind == "json":
            document = jsonc_edit.parse_jsonc(text).value or {}
        else:
            document = toml_yaml_edit.parse_toml(text) if self.kind == "toml" else toml_yaml_edit.parse_yaml(text)
        if not isinstance(document, dict):
            raise ValueError(f"it holds {document!r:.60}, not named settings")
        held: Any = document.get(self.key) or {}
        if isinstance(held, list) and self.kind == "yaml-list":
            found = next((one for one in held if isinstance(one, dict) and one.get("name") == NAME), None)
            return None if found is None else {key: value for key, value in found.items() if key != "name"}
        if not isinstance(held, dict):
            raise ValueError(
                f"its {self.key} is {held!r:.60}, not a list of servers; remove it, or give it a form the host reads"
            )
        found = held.get(NAME)
        if found is not None and not isinstance(found, dict):
            raise ValueError(f"its {self.key} has {found!r:.60} for {NAME}, which is no server; remove that first")
        return found

    def add_entry(self, text: str, entry: Entry) -> str:
        """Add the bridge to a configuration text, keeping its byte order mark and line ends.

        :raises ValueError: the text cannot be edited safely
        """
        bare, marks = without_marks(text)
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
        return marks.put_back(bare)

    def remove_entry(self, text: str) -> str:
        """Remove the bridge from a configuration text, keeping its byte order mark and line ends.

        :raises ValueError: the text cannot be edited safely
        """
        bare, marks = without_marks(text)
        if self.kind == "json":
            bare = jsonc_edit.remove_jsonc_member(bare, (self.key, NAME))
        elif self.kind == "toml":
            bare = toml_yaml_edit.remove_toml_table(bare, self.key, NAME)
        else:
            bare = toml_yaml_edit.remove_yaml_entry(bare, self.key, NAME, listed=self.kind == "yaml-list")
        return marks.put_back(bare)


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


def find_opencode_config(place: HostEnvironment) -> Path:
    """Return opencode's configuration: the one that exists, where there may be comments or not."""
    folder = place.find_folder("XDG_CONFIG_HOME", place.home / ".config") / "opencode"
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() and not (folder / "opencode.json").exists() else folder / "opencode.json"


HOSTS = {
    host.name: host
    for host in (
        Host(
            "claude-code",
            "Claude Code",
            lambda p: p.find_folder("CLAUDE_CONFIG_DIR", p.home) / ".claude.json",
            ".mcp.json",
            "claude",
            # Its tools stand in the first request, and are not searched for first.
            lambda command, args: {"command": command, "args": args, "alwaysLoad": True},
        ),
        Host("claude-desktop", "Claude Desktop", lambda p: p.app_data() / "Claude" / "claude_desktop_config.json"),
        Host("cursor", "Cursor", lambda p: p.home / ".cursor" / "mcp.json", ".cursor/mcp.json"),
        Host(
            "vscode",
            "VS Code",
            lambda p: p.app_data() / "Code" / "User" / "mcp.json",
            ".vscode/mcp.json",
            entry=lambda command, args: {"type": "stdio", "command": command, "args": args},
            key="servers",
        ),
        Host("continue", "Continue", lambda p: p.home / ".continue" / "config.yaml", kind="yaml-list"),
        Host(
            "zed",
            "Zed",
            lambda p: (p.home / ".config" if p.platform != "win32" else p.app_data()) / "zed" / "settings.json",
            ".zed/settings.json",
            key="context_servers",
        ),
        Host(
            "goose",
            "Goose",
            lambda p: p.home / ".config" / "goose" / "config.yaml",
            program="goose",
            entry=to_goose_entry,
            kind="yaml",
            key="extensions",
        ),
        Host(
            "codex",
            "Codex",
            lambda p: p.find_folder("CODEX_HOME", p.home / ".codex") / "config.toml",
            ".codex/config.toml",
            "codex",
            kind="toml",
            key="mcp_servers",
        ),
        Host(
            "gemini",
            "Gemini CLI",
            lambda p: p.find_folder("GEMINI_CLI_HOME", p.home) / ".gemini" / "settings.json",
            ".gemini/settings.json",
            "gemini",
        ),
        Host(
            "copilot",
            "Copilot CLI",
            lambda p: p.find_folder("COPILOT_HOME", p.home / ".copilot") / "mcp-config.json",
            program="copilot",
            entry=lambda command, args: {"tools": ["*"], "type": "local", "command": command, "args": args},
        ),
        Host(
            "qwen",
            "Qwen Code",
            lambda p: p.find_folder("QWEN_HOME", p.home / ".qwen") / "settings.json",
            ".qwen/settings.json",
            "qwen",
        ),
        Host(
            "droid",
            "Factory droid",
            lambda p: p.home / ".factory" / "mcp.json",
            ".factory/mcp.json",
            "droid",
            lambda command, args: {"type": "stdio", "command": command, "args": args, "disabled": False},
        ),
        Host(
            "opencode",
            "opencode",
            find_opencode_config,
            "opencode.json",
            "opencode",
            # Its usual 5 seconds may be short while the bridge starts on a busy machine.
            lambda command, args: {"type": "local", "command": [command, *args], "enabled": True, "timeout": 15000},
            key="mcp",
        ),
        Host(
            "cline",
            "Cline",
            lambda p: p.find_folder(
                "CLINE_MCP_SETTINGS_PATH", p.home / ".cline" / "data" / "settings" / "cline_mcp_settings.json"
            ),
            program="cline",
        ),
        Host(
            "hermes-agent",
            "hermes-agent",
            lambda p: p.find_folder("HERMES_HOME", p.home / ".hermes") / "config.yaml",
            program="hermes",
            kind="yaml",
            key="mcp_servers",
        ),
    )
}
