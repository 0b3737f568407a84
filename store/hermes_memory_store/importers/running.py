"""An import of another program's memory: read whole, then brought in by batches.

Nothing is written before the source was read to its end, so a source that is broken changes nothing. Each batch is a transaction
of its own; whatever stops an import, beginning it again brings in the rest, since what is there is known by its uid.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hermes_memory_store import copies, errors
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.copies import Progress
from hermes_memory_store.importers.recognising import READERS, recognise
from hermes_memory_store.importers.taking import Item, Place, Refusal, Screen, Skip, Taken
from hermes_memory_store.model import Tier
from hermes_memory_store.portable import SaidFact, SaidScope
from hermes_memory_store.restoring import Outcome, Restorer
from hermes_memory_store.scopes import checked_label
from hermes_memory_store.store import Store
from hermes_memory_store.turn_rows import SaidTurn

BATCH = 2_000
"""Facts that are written together."""


@dataclass(slots=True)
class Mapping:
    """What things of one sort become, with the first of them as an example."""

    what: str
    """What they are at their source."""
    becomes: str
    """`constraint`, `decision`, `value` …, `scope` or `turn`."""
    theme: str
    scope: str | None
    example: str
    count: int = 0


@dataclass(slots=True)
class ForeignReport:
    """What an import of another program's memory did."""

    kind: str
    created: int = 0
    """Facts that were not there."""
    deduplicated: int = 0
    """Facts that were there already, by uid or by notation."""
    superseded: int = 0
    """Facts that stand no longer, here or there: of one scope, type and target the one that was changed last stands."""
    purged: int = 0
    """Facts that were purged here before, and are not brought back."""
    split: int = 0
    """Contents over the limit, kept in numbered parts."""
    waiting: int = 0
    """Contents that read like instructions: they wait for a person."""
    turns: int = 0
    turns_there: int = 0
    skips: list[Skip] = field(default_factory=list)
    errors: list[Refusal] = field(default_factory=list)
    mapping: list[Mapping] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def skipped(self) -> int:
        """Everything that was left out on purpose."""
        return len(self.skips) + self.purged


def bring(
    store: Store,
    path: str | Path,
    *,
    theme: str,
    kind: str | None = None,
    one_theme: bool = False,
    scope: str | None = None,
    dry_run: bool = False,
    screen: Screen | None = None,
    progress: Progress | None = None,
) -> ForeignReport:
    """Bring another program's memory in.

    :param theme: where things go whose source names no theme
    :param kind: one of `KINDS`; recognised when it is not given
    :param one_theme: everything goes there, whatever theme the source names
    :param scope: where facts go that name no scope
    :param dry_run: try it on a throw-away copy of the store and only report
    :param screen: looks at every text before it is brought in: what reads like an instruction waits, what must not be kept is
        masked or left out
    :param progress: called with the things brought in so far and how many there are
    :raises ImportFileError: it cannot be read, is not whole, or is of no kind that is known; nothing was changed then
    """
    source = Path(path).expanduser()
    kind = kind or recognise(source)
    if kind is None or kind not in READERS:
        raise errors.ImportFileError(f"{source} is of no kind that can be imported; name it with --from", source)
    label = None if scope is None else checked_label(scope)
    taken = read(store, source, kind, theme if one_theme else None, theme, screen)
    if not dry_run:
        return put(store, taken, theme, label, one_theme, progress)
    with throw_away(store) as tried:
        return put(tried, taken, theme, label, one_theme, progress)


def read(store: Store, source: Path, kind: str, only: str | None, theme: str, screen: Screen | None) -> Taken:
    """Read a source to its end. :raises ImportFileError: it is not whole, or not what it was said to be"""
    now = int(store.clock())
    try:
        written_at = min(round(source.stat().st_mtime * 1000), now)
    except OSError as error:
        raise errors.ImportFileError(f"{source} cannot be read: {error.strerror or error}", source) from error
    taken = Taken(kind, lambda named: store.policies.for_theme(only or named or theme).fact_chars, now, written_at)
    if screen is not None:
        taken.screen = lambda named, target, content: screen(only or named or theme, target, content)
    READERS[kind](source, taken)
    return taken


