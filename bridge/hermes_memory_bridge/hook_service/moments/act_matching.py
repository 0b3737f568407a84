"""The facts that an act of an agent touches: by the measure of prompts, with the words of the act and rules of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hermes_memory_bridge.hook_program.hook_event import HookEvent
from hermes_memory_bridge.hook_service.moments.act_words import (
    find_command_words,
    find_error_lines,
    find_folder_words,
    find_path_words,
    find_read_paths,
    is_check,
    split_paths,
)
from hermes_memory_bridge.hook_service.prompt_matching import find_readable_facts
from hermes_memory_bridge.tools.context_tools import to_plain_words
from hermes_memory_store.conversations.fact_uses import find_added_lines
from hermes_memory_store.fact_types import FactType
from hermes_memory_store.find.fact_comparison import find_other_value
from hermes_memory_store.find.touched_facts import CLAUSE_ENDS, select_theme_lines
from hermes_memory_store.language.binding_words import is_rejecting
from hermes_memory_store.model import Fact
from hermes_memory_store.store import Store

BINDING = frozenset({FactType.CONSTRAINT, FactType.DECISION, FactType.VALUE, FactType.OBSOLETE})
CONSTRAINTS = frozenset({FactType.CONSTRAINT})
"""What a folder may touch, and a check that passed: it is no news what it runs with."""

AFTER_FAILURE = BINDING | {FactType.UNKNOWN}

MOST_READ = 1 << 16
"""Characters at the beginning of what was written or returned that are looked at."""

MOST_LINES = 3
"""Lines of a text that are measured, each by itself: what contradicts a fact stands in one."""


def find_act_facts(store: Store, theme: str, event: HookEvent) -> list[Fact]:
    """Return the facts that an act touches, the best first; none where nothing is at stake."""
    if event.act == "edit":
        return find_contradicted(store, theme, event)
    if event.act == "read":
        return find_path_facts(store, theme, event.subject, event.folder)
    if event.act != "run":
        return []
    words = find_command_words(event.subject, event.folder, failed=event.failed)
    if event.failed:
        lines = select_lines(store, theme, find_error_lines(event.error[:MOST_READ]))
        return find_touched(store, theme, [f"{words} {line}" for line in lines or [""]], AFTER_FAILURE)
    facts = find_touched(store, theme, [words], CONSTRAINTS if is_check(event.subject) else BINDING)
    read = find_path_facts(store, theme, find_read_paths(event.subject, event.folder), event.folder)
    return [*dict.fromkeys([*facts, *read])]


def find_path_facts(store: Store, theme: str, paths: str, folder: str) -> list[Fact]:
    """Return the facts that what was read touches: by its path, and the constraints on a folder in it."""
    facts = find_touched(store, theme, [find_path_words(paths, folder)], BINDING)
    return [*dict.fromkeys([*facts, *find_touched(store, theme, [find_folder_words(paths, folder)], CONSTRAINTS)])]


def find_contradicted(store: Store, theme: str, event: HookEvent) -> list[Fact]:
    """Return the facts that what was written contradicts: it has what they reject, or another number than they have."""
    text, paths = (
        "\n".join(find_added_lines(event.call[:MOST_READ], MOST_READ)),
        split_paths(event.subject, event.folder),
    )
    names = " ".join(f"{path} {path.rpartition('/')[2]}" for path in paths)
    lines = [f"{names} {line}" for line in select_lines(store, theme, text) or [""]]
    facts = find_touched(store, theme, lines, BINDING, to_rejections)
    others = [
        fact
        for fact in find_touched(store, theme, lines, BINDING)
        if any(find_other_value(fact, line) for line in text.splitlines())
    ]
    return [*facts, *(fact for fact in others if fact not in facts)]


def find_touched(
    store: Store,
    theme: str,
    texts: Iterable[str],
    types: frozenset[FactType],
    to_part: Callable[[str], str] | None = None,
) -> list[Fact]:
    """Return the facts of these types that one of several texts touches, those that fit best first."""
    matches = [
        match
        for text in texts
        for match in find_readable_facts(store, theme, to_plain_words(text), to_part)
        if match.fact.type in types
    ]
    matches.sort(key=lambda match: -match.fit)
    return [*{match.fact.uid: match.fact for match in matches}.values()]


def select_lines(store: Store, theme: str, text: str) -> list[str]:
    themes = [source.name for source in store.place_themes.readable(theme)]
    return select_theme_lines(store.db, store.names, themes, text, limit=MOST_LINES)


def to_rejections(content: str) -> str:
    """Return the clauses of a fact that name what must not be."""
    return ", ".join(clause for clause in CLAUSE_ENDS.split(content) if is_rejecting(clause))
