"""The citations of facts: a person adds and removes them, and verifies those of a project. See `places/citations.py`."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from hermes_memory_store import errors
from hermes_memory_store.database.db import Db
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.items.fact_pages import to_facts
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.mutation import FACTS_WITH_READS, Mutation
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.memory.fact_lookup import find_facts_by_name
from hermes_memory_store.memory.facts import Facts
from hermes_memory_store.memory.scopes import change_attribute
from hermes_memory_store.model import PERSON, Actor, ChangeResult, Fact, Millis, Uid
from hermes_memory_store.places.citations import (
    MOST_BYTES,
    MOST_CITED,
    STALE,
    Citation,
    CitationCheck,
    CitationState,
    check_lines,
    cite_named,
    compare_cited_lines,
    decode_lines,
    digest_lines,
    format_citations,
    format_words,
    parse_citation,
    parse_citations,
    read_cited_file,
    split_file_lines,
)
from hermes_memory_store.places.cited_values import FactWords, OtherValue
from hermes_memory_store.places.git_files import Repository, read_head, repository_at
from hermes_memory_store.projects.borrowed_objects import BorrowedObjects, GitFailed, borrow_objects
from hermes_memory_store.projects.branch_states import BRIDGE, OF_PROJECT
from hermes_memory_store.uids import parse_uid, short_uid

FOLLOW_S = 20.0
"""How long Git may look for where the lines of all changed citations went."""

NAMED = ("lines", "url")
"""Kinds of citations whose labels are as a person types them."""

MOST_FOLLOWED = 20
"""Files of the same words that are looked through for cited lines."""

NOT_LOOKED_AT = {
    "commit": "`verify` asks Git",
    "command": "it is run by `verify --run` alone",
    "url": "it is never fetched",
    "turn": "a message does not change",
}

CHECKED_FACTS = f"{FACTS_WITH_READS} WHERE f.theme_id = ? AND f.tier IN ('hot', 'cold') ORDER BY f.id"
CITING_FACTS = f"{FACTS_WITH_READS} WHERE f.tier IN ('hot', 'cold') AND f.cites IS NOT NULL ORDER BY f.id DESC LIMIT ?"

PROJECT_FACTS = f"""
    {FACTS_WITH_READS} WHERE f.tier IN ('hot', 'cold') AND f.cites IS NOT NULL
      AND f.origin_id IN (SELECT id FROM origins WHERE {OF_PROJECT})
      AND (SELECT op FROM journal WHERE uid = f.uid AND entity = 'fact' ORDER BY seq DESC LIMIT 1) <> 'undo'
    ORDER BY f.id DESC LIMIT ?2
"""

MOST_IN_PLACE = 1_000
"""Newest citing facts that are checked each time a list of them is drawn."""

Moves = Mapping[Uid, Mapping[Citation, Citation]]
"""Citations as they were and as they are now, by the fact that cites them."""


@dataclass(frozen=True, slots=True)
class FactCheck:
    """How a fact's citations stand: its state is that of the worst of them."""

    fact: Fact
    checks: tuple[CitationCheck, ...]

    @property
    def other(self) -> OtherValue | None:
        """Return what cited lines say against the fact."""
        return next((check.other for check in self.checks if check.other is not None), None)

    @property
    def is_stale(self) -> bool:
        """Whether cited lines changed, are missing, or have another value."""
        return self.state in (*STALE, "contradicted")

    @property
    def state(self) -> str:
        """Return a `CitationState`, `contradicted`, or `not cited`."""
        if self.other is not None:
            return "contradicted"
        states = [check.state for check in self.checks]
        return next((state.value for state in WORST_FIRST if state in states), "not cited")


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """A citation as a person sees it."""

    check: CitationCheck
    present: Sequence[str] = ()
    """The lines that stand there now."""
    cited: Sequence[str] | None = None
    """Those that were cited, where they changed and Git has them."""


WORST_FIRST = (
    CitationState.MISSING,
    CitationState.CHANGED,
    CitationState.UNKNOWN,
    CitationState.MOVED,
    CitationState.TRUE,
)


