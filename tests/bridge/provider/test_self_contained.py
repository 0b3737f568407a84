"""The folder stands alone under every Python a host may have, and agrees with the house it was copied from."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_bridge import __version__, provider
from hermes_memory_bridge.connect.provider_install import load_provider_files, replace_plugin_folder
from hermes_memory_bridge.provider import file_entries, provider_settings, theme_resolution, tool_schemas
from hermes_memory_bridge.provider.hot_fact_index import HotFactIndex
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_store.errors import InputError
from hermes_memory_store.host_files import memory_files
from hermes_memory_store.notation import memory_spec
from tests.tools.interpreters import find_interpreters

FOLDER = Path(provider.__file__).parent

HOSTS_OWN = {"agent"}


def test_it_imports_the_standard_library_and_itself_only() -> None:
    for name, content in load_provider_files().items():
        if not name.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(content)):
            if isinstance(node, ast.Import):
                roots = {one.name.split(".")[0] for one in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                roots = {(node.module or "").split(".")[0]}
            else:
                continue
            assert roots <= set(sys.stdlib_module_names) | HOSTS_OWN, name


def test_it_has_the_version_of_the_package() -> None:
    assert yaml.safe_load((FOLDER / "plugin.yaml").read_text())["version"] == __version__


def test_a_hosts_scan_recognises_it() -> None:
    head = (FOLDER / "__init__.py").read_text(encoding="utf-8")[:8192]
    assert "register_memory_provider" in head
    assert "MemoryProvider" in head


def test_it_loads_and_leaves_nothing_behind_under_every_python_of_the_machine(tmp_path: Path) -> None:
    replace_plugin_folder(tmp_path / "p" / "hermes_memory", load_provider_files())
    program = (
        "import sys, threading; sys.path.insert(0, sys.argv[1]); import hermes_memory as m\n"
        "made = []\n"
        "m.register(type('C', (), {'register_memory_provider': lambda self, one: made.append(one)})())\n"
        "one = made[0]; one.is_available(); one.get_tool_schemas(); one.prefetch('x'); one.sync_turn('a', 'b')\n"
        "one.on_memory_write('remove', 'memory', ''); one.shutdown(); print(one.name, threading.active_count())"
    )
    for python in (Path(sys.executable), *find_interpreters().values()):
        done = subprocess.run(
            [python, "-I", "-B", "-W", "error", "-c", program, str(tmp_path / "p")],
            env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (0, "hermes-memory 1\n"), f"{python}: {done.stderr}"
        assert [path.name for path in tmp_path.iterdir()] == ["p"]


def test_the_first_name_given_is_the_theme() -> None:
    def both(theme: str | None, profile: str, key: str) -> tuple[str, str]:
        themes = {"work": "office", "agent:main:slack:dm:U1234567": "boss"}
        return (
            theme_resolution.find_profile_theme(theme, themes, profile),
            theme_resolution.find_session_theme(theme, themes, profile, key),
        )

    assert both("Mine", "work", "agent:main:slack:dm:1") == ("mine", "mine")
    assert both(None, "work", "") == ("office", "office")
    assert both(None, "work", "agent:main:slack:dm:99999999") == ("office", "slack-dm")
    assert both(None, "work", "agent:main:slack:dm:U1234567") == ("office", "boss")
    assert both(None, "default", "") == ("default", "default")
    assert both(None, "Research Lab", "+49 170 1234567") == ("research-lab", "research-lab")


@given(st.lists(st.text(alphabet="ab §\n[]:CD", max_size=30), max_size=6).map("\n§\n".join))
def test_files_are_cut_as_the_host_cuts_them(text: str) -> None:
    assert file_entries.parse_memory_entries(text) == memory_files.parse_entries(text)


@given(
    st.one_of(st.text(max_size=60), st.from_regex(r"\s*[CDV?✓~xé]\s*\[[^\n]{0,9}\]\s*: ?[^\n]{0,9}", fullmatch=True))
)
def test_every_entry_becomes_lines_that_the_store_understands(text: str) -> None:
    for line in file_entries.to_fact_lines(text, "memory") if text.strip() else []:
        try:
            said = memory_spec.parse_notation(line)
        except InputError as error:
            assert "character" in error.message or not line.split(":", 1)[1].strip()
        else:
            assert file_entries.find_line_head(line) == f"{said.type.value}[{said.target}]"


def test_the_tools_are_the_bridges_with_fewer_words() -> None:
    for schema in tool_schemas.SCHEMAS:
        spec = TOOLS[schema["name"]]
        assert schema["parameters"]["properties"].keys() <= spec.arguments.keys()
        assert tuple(schema["parameters"]["required"]) == spec.required
    assert len(json.dumps(tool_schemas.SCHEMAS)) < 2_500, "they are sent with every request"


def test_the_entry_of_which_a_part_is_named_is_meant() -> None:
    held = ["port is 5433", "port is 100%", "port"]
    assert file_entries.find_meant_entry(held, "5433") == "port is 5433"
    assert file_entries.find_meant_entry(held, "%") == "port is 100%"
    assert file_entries.find_meant_entry(held, "port") == "port", "the whole of one"
    assert file_entries.find_meant_entry(held, "port is") is None
    assert file_entries.find_meant_entry(held, " ") is None


def test_facts_come_to_mind_by_their_telling_words() -> None:
    facts = [f"V[build.n{n}]: the build number {n}" for n in range(20)]
    nearby = HotFactIndex([*facts, "C[db.id]: UUID mandatory", "V[port]: 5433", "D[名前]: 東京タワーに行く"])
    assert nearby.find_matches("Which id must the database use, a uuid?", 5) == ["C[db.id]: UUID mandatory"]
    assert nearby.find_matches("is it 5433", 5) == ["V[port]: 5433"]
    assert nearby.find_matches("東京はどう", 5) == ["D[名前]: 東京タワーに行く"]
    assert nearby.find_matches("the build", 5) == []
    assert HotFactIndex().find_matches("anything", 5) == []


def test_a_setup_that_says_false_means_it(tmp_path: Path) -> None:
    provider_settings.save_provider_settings(
        str(tmp_path), {"capture": "false", "wait_ms": "12", "unknown": "x", "theme": ""}
    )
    chosen = provider_settings.load_provider_settings(str(tmp_path))
    assert (chosen.capture, chosen.mirror, chosen.wait_ms, chosen.theme) == (False, True, 12.0, None)
    (tmp_path / "hermes-memory" / "provider.json").write_text("{broken")
    assert provider_settings.load_provider_settings(str(tmp_path)).capture is None


@pytest.mark.parametrize(
    ("chosen", "connected", "config", "answer"),
    [
        ({}, None, "memory:\n  provider: hermes-memory\n", None),
        ({}, True, "", True),
        ({}, False, "", False),
        ({"capture": "true"}, None, "", True),
        ({"capture": "true"}, False, "", False),
        ({"capture": "false"}, True, "plugins:\n  hermes-memory:\n    sync_turns: true\n", False),
        ({"sync_turns": True}, None, "", True),
        ({}, None, "plugins:\n  hermes-memory:\n    sync_turns: true\n", True),
        ({}, None, "memory:\n  sync_turns: 'true'  # kept\n", True),
        ({}, None, "memory:\n  # sync_turns: true\n  sync_turns: false\n", None),
        ({}, None, "memory:\n  provider: other\n\n# more\n  # of it\n  'sync_turns' : Yes\n", True),
        ({}, None, "plugins:\n  pgvector:\n    sync_turns: true\n  hermes-memory:\n    wait_ms: 0\n", None),
        ({}, None, "memory:\n  provider: pgvector\nplugins:\n  pgvector:\n    sync_turns: true\n", None),
        ({}, None, "memory:\n" + "   \n" * 3_000 + "other:\n  sync_turns: true\n", None),
    ],
)
def test_what_is_said_is_kept_only_where_somebody_said_yes_and_nobody_no(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    chosen: dict[str, object],
    connected: bool | None,
    config: str,
    answer: bool | None,
) -> None:
    monkeypatch.setenv("HERMES_MEMORY_DB", str(tmp_path / "m.db"))
    folder = tmp_path / "hermes-memory"
    folder.mkdir()
    (folder / "provider.json").write_text(json.dumps(chosen))
    (tmp_path / "config.yaml").write_text(config)
    if connected is not None:
        (tmp_path / "m.db.capture.json").write_text(json.dumps({"hosts": {"hermes-agent": connected}}))
    assert provider_settings.load_provider_settings(str(tmp_path)).capture is answer
