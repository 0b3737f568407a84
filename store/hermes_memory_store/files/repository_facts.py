"""The facts of a project in its repository: written for a pull request, and taken from it as the text of another person.

Who reads them is asked once a repository. Then what is new there stands, unless it is suspicious, which waits in quarantine, or
binds or permits, or would replace a fact of the person's own, which waits as proposed: he agreed to what was there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hermes_memory_store import uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.errors import ArgumentError, shorten_value
from hermes_memory_store.files.fact_files import (
    CommittedFacts,
    FactFile,
    FileMistake,
    find_waiting_reason,
    format_fact_file,
    is_asked_again,
    list_shared,
    parse_fact_file,
    read_committed_facts,
    read_working_files,
    to_fact_path,
)
from hermes_memory_store.files.fact_restore import Restorer
from hermes_memory_store.files.jsonl_format import PortableFact
from hermes_memory_store.intake.spans import find_mark_names
from hermes_memory_store.items.kinds import STANDS
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.items.name_keys import UNSCOPED
from hermes_memory_store.items.origin_rows import PortableOrigin
from hermes_memory_store.items.project_rows import project_key
from hermes_memory_store.items.tier_columns import IS_PROPOSED, PROPOSED
from hermes_memory_store.memory.facts import restore_rule
from hermes_memory_store.model import (
    IMPORT,
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
from hermes_memory_store.places.git_files import find_repository
from hermes_memory_store.places.place_reading import is_person_target
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.projects.borrowed_objects import GitFailed
from hermes_memory_store.projects.branch_search import MERGED
from hermes_memory_store.projects.branch_states import PUT_STATE
from hermes_memory_store.projects.git_exclude import is_repository_sound
from hermes_memory_store.projects.repository_choice import find_root_commit
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import COUNTER_BITS
from hermes_memory_store.system.filesystem import atomic_write
from hermes_memory_themes.theme_identity import DEFAULT, PERSONAL

ANSWERS = {"pulled": True, "not pulled": False}
"""Kinds of aliases that keep what a person answered for a repository."""

MOST_PROPOSED, BATCH = 50, 500
"""Facts that are proposed before a person looks at a repository's, and that are written at once."""

CHOSEN = frozenset({FactType.CONSTRAINT, FactType.DECISION})
"""Types that are exported; values are where they cite something."""

WAS_HERE = """
    SELECT 1 FROM journal WHERE uid = ?1 AND entity = 'fact' AND ?2 IN (before ->> 'content', after ->> 'content') LIMIT 1
"""

STANDING_THERE = f"""
    SELECT f.uid, f.content FROM themes t JOIN scopes s ON s.theme_id = t.id JOIN facts f ON f.scope_id = s.id
    WHERE t.name = ? AND s.label = ? AND f.type = ? AND f.target = ? AND {STANDS}
"""

CHANGED_AT = "SELECT max(at) FROM journal WHERE uid = ? AND entity = 'fact' AND (after ->> 'content') IS NOT NULL"

WITHDRAWN_AT = "SELECT max(at) FROM journal WHERE uid = ? AND entity = 'fact' AND op = 'withdraw'"

LAST_OPERATION = "SELECT op FROM journal WHERE uid = ? AND entity = 'fact' ORDER BY seq DESC LIMIT 1"

