"""Installing hooks by `connect`: two answers, all files or none, every host at once, and no trace afterwards."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from hermes_memory_bridge.connect.hooks.hook_check import examine_hooks
from hermes_memory_bridge.connect.hooks.hook_edit import list_own_hooks, read_hook_document
from hermes_memory_bridge.connect.host_hooks import HOOKS
from hermes_memory_bridge.connect.hosts import HOSTS, HostEnvironment
from hermes_memory_bridge.connect.plugins.host_plugins import SCRIPTS, can_hear, find_script_plugin
from hermes_memory_store.hosts.capture_settings import open_capture_switch
from hermes_memory_store.hosts.capture_switch import may_capture
from hermes_memory_store.projects.place_themes import Places
from hermes_memory_store.store import Store
from tests.bridge.connect.test_connect import connect, connect_here, file_of
from tests.store.test_place_themes import make_older

ALONE = [name for name in HOOKS if name != "codex"]
"""Hosts that need no other program to be connected."""


@pytest.fixture(autouse=True)
def no_programs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No host is installed, so that none is asked and none is found by its program."""
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "QWEN_HOME"):
        monkeypatch.delenv(variable, raising=False)


def hooks_file_of(name: str, home: Path) -> Path:
    return HOOKS[name].file(HostEnvironment(home, "linux", {}))


def own_events(file: Path) -> set[str]:
    """The events at which hooks of ours stand in a file."""
    return own_events_of(file.read_text()) if file.exists() else set()


def own_events_of(settings: str) -> set[str]:
    return {own.event for own in list_own_hooks(read_hook_document(settings))}


