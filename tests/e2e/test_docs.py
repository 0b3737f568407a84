"""The pages a newcomer reads lead somewhere, and name every room's files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

from hermes_memory_bridge.cli.bridge_commands import bridge_cli
from hermes_memory_bridge.connect.hosts import HOSTS
from hermes_memory_tui.cli import cli
from tests.tools import reference, structure, tutorial

HOUSE = Path(__file__).parents[2]

MOST_WORDS = 26_500
"""Words of README and `docs/` without what is made. A page that grows says what it repeats."""

PAGES = [HOUSE / "README.md", HOUSE / "CONTRIBUTING.md", *sorted((HOUSE / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_picture_of_a_page_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_reference_is_as_its_source_is(name: str) -> None:
    page = (reference.FOLDER / name).read_text(encoding="utf-8")
    assert page.startswith(reference.MARK)
    assert page == reference.PAGES[name](), "run `python -m tests.tools.reference`"


def test_every_reference_is_made() -> None:
    assert {file.name for file in reference.FOLDER.iterdir()} == set(reference.PAGES)


def test_what_a_person_reads_stays_within_its_words() -> None:
    pages = [page for page in PAGES if page.parent != reference.FOLDER and page.name != "CONTRIBUTING.md"]
    texts = [reference.FIGURES.sub("", page.read_text(encoding="utf-8")) for page in pages]
    assert sum(len(text.split()) for text in texts) <= MOST_WORDS


def test_every_figure_is_that_of_its_run_file() -> None:
    pages = {page.name: page.read_text(encoding="utf-8") for page in (HOUSE / "docs").glob("*.md")}
    assert {name: text for name, text in pages.items() if reference.filled(text) != text} == {}, (
        "run `python -m tests.tools.reference`"
    )
    assert {name for text in pages.values() for name, _ in reference.FIGURES.findall(text)} == set(reference.RUNS)
    assert {file.stem for file in reference.RUN_FILES.iterdir()} == set(reference.RUNS)


def test_every_heading_that_a_link_names_is_there() -> None:
    missing = []
    for page in PAGES:
        for file, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            text = (page.parent / file if file else page).read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            if anchor not in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}:
                missing.append(f"{page.name}: {file}#{anchor}")
    assert missing == []


def test_the_page_on_connecting_names_every_host_and_its_files() -> None:
    page = (HOUSE / "docs" / "connect.md").read_text(encoding="utf-8")
    for name, host in HOSTS.items():
        row = re.search(rf"^\| `{name}` \| (.*)$", page, re.MULTILINE)
        assert row, name
        assert host.project is None or f"`{host.project}`" in row[1]


def test_every_key_of_the_page_on_the_inspector_does_something() -> None:
    page = (HOUSE / "docs" / "inspector.md").read_text(encoding="utf-8")
    reference_page = (reference.FOLDER / "keys.md").read_text(encoding="utf-8")
    keys = {
        key
        for row in re.findall(r"^\| (`.*?`) \| `", reference_page, re.MULTILINE)
        for key in re.findall(r"`([^`]+)`", row)
    }
    named = set(re.findall(r"`([!-*,-_a-~]|ctrl\+\w)`", page))
    assert len(named) > 30
    assert named - keys == set()


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


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent != reference.FOLDER], ids=lambda page: page.name
)
def test_every_command_and_option_that_a_page_shows_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:console|bash)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    spans = [span for span in re.findall(r"`(hermes-memory-[^`]+)`", text) if "…" not in span]
    problems = [find_problem(line) for line in [*"".join(blocks).splitlines(), *spans]]
    assert [problem for problem in problems if problem] == []


def find_problem(line: str) -> str | None:
    """The word of a shown call of our programs that they do not know."""
    match = re.search(r"(hermes-memory-(?:tui|bridge)) ([^#|&;<>]*)", line)
    if match is None or (re.match(r"[+{(\w/]", line) and not line.startswith(("hermes-memory-", ".venv/", "$ "))):
        return None
    words = match[2].replace("[", " ").replace("]", " ").split()
    command: click.Command = cli if match[1] == "hermes-memory-tui" else bridge_cli
    context = click.Context(command)
    options = {"--help", *(name for param in command.params for name in param.opts)}
    values: set[str] = set()
    for number, word in enumerate(words):
        name, _, value = word.partition("=")
        if name == "--" or word.startswith(("'", "…")):
            break
        if word.startswith("-"):
            param = next((one for one in command.params if name in (*one.opts, *one.secondary_opts)), None)
            if param is None and name not in options:
                return f"{line}: {name}"
            if param is not None and isinstance(param, click.Option) and not param.is_flag and not value:
                values.update(words[number + 1 : number + 2])
        elif isinstance(command, click.Group) and word not in values and word.islower():
            inner = command.get_command(context, word)
            if inner is None:
                return f"{line}: {word}" if not command.invoke_without_command or context.parent is None else None
            options |= {name for param in command.params for name in param.opts}
            context = click.Context(inner, parent=context)
            command = inner
            if word == "at":
                break
    return None


@pytest.mark.parametrize(("name", "least"), [("CONTRIBUTING.md", 35), ("docs/architecture.md", 10)])
def test_every_file_that_a_page_names_exists(name: str, least: int) -> None:
    page = (HOUSE / name).read_text(encoding="utf-8")
    named = re.findall(r"`(themes|store|bridge|tui)/([\w/]+(?:\.py|/))`", page)
    assert len(named) > least
    assert [path for room, path in named if not (HOUSE / room / f"hermes_memory_{room}" / path).exists()] == []
