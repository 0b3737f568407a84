"""The man pages of the command line, made from the commands themselves and their examples.

`python -m tests.tools.reference` writes them to `docs/man/`, from where a wheel takes them to `share/man/man1`;
`tests/tui/commands/test_manual.py` compares them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from hermes_memory_tui.cli import COMMANDS, HEADINGS, cli
from hermes_memory_tui.cli.command_examples import EXAMPLES, PROGRAM
from tests.tools.structure import ROOT

FOLDER = ROOT / "docs" / "man"

COMMON = ("as_json", "theme", "db", "color")
"""Options of every command, which stand once, at the end."""

GLYPHS = str.maketrans({"\\": "\\e", "-": "\\-", "'": "\\(aq", "~": "\\(ti", "^": "\\(ha"})
"""Characters that roff would set as others, which a shell does not know."""

ENVIRONMENT = (
    ("HERMES_MEMORY_DB", "The store file, unless --db names one."),
    ("HERMES_MEMORY_THEME", "The theme, unless --theme names one."),
    ("HERMES_HOME", "The folder of the store, the settings and the logs; ~/.hermes unless set."),
    ("NO_COLOR", "Print no colours, unless --color says so."),
)

EXIT_STATUS = (
    ("0", "Done."),
    ("1", "It failed, with the reason on standard error; or doctor found a problem."),
    ("2", "The arguments are wrong; or the file of test has mistakes."),
    ("130", "It was interrupted."),
)


def escape_roff(text: str) -> str:
    """Escape a text for roff: hyphens are to be copied as such, and no line is taken for a request."""
    text = text.replace("`", "").translate(GLYPHS)
    return "\n".join(f"\\&{line}" if line.startswith(".") else line for line in text.split("\n"))


def paragraphs(text: str | None) -> Iterator[str]:
    """Yield the paragraphs of a help text, without click's mark for those that are not to be wrapped."""
    for piece in re.split(r"\n\s*\n", inspect.cleandoc(text or "")):
        if piece.strip():
            yield " ".join(piece.replace("\b", "").split())


def described(text: str | None) -> Iterator[str]:
    """Yield the roff lines of a help text."""
    for piece in paragraphs(text):
        yield from (".PP", escape_roff(piece))


def tagged(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the roff lines of names and what they mean."""
    for name, what in rows:
        yield from (".TP", f".B {escape_roff(name)}", escape_roff(what) or "\\&")


def usage(command: click.Command, path: str) -> str:
    """Return how a command is called."""
    pieces = ["[OPTION]..."]
    for param in command.params:
        if isinstance(param, click.Argument):
            name = param.metavar or (param.name or "").upper()
            name = name if param.nargs == 1 or param.metavar else f"{name}..."
            pieces.append(name if param.required or name.startswith("[") else f"[{name}]")
    if isinstance(command, click.Group):
        pieces.append("[COMMAND]" if command.invoke_without_command else "COMMAND")
    return f".B {escape_roff(path)}\n{escape_roff(' '.join(pieces))}"


def option_rows(command: click.Command, *, common: bool) -> Iterator[tuple[str, str]]:
    """Yield the options of a command, its own or those of every command, and what each means."""
    for param in command.params:
        if not isinstance(param, click.Option) or param.hidden or (param.name in COMMON) is not common:
            continue
        name = ", ".join((*param.opts, *param.secondary_opts))
        if not param.is_flag:
            kinds = param.type.choices if isinstance(param.type, click.Choice) else ()
            name += " " + (param.metavar or "|".join(map(str, kinds)) or param.type.name.upper().replace(" RANGE", ""))
        shown = f" [default: {param.default}]" if param.show_default and param.default not in (None, ()) else ""
        yield name, (param.help or "") + shown
    if common:
        yield "-h, --help", "Explain the command."


def page(title: str, short: str, parts: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Return a man page of named parts; empty ones are left out."""
    lines = [
        '.\\" Made by python -m tests.tools.reference',
        f'.TH "{escape_roff(title.upper())}" "1" "" "{PROGRAM}" "User Commands"',
        ".SH NAME",
        f"{escape_roff(title)} \\- {escape_roff(short.rstrip('.'))}",
    ]
    for heading, body in parts:
        if body:
            lines += [f".SH {heading}", *body]
    return "\n".join(lines) + "\n"


def example_lines(command: click.Command) -> list[str]:
    """Return the roff lines of a command's examples."""
    lines: list[str] = []
    for example in EXAMPLES.get(command, ()):
        lines += [".PP", escape_roff(f"{example.purpose[0].upper()}{example.purpose[1:]}:"), ".PP", ".RS 4", ".nf"]
        lines += [escape_roff(example.line.replace("`", "'")), ".fi", ".RE"]
    return lines


def command_page(name: str, command: click.Command) -> str:
    """Return the page of one command, with those within it."""
    within: list[str] = []
    if isinstance(command, click.Group):
        for inner_name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), inner_name)
            assert inner is not None
            within += [f".SS {escape_roff(inner_name)}", usage(inner, f"{PROGRAM} {name} {inner_name}")]
            within += [*described(inner.help), *tagged(option_rows(inner, common=False)), *example_lines(inner)]
    return page(
        f"{PROGRAM}-{name}",
        command.get_short_help_str(200),
        (
            ("SYNOPSIS", [usage(command, f"{PROGRAM} {name}")]),
            ("DESCRIPTION", list(described(command.help))),
            ("OPTIONS", list(tagged(option_rows(command, common=False)))),
            ("COMMANDS", within),
            ("COMMON OPTIONS", list(tagged(option_rows(command, common=True)))),
            ("EXAMPLES", example_lines(command)),
            ("SEE ALSO", [f".BR {escape_roff(PROGRAM)} (1)"]),
        ),
    )


def main_page(commands: dict[str, click.Command]) -> str:
    """Return the page of the program."""
    listed: list[str] = []
    for name, command in commands.items():
        if name in HEADINGS:
            listed.append(f".SS {HEADINGS[name]}")
        listed += tagged([(f"{PROGRAM}-{name}(1)", command.get_short_help_str(200))])
    return page(
        PROGRAM,
        "browse, search, edit, undo and purge what LLM agents have stored",
        (
            ("SYNOPSIS", [usage(cli, PROGRAM)]),
            ("DESCRIPTION", list(described(cli.help))),
            ("OPTIONS", list(tagged(option_rows(cli, common=False)))),
            ("COMMON OPTIONS", list(tagged(option_rows(cli, common=True)))),
            ("COMMANDS", listed),
            ("ENVIRONMENT", list(tagged(ENVIRONMENT))),
            ("EXIT STATUS", list(tagged(EXIT_STATUS))),
        ),
    )


def man_pages() -> dict[str, str]:
    """Return every page by the name of its file."""
    root = click.Context(cli)
    named = ((name, cli.get_command(root, name)) for name in COMMANDS)
    commands = {name: command for name, command in named if command is not None and not command.hidden}
    pages = {f"{PROGRAM}-{name}.1": command_page(name, command) for name, command in commands.items()}
    return {f"{PROGRAM}.1": main_page(commands)} | pages


def write_pages(folder: Path = FOLDER) -> None:
    """Write all pages, and remove those of commands that are no more."""
    folder.mkdir(exist_ok=True)
    pages = man_pages()
    for file in folder.iterdir():
        if file.name not in pages:
            file.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
