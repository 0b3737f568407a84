"""The command line of the bridge: the commands, options, answers and exit codes that `command_line.json` has on record.

The record was made from the argparse parser of 0.1.1, and by running it; null stands for a text whose words may change.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from hermes_memory_bridge.__main__ import main
from hermes_memory_bridge.cli.bridge_commands import PROGRAM, bridge_cli, run_bridge_command
from hermes_memory_bridge.cli.click_support import HELP_SETTINGS
from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.daemon.daemon_start import ServeOptions, parse_serve_options
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_tui.cli import cli as inspector_cli
from tests.bridge.running import environment, until

RECORD: dict[str, Any] = json.loads(Path(__file__).with_name("command_line.json").read_text(encoding="utf-8"))

LATE = (
    "mcp", "mcp_types", "pydantic", "uvicorn", "starlette", "h11", "httpx", "httpx2", "httpcore", "keyring", "cryptography",
    "sqlite_utils", "numpy", "psycopg", "tiktoken", "opentelemetry", "prometheus_client", "click",
    "hermes_memory_bridge.team.database", "hermes_memory_bridge.embedding.vector_service",
)  # fmt: skip

RENAMED = {"json": "as_json", "dir": "folder"}
"""Parameters that have another name in the code than their option."""


def parse_leaf(words: list[str]) -> click.Context:
    """Parse a command line as far as the command that it names, without running it."""
    context = bridge_cli.make_context(PROGRAM, list(words))
    while isinstance(context.command, click.Group):
        context.invoked_subcommand = words[0]
        name, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
        assert command is not None
        context = command.make_context(name, rest, parent=context)
    return context


def recorded_commands(tree: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command of the record with the words that lead to it."""
    yield path, tree
    for name, below in tree.get("commands", {}).items():
        yield from recorded_commands(below, (*path, name))


TREE = dict(recorded_commands(RECORD["tree"]))


def new_context(command: click.Command) -> click.Context:
    """A context for questions about a command. click remembers the names of the help option from the first one."""
    return click.Context(command, help_option_names=HELP_SETTINGS["help_option_names"])


def find_command(path: tuple[str, ...]) -> click.Command:
    command: click.Command = bridge_cli
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(new_context(command), name)
        assert found is not None, path
        command = found
    return command


@pytest.mark.parametrize("path", TREE, ids=" ".join)
def test_every_command_has_the_options_and_arguments_on_record(path: tuple[str, ...]) -> None:
    command, recorded = find_command(path), TREE[path]
    if isinstance(command, click.Group):
        assert sorted(command.list_commands(new_context(command))) == sorted(recorded["commands"])
    else:
        assert "commands" not in recorded
    parameters = command.get_params(new_context(command))
    options = {" ".join(sorted(one.opts)): one for one in parameters if isinstance(one, click.Option)}
    assert options.keys() == recorded["options"].keys()
    for name, said in recorded["options"].items():
        option = options[name]
        assert option.is_flag is not said.get("takes_value", False), name
        assert option.multiple is said.get("repeats", False), name
        if said.get("takes_value"):
            assert option.type.name == {"int": "integer"}.get(said.get("type", "text"), said.get("type", "text")), name
            default = option.to_info_dict()["default"]
            assert default in ((said.get("default"),) if "default" in said else (None, ())), name
    arguments = [one for one in parameters if isinstance(one, click.Argument)]
    assert [one.name for one in arguments] == [one["name"] for one in recorded.get("arguments", [])]
    for argument, said in zip(arguments, recorded.get("arguments", []), strict=True):
        assert argument.required is ("nargs" not in said)
        assert (argument.nargs == -1) is (said.get("nargs") == "*")
        choices = tuple(argument.type.choices) if isinstance(argument.type, click.Choice) else ()
        assert choices == tuple(said.get("choices", ()))


@pytest.mark.parametrize("line", RECORD["parsed"])
def test_a_line_means_what_it_meant(line: str) -> None:
    recorded = {RENAMED.get(name, name): value for name, value in RECORD["parsed"][line].items()}
    leaf = parse_leaf(line.split())
    for name, value in leaf.params.items():
        expected = recorded[name]
        if isinstance(value, tuple):
            assert list(value) == (expected or []), name
        elif isinstance(value, float) and math.isnan(value):
            assert expected == "nan"
        else:
            assert value == expected, name
    silent = {one.name for one in leaf.command.params if not one.expose_value}
    heeded = {*leaf.params, *silent, *leaf.find_root().params}
    beyond = {name for name, value in recorded.items() if value not in (None, False) and name not in heeded}
    assert beyond <= {"action"}
    if beyond:
        assert recorded["action"] == leaf.info_name


