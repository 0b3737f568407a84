"""Installing the provider: into the profiles asked for, nothing of theirs lost, twice is once, and taken out again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_bridge.provider.cli import add_provider_line, remove_provider_line
from tests.bridge.running import run_command

CONFIG = "# mine\nmodel:\n  default: x   # the good one\nmemory:   # small\n  memory_char_limit: 3000\nlast: true\n"


def connect(home: Path, *words: str, program: str = "hermes_memory_bridge") -> subprocess.CompletedProcess[str]:
    """Run the command of one of the programs in a home of its own; the bridge's within this process."""
    command = ["connect", "hermes-agent", "--provider", *words]
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("HERMES_")]:
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        if program == "hermes_memory_bridge":
            return run_command(*command, HERMES_MEMORY_LINGER="0.1")
        return subprocess.run([sys.executable, "-m", program, *command], input="", capture_output=True, text=True)


def folder(home: Path) -> Path:
    """Where a profile has the provider."""
    return home / "plugins" / "hermes-memory"


def test_it_is_installed_once_and_taken_out_without_a_trace(tmp_path: Path) -> None:
    home = tmp_path / ".hermes"
    home.mkdir()
    (home / "config.yaml").write_text(CONFIG)
    shown = connect(tmp_path, "--dry-run")
    assert "+  provider: hermes-memory" in shown.stdout
    assert connect(tmp_path).returncode == 1
    assert not folder(home).exists()
    done = connect(tmp_path, "--yes")
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load((home / "config.yaml").read_text())["memory"]["provider"] == "hermes-memory"
    assert (home / "config.yaml").read_text().replace("  provider: hermes-memory\n", "") == CONFIG
    assert {"__init__.py", "plugin.yaml", "installed.json"} <= {path.name for path in folder(home).iterdir()}
    assert "nothing to change" in connect(tmp_path, "--yes").stdout
    (folder(home) / "worker.py").write_text("old")
    assert "of another version" in connect(tmp_path, "--check").stdout
    assert "renewed" in connect(tmp_path, "--yes").stdout
    checked = connect(tmp_path, "--check")
    assert checked.returncode == 0, checked.stdout
    assert connect(tmp_path, "--remove", "--yes").returncode == 0
    assert not folder(home).exists()
    assert (home / "config.yaml").read_text() == CONFIG


def test_profiles_are_named_or_all_taken(tmp_path: Path) -> None:
    home = tmp_path / ".hermes"
    for name in ("work", "play"):
        (home / "profiles" / name).mkdir(parents=True)
    wrong = connect(tmp_path, "--profile", "wrok")
    assert wrong.returncode == 1
    assert "did you mean work?" in wrong.stderr
    assert connect(tmp_path, "--profile", "work", "--yes", program="hermes_memory_tui").returncode == 0
    assert [folder(path).exists() for path in (home, home / "profiles/work", home / "profiles/play")] == [
        False,
        True,
        False,
    ]
    assert connect(tmp_path, "--all-profiles", "--yes").returncode == 0
    assert folder(home).exists()
    assert folder(home / "profiles" / "play").exists()
    assert connect(tmp_path, "--all-profiles", "--remove", "--yes").returncode == 0
    assert not folder(home).exists()


def test_another_provider_is_replaced_only_where_a_person_agrees(tmp_path: Path) -> None:
    home = tmp_path / ".hermes"
    home.mkdir()
    (home / "config.yaml").write_text("memory:\n  provider: honcho  # for now\n")
    assert "-  provider: honcho" in connect(tmp_path).stdout
    assert connect(tmp_path, "--yes").returncode == 0
    assert (home / "config.yaml").read_text() == "memory:\n  provider: hermes-memory  # for now\n"


@pytest.mark.parametrize("text", ["memory: {provider: x}\n", "memory: [broken\n", '"memory":\n  provider: x\n'])
def test_a_file_that_cannot_be_changed_safely_is_left_alone(text: str, tmp_path: Path) -> None:
    home = tmp_path / ".hermes"
    home.mkdir()
    (home / "config.yaml").write_text(text)
    done = connect(tmp_path, "--yes")
    assert done.returncode == 1
    assert "left alone" in done.stderr
    assert (home / "config.yaml").read_text() == text
    assert not folder(home).exists()


