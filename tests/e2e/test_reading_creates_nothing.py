"""A command that reads, asked of a store that is not there, says so and leaves the disk as it was.

Every command of both programs stands in one of the tables below; a new one fails here until somebody says which it is.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from hermes_memory_bridge.cli.bridge_commands import bridge_cli, run_bridge_command
from hermes_memory_tui.cli import cli
from hermes_memory_tui.cli.command_runner import run_command_line

UID = "01a1fc12-f375-7001-98d2-1607a8a2ab97"

NEEDING_A_STORE = {
    "edit": [UID, "content"],
    "pin": [UID],
    "unpin": [UID],
    "archive": [UID],
    "restore": [UID],
    "review": [],
    "review list": [],
    "review approve": [UID],
    "review refuse": [UID],
    "undo": [],
    "redo": [],
    "search": ["anything"],
    "recall ask": ["anything"],
    "why": ["anything"],
    "recall curve": ["memory-tests.toml"],
    "test": ["memory-tests.toml"],
    "facts": [],
    "fact": [UID],
    "history": [UID],
    "status": [],
    "themes": [],
    "themes adopt": ["--yes"],
    "themes split": ["--yes"],
    "themes move": [UID, "--to", "other"],
    "scopes": [],
    "scopes close": ["label"],
    "scopes reopen": ["label"],
    "scopes rename": ["label", "other"],
    "sessions": [],
    "projects": [],
    "projects trust": ["--yes"],
    "turns": [],
    "turns --purge": ["--yes"],
    "purge": ["--yes"],
    "purge --dry-run": [],
    "export": ["out.spec"],
    "log": [],
    "watch": ["--once"],
    "stats": [],
    "tidy": [],
    "at": ["1h", "status"],
    "backup": ["copy.db"],
    "cite": [UID, "--url", "https://example.org"],
    "verify": [],
    "repo export": [],
    "repo status": [],
    "guard": [],
    "guard list": [],
    "guard add": [UID, "git push*"],
    "guard remove": [UID],
    "guard test": ["git push"],
    "doctor": [],
    "doctor --repair": [],
    "upgrade": [],
}
"""Commands of the inspector's program that mean a store that is there, and what makes each of them whole."""

CREATING = {
    "write": ["V[a]: 1"],
    "import": ["facts.spec"],
    "replay": ["empty.log"],
    "optimize": [],
    "repo pull": ["--no"],
    "review always": ["source"],
    "review never": ["source"],
    "review ask": ["source"],
    "review silence": ["score"],
}

NO_STORE = {
    "files", "backfill", "capture on", "capture off", "capture status", "capture actions", "capture notices", "pause",
    "resume", "connect", "demo", "completion", "help", "repo verify",
}  # fmt: skip
"""They touch no store, or one of their own; `connect` writes the configuration of a host."""

BRIDGE_NEEDING_A_STORE = {
    "stop": [],
    "status": [],
    "logs": [],
    "calls": [],
    "token list": [],
    "token show": ["name"],
    "token rotate": ["name"],
    "token revoke": ["name"],
    "secret list": [],
    "secret move-to-keyring": [],
    "secret show": ["name"],
    "secret forget": ["name"],
    "sync now": [],
    "sync status": [],
    "sync pause": [],
    "sync resume": [],
    "sync verify": [],
    "sync conflicts": [],
    "sync rename": ["ours", "theirs"],
    "sync resolve": [UID, "mine"],
    "team verify": [],
    "team status": [],
    "embedding": [],
}

