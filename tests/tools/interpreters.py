"""Tries the plain package on every other Python of this machine.

    python -m tests.tools.interpreters

Each has an environment of its own without what only tests need. There the command line writes and reads a fact, the inspector
shows it in a terminal and quits, the shim answers a call, and a hook gives a session what it starts with. Tried are the
names `python3.N` of the PATH and of pyenv, one of each minor version, from the lowest that pyproject.toml allows.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]

PATIENCE_S = 600.0
"""How long one step may take on a machine with other work; far more than it does."""

PROBE = "import sys, sqlite3, ssl; print(*sys.version_info[:3], sep='.')"

FACT = "V[port.api]: the gateway listens on 8443"

REQUESTS = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "check", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_search", "arguments": {"query": "gateway"}},
    },
)


def find_interpreters() -> dict[str, Path]:
    """Return the other interpreters that the package allows, by their version, one of each minor version."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    lowest = int(project["requires-python"].removeprefix(">=3."))
    folders = [Path(folder) for folder in os.get_exec_path()]
    folders += sorted((Path.home() / ".pyenv" / "versions").glob("*/bin"))
    interpreters: dict[str, Path] = {}
    minors = {sys.version_info.minor}
    for path in chain.from_iterable(sorted(folder.glob("python3.*")) for folder in folders):
        match = re.fullmatch(r"python3\.(\d+)", path.name)
        if match is None or int(match[1]) < lowest or int(match[1]) in minors:
            continue
        with suppress(AssertionError):  # a name without an interpreter, or one without SQLite or TLS
            interpreters[run([path, "-c", PROBE]).strip()] = path
            minors.add(int(match[1]))
    return interpreters


def run(command: Sequence[str | Path], *, stdin: str = "", **options: Any) -> str:
    """Run a command that must succeed without a traceback, and return what it prints on its standard output.

    :raises AssertionError: with all that it printed
    """
    process = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=PATIENCE_S, check=False, **options
    )
    printed = process.stdout + process.stderr
    assert process.returncode == 0, f"{' '.join(map(str, command))} ended with {process.returncode}: {printed}"
    assert "Traceback" not in printed, printed
    return process.stdout


def build_wheel(folder: Path) -> Path:
    run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, REPOSITORY])
    return next(folder.glob("hermes_memory_tui-*.whl"))


def install(interpreter: Path, wheel: Path, folder: Path) -> Path:
    """Install the plain package for an interpreter, and return the folder of its programs."""
    run([interpreter, "-m", "venv", "--without-pip", folder])
    # What is imported is compiled then; of 63 packages that is a small part.
    run([sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-compile", wheel])
    return folder / "bin"


class Trial:
    """The programs of one environment, on a memory of their own."""

    def __init__(self, programs: Path, home: Path) -> None:
        self.programs, self.home = programs, home
        own = {name: str(home) for name in ("HOME", "HERMES_HOME", "XDG_RUNTIME_DIR")}
        own |= {"HERMES_MEMORY_DB": str(home / "memory.db"), "TERM": "xterm-256color"}
        self.environment = {
            name: value
            for name, value in (os.environ | own).items()
            if name not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "HERMES_MEMORY_THEME", "NO_COLOR")
        }

    def run(self, program: str, *args: str, stdin: str = "") -> str:
        return run([self.programs / program, *args], stdin=stdin, env=self.environment, cwd=self.home)

    def write_and_read(self) -> None:
        self.run("hermes-memory-tui", "write", FACT)
        assert "8443" in self.run("hermes-memory-tui", "facts")

    def open_inspector(self) -> None:
        pid, handle = pty.fork()
        if not pid:
            os.chdir(self.home)
            os.execve(self.programs / "hermes-memory-tui", ["hermes-memory-tui"], self.environment)
        drawn, shows_fact = b"", False
        until = time.monotonic() + PATIENCE_S
        try:
            while time.monotonic() < until:
                if not select.select([handle], [], [], 1)[0]:
                    continue
                try:
                    drawn += os.read(handle, 1 << 16)
                except OSError:  # the program has closed its terminal
                    break
                if not shows_fact and b"8443" in drawn:
                    shows_fact = True
                    os.write(handle, b"q")
            else:
                os.kill(pid, 9)
        finally:
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            os.close(handle)
        assert shows_fact, f"the inspector did not show the fact: {drawn[-2000:].decode(errors='replace')}"
        assert status == 0, f"the inspector ended with {status}"

    def call_over_stdio(self) -> None:
        lines = "".join(json.dumps(request) + "\n" for request in REQUESTS)
        answers = [json.loads(line) for line in self.run("hermes-memory-bridge", stdin=lines).splitlines()]
        answer = next(answer for answer in answers if answer.get("id") == 1)
        assert "8443" in json.dumps(answer["result"]), answer

    def run_hook(self) -> None:
        event = {"session_id": "check", "cwd": str(self.home), "hook_event_name": "SessionStart", "source": "startup"}
        assert "8443" in self.run("hermes-memory-hook", "claude-code", "start", stdin=json.dumps(event))


def try_interpreter(version: str, interpreter: Path, wheel: Path, folder: Path) -> str:
    """Run every program on an interpreter, and return a line about it.

    :raises AssertionError: what did not work, with what the program printed
    """
    began = time.monotonic()
    home = folder / "home"
    home.mkdir(mode=0o700, parents=True)
    trial = Trial(install(interpreter, wheel, folder / "venv"), home)
    try:
        trial.write_and_read()
        trial.open_inspector()
        trial.call_over_stdio()
        trial.run_hook()
    finally:
        with suppress(AssertionError):  # no bridge serves after a failure
            trial.run("hermes-memory-bridge", "stop")
    return f"Python {version}: command line, inspector, shim and hook work ({time.monotonic() - began:.0f} s)"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="hermes-memory-") as place, ThreadPoolExecutor() as pool:
        folder = Path(place)
        interpreters = find_interpreters()
        wheel = build_wheel(folder) if interpreters else folder
        trials = [
            pool.submit(try_interpreter, version, path, wheel, folder / version)
            for version, path in interpreters.items()
        ]
        for trial in trials:
            print(trial.result(), flush=True)
        if not trials:
            print("no other interpreter on this machine")


if __name__ == "__main__":
    main()
