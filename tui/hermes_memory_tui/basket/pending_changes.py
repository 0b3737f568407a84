"""`Basket`: changes that were gathered and not done yet, each with the facts or scopes as they were then.

It is saved at every change, so that neither a crash nor leaving the inspector loses it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import ChangeResult, Fact, Scope
from hermes_memory_store.places.citations import cite_named
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.uids import parse_uid, short_uid
from hermes_memory_tui.model import bulk_actions
from hermes_memory_tui.model.bulk_actions import MAX_DRY_RUN, BulkAction
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.text import display_formats

if TYPE_CHECKING:
    from hermes_memory_store.relief.tidying import TidyStep


@dataclass(frozen=True, slots=True)
class Subject:
    """A fact or a scope, as it was when its change was gathered or decided again."""

    entity: str
    """`fact` or `scope`."""
    uid: str
    theme: str
    name: str
    state: dict[str, Any] = field(default_factory=dict)
    """What somebody may change meanwhile: content, tier, pin and scope; label and status."""
    waits: bool = False
    """Whether it was put off: it stays in the basket when the rest is done."""


def to_subject(item: Fact | Scope) -> Subject:
    if isinstance(item, Scope):
        state: dict[str, Any] = {"label": item.label, "status": item.status.value}
        return Subject("scope", item.uid, item.theme, to_printable(item.label), state)
    state = {"content": item.content, "tier": item.tier.value, "pinned": item.pinned, "scope": item.scope}
    return Subject("fact", item.uid, item.theme, display_formats.fact_name(item), state)


def to_pending(step: TidyStep) -> PendingChange:
    """Return a step as a change, which gets its number in a basket."""
    action = "supersede" if step.action == "merge" else step.action
    return PendingChange(0, action, (to_subject(step.fact),), step.value, step.reason)


def cite_place(store: Store, uid: str, place: str) -> ChangeResult:
    return store.citations.add(uid, [cite_named(str(Path(place).parent), place, store.clock())])


@dataclass(frozen=True, slots=True)
class PendingAction:
    group: str
    """Of the actions of one group only the last counts for a fact: a fact that is archived after all is not cooled."""
    run: Callable[[Store, Sequence[Subject], str | None], object]


def run_bulk(action: BulkAction) -> PendingAction:
    return PendingAction("tier", lambda store, subjects, _: action.run(store, [subject.uid for subject in subjects]))


def run_each(group: str, run: Callable[[Store, Subject, str | None], object]) -> PendingAction:
    """Return an action that is done to one fact or scope after the other."""
    return PendingAction(group, lambda store, subjects, value: [run(store, subject, value) for subject in subjects])


ACTIONS: Mapping[str, PendingAction] = {
    **{
        action.word: run_bulk(action)
        for action in (
            bulk_actions.PIN,
            bulk_actions.UNPIN,
            bulk_actions.WARM,
            bulk_actions.COOL,
            bulk_actions.ARCHIVE,
            bulk_actions.RESTORE,
        )
    },
    "approve": PendingAction("tier", lambda store, subjects, _: store.facts.approve([fact.uid for fact in subjects])),
    "reject": PendingAction("tier", lambda store, subjects, _: store.facts.refuse([fact.uid for fact in subjects])),
    "edit": run_each("content", lambda store, fact, value: store.facts.edit(fact.uid, value or "")),
    "supersede": PendingAction(
        "tier", lambda store, subjects, by: store.facts.merge_into(by or "", [fact.uid for fact in subjects])
    ),
    "cite": run_each("cites", lambda store, fact, place: cite_place(store, fact.uid, place or "")),
    "move": PendingAction(
        "place", lambda store, subjects, value: store.facts.move([fact.uid for fact in subjects], value)
    ),
    "merge": run_each(
        "place", lambda store, scope, value: store.scopes.merge(scope.theme, scope.state["label"], value or "")
    ),
    "close": run_each("status", lambda store, scope, _: store.scopes.close(scope.theme, scope.state["label"])),
    "reopen": run_each("status", lambda store, scope, _: store.scopes.reopen(scope.theme, scope.state["label"])),
}
"""By the word that names each."""

VALUED = ("edit", "merge", "supersede", "cite")

OF_SCOPES = ("merge", "close", "reopen")
"""Those that are done to scopes; the others are done to facts."""

FACT_STATE = ("content", "tier", "pinned", "scope")

SCOPE_STATE = ("label", "status")


@dataclass(frozen=True, slots=True)
class PendingChange:
    """One gathered change of some facts or scopes."""

    number: int
    action: str
    subjects: tuple[Subject, ...]
    value: str | None = None
    """The new content, the scope to move to or to merge into, the uid of the fact that stays, the place that is cited; None is no
    scope."""
    reason: str = ""
    """Why it was proposed; empty where the person thought of it."""

    @property
    def words(self) -> str:
        """What it does: `move to launch`."""
        match self.action:
            case "move":
                return "move to no scope" if self.value is None else f"move to {to_printable(self.value)}"
            case "merge":
                return f"merge into {to_printable(self.value or '')}"
            case "supersede":
                return f"merge into {short_uid(self.value or '')}"
            case "cite":
                return f"cite {to_printable((self.value or '').rpartition('/')[2])}"
        return self.action

    @property
    def name(self) -> str:
        if len(self.subjects) == 1:
            subject = self.subjects[0]
            return subject.name if subject.entity == "fact" else f"scope {subject.name}"
        return display_formats.pluralise(len(self.subjects), self.subjects[0].entity)


class KeptBaskets(Protocol):
    trouble: str

    def basket(self, of: str) -> list[Any]:
        """Return the saved changes for one memory file."""

    def set_basket(self, of: str, changes: list[Any]) -> None:
        """Save the changes for one memory file."""


class Basket:
    """The gathered changes for one memory file. May be used from any thread."""

    def __init__(self, storage: KeptBaskets, file: str) -> None:
        self._kept = storage
        self._file = file
        self._lock = threading.Lock()
        self.is_gathering = False
        """Whether changes are gathered now, instead of done."""
        self.trouble = ""
        """Why the last change of it could not be saved; empty when it was."""
        self.changes: tuple[PendingChange, ...] = tuple(parse_changes(storage.basket(file)))
        """In the order they will be done."""
        self._last_number = max((change.number for change in self.changes), default=0)
        self.version = len(self.changes)
        """Rises with every change of what is in it."""
        self.pending = describe_pending(self.changes)
        """What waits for each fact or scope, in words, by uid."""

    @property
    def note(self) -> str:
        """What the title says of it; empty when there is nothing to say."""
        if not self.changes:
            return "basket: gathering" if self.is_gathering else ""
        note = f"basket: {display_formats.pluralise(len(self.changes), 'change')}"
        return f"{note}, gathering" if self.is_gathering else note

    def gather(self, action: str, subjects: Sequence[Subject], value: str | None = None) -> str:
        """Add a change, and return what to say of it. The very same change again takes it out.

        :raises ArgumentError: the basket would hold too many facts
        """
        if not subjects:
            return "selection no longer exists"
        with self._lock:
            change = PendingChange(0, action, tuple(subjects), value)
            uids = {subject.uid for subject in subjects}
            same = [other for other in self.changes if (other.action, other.value) == (action, value)]
            if uids <= {subject.uid for other in same for subject in other.subjects}:
                self._set(without_subjects(self.changes, uids, lambda other: other in same))
                return f"{change.words} of {change.name} taken out of the basket"
            group = ACTIONS[action].group
            rest = without_subjects(self.changes, uids, lambda other: ACTIONS[other.action].group == group)
            if sum(len(other.subjects) for other in rest) + len(subjects) > MAX_DRY_RUN:
                raise ArgumentError(
                    f"the basket holds at most {MAX_DRY_RUN:,} facts, which are previewed together; do what is in it first"
                )
            self._last_number += 1
            self._set([*rest, replace(change, number=self._last_number)])
        return f"gathered: {change.words} of {change.name}"

    def add_proposals(self, changes: Iterable[PendingChange]) -> int:
        """Add changes of facts for which none is gathered, as many as are previewed together; return how many."""
        with self._lock:
            room = MAX_DRY_RUN - sum(len(change.subjects) for change in self.changes)
            fresh = [change for change in changes if change.subjects[0].uid not in self.pending][: max(0, room)]
            numbered = [replace(change, number=self._last_number + place) for place, change in enumerate(fresh, 1)]
            self._last_number += len(fresh)
            self._set([*self.changes, *numbered])
        return len(fresh)

    def take_back(self) -> str | None:
        """Take out the change that was gathered last; return what to say, or None when the basket is empty."""
        with self._lock:
            if not self.changes:
                return None
            *rest, last = self.changes
            self._set(rest)
        return f"{last.words} of {last.name} taken out of the basket"

    def remove(self, numbers: Iterable[int]) -> None:
        removed = set(numbers)
        with self._lock:
            self._set([change for change in self.changes if change.number not in removed])

    def decide(self, number: int, uid: str, present: Subject | None) -> None:
        """Decide again what becomes of one fact of a change: it takes it as it is now, or leaves it as it is.

        :param present: the fact as the person saw it; None takes it out of the change
        """
        with self._lock:
            changes = without_subjects(
                self.changes, () if present is not None else (uid,), lambda change: change.number == number
            )
            if present is not None:
                changes = [
                    replace(
                        change,
                        subjects=tuple(present if subject.uid == uid else subject for subject in change.subjects),
                    )
                    if change.number == number
                    else change
                    for change in changes
                ]
            self._set(changes)

    def put_off(self, number: int, uid: str) -> None:
        """Leave one fact of a change in the basket when the rest is done, or no longer."""
        matches = (
            subject
            for change in self.changes
            if change.number == number
            for subject in change.subjects
            if subject.uid == uid
        )
        for match in matches:
            self.decide(number, uid, replace(match, waits=not match.waits))

    def forget_purged_in(self, memory: Memory, say: Callable[[list[str]], object]) -> None:
        """Take out the facts that were erased, of which nothing may stay here either.

        :param say: called with their names, when there are any
        """
        subjects = {
            subject.uid: subject.name
            for change in self.changes
            for subject in change.subjects
            if subject.entity == "fact"
        }
        merges = [change for change in self.changes if change.action == "supersede"]
        subjects |= {change.value or "": f"{change.words} of {change.name}" for change in merges}
        purged = memory.read_view(lambda store: store.facts.find_purged(subjects)) if subjects else set()
        if purged:
            with self._lock:
                rest = [change for change in self.changes if change.value not in purged]
                self._set(without_subjects(rest, purged, lambda _: True))
            say([name for uid, name in subjects.items() if uid in purged])

    def finish(self, done: Iterable[PendingChange]) -> None:
        """Take out what was done, but for what was put off in it, and end gathering."""
        keys = {(change.number, subject.uid) for change in done for subject in change.subjects if not subject.waits}
        with self._lock:
            rest = (
                replace(
                    change, subjects=tuple(item for item in change.subjects if (change.number, item.uid) not in keys)
                )
                for change in self.changes
            )
            self._set(change for change in rest if change.subjects)
            self.is_gathering = False

    def pending_edit(self, uid: str) -> str | None:
        """Return the content that waits to replace that of a fact."""
        edits = (change for change in self.changes if change.action == "edit" and change.subjects[0].uid == uid)
        return next((edit.value for edit in edits), None)

    def _set(self, changes: Iterable[PendingChange]) -> None:
        self.changes = tuple(changes)
        self.pending = describe_pending(self.changes)
        self.version += 1
        self._kept.set_basket(self._file, [asdict(change) for change in self.changes])
        self.trouble = self._kept.trouble


def without_subjects(
    changes: Iterable[PendingChange], uids: Iterable[str], concerns: Callable[[PendingChange], bool]
) -> list[PendingChange]:
    """Return the changes, without some facts in those concerned; what is empty then goes."""
    removed, rest = set(uids), []
    for change in changes:
        if concerns(change):
            change = replace(change, subjects=tuple(item for item in change.subjects if item.uid not in removed))
        if change.subjects:
            rest.append(change)
    return rest


def describe_pending(changes: Iterable[PendingChange]) -> dict[str, str]:
    """Return what waits for each fact or scope, in words, by uid."""
    pending: dict[str, list[str]] = {}
    for change in changes:
        for subject in change.subjects:
            pending.setdefault(subject.uid, []).append(change.words)
    return {uid: ", ".join(words) for uid, words in pending.items()}


def parse_changes(saved: Iterable[Any]) -> list[PendingChange]:
    """Parse saved changes; one that is damaged is left out, since what it would do is not known."""
    changes = []
    for entry in saved:
        try:
            subjects = tuple(Subject(**subject) for subject in entry["subjects"])
            change = PendingChange(entry["number"], entry["action"], subjects, entry["value"], entry.get("reason", ""))
        except (KeyError, TypeError):
            continue
        if is_sound(change):
            changes.append(change)
    return changes


def is_sound(change: PendingChange) -> bool:
    texts = (
        change.action,
        change.reason,
        *(text for subject in change.subjects for text in (subject.uid, subject.theme, subject.name)),
    )
    if not isinstance(change.number, int) or not all(isinstance(text, str) for text in texts):
        return False
    of_scopes, needs_value = change.action in OF_SCOPES, change.action in VALUED
    return (
        change.action in ACTIONS
        and isinstance(change.value, str if needs_value else str | None)
        and (len(change.subjects) == 1 or (bool(change.subjects) and change.action != "edit"))
        and all(is_sound_subject(subject, SCOPE_STATE if of_scopes else FACT_STATE) for subject in change.subjects)
    )


def is_sound_subject(subject: Subject, state: Collection[str]) -> bool:
    """Check whether a saved fact or scope is one. :param state: names of what is kept of it"""
    try:
        parse_uid(subject.uid)
    except ValueError:
        return False
    is_scope = state is SCOPE_STATE
    return (
        subject.entity == ("scope" if is_scope else "fact")
        and isinstance(subject.waits, bool)
        and isinstance(subject.state, dict)
        and set(subject.state) == set(state)
        and (not is_scope or isinstance(subject.state["label"], str))
    )
