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
from hermes_memory_store.intake.spans import replace_text_spans, to_secret_placeholder
from hermes_memory_store.language.binding_words import is_binding
from hermes_memory_store.memory.scopes import validate_label
from hermes_memory_store.memory.second_look import SECRET_RULE
from hermes_memory_store.model import Fact, Notation, Uid, format_notation
from hermes_memory_store.notation import memory_spec
from hermes_memory_store.places.citations import (
    Citation,
    format_citations,
    format_suffix,
    parse_citations,
    read_cited_file,
    split_suffix,
)
from hermes_memory_store.places.git_files import Repository, find_default_branch, read_branch_tip, read_shallow_ends
from hermes_memory_store.projects.borrowed_objects import BorrowedObjects, borrow_objects

FOLDER, ENDING = ".memory/facts", ".txt"

MOST_BYTES, MOST_FILES, MOST_CHARS = 64 << 10, 20_000, 4_000
"""Bytes of a file and files of a tree that are read, and characters of a content as the laxest policy has it."""

READ_S = 20.0
"""How long Git may take to read all that is committed."""

KEYS, SEVERAL = ("cites", "guards", "id", "project", "scope"), ("cites", "guards")
"""What a line may begin with, and what several lines may."""

SHARED = ("lines", "commit", "url")
"""Kinds of citations that are written and read: a message is of one memory, and a command could be anybody's."""

LOG = "%x00%H%x00%ct%x00%an <%ae>%x00%cn <%ce>%x00%(trailers:key=Reviewed-by,valueonly,unfold,separator=%x2C%x20)%x00"

PROJECT = re.compile(rb"^project: ([0-9a-zA-Z]+)\r?$", re.MULTILINE)

PERMISSION = re.compile(
    r"\b(?:may|can|allow\w*|permit\w*|grant\w*|(?:free|fine) to|skip|need not|no need)\b", re.IGNORECASE
)


class FileMistake(NamedTuple):
    """Why a file, or a line of it, is not read."""

    path: str
    line: int
    message: str


class CommittedChange(NamedTuple):
    """The commit that changed a file last."""

    commit: str = ""
    at: int = 0
    """When it was committed, UTC milliseconds; 0 where that is not known."""
    people: str = ""
    """Author, committer and reviewers, for a person."""
    is_removal: bool = False


@dataclass(frozen=True, slots=True)
class FactFile:
    path: str
    uid: Uid
    notation: Notation
    scope: str | None
    project: str | None
    """The first commit of the repository that it was written for."""
    cites: str | None
    guards: tuple[str, ...]
    """Never taken over: a person alone sets guards."""
    change: CommittedChange = CommittedChange()  # noqa: RUF009 - it never changes
    branch: str | None = None
    """The branch that alone has it, or the default one."""

    @property
    def label(self) -> str:
        """The fact as it may be shown: without its secrets."""
        spans = find_masked_spans(Passage(TextKind.FACT, self.notation.content, self.notation.target))
        content = replace_text_spans(self.notation.content, ((span, to_secret_placeholder()) for span in spans))
        return format_notation(self.notation.type, self.notation.target, content)


@dataclass(slots=True)
class CommittedFacts:
    """What a repository's default branch says, and what the branch that is checked out adds."""

    default: str | None
    files: list[FactFile] = field(default_factory=list)
    mistakes: list[FileMistake] = field(default_factory=list)
    removed: dict[Uid, CommittedChange] = field(default_factory=dict)
    """Facts whose files neither branch has any more."""


def to_fact_path(uid: str) -> str:
    return f"{FOLDER}/{uid}{ENDING}"


def list_shared(cites: str | None) -> list[Citation]:
    return [citation for citation in parse_citations(cites) if citation.kind in SHARED]


def format_fact_file(fact: Fact, project: str | None) -> str:
    """Return the file of a fact. :param project: the first commit of its repository"""
    line, citations = format_single_line(fact.type, fact.target, fact.content), list_shared(fact.cites)
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
    rows = [("cites", encode(citation.to_words())) for citation in citations]
    rows += [("id", fact.uid), ("project", project or ""), ("scope", fact.scope or "")]
    return "\n".join([line + format_suffix(line, citations), *(f"{key}: {value}" for key, value in rows if value), ""])


