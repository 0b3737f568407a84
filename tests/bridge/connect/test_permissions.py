"""Whether tools run without a question: as a person answers, where a host has such a switch, and taken back byte for byte."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.connect.host_permissions import (
    PERMISSIONS,
    UNASKED_TOOLS,
    WRITING_TOOLS,
    describe_permissions,
)
from hermes_memory_bridge.connect.hosts import HOSTS, HostEnvironment
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_store.store import Store
from tests.bridge.connect.test_connect import connect, connect_here, file_of
from tests.bridge.connect.test_hook_installation import tree

ASKED = {"memory_purge", "memory_edit", "memory_optimize", "memory_archive", "memory_close_scope", "memory_reveal"}
WRITTEN = [name for name in PERMISSIONS if name != "codex"]
"""The hosts into whose files permissions are written: Codex asks for none of these tools."""

ASKS_BY_ITSELF = {"permission": {"*": "ask"}}
"""What a person of opencode has set who is asked before each tool."""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder the person works in; no host is installed, so that none is asked."""
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "QWEN_HOME"):
        monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def permission_file(name: str, home: Path) -> Path:
    return PERMISSIONS[name].file(HostEnvironment(home, "linux", {}))


def unasked_tools(name: str, home: Path) -> set[str]:
    """The tools that a host's rules name."""
    form, file = PERMISSIONS[name], permission_file(name, home)
    rules = form.find_rules(file.read_text() if file.exists() else "", str(Path.cwd()))
    return {tool for tool in TOOLS if tool in rules and tool not in form.parse({}, "")}


def written_tools(name: str) -> set[str]:
    """The tools for which a rule is written: what the host asks nothing for needs none."""
    return set(UNASKED_TOOLS) - PERMISSIONS[name].parse({}, "").keys()


def prepare(name: str, home: Path) -> None:
    """Write what the person has set before, where a switch means something only then."""
    if name == "opencode":
        file_of(name, home).parent.mkdir(parents=True)
        file_of(name, home).write_text(json.dumps(ASKS_BY_ITSELF, indent=2))


def test_what_runs_unasked_destroys_hides_and_reveals_nothing() -> None:
    assert set(TOOLS) - set(UNASKED_TOOLS) == ASKED
    for name in UNASKED_TOOLS:
        assert (TOOLS[name].destroys, TOOLS[name].overwrites, TOOLS[name].needs) == (False, False, None), name
    assert written_tools("copilot") == set(WRITING_TOOLS)