class FactCitations:
    def __init__(self, db: Db, names: Names, journal: Journal) -> None:
        self._db = db
        self._names = names
        self._journal = journal

    def add(
        self, name: str, citations: Sequence[Citation], *, theme: str | None = None, actor: Actor = PERSON
    ) -> ChangeResult:
        """Let a fact cite these beside what it cites; the same lines or thing again take the place of the former.

        :raises UnknownFact: AmbiguousUid
        :raises ArgumentError: it would cite too much; nothing was changed then
        """

        def extend(present: Sequence[Citation]) -> Sequence[Citation]:
            labels = {citation.label for citation in citations}
            return [*(citation for citation in present if citation.label not in labels), *citations]

        return self._change(name, theme, "cite", extend, actor)

    def cite_only(self, fact: Fact, names: Sequence[str], folder: str) -> ChangeResult:
        """Let a fact cite these lines and addresses, and no others; what else it cites stays.

        :param folder: in which `cite_named` understands names that are new
        :raises ArgumentError: one means nothing; nothing was changed then
        """
        at, words = int(time.time() * 1000), FactWords(fact.target, fact.content)

        def name_again(present: Sequence[Citation]) -> Sequence[Citation]:
            named = {citation.label: citation for citation in present if citation.kind in NAMED}
            others = [citation for citation in present if citation.kind not in NAMED]
            return [*others, *(named.get(name) or cite_named(folder, name, at, words) for name in dict.fromkeys(names))]

        return self._change(fact.uid, fact.theme, "cite", name_again, PERSON)

    def remove(self, name: str, label: str = "", *, theme: str | None = None) -> ChangeResult:
        """Let a fact no longer cite something, or anything.

        :raises UnknownFact: AmbiguousUid
        :raises ArgumentError: it does not cite that; nothing was changed then
        """

        def leave_out(present: Sequence[Citation]) -> Sequence[Citation]:
            remaining = [citation for citation in present if label not in ("", citation.label)]
            if len(remaining) == len(present):
                cited = ", ".join(citation.label for citation in present) or "nothing"
                raise errors.ArgumentError(
                    f"the fact does not cite {errors.shorten_value(label)!r}; it cites {cited}", label
                )
            return remaining

        return self._change(name, theme, "uncite", leave_out, PERSON)

    def _change(
        self,
        name: str,
        theme: str | None,
        op: str,
        change_of: Callable[[Sequence[Citation]], Sequence[Citation]],
        actor: Actor,
    ) -> ChangeResult:
        theme_id = None if theme is None else self._names.theme(theme)
        uid = find_facts_by_name(self._db, [name], theme_id)[0].uid

        def rewrite(cites: str | None) -> str | None:
            cited = change_of(parse_citations(cites))
            if len(cited) > MOST_CITED:
                raise errors.ArgumentError(
                    f"a fact cites {MOST_CITED} things at most; remove one first", str(len(cited))
                )
            return format_citations(cited)

        with self._db.write_transaction() as conn:
            change = Mutation(conn, self._names, self._journal, actor)
            return change_attribute(change, uid, op, "cites", rewrite)

    def verify(self, theme: str, repository: Repository | None, project: str | None) -> list[FactCheck]:
        """Check the facts of a theme that come from a project, or from none, in its working tree as it is now.

        Lines that are no longer in their file are looked for in files of the same words.

        :raises UnknownTheme:
        """
        facts = to_facts(self._names, self._db.rows(CHECKED_FACTS, (self._names.theme(theme),)))
        chosen = [fact for fact in facts if fact.origin.project in (None, project)]
        with CitationChecker(repository) as checker:
            return [checker.check_fact(fact) for fact in chosen]

    def check_newest(self) -> list[FactCheck]:
        """Check the newest facts that cite, each in the working tree that it came from."""
        facts = to_facts(self._names, self._db.rows(CITING_FACTS, (MOST_IN_PLACE,)))
        roots = dict.fromkeys(fact.origin.root for fact in facts)
        checkers = {
            root: CitationChecker(None if root is None else repository_at(root), is_quick=True) for root in roots
        }
        return [checkers[fact.origin.root].check_fact(fact) for fact in facts]

    def list_project_facts(self, project: int) -> list[Fact]:
        """Return the newest facts of a project that cite, without those of which a person took the last change back."""
        return to_facts(self._names, self._db.rows(PROJECT_FACTS, (project, MOST_IN_PLACE)))

    def follow(self, moves: Moves) -> None:
        """Let facts cite the files that their lines were moved to, as one change of the bridge."""
        with self._journal.join_changes() as conn:
            for uid, moved in moves.items():
                change = Mutation(conn, self._names, self._journal, BRIDGE)
                change_attribute(change, parse_uid(uid), "cite", "cites", partial(move_citations, moved))

    @staticmethod
    def check_in_place(fact: Fact) -> FactCheck:
        """Check what a fact cites in the working tree that it came from, where that is on this machine, without Git.

        Lines are followed within their file alone, unlike by `verify`.
        """
        with CitationChecker(
            None if fact.origin.root is None else repository_at(fact.origin.root), is_quick=True
        ) as checker:
            return checker.check_fact(fact)

    @staticmethod
    def find_places(fact: Fact) -> list[CitedPlace]:
        """Return what a fact cites with its lines, in the working tree that it came from; Git may take a while."""
        with CitationChecker(None if fact.origin.root is None else repository_at(fact.origin.root)) as checker:
            return [checker.to_place(check) for check in checker.check_fact(fact).checks]

    def take_file_value(self, facts: Facts, uid: Uid) -> ChangeResult:
        """Give a fact the value that its cited lines have now, and let it cite them anew, as one change.

        :raises FactConflict: they say nothing else; nothing was changed then
        """
        check = self.check_in_place(facts.get(uid))
        content = find_contradiction(check).replace_in(check.fact.content)
        return facts.edit(uid, content, cites=format_citations(cite_anew(check, content)))

    def keep_own_value(self, facts: Facts, uid: Uid) -> ChangeResult:
        """Keep a fact against what its cited lines have now, until they change again.

        :raises FactConflict: they say nothing else; nothing was changed then
        """
        check = self.check_in_place(facts.get(uid))
        find_contradiction(check)
        return self._change(uid, None, "cite", lambda _: cite_anew(check, check.fact.content, is_disputed=True), PERSON)


