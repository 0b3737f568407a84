"""The facts of a project in its repository: written for a pull request, and taken from it as the text of another person.

Who reads them is asked once a repository. Then what is new there stands, unless it is suspicious, which waits in quarantine, or
binds or permits, which waits as proposed: a person agreed to what was there, and not to every later order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_memory_store import uids
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.errors import ArgumentError, shorten_value
from hermes_memory_store.files.fact_files import (
    CommittedFacts,
    FactFile,
    FileMistake,
    find_waiting_reason,
    format_fact_file,
    is_asked_again,
    parse_fact_file,
    read_committed_facts,
    read_working_files,
    to_fact_path,
)
from hermes_memory_store.files.fact_restore import Restorer
from hermes_memory_store.files.jsonl_format import PortableFact
from hermes_memory_store.intake.intake import AdmittedFact
from hermes_memory_store.intake.spans import find_mark_names
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.items.origin_rows import PortableOrigin
from hermes_memory_store.items.project_rows import project_key
from hermes_memory_store.items.tier_columns import PROPOSED
from hermes_memory_store.memory.facts import restore_rule
from hermes_memory_store.model import (
    IMPORT,
    LIVE_TIERS,
    Fact,
    FactFilter,
    FactType,
    Notation,
    Origin,
    PressureLevel,
    Tier,
    Uid,
    Way,
)
from hermes_memory_store.places.citations import parse_citations
from hermes_memory_store.places.git_files import find_repository
from hermes_memory_store.places.place_reading import is_person_target
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.projects.branch_search import MERGED
from hermes_memory_store.projects.branch_states import PUT_STATE
from hermes_memory_store.projects.git_exclude import is_repository_sound
from hermes_memory_store.projects.repository_choice import find_root_commit
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import COUNTER_BITS
from hermes_memory_store.system.filesystem import atomic_write
from hermes_memory_themes.theme_identity import PERSONAL

ANSWERS = {"pulled": True, "not pulled": False}
"""Kinds of aliases that keep what a person answered for a repository."""

MOST_PROPOSED = 50
"""Facts that are proposed before a person looks at a repository's."""

CHOSEN = frozenset({FactType.CONSTRAINT, FactType.DECISION})
"""Types that are exported; values are where they cite something."""

WAS_HERE = """
    SELECT 1 FROM journal WHERE uid = ?1 AND entity = 'fact' AND ?2 IN (before ->> 'content', after ->> 'content') LIMIT 1
"""

CHANGED_AT = "SELECT max(at) FROM journal WHERE uid = ? AND entity = 'fact' AND (after ->> 'content') IS NOT NULL"

WITHDRAWN_AT = "SELECT max(at) FROM journal WHERE uid = ? AND entity = 'fact' AND op = 'withdraw'"

LAST_OPERATION = "SELECT op FROM journal WHERE uid = ? AND entity = 'fact' ORDER BY seq DESC LIMIT 1"

CLOCK = "SELECT max(hlc) FROM sync_rows WHERE uid = ?"


@dataclass(slots=True)
class ExportPlan:
    texts: dict[str, str] = field(default_factory=dict)
    """Files that are written, by path."""
    removed: list[str] = field(default_factory=list)
    """Files of facts that are chosen no longer."""
    unchanged: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    """Why facts are not written, by their lines."""


@dataclass(slots=True)
class PullPlan:
    """What reading a repository's facts changes here."""

    is_agreed: bool
    new: list[FactFile] = field(default_factory=list)
    waiting: dict[Uid, str] = field(default_factory=dict)
    """Why new ones wait: the rule, or `proposed`."""
    approved: list[Uid] = field(default_factory=list)
    """Proposed ones that the person's yes lets in."""
    changed: list[FactFile] = field(default_factory=list)
    asking: dict[FactFile, str] = field(default_factory=dict)
    """Changed ones whose present wording stays, with the reason."""
    withdrawn: list[Uid] = field(default_factory=list)
    merged: list[tuple[str, str]] = field(default_factory=list)
    """Branches and commits whose facts the default branch has by now, in whatever way it took them over."""
    mistakes: list[FileMistake] = field(default_factory=list)
    seqs: tuple[int, ...] = ()