@pytest.fixture
def short_home() -> Iterator[Path]:
    """A home whose path is short enough for the sockets of a bridge."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder).resolve()


@pytest.mark.parametrize("line", RECORD["answers"])
def test_a_line_is_answered_as_it_was(
    line: str, short_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in os.environ:
        if name.startswith(("HERMES_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(short_home))
    monkeypatch.chdir(short_home)
    code, out, err = RECORD["answers"][line]
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    said = capsys.readouterr()
    assert ended.value.code == code
    for text, expected in ((said.out, out), (said.err, err)):
        if expected is None:
            assert text.strip()
            assert "Traceback" not in text
        else:
            assert text.replace(str(short_home), "~") == expected
    if code == 2:
        assert f"\n{PROGRAM}: " in said.err


@pytest.mark.parametrize("path", TREE, ids=" ".join)
def test_help_names_every_option_and_command(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([*path, "--help"])
    said = capsys.readouterr().out
    for names in TREE[path]["options"]:
        assert all(name in said for name in names.split())
    for name in TREE[path].get("commands", ()):
        assert f"\n  {name} " in said


def test_a_misspelt_command_is_told_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["team", "restric"])
    assert "Did you mean 'restrict'?" in capsys.readouterr().err


SERVE_LINES = [line.split() for line in RECORD["parsed"] if line.startswith("serve")]


@pytest.mark.parametrize("words", SERVE_LINES, ids=" ".join)
def test_serve_means_the_same_with_and_without_the_framework(words: list[str]) -> None:
    fast = parse_serve_options(words[1:])
    if "--har" in words:
        assert fast is None
    else:
        assert fast == ServeOptions(**parse_leaf(words).params)


@pytest.mark.parametrize("words", ["--help", "--tcp many", "--db", "--db --json", "extra", "--linge 3", "--db x y"])
def test_what_serve_cannot_parse_alone_is_left_to_the_framework(words: str) -> None:
    assert parse_serve_options(words.split()) is None


def importers(trace: str, wanted: str) -> Iterator[list[str]]:
    """For each import of a package or its modules in what `-X importtime` writes: the modules that were importing it.

    Python writes a module when its import ends, after those that it imports, which are indented further.
    """
    lines = [line.rpartition("| ")[2] for line in trace.splitlines() if line.startswith("import time:")]
    assert any("hermes_memory_bridge" in line for line in lines)
    importing: list[str] = []
    for line in reversed(lines):
        name = line.strip()
        importing = [*importing[: (len(line) - len(name)) // 2], name]
        if name.partition(".")[0] == wanted or name == wanted:
            yield importing


def test_neither_the_shim_nor_the_bridge_that_it_starts_loads_the_command_line(db: Path, tmp_path: Path) -> None:
    places = BridgePaths.of(db)
    environment = os.environ | {"PYTHONPROFILEIMPORTTIME": "1", "HERMES_MEMORY_LINGER": "0.1"}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    with subprocess.Popen(
        [sys.executable, "-m", "hermes_memory_bridge", "--db", str(db)],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as shim:  # fmt: skip
        assert shim.stdin is not None
        assert shim.stdout is not None
        shim.stdin.write(json.dumps(hello).encode() + b"\n")
        shim.stdin.flush()
        assert json.loads(shim.stdout.readline())["id"] == 1
        process = until(lambda: ask_bridge(places, "status"), "the bridge")["pid"]
        shim_trace = shim.communicate()[1].decode()
    until(lambda: not Path(places.pid).exists(), f"the end of bridge {process}")
    daemon_trace = Path(places.log).read_text(encoding="utf-8")

    for framework in ("click", "argparse"):
        assert list(importers(shim_trace, framework)) == []
    for trace in (shim_trace, daemon_trace):
        for name in ("bridge_cli", "bridge_options", "click_support", "service_commands"):
            assert list(importers(trace, f"hermes_memory_bridge.{name}")) == []
    assert list(importers(daemon_trace, "uvicorn"))
    listening = daemon_trace.partition('"message": "serving ')[0]
    for late in LATE:
        assert list(importers(listening, late)) == [], (
            f"no first call needs {late}, so it is loaded once the bridge listens"
        )
    for importing in importers(daemon_trace, "click"):
        assert "uvicorn" in importing, "the HTTP server brings click along; nothing else may"


def test_a_reader_that_has_gone_is_no_mistake(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        command = [sys.executable, "-m", "hermes_memory_bridge", "--help"]
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, text=True, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("install", "hermes-memory-bridge connect"),
        ("mcp", "hermes-memory-bridge serve"),
        ("facts", "hermes-memory-tui"),
    ],
)
def test_a_word_of_another_program_is_answered_with_the_right_command(
    word: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_bridge_command([word]) == 2
    assert f"No such command '{word}'. Run: {hint}" in capsys.readouterr().err


def test_no_hint_stands_for_a_command_that_exists() -> None:
    for program in (bridge_cli, inspector_cli):
        assert not program.hints.keys() & program.locations.keys()


def test_on_a_terminal_the_bare_program_says_what_it_is_for_and_starts_nothing(tmp_path: Path) -> None:
    parent, child = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_memory_bridge"],
        env=environment(tmp_path),
        stdin=child,
        stdout=child,
        stderr=child,
    )
    os.close(child)
    text = b""
    while b"ctrl+d ends it." not in text:
        text += os.read(parent, 4096)
    os.write(parent, b"\x04")
    assert process.wait(60) == 0
    os.close(parent)
    assert b"hermes-memory-bridge connect" in text
    assert list(tmp_path.iterdir()) == []
