"""The command line as a script calls it: a real process, its exit code, and what it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Ran:
    """One finished call."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What `--json` printed."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """What `--json` printed about an error."""
        error = json.loads(self.err)["error"]
        assert set(error) == {"code", "message", "value"}
        return error  # type: ignore[no-any-return]


Run = Callable[..., Ran]


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def run(db: Path, tmp_path: Path) -> Run:
    """`run("write", "C[a]: b", "--json")`; bytes are handed over as they are."""

    def call(*args: str | bytes, stdin: str = "", **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "hermes_memory_tui", *args],
            input=stdin.encode(),
            capture_output=True,
            env=os.environ | {"HERMES_MEMORY_DB": str(db), "HERMES_HOME": str(tmp_path), "HOME": str(tmp_path), **environment},
            check=False,
        )
        ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in ran.out + ran.err
        return ran

    return call
