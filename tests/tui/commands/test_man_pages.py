"""The man pages say what the commands say, and a man program reads them."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.tools import man_pages
from tests.tools.structure import ROOT


def test_the_pages_are_as_the_commands_are() -> None:
    kept = {file.name: file.read_text(encoding="utf-8") for file in man_pages.FOLDER.iterdir()}
    assert kept == man_pages.man_pages(), "run `python -m tests.tools.man_pages`"


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
