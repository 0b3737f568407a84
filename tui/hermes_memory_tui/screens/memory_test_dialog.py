"""One key that makes a test of what a session was given: "this should have been given", or "this must never be"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.content import Content

from hermes_memory_store.errors import StoreError
from hermes_memory_store.memory_tests.case_file import (
    FILE_NAME,
    append_case,
    format_case,
    format_case_name,
    read_case_file,
)
from hermes_memory_store.memory_tests.memory_case import CaseStart, MemoryCase, parse_expectation
from hermes_memory_store.notation.memory_spec import line_pattern
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.dialogs.picker import NEW, Picker
from hermes_memory_tui.dialogs.question import Question, file_name_problem
from hermes_memory_tui.model.memory_test_file import case_file_places, find_case_file
from hermes_memory_tui.widgets.lists.pick_list import Choice

if TYPE_CHECKING:
    from hermes_memory_tui.screens.memory_screen import MemoryScreen

GIVEN, NEVER = "given ", "never "
"""What the key of a choice begins with."""


@dataclass(frozen=True, slots=True)
class CaseDraft:
    """What is known of a test before a person says what is expected."""

    theme: str
    ask: str | None = None
    start: CaseStart | None = None
    """One of both."""
    lines: tuple[str, ...] = ()
    """Notations that were given, or written, the likeliest first."""
    left_out: tuple[str, ...] = ()
    """Notations that were ranked and not given, best first."""

    @property
    def name(self) -> str:
        return format_case_name(self.ask, self.start)


def to_test_binding(view: str) -> Binding:
    """Return the key of a view. :param view: what the ids of its keys begin with"""
    tooltip = "Make a test: this must be given, or must never be"
    return Binding("T", "make_test", "Test", id=f"{view}.make_test", tooltip=tooltip)


def ask_for_test(screen: MemoryScreen, draft: CaseDraft | None) -> None:
    """Ask what must be given, or must never be, and where the test is kept."""
    if draft is None:
        screen.notify("Nothing was asked or given here.", timeout=4)
        return
    # What is expected stands first: the end of a long line is cut off.
    choices = [
        Choice(f"{key}{line}", f"{says} {to_printable(line)}", beside)
        for key, says, lines, beside in (
            (GIVEN, "must be given:", draft.left_out, "left out"),
            (GIVEN, "must be given:", draft.lines, ""),
            (NEVER, "must never be:", draft.lines, ""),
        )
        for line in lines
    ]
    title = f"new test · {to_printable(draft.name)}"
    screen.ask_then(
        Picker(
            title,
            choices,
            typing=not choices,
            new="must be given",
            empty="Type what must be given: D[db.id], or words.",
        ),
        partial(ask_file, screen, draft),
    )


def ask_file(screen: MemoryScreen, draft: CaseDraft, choice: str) -> None:
    try:
        case = to_case(draft, choice)
    except StoreError as error:
        screen.notify(f"{error.message}.", severity="error", timeout=8, markup=False)
        return
    path = find_case_file(screen.memory.path) or case_file_places(screen.memory.path)[0] / FILE_NAME
    lines = [Content(line) for line in to_printable_lines(format_case(case))]
    question = Question(
        "add the test", lines, type_in="file", start=str(path), check=partial(file_name_problem, is_new=False)
    )
    screen.ask_then(question, partial(append_to_file, screen, case))


def append_to_file(screen: MemoryScreen, case: MemoryCase, name: str) -> None:
    path = Path(name).expanduser()
    try:
        case = with_free_name(path, case)
        append_case(path, case)
    except (StoreError, OSError) as error:
        message = error.message if isinstance(error, StoreError) else f"cannot write {path}: {error.strerror or error}"
        screen.notify(message, severity="error", timeout=8, markup=False)
    else:
        screen.notify(f"Test {case.name!r} added to {path}. Run it: hermes-memory-tui test", timeout=6, markup=False)


def to_case(draft: CaseDraft, choice: str) -> MemoryCase:
    """Return the test that a draft and a choice make. :raises StoreError: the typed text is half a notation

    What must be given is expected by its target, whatever it says by then; what must never be, in these very words.
    """
    is_never = choice.startswith(NEVER)
    text = choice.removeprefix(NEW) if choice.startswith(NEW) else choice[len(NEVER) :]
    match = line_pattern().match(text)
    if match is not None and choice.startswith(GIVEN):
        text = f"{match[1]}[{match[2].strip()}]"
    expected = (parse_expectation(text),)
    required, never = ((), expected) if is_never else (expected, ())
    return MemoryCase(draft.name, draft.ask, draft.start, draft.theme, given=required, never=never)


def with_free_name(path: Path, case: MemoryCase) -> MemoryCase:
    """Return a test with a name that no test of the file has. :raises StoreError: the file has mistakes"""
    taken = {other.name for other in read_case_file(path).cases} if path.exists() else set()
    name, number = case.name, 1
    while name in taken:
        number += 1
        name = f"{case.name} ({number})"
    return replace(case, name=name)


def to_printable_lines(text: str) -> Sequence[str]:
    return [to_printable(line) for line in text.strip().splitlines()]
