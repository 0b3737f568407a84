"""`install-service` and `uninstall-service`: the bridge as a user service of systemd or launchd."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

from hermes_memory_bridge.connect.host_entries import find_own_command
from hermes_memory_bridge.connect.hosts import HostEnvironment
from hermes_memory_bridge.connect.lasting_command import require_lasting_command
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.errors import ArgumentError

UNIT = "hermes-memory-bridge.service"
LABEL = "hermes-memory-bridge"


def install_service(paths: BridgePaths, *, tcp: int | None, only_print: bool) -> int:
    words = [*require_lasting_command(find_own_command()), "serve", "--db", paths.store]
    words += ["--tcp", str(tcp)] if tcp is not None else []
    file, text = to_service_file(words)
    if only_print:
        print(text, end="")
        return 0
    if file.exists() and file.read_text(encoding="utf-8") == text:
        print(f"{file} is as it should be")
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(f"wrote {file}")
    return run_service_manager(file, starting=True)


def uninstall_service() -> int:
    file, _text = to_service_file([])
    if not file.exists():
        print(f"there is no {file}")
        return 0
    run_service_manager(file, starting=False)
    file.unlink()
    print(f"removed {file}")
    return 0


def to_service_file(words: list[str]) -> tuple[Path, str]:
    """Return this system's service file and its content. :raises ArgumentError: the system is not supported"""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist", to_launchd_plist(words)
    if sys.platform.startswith("linux"):
        place = HostEnvironment(Path.home(), sys.platform, dict(os.environ))
        return place.find_folder(
            "XDG_CONFIG_HOME", Path.home() / ".config"
        ) / "systemd" / "user" / UNIT, to_systemd_unit(words)
    raise ArgumentError(
        "services are made for systemd and launchd; on this system start `hermes-memory-bridge serve` yourself"
    )


def to_systemd_unit(words: list[str]) -> str:
    command = " ".join(quote_systemd_word(word) for word in words)
    return (
        "[Unit]\nDescription=The memory of this user's agents, over MCP\n\n"
        f"[Service]\nExecStart={command}\nRestart=on-failure\nRestartSec=1\nTimeoutStopSec=10\nNoNewPrivileges=yes\n\n"
        "[Install]\nWantedBy=default.target\n"
    )


def quote_systemd_word(word: str) -> str:
    """Quote a word of a command for systemd, doubling its specifiers and escapes."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if set(escaped) & set(" \t\"'\\") else escaped


def to_launchd_plist(words: list[str]) -> str:
    agent = {"Label": LABEL, "ProgramArguments": words, "RunAtLoad": True, "KeepAlive": {"SuccessfulExit": False}}
    return plistlib.dumps(agent).decode()


def run_service_manager(file: Path, *, starting: bool) -> int:
    """Notify the service manager. If there is none, say how to start by hand."""
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