def tree(home: Path) -> dict[str, bytes | str]:
    """Every file below a folder with its content, without the backups."""
    return {
        str(path.relative_to(home)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(home.rglob("*"))
        if not path.name.endswith(".bak") and (path.is_symlink() or path.is_file())
    }


@pytest.mark.parametrize("name", HOOKS)
def test_without_an_answer_agents_are_given_what_is_remembered_and_nothing_is_kept(name: str, tmp_path: Path) -> None:
    assert connect_here(tmp_path, name, "--yes") == 0
    lines = HOOKS[name].lines
    assert own_events(hooks_file_of(name, tmp_path)) == {line.native for line in lines if line.gives}
    store = tmp_path / ".hermes" / "memory.db"
    assert not may_capture(str(store), name, str(tmp_path)).allowed
    assert connect_here(tmp_path, name, "--yes", "--capture") == 0
    assert own_events(hooks_file_of(name, tmp_path)) == {line.native for line in lines if line.gives or line.keeps}
    assert may_capture(str(store), name, str(tmp_path)).allowed
    assert stat.S_IMODE((tmp_path / ".hermes" / "memory.db.capture.json").stat().st_mode) == 0o600
    assert connect_here(tmp_path, name, "--yes", "--theme", "me") == 0
    assert may_capture(str(store), name, str(tmp_path)).allowed, "an answer that was given stands"
    assert connect_here(tmp_path, name, "--yes", "--remove") == 0
    assert connect_here(tmp_path, name, "--yes") == 0
    assert not may_capture(str(store), name, str(tmp_path)).allowed, "and ends with the connection"


@pytest.mark.parametrize(
    ("typed", "gives", "keeps"),
    [
        *(("\n\n\n\n\n\n", True, False), ("y\ny\nn\nn\nn\ny\n", True, True)),
        *(("n\nn\n\n\n\n\n", False, False), ("n\ny\nn\nn\ny\ny\n", False, True)),
    ],
)
def test_two_questions_have_two_answers(typed: str, gives: bool, keeps: bool, tmp_path: Path) -> None:
    shown = connect(tmp_path, "claude-code", typed=typed)
    assert "Give your agents what is remembered?" in shown.stdout
    assert "Keep what is said?" in shown.stdout
    assert shown.returncode == 0, shown.stderr
    lines = HOOKS["claude-code"].lines
    expected = {line.native for line in lines if (gives and line.gives) or (keeps and line.keeps)}
    assert own_events(tmp_path / ".claude" / "settings.json") == expected
    answers = json.loads((tmp_path / ".hermes" / "memory.db.capture.json").read_text())
    assert answers["hosts"] == {"claude-code": keeps}


@pytest.mark.parametrize("name", [name for name in HOOKS if can_hear(name)])
def test_what_tools_return_is_heard_where_that_was_allowed_and_not_after_a_no(name: str, tmp_path: Path) -> None:
    store, hearing = tmp_path / ".hermes" / "memory.db", {line.native for line in HOOKS[name].lines if line.hears}

    def is_heard() -> bool:
        assert hearing <= own_events(hooks_file_of(name, tmp_path)), "by which facts are given, too"
        return may_capture(str(store), name, str(tmp_path), of_tools=True).allowed

    assert connect_here(tmp_path, name, "--yes") == 0
    assert not is_heard()
    assert connect_here(tmp_path, name, "--yes", "--hear") == 0
    assert connect_here(tmp_path, name, "--yes", "--theme", "me") == 0
    assert is_heard(), "an answer that was given stands"
    assert not may_capture(str(store), name, str(tmp_path)).allowed, "and is none to the other question"
    assert connect_here(tmp_path, name, "--yes", "--no-hear") == 0
    assert not is_heard()


def test_a_hook_that_is_there_to_hear_alone_is_silent_and_not_waited_for(tmp_path: Path) -> None:
    def find_handlers() -> list[dict[str, object]]:
        settings = json.loads((tmp_path / ".claude" / "settings.json").read_text())
        return [settings["hooks"][event][0]["hooks"][0] for event in ("PostToolUse", "PostToolUseFailure")]

    assert connect(tmp_path, "claude-code", typed="n\n\ny\n\n\n\n").returncode == 0
    assert own_events(tmp_path / ".claude" / "settings.json") == {"PostToolUse", "PostToolUseFailure"}
    assert all("--silent" in str(handler) and handler["async"] for handler in find_handlers())
    assert "no hook at" not in connect(tmp_path, "claude-code", "--check").stdout
    assert connect(tmp_path, "claude-code", typed="y\n\ny\n\n\n\n").returncode == 0
    assert not any("--silent" in str(handler) or "async" in handler for handler in find_handlers())


@pytest.mark.parametrize("name", [name for name in (*HOOKS, "opencode") if can_hear(name)])
def test_what_is_done_is_told_where_that_was_allowed_and_by_no_other_yes(name: str, tmp_path: Path) -> None:
    store, script = tmp_path / ".hermes" / "memory.db", SCRIPTS.get(name)
    place = HostEnvironment(tmp_path, "linux", {})

    def is_told() -> tuple[bool, bool]:
        if script:
            is_reported = "const HEARS = true" in find_script_plugin(name, place).read_text()
        else:
            assert f"{name} tool" in hooks_file_of(name, tmp_path).read_text(), "by which facts are given, too"
            is_reported = may_capture(str(store), "", str(tmp_path), of_actions=True).allowed
        return is_reported, may_capture(str(store), "", str(tmp_path), of_actions=True).allowed

    assert connect_here(tmp_path, name, "--yes", "--capture") == 0
    assert is_told() == (False, False)
    assert connect_here(tmp_path, name, "--yes", "--actions") == 0
    assert connect_here(tmp_path, name, "--yes", "--theme", "me") == 0
    assert is_told() == (True, True), "an answer that was given stands"
    assert not may_capture(str(store), name, str(tmp_path), of_tools=True).allowed, "and is none to the other question"
    assert connect_here(tmp_path, name, "--yes", "--no-actions") == 0
    assert is_told() == (False, False)
    with open_capture_switch(store) as switch:
        switch.actions = True
    assert [finding.ok for finding in examine_hooks(place, store, name)] == [not script]
    assert connect_here(tmp_path, name, "--yes") == 0
    assert is_told() == (True, True), "a yes that was given elsewhere counts"


def test_what_is_done_is_asked_about(tmp_path: Path) -> None:
    shown = connect(tmp_path, "claude-code", typed="\n\n\ny\n\n\n")
    assert "Keep what is done? What your agents run, read and edit" in shown.stdout
    assert {"PostToolUse", "PostToolUseFailure"} <= own_events(tmp_path / ".claude" / "settings.json")
    answers = json.loads((tmp_path / ".hermes" / "memory.db.capture.json").read_text())
    assert (answers["hosts"], answers["tools"], answers["actions"]) == (
        {"claude-code": False},
        {"claude-code": False},
        True,
    )
    again = connect(tmp_path, "claude-code", typed="\n\n\n\n\n\n")
    assert json.loads((tmp_path / ".hermes" / "memory.db.capture.json").read_text())["actions"] is True, again.stdout


def test_what_tools_return_is_asked_about(tmp_path: Path) -> None:
    shown = connect(tmp_path, "claude-code", typed="\n\ny\n\n\n\n")
    assert "May it hear what tools and pages returned, to tell their words from yours?" in shown.stdout
    assert {"PostToolUse", "PostToolUseFailure"} <= own_events(tmp_path / ".claude" / "settings.json")
    answers = json.loads((tmp_path / ".hermes" / "memory.db.capture.json").read_text())
    assert (answers["hosts"], answers["tools"]) == ({"claude-code": False}, {"claude-code": True})
    assert "what tools and pages return is heard" in connect(tmp_path, "claude-code", "--check").stdout


def test_the_end_of_the_input_is_no_answer_and_nothing_is_written(tmp_path: Path) -> None:
    assert connect(tmp_path, "claude-code").returncode == 1
    assert connect(tmp_path, "claude-code", "--dry-run", "--capture").returncode == 0
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("name", HOOKS)
def test_a_host_that_was_new_leaves_no_hooks_behind(name: str, tmp_path: Path) -> None:
    for options in (("--capture",), (), ("--theme", "other"), ("--db", str(tmp_path / "own.db"))):
        assert connect_here(tmp_path, name, "--yes", *options) == 0
    assert connect_here(tmp_path, name, "--yes", "--remove", "--db", str(tmp_path / "own.db")) == 0
    assert connect_here(tmp_path, name, "--yes", "--remove") == 0
    left = {place: said for place, said in tree(tmp_path).items() if said not in (b"", b"{}\n")}
    assert left == {}
    assert not list(tmp_path.glob(".hermes/*"))


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize(
    "content",
    [b'\xef\xbb\xbf{\r\n  "a": 1\r\n}', b"", b'{"a": 1,}', b'{"hooks": {}}\n', b'// mine\n{\n\t"x": [ ] }', b"{}"],
)
def test_connecting_and_removing_gives_every_file_back(name: str, content: bytes, tmp_path: Path) -> None:
    hooks_file, file = hooks_file_of(name, tmp_path), file_of(name, tmp_path)
    for each in dict.fromkeys((hooks_file, file)):
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_bytes(content if each.suffix == ".json" else b"# mine\n")
    hooks_file.chmod(0o444)
    before = tree(tmp_path)
    assert connect_here(tmp_path, name, "--yes", "--capture") == 0
    assert own_events(hooks_file)
    assert stat.S_IMODE(hooks_file.stat().st_mode) == 0o444
    assert connect_here(tmp_path, name, "--yes", "--remove") == 0
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize("content", [b"[1]", b"{", b"\xff\xfe{\x00}", b'{"hooks": 5}', b'{"hooks": {"NATIVE": 7}}'])
def test_a_file_that_cannot_be_changed_safely_stops_the_connection_before_anything_is_written(
    name: str, content: bytes, tmp_path: Path
) -> None:
    hooks_file = hooks_file_of(name, tmp_path)
    hooks_file.parent.mkdir(parents=True, exist_ok=True)
    hooks_file.write_bytes(content.replace(b"NATIVE", HOOKS[name].lines[0].native.encode()))
    before = tree(tmp_path)
    assert connect_here(tmp_path, name, "--yes") == 1
    assert tree(tmp_path) == before


def test_links_are_followed_and_stay(tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "claude.json").write_text("{}\n")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").symlink_to(dotfiles / "claude.json")
    before = tree(tmp_path)
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    assert own_events(dotfiles / "claude.json")
    assert connect_here(tmp_path, "claude-code", "--yes", "--remove") == 0
    after = tree(tmp_path)
    assert after.pop(".claude.json") == b"{}\n"
    assert after == before


def test_when_one_file_cannot_be_written_the_others_are_put_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text('{"model": "x"}')
    unnameable = tmp_path / ("x" * 250)  # its backup would have too long a name
    unnameable.write_text("{}")
    (tmp_path / ".claude.json").symlink_to(unnameable)
    before = tree(tmp_path)
    assert connect_here(tmp_path, "claude-code", "--yes") == 1
    assert "no file was changed" in capsys.readouterr().err
    assert tree(tmp_path) == before
    assert not list(tmp_path.rglob("*.bak"))


def test_copilot_and_vscode_share_one_file_until_the_last_of_them_goes(tmp_path: Path) -> None:
    shared = tmp_path / ".copilot" / "hooks" / "hermes-memory.json"
    assert connect_here(tmp_path, "vscode", "--yes", "--capture") == 0
    written = shared.read_text()
    assert " copilot start" in written
    assert connect_here(tmp_path, "copilot", "--yes", "--no-capture") == 0
    assert own_events(shared) == own_events_of(written) | {"postToolUse"}, "what VS Code may keep it goes on to keep"
    assert connect_here(tmp_path, "copilot", "--yes", "--remove") == 0
    assert own_events_of(written) <= own_events(shared)
    assert connect_here(tmp_path, "vscode", "--yes", "--remove") == 0
    assert not shared.exists()


def test_every_host_that_is_there_is_connected_and_taken_out_again(tmp_path: Path) -> None:
    for name in ("claude-code", "gemini", "qwen", "cursor", "copilot", "vscode"):
        file = file_of(name, tmp_path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('{"mine": true}\n')
    before = tree(tmp_path)
    assert connect_here(tmp_path, "--all", "--yes") == 0
    there = {name for name in HOSTS if HOSTS[name].find_entry(text_of(file_of(name, tmp_path)))}
    assert there == {"claude-code", "gemini", "qwen", "cursor", "copilot", "vscode"}
    assert connect_here(tmp_path, "--all", "--yes") == 0
    assert connect_here(tmp_path, "--all", "--remove", "--yes") == 0
    assert tree(tmp_path) == before
    assert connect_here(tmp_path, "--all", "--remove", "--yes") == 0


def text_of(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def test_one_file_that_must_be_left_alone_stops_no_other_host(tmp_path: Path) -> None:
    for name, text in (("gemini", "{broken"), ("qwen", "{}\n")):
        file_of(name, tmp_path).parent.mkdir()
        file_of(name, tmp_path).write_text(text)
    assert connect_here(tmp_path, "--all", "--yes") == 1
    assert text_of(file_of("gemini", tmp_path)) == "{broken"
    assert own_events(file_of("qwen", tmp_path))


def test_a_project_has_hooks_in_a_file_that_is_never_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    assert connect_here(tmp_path, "claude-code", "--project", "--yes") == 0
    assert own_events(project / ".claude" / "settings.local.json")
    assert not (tmp_path / ".claude").exists()
    assert connect_here(tmp_path, "claude-code", "--project", "--remove", "--yes") == 0
    assert not (project / ".claude").exists()


def test_hooks_of_projects_go_with_those_of_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "settings.local.json").write_text('{"mine": 1}\n')
    monkeypatch.chdir(project)
    assert connect_here(tmp_path, "claude-code", "--project", "--yes") == 0
    monkeypatch.chdir(tmp_path)
    assert connect_here(tmp_path, "--all", "--remove", "--yes") == 0
    assert (project / ".claude" / "settings.local.json").read_text() == '{"mine": 1}\n'
    assert not list(tmp_path.glob(".hermes/*"))


@pytest.mark.parametrize("make", ["folder", "loop", "pipe", "dangling"])
def test_what_is_no_file_is_left_alone_and_a_link_to_nothing_gets_a_file(make: str, tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    if make == "folder":
        file.mkdir()
    elif make == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(file if make == "loop" else tmp_path / "dotfiles.json")
    code = connect_here(tmp_path, "claude-code", "--yes")
    assert code == (0 if make == "dangling" else 1)
    assert (tmp_path / ".claude.json").exists() == (make == "dangling")
    if make == "dangling":
        assert file.is_symlink()
        assert own_events(file)
        assert connect_here(tmp_path, "claude-code", "--yes", "--remove") == 0
        assert file.is_symlink()
        assert not file.exists()


def test_folders_that_variables_name_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    assert own_events(tmp_path / "claude" / "settings.json")
    assert "hermes-memory" in (tmp_path / "claude" / ".claude.json").read_text()
    assert not (tmp_path / ".claude").exists()


def test_the_person_of_an_older_store_is_asked_whether_projects_have_memories_of_their_own(tmp_path: Path) -> None:
    store = tmp_path / ".hermes" / "memory.db"
    store.parent.mkdir()
    with Store.open(store) as opened:
        opened.facts.write("default", "D[db]: sqlite")
    make_older(store)
    shown = connect(tmp_path, "gemini", typed="y\nn\nn\nn\ny\ny\nn\n").stdout
    assert "Give each project a memory of its own?" in shown
    with Store.open(store, read_only=True) as opened:
        assert (opened.place_themes.choice, opened.place_themes.is_undecided) == (Places.DEFAULT, False)
    make_older(store)
    assert "`hermes-memory-tui theme adopt`" in connect(tmp_path, "qwen", "--yes").stdout
    assert "a theme of its own" in connect(tmp_path, "droid", typed="y\nn\ny\ny\n").stdout
    with Store.open(store, read_only=True) as opened:
        assert opened.place_themes.choice is Places.PROJECTS


def test_a_store_that_cannot_be_asked_for_its_themes_is_named_and_the_host_is_connected(tmp_path: Path) -> None:
    store = tmp_path / ".hermes" / "memory.db"
    assert connect(tmp_path, "gemini", "--yes").stderr == "", "there is no store yet"
    store.write_bytes(b"this is no memory, and nobody can ask it anything")
    done = connect(tmp_path, "qwen", "--yes")
    assert (done.returncode, own_events(hooks_file_of("qwen", tmp_path)) != set()) == (0, True)
    assert str(store) in done.stderr
    assert "Traceback" not in done.stderr
