"""`install-service` and `uninstall-service`: the bridge as a service of the user's own, by systemd or launchd."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

from hermes_memory_bridge.connect.command import own_command
from hermes_memory_bridge.connect.hosts import Place
from hermes_memory_bridge.places import Places
from hermes_memory_store.errors import ArgumentError

UNIT = "hermes-memory-bridge.service"
LABEL = "hermes-memory-bridge"


def install(places: Places, *, tcp: int | None, only_print: bool) -> int:
    """Write the service's file and start it."""
    words = [*own_command(), "serve", "--db", places.store]
    words += ["--tcp", str(tcp)] if tcp is not None else []
    file, text = described(words)
    if only_print:
        print(text, end="")
        return 0
    if file.exists() and file.read_text(encoding="utf-8") == text:
        print(f"{file} is as it should be")
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(f"wrote {file}")
    return managed(file, starting=True)


def uninstall() -> int:
    """Stop the service and remove its file."""
    file, _text = described([])
    if not file.exists():
        print(f"there is no {file}")
        return 0
    managed(file, starting=False)
    file.unlink()
    print(f"removed {file}")
    return 0


def described(words: list[str]) -> tuple[Path, str]:
    """The file of the service on this system, and what stands in it. :raises ArgumentError: no system we know"""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist", launchd(words)
    if sys.platform.startswith("linux"):
        place = Place(Path.home(), sys.platform, dict(os.environ))
        return place.named("XDG_CONFIG_HOME", Path.home() / ".config") / "systemd" / "user" / UNIT, systemd(words)
    raise ArgumentError(
        "services are made for systemd and launchd; on this system start `hermes-memory-bridge serve` yourself"
    )


def systemd(words: list[str]) -> str:
    """A user unit."""
    command = " ".join(quoted(word) for word in words)
    return (
        "[Unit]\nDescription=The memory of this user's agents, over MCP\n\n"
        f"[Service]\nExecStart={command}\nRestart=on-failure\nRestartSec=1\nTimeoutStopSec=10\nNoNewPrivileges=yes\n\n"
        "[Install]\nWantedBy=default.target\n"
    )


def quoted(word: str) -> str:
    """A word of a command as systemd reads it: in quotes, its specifiers and escapes doubled."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if set(escaped) & set(" \t\"'\\") else escaped


def launchd(words: list[str]) -> str:
    """A launch agent."""
    agent = {"Label": LABEL, "ProgramArguments": words, "RunAtLoad": True, "KeepAlive": {"SuccessfulExit": False}}
    return plistlib.dumps(agent).decode()


def managed(file: Path, *, starting: bool) -> int:
    """Tell the service manager. Where there is none, say how to start by hand."""
    if sys.platform == "darwin":
        steps = [["launchctl", "load" if starting else "unload", "-w", str(file)]]
    else:
        steps = [["systemctl", "--user", "daemon-reload"]]
        turn = ["systemctl", "--user", "enable" if starting else "disable", "--now", UNIT]
        steps = [*steps, turn] if starting else [turn, *steps]
    if shutil.which(steps[0][0]) is None:
        print(f"{steps[0][0]} is not here; start the bridge with `hermes-memory-bridge start`")
        return 0
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            print(
                f"`{' '.join(step)}` failed: {done.stderr.strip()}; start the bridge with `hermes-memory-bridge start`"
            )
            return 1 if starting else 0
    print("the service runs" if starting else "the service has stopped")
    return 0
