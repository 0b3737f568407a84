"""Codex runs no hook that its person has not trusted, and says nothing of it: Codex is asked for what it would trust.

Its `hooks/list` tells each handler's key and hash; the pair stands in `config.toml` once the hook is trusted. The hash is never
computed here: it follows rules of Codex that change.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_bridge.connect.hooks.hook_edit import is_own_handler, list_own_hooks, read_hook_document
from hermes_memory_bridge.connect.hooks.trust_tables import add_trust, find_trusted_hashes, remove_trust, rename_trust
from hermes_memory_bridge.connect.host_check import ANSWER_TIMEOUT_S, RpcProcess
from hermes_memory_bridge.connect.host_config_files import HostFileError
from hermes_memory_bridge.connect.host_entries import to_changed_config
from hermes_memory_bridge.connect.hosts import NAME, Entry, Host, HostEnvironment, without_marks


class CodexUnavailable(Exception):
    """Codex cannot be asked; the message says why."""


@dataclass(frozen=True, slots=True)
class CodexHook:
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
    return [f"{file}:{to_snake_case(hook.event)}:{hook.group}:{hook.index or 0}" for hook in own]


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
    with open_codex(place, home) as (codex, deadline):
        listed = codex.request("hooks/list", {"cwds": [str(home or place.home)]}, deadline)["data"]
        return [
            CodexHook(
                str(hook["key"]),
                str(hook["sourcePath"]),
                str(hook.get("command") or ""),
                str(hook["currentHash"]),
                str(hook["trustStatus"]),
                bool(hook.get("enabled", True)),
            )
            for folder_hooks in listed
            for hook in folder_hooks["hooks"]
        ]


def call_through_codex(place: HostEnvironment) -> str:
    """Have Codex call `memory_status` in a thread that it does not keep; return the theme. No model is asked.

    :raises CodexUnavailable: Codex is not there, is too old, or does not reach the memory
    """
    with tempfile.TemporaryDirectory(prefix="hermes-memory-check-") as folder, open_codex(place) as (codex, deadline):
        thread = codex.request("thread/start", {"cwd": folder, "ephemeral": True}, deadline)["thread"]["id"]
        call = {"threadId": thread, "server": NAME, "tool": "memory_status", "arguments": {}}
        return str(codex.request("mcpServer/tool/call", call, deadline)["structuredContent"]["theme"])


@contextmanager
def open_codex(place: HostEnvironment, home: Path | None = None) -> Iterator[tuple[RpcProcess, float]]:
    """Start Codex, as it is configured, to be asked; yield it, and the time by which it must have answered."""
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
            codex, deadline = RpcProcess(process), time.monotonic() + ANSWER_TIMEOUT_S
            try:
                codex.request("initialize", {"clientInfo": {"name": "hermes-memory", "version": "1"}}, deadline)
                codex.send({"method": "initialized"})
                yield codex, deadline
            finally:
                process.kill()
    except (OSError, ValueError, KeyError, TypeError, TimeoutError) as error:
        raise CodexUnavailable(f"Codex did not answer ({error}); it may be too old") from error


TRUST_QUESTION = (
    "Codex runs no hook that you have not trusted, and does not say so. Mark the hooks of hermes-memory as trusted?"
)
BY_HAND = (
    "Codex runs none of them before you trust them: start Codex, type /hooks, and trust those of hermes-memory-hook"
)


def to_codex_config(
    host: Host,
    file: Path,
    text: str,
    entry: Entry | None,
    hooks_file: Path,
    hooks_texts: tuple[str, str],
    place: HostEnvironment,
    *,
    trusts: bool,
) -> tuple[str, list[str]]:
    """Return the text of `config.toml`, and what its person must know.

    :param hooks_texts: `hooks.json` as it is, and as it is to be
    :param trusts: whether our hooks are to be trusted
    :raises HostFileError: the file cannot be changed safely
    """
    notes: list[str] = []
    hashes: dict[str, str] = {}
    try:
        before, after = (find_own_keys(one, to_key_file(hooks_file, place)) for one in hooks_texts)
        if after and trusts:
            try:
                hashes = find_trust_entries(hooks_texts[1], hooks_file, place)
            except CodexUnavailable as error:
                notes.append(f"{error}. {BY_HAND}")
                if hooks_texts[0] == hooks_texts[1]:
                    return to_changed_config(host, file, text, entry), notes
        elif after:
            notes.append(BY_HAND)
        # Hooks of others whose place in a list changes, the first ones first.
        foreign = (list_foreign_keys(one, str(to_key_file(hooks_file, place))) for one in hooks_texts)
        moved = {old: new for old, new in zip(*foreign, strict=True) if old != new}
        trusted = {key: said.get("trusted_hash") for key, said in find_trusted_hashes(text).items()}
        stale = [key for key in before if key not in hashes]
        if (
            hashes.items() <= trusted.items()
            and not moved.keys() & trusted.keys()
            and not trusted.keys() & set(stale)
            and to_changed_config(host, file, text, entry) == text
        ):
            return text, notes
        bare = rename_trust(remove_trust(text, before), moved)
        changed = to_changed_config(host, file, bare, entry)
        try:
            return add_trust(changed, hashes), notes
        except ValueError as error:
            return changed, [*notes, f"{file}: {error}. {BY_HAND}"]
    except ValueError as error:
        raise HostFileError(f"{file} was left alone: {error}", file) from error


def list_foreign_keys(text: str, prefix: str) -> Sequence[str]:
    """Return the keys of the hooks of others, event by event."""
    events = read_hook_document(without_marks(text)[0]).get("hooks") or {}
    return [
        f"{prefix}:{to_snake_case(event)}:{group}:{index}"
        for event, elements in sorted(events.items())
        for group, element in enumerate(elements)
        for index, handler in enumerate(element.get("hooks") or [] if isinstance(element, dict) else [])
        if not is_own_handler(handler)
    ]