@contextmanager
def throw_away(store: Store) -> Iterator[Store]:
    """A copy of the store to try things on."""
    with tempfile.TemporaryDirectory(prefix="hermes-memory-import-") as folder:
        tried = Path(folder) / "memory.db"
        copies.copy(store.path, tried)
        with Store.open(tried, force=True, clock=store.clock, policies=store.policies) as opened:
            yield opened


def put(
    store: Store, taken: Taken, theme: str, scope: str | None, one_theme: bool, progress: Progress | None
) -> ForeignReport:
    """Bring in what was read, theme by theme."""
    report = ForeignReport(
        taken.kind, split=taken.split, waiting=taken.waiting, skips=taken.skips, errors=list(taken.refusals)
    )
    report.notes = taken.notes
    by_theme: dict[str, list[Item]] = {}
    for item in taken.items:
        by_theme.setdefault(theme if one_theme else item.theme or theme, []).append(item)
    report.mapping = mapped(by_theme, scope)
    done, total = 0, len(taken.items)
    for name, items in by_theme.items():
        # Scopes first, then what stands, then what was superseded: a link mostly leads to what is there.
        sorted_items = sorted(items, key=order)
        restorer = Restorer(store, name, scope, captured_by=taken.actor)
        for some in in_chunks(sorted_items, BATCH):
            count(report, restorer, some)
            done += len(some)
            if progress is not None:
                progress(done, total)
        restorer.link()
        report.superseded += restorer.superseded
    return report


def order(item: Item) -> tuple[int, int]:
    """Scopes before facts, facts that stand before those that do not, turns last, and facts in the order in which they were said:
    what says the same as an older one is not there by a uid of its own, so another order would bring it in the next time."""
    if isinstance(item.said, SaidFact):
        return (2 if item.said.tier is Tier.SUPERSEDED else 1), item.said.updated_at
    return (3, 0) if isinstance(item.said, SaidTurn) else (0, 0)


def count(report: ForeignReport, restorer: Restorer, items: Sequence[Item]) -> None:
    """Bring in one batch and count what came of it."""
    for outcome, number, error in restorer.take(enumerate(item.said for item in items)):
        if error is not None:
            report.errors.append(Refusal(items[number].place, error))
        elif outcome is Outcome.CREATED:
            report.created += 1
        elif outcome is Outcome.DEDUPLICATED:
            report.deduplicated += 1
        elif outcome is Outcome.PURGED_HERE:
            report.purged += 1
        elif outcome is Outcome.TURN_CREATED:
            report.turns += 1
        elif outcome is Outcome.TURN_DEDUPLICATED:
            report.turns_there += 1


def mapped(by_theme: dict[str, list[Item]], scope: str | None) -> list[Mapping]:
    """What becomes what, sort by sort, in the order of the source."""
    found: dict[tuple[str, str, str, str | None], Mapping] = {}
    for theme, items in by_theme.items():
        for item in items:
            becomes, label, example = described(item.said)
            label = label or (scope if isinstance(item.said, SaidFact) else label)
            key = (item.what, becomes, theme, label)
            if key not in found:
                found[key] = Mapping(*key, example)
            found[key].count += 1
    return list(found.values())


def described(said: SaidScope | SaidFact | SaidTurn) -> tuple[str, str | None, str]:
    """What a thing becomes, its scope, and how it reads."""
    if isinstance(said, SaidScope):
        return "scope", said.label, said.label
    if isinstance(said, SaidTurn):
        return "turn", None, f"{said.role}: {' '.join(said.content[:200].split())}"
    return said.said.type.word, said.scope, str(said.said)


__all__ = ["ForeignReport", "Mapping", "Place", "bring"]