def test_other_hosts_have_no_provider(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hermes_memory_bridge", "connect", "cursor", "--provider"],
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "for hermes-agent" in done.stderr


BLOCK = st.lists(
    st.sampled_from(["a: 1", "provider: honcho", "# note", "", "deep:\n    b: 2", "z: 'x # y'"]), unique=True
)


@given(BLOCK, BLOCK, st.sampled_from(["memory:", "memory: # why", "memory: {}", "memory:  ", "other: 1"]))
def test_one_setting_changes_and_nothing_else(before: list[str], inside: list[str], head: str) -> None:
    top = [line for line in before if "provider" not in line and "\n" not in line]
    under = [f"  {line}" if line else line for line in inside] if head not in ("memory: {}", "other: 1") else []
    text = "\n".join([*top, head, *under, "end: 1"]) + "\n"
    read = yaml.safe_load(text)
    after = add_provider_line(text, "hermes-memory")
    assert after is not None
    memory = {**(read.get("memory") or {}), "provider": "hermes-memory"}
    assert yaml.safe_load(after) == {**read, "memory": memory}
    assert add_provider_line(after, "hermes-memory") == after
    if "provider" not in (read.get("memory") or {}):
        assert remove_provider_line(after, "hermes-memory") == text
        return
    rest = {key: value for key, value in memory.items() if key != "provider"}
    expected = {key: value for key, value in read.items() if key != "memory"} | ({"memory": rest} if rest else {})
    assert yaml.safe_load(remove_provider_line(after, "hermes-memory")) == expected


CONFIGS = st.builds(
    lambda head, memory, tail, end, line, mark: mark + ("\n".join([*head, *memory, *tail]) + end).replace("\n", line),
    st.sampled_from([[], ["# mine"], ["model:", "  default: x   # good", ""]]),
    st.sampled_from(
        [
            [],
            *([f"memory:{said}{behind}"] for said in ("", " {}", "  null", " ~") for behind in ("", "  # small")),
            ["memory:   # small", "  memory_char_limit: 3000", "  # within"],
            ["memory:", "", "  # first", "    user_char_limit: 1"],
        ]
    ),
    st.sampled_from([[], ["last: true"], ["# about the next", "last: true"]]),
    st.sampled_from(["", "\n", "\n\n"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "", "\ufeff"]),
)


@given(text=CONFIGS)
def test_taking_the_provider_out_gives_the_configuration_back_byte_for_byte(text: str) -> None:
    after = add_provider_line(text, "hermes-memory")
    assert after is not None
    assert yaml.safe_load(after) == {
        **(before := yaml.safe_load(text) or {}),
        "memory": {**(before.get("memory") or {}), "provider": "hermes-memory"},
    }
    if "\r\n" in text:
        assert "\n" not in after.replace("\r\n", "")
    assert remove_provider_line(after, "hermes-memory") == text


@pytest.mark.parametrize("profile", ["", "work"])
def test_a_check_names_the_theme_that_the_provider_uses_and_whether_it_keeps_what_is_said(
    tmp_path: Path, profile: str
) -> None:
    home = tmp_path / ".hermes"
    (home / "profiles" / "work").mkdir(parents=True)
    named = ["--profile", profile] if profile else []
    place = home / "profiles" / profile if profile else home
    assert connect(tmp_path, *named, "--yes").returncode == 0
    checked = connect(tmp_path, *named, "--check").stdout
    assert f"theme {profile or 'default'}, " in checked
    assert "conversations are not kept until somebody was asked" in checked
    (place / "hermes-memory").mkdir()
    (place / "hermes-memory" / "provider.json").write_text('{"theme": "Night Shift"}')
    assert connect(tmp_path, *named, "--capture", "--yes").returncode == 0
    checked = connect(tmp_path, *named, "--check").stdout
    assert "theme night-shift, " in checked
    assert "conversations are kept" in checked