BRIDGE_OTHERS = {
    "serve", "start", "restart", "install-service", "uninstall-service", "connect", "token add",
    "team migrate", "team repair", "team invite", "team members", "team revoke",
    "secret allow-file", "folder share", "folder join", "folder leave", "folder unlock",
    "team restrict", "team open", "team index", "team collect", "team connect", "team disconnect", "team dev",
}  # fmt: skip
"""They make a store, configure something, or act on a server."""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    (made / "facts.spec").write_text("V[a]: 1\n")
    (made / "empty.log").write_text("")
    (made / "memory-tests.toml").write_text('[[test]]\nask = "which port"\ngiven = ["V[port]"]\n')
    return made


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """`run("hermes_memory_tui", "status")`, in an empty home and in this process."""
    for name in os.environ:
        if name.startswith(("HERMES_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def call(program: str, *args: str) -> Ran:
        capfd.readouterr()
        code = {"hermes_memory_tui": run_command_line, "hermes_memory_bridge": run_bridge_command}[program]([*args])
        said = capfd.readouterr()
        assert "Traceback" not in said.out + said.err
        return Ran(code, said.out, said.err)

    return call


def command_paths(group: click.Group, before: str = "") -> Iterator[str]:
    """The path of every command, `scopes close` and the like; the choices of an `action` count as commands."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield before + name
            yield from command_paths(command, f"{before}{name} ")
        else:
            actions = next((one.type for one in command.params if one.name == "action" and one.required), None)
            choices = actions.choices if isinstance(actions, click.Choice) else ()
            yield from (f"{before}{name} {choice}" for choice in choices) if choices else [before + name]


def paths(table: dict[str, list[str]]) -> set[str]:
    """The commands of a table, without the options that make one of them another."""
    return {" ".join(word for word in name.split() if not word.startswith("-")) for name in table}


def files(home: Path) -> set[str]:
    """Everything below a folder."""
    return {str(path.relative_to(home)) for path in home.rglob("*")}


def test_every_command_of_the_inspector_is_known_to_read_or_to_create() -> None:
    assert set(command_paths(cli)) == paths(NEEDING_A_STORE) | paths(CREATING) | NO_STORE


def test_every_command_of_the_bridge_is_known_to_read_or_to_create() -> None:
    assert set(command_paths(bridge_cli)) == paths(BRIDGE_NEEDING_A_STORE) | BRIDGE_OTHERS


@pytest.mark.parametrize("name", NEEDING_A_STORE)
def test_a_command_that_needs_a_store_creates_none(name: str, run: Run, home: Path) -> None:
    before = files(home)

    told = (
        run("hermes_memory_tui", *name.split(), *NEEDING_A_STORE[name], "--db", "missing/folder/typo.db")
        if (name != "at")
        else run("hermes_memory_tui", "--db", "missing/folder/typo.db", name, *NEEDING_A_STORE[name])
    )

    assert told.code == 1, told
    assert "there is no memory at missing/folder/typo.db" in told.err
    assert "--db" in told.err
    assert told.out == ""
    assert files(home) == before


@pytest.mark.parametrize("name", ["status", "facts", "doctor", "log", "purge --dry-run"])
def test_the_error_has_a_code_for_programs(name: str, run: Run, home: Path) -> None:
    told = run("hermes_memory_tui", *name.split(), "--json", "--db", "typo.db")

    error = json.loads(told.err)["error"]
    assert (told.code, error["code"], error["value"]) == (1, "store.unreadable", "typo.db")
    assert not (home / "typo.db").exists()


@pytest.mark.parametrize("name", ["status", "facts", "export -", "doctor", "undo"])
def test_the_default_store_is_not_created_by_looking_at_it_either(name: str, run: Run, home: Path) -> None:
    before = files(home)
    told = run("hermes_memory_tui", *name.split())
    assert told.code == 1
    assert f"there is no memory at {home / '.hermes' / 'memory.db'}" in told.err
    assert files(home) == before


@pytest.mark.parametrize("program", ["hermes_memory_tui", "hermes_memory_bridge"])
def test_nor_by_a_process_that_looks_at_it(program: str, home: Path) -> None:
    before = files(home)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HERMES_", "XDG_"))}
    environment |= {"HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-m", program, "status"], cwd=home, env=environment, capture_output=True)
    assert done.returncode == 1
    assert files(home) == before


@pytest.mark.parametrize("command", [["optimize"], ["import", "facts.spec"]])
def test_a_dry_run_needs_no_store_and_creates_none(command: list[str], run: Run, home: Path) -> None:
    before = files(home)

    told = run("hermes_memory_tui", *command, "--dry-run", "--db", "typo.db")

    assert told.code == 0
    assert files(home) == before


@pytest.mark.parametrize("name", CREATING)
def test_a_command_that_keeps_something_creates_the_store(name: str, run: Run, home: Path) -> None:
    if name.startswith("repo"):
        subprocess.run(["git", "init", "-q"], cwd=home, check=True)
    told = run("hermes_memory_tui", *name.split(), *CREATING[name], "--db", "folder/new.db")

    assert told.code == 0, told
    assert (home / "folder" / "new.db").stat().st_size > 0


@pytest.mark.parametrize("line", ["nonsense", "V[a]:", "V[a]: nul\x1b"])
def test_a_write_that_is_refused_creates_none(line: str, run: Run, home: Path) -> None:
    before = files(home)

    told = run("hermes_memory_tui", "write", line, "--db", "folder/new.db")

    assert told.code == 1, told
    assert files(home) == before


@pytest.mark.parametrize("name", BRIDGE_NEEDING_A_STORE)
def test_a_command_of_the_bridge_that_needs_a_store_creates_none(name: str, run: Run, home: Path) -> None:
    before = files(home)

    told = run("hermes_memory_bridge", *name.split(), *BRIDGE_NEEDING_A_STORE[name], "--db", "missing/typo.db")

    assert told.code == 1, told
    assert files(home) == before
    if name.split()[0] not in ("team", "embedding"):
        assert str(home / "missing" / "typo.db") in told.err + told.out


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda path: path.touch(), "is empty and holds no memory yet"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.symlink_to("nowhere"), "there is no memory at"),
        (lambda path: path.write_text("notes\n" * 500), "is not a readable SQLite database"),
    ],
    ids=["empty", "folder", "dangling link", "text"],
)
def test_what_is_no_store_is_named_and_left_alone(
    made: Callable[[Path], None], said: str, run: Run, home: Path
) -> None:
    made(home / "other.db")
    before = files(home)

    told = run("hermes_memory_tui", "facts", "--db", "other.db")

    assert (told.code, said in told.err) == (1, True), told
    assert files(home) == before


def test_a_path_through_a_file_is_named(run: Run, home: Path) -> None:
    told = run("hermes_memory_tui", "facts", "--db", "facts.spec/memory.db")

    assert told.code == 1
    assert "facts.spec/memory.db cannot be opened: Not a directory" in told.err


def test_the_database_of_another_program_gets_no_lock_file_beside_it(run: Run, home: Path) -> None:
    import sqlite3

    with sqlite3.connect(home / "other.db") as conn:
        conn.execute("CREATE TABLE notes (id INTEGER)")
    conn.close()
    before = files(home)

    told = run("hermes_memory_tui", "facts", "--db", "other.db")

    assert (told.code, "of another program" in told.err) == (1, True)
    assert files(home) == before