@pytest.mark.parametrize("name", WRITTEN)
def test_yes_includes_it_and_prints_it(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(name, tmp_path)
    before = tree(tmp_path)
    assert connect_here(tmp_path, name, "--yes") == 0
    assert unasked_tools(name, tmp_path) == written_tools(name)
    printed = capsys.readouterr().out
    assert "agents may write, search and tick without asking each time" in printed
    assert (f" in {Path.cwd()};" in printed) == (name == "copilot")

    written = tree(tmp_path)
    assert connect_here(tmp_path, name, "--yes") == 0
    assert tree(tmp_path) == written

    assert connect_here(tmp_path, name, "--yes", "--theme", "other") == 0
    assert unasked_tools(name, tmp_path) == written_tools(name)
    assert connect_here(tmp_path, name, "--yes", "--remove") == 0
    left = {place: said for place, said in tree(tmp_path).items() if said not in (b"", b"{}\n")}
    assert left == before


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("words", [("--yes", "--no-allow"), ("--yes", "--no-allow", "--no-hooks")])
def test_no_is_a_no_until_a_yes_is_said(name: str, words: tuple[str, ...], tmp_path: Path) -> None:
    prepare(name, tmp_path)
    for _ in range(2):
        assert connect_here(tmp_path, name, *words) == 0
        assert unasked_tools(name, tmp_path) == set()
        assert connect_here(tmp_path, name, "--yes") == 0
        assert unasked_tools(name, tmp_path) == set(), "a no stands"
        assert connect_here(tmp_path, name, "--yes", "--allow") == 0
        assert unasked_tools(name, tmp_path) == written_tools(name)
    assert connect_here(tmp_path, name, *words) == 0
    assert unasked_tools(name, tmp_path) == set()


FILES = [
    b'\xef\xbb\xbf{\r\n  "a": 1\r\n}',
    b"",
    b'{"a": 1,}',
    b'// mine\n{\n\t"x": [ ] }',
    b"{}",
    b'{"permissions": null}\n',
]
LISTED = [
    b'{"permissions": {"allow": [], "deny": ["Bash"]}, "last": [1]}\n',
    b'{\n  "permissions": {\n    "allow": [\n      "Bash(ls)", // mine\n      "Read"\n    ]\n  },\n  "hooks": {}\n}\n',
    b'{"permissions":{"allow":["Bash(ls)",]}}',
]


@pytest.mark.parametrize("name", ["claude-code", "qwen"])
@pytest.mark.parametrize("content", [*FILES, *LISTED])
@pytest.mark.parametrize("words", [("--no-hooks",), ("--capture",)])
def test_lists_of_rules_come_back_byte_for_byte(
    name: str, content: bytes, words: tuple[str, ...], tmp_path: Path
) -> None:
    file = permission_file(name, tmp_path)
    file.parent.mkdir()
    file.write_bytes(content)
    assert connect_here(tmp_path, name, "--yes", *words) == 0
    assert unasked_tools(name, tmp_path) == set(UNASKED_TOOLS)
    assert connect_here(tmp_path, name, "--yes", "--capture", "--theme", "other") == 0
    assert connect_here(tmp_path, name, "--yes", "--remove") == 0
    assert file.read_bytes() == content


def add_element(text: str) -> str:
    """Say yes to a question of the host, which then notes it behind ours."""
    document = json.loads(text)
    document["permissions"]["allow"].append("Bash(make)")
    return json.dumps(document, indent=2) + "\n"


@pytest.mark.parametrize("name", ["claude-code", "qwen"])
@pytest.mark.parametrize("change", [add_element, lambda text: json.dumps(json.loads(text))])
def test_what_the_host_wrote_since_stays(name: str, change: Callable[[str], str], tmp_path: Path) -> None:
    file = permission_file(name, tmp_path)
    file.parent.mkdir()
    file.write_text('{\n  "permissions": {\n    "allow": [\n      "Read"\n    ]\n  }\n}\n')
    assert connect_here(tmp_path, name, "--yes") == 0
    file.write_text(change(file.read_text()))
    foreign = [rule for rule in json.loads(file.read_text())["permissions"]["allow"] if "hermes" not in rule]
    assert connect_here(tmp_path, name, "--yes", "--theme", "other") == 0
    assert connect_here(tmp_path, name, "--yes", "--remove") == 0
    assert json.loads(file.read_text()) == {"permissions": {"allow": foreign}}


def drop_tool(name: str, file: Path, tool: str) -> None:
    """Take one permission out, as a person would."""
    text = file.read_text()
    if name == "gemini":
        file.write_text(text.replace(f'"{tool}", ', ""))
    else:
        document = json.loads(text)
        drop_value(document, PERMISSIONS[name].name(tool))
        file.write_text(json.dumps(document, indent=2))


def drop_value(node: Any, value: Any) -> None:
    """Take an element or a member out of whatever holds it."""
    if isinstance(node, list) and value in node:
        node.remove(value)
    elif isinstance(node, dict):
        if isinstance(value, str):
            node.pop(value, None)
        for inner in node.values():
            drop_value(inner, value)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_a_person_took_out_since_stays_out(name: str, tmp_path: Path) -> None:
    prepare(name, tmp_path)
    file = permission_file(name, tmp_path)
    assert connect_here(tmp_path, name, "--yes") == 0
    drop_tool(name, file, "memory_write")
    assert "memory_write" not in unasked_tools(name, tmp_path)
    for words in ((), ("--theme", "other"), ()):
        assert connect_here(tmp_path, name, "--yes", *words) == 0
        assert unasked_tools(name, tmp_path) == written_tools(name) - {"memory_write"}


@pytest.mark.parametrize("name", ["claude-code", "qwen", "copilot"])
def test_what_stood_there_before_is_neither_written_again_nor_taken_out(name: str, tmp_path: Path) -> None:
    rule = PERMISSIONS[name].name("memory_write")
    documents = {"copilot": {"locations": {str(Path.cwd()): {"tool_approvals": [rule]}}}}
    file = permission_file(name, tmp_path)
    file.parent.mkdir()
    file.write_text(json.dumps(documents.get(name, {"permissions": {"allow": [rule]}})))
    before = file.read_bytes()
    for words in ("--no-allow", "--allow"):
        assert connect_here(tmp_path, name, "--yes", words) == 0
    assert unasked_tools(name, tmp_path) == written_tools(name)
    assert file.read_text().count("memory_write") == 1
    assert connect_here(tmp_path, name, "--yes", "--remove") == 0
    assert file.read_bytes() == before


def test_codex_asks_for_none_of_these_and_a_mode_of_its_person_stays(tmp_path: Path) -> None:
    for mode, said in (
        ("approve", "reads and writes without a question"),
        ("prompt", "reads without a question, asks"),
    ):
        assert connect_here(tmp_path, "codex", "--yes", "--allow", "--theme", mode) == 0
        assert describe("codex", tmp_path).startswith("reads and writes without a question")
        file = file_of("codex", tmp_path)
        table = f'\n[mcp_servers.hermes-memory.tools.memory_write]\napproval_mode = "{mode}"\n'
        file.write_text(file.read_text() + table)
        assert connect_here(tmp_path, "codex", "--yes", "--allow", "--theme", "other") == 0
        entry = HOSTS["codex"].find_entry(file.read_text())
        assert entry is not None
        assert entry["tools"] == {"memory_write": {"approval_mode": mode}}
        assert describe("codex", tmp_path).startswith(said)
        assert connect_here(tmp_path, "codex", "--yes", "--remove") == 0


@pytest.mark.parametrize(
    "rules", ["ask", {"*": "allow"}, {"*": "deny"}, {"bash": "ask"}, {"hermes-memory_*": "allow", "*": "ask"}]
)
def test_opencode_is_permitted_nothing_where_its_person_is_not_asked(rules: Any, tmp_path: Path) -> None:
    file = file_of("opencode", tmp_path)
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"permission": rules}))
    shown = connect(tmp_path, "opencode", typed="\n\n\n\n\n")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "without asking each time?" not in shown.stdout
    assert json.loads(file.read_text())["permission"] == rules


