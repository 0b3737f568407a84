"""What is made in `docs/`: `reference/`, from docstrings and declared tables, the man pages, and figures in pages.

`python -m tests.tools.reference` writes them; `tests/e2e/test_docs.py` compares them. `--run NAME` measures anew: it writes the
run file of which the figures come, the table between `<!-- run: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from textual.keys import format_key

from hermes_memory_bridge.cli import bridge_commands
from hermes_memory_bridge.cli.click_support import HELP_SETTINGS
from hermes_memory_bridge.surface import prompts, resources
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_tui import cli as tui_commands
from hermes_memory_tui.cli.command_examples import EXAMPLES
from hermes_memory_tui.keymap_actions import all_bindings
from tests.tools import library_reference, man_pages, structure
from tests.tools.man_pages import option_rows, paragraphs

FOLDER = structure.ROOT / "docs" / "reference"
BENCHMARKS = structure.ROOT / "tests" / "benchmarks"
ANSWERS = Path(__file__).with_name("json_answers.toml")
"""What each key of a command's JSON document means."""

ROOMS = ("hermes_memory_tui", "hermes_memory_bridge", "hermes_memory_store", "hermes_memory_themes")

MARK = "<!-- Made by `python -m tests.tools.reference`. Do not edit. -->"

RUNS = {
    "secrets": ("tests.tools.secret_measure",),
    "recall_curve": ("tests.benchmarks.recall_curve", "locomo.json", "--words", "--budget", "180"),
    "recall_questions": ("tests.benchmarks.recall_questions", "--half", "kept", "--by", "language"),
    "recall_work": ("tests.benchmarks.recall_questions", "--work"),
    "recall_strangers": ("tests.benchmarks.recall_questions", "--work", "strangers"),
    "session_start": ("tests.benchmarks.session_start", "--hints", "folder,root,work,message,last", "--total"),
    "content_checks": ("tests.tools.train_scorer", "--judge"),
    "agmi": ("tests.benchmarks.agmi",),
    "memshield": ("tests.benchmarks.memshield", "full.jsonl"),
    "recall_languages": ("tests.benchmarks.recall_languages",),
}
"""Run file → the program that measures it."""

RUN_FILES = BENCHMARKS / "runs"
FIGURES = re.compile(r"(?<=^<!-- run: )(\w+)( -->\n).*?(?=^<!-- end -->)", re.DOTALL | re.MULTILINE)


def command_page() -> str:
    """The commands of both programs, with the keys of their JSON documents."""
    answers = tomllib.loads(ANSWERS.read_text(encoding="utf-8"))
    lines = [
        "What each command takes, does and answers. [cli.md](../cli.md) explains what holds for all of them.",
        "",
        "## hermes-memory-tui",
        "",
        *program_lines(tui_commands.cli, "hermes-memory-tui", tui_commands.HEADINGS, answers["commands"]),
        "## hermes-memory-bridge",
        "",
        *program_lines(bridge_commands.bridge_cli, "hermes-memory-bridge", bridge_commands.HEADINGS, answers["bridge"]),
        "## JSON objects",
        "",
        answers["note"],
        "",
    ]
    for name, keys in answers["objects"].items():
        lines += [f"### A {name}", "", *key_lines(keys), ""]
    return page("Commands", lines)


def program_lines(
    group: click.Group, program: str, headings: dict[str, str], answers: dict[str, dict[str, str]]
) -> Iterator[str]:
    """Every command of a program, in the order of its help."""
    context = click.Context(group, info_name=program)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        if name in headings:
            yield from (f"**{headings[name]}**", "")
        yield from command_lines(command, program, name, "###")
        if isinstance(command, click.Group):
            for inner_name in command.list_commands(click.Context(command)):
                inner = command.get_command(click.Context(command), inner_name)
                if inner is not None and not inner.hidden:
                    yield from command_lines(inner, program, f"{name} {inner_name}", "####")
                    yield from answer_lines(answers.get(f"{name} {inner_name}"))
        yield from answer_lines(answers.get(name))


def command_lines(command: click.Command, program: str, name: str, level: str) -> Iterator[str]:
    """How a command is called, what it does, its options and examples."""
    # A command keeps the option for help that it is first asked for.
    context = click.Context(command, info_name=name, help_option_names=HELP_SETTINGS["help_option_names"])
    pieces = " ".join(command.collect_usage_pieces(context))
    yield from (f"{level} `{name} {pieces}`", "")
    for text in paragraphs(command.help):
        yield from (text, "")
    rows = [f"- `{option}`: {meaning}" for option, meaning in option_rows(command, common=False)]
    yield from (*rows, *([""] if rows else []))
    if examples := EXAMPLES.get(command, ()):
        yield "```console"
        for example in examples:
            yield from (f"# {example.purpose}", example.line)
        yield from ("```", "")


def answer_lines(keys: dict[str, str] | None) -> Iterator[str]:
    if keys:
        yield from ("With `--json`:", "", *key_lines(keys), "")


def key_lines(keys: dict[str, str]) -> Iterator[str]:
    for key, meaning in keys.items():
        yield f"- `{key}`" + (f": {meaning}" if meaning else "")


