"""Import of another program's memory: the source is read completely, then restored in batches.

Nothing is written before the source was read to its end, so a broken source changes nothing. Each batch is a
transaction of its own; whatever interrupts an import, running it again imports the rest, since existing items are
known by their uids.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.conversations.turn_rows import PortableTurn
from hermes_memory_store.database import database_copies
from hermes_memory_store.database.database_copies import Progress
from hermes_memory_store.files.fact_restore import RestoreOutcome, Restorer, to_import_origin
from hermes_memory_store.files.importers.formats import READERS, detect_format
from hermes_memory_store.files.importers.hot_share import SHARE_PCT, limit_hot_share
from hermes_memory_store.files.importers.import_batch import (
    CheckedText,
    ImportBatch,
    ImportItem,
    RejectedItem,
    SkippedItem,
    SourcePlace,
)
from hermes_memory_store.files.jsonl_format import PortableFact, PortableScope
from hermes_memory_store.intake.intake import Intake, Writer
from hermes_memory_store.items.name_keys import to_theme_name
from hermes_memory_store.memory.scopes import validate_label
from hermes_memory_store.model import Tier
from hermes_memory_store.safe_text import pluralise
from hermes_memory_store.store import Store

BATCH = 2_000
"""Facts that are written together."""


@dataclass(slots=True)
class ImportMapping:
    """What items of one kind become, with the first of them as an example."""

    what: str
    """What they are at their source."""
    becomes: str
    """`constraint`, `decision`, `value` …, `scope` or `turn`."""
    theme: str
    scope: str | None
    example: str
    count: int = 0


@dataclass(slots=True)
class ForeignImportReport:
    """Report of an import of another program's memory."""

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
    skips: list[SkippedItem] = field(default_factory=list)
    errors: list[RejectedItem] = field(default_factory=list)
    mapping: list[ImportMapping] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def skip_count(self) -> int:
        """The number of items skipped on purpose."""
        return len(self.skips) + self.purged