@pytest.mark.parametrize("name", HOSTS)
def test_enter_at_every_question_connects(name: str, tmp_path: Path) -> None:
    prepare(name, tmp_path)
    shown = connect(tmp_path, name, cwd=Path.cwd(), typed="\n" * 8)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert HOSTS[name].find_entry(file_of(name, tmp_path).read_text()) is not None
    if name in WRITTEN:
        assert shown.stdout.startswith("Enter at a question takes the answer in capitals")
        assert unasked_tools(name, tmp_path) == written_tools(name)
    assert connect(tmp_path, name, "--remove", typed="\n" * 8).returncode == 0
    assert HOSTS[name].find_entry(file_of(name, tmp_path).read_text()) is None


def test_enter_does_not_give_back_what_a_person_took_out(tmp_path: Path) -> None:
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    file = permission_file("claude-code", tmp_path)
    document = json.loads(file.read_text())
    document["permissions"]["allow"] = []
    file.write_text(json.dumps(document))
    assert connect(tmp_path, "claude-code", "--theme", "x", typed="\n" * 7).returncode == 0
    assert unasked_tools("claude-code", tmp_path) == set()
    assert connect(tmp_path, "claude-code", typed="\n\n\n\ny\n\n").returncode == 0
    assert unasked_tools("claude-code", tmp_path) == set(UNASKED_TOOLS)


