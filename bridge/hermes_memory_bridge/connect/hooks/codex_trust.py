"""Codex runs no hook that its person has not trusted, and says nothing of it: Codex is asked for what it would trust.

Its `hooks/list` tells each handler's key and hash; the pair stands in `config.toml` once the hook is trusted. The hash is never
computed here: it follows rules of Codex that change.
"""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect.hooks.hook_edit import list_own_hooks, read_hook_document
from hermes_memory_bridge.connect.hosts import HostEnvironment, without_marks

LIST_TIMEOUT_S = 20.0
"""For the start of Codex and its answer; it takes less than a second on an idle machine."""


class CodexUnavailable(Exception):
    """Codex cannot be asked; the message says why."""


@dataclass(frozen=True, slots=True)
class CodexHook:
    """A hook as Codex sees it."""

    key: str
    """`FILE:EVENT:GROUP:HANDLER`."""
    file: str
    command: str
    current_hash: str
    status: str
    """`trusted`, `untrusted`, `modified` or `managed`."""
    is_enabled: bool

    @property
    def is_trusted(self) -> bool:
        return self.is_enabled and self.status in ("trusted", "managed")


def find_trust_entries(hooks_text: str, hooks_file: Path, place: HostEnvironment) -> dict[str, str]:
    """Return key and hash of each hook of ours in a text, as Codex will see them once it stands in the file.

    Codex reads a copy in a folder of its own, so that nothing is written before the person agreed.

    :raises CodexUnavailable: Codex is not there, or too old
    """
    folder = tempfile.mkdtemp(prefix="hermes-memory-codex-")
    try:
        copy = Path(folder).resolve() / "hooks.json"
        copy.write_text(without_marks(hooks_text)[0], encoding="utf-8")
        hooks = list_codex_hooks(place, copy.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    suffixes = {key.rpartition("hooks.json")[2] for key in find_own_keys(hooks_text, copy)}
    prefix = str(to_key_file(hooks_file, place))
    entries = {
        prefix + hook.key.removeprefix(hook.file): hook.current_hash
        for hook in hooks
        if hook.key.removeprefix(hook.file) in suffixes
    }
    if len(entries) < len(suffixes):
        raise CodexUnavailable(f"this Codex knows {len(entries)} of the {len(suffixes)} hooks; update it")
    return entries


def find_own_keys(hooks_text: str, file: Path) -> list[str]:
    """Return the keys that Codex gives our hooks in a text. :raises ValueError: the text is no document of hooks"""
    own = list_own_hooks(read_hook_document(without_marks(hooks_text)[0]))
    return [f"{file}:{to_snake_case(one.event)}:{one.group}:{one.index or 0}" for one in own]


def to_key_file(hooks_file: Path, place: HostEnvironment) -> Path:
    """Return the file as it stands in keys: Codex resolves links in `CODEX_HOME`, not in the usual folder."""
    if place.environ.get("CODEX_HOME", "").strip():
        return hooks_file.parent.resolve() / hooks_file.name
    return hooks_file


def to_snake_case(event: str) -> str:
    """Return an event's name as it stands in keys: `session_start` for `SessionStart`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def list_codex_hooks(place: HostEnvironment, home: Path | None = None) -> list[CodexHook]:
    """Return the hooks that Codex finds, by its own account.

    :param home: the folder of its configuration; the person's own unless given
    :raises CodexUnavailable: Codex is not there, or does not answer
    """
    program = shutil.which("codex", path=place.environ.get("PATH", ""))
    if program is None:
        raise CodexUnavailable("Codex is not on the PATH")
    environ = dict(place.environ) | ({"CODEX_HOME": str(home)} if home else {})
    folder = str(home or place.home)
    try:
        with subprocess.Popen(
            [program, "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            cwd=folder,
        ) as process:
            try:
                answer = ask_app_server(process, folder)
            finally:
                process.kill()
    except (OSError, ValueError, KeyError, TypeError, TimeoutError) as error:
        raise CodexUnavailable(f"Codex did not list its hooks ({error}); it may be too old") from error
    return answer


def ask_app_server(process: subprocess.Popen[bytes], folder: str) -> list[CodexHook]:
    """Greet Codex and ask for its hooks. :raises ValueError, KeyError, TypeError, OSError, TimeoutError: it answers otherwise"""
    deadline = time.monotonic() + LIST_TIMEOUT_S
    client = {"name": "hermes-memory", "version": "1"}
    request_from_codex(process, 1, "initialize", {"clientInfo": client}, deadline)
    write_to_codex(process, {"jsonrpc": "2.0", "method": "initialized"})
    listed = request_from_codex(process, 2, "hooks/list", {"cwds": [folder]}, deadline)
    return [
        CodexHook(
            str(hook["key"]),
            str(hook["sourcePath"]),
            str(hook.get("command") or ""),
            str(hook["currentHash"]),
            str(hook["trustStatus"]),
            bool(hook.get("enabled", True)),
        )
        for place in listed["data"]
        for hook in place["hooks"]
    ]


def request_from_codex(
    process: subprocess.Popen[bytes], number: int, method: str, params: Mapping[str, Any], deadline: float
) -> Any:
    write_to_codex(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    assert process.stdout is not None
    pending = b""
    while True:
        head, newline, rest = pending.partition(b"\n")
        if newline:
            pending = rest
            answer = json.loads(head)
            if answer.get("id") != number:
                continue
            if "error" in answer:
                raise ValueError(answer["error"].get("message", method))
            return answer["result"]
        if not select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError(f"no answer to {method} within {LIST_TIMEOUT_S:.0f} s")
        read = os.read(process.stdout.fileno(), 1 << 16)
        if not read:
            raise ValueError(f"it ended before it answered {method}")
        pending += read


def write_to_codex(process: subprocess.Popen[bytes], message: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
