"""Hooks in a host's JSON file: ours are appended to the lists of its events and taken out again, everything else stays.

Each edit is a splice, and proven by parsing the result again: equal but for our own hooks, else refused.
"""

from __future__ import annotations

import json
import ntpath
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect.host_config_files import HostFileError
from hermes_memory_bridge.connect.host_hooks import ISOLATED, PROGRAM
from hermes_memory_bridge.connect.hosts import without_marks
from hermes_memory_bridge.connect.jsonc_edit import (
    append_jsonc_element,
    find_jsonc_chain,
    find_jsonc_tree,
    remove_jsonc_member,
    set_jsonc_member,
)

Hook = tuple[str, dict[str, Any]]
"""The host's event, and the element of its list."""


LONG_VALUE = 2_000
"""Characters from which a value is folded while its file is edited."""


@dataclass(frozen=True, slots=True)
class OwnHook:
    event: str
    """The host's name of the event."""
    group: int
    """Index of the element in the event's list."""
    index: int | None
    """Index within its group; None where handlers stand in the list themselves."""
    handler: dict[str, Any]

    @property
    def words(self) -> list[str]:
        return split_hook_command(self.handler)


def to_hooked_config(file: Path, text: str, hooks: Sequence[Hook], *, version: int | None = None) -> str:
    """Return the text of a file with exactly these hooks of ours; without any to take them out.

    :param version: what a file that holds nothing but hooks of ours says as its `version`
    :raises HostFileError: the file cannot be changed safely
    """
    bare, put_back = without_marks(text)
    try:
        bare, folded = fold_long_values(bare)
        before = read_hook_document(bare)
        if has_hooks(before, hooks):
            return text
        after = remove_own_hooks(bare)
        rest = to_foreign_part(before)
        if version is not None and rest in ({}, {"version": version}):
            rest = {}
            after = remove_jsonc_member(after, ("version",))
            if hooks:
                rest, after = {"version": version}, set_jsonc_member(after, ("version",), version)
        for event, element in hooks:
            after = append_jsonc_element(after, ("hooks", event), element)
        read = read_hook_document(after)
        if to_foreign_part(read) != rest or not has_hooks(read, hooks):
            raise ValueError("the change would not read back as it was meant; two members may have one name")
    except ValueError as error:
        raise HostFileError(f"{file} was left alone: {error}", file) from error
    for mark, value in folded.items():
        after = after.replace(mark, value)
    return put_back(after)


def fold_long_values(text: str) -> tuple[str, dict[str, str]]:
    """Put a mark in the place of each long value that is no hook's, so that editing a large file reads it once.

    :return: the shorter text, and what each mark stands for
    :raises JsoncSyntaxError: the text is no JSON
    """
    folded: dict[str, str] = {}
    root = find_jsonc_tree(text)
    for number, member in enumerate(reversed(root.items if isinstance(root.value, dict) else [])):
        start, end = member.node.start, member.node.end
        if member.key != "hooks" and end - start > LONG_VALUE:
            mark = json.dumps(f"\x1afolded {number}\x1a")  # no file holds it: a control character stands escaped
            folded[mark] = text[start:end]
            text = text[:start] + mark + text[end:]
    if any(text.count(mark) != 1 or mark in value for mark in folded for value in folded.values()):
        raise ValueError("it holds our own marks; take them out")
    return text, folded


def read_hook_document(text: str) -> dict[str, Any]:
    """Read a text as settings with lists of hooks. :raises ValueError: it is something else"""
    root = find_jsonc_tree(text)
    if root.start == len(text):
        return {}  # blank, or comments alone
    document = root.value
    if not isinstance(document, dict):
        raise ValueError(f"it holds {document!r:.60}, not named settings")
    events = document.get("hooks")
    if events is not None and not isinstance(events, dict):
        raise ValueError(f"its hooks are {events!r:.60}, not lists by event; remove them, or give them the host's form")
    for name, elements in (events or {}).items():
        if not isinstance(elements, list):
            raise ValueError(f"its hooks.{name} is {elements!r:.60}, no list; remove it, or give it the host's form")
    return document


