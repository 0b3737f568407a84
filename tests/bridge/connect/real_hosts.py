"""Released hosts for the tests of connecting, as the suite of hosts installs them; Cline only where somebody did."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.installation import InstalledHosts, hosts_folder, install_hosts
from tests.hosts.stand_in_model import StandInModel

HOST_BY_PROGRAM = {"claude": "claude-code", "codex": "codex", "gemini": "gemini", "opencode": "opencode"}


def require_host(program: str) -> str:
    """The path of a released host's program; the test is skipped, with the reason, where it cannot be installed."""
    host = HOST_BY_PROGRAM.get(program)
    reason = f"{program} is not installed in {hosts_folder()}, and the suite of hosts does not install it"
    if host is not None:
        reason = install_hosts([host]).why_missing(host)
    found = shutil.which(program, path=program_path())
    if found is None:
        pytest.skip(reason)
    return found


def program_path() -> str:
    """The folders of the hosts' programs, as PATH has them."""
    own = InstalledHosts(hosts_folder(), {}).program_folders
    return os.pathsep.join([*own, str(hosts_folder() / "node_modules" / ".bin")])


def host_environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a host whose home is a folder of the test."""
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR", "USER") if name in os.environ}
    path = program_path() + os.pathsep + os.environ["PATH"]
    return {**kept, "PATH": path, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), **more}


def list_chat_texts(model: StandInModel) -> list[list[tuple[str, str]]]:
    """Role and text of each message of each chat completion that was asked for."""
    asked = [request.body["messages"] for request in model.requests]
    return [[(message["role"], to_chat_text(message)) for message in messages] for messages in asked]


def to_chat_text(message: dict[str, Any]) -> str:
    """The text of a message, whose content is a text or a list of parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