def test_copilot_is_permitted_in_the_repository_at_hand_and_loses_every_folder(tmp_path: Path, work: Path) -> None:
    file = permission_file("copilot", tmp_path)
    for name in ("one", "two"):
        (work / name / "deep").mkdir(parents=True)
        subprocess.run(["/usr/bin/env", f"PATH={os.defpath}", "git", "init", "-q", str(work / name)], check=True)
        os.chdir(work / name / "deep")
        assert connect_here(tmp_path, "copilot", "--yes") == 0
    assert list(json.loads(file.read_text())["locations"]) == [str(work / "one"), str(work / "two")]
    os.chdir(work)
    assert connect_here(tmp_path, "copilot", "--yes", "--remove") == 0
    assert not file.exists()
    assert not list(tmp_path.glob(".hermes/*"))


def test_a_new_permission_does_not_count_as_a_new_hook(tmp_path: Path) -> None:
    record = tmp_path / ".hermes" / "memory.db.hooks.json"
    for name in ("claude-code", "qwen"):
        assert connect_here(tmp_path, name, "--yes", "--no-allow") == 0
        installed = json.loads(record.read_text())[name]
        assert connect_here(tmp_path, name, "--yes", "--allow") == 0
        assert json.loads(record.read_text())[name] == installed


@pytest.mark.parametrize("rule", ["ask", "deny"])
def test_a_rule_that_a_person_made_stricter_stays_so(rule: str, tmp_path: Path) -> None:
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    file = permission_file("claude-code", tmp_path)
    document = json.loads(file.read_text())
    document["permissions"]["allow"].remove("mcp__hermes-memory__memory_write")
    document["permissions"][rule] = ["mcp__hermes-memory__memory_write"]
    file.write_text(json.dumps(document))
    for words in ((), ("--theme", "x", "--capture"), ("--allow",)):
        assert connect_here(tmp_path, "claude-code", "--yes", *words) == 0
        permissions = json.loads(file.read_text())["permissions"]
        assert "mcp__hermes-memory__memory_write" not in permissions["allow"]
        assert permissions[rule] == ["mcp__hermes-memory__memory_write"]
    assert connect_here(tmp_path, "claude-code", "--yes", "--remove") == 0
    assert json.loads(file.read_text()) == {"permissions": {rule: ["mcp__hermes-memory__memory_write"]}}


def test_nothing_is_read_of_a_damaged_record(tmp_path: Path) -> None:
    record = tmp_path / ".hermes" / "memory.db.hooks.json"
    record.parent.mkdir()
    record.write_text('{"allowed": {"qwen": 5, "codex": {"a": 3}}, "claude-code": {"x": "y"}}')
    assert connect_here(tmp_path, "qwen", "--yes") == 0
    assert connect_here(tmp_path, "codex", "--yes") == 0
    for name in ("qwen", "codex", "claude-code"):
        assert connect_here(tmp_path, name, "--yes", "--remove") == 0


def describe(name: str, home: Path) -> str:
    """What a check says of reading and writing."""
    entry = HOSTS[name].find_entry(file_of(name, home).read_text())
    assert entry is not None
    return describe_permissions(name, HostEnvironment(home, "linux", {}), entry)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_check_tells_reading_and_writing_apart(name: str, tmp_path: Path) -> None:
    prepare(name, tmp_path)
    assert connect_here(tmp_path, name, "--yes", "--no-allow") == 0
    assert describe(name, tmp_path).startswith(
        {
            "copilot": "reads without a question, asks before each writing",
        }.get(name, "asks before each reading and writing")
    )
    assert connect_here(tmp_path, name, "--yes", "--allow") == 0
    assert describe(name, tmp_path).startswith("reads and writes without a question")
    drop_tool(name, permission_file(name, tmp_path), "memory_write")
    assert describe(name, tmp_path).startswith("reads without a question, asks before each writing")