def list_own_hooks(document: dict[str, Any]) -> list[OwnHook]:
    """Return our handlers of a document, in its order. Ours is what runs a `hermes-memory-hook`, wherever that stands."""
    own: list[OwnHook] = []
    for event, elements in (document.get("hooks") or {}).items():
        for group, element in enumerate(elements if isinstance(elements, list) else []):
            if not isinstance(element, dict):
                continue
            if is_own_handler(element):
                own.append(OwnHook(event, group, None, element))
            inner = element.get("hooks")
            for index, handler in enumerate(inner if isinstance(inner, list) else []):
                if is_own_handler(handler):
                    own.append(OwnHook(event, group, index, handler))
    return own


def is_own_handler(handler: object) -> bool:
    """Check whether a handler runs our program, of this or of another installation."""
    words = split_hook_command(handler) if isinstance(handler, dict) else []
    return bool(words) and ntpath.basename(words[0]).removesuffix(".exe") == PROGRAM


def split_hook_command(handler: dict[str, Any]) -> list[str]:
    """Return the command of a handler, word by word, without the interpreter of an isolated one; nothing where there is none."""
    command = next((handler[key] for key in ("command", "bash", "powershell") if isinstance(handler.get(key), str)), "")
    args = handler.get("args")
    if isinstance(args, list):
        words = [command, *map(str, args)]
    else:
        try:
            words = [word.strip('"') for word in shlex.split(command, posix="\\" not in command)]
        except ValueError:
            words = command.split()
    return words[2:] if words[1:2] == [ISOLATED] else words


def has_hooks(document: dict[str, Any], hooks: Sequence[Hook]) -> bool:
    """Check whether our handlers of a document are exactly these, whoever moved them into another group of their event."""
    present = [(own.event, own.handler) for own in list_own_hooks(document)]
    handlers = [(event, handler) for event, element in hooks for handler in element.get("hooks", [element])]
    return len(present) == len(handlers) and all(handler_pair in present for handler_pair in handlers)


def remove_own_hooks(text: str) -> str:
    """Take our handlers out with what each leaves empty, the last one first: each removal finds the text it was appended to."""
    while own_hooks := list_own_hooks(read_hook_document(text)):
        own = own_hooks[-1]
        path: list[str | int] = ["hooks", own.event, own.group]
        chain = find_jsonc_chain(find_jsonc_tree(text), path)
        if len(chain) < len(path):
            raise ValueError("two of its members have one name; keep one of them")
        if own.index is not None and len(chain[-1][1].node.value["hooks"]) > 1:
            text = remove_jsonc_member(text, [*path, "hooks", own.index])
        else:
            text = remove_listed_element(text, ("hooks", own.event), own.group)
    return text


def remove_listed_element(text: str, path: Sequence[str], index: int) -> str:
    """Remove an element of a list, with the lists and objects that it leaves empty unless they were there before it."""
    chain = find_jsonc_chain(find_jsonc_tree(text), [*path, index])
    after = remove_jsonc_member(text, [*path, index])
    try:
        if append_jsonc_element(after, path, chain[-1][1].node.value) == text:
            return after
    except ValueError:
        pass  # the list stands in another form than one that is appended to
    for length in range(len(path), 0, -1):
        chain = find_jsonc_chain(find_jsonc_tree(after), path[:length])
        if len(chain) == length:
            node = chain[-1][1].node
            if node.items or after[node.start + 1 : node.end - 1].strip():
                break  # a comment stands there
            after = remove_jsonc_member(after, path[:length])
    return after


def to_foreign_part(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without our handlers and without lists and groups that hold nothing else."""
    events = {event: list(iterate_foreign(elements)) for event, elements in (document.get("hooks") or {}).items()}
    foreign = {event: elements for event, elements in events.items() if elements}
    rest = {key: value for key, value in document.items() if key != "hooks"}
    return rest | ({"hooks": foreign} if foreign else {})


def iterate_foreign(elements: list[Any]) -> Iterator[Any]:
    for element in elements:
        inner = element.get("hooks") if isinstance(element, dict) else None
        if is_own_handler(element):
            continue
        if not isinstance(inner, list) or not any(is_own_handler(handler) for handler in inner):
            yield element
        elif foreign := [handler for handler in inner if not is_own_handler(handler)]:
            yield {**element, "hooks": foreign}