def tool_page() -> str:
    """What an agent may call and read."""
    lines = ["What the bridge offers over MCP. [bridge.md](../bridge.md#tools) says who is offered what.", ""]
    for group, title in (("core", "## Tools"), ("all", "## With `--tools all`")):
        lines += [title, ""]
        for spec in TOOLS.values():
            if spec.group == group:
                lines += [f"### `{spec.name}`", "", spec.description, "", f"Right: `{spec.right}`.", ""]
                lines += argument_lines(spec.arguments, spec.required)
                lines += [f"Answers with {', '.join(f'`{key}`' for key in spec.gives)}.", ""] if spec.gives else []
    lines += ["## Resources", ""]
    declared = [one for one in vars(resources).values() if isinstance(one, resources.ReadableResource)]
    lines += [f"- `{one.uri}`: {one.description}" for one in declared]
    lines += ["", "## Prompts", ""]
    for prompt in prompts.PROMPTS.values():
        lines.append(f"- `{prompt.name}`: {prompt.description}")
    return page("Tools, resources and prompts", lines)


def argument_lines(arguments: dict[str, Any], required: Iterable[str]) -> Iterator[str]:
    for name, schema in arguments.items():
        kind = schema.get("type", "")
        words = [" or ".join(kind) if isinstance(kind, list) else kind, *(["required"] if name in required else [])]
        words += [", ".join(map(str, schema["enum"]))] if "enum" in schema else []
        yield f"- `{name}` ({'; '.join(filter(None, words))}): {schema.get('description', '')}".rstrip(": ")
    yield from ([""] if arguments else [])


def key_page() -> str:
    """Every key of the inspector, with the id by which `[keys]` binds another."""
    lines = [
        "`[keys]` of `inspector.toml` binds another key to an action by its id ([inspector.md](../inspector.md#settings)).",
        "",
    ]
    places: dict[str, list[str]] = {}
    for owner, binding in all_bindings():
        if binding.id and binding.description:
            place = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", owner.__name__).capitalize()
            keys = " ".join(f"`{format_key(key.strip())}`" for key in binding.key.split(","))
            meaning = binding.tooltip.rstrip(".") if binding.tooltip else binding.description
            places.setdefault(place, []).append(f"| {keys} | `{binding.id}` | {meaning.replace('|', chr(92) + '|')} |")
    for place, rows in places.items():
        lines += [f"## {place}", "", "| key | id | what it does |", "| --- | --- | --- |", *rows, ""]
    return page("Keys of the inspector", lines)


def client_page() -> str:
    """`MemoryClient`, method by method."""
    lines = ["`AsyncMemoryClient` has the same methods, with `async with` and `await`. A `ToolReply` is a `Reply`.", ""]
    for name in ("MemoryClient", "Reply", "SessionConfig", "RetryPolicy"):
        kind = getattr(import_module("hermes_memory_bridge.client"), name)
        if library_reference.is_value(kind):
            lines += library_reference.value_section(name, kind)
        else:
            arguments = library_reference.signature(kind.__init__)
            lines += [f"## `{name}`", "", "```python", f"{name}{arguments.partition(' ->')[0]}", "```", ""]
            lines += [library_reference.prose(kind.__init__), ""]
            lines += list(library_reference.class_section(name, kind))[4:]  # without its heading
    return page("The client", lines)


def package_page() -> str:
    """Every package of the four rooms, with the first sentence of its docstring."""
    lines = ["[architecture.md](../architecture.md) says how the rooms depend on each other.", ""]
    files = structure.source_files()
    for room in ROOMS:
        for module in sorted(
            name for name in files if files[name].stem == "__init__" and f"{name}.".startswith(f"{room}.")
        ):
            text = " ".join((structure.docstring(module) or "").split("\n\n")[0].split())
            purpose = re.split(r"(?<=\.)\s", text, maxsplit=1)[0]
            folder = module.removeprefix(room).removeprefix(".").replace(".", "/")
            lines += [f"- `{folder}/`: {purpose}"] if folder else ["", f"## `{room}`", "", purpose, ""]
    return page("Packages", lines)


def benchmark_page() -> str:
    """What each benchmark measures, and how it is run."""
    lines = [
        "Each prints a table. None of them is asserted in the test suite. `--help` lists sizes and rounds.",
        "",
    ]
    for file in sorted(BENCHMARKS.glob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "__main__" in text:
            body = inspect.cleandoc(ast.get_docstring(ast.parse(text)) or "")
            body = re.sub(r"^(python -m .*)$", r"    \1", body, flags=re.MULTILINE)
            lines += [f"## `{file.stem}`", "", body, ""]
    return page("Benchmarks", lines)


def page(title: str, lines: Iterable[str]) -> str:
    text = "\n".join((MARK, "", f"# {title}", "", *lines))
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": command_page,
    "tools.md": tool_page,
    "library.md": lambda: page("The library", library_reference.reference_lines()),
    "keys.md": key_page,
    "client.md": client_page,
    "packages.md": package_page,
    "benchmarks.md": benchmark_page,
}


def filled(text: str) -> str:
    """A page whose figures are those of the run files."""
    return FIGURES.sub(
        lambda match: f"{match[1]}{match[2]}{(RUN_FILES / match[1]).with_suffix('.md').read_text()}", text
    )


def record_run(name: str) -> None:
    """Measure, and keep the tables of what is printed."""
    done = subprocess.run([sys.executable, "-m", *RUNS[name]], stdout=subprocess.PIPE, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    (RUN_FILES / name).with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_pages() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), encoding="utf-8")
    man_pages.write_pages()
    for file in (structure.ROOT / "docs").glob("*.md"):
        file.write_text(filled(file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        record_run(sys.argv[2])
    write_pages()
