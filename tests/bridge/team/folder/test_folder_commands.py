"""Two machines that share a folder, as a person sets them up: real commands, real bridges."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.bridge.running import until
from tests.bridge.team.folder.laptops import POLICY, THEME
from tests.bridge.team.machines import Machine, team

pytestmark = pytest.mark.slow


def set_up(here: Machine, there: Machine, folder: Path) -> str:
    """Share a theme of one machine with the other, and return its code."""
    folder.mkdir()
    for machine in (here, there):
        (machine.home / "memory-themes.toml").write_text(POLICY, encoding="utf-8")
    shown = here.command("folder", "share", str(folder), THEME)
    assert shown.returncode == 0, shown.stderr
    code = shown.stdout.split("\n")[0]
    assert code.startswith("hmf1-")
    typed = there.command("folder", "join", str(folder), THEME, given=code.lower().replace("-", " ") + "\n")
    assert typed.returncode == 0, typed.stderr
    assert code not in typed.stdout
    return code


def test_a_fact_is_on_the_other_machine_within_two_seconds_and_survives_kills(tmp_path: Path) -> None:
    with team(tmp_path, None, None) as (here, there):
        set_up(here, there, tmp_path / "shared")
        here.start()
        there.start()
        taken = []
        for n in range(3):
            began = time.monotonic()
            here.write(f"V[port{n}]: {8000 + n}")
            until(lambda n=n: str(8000 + n) in there.contents(), "the fact")
            taken.append(time.monotonic() - began)
        assert sorted(taken)[1] < 2.5
        for n in range(5):
            here.kill()
            here.write(f"V[word{n}]: after kill {n}")
            here.start()
            there.kill()
            there.start()
        until(lambda: here.digest() == there.digest() and here.at_rest() and there.at_rest(), "the same on both")
        assert len(there.contents()) == 8
        assert here.command("sync", "verify").stdout.startswith("ours: the same")
        status = here.command("sync", "status").stdout
        assert "shared folder" in status
        assert "pooler" not in status


def test_commands_exchange_without_a_bridge_and_say_what_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    with team(tmp_path, None, None) as (here, there):
        assert here.command("folder", "share", str(folder), THEME).returncode != 0
        code = set_up(here, there, folder)
        uid = here.write("V[port]: 8080")
        assert here.command("sync", "now").returncode == 0
        assert there.command("sync", "now").returncode == 0
        assert there.contents() == {"8080"}
        here.write("V[host]: db")
        assert here.command("sync", "verify").returncode == 0
        assert b"8080" not in b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())

        wrong = there.command(
            "folder", "join", str(folder), "other", given=code[:-1] + ("A" if code[-1] != "A" else "B")
        )
        assert "typing mistake" in wrong.stderr
        assert "none" not in wrong.stderr
        assert there.command("folder", "leave", THEME).returncode == 0
        left = there.command("sync", "now")
        assert "no key" in left.stdout + left.stderr
        assert left.returncode == 1

        folder.rename(tmp_path / "away")
        gone = here.command("sync", "now")
        assert gone.returncode == 1
        assert "not there" in gone.stdout
        assert uid


def test_a_key_without_a_keyring_is_behind_a_passphrase(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()

    class Keyless(Machine):
        """A machine without a keyring, on which nobody allowed a file."""

        passphrase = ""

        @property
        def environment(self) -> dict[str, str]:
            kept = {name: value for name, value in super().environment.items() if name != "HERMES_MEMORY_SECRETS"}
            given = {"HERMES_MEMORY_FOLDER_PASSPHRASE": self.passphrase} if self.passphrase else {}
            return kept | {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"} | given

    here = Keyless(tmp_path / "here", None)
    (here.home / "memory-themes.toml").write_text(POLICY, encoding="utf-8")
    refused = here.run_program("folder", "share", str(folder), THEME)
    assert refused.returncode != 0
    assert "passphrase" in refused.stderr
    here.passphrase = "correct horse"
    shown: subprocess.CompletedProcess[str] = here.run_program("folder", "share", str(folder), THEME)
    assert shown.returncode == 0, shown.stderr
    here.write("V[port]: 8080")
    assert here.run_program("sync", "now").returncode == 0
    here.passphrase = ""
    here.start()
    try:
        until(lambda: "passphrase" in here.status().get("words", ""), "the state says what is missing")
        assert here.run_program("folder", "unlock", given="wrong\n").returncode != 0
        opened = here.run_program("folder", "unlock", given="correct horse\n")
        assert opened.returncode == 0, opened.stderr
        until(lambda: here.status().get("state") == "idle", "everything is exchanged")
    finally:
        here.kill()