WAITS_AS_PROPOSED = f"SELECT 1 FROM facts WHERE uid = ? AND {IS_PROPOSED}"

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
    approved: list[FactFile] = field(default_factory=list)
    """Proposed ones that the person's yes lets in, and withdrawn ones that are back."""
    proposed: list[FactFile] = field(default_factory=list)
    """Those that wait here already."""
    changed: list[FactFile] = field(default_factory=list)
    asking: list[FactFile] = field(default_factory=list)
    """Changed ones whose present wording stays until a person agrees."""
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
        self._store, self._common = store, seen.common
        self._seen = seen if store.db.read_only else store.projects.trace(seen)
        self.theme = store.place_themes.theme_of(self._seen)

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
        files = {path: file for path, file in parsed.items() if file is not None}
        project = find_root_commit(self._common, self._seen.commit)
        project = project or next((file.project for file in files.values() if file.project), None)
        facts = {fact.uid: fact for fact in store.facts.by_ids(store.facts.ids(FactFilter(theme=self.theme)))}
        elsewhere = {(file.scope, file.notation): path for path, file in files.items() if file.uid not in facts}
        for fact in store.facts.as_written([*facts.values()]):
            path, text, notation = to_fact_path(fact.uid), format_fact_file(fact, project), to_notation(fact)
            file, reason = files.get(path), self._find_refusal(fact)
            is_other = file is not None and file.notation != notation and not self._was_here(file)
            if reason is None and path in present and (file is None or is_other):
                reason = "its file was changed in the repository; commit that and pull it first"
            elif reason is None and path not in present and fact.origin.file == path:
                reason = f"its file is on branch {fact.origin.branch} alone"
            elif reason is None and (fact.scope, notation) in elsewhere:
                reason = f"{elsewhere[fact.scope, notation]} says so already"
            if reason:
                plan.left_out[fact.notation] = reason
            elif reason == "" and path in present:
                plan.removed.append(path)
            elif reason is None and present.get(path) == text.encode():
                plan.unchanged += 1
            elif reason is None and scope in (None, fact.scope):
                plan.texts[path] = text
        others = [file.uid for file in files.values() if file.uid not in facts]
        former = [
            fact for fact in store.facts.by_uids(others).values() if fact.theme == self.theme and is_dropped(fact)
        ]
        plan.removed += map(to_fact_path, sorted({fact.uid for fact in former} | store.facts.find_purged(others)))
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
        own, project = self._store.projects.find(self._seen), fact.origin.project
        is_foreign = project != own if self.theme == DEFAULT else project not in (own, None)
        is_chosen = fact.type in CHOSEN or (fact.type is FactType.VALUE and list_shared(fact.cites))
        if not is_chosen or is_foreign or is_person_target(fact.target) or self.theme == PERSONAL:
            return ""
        if find_mark_names(fact.content):
            return "it holds a masked secret"
        return self._store.intake.find_refusal(self.theme, to_notation(fact))

    def read_committed(self) -> CommittedFacts:
        """Read what is committed. :raises ArgumentError: Git gives no answer"""
        commit = self._seen.commit
        try:
            return (
                CommittedFacts(None)
                if commit is None
                else read_committed_facts(self._common, self._seen.branch, commit)
            )
        except GitFailed as error:
            raise ArgumentError(
                f"the repository at {self._seen.root} cannot be read: {error}", self._seen.root
            ) from error

    def plan_pull(self, committed: CommittedFacts, *, agreed: bool = False) -> PullPlan:
        """Return what taking over the committed facts changes here. :param agreed: the person has said yes to all of them"""
        store, plan = self._store, PullPlan(agreed or self.answer is True, mistakes=[*committed.mistakes])
        most = store.policies.for_theme(self.theme).fact_chars
        here = store.facts.by_uids([file.uid for file in committed.files])
        purged = store.facts.find_purged([file.uid for file in committed.files])
        named = {file.uid for file in committed.files} | committed.removed.keys()
        for file in (file for file in committed.files if file.uid not in purged):
            fact, notation = here.get(file.uid), file.notation
            rule = None if fact and fact.content == notation.content else find_waiting_reason(file)
            there, content = self._find_standing(file) if fact is None else (None, "")
            if there is not None and content == notation.content:
                continue  # it is here already, under another id
            is_own_replaced = there not in {None, *named}
            is_asked = not plan.is_agreed or (not agreed and (is_own_replaced or is_asked_again(file)))
            branch = fact.origin.branch if fact and fact.origin.file == file.path else None
            if branch and fact and fact.origin.commit and file.branch == committed.default != branch:
                plan.merged.append((branch, fact.origin.commit))
            if len(notation.content) > most:
                reason = f"its content is longer than the {most} characters of a fact here"
                plan.mistakes.append(FileMistake(file.path, 1, reason))
            elif fact is None:
                plan.new.append(file)
                plan.waiting |= {file.uid: rule or PROPOSED} if rule or is_asked else {}
            elif (fact.theme, fact.type, fact.target) != (self.theme, notation.type, notation.target):
                reason = f"the fact {file.uid} is {fact.type}[{fact.target}] of theme {fact.theme} here"
                plan.mistakes.append(FileMistake(file.path, 1, f"{reason}; its file is not read"))
            elif fact.content == notation.content:
                is_back = fact.tier is Tier.WITHDRAWN and self._value(LAST_OPERATION, file) == "withdraw"
                if self._value(WAITS_AS_PROPOSED, file):
                    (plan.proposed if is_asked else plan.approved).append(file)
                elif is_back and plan.is_agreed:
                    plan.approved.append(file)
            elif fact.tier is not Tier.WITHDRAWN and self._is_newer(file):
                (plan.asking if rule or is_asked else plan.changed).append(file)
        for uid, fact in store.facts.by_uids(committed.removed).items() if plan.is_agreed else ():
            undone_at = store.db.value(WITHDRAWN_AT, (uids.parse_uid(uid),)) or 0
            is_there = fact.theme == self.theme and fact.tier not in (Tier.WITHDRAWN, Tier.SUPERSEDED)
            if is_there and undone_at < committed.removed[fact.uid].at:
                plan.withdrawn.append(fact.uid)
        return plan

    def pull(self, plan: PullPlan) -> PullPlan:
        """Take over what was planned: new facts first, then what changes or hides others, which is one change to undo."""
        store, columns = self._store, dict[Uid, dict[str, Any]]()
        restorer = Restorer(store, self.theme, None)
        for some in in_chunks(plan.new, BATCH):
            items = [(1, self._to_portable(file, plan.waiting.get(file.uid))) for file in some]
            for number, error in restorer.restore_batch(items):
                plan.mistakes.append(FileMistake(some[number].path, 1, error.message))
        for file in plan.changed:
            (admitted,) = store.intake.admit_record(self.theme, file.notation).facts
            columns[file.uid] = {"content": admitted, **admitted.attributes, "cites": file.cites}
        columns |= {uid: {"tier": Tier.WITHDRAWN.value, "pinned": 0} for uid in plan.withdrawn}
        with store.db.write_transaction() as conn:
            change = Mutation(conn, store.names, store.journal, IMPORT)
            approved = [file.uid for file in plan.approved]
            rows = {uid: change.fact_row(uids.parse_uid(uid)) for uid in [*approved, *columns]}
            for uid, row in rows.items():
                if row is not None:
                    op = "restore" if uid not in columns else "withdraw" if uid in plan.withdrawn else "edit"
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
        seen, change, at = self._seen, file.change, file.change.at or self._store.clock()
        origin = Origin(
            Way.IMPORT, project=self._store.projects.recognise(seen), root=seen.root, folder=".", file=file.path
        )
        origin = replace(origin, branch=file.branch, commit=change.commit, voice="heard", heard=change.people or None)
        uid, words, more = uids.parse_uid(file.uid), PortableOrigin(origin), {"cites": file.cites} if file.cites else {}
        fact = PortableFact(uid, file.scope, file.notation, Tier.HOT, IMPORT, at, at, origin=words, more=more)
        return fact.to_waiting(reason) if reason else fact

    def _find_standing(self, file: FactFile) -> tuple[Uid | None, str]:
        """Return the uid and content of the fact that stands here in the place of a file's."""
        place = (self.theme, file.scope or UNSCOPED, file.notation.type.value, file.notation.target)
        row = self._store.db.row(STANDING_THERE, place)
        return (None, "") if row is None else (uids.format_uid(row[0]), row[1])

    def _is_newer(self, file: FactFile) -> bool:
        """Check whether a file says something later than the fact here: by the clock of its version where a team has it."""
        clock = self._value(CLOCK, file)
        if clock is None and not self._was_here(file):
            return True
        changed_at: int = self._value(CHANGED_AT, file) if clock is None else clock >> COUNTER_BITS
        # A time to come is a lie, and would win for ever.
        return changed_at < file.change.at <= self._store.clock() + DAY_MS

    def _was_here(self, file: FactFile) -> bool:
        """Check whether a fact once said here what its file says."""
        return self._value(WAS_HERE, file, file.notation.content) is not None

    def _value(self, sql: str, file: FactFile, *more: str) -> Any:
        return self._store.db.value(sql, (uids.parse_uid(file.uid), *more))


def to_notation(fact: Fact) -> Notation:
    return Notation(fact.type, fact.target, fact.content)


def is_dropped(fact: Fact) -> bool:
    """Check whether a fact is one no longer for everybody: not where a person refused another's."""
    is_own = fact.tier is Tier.WITHDRAWN and fact.origin.voice != "heard"
    return is_own or fact.tier in (Tier.SUPERSEDED, Tier.ARCHIVED)
