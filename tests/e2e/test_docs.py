"""The pages a newcomer reads lead somewhere, and name every room's files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from hermes_memory_bridge.cli.bridge_commands import run_bridge_command
from hermes_memory_tui.cli.command_runner import run_command_line
from tests.tools import architecture, structure, tutorial

HOUSE = Path(__file__).parents[2]

PAGES = [HOUSE / "README.md", HOUSE / "CONTRIBUTING.md", *sorted((HOUSE / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_picture_of_a_page_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_layout_names_every_package_by_its_docstring() -> None:
    page = architecture.LAYOUT.read_text(encoding="utf-8")
    assert page == architecture.filled_layout(page), "run `python -m tests.tools.architecture`"
    assert [text for text in architecture.packages().values() if text not in page] == []


def test_the_layout_names_only_files_that_exist() -> None:
    _, _, rules = architecture.LAYOUT.read_text(encoding="utf-8").partition("## Which file holds which rule")
    named = re.findall(r"`(themes|store|bridge|tui)/([\w/]+(?:\.py|/))`", rules)
    assert len(named) > 50
    assert [path for room, path in named if not (HOUSE / room / f"hermes_memory_{room}" / path).exists()] == []


def test_the_picture_shows_the_imports_as_they_are() -> None:
    assert architecture.PICTURE.read_text(encoding="utf-8") == architecture.to_svg(), (
        "run `python -m tests.tools.architecture`"
    )


def test_the_picture_names_every_folder() -> None:
    picture = architecture.to_svg()
    folders = [name.split(".")[1] for name in architecture.packages() if name.count(".") == 1]
    assert [folder for folder in folders if f">{folder}/<" not in picture] == []


def test_the_tutorial_does_what_it_says() -> None:
    page = tutorial.PAGE.read_text(encoding="utf-8")
    shown = tutorial.steps(page)
    assert len(shown) > 15
    for step, real in zip(shown, tutorial.run_steps(page), strict=True):
        assert tutorial.comparable(real.output) == tutorial.comparable(step.output), (
            f"{step.command}: run `python -m tests.tools.tutorial`"
        )


def test_a_wildcard_of_the_tutorial_hides_no_other_text() -> None:
    assert (
        tutorial.comparable("created 01a204fa-0d44-7001-b285-d1fb8db212b7  gauge 0.3 %") == "created <uid>  gauge 0.3 %"
    )
    assert tutorial.comparable("answered in 12 ms ") == "answered in <number> ms"
    assert tutorial.comparable("deadbeef and 2 facts") == "deadbeef and 2 facts"


@pytest.mark.parametrize("age", ["4 s ago", "40 s ago", "2 min ago", "3 h ago", "5 days ago", "just now", "5m ago"])
def test_how_long_ago_something_was_differs_from_one_run_of_the_tutorial_to_the_next(age: str) -> None:
    assert tutorial.comparable(f"installed {age}; restart") == tutorial.comparable("installed 1 s ago; restart")


def test_a_number_that_is_no_age_stays_in_the_tutorial() -> None:
    text = "it stops after 30 s, keeps 5 days of 2 facts, and says so long ago"
    assert tutorial.comparable(text) == text


def test_every_benchmark_has_a_command_in_the_docs() -> None:
    said = (HOUSE / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    programs = [file for file in (HOUSE / "tests" / "benchmarks").glob("*.py") if "__main__" in file.read_text("utf-8")]
    assert programs
    assert [file.stem for file in programs if not re.search(rf"tests\.benchmarks\.{file.stem}\b", said)] == []


def test_every_message_of_the_troubleshooting_page_stands_in_the_code() -> None:
    page = (HOUSE / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = [
        text
        for line in page.splitlines()
        if line.startswith("| ")
        for text in re.findall(r'"([^"]+)"', line.split(" | ")[0])
    ]
    texts = [
        node.value
        for module in structure.source_files()
        for node in ast.walk(structure.syntax_tree(module))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert len(quoted) > 20
    assert [message for message in quoted if not any(message in text for text in texts)] == []


def test_every_code_of_the_troubleshooting_page_is_in_the_manual() -> None:
    page = (HOUSE / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    codes = set(re.findall(r"`((?:store|token|access|memory|journal|host|origin|rate|bridge|vault)\.[a-z_]+)`", page))
    manual = "".join((HOUSE / "docs" / name).read_text(encoding="utf-8") for name in ("cli.md", "bridge.md"))
    assert len(codes) > 10
    assert [code for code in codes if f"`{code}`" not in manual] == []


def test_every_command_of_the_page_on_uninstalling_exists(capfd: pytest.CaptureFixture[str]) -> None:
    page = (HOUSE / "docs" / "uninstall.md").read_text(encoding="utf-8")
    commands = re.findall(r"^(hermes-memory-\w+) ([^#\n]*)", page, re.MULTILINE)
    assert len(commands) > 8
    runs = {"hermes-memory-tui": run_command_line, "hermes-memory-bridge": run_bridge_command}
    for program, words in commands:
        called = [word for word in words.split() if not word.isupper() and "." not in word]
        verbs = [
            word for word in called if not word.startswith("-") and word not in {"cursor", "hermes-agent", "jsonl"}
        ]
        code = runs[program]([*verbs, "--help"])
        said = capfd.readouterr()
        assert code == 0, f"{program} {words}: {said.err}"
        assert [word for word in called if word.startswith("--") and word not in said.out] == [], f"{program} {words}"


def test_every_file_of_the_glossary_exists() -> None:
    page = (HOUSE / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`(themes|store|bridge|tui)/([\w/]+(?:\.py|/))`", page)
    assert len(named) > 35
    assert [path for room, path in named if not (HOUSE / room / f"hermes_memory_{room}" / path).exists()] == []
