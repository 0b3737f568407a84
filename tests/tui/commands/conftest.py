"""The command line called in this process on a store of its own, and as a process where the system has a part in it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_tui.cli.command_runner import run_command_line

COMMAND = (sys.executable, "-m", "hermes_memory_tui")


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        said = json.loads(self.err)["error"]
        assert set(said) == {"code", "message", "value"}
        return dict(said)


Ask = Callable[..., Answer]
"""Runs a command; its answer."""

Tell = Callable[..., Any]
"""Runs a command that must succeed with `--json`; its document."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of this test's own, named by every variable that counts."""
    for name in ("HERMES_MEMORY_DB", "HERMES_MEMORY_THEME", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / ".hermes"))
    monkeypatch.chdir(tmp_path)  # the home is no project, so that commands take the theme `default`
    return tmp_path


@pytest.fixture
def db(home: Path) -> Path:
    return home / "memory.db"


@pytest.fixture
def ask(db: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    def called(*args: str, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = run_command_line(["--db", str(db), *args])
        said = capfd.readouterr()
        return Answer(code, said.out, said.err)

    return called


@pytest.fixture
def tell(ask: Ask) -> Tell:
    def called(*args: str, stdin: bytes = b"") -> Any:
        answer = ask(*args, "--json", stdin=stdin)
        assert answer.code == 0, answer.err
        return answer.document

    return called


@pytest.fixture
def process(db: Path) -> Ask:
    def called(*args: str | bytes, stdin: bytes = b"", db: Path = db, **options: Any) -> Answer:
        done = subprocess.run(
            [*COMMAND, "--db", os.fsencode(db), *args],
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
            **options,
        )
        return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())

    return called


class Screen(io.StringIO):
    """Standard output that is a terminal for whoever asks."""

    def isatty(self) -> bool:
        return True


Show = Callable[..., str]
"""Runs a command for somebody who looks; what it prints. `test_processes.py` has real terminals."""


@pytest.fixture
def show(db: Path, monkeypatch: pytest.MonkeyPatch) -> Show:
    def called(*args: str, columns: int = 80, **environment: str) -> str:
        terminal = {"COLUMNS": str(columns), "TERM": "xterm-256color", "PAGER": "cat"}
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", screen := Screen())
            for name, value in (terminal | environment).items():
                patch.setenv(name, value)
            run_command_line(["--db", str(db), *args])
        return screen.getvalue()

    return called
