"""The steps that relieve one memory file, in order and no further than needed.

They abbreviate, move facts, remove what is in the store already, and in the end move prose of MEMORY.md whole. The
same steps run for a plan and for the real relief; only writing to the store makes the difference. The caller replaces
the file, after the store has acknowledged everything that left it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import TYPE_CHECKING

from hermes_memory_store import errors
from hermes_memory_store.fact_types import ANSWERS, OPEN_TYPES, TYPE_SYMBOLS
from hermes_memory_store.host_files import memory_files
from hermes_memory_store.host_files.memory_files import MemoryFile, MemoryFileKind
from hermes_memory_store.intake.intake import Writer
from hermes_memory_store.items.kinds import FactRow
from hermes_memory_store.items.mutation import find_standing_fact
from hermes_memory_store.language.binding_words import count_negations, find_single_name, is_binding
from hermes_memory_store.language.stop_words import stop_forms
from hermes_memory_store.language.tokenizer import is_unspaced, split_runs
from hermes_memory_store.language.unspaced_scripts import estimate_word_count
from hermes_memory_store.model import IMPORT, FactType, Notation, format_notation
from hermes_memory_store.notation import memory_spec
from hermes_memory_store.notation.shortening import shorten_prose

if TYPE_CHECKING:
    from hermes_memory_store.store import Store

FACT_LINE = re.compile(rf"\s*[{''.join(OPEN_TYPES)}]\s*\[[^\[\]]*[^\[\]\s][^\[\]]*\]\s*:\s*\S")
"""A line that leaves its file as a fact. `✓` and `~` act on other facts, so moving one would change what is stored."""

ANY_FACT = re.compile(rf"(?m)^\s*[{TYPE_SYMBOLS}]\s*\[[^\[\]]*\]\s*:")

MOVING_ORDER = (FactType.VALUE, FactType.DECISION, FactType.UNKNOWN, FactType.CONSTRAINT)
"""What is looked up when needed leaves first; what binds in every turn leaves last."""

LABEL = re.compile(r"([^\W\d_][\w '-]{1,30})(?::\s|：)")
"""A label at the beginning, `Checkout form: …`, which names what the entry is about."""

WORD = re.compile(r"[^\W_][\w-]*[^\W_]")

SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|[\n。！？；]")

MARKS, SUBJECTS = "*_\"'“”„«»`()•", frozenset(["", "-", "the", "user", "usr"])

TARGET_WORDS = 2
"""Words of the text in a target that no label names."""

NAME_CHARS = 8
"""Characters of a run without spaces that go into a target."""

FEWEST_WORDS = 4
"""With fewer words, a text says nothing that could be found again."""

FACT_IN_STORE = """
    SELECT uid FROM facts
    WHERE theme_id = ? AND tier IN ('hot', 'cold') AND type = ? AND target = ? AND content = ?
    LIMIT 1
