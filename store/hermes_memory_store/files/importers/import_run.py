"""Import of another program's memory: the source is read completely, then restored in batches.

Nothing is written before the source was read to its end, so a broken source changes nothing. Each batch is a
transaction of its own; whatever interrupts an import, running it again imports the rest, since existing items are
known by their uids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.conversations.turn_rows import PortableTurn
from hermes_memory_store.database.database_copies import Progress
from hermes_memory_store.files.fact_restore import RestoreOutcome, Restorer, temporary_store_copy, to_import_origin
from hermes_memory_store.files.importers.formats import READERS, detect_format
from hermes_memory_store.files.importers.import_batch import (
    ImportBatch,
    ImportItem,
    RejectedItem,
    SkippedItem,
    SourcePlace,
)
from hermes_memory_store.files.jsonl_format import PortableFact, PortableScope
from hermes_memory_store.intake.intake import Intake
from hermes_memory_store.items.mutation import count_notation_chars
from hermes_memory_store.items.name_keys import to_theme_name
from hermes_memory_store.items.tier_columns import COOLED_BY_PRESSURE, cold_columns
from hermes_memory_store.memory.scopes import validate_label
from hermes_memory_store.model import Tier
from hermes_memory_store.safe_text import pluralise
from hermes_memory_store.store import Store

BATCH = 2_000
"""Facts that are written together."""

SHARE_PCT = 50
"""How full an import may make the hot tier, in percent: relief begins at 70, and the other half is for what agents write."""

PRESENT = "SELECT uid FROM facts WHERE theme_id = ? AND uid IN ({marks})"


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
    redated: int = 0
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
    intake.load_session_words = store.intake.load_session_words
    now = int(store.clock())
    try:
        written_at = min(round(source.stat().st_mtime * 1000), now)
        taken = ImportBatch(kind, intake, theme, theme if one_theme else None, now, written_at)
        with intake.hold_secrets(), intake.gather_secrets():
            READERS[kind](source, taken)
    except OSError as error:
        raise errors.ImportFileError(f"{source} cannot be read as {kind}: {error.strerror or error}", source) from error
    if taken.refusals and not taken.items:
        first = taken.refusals[0]
        raise errors.ImportFileError(f"nothing of {source} is read as {kind}: {first.place}: {first.error}", source)
    if not dry_run:
        with store.attribute(origin):
            return import_batch_by_theme(store, taken, label, progress)
    with temporary_store_copy(store) as tried:
        return import_batch_by_theme(tried, taken, label, progress)


def import_batch_by_theme(
    store: Store, taken: ImportBatch, scope: str | None, progress: Progress | None
) -> ForeignImportReport:
    by_theme: dict[str, list[ImportItem]] = {}
    for item in taken.items:
        by_theme.setdefault(taken.theme_of(item.theme), []).append(item)
    report = ForeignImportReport(
        taken.kind,
        split=taken.split,
        waiting=taken.waiting,
        redated=taken.redated,
        skips=taken.skips,
        errors=list(taken.refusals),
        mapping=to_import_mappings(by_theme, scope),
        notes=taken.notes,
    )
    origin, done, total = store.names.origins.current(), 0, len(taken.items)
    outcomes: Counter[RestoreOutcome] = Counter()
    for name, items in by_theme.items():
        limited, cooled = limit_hot_share(store, name, items, scope)
        if cooled:
            report.notes.append(
                f"{pluralise(cooled, 'fact')} of theme {name} imported cold: "
                f"an import fills the hot tier to {SHARE_PCT} % of its budget, pinned facts first, then the newest"
            )
        restorer = Restorer(store, name, scope, captured_by=taken.actor)
        for some in in_chunks(sorted((item.locate(origin) for item in limited), key=import_order), BATCH):
            refusals = restorer.restore_batch((item.place.line, item.portable) for item in some)
            report.errors += [RejectedItem(some[index].place, error) for index, error in refusals]
            done += len(some)
            if progress is not None:
                progress(done, total)
        restorer.link_superseded()
        outcomes += restorer.outcomes
        report.superseded += restorer.superseded
    report.created = outcomes[RestoreOutcome.CREATED]
    report.deduplicated = outcomes[RestoreOutcome.DEDUPLICATED]
    report.purged = outcomes[RestoreOutcome.PURGED_HERE]
    report.turns = outcomes[RestoreOutcome.TURN_CREATED]
    report.turns_there = outcomes[RestoreOutcome.TURN_DEDUPLICATED]
    return report


def limit_hot_share(
    store: Store, theme: str, items: Sequence[ImportItem], scope: str | None
) -> tuple[list[ImportItem], int]:
    """Let facts be hot up to the share, pinned ones first, then the newest; return all items and how many became cold.

    Facts that are there already stay what they are, and so do those that a later one of the source replaces.

    :param scope: of facts that name none
    """
    facts = [(number, item.portable) for number, item in enumerate(items) if isinstance(item.portable, PortableFact)]
    theme_id, present = store.names.theme_or_none(theme), set[bytes]()
    for some in in_chunks([fact.uid for _, fact in facts]):
        rows = store.db.rows(PRESENT.format(marks=",".join("?" * len(some))), (theme_id, *some))
        present.update(uid for (uid,) in rows)
    standing: dict[tuple[str | None, str, str], tuple[int, PortableFact]] = {}
    for number, fact in sorted(facts, key=lambda entry: entry[1].updated_at):
        if fact.tier is Tier.HOT and fact.uid not in present:
            standing[fact.scope or scope, fact.notation.type.value, fact.notation.target.casefold()] = number, fact
    gauge = store.tiers.gauge(theme)
    room = gauge.budget * SHARE_PCT // 100 - gauge.used
    limited, cooled = list(items), 0
    for number, fact in sorted(
        standing.values(), key=lambda entry: (entry[1].pinned, entry[1].updated_at), reverse=True
    ):
        chars = count_notation_chars(fact.notation.target, fact.notation.content)
        if chars <= room:
            room -= chars
            continue
        cold = replace(fact, **cold_columns(COOLED_BY_PRESSURE) | {"tier": Tier.COLD, "pinned": False})
        limited[number] = replace(items[number], portable=cold)
        cooled += 1
    return limited, cooled


def import_order(item: ImportItem) -> tuple[int, int]:
    """Return the sort key of an item: scopes first, then what stands, then what was superseded; turns last.

    Facts by age: one with the same content as an older one gets no uid of its own here, so another order would import
    it the next time.
    """
    if isinstance(item.portable, PortableFact):
        return (2 if item.portable.tier is Tier.SUPERSEDED else 1), item.portable.updated_at
    return (3, 0) if isinstance(item.portable, PortableTurn) else (0, 0)


def to_import_mappings(by_theme: dict[str, list[ImportItem]], scope: str | None) -> list[ImportMapping]:
    """Return what becomes what, kind by kind, in the order of the source."""
    mappings: dict[tuple[str, str, str, str | None], ImportMapping] = {}
    for theme, items in by_theme.items():
        for item in items:
            portable, label = item.portable, None
            if isinstance(portable, PortableScope):
                becomes, label, example = "scope", portable.label, portable.label
            elif isinstance(portable, PortableTurn):
                becomes, example = "turn", f"{portable.role}: {' '.join(portable.content[:200].split())}"
            else:
                label, example = portable.scope or scope, str(portable.notation)
                becomes = portable.notation.type.word
            key = (item.what, becomes, theme, label)
            mappings.setdefault(key, ImportMapping(*key, example)).count += 1
    return list(mappings.values())


__all__ = ["ForeignImportReport", "ImportMapping", "SourcePlace", "import_foreign_memory"]
