"""Guards: patterns of commands and of files at which a person wants to be asked, with a fact as the reason.

The store keeps them with their facts (`upkeep/fact_guards.py`). `<store>.guards.json` beside it is a copy for the hook before a
tool, which asks the store only where a pattern fits. Standard library alone: that hook runs before each call.
"""

from __future__ import annotations

import itertools
import os
import re
from fnmatch import fnmatchcase

from hermes_memory_store.compact_json import parse_whole_object
from hermes_memory_store.hosts.command_words import SimpleCommand, load_forms, split_commands
from hermes_memory_store.places.git_files import find_repository
from hermes_memory_store.system.file_handles import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

KINDS = ("run", "edit")
"""What a guard is about, in the words of a hook's `act`."""

ANSWERS = ("ask", "deny")

MOST_PATTERN = 200

MOST_FILE = 1 << 20
"""Bytes of the copy; a larger file is none of ours."""

CLUSTER = re.compile(r"-[A-Za-z]+\*?")
"""Options of one letter, written together."""

STANDING_GUARD = """
    SELECT f.type, f.target, f.content, f.guards, t.name FROM facts f JOIN themes t ON t.id = f.theme_id
    WHERE f.uid = ? AND f.tier IN ('hot', 'cold', 'archived') AND f.guards IS NOT NULL
"""


class Guard:
    __slots__ = ("answer", "kind", "pattern", "uid")

    def __init__(self, uid: str, kind: str, pattern: str, answer: str) -> None:
        self.uid = uid
        """Of its fact."""
        self.kind = kind
        self.pattern = pattern
        self.answer = answer

    @property
    def line(self) -> str:
        """As it stands with its fact, a line a guard."""
        return f"{self.answer} {self.kind} {self.pattern}"


def parse_guards(uid: str, lines: str | None) -> list[Guard]:
    """Parse what stands with a fact; a line of another form is none."""
    guards = []
    for line in (lines or "").split("\n"):
        answer, _, rest = line.partition(" ")
        kind, _, pattern = rest.partition(" ")
        if answer in ANSWERS and kind in KINDS and pattern:
            guards.append(Guard(uid, kind, pattern, answer))
    return guards


def find_pattern_kind(pattern: str) -> str:
    """Return what a pattern is about where its person does not say so.

    Files where it has no space, but a slash or an ending, unless it names a script with what may stand behind it.
    """
    is_path = not re.search(r"\s|^\./|\.(?:ba|z)?sh\*$", pattern)
    return "edit" if is_path and ("/" in pattern or re.search(r"(^|[^.])\.[\w*]", pattern)) else "run"


def find_fitting(guards: Sequence[Guard], act: str, subject: str, folder: str, place: str = "") -> list[Guard]:
    """Return the guards that a call touches.

    :param act: `run` or `edit`
    :param subject: the command, or the files, one a line
    :param folder: where the host works
    :param place: where the command runs, if elsewhere
    """
    commands: list[SimpleCommand] = []
    paths: list[tuple[str, str]] = []
    if act == "run":
        commands = [*split_commands(subject, os.path.join(folder, place))]
        if any(guard.kind == "edit" for guard in guards):
            paths = [(command.folder, path) for command in commands for path in list_written(command)]
    elif act == "edit":
        paths = [(folder, path) for path in subject.split("\n") if path]
    names = {name for path in paths for name in list_names(folder, *path)}
    return [
        guard
        for guard in guards
        if (guard.kind == "run" and any(fits_command(guard.pattern, command.words) for command in commands))
        or (guard.kind == "edit" and any(fits_path(guard.pattern, *name) for name in names))
    ]


def fits_command(pattern: str, words: Sequence[str]) -> bool:
    """Check whether a pattern fits the words of a simple command, from its first one on.

    Options may stand anywhere: those of the pattern are looked for among all, the other words in their order without any.
    """
    parts = pattern.split()
    if not parts or not words:
        return False
    depth = 1 if parts[0].startswith("/") else os.path.normpath(parts[0]).count("/") + 1
    head = "/".join(os.path.normpath(words[0]).split("/")[-depth:]).removesuffix(".exe")
    parts[0] = os.path.basename(parts[0]) if parts[0].startswith("/") else os.path.normpath(parts[0])
    if begins_with(parts, " ".join([head, *words[1:]])):
        return True
    switches = [part for part in parts if part.startswith("-")]
    operands = [part for part in parts if not part.startswith("-")]
    options, variants = split_options(os.path.basename(head), words[1:])
    return all(has_option(part, options) for part in switches) and any(
        begins_with(operands, " ".join([head, *variant])) for variant in variants
    )


def begins_with(parts: Sequence[str], text: str) -> bool:
    """Check whether a text is what a pattern says, with other words behind it or not. A star stands for any words."""
    pattern = " ".join(parts)
    if not text.startswith(re.split(r"[*?[]", pattern, maxsplit=1)[0].rstrip()):
        return False  # before the pattern is compiled: most commands are others
    endings = [pattern, f"{pattern} *", *([pattern[:-2]] if pattern.endswith(" *") else [])]
    return any(fnmatchcase(text, ending) for ending in endings)


