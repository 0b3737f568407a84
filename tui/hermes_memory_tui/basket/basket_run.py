"""Do the changes of a basket, all or none, or find out exactly what they would do.

The preview is the run itself in a transaction that is rolled back, so the rules of the store decide and need no copy.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from hermes_memory_store import errors
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Change, Fact, Gauge, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.basket.pending_changes import (
    ACTIONS,
    PendingChange,
    Subject,
    to_subject,
)
from hermes_memory_tui.model.bulk_actions import MAX_SAMPLES, DryRunRollback, names_by_uid
from hermes_memory_tui.text import display_formats

COUNTS = ("[MEMORY ", "(+")
"""How the lines of a context block begin that count its facts."""


@dataclass(frozen=True, slots=True)
class OutdatedSubject:
    """A fact or scope that somebody changed after its change was gathered."""

    gathered: Subject
    present: Subject | None
    """None when it is there no more."""
    by: str
    """Who changed it last."""

    @property
    def differences(self) -> list[tuple[str, object, object]]:
        """What changed: its name, as it was and as it is."""
        if self.present is None:
            return []
        then = {**self.gathered.state, "theme": self.gathered.theme}
        now = {**self.present.state, "theme": self.present.theme}
        return [(name, was, now[name]) for name, was in then.items() if now[name] != was]


@dataclass(frozen=True, slots=True)
class ChangeOutcome:
    change: PendingChange
    rows: int
    """Rows of the journal; 0 when everything is so already."""
    outdated: tuple[OutdatedSubject, ...]
    """To be decided again before anything is done."""
    refused: errors.StoreError | None
    """Why the store would not do it."""


@dataclass(frozen=True, slots=True)
class ThemeContext:
    lines: tuple[str, ...]
    """Without those that only count: how full the tier is, how many facts are left out."""
    tokens: int
    gauge: Gauge


@dataclass(frozen=True, slots=True)
class BasketOutcome:
    changes: list[ChangeOutcome]
    contexts: list[tuple[ThemeContext, ThemeContext]]
    """Before and after, of each theme it touches."""
    others: list[Change]
    """Changes of facts and scopes that are not in it: superseded, cooled by pressure, opened."""
    names: dict[str, str]
    """Names of these, by uid."""

    @property
    def undecided(self) -> int:
        """Number of facts and scopes that must be decided again."""
        return sum(len(change.outdated) for change in self.changes)

    @property
    def changed_contexts(self) -> list[tuple[ThemeContext, ThemeContext]]:
        return [(before, after) for before, after in self.contexts if before != after]

    @property
    def refused(self) -> ChangeOutcome | None:
        """The first change that the store would refuse."""
        return next((change for change in self.changes if change.refused is not None), None)


def preview_basket(store: Store, changes: Sequence[PendingChange]) -> BasketOutcome:
    """Return what a basket would do, without changing anything.

    :raises FileError: when the store cannot be written just now
    """
    chosen = {subject.uid for change in changes for subject in change.subjects}
    outcome = BasketOutcome([], [], [], {})
    if not changes:
        return outcome
    try:
        with store.intake.hold_secrets(), store.journal.join_changes() as conn:
            themes = list(dict.fromkeys(subject.theme for subject in load_present(store, changes).values()))
            before = [load_context(store, theme) for theme in themes]
            since = store.journal.last_seq()
            outcomes = run_changes(store, conn, changes)
            effects = [row for row in store.journal.changes(since=since) if row.uid not in chosen]
            after = [load_context(store, theme) for theme in themes]
            names = names_by_uid(store, effects[:MAX_SAMPLES])
            outcome = BasketOutcome(outcomes, list(zip(before, after, strict=True)), effects, names)
            raise DryRunRollback
    except DryRunRollback:
        return outcome


def apply_basket(store: Store, changes: Sequence[PendingChange]) -> list[ChangeOutcome]:
    """Do all changes of a basket as one, or none of them; return what each of them did.

    What was put off is left out.

    :raises FactConflict: somebody changed a fact since it was gathered; nothing was changed then
    :raises StoreError: the store refuses one of them; nothing was changed then
    """
    with store.journal.join_changes() as conn:
        outcomes = run_changes(store, conn, changes)
        for outcome in outcomes:
            if outcome.outdated:
                names = ", ".join(subject.gathered.name for subject in outcome.outdated)
                raise errors.FactConflict(f"changed meanwhile: {names}; decide again, nothing was done", names)
            if outcome.refused is not None:
                raise outcome.refused
        return outcomes


def preview_edit(store: Store, base: Fact, content: str, *, confirmed: bool) -> str:
    """Return the content that an edit would leave, without changing anything.

    :param confirmed: the person agreed to remove hidden characters
    :raises ArgumentError: it holds a secret, which is not written to the file of gathered changes
    :raises FactConflict: the fact was changed after the person started editing
    :raises StoreError: as `Facts.edit`
    """
    contents: list[str] = []
    try:
        with store.intake.hold_secrets(), store.db.write_transaction():
            fact = store.facts.get(base.uid)
            if fact.content != base.content:
                actor = display_formats.actor_name(fact.actor)
                raise errors.FactConflict(
                    f"{display_formats.fact_name(base)} was changed by {actor} meanwhile", base.uid
                )
            try:
                store.facts.edit(base.uid, content, confirmed=False)
            except errors.SecretUnconfirmed as error:
                refusal = "a secret cannot wait in the basket; esc, b ends gathering, then save it"
                raise errors.ArgumentError(refusal) from error
            except errors.UnsafeText:
                if not confirmed:
                    raise
                store.facts.edit(base.uid, content, confirmed=True)
            contents.append(store.facts.get(base.uid).content)
            raise DryRunRollback
    except DryRunRollback:
        return contents[0]


def run_changes(store: Store, conn: sqlite3.Connection, changes: Sequence[PendingChange]) -> list[ChangeOutcome]:
    """Run changes one after the other in a running transaction; what is refused, put off or outdated does nothing."""
    present = load_present(store, changes)
    outcomes = []
    for change in changes:
        active = [
            subject
            for subject in change.subjects
            if not subject.waits and is_current(subject, present.get(subject.uid))
        ]
        outdated = tuple(
            OutdatedSubject(subject, present.get(subject.uid), find_last_author(store, subject))
            for subject in change.subjects
            if not subject.waits
            and not is_current(subject, present.get(subject.uid))
            and not is_done(store, conn, change, subject, present)
        )
        since, refused = store.journal.last_seq(), None
        if active:
            try:
                with store.db.savepoint(conn):
                    ACTIONS[change.action].run(store, active, change.value)
            except errors.FileError:
                raise
            except errors.StoreError as error:
                refused = error
        outcomes.append(ChangeOutcome(change, store.journal.last_seq() - since, outdated, refused))
    return outcomes


def load_present(store: Store, changes: Sequence[PendingChange]) -> dict[str, Subject]:
    """Load the facts and scopes of a basket as they are, by uid, without those that are there no more."""
    uids = {subject.uid for change in changes for subject in change.subjects if subject.entity == "fact"}
    facts = store.facts.by_uids(uids).values() if uids else ()
    subjects: dict[str, Subject] = {fact.uid: to_subject(fact) for fact in facts if fact.tier is not Tier.WITHDRAWN}
    if any(subject.entity == "scope" for change in changes for subject in change.subjects):
        subjects |= {scope.uid: to_subject(scope) for scope in store.scopes.list()}
    return subjects


def is_current(gathered: Subject, present: Subject | None) -> bool:
    return present is not None and (present.theme, present.state) == (gathered.theme, gathered.state)


def is_done(
    store: Store, conn: sqlite3.Connection, change: PendingChange, subject: Subject, present: dict[str, Subject]
) -> bool:
    """Check whether a change would change nothing of a fact any more: somebody did the same, or the run before a crash."""
    current = present.get(subject.uid)
    if current is None:
        return False
    since = store.journal.last_seq()
    try:
        with store.db.savepoint(conn):
            ACTIONS[change.action].run(store, [current], change.value)
            if store.journal.last_seq() > since:
                raise DryRunRollback
    except (DryRunRollback, errors.StoreError):
        return False
    return True


def find_last_author(store: Store, subject: Subject) -> str:
    rows = store.journal.changes(uid=subject.uid, limit=1, newest_first=True)
    return display_formats.actor_name(rows[0].actor) if rows else "somebody"


def load_context(store: Store, theme: str) -> ThemeContext:
    """Load what an agent of a theme is given at its start, as the running transaction has it."""
    block = store.context.status(theme, record=False, situation=store.context.present_situation())
    lines = tuple(line for line in block.text.split("\n") if not line.startswith(COUNTS))
    return ThemeContext(lines, block.tokens, store.tiers.gauge(theme))
