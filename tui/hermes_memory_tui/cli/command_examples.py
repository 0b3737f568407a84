"""Examples of a command, beside its definition: `--help`, `help`, the man pages and a test that runs them have them from here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from hermes_memory_store.frozen import dataclass

C = TypeVar("C", bound=click.Command)

PROGRAM = "hermes-memory-tui"


@dataclass(frozen=True, slots=True)
class Example:
    """A line for a shell, and what it is for."""

    line: str
    purpose: str


EXAMPLES: dict[click.Command, tuple[Example, ...]] = {}
"""The examples of each command whose module was imported."""


def add_examples(*examples: tuple[str, str]) -> Callable[[C], C]:
    """Add examples to a command: the line, without the program's name before it, and what it is for."""

    def add(command: C) -> C:
        EXAMPLES[command] = tuple(
            Example(line if f"$({PROGRAM} " in line else f"{PROGRAM} {line}", purpose) for line, purpose in examples
        )
        lines = "\n".join(f"  {example.line}\n      {example.purpose}" for example in EXAMPLES[command])
        command.epilog = f"\b\nExamples:\n{lines}"
        return command

    return add
