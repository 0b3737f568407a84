"""Actions on many facts at once, with an exact preview of what each would change.

The preview is a dry run: the action itself, inside a transaction that is rolled back, so the rules of the
store decide and need no copy here. A purge is only counted, since erased data cannot be restored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field, replace

from hermes_memory_store.errors import FileError, StoreError
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Change, Fact, FactPurgePlan, FactType, Gauge, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.text import display_formats

MAX_SAMPLES = 1_000
"""Facts a preview lists, all that fit into a dry run; more are counted."""

MAX_DRY_RUN = 1_000
"""Facts of a dry run: it holds the lock that agents write under, half a second for so many. More are only counted."""


@dataclass(frozen=True, slots=True)
class BulkAction:
    word: str
    """The verb: `archive`."""
    done: str
    """The past participle: `archived`."""
    run: Callable[[Store, list[str]], object]
    final: bool = False
    """Whether it cannot be undone."""
    scope: str | None = None
    """The scope that it moves to."""

    @property
    def name(self) -> str:
        """The verb alone: `move`."""
        return self.word.partition(" ")[0]


ARCHIVE = BulkAction("archive", "archived", lambda store, uids: store.facts.archive(uids))
RESTORE = BulkAction("restore", "restored", lambda store, uids: store.facts.restore(uids))
WARM = BulkAction("warm", "warmed", lambda store, uids: store.facts.warm(uids))
COOL = BulkAction("cool", "cooled", lambda store, uids: store.facts.cool(uids))
PIN = BulkAction("pin", "pinned", lambda store, uids: store.facts.pin(uids, True))
UNPIN = BulkAction("unpin", "unpinned", lambda store, uids: store.facts.pin(uids, False))
PURGE = BulkAction("purge", "purged", lambda store, uids: store.purge.execute_facts(uids), final=True)


def move_to_scope(label: str | None) -> BulkAction:
    """Return the action that moves facts to a scope of their theme, or out of any scope when None."""
    where = "no scope" if label is None else f"scope {label!r}"
    return BulkAction(
        f"move to {where}", f"moved to {where}", lambda store, uids: store.facts.move(uids, label), scope=label
    )


@dataclass(frozen=True, slots=True)
class Preview:
    act: BulkAction
    facts: int
    tiers: dict[Tier, int]
    types: dict[FactType, int]
    samples: list[Fact]
    """The first of the facts."""
    gauges: list[tuple[Gauge, Gauge]] = field(default_factory=list)
    """Before and after, of each theme it touches."""
    others: list[Change] = field(default_factory=list)
    """Changes of facts and scopes that were not selected: superseded, cooled by pressure, opened."""
    names: dict[str, str] = field(default_factory=dict)
    """Names of the first of those, by uid."""
    same: int = 0
    """Number of selected facts it does not change."""
    refused: StoreError | None = None
    """The error the store would raise."""
    foretold: bool = True
    """Whether side effects, gauges and errors are known."""
    scope: str | None = None
    """The scope it removes as a whole, if any."""
    purge: FactPurgePlan | None = None
    """What a purge of these facts erases besides them."""


class DryRunRollback(Exception):
    """Raised to roll back a dry run."""


def preview_bulk_action(store: Store, act: BulkAction, facts: Sequence[Fact], *, scope: str | None = None) -> Preview:
    """Return what an action on these facts would change, without changing anything.

    :raises FileError: when the store cannot be written just now, so a dry run is not possible
    """
    counted = Preview(
        act,
        len(facts),
        dict(Counter(fact.tier for fact in facts)),
        dict(Counter(fact.type for fact in facts)),
        list(facts[:MAX_SAMPLES]),
        scope=scope,
    )
    if act.final:
        plan = None if scope is not None else store.purge.preview_facts([fact.uid for fact in facts])
        return replace(counted, gauges=gauges_after_purge(store, facts), purge=plan)
    if len(facts) > MAX_DRY_RUN:
        return replace(counted, foretold=False)
    return dry_run(store, counted, facts)


def dry_run(store: Store, counted: Preview, facts: Sequence[Fact]) -> Preview:
    """Run the action, roll it back and return the completed preview."""
    themes = list(dict.fromkeys(fact.theme for fact in facts))
    chosen = {fact.uid for fact in facts}
    preview = counted
    try:
        with store.db.write_transaction():
            before = [store.tiers.gauge(theme) for theme in themes]
            since = store.journal.last_seq()
            counted.act.run(store, [fact.uid for fact in facts])
            changes = store.journal.changes(since=since)
            touched = {change.uid for change in changes}
            side_effects = [change for change in changes if change.uid not in chosen]
            preview = replace(
                counted,
                names=names_by_uid(store, side_effects[:MAX_SAMPLES]),
                gauges=list(zip(before, [store.tiers.gauge(theme) for theme in themes], strict=True)),
                others=side_effects,
                same=len(chosen - touched),
            )
            raise DryRunRollback
    except DryRunRollback:
        return preview
    except FileError:
        raise
    except StoreError as error:
        return replace(counted, refused=error)


def names_by_uid(store: Store, changes: Sequence[Change]) -> dict[str, str]:
    labels = {scope.uid: f"scope {scope.label}" for scope in store.scopes.list()} if changes else {}
    facts = {change.uid for change in changes if change.entity == "fact"}
    return {uid: display_formats.fact_name(fact) for uid, fact in store.facts.by_uids(facts).items()} | {
        str(change.uid): labels[change.uid] for change in changes if change.uid in labels
    }


def gauges_after_purge(store: Store, facts: Sequence[Fact]) -> list[tuple[Gauge, Gauge]]:
    gauges = []
    for theme in dict.fromkeys(fact.theme for fact in facts):
        now = store.tiers.gauge(theme)
        hot = [fact for fact in facts if fact.theme == theme and fact.tier is Tier.HOT]
        after = replace(
            now,
            used=now.used - sum(fact.chars for fact in hot),
            tokens=now.tokens - sum(fact.tokens for fact in hot),
            facts=now.facts - len(hot),
            pinned=now.pinned - sum(fact.chars for fact in hot if fact.pinned),
        )
        gauges.append((now, after))
    return gauges