def parse_fact_file(path: str, content: bytes) -> tuple[FactFile | None, list[FileMistake]]:
    """Parse a file; None where it cannot be read as a fact. What is wrong is named with its line."""
    try:
        lines = content.decode("utf-8-sig").rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        return None, [FileMistake(path, content.count(b"\n", 0, error.start) + 1, "this is not UTF-8")]
    mistakes: list[FileMistake] = []
    rows: dict[str, list[str]] = {}
    for number, line in enumerate(lines[1:], 2):
        key, colon, value = (part.strip() for part in line.partition(":"))
        if colon and key in KEYS and (key not in rows or key in SEVERAL):
            rows.setdefault(key, []).append(value)
        elif line.strip():
            what = (
                "stands here twice"
                if key in rows
                else f"is no key; a line is one of {', '.join(KEYS)}, a colon and a value"
            )
            mistakes.append(FileMistake(path, number, f"{errors.shorten_value(key)!r} {what}"))
    single = {key: values[0] for key, values in rows.items()}
    name, uid = path.rpartition("/")[2].removesuffix(ENDING), single.get("id", "")
    try:
        line, places = split_suffix(lines[0])
        notation = memory_spec.parse_notation(line, limit=MOST_CHARS)
        scope = validate_label(single["scope"]) if "scope" in single else None
    except errors.StoreError as error:
        is_secret = find_masked_spans(Passage(TextKind.FACT, lines[0]))
        return None, [
            FileMistake(path, 1, "it holds a secret, and is no fact" if is_secret else error.message),
            *mistakes,
        ]
    if uid != name or uid != to_whole_uid(uid):
        reason = f"the file is called {errors.shorten_value(name)!r} and its id is {errors.shorten_value(uid)!r}"
        return None, [FileMistake(path, 1, f"{reason}; both are the whole id of a fact"), *mistakes]
    cited = [citation for value in rows.get("cites", ()) for citation in list_shared(f"[{value}]")]
    labels = tuple(citation.label for citation in cited if citation.kind == "lines")
    if labels != places or len(cited) != len(rows.get("cites", ())):
        reason = f"the line cites {', '.join(places) or 'nothing'}, the lines `cites` {', '.join(labels) or 'nothing'} that is"
        mistakes.append(FileMistake(path, 1, f"{reason} taken over; export the fact again"))
    guards, project = tuple(rows.get("guards", ())), single.get("project")
    return FactFile(path, Uid(uid), notation, scope, project, format_citations(cited), guards), mistakes


def to_whole_uid(text: str) -> str:
    try:
        return uids.format_uid(uids.parse_uid(text))
    except ValueError:
        return ""


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


def parse_fact_files(
    contents: Mapping[str, bytes | str], foreign: Collection[str]
) -> tuple[list[FactFile], list[FileMistake]]:
    """Parse the files of a tree.

    :param contents: by path; a text says why it cannot be read
    :param foreign: first commits of other repositories
    """
    files: list[FactFile] = []
    mistakes: list[FileMistake] = []
    for path, content in sorted(contents.items()):
        file, wrong = (None, []) if isinstance(content, str) else parse_fact_file(path, content)
        reason = content if isinstance(content, str) else ""
        if file is not None and file.project in foreign:
            reason = f"the fact {file.uid} is of another project, with the first commit {file.project}"
        mistakes += [FileMistake(path, 1, reason)] if reason else wrong
        files += [] if reason or file is None else [file]
    return files, mistakes


def read_working_files(root: str) -> dict[str, bytes | str]:
    """Read the files as they are in a working tree, never through a link."""
    folder = root
    for name in FOLDER.split("/"):
        folder = os.path.join(folder, name)
        if not os.path.lexists(folder):
            return {}
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            return {os.path.relpath(folder, root): "this is no folder; facts are files of a real folder"}
    contents: dict[str, bytes | str] = {}
    for path in sorted(f"{FOLDER}/{entry.name}" for entry in os.scandir(folder))[:MOST_FILES]:
        content, problem = read_cited_file(root, path)
        if content is None or len(content) > MOST_BYTES or not path.endswith(ENDING):
            contents[path] = f"it cannot be read: {problem}" if problem else NO_FACT
        else:
            contents[path] = content.replace(b"\r\n", b"\n")
    return contents


NO_FACT = f"it is none of a fact, which is called <id>{ENDING}, has at most {MOST_BYTES >> 10} KB, and is no link"


