"""What cleared an error of a command before: how the same command, in the same project, failed and then succeeded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import dropwhile
from typing import NamedTuple

from hermes_memory_store.database.db import Db
from hermes_memory_store.find.turn_sentences import format_day
from hermes_memory_store.intake.detector import Passage, TextKind, find_suspicion
from hermes_memory_store.items.action_rows import Action
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import Millis
from hermes_memory_store.notation.token_estimate import estimate_tokens
from hermes_memory_store.safe_text import to_printable

BEFORE = """
    SELECT uid, kind, what, folder, at, exit_code, duration_ms, error, session_id FROM actions
    WHERE theme_id = ? AND at < ? AND kind <> 'read' AND what IS NOT NULL ORDER BY at DESC, id DESC LIMIT 5000
"""
"""Weeks of work."""

MOST_CLEARING_TOKENS = 48
"""With its fence, what an occasion may cost."""

MOST_CLEARING_WHAT = 60
"""Characters of a command or a path, of which three stand in a line."""

MOST_BETWEEN = 3

AGREEING = 0.5
"""The share of words that two outputs have in common if they are of the same error."""

ERROR_LINES = 8
"""The last lines of an error, which tell most of it."""

SEPARATORS = re.compile(r"&&|\|\||[;|\n]")

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S*")

REDIRECTION = re.compile(r"\s+(?:\d?>>?|&>>?)\s*(?:&\d|\S+)")

FILTERS = frozenset({"tail", "head", "tee", "less", "cat"})
"""Programs behind a pipe that pass on what the command before it writes."""

LOOKS = re.compile(
    r"(?:cat|cd|date|df|du|echo|env|file|find|grep|head|hostname|id|jq|less|ls|printenv|ps|pwd|rg|sed|sleep|sort|stat|tail|test|tree"
    r"|true|type|wc|which)\s|git\s(?:blame|branch|diff|log|ls-files|remote|rev-parse|show|status)\s"
)
"""How commands begin that change nothing, or hardly ever."""


class Clearing(NamedTuple):
    """How a command that failed came to succeed."""

    at: Millis
    """When it succeeded."""
    between: tuple[Action, ...]
    """What was edited or run before that, newest first; empty where it was run again, and passed."""
    line: str


def find_clearing(
    db: Db, names: Names, theme: str, command: str, folder: str, at: int, *, error: str = ""
) -> Clearing | None:
    """Find how a command was made to succeed the last time that it failed and then succeeded in the same project.

    :param folder: of the project, or one in it
    :param at: when it failed, UTC milliseconds
    :param error: what it wrote; without any, what it wrote then does not count
    """
    wanted, theme_id = to_command_words(command), names.theme_or_none(theme)
    if not wanted or theme_id is None:
        return None
    later: list[tuple[Action, int]] = []
    """Newest first: the success that was met last, and what was before it."""
    for *row, session in db.rows(BEFORE, (theme_id, at)):
        action = Action(*row)
        if not is_same_place(action.folder or "", folder):
            continue
        is_same = action.kind == "run" and wanted[0] in action.what and to_command_words(action.what) == wanted
        if is_same and action.exit_code == 0:
            later = [(action, session)]
        elif is_same and later and action.has_failed:
            if is_same_error(action.error or "", error):
                success, *between = later
                own = [one for one, where in between if where in (session, success[1])]
                return to_clearing(success[0], own, Millis(at))
            later = []
        elif later and not is_same:
            later.append((action, session))
    return None


def to_clearing(success: Action, between: Iterable[Action], now: Millis) -> Clearing:
    """Choose what may have made a command succeed, and tell it. :param between: newest first"""
    words: dict[str, Action] = {}
    for action in between:
        name = to_printable(" ".join(action.what.split()))
        name = name if len(name) <= MOST_CLEARING_WHAT else f"{name[: MOST_CLEARING_WHAT - 1]}…"
        is_change = action.kind == "edit" or (action.exit_code in (0, None) and is_changing(action.what))
        if not action.has_failed and is_change and find_suspicion(Passage(TextKind.TURN, action.what)) is None:
            words.setdefault(f"edited {name}" if action.kind == "edit" else f'ran "{name}"', action)
    chosen = list(words)[:MOST_BETWEEN]
    while True:
        steps = "; ".join([*reversed(chosen), "then passed"]) if chosen else "running it again"
        line = f"cleared on {format_day(success.at, now)} by: {steps}"
        if not chosen or estimate_tokens(line) <= MOST_CLEARING_TOKENS:
            return Clearing(success.at, tuple(words[name] for name in chosen), line)
        chosen.pop()


@lru_cache(1 << 12)
def to_command_words(command: str) -> tuple[str, ...]:
    """Return the words of a command without what hardly makes it another.

    >>> to_command_words("cd /src && CI=1 .venv/bin/pytest  -q tests 2>&1 | tail -20")
    ('pytest', '-q', 'tests')
    """
    parts = [[*drop_assignments(REDIRECTION.sub(" ", f" {part}").split())] for part in SEPARATORS.split(command)]
    parts = [[words[0].rpartition("/")[2], *words[1:]] for words in parts if words and words[0] != "cd"]
    while len(parts) > 1 and parts[-1][0] in FILTERS:
        parts.pop()
    return tuple(word for words in parts for word in words)


def drop_assignments(words: list[str]) -> Iterator[str]:
    return dropwhile(ASSIGNMENT.fullmatch, words)


def is_changing(command: str) -> bool:
    """Check whether any part of a command may change something."""
    parts = [" ".join([*drop_assignments(part.split()), ""]) for part in SEPARATORS.split(command)]
    return any(
        part and (not LOOKS.match(part) or ">" in part or part.startswith("sed -i")) for part in parts if part != " "
    )


def is_same_place(one: str, other: str) -> bool:
    """Check whether two folders are the same, or one is in the other."""
    above, below = sorted((one.rstrip("/"), other.rstrip("/")), key=len)
    return bool(above) and f"{below}/".startswith(f"{above}/")


def is_same_error(one: str, other: str) -> bool:
    """Check whether two outputs tell of the same error, whatever its numbers and times; one of them may be unknown."""
    words = [
        {
            word
            for line in text.strip().splitlines()[-ERROR_LINES:]
            for word in re.findall(r"[^\W\d_]{3,}", line.casefold())
        }
        for text in (one, other)
    ]
    return not all(words) or len(words[0] & words[1]) >= AGREEING * len(words[0] | words[1])
