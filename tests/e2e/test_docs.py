"""The pages a newcomer reads lead somewhere, and name every room's files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]

PAGES = [HOUSE / "README.md", HOUSE / "CONTRIBUTING.md", *sorted((HOUSE / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_picture_of_a_page_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_layout_names_every_file_of_the_store() -> None:
    layout = (HOUSE / "docs" / "layout.md").read_text(encoding="utf-8")
    room = HOUSE / "store" / "hermes_memory_store"
    files = {file.relative_to(room).as_posix() for file in room.rglob("*.py") if file.name != "__init__.py"}
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", layout))
    assert files - named == set(), "say in docs/layout.md which rule stands there"
    assert named - files == set(), "docs/layout.md names files that are gone"


def test_every_benchmark_has_a_command_in_the_docs() -> None:
    said = (HOUSE / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    programs = [file for file in (HOUSE / "tests" / "benchmarks").glob("*.py") if "__main__" in file.read_text("utf-8")]
    assert programs
    assert [file.stem for file in programs if not re.search(rf"tests\.benchmarks\.{file.stem}\b", said)] == []