def read_tree_files(git: BorrowedObjects, commit: str) -> dict[str, bytes | str]:
    """Read the files as a commit has them. :raises GitFailed: it cannot be read"""
    contents: dict[str, bytes | str] = {}
    blobs: dict[str, str] = {}
    entries = git.run("ls-tree", "-z", "-l", commit, f"{FOLDER}/").decode("utf-8", "replace").split("\0")
    for words, _, path in (entry.partition("\t") for entry in entries[:MOST_FILES] if entry):
        mode, kind, name, size = words.split()
        if kind == "blob" and mode.startswith("100") and path.endswith(ENDING) and int(size) <= MOST_BYTES:
            blobs[path] = name
        else:
            contents[path] = NO_FACT
    text, at = git.run("cat-file", "--batch", stdin="".join(f"{name}\n" for name in blobs.values()).encode()), 0
    for path in blobs:
        end = text.index(b"\n", at)
        length = int(text[at:end].split()[-1])
        contents[path] = text[end + 1 : end + 1 + length].replace(b"\r\n", b"\n")
        at = end + length + 2
    return contents


def read_file_changes(git: BorrowedObjects, *commits: str) -> dict[str, CommittedChange]:
    """Return the last change of each file that is or was there, by path. :raises GitFailed: it took too long"""
    words = ("log", "--topo-order", "-c", "--no-renames", "--name-status", f"--format={LOG}", *commits, "--", FOLDER)
    parts = git.run(*words, seconds=READ_S).decode("utf-8", "replace").split("\0")[1:]
    changes: dict[str, CommittedChange] = {}
    for commit, at, author, committer, reviewers, names in zip(*(parts[start::6] for start in range(6)), strict=False):
        roles = (
            (f"by {author}", author),
            (f"committed by {committer}", committer),
            (f"reviewed by {reviewers}", reviewers),
        )
        people = ", ".join(role for role, name in roles if name and (name != author or role.startswith("by")))
        for states, _, path in (line.partition("\t") for line in names.split("\n")):
            if path:
                change = CommittedChange(commit, int(at) * 1000, to_listed_name(people), states.endswith("D"))
                changes.setdefault(path, change)
    return changes


def find_foreign(git: BorrowedObjects, common: str, contents: Iterable[bytes | str]) -> set[str]:
    """Return the first commits that files name and that are not here; none where the history is cut off."""
    texts = (content for content in contents if isinstance(content, bytes))
    named = sorted({match[1].decode() for text in texts for match in PROJECT.finditer(text)})
    if read_shallow_ends(common) or not named:
        return set()
    lines = git.run("cat-file", "--batch-check=%(objecttype)", stdin="".join(f"{name}\n" for name in named).encode())
    return {name for name, line in zip(named, lines.split(b"\n"), strict=False) if line != b"commit"}


def read_committed_facts(common: str, branch: str | None, commit: str, *, is_followed: bool = True) -> CommittedFacts:
    """Read what the default branch says, and what the branch that is checked out adds.

    :param common: the repository's common directory
    :param commit: the one that is checked out
    :param is_followed: whether it matters that the last file was removed, which a long history is searched for
    :raises GitFailed: Git gives no answer
    """
    repository = Repository(common, common, common)
    default = find_default_branch(repository)
    tip = (default and read_branch_tip(repository, default)) or commit
    committed = CommittedFacts(default)
    with borrow_objects(common, sha256=len(commit) == 64, deadline=time.monotonic() + READ_S) as git:
        shared, own = read_tree_files(git, tip), read_tree_files(git, commit)
        if not shared and not own and not is_followed:
            return committed
        foreign = find_foreign(git, common, [*shared.values(), *own.values()])
        changes = read_file_changes(git, tip)
        added = read_file_changes(git, commit, f"^{tip}") if commit != tip else {}
    # What a branch has from before it was made, and the default one removed since, is none of its own.
    own = {path: content for path, content in own.items() if path not in shared and path in added}
    for contents, history, place, end in ((shared, changes, default or branch, tip), (own, added, branch, commit)):
        files, mistakes = parse_fact_files(contents, foreign)
        committed.mistakes += mistakes
        for file in files:
            change = history.get(file.path, CommittedChange(end))
            committed.files.append(replace(file, change=change, branch=place))
    for path, change in (changes | added).items():
        uid = to_whole_uid(path.rpartition("/")[2].removesuffix(ENDING))
        if change.is_removal and path == to_fact_path(uid) and path not in shared and path not in own:
            committed.removed[Uid(uid)] = change
    return committed