class RepositoryFacts:
    def __init__(self, store: Store, seen: ProjectSighting) -> None:
        """Read and write for the repository that was seen. :raises ArgumentError: it is none"""
        if seen.common is None:
            raise ArgumentError(f"{shorten_value(seen.root)} lies in no Git repository", seen.root)
        self._store = store
        self._seen = seen
        self._common = seen.common
        self.theme = store.place_themes.theme_of(seen)

    @property
    def answer(self) -> bool | None:
        """Return whether a person agreed to be given this repository's facts; None: nobody was asked."""
        kinds = [kind for kind in ANSWERS if self._store.projects.is_trusted(self._seen, kind)]
        return ANSWERS[kinds[0]] if kinds else None

    def keep_answer(self, agreed: bool) -> None:
        for kind, answer in ANSWERS.items():
            self._store.projects.trust(self._seen, trusted=answer is agreed, kind=kind)

    def plan_export(self, scope: str | None = None) -> ExportPlan:
        """Return what writing the chosen facts into the working tree changes there. Nothing is written."""
        store, plan = self._store, ExportPlan()
        present = read_working_files(self._seen.root)
        parsed = {path: parse_fact_file(path, text)[0] for path, text in present.items() if isinstance(text, bytes)}
        project = find_root_commit(self._common, self._seen.commit)
        project = project or next((file.project for file in parsed.values() if file is not None and file.project), None)
        facts = store.facts.by_ids(store.facts.ids(FactFilter(theme=self.theme, tiers=LIVE_TIERS)))
        for fact in store.facts.as_written(facts) if self.theme != PERSONAL else ():
            reason, path = self._find_refusal(fact), to_fact_path(fact.uid)
            file, text = parsed.get(path), format_fact_file(fact, project)
            is_other = file is not None and file.notation.content != fact.content
            if reason is None and path in present and (file is None or (is_other and not self._was_here(file))):
                reason = "its file was changed in the repository; commit that and pull it first"
            if reason:
                plan.left_out[fact.notation] = reason
            elif reason == "" and path in present:
                plan.removed.append(path)
            elif reason is None and present.get(path) == text.encode():
                plan.unchanged += 1
            elif reason is None and scope in (None, fact.scope):
                plan.texts[path] = text
        standing = {fact.uid for fact in facts}
        uids_named = [file.uid for file in parsed.values() if file is not None and file.uid not in standing]
        gone = {
            uid
            for uid, fact in store.facts.by_uids(uids_named).items()
            if fact.theme == self.theme and is_dropped(fact)
        }
        plan.removed += [to_fact_path(uid) for uid in gone | store.facts.find_purged(uids_named)]
        return plan

    def export(self, plan: ExportPlan, *, removing: bool) -> None:
        """Write the files of a plan. :raises ArgumentError: the working tree is not one that may be written"""
        repository = find_repository(self._seen.root)
        if repository is None or not is_repository_sound(repository):
            raise ArgumentError(f"{self._seen.root} is no working tree of its repository; nothing is written", None)
        root = Path(repository.root)
        for folder in (root / ".memory", root / ".memory/facts") if plan.texts else ():
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                raise ArgumentError(f"{folder} is a link, or no folder; nothing is written through it", folder)
            folder.mkdir(exist_ok=True)
        for path, text in plan.texts.items():
            with atomic_write(root / path, encoding="utf-8", mode=0o644) as file:
                file.write(text)
        for path in plan.removed if removing else ():
            (root / path).unlink(missing_ok=True)

    def _find_refusal(self, fact: Fact) -> str | None:
        """Return why a fact is not exported; empty where it is of another kind than those that are."""
        theme_project = self._store.projects.find(self._seen)
        is_foreign = fact.origin.project not in ((theme_project,) if self.theme == "default" else (theme_project, None))
        is_chosen = fact.type in CHOSEN or (fact.type is FactType.VALUE and parse_citations(fact.cites))
        if not is_chosen or is_foreign or is_person_target(fact.target):
            return ""
        if find_mark_names(fact.content):
            return "it holds a masked secret"
        return self._store.intake.find_refusal(self.theme, Notation(fact.type, fact.target, fact.content))

    def read_committed(self) -> CommittedFacts:
        """Read what is committed. :raises GitFailed: Git gives no answer"""
        if self._seen.commit is None:
            return CommittedFacts()
        return read_committed_facts(self._common, self._seen.branch, self._seen.commit)

    def plan_pull(self, committed: CommittedFacts, *, agreed: bool = False) -> PullPlan:
        """Return what taking over the committed facts changes here. :param agreed: the person has said yes to all of them"""
        plan = PullPlan(agreed or self.answer is True, mistakes=[*committed.mistakes])
        most = self._store.policies.for_theme(self.theme).fact_chars
        here = self._store.facts.by_uids([file.uid for file in committed.files])
        purged = self._store.facts.find_purged([file.uid for file in committed.files])
        for file in (file for file in committed.files if file.uid not in purged):
            fact, rule = here.get(file.uid), find_waiting_reason(file)
            branch = fact and fact.origin.file == file.path and fact.origin.branch
            if fact and branch and fact.origin.commit and file.branch == committed.default != branch:
                plan.merged.append((branch, fact.origin.commit))
            if len(file.notation.content) > most:
                plan.mistakes.append(
                    FileMistake(file.path, 1, f"its content is longer than the {most} characters of a fact here")
                )
                continue
            is_asked = not plan.is_agreed or (is_asked_again(file) and not agreed)
            if fact is None:
                plan.new.append(file)
                if rule or is_asked:
                    plan.waiting[file.uid] = rule or PROPOSED
            elif (fact.theme, fact.type, fact.target) != (self.theme, file.notation.type, file.notation.target):
                reason = f"the fact {file.uid} is {fact.type}[{fact.target}] of theme {fact.theme} here; its file is not read"
                plan.mistakes.append(FileMistake(file.path, 1, reason))
            elif fact.content == file.notation.content:
                is_back = fact.tier is Tier.WITHDRAWN and self._value(LAST_OPERATION, file) == "withdraw"
                if (fact.tier is Tier.QUARANTINED and fact.verdict == PROPOSED and not is_asked) or (
                    is_back and plan.is_agreed
                ):
                    plan.approved.append(file.uid)
            elif fact.tier is not Tier.WITHDRAWN and self._is_newer(file):
                if rule or is_asked:
                    plan.asking[file] = rule or PROPOSED
                else:
                    plan.changed.append(file)
        for uid, fact in self._store.facts.by_uids(committed.removed).items() if plan.is_agreed else ():
            undone_at = self._store.db.value(WITHDRAWN_AT, (uids.parse_uid(uid),)) or 0
            if (
                fact.theme == self.theme
                and fact.tier is not Tier.WITHDRAWN
                and undone_at < committed.removed[Uid(uid)].at
            ):
                plan.withdrawn.append(Uid(uid))
        return plan

    def pull(self, plan: PullPlan) -> PullPlan:
        """Take over what was planned: new facts first, then what changes or hides others, which is one change to undo."""
        restorer = Restorer(self._store, self.theme, None)
        items = [(1, self._to_portable(file, plan.waiting.get(file.uid))) for file in plan.new]
        for number, error in restorer.restore_batch(items) if items else ():
            plan.mistakes.append(FileMistake(plan.new[number].path, 1, error.message))
        store = self._store
        columns: dict[Uid, dict[str, Any]] = {
            uid: {"tier": Tier.WITHDRAWN.value, "pinned": 0} for uid in plan.withdrawn
        }
        for file in plan.changed:
            columns[file.uid] = {"content": AdmittedFact(file.notation), "verdict": None, "cites": file.cites}
        with store.db.write_transaction() as conn:
            change = Mutation(conn, store.names, store.journal, IMPORT)
            rows = {uid: change.fact_row(uids.parse_uid(uid)) for uid in [*plan.approved, *columns]}
            for uid, row in rows.items():
                if row is not None:
                    op = "restore" if uid in plan.approved else "withdraw" if uid in plan.withdrawn else "edit"
                    change.update_fact(row, op, **columns.get(uid) or restore_rule(change, row) or {})
            for theme_id in {row.theme_id for row in rows.values() if row is not None}:
                store.tiers.relieve_within(change, store.tiers.resolved_theme(theme_id), PressureLevel.CALM, keep=())
            for branch, commit in plan.merged:
                key = project_key(conn, str(store.projects.find(self._seen)))
                conn.execute(PUT_STATE, (key, branch, commit, "", commit, MERGED, "tree", 0, change.now))
            plan.seqs = change.record()
        return plan

    def follow(self, committed: CommittedFacts) -> None:
        """Take over what a repository says while nobody looks; before a person agrees, propose a part of it."""
        if self.answer is False:
            return
        plan = self.plan_pull(committed)
        if not plan.is_agreed:
            plan.new = plan.new[: max(0, MOST_PROPOSED - self._store.facts.count_proposed(self.theme))]
        self.pull(plan)

    def _to_portable(self, file: FactFile, reason: str | None) -> PortableFact:
        project, at = self._store.projects.recognise(self._seen), file.change.at or self._store.clock()
        origin = Origin(
            Way.IMPORT,
            project=project,
            root=self._seen.root,
            folder=".",
            branch=file.branch,
            commit=file.change.commit,
            file=file.path,
            voice="heard",
            heard=file.change.people or None,
        )
        tier, more = Tier.QUARANTINED if reason else Tier.HOT, {"cites": file.cites} if file.cites else {}
        uid, words = uids.parse_uid(file.uid), PortableOrigin(origin)
        return PortableFact(
            uid, file.scope, file.notation, tier, IMPORT, at, at, origin=words, verdict=reason, more=more
        )

    def _is_newer(self, file: FactFile) -> bool:
        """Check whether a file says something later than the fact here: by the clock of its version where a team has it."""
        clock = self._value(CLOCK, file)
        if clock is None and not self._was_here(file):
            return True
        changed_at: int = self._value(CHANGED_AT, file) if clock is None else clock >> COUNTER_BITS
        return (
            changed_at < file.change.at <= self._store.clock() + DAY_MS
        )  # a later time is a lie, and would win for ever

    def _was_here(self, file: FactFile) -> bool:
        """Check whether a fact once said here what its file says."""
        return self._value(WAS_HERE, file, file.notation.content) is not None

    def _value(self, sql: str, file: FactFile, *more: str) -> Any:
        return self._store.db.value(sql, (uids.parse_uid(file.uid), *more))


def is_dropped(fact: Fact) -> bool:
    """Check whether a fact is one no longer for everybody: not where a person refused another's."""
    return fact.tier in (Tier.SUPERSEDED, Tier.ARCHIVED) or (
        fact.tier is Tier.WITHDRAWN and fact.origin.voice != "heard"
    )
