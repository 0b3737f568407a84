"""`test`: the tests of a memory on the command line."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hermes_memory_store.store import Store
from tests.tui.commands.conftest import Ask

TESTS = """\
[[test]]
name = "engine"
ask = "which database engine"
given = ["D[db.engine]"]

[[test]]
name = "port"
ask = "database port"
given = ["V[db.port]: 5433"]

[[test]]
name = "gone"
start = { scope = "gone" }
given = ["D[db.engine]"]
"""


@pytest.fixture
def file(home: Path, db: Path) -> Path:
    with Store.open(db) as store:
        store.facts.write("default", "D[db.engine]: PostgreSQL 16", scope="schema")
        store.facts.write("default", "V[db.port]: 5432", scope="schema")
    path = home / "memory-tests.toml"
    path.write_text(TESTS, encoding="utf-8")
    return path


def test_each_test_has_a_line_and_below_it_why_it_fails(file: Path, ask: Ask) -> None:
    said = ask("test")
    assert said.code == 1
    assert re.sub(r"\d+ of 180", "N of 180", said.out) == (
        "✓ engine  (N of 180 tokens)\n"
        "✗ port  (N of 180 tokens)\n"
        "    memory-tests.toml:6: not given: V[db.port]: 5433 (nothing in the memory matches it)\n"
        "! gone\n"
        "    memory-tests.toml:11: no scope named 'gone'; known: schema\n"
    )
    assert said.err.startswith("3 tests: 1 passed, 1 failed, 1 error")
    assert ask("test", str(file), "--only", "engine").code == 0


def test_the_document_and_the_xml_say_the_same(file: Path, home: Path, ask: Ask) -> None:
    said = ask("test", "--json", "--junit", str(home / "out.xml"))
    assert said.code == 1
    document = said.document
    assert (document["passed"], document["failed"], document["error"]) == (1, 1, 1)
    assert [one["status"] for one in document["tests"]] == ["passed", "failed", "error"]
    assert document["tests"][0]["ranks"] == {"D[db.engine]": 1}
    suite = ElementTree.parse(home / "out.xml").getroot()
    assert suite.attrib.items() >= {"tests": "3", "failures": "1", "errors": "1"}.items()
    cases = list(suite.iter("testcase"))
    assert [[child.tag for child in case if child.tag != "system-out"] for case in cases] == [
        [],
        ["failure"],
        ["error"],
    ]
    assert cases[1].get("line") == "6"


def test_mistakes_in_the_file_are_exit_code_2_and_name_their_lines(file: Path, ask: Ask) -> None:
    file.write_text("[[test]]\nask = 'q'\ngivn = 3\n", encoding="utf-8")
    said = ask("test")
    assert (said.code, said.out) == (2, "")
    assert f"{file}:3: 'givn' is no key of a test; did you mean 'given'?" in said.err
    assert ask("test", "--json").error["code"] == "tests.invalid"


def test_names_and_files_that_are_not_there_say_the_way_out(file: Path, home: Path, ask: Ask) -> None:
    assert "did you mean 'engine'?" in ask("test", "--only", "engin").err
    file.unlink()
    said = ask("test")
    assert said.code == 1
    assert f"no memory-tests.toml in {home}" in said.err
    assert "test --learn" in said.err
    assert ask("test", "nowhere.toml").code == 2


def test_an_export_is_tested_as_the_store_it_came_from(file: Path, home: Path, db: Path, ask: Ask) -> None:
    assert ask("export", str(home / "out.jsonl"), "--format", "jsonl").code == 0
    assert ask("export", str(home / "out.txt")).code == 0
    with Store.open(db) as store:
        store.facts.archive([fact.uid for fact in store.search.find("default", "engine").facts])
    assert ask("test", "--only", "engine").code == 1
    for name in ("out.jsonl", "out.txt"):
        assert ask("test", "--only", "engine", "--export", str(home / name)).code == 0
    (home / "bad.jsonl").write_text((home / "out.jsonl").read_text("utf-8") + '{"kind":"fact"}\n', encoding="utf-8")
    assert "repair the export" in ask("test", "--export", str(home / "bad.jsonl")).err


def test_the_file_beside_the_store_is_found_from_anywhere(
    file: Path, home: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "elsewhere").mkdir()
    monkeypatch.chdir(home / "elsewhere")
    assert ask("test", "--only", "engine", "--theme", "default").code == 0


def test_tests_run_on_a_past_state_and_write_nothing(file: Path, db: Path, ask: Ask) -> None:
    before = db.read_bytes()
    assert ask("at", "1d", "test", "--only", "engine").code == 1
    assert ask("test", "--only", "engine").code == 0
    assert db.read_bytes() == before
