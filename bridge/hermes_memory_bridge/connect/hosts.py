"""The hosts: where each keeps its MCP servers, and how it writes one down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect import blocks, jsonc
from hermes_memory_store.errors import ArgumentError

NAME = "hermes-memory"
"""What the bridge is called in every host."""

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """The machine as far as it matters here."""

    home: Path
    platform: str
    """`linux`, `darwin` or `win32`."""
    environ: dict[str, str]

    def app_data(self) -> Path:
        """Where programs keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.named("APPDATA", self.home / "AppData" / "Roaming")
        return self.named("XDG_CONFIG_HOME", self.home / ".config")

    def named(self, variable: str, standard: Path) -> Path:
        """The folder that an environment variable names; the standard one where it is unset or blank.

        :raises ArgumentError: it names a relative path, which means another folder wherever the host is started
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
    """What a file has around its text, and parsers stumble over."""

    bom: bool
    crlf: bool

    def put_back(self, text: str) -> str:
        """The text as it stands in the file."""
        return "\ufeff" * self.bom + (text.replace("\n", "\r\n") if self.crlf else text)


def without_marks(text: str) -> tuple[str, TextMarks]:
    """A text without byte order mark and Windows line ends, and what puts them back. Mixed line ends stay as they are."""
    bare = text.removeprefix("\ufeff")
    crlf = "\r\n" in bare and bare.count("\n") == bare.count("\r\n") == bare.count("\r")
    return (bare.replace("\r\n", "\n") if crlf else bare), TextMarks(bare != text, crlf)


@dataclass(frozen=True, slots=True)
class Host:
    """One host."""

    name: str
    title: str
    file: Callable[[Place], Path]
    project: str | None
    """Its file inside a project, from the project's folder."""
    kind: str
    """`json`, `toml`, `yaml`, or `yaml-list`."""
    key: str
    """Under which key its servers stand."""
    entry: Callable[[str, list[str]], Entry]

    def present(self, text: str) -> Entry | None:
        """What the file says of the bridge. :raises ValueError: the file cannot be read"""
        text, _ = without_marks(text)
        if self.kind == "json":
            document = jsonc.parse(text).value or {}
        else:
            document = blocks.toml_read(text) if self.kind == "toml" else blocks.yaml_read(text)
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

    def added(self, text: str, entry: Entry) -> str:
        """The file's text with the bridge in it; its byte order mark and line ends stay. :raises ValueError:"""
        bare, marks = without_marks(text)
        return marks.put_back(self._added(bare, entry))

    def taken_out(self, text: str) -> str:
        """The file's text without the bridge; its byte order mark and line ends stay. :raises ValueError:"""
        bare, marks = without_marks(text)
        return marks.put_back(self._taken_out(bare))

    def _added(self, text: str, entry: Entry) -> str:
        if self.kind == "json":
            return jsonc.with_member(text, (self.key, NAME), entry)
        if self.kind == "toml":
            return blocks.toml_with(text, self.key, NAME, entry)
        return blocks.yaml_with(text, self.key, NAME, entry, listed=self.kind == "yaml-list")

    def _taken_out(self, text: str) -> str:
        if self.kind == "json":
            return jsonc.without_member(text, (self.key, NAME))
        if self.kind == "toml":
            return blocks.toml_without(text, self.key, NAME)
        return blocks.yaml_without(text, self.key, NAME, listed=self.kind == "yaml-list")


def plain(command: str, args: list[str]) -> Entry:
    """The usual entry."""
    return {"command": command, "args": args}


def typed(command: str, args: list[str]) -> Entry:
    """With its transport named."""
    return {"type": "stdio", "command": command, "args": args}


def goose(command: str, args: list[str]) -> Entry:
    """Goose's own words."""
    return {"type": "stdio", "name": NAME, "enabled": True, "cmd": command, "args": args, "envs": {}, "timeout": 300}


HOSTS = {
    host.name: host
    for host in (
        Host("claude-code", "Claude Code", lambda p: p.home / ".claude.json", ".mcp.json", "json", "mcpServers", plain),
        Host(
            "claude-desktop",
            "Claude Desktop",
            lambda p: p.app_data() / "Claude" / "claude_desktop_config.json",
            None,
            "json",
            "mcpServers",
            plain,
        ),
        Host(
            "cursor",
            "Cursor",
            lambda p: p.home / ".cursor" / "mcp.json",
            ".cursor/mcp.json",
            "json",
            "mcpServers",
            plain,
        ),
        Host(
            "vscode",
            "VS Code",
            lambda p: p.app_data() / "Code" / "User" / "mcp.json",
            ".vscode/mcp.json",
            "json",
            "servers",
            typed,
        ),
        Host(
            "continue",
            "Continue",
            lambda p: p.home / ".continue" / "config.yaml",
            None,
            "yaml-list",
            "mcpServers",
            plain,
        ),
        Host(
            "zed",
            "Zed",
            lambda p: (p.home / ".config" if p.platform != "win32" else p.app_data()) / "zed" / "settings.json",
            ".zed/settings.json",
            "json",
            "context_servers",
            plain,
        ),
        Host(
            "goose", "Goose", lambda p: p.home / ".config" / "goose" / "config.yaml", None, "yaml", "extensions", goose
        ),
        Host(
            "codex",
            "Codex",
            lambda p: p.home / ".codex" / "config.toml",
            ".codex/config.toml",
            "toml",
            "mcp_servers",
            plain,
        ),
        Host(
            "gemini",
            "Gemini CLI",
            lambda p: p.home / ".gemini" / "settings.json",
            ".gemini/settings.json",
            "json",
            "mcpServers",
            plain,
        ),
        Host(
            "hermes-agent",
            "hermes-agent",
            lambda p: p.named("HERMES_HOME", p.home / ".hermes") / "config.yaml",
            None,
            "yaml",
            "mcp_servers",
            plain,
        ),
    )
}
