"""The service's file, as systemd and launchd read it."""

from __future__ import annotations

import os
import plistlib
import subprocess
import sys
from pathlib import Path

from hermes_memory_bridge.daemon import service


def test_a_unit_starts_this_installations_command(tmp_path: Path) -> None:
    shown = subprocess.run(
        [
            sys.executable,
            "-m",
            "hermes_memory_bridge",
            "install-service",
            "--print",
            "--db",
            str(tmp_path / "my memory.db"),
        ],
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f'serve --db "{tmp_path}/my memory.db"' in shown.stdout
    assert not (tmp_path / ".config").exists()


def test_words_with_signs_are_quoted_for_systemd() -> None:
    assert service.quote_systemd_word("plain") == "plain"
    assert service.quote_systemd_word("a b") == '"a b"'
    assert service.quote_systemd_word('50% "$x"') == '"50%% \\"$$x\\""'


def test_a_launch_agent_has_its_words_apart() -> None:
    agent = plistlib.loads(service.to_launchd_plist(["/bin/bridge", "serve", "--db", "/a b"]).encode())
    assert agent["ProgramArguments"] == ["/bin/bridge", "serve", "--db", "/a b"]
    assert agent["RunAtLoad"] is True


def test_taking_out_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "hermes_memory_bridge", "uninstall-service"],
        env=os.environ | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0
    assert "there is no" in answer.stdout
