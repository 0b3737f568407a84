"""The reference of the commands names every key, and a man program reads the man pages, which are as the commands are."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_store import errors
from tests.tools import man_pages
from tests.tools.structure import ROOT
from tests.tui.commands.conftest import Tell

MANUAL = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
CODES = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")

NOUNS = ("fact", "gauge", "scope", "change")


def section(command: str) -> str:
    """The part of the reference on a command, heading included."""
    match = re.search(rf"^### `{command}\b.*?(?=^#{{2,3}} |\Z)", MANUAL, re.MULTILINE | re.DOTALL)
    assert match, f"the reference has no section on {command}"
    return match[0]


def noun(name: str) -> str:
    """The part of the reference on a kind of document."""
    match = re.search(rf"^### A {name}$.*?(?=^#|\Z)", MANUAL, re.MULTILINE | re.DOTALL)
    assert match
    return match[0]


def test_every_error_code_is_documented() -> None:
    def codes(family: type[errors.StoreError]) -> set[str]:
        below = [one for one in family.__subclasses__() if one.__module__ == errors.__name__]
        return set().union(*(codes(one) for one in below)) if below else {family.code}

    missing = {code for code in codes(errors.StoreError) if f"`{code}`" not in CODES}
    assert not missing


@pytest.fixture
def documents(tell: Tell, home: Path) -> dict[str, Any]:
    """A document of every command that answers with one."""
    uid = tell("write", "D[auth]: JWT", "--scope", "login")["uid"]
    (home / "memories").mkdir()
    pinned = tell("pin", uid)
    return {
        "write": tell("write", "V[pool]: 20", "--scope", "db"),
        "pin": pinned,
        "unpin": tell("unpin", uid),
        "edit": tell("edit", uid, "cookies"),
        "archive": tell("archive", uid),
        "restore": tell("restore", uid),
        "review": tell("review"),
        "undo": tell("undo"),
        "redo": tell("redo"),
        "search": tell("search", "cookies"),
        "facts": tell("facts") | tell("fact", uid),
        "history": tell("history", uid),
        "status": tell("status"),
        "themes": tell("themes"),
        "scopes": tell("scopes") | tell("scopes", "close", "login"),
        "sessions": tell("sessions"),
        "backup": tell("backup", str(home / "kept.db")),
        "purge": tell("purge", "--yes"),
        "export": tell("export", str(home / "facts.txt")),
        "import": tell("import", str(home / "facts.txt")),
        "doctor": tell("doctor"),
        "upgrade": tell("upgrade"),
        "optimize": tell("optimize", "--home", str(home)),
    }


def test_every_key_is_documented(documents: dict[str, Any]) -> None:
    missing = []
    for command, document in documents.items():
        text = section(command)
        for name in NOUNS:
            if re.search(rf"\b{name}s?\b", text):
                text += noun(name)
        missing += [f"{command}: {key}" for key in document if f"`{key}`" not in text]
    assert missing == []


def test_every_key_of_what_is_listed_is_documented(documents: dict[str, Any]) -> None:
    listed = {
        "fact": documents["facts"]["facts"][0],
        "gauge": documents["status"]["gauge"],
        "scope": documents["scopes"]["scopes"][0],
        "change": documents["history"]["changes"][0],
    }
    for name, document in listed.items():
        missing = [key for key in document if f"`{key}`" not in noun(name)]
        assert not missing, f"{name}: {missing}"
    for key in documents["optimize"]["memory"]:
        assert f"`{key}`" in section("optimize")
    for key in documents["doctor"]["checks"][0]:
        assert f"`{key}`" in section("doctor")


def test_the_pages_are_as_the_commands_are() -> None:
    kept = {file.name: file.read_text(encoding="utf-8") for file in man_pages.FOLDER.iterdir()}
    assert kept == man_pages.man_pages(), "run `python -m tests.tools.reference`"


def test_an_installation_has_the_pages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"] == {"docs/man": "share/man/man1"}


def test_a_man_program_reads_every_page_without_a_warning(tmp_path: Path) -> None:
    reader = shutil.which("mandoc") or shutil.which("groff")
    if reader is None:
        pytest.skip("neither mandoc nor groff is here")
    how = ["-T", "lint", "-W", "error"] if reader.endswith("mandoc") else ["-K", "utf8", "-man", "-ww", "-z"]
    pages = [str(man_pages.FOLDER / name) for name in man_pages.man_pages()]
    done = subprocess.run([reader, *how, *pages], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_page_shows_options_and_examples_as_they_are_typed(tmp_path: Path) -> None:
    man = shutil.which("man")
    if man is None:
        pytest.skip("no man here")
    shown = {
        name: subprocess.run(
            [man, "-l", str(man_pages.FOLDER / f"hermes-memory-tui-{name}.1")],
            env={"MANWIDTH": "200", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            capture_output=True, text=True, check=True, timeout=60,
        ).stdout
        for name in ("facts", "undo", "scopes", "write")
    }  # fmt: skip
    assert "--after UID" in shown["facts"]
    assert "-o, --output table|csv|tsv|jsonl" in shown["facts"]
    assert "write 'D[auth]: JWT, 7 days' --scope login" in shown["write"]
    assert "hermes-memory-tui scopes close" in shown["scopes"]
