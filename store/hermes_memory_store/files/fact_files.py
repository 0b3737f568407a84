"""Facts as files of a repository, `.memory/facts/<id>.txt`: one each, so that Git alone merges branches that change others.

    C[db.id]: UUID mndtry @docs/adr.md:12-20
    cites: {"digest":"…","lines":"docs/adr.md:12-20",…}
    id: 0199c3a2-…
    project: 4b825dc6…

The first line is for people; the keys below it are sorted and change with the fact alone. What others committed is read from
Git's objects: a working tree may hold anything, and nothing that a repository configures is run.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hermes_memory_store import errors, uids
from hermes_memory_store.files.export_import import format_single_line
from hermes_memory_store.intake.detector import Passage, TextKind, find_masked_spans, find_suspicion
from hermes_memory_store.intake.intake import find_name_faults, to_listed_name
from hermes_memory_store.intake.origins import TextOrigin
from hermes_memory_store.language.binding_words import is_binding
from hermes_memory_store.memory.scopes import validate_label
from hermes_memory_store.memory.second_look import SECRET_RULE
from hermes_memory_store.model import Fact, Notation, Uid
from hermes_memory_store.notation import memory_spec
from hermes_memory_store.places.citations import (
    GONE,
    format_citations,
    format_suffix,
    parse_citation,
    parse_citations,
    read_cited_file,
    split_suffix,
)
from hermes_memory_store.places.git_files import (
    Repository,
    find_default_branch,
    read_branch_tip,
    read_shallow_ends,
)
from hermes_memory_store.projects.borrowed_objects import BorrowedObjects, borrow_objects

FOLDER, ENDING = ".memory/facts", ".txt"

MOST_BYTES, MOST_FILES = 64 << 10, 20_000
"""Bytes of one file, and files of one tree, that are read."""

MOST_CHARS = 4_000
"""Characters of a content, as the laxest policy has it."""

READ_S = 20.0
"""How long Git may take to read all that is committed."""

KEYS = ("cites", "guards", "id", "project", "scope")

SEVERAL = ("cites", "guards")
"""Keys that may stand on several lines."""

LOG = "%x00%H%x00%ct%x00%an <%ae>%x00%cn <%ce>%x00%(trailers:key=Reviewed-by,valueonly,unfold,separator=%x2C%x20)%x00"

PROJECT = re.compile(rb"^project: ([0-9a-zA-Z]+)\r?$", re.MULTILINE)

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


PERMISSION = re.compile(
    r"\b(?:may|can|allowed?|allows|permit\w*|grant\w*|free to|fine to|skip|need not|no need)\b", re.IGNORECASE
)


class FileMistake(NamedTuple):
    """Why a file, or a line of it, is not read."""

    path: str
    line: int
    message: str


class FileChange(NamedTuple):
    """The commit that changed a file last."""

    commit: str
    at: int = 0
    """When it was committed, UTC milliseconds; 0 where that is not known."""
    people: str = ""
    """Author, committer and reviewers, for a person."""
    is_removal: bool = False


UNKNOWN_CHANGE = FileChange("")


@dataclass(frozen=True, slots=True)
class FactFile:
    path: str
    uid: Uid
    notation: Notation
    scope: str | None = None
    project: str | None = None
    """The first commit of the repository that it was written for."""
    cites: str | None = None
    guards: tuple[str, ...] = ()
    """Never taken over: a person alone sets guards."""
    change: FileChange = UNKNOWN_CHANGE
    branch: str | None = None
    """The branch that alone has it, or the default one."""


@dataclass(slots=True)
class CommittedFacts:
    """What a repository's default branch says, and what the branch that is checked out adds."""

    files: list[FactFile] = field(default_factory=list)
    mistakes: list[FileMistake] = field(default_factory=list)
    removed: dict[Uid, FileChange] = field(default_factory=dict)
    """Facts whose files neither branch has any more."""
    default: str | None = None
    """The name of the default branch."""


def to_fact_path(uid: str) -> str:
    return f"{FOLDER}/{uid}{ENDING}"