def import_foreign_memory(
    store: Store,
    path: str | Path,
    *,
    theme: str,
    kind: str | None = None,
    one_theme: bool = False,
    scope: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ForeignImportReport:
    """Import another program's memory.

    :param theme: the theme of items whose source names none
    :param kind: one of `KINDS`; detected when it is not given
    :param one_theme: put everything there, whatever theme the source names
    :param scope: the scope of facts that name none
    :param dry_run: try it on a temporary copy of the store and only report
    :param progress: called with the items imported so far and the total
    :raises ImportFileError: it cannot be read, is incomplete, or is of no known kind; nothing was changed then
    :raises ThemeInvalid: ArgumentError, UnsafeText; the theme or the scope cannot be one
    """
    theme, source = to_theme_name(theme), Path(path).expanduser()
    kind = kind or detect_format(source)
    if kind is None or kind not in READERS:
        raise errors.ImportFileError(f"{source} is of no kind that can be imported; name it with --from", source)
    label = None if scope is None else validate_label(scope)
    origin = to_import_origin(store, source)
    # What is only tried must not come to the vault.
    intake = Intake(store.policies, store.sources.rule) if dry_run else store.intake
    with intake.hold_secrets(), intake.gather_secrets():
        taken = read_source(store, intake, source, kind, theme if one_theme else None, theme)
    if not dry_run:
        with store.attribute(origin):
            return import_batch_by_theme(store, taken, theme, label, one_theme, progress)
    with temporary_store_copy(store) as tried:
        return import_batch_by_theme(tried, taken, theme, label, one_theme, progress)


def read_source(store: Store, intake: Intake, source: Path, kind: str, only: str | None, theme: str) -> ImportBatch:
    """Read a source to its end. :raises ImportFileError: it is incomplete, or not of the kind given"""
    now = int(store.clock())
    try:
        written_at = min(round(source.stat().st_mtime * 1000), now)
    except OSError as error:
        raise errors.ImportFileError(f"{source} cannot be read: {error.strerror or error}", source) from error
    taken = ImportBatch(
        kind, lambda named: store.policies.for_theme(only or named or theme).fact_chars, now, written_at
    )
    taken.screen = lambda named, target, content: check_imported_text(intake, only or named or theme, target, content)
    READERS[kind](source, taken)
    return taken


def check_imported_text(intake: Intake, theme: str, target: str | None, content: str) -> CheckedText:
    """Check a text as it stands in its source, before it is cut into parts: half a secret is not recognised as one.

    :param target: of a fact; None for a turn
    """
    if target is None:
        return CheckedText(intake.admit_turn(theme, content).content)
    intake.admit_name(theme, "the target", target, writer=Writer.AGENT)
    masking, suspicion, _ = intake.admit_content(theme, target, content, writer=Writer.AGENT, confirmed=True)
    return CheckedText(masking.content, None if suspicion is None else suspicion.rule)


@contextmanager
def temporary_store_copy(store: Store) -> Iterator[Store]:
    """Yield a temporary copy of the store for a trial."""
    with tempfile.TemporaryDirectory(prefix="hermes-memory-import-") as folder:
        tried = Path(folder) / "memory.db"
        database_copies.copy_database(store.path, tried)
        with Store.open(tried, force=True, clock=store.clock, policies=store.policies) as opened:
            yield opened


def import_batch_by_theme(
    store: Store, taken: ImportBatch, theme: str, scope: str | None, one_theme: bool, progress: Progress | None
) -> ForeignImportReport:
    """Import what was read, theme by theme."""
    report = ForeignImportReport(
        taken.kind, split=taken.split, waiting=taken.waiting, skips=taken.skips, errors=list(taken.refusals)
    )
    report.notes = taken.notes
    by_theme: dict[str, list[ImportItem]] = {}
    for item in taken.items:
        by_theme.setdefault(theme if one_theme else item.theme or theme, []).append(item)
    report.mapping = to_import_mappings(by_theme, scope)
    origin, done, total = store.names.origins.current(), 0, len(taken.items)
    for name, items in by_theme.items():
        # Scopes first, then what stands, then what was superseded: a link mostly leads to what is there.
        limited, cooled = limit_hot_share(store, name, items, scope)
        if cooled:
            report.notes.append(
                f"{pluralise(cooled, 'fact')} of theme {name} imported cold: "
                f"an import fills the hot tier to {SHARE_PCT} % of its budget, pinned facts first, then the newest"
            )
        sorted_items = sorted((item.locate(origin) for item in limited), key=import_order)
        restorer = Restorer(store, name, scope, captured_by=taken.actor)
        for some in in_chunks(sorted_items, BATCH):
            restore_foreign_items(report, restorer, some)
            done += len(some)
            if progress is not None:
                progress(done, total)
        restorer.link_superseded()
        report.superseded += restorer.superseded
    return report


def import_order(item: ImportItem) -> tuple[int, int]:
    """Return the sort key of an item: scopes first, then standing facts, then others in their original order.

    A fact with the same content as an older one gets no uid of its own here, so another order would import it the next
    time.
    """
    if isinstance(item.said, PortableFact):
        return (2 if item.said.tier is Tier.SUPERSEDED else 1), item.said.updated_at
    return (3, 0) if isinstance(item.said, PortableTurn) else (0, 0)


def restore_foreign_items(report: ForeignImportReport, restorer: Restorer, items: Sequence[ImportItem]) -> None:
    """Restore one batch and count the outcomes."""
    outcomes = restorer.restore_batch((item.place.line, item.said) for item in items)
    for item, (outcome, _, error) in zip(items, outcomes, strict=True):
        if error is not None:
            report.errors.append(RejectedItem(item.place, error))
        elif outcome is RestoreOutcome.CREATED:
            report.created += 1
        elif outcome is RestoreOutcome.DEDUPLICATED:
            report.deduplicated += 1
        elif outcome is RestoreOutcome.PURGED_HERE:
            report.purged += 1
        elif outcome is RestoreOutcome.TURN_CREATED:
            report.turns += 1
        elif outcome is RestoreOutcome.TURN_DEDUPLICATED:
            report.turns_there += 1


def to_import_mappings(by_theme: dict[str, list[ImportItem]], scope: str | None) -> list[ImportMapping]:
    """Return what becomes what, kind by kind, in the order of the source."""
    mappings: dict[tuple[str, str, str, str | None], ImportMapping] = {}
    for theme, items in by_theme.items():
        for item in items:
            becomes, label, example = describe_import_item(item.said)
            label = label or (scope if isinstance(item.said, PortableFact) else label)
            key = (item.what, becomes, theme, label)
            if key not in mappings:
                mappings[key] = ImportMapping(*key, example)
            mappings[key].count += 1
    return list(mappings.values())


def describe_import_item(item: PortableScope | PortableFact | PortableTurn) -> tuple[str, str | None, str]:
    """Return what an item becomes, its scope, and its text."""
    if isinstance(item, PortableScope):
        return "scope", item.label, item.label
    if isinstance(item, PortableTurn):
        return "turn", None, f"{item.role}: {' '.join(item.content[:200].split())}"
    return item.said.type.word, item.scope, str(item.said)


__all__ = ["ForeignImportReport", "ImportMapping", "SourcePlace", "import_foreign_memory"]
