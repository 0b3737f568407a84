"""Codex runs only hooks that it trusts: trust is asked from it, written once, and taken out without a trace."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_bridge.connect.hooks.codex_trust import list_codex_hooks
from hermes_memory_bridge.connect.hooks.trust_tables import add_trust, find_trusted_hashes, remove_trust, rename_trust
from hermes_memory_bridge.connect.hosts import HOSTS, HostEnvironment
from hermes_memory_bridge.connect.toml_yaml_edit import UneditableConfig
from tests.bridge.connect.stand_in_codex import LISTS_NONE, REFUSES, write_codex
from tests.bridge.connect.test_connect import connect, connect_here

THEIRS = {"hooks": [{"type": "command", "command": "other program"}]}


@pytest.fixture
def codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Codex on the PATH, and nothing else; the folder it stands in."""
    folder = tmp_path / "programs"
    folder.mkdir()
    write_codex(folder)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    return folder


def statuses(home: Path, environ: dict[str, str]) -> dict[str, list[str]]:
    """What Codex says of the hooks of each program."""
    found: dict[str, list[str]] = {}
    for hook in list_codex_hooks(HostEnvironment(home, "linux", environ | {"HOME": str(home)})):
        found.setdefault("ours" if "hermes-memory-hook" in hook.command else "theirs", []).append(hook.status)
    return found


@pytest.mark.parametrize(
    "config", ["", "# mine", 'model = "x"\n\n[tui]\ntheme = "dark" # last', "a = 1\r\n[b]\r\nc = 2\r\n"]
)
def test_trust_is_written_once_and_taken_out_without_a_trace(codex: Path, config: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    file = home / ".codex" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(config.encode())
    environ = {"PATH": str(codex)}
    assert connect_here(home, "codex", "--yes") == 0
    assert statuses(home, environ) == {"ours": ["trusted"] * 6}
    written = file.read_bytes()
    assert connect_here(home, "codex", "--yes") == 0
    assert file.read_bytes() == written
    assert connect_here(home, "codex", "--yes", "--capture", "--theme", "me") == 0
    assert statuses(home, environ) == {"ours": ["trusted"] * 8}
    assert connect_here(home, "codex", "--remove", "--yes") == 0
    assert file.read_bytes() == config.encode()
    assert not (file.parent / "hooks.json").exists()


def test_the_trust_of_other_hooks_follows_them_when_ours_go(codex: Path, tmp_path: Path) -> None:
    home, environ = tmp_path / "home", {"PATH": str(codex)}
    hooks, config = home / ".codex" / "hooks.json", home / ".codex" / "config.toml"
    assert connect_here(home, "codex", "--yes") == 0
    document = json.loads(hooks.read_text())
    document["hooks"]["SessionStart"].append(THEIRS)
    hooks.write_text(json.dumps(document))
    place = HostEnvironment(home, "linux", environ | {"HOME": str(home)})
    (theirs,) = [hook for hook in list_codex_hooks(place) if hook.command == "other program"]
    assert theirs.key.endswith(":session_start:1:0")
    config.write_text(add_trust(config.read_text(), {theirs.key: theirs.current_hash}))
    for options in (("--theme", "me"), ("--remove",)):
        assert connect_here(home, "codex", "--yes", *options) == 0
        assert statuses(home, environ)["theirs"] == ["trusted"]
    assert statuses(home, environ) == {"theirs": ["trusted"]}


def test_a_home_that_a_variable_names_is_resolved_as_codex_does(
    codex: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "link"))
    assert connect_here(tmp_path, "codex", "--yes") == 0
    environ = {"PATH": str(codex), "CODEX_HOME": str(tmp_path / "link")}
    assert statuses(tmp_path, environ) == {"ours": ["trusted"] * 6}


