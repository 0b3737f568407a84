"""What a pull request does to the facts of a repository, for people and CI: no store is needed, and nothing is run."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from hermes_memory_store.errors import ArgumentError, StoreError
from hermes_memory_store.files.fact_files import (
    READ_S,
    FactFile,
    find_foreign,
    find_waiting_reason,
    is_asked_again,
    parse_fact_files,
    read_tree_files,
    read_working_files,
)
from hermes_memory_store.intake.detector import explain_rule
from hermes_memory_store.items.mutation import count_notation_chars
from hermes_memory_store.memory.second_look import SECRET_RULE
from hermes_memory_store.memory_tests.case_file import FILE_NAME, read_case_file
from hermes_memory_store.memory_tests.memory_case import Expectation, ExpectedBy
from hermes_memory_store.notation.token_estimate import estimate_tokens
from hermes_memory_store.places.citations import (
    CitationState,
    check_lines,
    parse_citations,
)
from hermes_memory_store.places.cited_values import FactWords
from hermes_memory_store.places.git_files import Repository, find_default_branch, read_branch_tip, read_head, read_ref
from hermes_memory_store.projects.borrowed_objects import GitFailed, borrow_objects
from hermes_memory_themes import ThemePolicy

RULES = {
    "invalid": ("error", "A file, or a line of it, cannot be read"),
    "suspicious": ("error", "A fact holds a secret, or reads like an instruction to the agent"),
    "contradicted": ("error", "Two facts say otherwise of one target, or the cited lines give another value"),
    "over-budget": ("error", "The facts are more than the hot tier holds"),
    "binding": ("warning", "An order, a permission or a guard is new: whoever pulls is asked again"),
    "stale": ("warning", "Cited lines changed or are missing"),
    "untested": ("note", "No memory test is about the fact"),
    "new": ("note", "A fact is new"),
    "changed": ("note", "A fact was changed"),
    "removed": ("note", "A fact was removed"),
}
"""Level and description of each kind of finding, the gravest first."""

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class RepositoryFinding(NamedTuple):
    rule: str
    path: str
    line: int
    message: str

    @property
    def level(self) -> str:
        return RULES[self.rule][0]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.level}: {self.message} [{self.rule}]"


def check_repository(
    repository: Repository, base: str | None = None, budget: int | None = None
) -> list[RepositoryFinding]:
    """Return what is to be said of the facts in a working tree, the gravest first.

    :param base: the branch, tag or commit from which the present one forked; the default branch unless given
    :param budget: tokens that all facts may take; unless given, the characters of a hot tier
    :raises ArgumentError: there is no such base here
    """
    contents, head = read_working_files(repository.root), read_head(repository)[1] or ""
    try:
        with borrow_objects(repository.common, sha256=len(head) == 64, deadline=time.monotonic() + READ_S) as git:
            commit = find_base(repository, base)
            fork = git.run("merge-base", commit, head, codes=(0, 1)).decode().strip() if commit and head else commit
            former = read_tree_files(git, fork or commit) if commit else contents
            foreign = find_foreign(git, repository.common, contents.values())
    except GitFailed as error:
        reason = f"{base or 'the default branch'} cannot be read here ({error}); a shallow clone may lack it"
        raise ArgumentError(reason, base) from error
    files, mistakes = parse_fact_files(contents, foreign)
    recent = [file for file in files if contents[file.path] != former.get(file.path)]
    findings = [RepositoryFinding("invalid", *mistake) for mistake in mistakes]
    for file in recent:
        rule = "changed" if file.path in former else "new"
        findings.append(RepositoryFinding(rule, file.path, 1, f"{rule}: {file.label}"))
        if is_asked_again(file):
            guards = f"guards are never taken over ({', '.join(file.guards)})" if file.guards else "it binds or permits"
            findings.append(RepositoryFinding("binding", file.path, 1, f"{guards}: {file.label}"))
    removed = sorted(former.keys() - contents.keys())
    findings += [RepositoryFinding("removed", path, 1, f"removed: {path}") for path in removed]
    for file in files:
        findings += check_file(repository.root, file)
    findings += find_contradictory(files) + check_budget(files, budget) + find_untested(repository.root, recent)
    return sorted(findings, key=lambda finding: ([*RULES].index(finding.rule), finding.path, finding.line))


def find_base(repository: Repository, name: str | None) -> str | None:
    """Return the commit to compare with, `main~2` or the like; None where the default branch has no commit."""
    if name is None:
        default = find_default_branch(repository)
        return (default and read_branch_tip(repository, default)) or None
    base, steps = re.fullmatch(r"(.*?)((?:[~^]\d*)*)", name, re.DOTALL).groups()  # type: ignore[union-attr]
    refs = (f"refs/{place}/{base}" for place in ("heads", "remotes", "remotes/origin", "tags"))
    head = read_head(repository)[1] if base == "HEAD" else None
    commit = head or next(filter(None, (read_ref(repository, ref) for ref in refs)), base)
    if not re.fullmatch(r"[0-9a-f]{7,64}", commit):
        raise ArgumentError(f"{name!r} is no branch, tag or commit here; fetch it first, or name another", name)
    return commit + steps


def check_file(root: str, file: FactFile) -> list[RepositoryFinding]:
    findings, rule = [], find_waiting_reason(file)
    if rule is not None:
        what = "holds a secret" if rule == SECRET_RULE else explain_rule(rule)
        findings.append(RepositoryFinding("suspicious", file.path, 1, f"the fact {what}"))
    for citation in parse_citations(file.cites):
        if citation.kind != "lines":
            continue
        check = check_lines(root, citation, FactWords(file.notation.target, file.notation.content))
        if check.other is not None:
            message = f"{file.label} says {check.other.ours}, {citation.label} says {check.other.theirs}"
            findings.append(RepositoryFinding("contradicted", file.path, 1, message))
        elif check.state in (CitationState.CHANGED, CitationState.MISSING):
            findings.append(RepositoryFinding("stale", file.path, 1, f"cited lines {check.state}: {citation.label}"))
    return findings


def find_contradictory(files: Sequence[FactFile]) -> list[RepositoryFinding]:
    """Find facts of one scope, type and target of which only one could stand."""
    by_place: dict[tuple[Any, ...], list[FactFile]] = defaultdict(list)
    for file in files:
        by_place[file.scope, file.notation.type, file.notation.target.casefold()].append(file)
    return [
        RepositoryFinding("contradicted", file.path, 1, f"{file.label}, but {other.path} says {other.label}")
        for alike in by_place.values()
        for other, file in pairwise(alike)
        if other.notation.content != file.notation.content
    ]


def check_budget(files: Sequence[FactFile], budget: int | None) -> list[RepositoryFinding]:
    tokens = sum(estimate_tokens(str(file.notation)) for file in files)
    chars = sum(count_notation_chars(file.notation.target, file.notation.content) for file in files)
    most = ThemePolicy().hot_chars
    if tokens <= budget if budget is not None else chars <= most:
        return []
    longest = max(files, key=lambda file: len(file.notation.content))
    room = f"{most:,} characters" if budget is None else f"{budget:,} tokens"
    text = f"the facts take {tokens:,} tokens ({chars:,} characters), and there is room for {room}; this is the longest"
    return [RepositoryFinding("over-budget", longest.path, 1, text)]


def find_untested(root: str, files: Sequence[FactFile]) -> list[RepositoryFinding]:
    """Find facts that no memory test is about; none where the repository has no tests."""
    path = Path(root, FILE_NAME)
    if not path.is_file():
        return []
    try:
        cases = read_case_file(path).cases
    except StoreError as error:
        return [RepositoryFinding("invalid", FILE_NAME, 1, error.message)]
    expected = [expectation for case in cases for expectation in (*case.given, *case.never)]
    return [
        RepositoryFinding("untested", file.path, 1, f"no test is about it: {file.label}")
        for file in files
        if not any(is_expected(expectation, file) for expectation in expected)
    ]


def is_expected(expectation: Expectation, file: FactFile) -> bool:
    if expectation.by is ExpectedBy.UID:
        return expectation.content in file.uid.replace("-", "")
    if expectation.by is ExpectedBy.WORDS:
        return expectation.has_words(str(file.notation))
    return expectation.target == file.notation.target and expectation.type in (None, file.notation.type)


def to_sarif(findings: Sequence[RepositoryFinding], version: str) -> dict[str, Any]:
    """Return findings as a log of SARIF 2.1.0."""
    rules: list[dict[str, Any]] = [{"id": rule, "shortDescription": {"text": RULES[rule][1]}} for rule in RULES]
    for rule in rules:
        rule["defaultConfiguration"] = {"level": RULES[rule["id"]][0]}
    results = []
    for finding in findings:
        file = {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"}
        place = {"physicalLocation": {"artifactLocation": file, "region": {"startLine": finding.line}}}
        words = {"ruleId": finding.rule, "ruleIndex": [*RULES].index(finding.rule), "level": finding.level}
        results.append({**words, "message": {"text": finding.message}, "locations": [place]})
    driver = {"name": "hermes-memory-tui", "version": version, "rules": rules}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
