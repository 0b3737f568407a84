"""The words of an act by which it touches facts: the path of what was read or written, the commands that ran, an error."""

from __future__ import annotations

import os
import re

from hermes_memory_store.hosts.command_words import split_commands

MOST_COMMAND, MOST_PATHS = 4_096, 4

READERS = frozenset({"cat", "head", "tail", "less", "more", "bat", "nl", "ls", "dir", "tree"})
"""Programs that say what stands in a file or a folder: the same as to read it."""

SCRIPTED_READERS = frozenset({"sed", "awk"})
"""The same, with what is to be done before the paths."""

SILENT = frozenset((
    "cd", "pwd", "echo", "printf", "date", "whoami", "hostname", "uname", "which", "type", "wc", "du", "df", "stat", "file",
    "find", "fd", "grep", "egrep", "rg", "ag", "cut", "sort", "uniq", "tr", "diff", "env", "export", "set", "true",
    "false", "sleep", "clear", "history", "ps", "top", "id", "test", "jobs", "wait", "exit",
))  # fmt: skip
"""Programs with which nothing is at stake, be what they name what it may."""

SILENT_GIT = frozenset((
    "status", "log", "diff", "show", "branch", "fetch", "blame", "remote", "rev-parse", "ls-files", "stash", "add", "describe",
    "reflog", "config",
))  # fmt: skip

USUAL_FOLDERS = frozenset((
    "src", "app", "lib", "pkg", "cmd", "test", "tests", "doc", "docs", "data", "config", "scripts", "bin", "build", "dist",
    "public", "static", "assets", "packages", "include", "vendor", "tools", "utils", "examples",
))  # fmt: skip

CHECK = re.compile(
    r"\b(?:tests?|pytest|jest|vitest|mocha|rspec|phpunit|ctest|ruff|mypy|pyright|tsc|clippy|vet|fmt|format|analyze|check|\w*lint)\b"
    r"|(?<!\S)(?:--version|--help|-h|-V)(?!\S)"
)
"""A command that only looks whether all is well."""

ERROR_LINE = re.compile(
    r"error|fail|fatal|denied|refused|not found|cannot|can't|unable|exception|forbidden|invalid|timed? ?out", re.I
)

MOST_ERROR_LINES = 6


def find_path_words(paths: str, folder: str) -> str:
    """Return the words of paths: each as a whole, with the folders that it lies in, and the name of each by itself."""
    words: list[str] = []
    for path in split_paths(paths, folder):
        *folders, name = path.split("/")
        words += [path, name, *("/".join(folders[:depth]) for depth in range(len(folders), 1, -1))]
        words += [*folders, name.partition(".")[0]]
    return " ".join(dict.fromkeys(words))


def find_folder_words(paths: str, folder: str) -> str:
    """Return the folders of paths by which a constraint on one of them is found, without those that any project has."""
    folders = [
        part for path in split_paths(paths, folder) for part in path.split("/")[:-1] if part not in USUAL_FOLDERS
    ]
    return " ".join(dict.fromkeys(f"{part}/" for part in folders))


def split_paths(paths: str, folder: str) -> list[str]:
    """Return paths below the folder that the host works in; what lies elsewhere is known by its last names."""
    normal = [os.path.normpath(path.strip()).replace("\\", "/") for path in paths.splitlines()[:MOST_PATHS]]
    below = [path.removeprefix(folder.rstrip("/") + "/") if folder else path for path in normal]
    return ["/".join(path.split("/")[-3:]) if path.startswith("/") else path for path in below]


def find_command_words(command: str, folder: str, *, failed: bool) -> str:
    """Return the words of the commands with which something is at stake; of what was read see `find_read_paths`."""
    words = []
    for simple in (part.words for part in split_commands(command[:MOST_COMMAND], folder) if part.words):
        program = simple[0].rpartition("/")[2]
        if program in READERS | SCRIPTED_READERS:
            words += [find_path_words(path, folder) for path in list_read_paths(simple) if failed]
        elif program not in SILENT and not (program == "git" and not SILENT_GIT.isdisjoint(simple[1:3])):
            words += [program, *(part for word in simple[1:] for part in word.split())]
        elif failed and program == "git":
            words += [program, *simple[1:]]
    return " ".join(dict.fromkeys(words))


def find_read_paths(command: str, folder: str) -> str:
    """Return the paths that the commands read, one a line, wherever they stand."""
    parts = (part for part in split_commands(command[:MOST_COMMAND], folder) if part.words)
    return "\n".join(os.path.join(part.folder, path) for part in parts for path in list_read_paths(part.words))


def list_read_paths(simple: list[str]) -> list[str]:
    """Return the paths that a simple command reads, as it names them; none of one that writes in place."""
    program = simple[0].rpartition("/")[2]
    paths = [word for word in simple[1:] if not word.startswith("-") and not word.isdecimal()]
    if program in SCRIPTED_READERS:
        return [] if any(word.startswith(("-i", "--in-place")) for word in simple[1:]) else paths[1:]
    return paths if program in READERS else []


def find_error_lines(text: str) -> str:
    """Return the lines of an output that say what went wrong; the last ones where none does."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Exit code")]
    return "\n".join([line for line in lines if ERROR_LINE.search(line)][:MOST_ERROR_LINES] or lines[-3:])


def is_check(command: str) -> bool:
    return CHECK.search(command) is not None