@pytest.mark.parametrize(
    ("answer", "said"),
    [(None, "Codex is not on the PATH"), (REFUSES, "unknown variant"), (LISTS_NONE, "knows 0 of the 6")],
)
def test_without_a_codex_that_lists_hooks_the_way_out_is_named(
    codex: Path, answer: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (codex / "codex").unlink()
    if answer:
        write_codex(codex, answer)
    assert connect_here(tmp_path, "codex", "--yes") == 0
    shown = capsys.readouterr().out
    assert said in shown
    assert "type /hooks" in shown
    assert "trusted_hash" not in (tmp_path / ".codex" / "config.toml").read_text()
    assert "hermes-memory-hook" in (tmp_path / ".codex" / "hooks.json").read_text()


def test_a_person_who_does_not_agree_is_told_what_remains_to_be_done(codex: Path, tmp_path: Path) -> None:
    answer = connect(tmp_path, "codex", typed="y\nn\nn\nn\nn\ny\n")
    assert "Codex runs no hook that you have not trusted" in answer.stdout
    assert "type /hooks" in answer.stdout
    assert "trusted_hash" not in (tmp_path / ".codex" / "config.toml").read_text()


def test_what_is_said_otherwise_of_a_key_is_left_alone_with_a_sentence(codex: Path, tmp_path: Path) -> None:
    config = tmp_path / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text('hooks = { state = { "x:stop:0:0" = { trusted_hash = "sha256:1" } } }\n')
    assert connect_here(tmp_path, "codex", "--yes") == 0
    assert tomllib.loads(config.read_text())["hooks"] == {"state": {"x:stop:0:0": {"trusted_hash": "sha256:1"}}}
    with pytest.raises(UneditableConfig):
        remove_trust(config.read_text(), ["x:stop:0:0"])


KEY = "/home/ü/.codex/hooks.json:stop:0:0"


def test_a_table_that_says_more_than_trust_goes_as_a_whole_and_its_neighbours_stay() -> None:
    neighbour, behind = '[hooks.state."a:stop:0:0"]\nenabled = false\n', "\n# tui\n[tui]\n"
    text = f'{neighbour}\n[hooks.state."{KEY}"]\ntrusted_hash = "1"\nenabled = true\n{behind}'
    assert remove_trust(text, [KEY]) == neighbour + behind
    renamed = rename_trust(text, {"a:stop:0:0": "a:stop:1:0"})
    assert renamed == text.replace("a:stop:0:0", "a:stop:1:0")
    assert find_trusted_hashes(add_trust(text, {KEY: "2"}))[KEY] == {"trusted_hash": "2"}


TABLES = ["[a]\nb = 1\n", "[hooks.state.x]\ntrusted_hash = '1'\n", "[[hooks.Stop]]\nc = 1\n"]


@given(
    tables=st.lists(
        st.sampled_from(["[a]\nb = 1\n", "[hooks.state.x]\ntrusted_hash = '1'\n", "[[hooks.Stop]]\nc = 1\n"]),
        unique=True,
    ),
    head=st.sampled_from(["", "# mine\n", "model = 'x'\n\n", "t = '''\n[hooks.state.y]\n'''\n"]),
    tail=st.sampled_from(["", "\n", "# last", "z = 1"]),
    line=st.sampled_from(["\n", "\r\n"]),
)
def test_any_document_comes_back(tables: list[str], head: str, tail: str, line: str) -> None:
    text = (head + "".join(tables) + tail).replace("\n", line)
    entries: dict[str, Any] = {KEY: "sha256:1", "C:\\x\\hooks.json:stop:0:1": "sha256:2"}
    after = add_trust(text, entries)
    assert add_trust(after, entries) == after
    assert remove_trust(after, list(entries)) == text


def test_connecting_codex_needs_no_trust_where_no_hooks_are_wanted(codex: Path, tmp_path: Path) -> None:
    assert connect_here(tmp_path, "codex", "--yes", "--no-hooks") == 0
    text = (tmp_path / ".codex" / "config.toml").read_text()
    assert HOSTS["codex"].find_entry(text) is not None
    assert "hooks" not in text
