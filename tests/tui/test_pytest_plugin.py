"""The plugin that runs tests of a memory as pytest's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hermes_memory_store.store import Store

TESTS = """\
[[test]]
name = "engine"
ask = "which database engine"
given = ["D[db.engine]"]

[[test]]
name = "port"
ask = "which database engine"
given = ["V[db.port]: 5433"]

[[test]]
name = "gone"
start = { scope = "gone" }
given = ["D[db.engine]"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "memory.db") as store:
        store.facts.write("default", "D[db.engine]: PostgreSQL 16", scope="schema")
    (tmp_path / "memory-tests.toml").write_text(TESTS, encoding="utf-8")
    return tmp_path


def run_pytest(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    plugin = (
        "-p",
        "hermes_memory_tui.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        "--rootdir",
        str(folder),
    )
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, "--memory-theme", "default", *args],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_each_test_of_a_memory_is_one_of_pytest(folder: Path) -> None:
    done = run_pytest(folder, "memory-tests.toml", "--memory-db", "memory.db", "--junit-xml", "out.xml", "-v")
    assert done.returncode == 1, done.stderr
    for line in (
        "memory-tests.toml::engine PASSED",
        "memory-tests.toml::port FAILED",
        "memory-tests.toml::gone FAILED",
    ):
        assert line in done.stdout, done.stdout
    assert "not given: V[db.port]: 5433 (nothing in the memory matches it)" in done.stdout
    assert "no scope named 'gone'; known: schema" in done.stdout
    assert "Traceback" not in done.stdout
    cases = list(ElementTree.parse(folder / "out.xml").getroot().iter("testcase"))
    assert [case.get("name") for case in cases] == ["engine", "port", "gone"]


def test_tests_are_chosen_by_their_names_and_run_on_an_export(folder: Path) -> None:
    (folder / "memory.db").rename(folder / "elsewhere.db")
    (folder / "memory.txt").write_text("D[db.engine]: SQLite\n", encoding="utf-8")
    done = run_pytest(folder, "memory-tests.toml", "--memory-export", "memory.txt", "-k", "engine", "--memory-words")
    assert done.returncode == 0, done.stdout
    assert "1 passed, 2 deselected" in done.stdout


def test_mistakes_and_missing_stores_are_told_without_a_traceback(folder: Path) -> None:
    done = run_pytest(folder, "memory-tests.toml", "--memory-db", "nowhere.db", "-k", "engine")
    assert done.returncode == 1
    assert "nowhere.db" in done.stdout
    assert "MemoryCaseFile.setup" not in done.stdout
    (folder / "memory-tests.toml").write_text("[[test]]\nask = 5\ngiven = ['x']\n", encoding="utf-8")
    done = run_pytest(folder, "memory-tests.toml")
    assert done.returncode == 2
    assert "memory-tests.toml:2: ask is a text in quotes, not 5" in done.stdout


def test_nothing_is_collected_where_the_plugin_is_not_named(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", str(folder), "."],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
