"""Check of a connected host: start its command as it does, and ask the host itself, without its model, what it reaches.

A host is asked by the command of its own that the member `probe` of its file of data names.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect.host_config_files import FileChange, HostFileError, read_host_config, to_file_change
from hermes_memory_bridge.connect.hosts import HOSTS, Host, HostEnvironment, without_marks
from hermes_memory_bridge.connect.jsonc_edit import find_jsonc_tree, set_jsonc_member
from hermes_memory_bridge.connect.toml_yaml_edit import parse_toml, set_toml_value
from hermes_memory_store.host_files.host_memory import HostPlaces
from hermes_memory_store.hosts.host_data import load_host

ANSWER_TIMEOUT_S = 20.0

PROBE_TIMEOUT_S = 60.0

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")

KEPT_VARIABLES = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""What hosts leave of the environment."""


@dataclass(frozen=True, slots=True)
class HostCheckResult:
    ok: bool
    output: str


def check_configured_command(command: list[str], env: dict[str, str]) -> HostCheckResult:
    """Start the command, perform the handshake, list the tools and call `memory_status`."""
    minimal = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ} | {"PYTHONSAFEPATH": "1"}
    started_at = time.monotonic()
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=minimal | env
        )
    except OSError as error:
        return HostCheckResult(
            False, f"{command[0]} cannot be started: {error.strerror or error}; connect again to correct it"
        )
    with process:
        answers = RpcProcess(process)
        try:
            hello = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "hermes-memory-check", "version": "1"},
            }
            answers.request("initialize", hello)
            answers.send({"method": "notifications/initialized"})
            tools = answers.request("tools/list", {})["tools"]
            status = answers.request("tools/call", {"name": "memory_status", "arguments": {}})
        except (OSError, ValueError, KeyError, TimeoutError) as error:
            process.kill()
            complaint = (process.stderr.read() if process.stderr else b"").decode(errors="replace").strip()
            return HostCheckResult(False, f"{' '.join(command)} did not answer as it should: {complaint or error}")
        theme = status.get("structuredContent", {}).get("theme")
        if theme is None:
            process.kill()
            complaint = "; ".join(part.get("text", "") for part in status.get("content", []))
            return HostCheckResult(False, f"{' '.join(command)} answers, but not what the memory holds: {complaint}")
        took = time.monotonic() - started_at
        assert process.stdin is not None
        process.stdin.close()
    return HostCheckResult(True, f"{len(tools)} tools, theme {theme}, answered in {took * 1000:.0f} ms")


def probe_host(host: str, place: HostEnvironment) -> HostCheckResult | None:
    """Run the command by which a host shows what it reaches, in a folder without a project; None where there is none."""
    table: dict[str, Any] = load_host(host).get("probe", {"command": [host]})
    words: list[str] = table["command"]
    program = shutil.which(words[0], path=place.environ.get("PATH", ""))
    if program is None or "expected" not in table:
        return None
    shown = f"`{shlex.join(words)}`"
    with tempfile.TemporaryDirectory(prefix="hermes-memory-check-") as folder, tempfile.TemporaryFile() as output:
        # No pipes: what the host starts may keep them open.
        streams: Any = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
        try:
            subprocess.run([program, *words[1:]], **streams, env=place.environ, cwd=folder, timeout=PROBE_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            return HostCheckResult(False, f"{shown} did not end as it should: {error}")
        output.seek(0)
        printed = ESCAPES.sub("", output.read().decode(errors="replace")).strip()
    if re.search(table["expected"], printed):
        return HostCheckResult(True, f"itself {table['proves']}, says {shown}; no model was asked")
    last = (printed.splitlines() or ["nothing"])[-1].strip()
    return HostCheckResult(False, f"{shown} does not show that it reaches the memory: {last[:200]}")


def find_own_memory(host: Host, place: HostEnvironment) -> tuple[bool, str] | None:
    """Return whether a host's own memory is on, by its settings and the working folder's, and its switch; None: none is known."""
    table: dict[str, Any] = load_host(host.name).get("own_memory", {})
    if not table:
        return None
    value = read_host_setting(host, place, table["key"])
    is_on = value if isinstance(value, bool) else bool(table["is_usual"])
    is_off = place.environ.get(table.get("off_variable", ""), "").lower() in ("1", "true")
    return is_on and not is_off, f"{table['name']}, `{table['key']}` in {place.find_path(table['file'])}"


def read_host_setting(host: Host, place: HostEnvironment, key: str) -> Any:
    """Return a setting of a host, by its settings and the working folder's; None where neither has one."""
    table: dict[str, Any] = load_host(host.name).get("own_memory", {})
    setting: Any = None
    for file in (place.find_path(table["file"]), *(Path.cwd() / name for name in host.switches)) if table else ():
        value: Any = None
        with suppress(ValueError, HostFileError):  # a host that cannot read it heeds nothing of it
            text, _ = without_marks(read_host_config(file))
            value = parse_toml(text) if file.suffix == ".toml" else find_jsonc_tree(text).value
        for name in key.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        setting = setting if value is None else value
    return setting


def plan_memory_switch(name: str, place: HostEnvironment) -> tuple[FileChange, str] | None:
    """Return the change of a host's settings that switches its own memory on or off, and what it does; None: it has no switch.

    :raises HostFileError: its settings cannot be read, or not be changed without changing more
    """
    host = HOSTS[name]
    table: dict[str, Any] = load_host(name).get("own_memory", {})
    own = find_own_memory(host, place)
    if own is None:
        return None
    file, keys, is_on = place.find_path(table["file"]), table["key"].split("."), own[0]
    text, put_back = without_marks(read_host_config(file))
    try:
        edited = (
            set_toml_value(text, keys, not is_on) if file.suffix == ".toml" else set_jsonc_member(text, keys, not is_on)
        )
    except ValueError as error:
        raise HostFileError(f"{file}: {error}; nothing was changed", file) from error
    title = f"switch the {table['name']} of {host.title} {'off' if is_on else 'on'}"
    return to_file_change(file, put_back(edited).encode()), title


def find_host_places(folder: Path, place: HostEnvironment) -> HostPlaces:
    """Return where hosts keep their memory files for a folder, by this environment and their settings."""

    def is_memory_on(host: str) -> bool:
        own = find_own_memory(HOSTS[host], place)
        return own is None or own[0]

    return HostPlaces(
        Path(os.path.realpath(folder)),
        place.home,
        place.environ,
        place.find_path,
        lambda host, key: read_host_setting(HOSTS[host], place, key),
        is_memory_on,
    )


class RpcProcess:
    """A program that answers JSON-RPC on its pipes, a message a line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._number = 0
        self._pending = b""

    def send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def request(self, method: str, params: Mapping[str, Any], deadline: float | None = None) -> Any:
        """Send one request and return its result.

        :param deadline: monotonic time; `ANSWER_TIMEOUT_S` from now unless given
        :raises ValueError: the answer is an error, or missing
        :raises TimeoutError: it came too late
        """
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        deadline = time.monotonic() + ANSWER_TIMEOUT_S if deadline is None else deadline
        while True:
            answer = json.loads(self._read_line(method, deadline))
            if answer.get("id") != self._number:
                continue
            if "error" in answer:
                raise ValueError(answer["error"].get("message", method))
            return answer["result"]

    def _read_line(self, method: str, deadline: float) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._pending:
            if not select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"no answer to {method} within {ANSWER_TIMEOUT_S:.0f} s")
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            if not data:
                raise ValueError(f"it ended before it answered {method}")
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line