@pytest.mark.parametrize("name", ["claude-code", "qwen"])
@pytest.mark.parametrize("kind", ["ask", "deny"])
def test_a_check_knows_of_rules_that_count_for_more(name: str, kind: str, tmp_path: Path, work: Path) -> None:
    assert connect_here(tmp_path, name, "--yes") == 0
    settings = work / HOSTS[name].switches[0]
    settings.parent.mkdir()
    settings.write_text(json.dumps({"permissions": {kind: ["mcp__hermes-memory__memory_write"]}}))
    assert describe(name, tmp_path).startswith("reads without a question, asks before each writing")
    settings.write_text("{")
    assert "nobody can tell" in describe(name, tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [("gemini", '"trust": true'), ("qwen", '"trust": true'), ("codex", 'default_tools_approval_mode = "prompt"')],
)
def test_a_check_reads_what_the_entry_says(name: str, said: str, tmp_path: Path) -> None:
    assert connect_here(tmp_path, name, "--yes", "--no-allow", "--no-hooks") == 0
    file = file_of(name, tmp_path)
    end = "" if name == "codex" else ","
    key = "command = " if name == "codex" else '"command": '
    file.write_text(file.read_text().replace(key, f"{said}{end}\n{key}"))
    assert describe(name, tmp_path).startswith("asks" if name == "codex" else "reads and writes without a question")