def find_contradiction(check: FactCheck) -> OtherValue:
    if check.other is None:
        name = short_uid(check.fact.uid)
        raise errors.FactConflict(f"what {name} cites has no other value now; nothing was changed", check.fact.uid)
    return check.other


def cite_anew(check: FactCheck, content: str, *, is_disputed: bool = False) -> list[Citation]:
    """Return what a fact cites, with the lines that contradict it as they are now."""
    root, at, words = check.fact.origin.root or "", int(time.time() * 1000), FactWords(check.fact.target, content)

    def cite(cited: CitationCheck) -> Citation:
        place = f"{cited.citation.what}:{cited.first}-{cited.last}"
        return replace(cite_named(root, place, at, words), is_disputed=is_disputed)

    return [cited.citation if cited.other is None else cite(cited) for cited in check.checks]


class CitationChecker:
    """Checks citations in one working tree, and follows lines across its files."""

    def __init__(self, repository: Repository | None, *, is_quick: bool = False) -> None:
        """:param is_quick: whether Git is asked nothing"""
        self._repository = repository
        self._is_quick = is_quick
        self._head = None if repository is None else read_head(repository)[1]
        self._files: dict[str, tuple[list[bytes] | None, str]] = {}
        self._stack = contextlib.ExitStack()
        self._git: BorrowedObjects | None = None

    def __enter__(self) -> CitationChecker:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def check_fact(self, fact: Fact) -> FactCheck:
        words = FactWords(fact.target, fact.content)
        return FactCheck(fact, tuple(self.check(citation, words) for citation in parse_citations(fact.cites)))

    def check(self, citation: Citation, fact: FactWords) -> CitationCheck:
        if self._repository is None:
            return CitationCheck(citation, CitationState.UNKNOWN, note="this folder is in no repository")
        if citation.kind == "commit" and not self._is_quick:
            return self._check_commit(citation)
        if citation.kind != "lines":
            return CitationCheck(citation, CitationState.UNKNOWN, note=NOT_LOOKED_AT[citation.kind])
        check = check_lines(self._repository.root, citation, fact, self._files)
        if check.state not in STALE or check.other is not None or not citation.commit or self._is_quick:
            return check
        with contextlib.suppress(GitFailed):
            return self._follow(citation) or check
        return check

    def _open_git(self) -> BorrowedObjects:
        assert self._repository is not None
        if self._git is None:
            deadline = time.monotonic() + FOLLOW_S
            is_sha256 = len(self._head or "") == 64
            self._git = self._stack.enter_context(
                borrow_objects(self._repository.common, sha256=is_sha256, deadline=deadline)
            )
        return self._git

    def _check_commit(self, citation: Citation) -> CitationCheck:
        try:
            self._open_git().run("merge-base", "--is-ancestor", citation.what, self._head or "")
        except GitFailed:
            return CitationCheck(citation, CitationState.MISSING, note="this branch does not have it")
        return CitationCheck(citation, CitationState.TRUE)

    def read_committed(self, citation: Citation) -> list[bytes] | None:
        """Read lines from the commit at which they were cited; None: they were never committed so. :raises GitFailed:"""
        content = self._open_git().run("cat-file", "blob", f"{citation.commit}:{citation.what}")
        lines = split_file_lines(content)[citation.first - 1 : citation.last]
        return lines if digest_lines(lines) == citation.digest else None

    def to_place(self, check: CitationCheck) -> CitedPlace:
        """Read what stands in the place of cited lines now, and what was cited where Git still has it."""
        citation, cited = check.citation, None
        if citation.kind != "lines" or self._repository is None:
            return CitedPlace(check)
        path = check.note if check.state is CitationState.MOVED and check.note else citation.what
        content, _ = read_cited_file(self._repository.root, path)
        present = split_file_lines(content or b"")[max(0, check.first - 1) : check.last]
        if check.state in STALE and citation.commit:
            with contextlib.suppress(GitFailed):
                cited = self.read_committed(citation)
        return CitedPlace(check, decode_lines(present), None if cited is None else decode_lines(cited))

    def cite_moved(self, citation: Citation, fact: FactWords, since: tuple[str, Millis] | None) -> Citation | None:
        """Cite lines in the file that they were moved to, where the commit of the working tree has them there alone."""
        is_gone = self._repository and check_lines(self._repository.root, citation, fact, self._files).state in STALE
        was_cited = since is not None and citation.cited_at < since[1]
        if not is_gone or (since and was_cited and not self._has_lines(citation, citation.what, since[0])):
            return None
        check = self.check(citation, fact)
        is_elsewhere = check.state is CitationState.MOVED and check.note
        if not is_elsewhere or self._repository is None or self._has_lines(citation, citation.what, self._head):
            return None
        with contextlib.suppress(GitFailed):
            place = f"{check.note}:{check.first}-{check.last}"
            moved = cite_named(self._repository.root, place, citation.cited_at, fact)
            return replace(moved, is_disputed=citation.is_disputed) if self.read_committed(moved) else None
        return None

    def _has_lines(self, citation: Citation, path: str, commit: str | None) -> bool:
        try:
            content = self._open_git().run("cat-file", "blob", f"{commit}:{path}")
        except GitFailed:
            return False
        return len(content) <= MOST_BYTES and compare_cited_lines(citation, content).state not in STALE

    def _follow(self, citation: Citation) -> CitationCheck | None:
        """Find cited lines in another file, which did not have them when they were cited: one with the longest of the lines."""
        assert self._repository is not None
        git, head, lines = self._open_git(), self._head or "", self.read_committed(citation)
        if lines is None:
            return None
        longest = max(lines, key=len).strip().decode("utf-8", "replace")
        words = ("grep", "-I", "-l", "-z", "-F", "-e", longest, head)
        listed = git.run(*words, codes=(0, 1)).decode("utf-8", "surrogateescape").split("\0")
        paths = [path.partition(":")[2] for path in listed if path]
        paths.sort(key=lambda path: likeness(path, citation.what), reverse=True)
        for path in paths[:MOST_FOLLOWED]:
            content, _ = read_cited_file(self._repository.root, path)
            check = None if content is None else compare_cited_lines(citation, content)
            if check is None or check.state in STALE or self._has_lines(citation, path, citation.commit):
                continue
            return CitationCheck(citation, CitationState.MOVED, check.first, check.last, note=path)
        return None


