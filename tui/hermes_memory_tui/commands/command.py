"""`Command`: a thing that the inspector does, as the palette lists it and the command line takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from hermes_memory_store.language.tokenizer import fold_accents


class CommandValue(NamedTuple):
    """What may follow the word of a command."""

    text: str
    beside: str = ""
    """What else is known of it."""


def no_values() -> Iterable[CommandValue]:
    """Return nothing: the command takes any text, or none."""
    return ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command. What it does is prepared first, so that a wrong argument leaves the line as it was typed."""

    word: str
    title: str
    help: str
    prepare: Callable[[str], Callable[[], object]]
    """Takes the text after the word, and returns what to do; raises `ArgumentError` where that makes no sense."""
    group: str = "here"
    key: str = ""
    """Its key, as it is shown."""
    aliases: tuple[str, ...] = ()
    argument: str = ""
    """What follows the word, such as `SCOPE`; in brackets when it may be left out; empty when nothing follows."""
    values: Callable[[], Iterable[CommandValue]] = no_values
    completions: Callable[[str], Iterable[str]] | None = None
    """What may stand after the word, given what stands there; where it is more than one of some values."""
    listed: bool = True
    """Whether the palette lists it: by itself, or once for each value where it has some."""


@dataclass(frozen=True, slots=True)
class CommandChoice:
    """A command with its argument, as a line of the palette."""

    line: str
    """What the command line would be given for the same."""
    title: str
    help: str
    group: str
    key: str
    run: Callable[[], object]

    @property
    def words(self) -> str:
        """What is searched: the title before the rest."""
        # Letters in their order say something within a title, in a sentence nothing: each of its words is for itself.
        return fold_accents("\n".join([self.title, self.line, *self.help.split()]))