def status(home: Path) -> str:
    """What `status` prints in a home."""
    env = {**os.environ, "HOME": str(home), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", "hermes_memory_tui", "status"], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_who_was_connected_by_an_earlier_version_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(tmp_path / ".hermes" / "memory.db") as store:
        store.facts.write("default", "D[db]: sqlite")
    for name in ("claude-code", "codex", "cursor"):
        assert connect_here(tmp_path, name, "--yes", "--no-allow") == 0
    record = tmp_path / ".hermes" / "memory.db.hooks.json"
    document = json.loads(record.read_text())
    del document["allowed"]  # as an earlier version leaves it
    record.write_text(json.dumps(document))

    first, second = status(tmp_path), status(tmp_path)

    line = "claude-code: agents may not write without asking yet; `hermes-memory-tui connect claude-code --allow` lets them"
    assert line in first.splitlines()
    assert "codex: agents" not in first
    assert "agents may not write" not in second
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    assert unasked_tools("claude-code", tmp_path) == set(UNASKED_TOOLS), "it was never offered"
    for name in ("claude-code", "codex", "cursor"):
        assert connect_here(tmp_path, name, "--yes", "--remove") == 0
    assert not record.exists()


def test_who_said_no_is_not_told(tmp_path: Path) -> None:
    with Store.open(tmp_path / ".hermes" / "memory.db") as store:
        store.facts.write("default", "D[db]: sqlite")
    assert connect_here(tmp_path, "claude-code", "--yes", "--no-allow") == 0
    assert "agents may not write" not in status(tmp_path)


@pytest.mark.parametrize("name", WRITTEN)
def test_permissions_are_taken_out_although_the_store_and_its_record_are_gone(name: str, tmp_path: Path) -> None:
    prepare(name, tmp_path)
    before = tree(tmp_path)
    for is_renewed in (False, True):
        assert connect_here(tmp_path, name, "--yes", "--no-hooks") == 0
        shutil.rmtree(tmp_path / ".hermes")
        if is_renewed:
            assert connect_here(tmp_path, name, "--yes", "--no-hooks", "--theme", "x") == 0
        assert connect_here(tmp_path, name, "--yes", "--remove") == 0
        assert {place: said for place, said in tree(tmp_path).items() if said not in (b"", b"{}\n")} == before


def test_one_damaged_file_keeps_no_other_host_from_being_asked_about(tmp_path: Path) -> None:
    for name, text in (("qwen", "{broken"), ("claude-code", "{}")):
        permission_file(name, tmp_path).parent.mkdir()
        permission_file(name, tmp_path).write_text(text)
    file_of("claude-code", tmp_path).write_text("{}")
    shown = connect(tmp_path, "--all", typed="\n" * 7)
    assert "without asking each time?" in shown.stdout
    assert "Qwen Code" in shown.stderr
    assert unasked_tools("claude-code", tmp_path) == set(UNASKED_TOOLS)


def test_permissions_go_with_all_where_the_entry_has_gone_before(tmp_path: Path) -> None:
    assert connect_here(tmp_path, "copilot", "--yes", "--no-hooks") == 0
    file_of("copilot", tmp_path).unlink()
    assert connect_here(tmp_path, "--all", "--remove", "--yes") == 0
    assert not permission_file("copilot", tmp_path).exists()


@pytest.mark.parametrize("name", ["claude-code", "qwen"])
@pytest.mark.parametrize("rule", ["ask", "deny"])
def test_a_stricter_rule_beside_ours_or_for_all_tools_stays_and_ours_goes(name: str, rule: str, tmp_path: Path) -> None:
    file = permission_file(name, tmp_path)
    for strict in ("mcp__hermes-memory", "mcp__hermes-memory__memory_write"):
        assert connect_here(tmp_path, name, "--yes", "--allow") == 0
        document = json.loads(file.read_text())
        document["permissions"][rule] = [strict]
        file.write_text(json.dumps(document))
        for words in ((), ("--theme", "x"), ("--allow",)):
            assert connect_here(tmp_path, name, "--yes", *words) == 0
            assert json.loads(file.read_text())["permissions"][rule] == [strict]
        assert connect_here(tmp_path, name, "--yes", "--remove") == 0
        assert json.loads(file.read_text())["permissions"] == {rule: [strict]}
        assert connect_here(tmp_path, name, "--yes", "--allow") == 0
        assert json.loads(file.read_text())["permissions"][rule] == [strict]
        assert connect_here(tmp_path, name, "--yes", "--remove") == 0
        file.unlink()


ODD = ["5", "true", '"x"', "[5]", "{}", '[["x"]]']


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("claude-code", '{"permissions": {"deny": ODD}}'),
        ("claude-code", '{"permissions": {"allow": ODD}}'),
        ("copilot", '{"locations": {"HERE": {"tool_approvals": ODD}}}'),
        ("copilot", '{"locations": {"HERE": {"tool_approvals": [{"serverName": "hermes-memory", "toolName": ODD}]}}}'),
        ("opencode", '{"permission": {"*": ODD}}'),
        ("gemini", "rule = ODD"),
        ("codex", "[mcp_servers.hermes-memory]\ndefault_tools_approval_mode = ODD"),
    ],
)
def test_odd_permissions_stop_nothing_with_an_error_of_ours(name: str, text: str, odd: str, tmp_path: Path) -> None:
    file = permission_file(name, tmp_path)
    file.parent.mkdir(parents=True, exist_ok=True)
    before = text.replace("HERE", str(Path.cwd())).replace("ODD", odd)
    file.write_text(before)
    for words in ((), ("--no-allow",), ("--remove",)):
        if connect_here(tmp_path, name, "--yes", *words) != 0:
            assert file.read_text() == before
    describe_permissions(name, HostEnvironment(tmp_path, "linux", {}), {"command": "x"})


def test_a_record_that_is_no_text_stops_no_status(tmp_path: Path) -> None:
    with Store.open(tmp_path / ".hermes" / "memory.db") as store:
        store.facts.write("default", "D[db]: sqlite")
    assert connect_here(tmp_path, "claude-code", "--yes", "--no-allow") == 0
    (tmp_path / ".hermes" / "memory.db.hooks.json").write_bytes(b"\xff")
    assert "agents may not write" in status(tmp_path)


def test_no_advice_is_given_that_opencode_cannot_follow(tmp_path: Path) -> None:
    for rules, advised in (("ask", False), ({"*": "deny"}, False), ({"*": "ask"}, True)):
        file_of("opencode", tmp_path).parent.mkdir(parents=True, exist_ok=True)
        file_of("opencode", tmp_path).write_text(json.dumps({"permission": rules}))
        said = describe_permissions("opencode", HostEnvironment(tmp_path, "linux", {}), {"command": "x"})
        assert ("--allow" in said) == advised