def find_moves(root: str, facts: Iterable[Fact], since: tuple[str, Millis] | None = None) -> Moves:
    """Find where the commit of a working tree moved the cited lines of facts to, as far as the time of Git suffices.

    :param since: a commit at which that was done before, and when: what had been cited and had gone is not looked for again
    """
    moves: dict[Uid, dict[Citation, Citation]] = {}
    with CitationChecker(repository_at(root)) as checker:
        for fact in facts:
            words = FactWords(fact.target, fact.content)
            cited = [citation for citation in parse_citations(fact.cites) if citation.kind == "lines"]
            moved = {citation: place for citation in cited if (place := checker.cite_moved(citation, words, since))}
            moves |= {fact.uid: moved} if moved else {}
    return moves


def move_citations(moved: Mapping[Citation, Citation], cites: str | None) -> str | None:
    """Return what a fact holds with other citations in the place of some; what a later program wrote stays as it is."""
    present = [(parse_citation(words), words) for words in json.loads(cites or "[]")]
    return format_words([moved[cited].to_words() if cited and cited in moved else words for cited, words in present])


def likeness(path: str, other: str) -> tuple[bool, int]:
    """Return how alike two paths are: whether the files are called the same, and how many folders they share."""
    (*folders, name), (*other_folders, other_name) = path.split("/"), other.split("/")
    return name == other_name, len({*folders} & {*other_folders})


def count_states(checks: Iterable[FactCheck]) -> dict[str, int]:
    counts = dict.fromkeys([*(state.value for state in reversed(WORST_FIRST)), "contradicted", "not cited"], 0)
    for check in checks:
        counts[check.state] += 1
    return counts