def split_options(program: str, words: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Return the options of a command, and its other words: without the values of options, as far as is known of the program."""
    values = load_forms()["values"].get(program)
    end = words.index("--") if "--" in words else len(words)
    pairs = [*zip(["", *words[:end]], words[:end], strict=False)]
    others = [(before, word) for before, word in pairs if word[:1] not in ("-", "+") or word == "-"]

    def takes_value(option: str) -> bool:
        return option.startswith("-") and "=" not in option and (values is None or option in values.split())

    without_values = [word for before, word in others if not takes_value(before)]
    variants = [without_values] if values is not None else [without_values, [word for _, word in others]]
    options = [word for _, word in pairs if word[:1] in ("-", "+")]
    return options, [[*variant, *words[end + 1 :]] for variant in variants]


def has_option(part: str, options: Sequence[str]) -> bool:
    if any(fnmatchcase(text, part) for option in options for text in (option, option.partition("=")[0])):
        return True
    letters = {letter for option in options if CLUSTER.fullmatch(option) for letter in option[1:]}
    return CLUSTER.fullmatch(part) is not None and letters.issuperset(part[1:].rstrip("*"))


def list_written(command: SimpleCommand) -> Iterator[str]:
    """Yield the files that a command writes: by a redirection, or as what it is known to change."""
    yield from command.writes
    words = command.words
    values, is_last, needed = load_forms()["writers"].get(os.path.basename(words[0]) if words else "", ("", True, "no"))
    if not needed or any(word.startswith(tuple(needed.split())) for word in words[1:] if word[:1] == "-"):
        pairs = itertools.pairwise(words)
        operands = [word for before, word in pairs if word[:1] != "-" and before not in values.split()]
        yield from operands[-1:] if is_last else operands


def list_names(root_folder: str, folder: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield the names by which a pattern may mean a file: absolute, and within the project; as written, and behind links."""
    written = os.path.normpath(os.path.join(root_folder, folder, os.path.expanduser(path)))
    for whole, place in (
        (written, os.path.abspath(root_folder)),
        (os.path.realpath(written), os.path.realpath(root_folder)),
    ):
        repository = find_repository(place)
        top = (place if repository is None else repository.root).rstrip("/") + "/"
        yield whole, whole.removeprefix(top) if whole.startswith(top) else ""


def fits_path(pattern: str, whole: str, inside: str) -> bool:
    """Check whether a pattern fits a file, or a folder that it is in, by the rules of `.gitignore`.

    A pattern with a slash begins at the project's folder, or is absolute; another one is the name of a file anywhere in it.

    :param inside: its path within the project; empty for a file elsewhere
    """
    pattern = os.path.expanduser(pattern).removeprefix("./").rstrip("/") or "/"
    if not pattern.startswith("/") and "/" not in pattern:
        return any(fnmatchcase(part, pattern) for part in inside.split("/") if part)
    name = whole if pattern.startswith("/") else inside
    between = r"(?:[^/]+/)*"
    parts = [between if part == "**" else translate_part(part) + "/" for part in pattern.lstrip("/").split("/")]
    expression = "".join(parts).removesuffix("/")
    if pattern.endswith("/**"):
        expression = expression.removesuffix(between) + ".+"
    return bool(name) and re.match(f"{expression}(?:/|$)", name.lstrip("/"), re.DOTALL) is not None


def translate_part(part: str) -> str:
    """Return the expression of one part of a path, in which a star stands for anything but a slash."""
    return "".join(
        "[^/]*" if piece == "*" else "[^/]" if piece == "?" else re.escape(piece) for piece in re.split(r"([*?])", part)
    )


def to_guards_path(store_path: str | os.PathLike[str]) -> str:
    return os.path.realpath(os.path.expanduser(store_path)) + ".guards.json"


def read_guards_file(store_path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the guards that the copy beside a store holds, by the uids of their facts; of a purged fact it holds none.

    A copy that is missing or damaged is empty.
    """
    try:
        with open(open_regular(to_guards_path(store_path)), "rb") as file:
            document = parse_whole_object(file.read(MOST_FILE).decode("utf-8", "replace")) or {}
    except (OSError, ValueError):
        return {}
    facts = document.get("guards")
    return {uid: lines for uid, lines in facts.items() if isinstance(lines, str)} if isinstance(facts, dict) else {}


def load_guards(store_path: str | os.PathLike[str]) -> list[Guard]:
    return [guard for uid, lines in read_guards_file(store_path).items() for guard in parse_guards(uid, lines)]


def find_asking(store_path: str, guards: Sequence[Guard], folder: str, theme: str = "") -> list[tuple[Guard, str]]:
    """Return the guards among these whose facts stand and are about this place, each with its fact's notation.

    A store that cannot be read now says nothing of them: they hold then, without their facts.

    :param folder: where the host works
    :param theme: the theme that the hook's command names
    """
    from hermes_memory_store.database.store_reading import read_store
    from hermes_memory_store.places.place_reading import PROJECT_OF_THEME, find_folder_place

    def read(conn: Any) -> list[tuple[Guard, str]]:
        def ask(sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
            rows: list[tuple[Any, ...]] = conn.execute(sql, values).fetchall()
            return rows

        asking = []
        for guard in guards:
            for kind, target, content, lines, own in ask(STANDING_GUARD, (bytes.fromhex(guard.uid.replace("-", "")),)):
                projects = [key for (key,) in ask(PROJECT_OF_THEME, (own,))]
                is_here = not projects or own == theme or find_folder_place(ask, folder).project in projects
                if guard.line in lines.split("\n") and is_here:
                    asking.append((guard, f"{kind}[{target}]: {content}"))
        return asking

    standing = read_store(os.path.realpath(os.path.expanduser(store_path)), read)
    return [(guard, "") for guard in guards] if standing is None else standing
