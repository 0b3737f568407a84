"""Acts: what a person does to many facts at once, and what exactly it would change, found out by doing it and taking it back.

The dry run is the act itself, inside a transaction that is rolled back: so the store's own rules speak, and cannot be told
otherwise here. Purge is counted instead: what it erases does not come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field, replace

from hermes_memory_store.errors import FileError, StoreError
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Change, Fact, FactType, Gauge, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui import shown

MOST_SAMPLES = 12
"""Facts a preview shows."""

MOST_TRIED = 1_000
"""Facts of a dry run: it holds the lock that agents write under, half a second for so many. More are only counted."""


@dataclass(frozen=True, slots=True)
class Act:
    """Something that is done to facts."""

    word: str
    """What it is called before it is done: `archive`."""
    done: str
    """And after: `archived`."""
    run: Callable[[Store, list[str]], object]
    final: bool = False
    """Whether nothing can bring back what it takes."""


ARCHIVE = Act("archive", "archived", lambda store, uids: store.facts.archive(uids))
RESTORE = Act("restore", "restored", lambda store, uids: store.facts.restore(uids))
WARM = Act("warm", "warmed", lambda store, uids: store.facts.warm(uids))
COOL = Act("cool", "cooled", lambda store, uids: store.facts.cool(uids))
PIN = Act("pin", "pinned", lambda store, uids: store.facts.pin(uids, True))
UNPIN = Act("unpin", "unpinned", lambda store, uids: store.facts.pin(uids, False))
PURGE = Act("purge", "erased for good", lambda store, uids: store.purge.erase(uids), final=True)


def moving(label: str | None) -> Act:
    """The act of moving facts to a scope of their theme; to none when None."""
    where = "no scope" if label is None else f"scope {label!r}"
    return Act(f"move to {where}", f"moved to {where}", lambda store, uids: store.facts.move(uids, label))


@dataclass(frozen=True, slots=True)
class Preview:
    """What an act would change."""

    act: Act
    facts: int
    tiers: dict[Tier, int]
    types: dict[FactType, int]
    samples: list[Fact]
    """The first of the facts."""
    gauges: list[tuple[Gauge, Gauge]] = field(default_factory=list)
    """Before and after, of each theme it touches."""
    others: list[Change] = field(default_factory=list)
    """What happens to facts and scopes that were not chosen: superseded, cooled by pressure, opened."""
    names: dict[str, str] = field(default_factory=dict)
    """What the first of those are called."""
    same: int = 0
    """Chosen facts that it leaves as they are."""
    refused: StoreError | None = None
    """Why the store would not do it."""
    foretold: bool = True
    """Whether others, gauges and refusals are known."""
    scope: str | None = None
    """The scope it takes whole, if it does."""


class Tried(Exception):
    """Ends a dry run."""


def preview(store: Store, act: Act, facts: Sequence[Fact], *, scope: str | None = None) -> Preview:
    """What an act on these facts would change. Changes nothing.

    :raises FileError: when the store cannot be written just now, so that nothing can be foretold
    """
    counted = Preview(
        act,
        len(facts),
        dict(Counter(fact.tier for fact in facts)),
        dict(Counter(fact.type for fact in facts)),
        list(facts[:MOST_SAMPLES]),
        scope=scope,
    )
    if act.final:
        return replace(counted, gauges=gauges_without(store, facts))
    if len(facts) > MOST_TRIED:
        return replace(counted, foretold=False)
    return tried(store, counted, facts)


def tried(store: Store, counted: Preview, facts: Sequence[Fact]) -> Preview:
    """The act, done and taken back."""
    themes = list(dict.fromkeys(fact.theme for fact in facts))
    chosen = {fact.uid for fact in facts}
    found = counted
    try:
        with store.db.writing():
            before = [store.tiers.gauge(theme) for theme in themes]
            since = store.journal.last_seq()
            counted.act.run(store, [fact.uid for fact in facts])
            changes = store.journal.changes(since=since)
            touched = {change.uid for change in changes}
            others = [change for change in changes if change.uid not in chosen]
            found = replace(
                counted,
                names=called(store, others[:MOST_SAMPLES]),
                gauges=list(zip(before, [store.tiers.gauge(theme) for theme in themes], strict=True)),
                others=others,
                same=len(chosen - touched),
            )
            raise Tried
    except Tried:
        return found
    except FileError:
        raise
    except StoreError as error:
        return replace(counted, refused=error)


def called(store: Store, changes: Sequence[Change]) -> dict[str, str]:
    """What facts and scopes are called, by uid."""
    labels = {scope.uid: f"scope {scope.label}" for scope in store.scopes.list()} if changes else {}
    facts = {change.uid for change in changes if change.entity == "fact"}
    return {uid: shown.name(fact) for uid, fact in store.facts.named(facts).items()} | {
        str(change.uid): labels[change.uid] for change in changes if change.uid in labels
    }


def gauges_without(store: Store, facts: Sequence[Fact]) -> list[tuple[Gauge, Gauge]]:
    """Gauges of the themes of facts, now and when those facts are gone."""
    found = []
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
        found.append((now, after))
    return found