"""
"""Exactly this fact, where a search of the theme finds it, in whatever scope."""


@dataclass(frozen=True, slots=True)
class KeptEntry:
    """An entry of facts that had to stay in its file."""

    entry: str
    reason: str

    def __str__(self) -> str:
        return f"{self.entry}: {self.reason}"


class ReliefSteps:
    def __init__(
        self, store: Store, theme: str, file: MemoryFile, text: str, target_pct: float, *, dry_run: bool
    ) -> None:
        self.entries = memory_files.parse_entries(text)
        self.abbreviated = self.migrated = self.removed = 0
        self.kept: list[KeptEntry] = []
        self.changes: list[int] = []
        self.left: list[bytes] = []
        """Uids of the facts that left the file."""
        self._store = store
        self._theme = theme
        self._file = file
        self._target_pct = target_pct
        self._dry_run = dry_run
        self._originals: dict[str, str] = {}
        """What an abbreviated entry said before."""
        self._moved: list[Notation] = []
        self._gone: list[Notation] = []

    @property
    def pct(self) -> float:
        return 100.0 * memory_files.count_entry_chars(self.entries) / self._file.limit

    @property
    def is_below_target(self) -> bool:
        return self.pct < self._target_pct or not self.entries

    def take_all(self) -> None:
        """Take the steps until the target is reached or nothing is left to do."""
        self._abbreviate()
        self._remove_repeated()
        facts = self._facts()
        there = [entry for entry, notations in facts.items() if all(map(self._find_same_fact, notations))]
        self._migrate({entry: notations for entry, notations in facts.items() if entry not in there})
        for entry in there:
            if self.is_below_target:
                return
            self.removed += 1
            self._drop(entry, facts[entry])
        self._migrate_prose()

    def verify_moved(self) -> None:
        """Verify that the store has all that leaves the file. :raises Conflict: another writer removed a fact meanwhile"""
        for notation in self._gone:
            uid = self._find_same_fact(notation)
            if uid is None:
                name = self._file.path.name
                raise errors.Conflict(f"{notation} left the store meanwhile; {name} was not changed", str(notation))
            self.left.append(uid)

    def shortfall_reason(self) -> str | None:
        """Return why the target was not reached, None when it was."""
        if self.is_below_target:
            return None
        prose = [entry for entry in self.entries if entry not in {kept_entry.entry for kept_entry in self.kept}]
        reasons = []
        if prose:
            which = "" if self._file.kind is MemoryFileKind.MEMORY else ", of which none repeats or supersedes another,"
            reasons.append(
                f"{format_plural(len(prose), 'entry', 'entries')} of prose ({memory_files.count_entry_chars(prose)} characters)"
                f"{which} cannot be shortened without a person or an agent"
            )
        if self.kept:
            reasons.append(f"{format_plural(len(self.kept), 'entry', 'entries')} of facts had to stay")
        target = f"the target of {self._target_pct:g} %"
        return f"{self._file.path.name} stays at {self.pct:.1f} %, above {target}: " + "; ".join(reasons)

    def _abbreviate(self) -> None:
        """Shorten prose, the largest saving first, so that as few entries as possible are touched."""
        shorter = {entry: shorten_entry(entry) for entry in self.entries}
        for entry in sorted(self.entries, key=lambda entry: len(shorter[entry]) - len(entry)):
            if self.is_below_target or len(shorter[entry]) >= len(entry):
                return
            self.entries[self.entries.index(entry)] = shorter[entry]
            self._originals[shorter[entry]] = entry
            self.abbreviated += 1

    def _remove_repeated(self) -> None:
        """Remove prose of USER.md that other entries say, sentence for sentence, or that a newer one supersedes."""
        if self._file.kind is not MemoryFileKind.USER:
            return
        prose = [entry for entry in self.entries if not ANY_FACT.search(entry)]
        for entry in list(prose):
            if self.is_below_target:
                return
            rest, newer = [other for other in prose if other != entry], prose[prose.index(entry) + 1 :]
            name = find_single_name(entry)
            is_repeated = find_statements(entry) <= set().union(*map(find_statements, rest))
            if is_repeated or (name is not None and name in map(find_single_name, newer)):
                prose.remove(entry)
                self.removed += 1
                self.abbreviated -= entry in self._originals
                self._drop(entry, [])

    def _facts(self) -> dict[str, list[Notation]]:
        """Return the entries that can leave as facts; others that look like facts are kept with the reason."""
        limit = self._store.policies.for_theme(self._theme).fact_chars
        facts: dict[str, list[Notation]] = {}
        for entry in self.entries if not self.is_below_target else ():
            lines = [line for line in entry.splitlines() if line.strip()]
            if not all(FACT_LINE.match(line) for line in lines):
                continue
            try:
                facts[entry] = [memory_spec.parse_notation(line, limit=limit) for line in lines]
            except errors.InputError as error:
                self.kept.append(KeptEntry(entry, str(error)))
        contents: dict[tuple[FactType, str], set[str]] = defaultdict(set)
        for notation in (notation for some in facts.values() for notation in some):
            contents[notation_place(notation)].add(notation.content)
        for entry in list(facts):
            # Between different contents for one target a person must choose.
            several = [notation for notation in facts[entry] if len(contents[notation_place(notation)]) > 1]
            if several:
                number, where = len(contents[notation_place(several[-1])]), several[-1]
                reason = f"the file says {number} different things about {where.type.value}[{where.target}]"
                self.kept.append(KeptEntry(entry, reason))
                del facts[entry]
        return facts

    def _migrate(self, facts: dict[str, list[Notation]]) -> None:
        """Move whole entries to the store, and remove them from the list once it has them."""
        for entry in sorted(facts, key=lambda entry: max(MOVING_ORDER.index(fact.type) for fact in facts[entry])):
            if self.is_below_target:
                return
            moved = {(notation_place(fact), fact.content) for fact in self._moved}
            missing = [
                fact
                for fact in facts[entry]
                if (notation_place(fact), fact.content) not in moved and not self._find_same_fact(fact)
            ]
            reason = self._move(missing)
            if reason is not None:
                self.kept.append(KeptEntry(entry, reason))
                continue
            self.migrated += len(missing)
            self._moved += missing
            self._drop(entry, facts[entry])

    def _migrate_prose(self) -> None:
        """Move prose whole, in its own words: what merely holds before what binds, and the longest first.

        USER.md says who the person is, which is meant to stand before every turn: the rest of its prose stays.
        """
        if self._file.kind is MemoryFileKind.USER:
            return
        prose = [entry for entry in self.entries if not ANY_FACT.search(entry)]
        limit = self._store.policies.for_theme(self._theme).fact_chars
        for entry in sorted(prose, key=lambda entry: (is_binding(entry), -len(entry))):
            if self.is_below_target:
                return
            notation = next(filter(self._is_free, find_prose_facts(self._originals.get(entry, entry), limit)), None)
            if notation is None:
                continue
            if notation in self._moved or self._find_same_fact(notation):
                self.removed += 1
            elif self._move([notation]) is None:
                self.migrated += 1
                self._moved.append(notation)
            else:
                continue
            self.abbreviated -= entry in self._originals
            self._drop(entry, [notation])

    def _is_free(self, notation: Notation) -> bool:
        """Check whether nothing else stands in the place of a fact: neither in the store nor moved just now."""
        moved = [fact.content for fact in self._moved if notation_place(fact) == notation_place(notation)]
        standing = self._find_standing_fact(notation.type, notation.target)
        return {*moved, *([] if standing is None else [standing.content])} <= {notation.content}

    def _drop(self, entry: str, facts: Sequence[Notation]) -> None:
        self.entries.remove(entry)
        self._gone += [] if self._dry_run else facts

    def _move(self, facts: Sequence[Notation]) -> str | None:
        """Write facts to the store, all or none; return the reason when they have to stay in the file."""
        if self._dry_run:
            refusals = (self._refusal(notation, facts[:number]) for number, notation in enumerate(facts))
            return next((reason for reason in refusals if reason is not None), None)
        changes: list[int] = []
        try:
            # What stands there is looked at in the transaction that writes: nobody can come in between.
            with self._store.db.write_transaction():
                for notation in facts:
                    reason = self._refusal(notation)
                    if reason is not None:
                        raise errors.FactConflict(reason, str(notation))
                    changes += self._store.facts.write(self._theme, notation, actor=IMPORT, writer=Writer.AGENT).seqs
                    if not self._find_same_fact(notation):
                        raise errors.FactConflict("the store did not take it as it is", str(notation))
        except (errors.InputError, errors.Conflict, errors.MemoryFull) as error:
            return str(error)
        self.changes += changes
        return None

    def _refusal(self, notation: Notation, before: Sequence[Notation] = ()) -> str | None:
        """Return why a fact may not be written: it would change what the store says, or not fit. None when it may.

        :param before: facts that a plan counts as written, besides those it has moved
        """
        try:
            self._store.tiers.refuse_overfull(self._store.tiers.gauge(self._theme), len(str(notation)))
        except errors.MemoryFull as error:
            return str(error)
        reason = self._store.intake.find_refusal(self._theme, notation)
        if reason is not None:
            return reason
        standing = self._find_standing_fact(notation.type, notation.target)
        if standing is not None and standing.content != notation.content:
            return f"the store says otherwise: {format_notation(notation.type, standing.target, standing.content)}"
        if notation.type in ANSWERS and self._find_standing_fact(FactType.OBSOLETE, notation.target) is not None:
            return f"the store calls {notation.target} obsolete; write it anew if it holds again"
        is_asked = (FactType.UNKNOWN, notation_place(notation)[1]) in map(notation_place, [*self._moved, *before])
        if notation.type in ANSWERS and (
            is_asked or self._find_standing_fact(FactType.UNKNOWN, notation.target) is not None
        ):
            return f"it would close the open question ?[{notation.target}] in the store"
        return None

    def _find_standing_fact(self, kind: FactType, target: str) -> FactRow | None:
        """Find the fact without a scope that a write of this type and target would replace."""
        with self._store.db.snapshot() as conn:
            theme_id = self._store.names.theme_or_none(self._theme)
            scope = None if theme_id is None else self._store.names.scope_or_none(theme_id, None)
            if scope is None:
                return None
            return find_standing_fact(conn, scope.id, kind, target)

    def _find_same_fact(self, notation: Notation) -> bytes | None:
        """Return the uid of the fact that says exactly this, None when the store has none."""
        theme_id = self._store.names.theme_or_none(self._theme)
        row = self._store.db.row(FACT_IN_STORE, (theme_id, notation.type.value, notation.target, notation.content))
        return None if row is None else bytes(row[0])


def find_prose_facts(entry: str, limit: int) -> Iterator[Notation]:
    """Yield the entry as a fact, under one target after another, until the caller finds a free one.

    :param limit: characters that a fact may have in its theme
    """
    text = entry.strip()
    count = sum(estimate_word_count(run) for run in split_runs(text) if len(run) > 1)
    if "\n" in text or "```" in text or count < FEWEST_WORDS:
        return
    kind = FactType.CONSTRAINT if is_binding(text) else FactType.VALUE
    # What it says it is about, else its first words of substance.
    label = LABEL.match(text)
    words = [word.casefold() for word in WORD.findall(label[1] if label else text)]
    words = [word[:NAME_CHARS] if is_unspaced(word) else word for word in words]
    telling = [
        word for word in words if word not in stop_forms() and (len(word) > 2 or word.isdigit() or not word.isascii())
    ] or words
    name = ".".join(telling[:TARGET_WORDS] if label is None else telling[: TARGET_WORDS + 1])
    for number in range(1, 10):
        target = name if number == 1 else f"{name}.{number}"
        try:
            yield memory_spec.parse_notation(format_notation(kind, target, text), limit=limit)
        except errors.InputError:
            return


def find_statements(entry: str) -> set[tuple[str, ...]]:
    """Return what an entry says as the words of its sentences, without marks around them or the user as the subject."""
    sentences = (
        [word.strip(MARKS).rstrip(MARKS + ",.:;!?") for word in sentence.split()]
        for sentence in SENTENCE_END.split(shorten_prose(entry).casefold())
    )
    return {tuple(dropwhile(SUBJECTS.__contains__, words)) for words in sentences} - {()}


def shorten_entry(entry: str) -> str:
    """Abbreviate an entry of prose; return it unchanged when it holds facts, or when nothing is saved."""
    if ANY_FACT.search(entry):
        return entry
    short = shorten_prose(entry).strip()
    kept_whole = memory_files.parse_entries(short) == [short] and count_negations(short) == count_negations(entry)
    return short if kept_whole and len(short) < len(entry) else entry


def notation_place(notation: Notation) -> tuple[FactType, str]:
    """Return the place of a fact. Case counts as in the store (SQLite's NOCASE): that of A to Z does not."""
    return notation.type, "".join(letter.lower() if letter.isascii() else letter for letter in notation.target)


def format_plural(number: int, singular: str, several: str) -> str:
    return f"{number} {singular if number == 1 else several}"