def format_fact_file(fact: Fact, project: str | None) -> str:
    """Return the file of a fact. :param project: the first commit of its repository"""
    citations = parse_citations(fact.cites)
    line = format_single_line(fact.type, fact.target, fact.content)
    cites = [
        json.dumps(citation.to_words(), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        for citation in citations
    ]
    rows = [("cites", cited) for cited in cites] + [("id", fact.uid), ("project", project), ("scope", fact.scope)]
    return "\n".join([line + format_suffix(line, citations), *(f"{key}: {value}" for key, value in rows if value), ""])


def parse_fact_file(path: str, content: bytes) -> tuple[FactFile | None, list[FileMistake]]:
    """Parse a file; None where it cannot be read as a fact. What is wrong is named with its line."""
    try:
        lines = content.decode("utf-8-sig").replace("\r\n", "\n").rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        return None, [FileMistake(path, content.count(b"\n", 0, error.start) + 1, "this is not UTF-8")]
    mistakes: list[FileMistake] = []
    rows: dict[str, list[str]] = {}
    for number, line in enumerate(lines[1:], 2):
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not line.strip():
            continue
        if not colon or key not in KEYS or (key in rows and key not in SEVERAL):
            what = f"{key!r} stands here twice" if key in rows else f"{errors.shorten_value(key)!r} is no key"
            mistakes.append(
                FileMistake(path, number, f"{what}; a line is one of {', '.join(KEYS)}, a colon and a value")
            )
        else:
            rows.setdefault(key, []).append(value)
    single = {key: values[0] for key, values in rows.items() if key not in SEVERAL}
    name, uid = path.rpartition("/")[2].removesuffix(ENDING), single.get("id", "")
    try:
        line, places = split_suffix(lines[0])
        notation = memory_spec.parse_notation(line, limit=MOST_CHARS)
        scope = validate_label(single["scope"]) if "scope" in single else None
    except errors.StoreError as error:
        return None, [FileMistake(path, 1, error.message), *mistakes]
    if uid != name or uid != to_whole_uid(uid):
        reason = f"the file is called {errors.shorten_value(name)!r} and its id is {errors.shorten_value(uid)!r}"
        return None, [FileMistake(path, 1, f"{reason}; both are the whole id of a fact"), *mistakes]
    cited = [parse_citation(parse_json(value)) for value in rows.get("cites", [])]
    if None in cited or [citation.label for citation in cited if citation and citation.kind == "lines"] != [*places]:
        mistakes.append(
            FileMistake(
                path, 1, "the places behind the line are not those of the lines `cites`; cite and export it again"
            )
        )
    cites = format_citations(citation for citation in cited if citation is not None)
    return FactFile(
        path, Uid(uid), notation, scope, single.get("project"), cites, tuple(rows.get("guards", []))
    ), mistakes


def find_waiting_reason(file: FactFile) -> str | None:
    """Return the rule for which what a file says waits, as the text of another person; None for an ordinary one."""
    notation = file.notation
    passage = Passage(TextKind.WRITE, notation.content, notation.target, origin=TextOrigin.HEARD)
    names = [find_name_faults(name) for name in (notation.target, file.scope or "")]
    if find_masked_spans(passage) or any(secret for secret, _ in names):
        return SECRET_RULE
    suspicion = find_suspicion(passage) or next((fault for _, fault in names if fault is not None), None)
    return None if suspicion is None else suspicion.rule


def is_asked_again(file: FactFile) -> bool:
    """Check whether a fact binds or permits, so that a yes to the others is none to it."""
    from hermes_memory_store.intake.detectors.orders import find_orders_and_claims  # here: who only exports needs none

    content = file.notation.content
    return bool(file.guards or is_binding(content) or PERMISSION.search(content) or find_orders_and_claims(content))


def to_whole_uid(text: str) -> str:
    try:
        return uids.format_uid(uids.parse_uid(text))
    except ValueError:
        return ""


def parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def parse_fact_files(
    contents: Mapping[str, bytes | str], foreign: Collection[str] = ()
) -> tuple[list[FactFile], list[FileMistake]]:
    """Parse the files of a tree.

    :param contents: by path; a text says why it cannot be read
    :param foreign: first commits of other repositories
    """
    files: list[FactFile] = []
    mistakes: list[FileMistake] = []
    for path, content in sorted(contents.items()):
        if isinstance(content, str):
            mistakes.append(FileMistake(path, 1, content))
            continue
        file, wrong = parse_fact_file(path, content)
        if file is not None and file.project in foreign:
            reason = f"the fact {file.uid} is of another project, with the first commit {file.project}"
            file, wrong = None, [FileMistake(path, 1, reason)]
        mistakes += wrong
        files += [file] if file is not None else []
    return files, mistakes


def read_working_files(root: str) -> dict[str, bytes | str]:
    """Read the files as they are in a working tree, never through a link."""
    folder = root
    for name in FOLDER.split("/"):
        folder = os.path.join(folder, name)
        try:
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                return {os.path.relpath(folder, root): "this is no folder; facts are files of a real folder"}
        except OSError:
            return {}
    names = sorted(entry.name for entry in os.scandir(folder) if entry.name != ".gitkeep")[:MOST_FILES]
    contents: dict[str, bytes | str] = {}
    for path in (f"{FOLDER}/{name}" for name in names):
        content, problem = read_cited_file(root, path)
        if content is None or len(content) > MOST_BYTES:
            contents[path] = f"it cannot be read: {problem or f'it is larger than {MOST_BYTES >> 10} KB'}"
            if problem == GONE:
                del contents[path]
        else:
            contents[path] = content if path.endswith(ENDING) else f"it is no fact; those are called <id>{ENDING}"
    return contents


def read_tree_files(git: BorrowedObjects, commit: str) -> dict[str, bytes | str]:
    """Read the files as a commit has them. :raises GitFailed: it cannot be read"""
    contents: dict[str, bytes | str] = {}
    paths: dict[str, str] = {}
    entries = git.run("ls-tree", "-z", "-l", commit, f"{FOLDER}/").decode("utf-8", "replace").split("\0")
    for entry in entries[:MOST_FILES]:
        words, _, path = entry.partition("\t")
        mode, kind, name, size = (*words.split(), "", "", "", "")[:4]
        if kind == "blob" and mode.startswith("100") and path.endswith(ENDING) and int(size) <= MOST_BYTES:
            paths[path] = name
        elif path and not path.endswith("/.gitkeep"):
            contents[path] = (
                f"it cannot be read: a fact is a file <id>{ENDING} of at most {MOST_BYTES >> 10} KB, and no link"
            )
    blobs = (
        git.run("cat-file", "--batch", stdin="".join(f"{name}\n" for name in paths.values()).encode()) if paths else b""
    )
    at = 0
    for path in paths:
        end = blobs.index(b"\n", at)
        length = int(blobs[at:end].split()[-1])
        contents[path] = blobs[end + 1 : end + 1 + length]
        at = end + length + 2
    return contents


def read_file_changes(git: BorrowedObjects, *commits: str) -> dict[str, FileChange]:
    """Return the last change of each file that has or had one, by path. :raises GitFailed: it took too long"""
    words = ("log", "--topo-order", "-c", "--no-renames", "--name-status", f"--format={LOG}", *commits, "--", FOLDER)
    parts = git.run(*words, seconds=READ_S).decode("utf-8", "replace").split("\0")[1:]
    changes: dict[str, FileChange] = {}
    for commit, at, author, committer, reviewers, names in zip(*(parts[start::6] for start in range(6)), strict=False):
        people = f"by {to_listed_name(author)}" + (
            f", committed by {to_listed_name(committer)}" if committer != author else ""
        )
        people += f", reviewed by {to_listed_name(reviewers)}" if reviewers else ""
        for line in names.split("\n"):
            states, _, path = line.partition("\t")
            if path:
                changes.setdefault(path, FileChange(commit, int(at) * 1000, people, states.endswith("D")))
    return changes


def find_foreign(git: BorrowedObjects, common: str, contents: Iterable[bytes | str]) -> set[str]:
    """Return the first commits that files name and that are not here; none where the history is cut off."""
    texts = (content for content in contents if isinstance(content, bytes))
    named = {match[1].decode() for text in texts for match in PROJECT.finditer(text)}
    commits = sorted(filter(COMMIT.fullmatch, named))
    if read_shallow_ends(common) or not named:
        return set()
    lines = git.run("cat-file", "--batch-check=%(objecttype)", stdin="".join(f"{name}\n" for name in commits).encode())
    return named - {name for name, line in zip(commits, lines.split(b"\n"), strict=False) if line == b"commit"}


def read_committed_facts(common: str, branch: str | None, commit: str) -> CommittedFacts:
    """Read what the default branch says, and what the branch that is checked out adds.

    :param common: the repository's common directory
    :param commit: the one that is checked out
    :raises GitFailed: Git gives no answer
    """
    repository = Repository(common, common, common)
    default = find_default_branch(repository)
    tip = (default and read_branch_tip(repository, default)) or commit
    committed = CommittedFacts(default=default)
    with borrow_objects(common, sha256=len(commit) == 64, deadline=time.monotonic() + READ_S) as git:
        shared, own = read_tree_files(git, tip), read_tree_files(git, commit)
        if not shared and not own and not git.run("rev-list", "-1", tip, commit, "--", FOLDER).strip():
            return committed
        foreign = find_foreign(git, common, [*shared.values(), *own.values()])
        changes = read_file_changes(git, tip)
        added = read_file_changes(git, commit, f"^{tip}") if commit != tip else {}
    # What a branch has from before it was made, and the default one removed since, is none of its own.
    own = {path: content for path, content in own.items() if path not in shared and path in added}
    for contents, history, place, end in ((shared, changes, default or branch, tip), (own, added, branch, commit)):
        files, mistakes = parse_fact_files(contents, foreign)
        committed.mistakes += mistakes
        committed.files += [
            replace(file, change=history.get(file.path, FileChange(end)), branch=place) for file in files
        ]
    for path, change in (changes | added).items():
        uid = to_whole_uid(path.rpartition("/")[2].removesuffix(ENDING))
        if change.is_removal and path == to_fact_path(uid) and path not in shared and path not in own:
            committed.removed[Uid(uid)] = change
    return committed
