"""Export and import: a theme as MEMORY_SPEC lines that people read, or as JSONL that keeps everything.

    # MEMORY_SPEC v1.0
    C[db.id]: UUID mndtry
    # scope: auth
    D[auth]: JWT 7d

Lines after `# scope: auth` belong to that scope; other comments and blank lines are ignored. An import accepts
what it can, reports every line it could not accept, and adds nothing that is there already: importing a file three
times is the same as importing it once. `docs/formats.md` describes both formats.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from hermes_memory_store import errors
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.database.database_copies import Progress
from hermes_memory_store.fact_types import OPEN_TYPES
from hermes_memory_store.files import fact_restore, jsonl_format
from hermes_memory_store.files.fact_restore import RestoreOutcome
from hermes_memory_store.files.jsonl_format import PortableItem
from hermes_memory_store.intake.intake import Writer
from hermes_memory_store.items.kinds import STANDS
from hermes_memory_store.items.name_keys import UNSCOPED, to_theme_name
from hermes_memory_store.items.tier_columns import IS_PROPOSED
from hermes_memory_store.memory.scopes import validate_label
from hermes_memory_store.model import (
    IMPORT,
    LIVE_TIERS,
    FactType,
    Notation,
    Origin,
    ScopeStatus,
    Tier,
    format_notation,
)
from hermes_memory_store.notation import memory_spec
from hermes_memory_store.places.citations import format_suffix, parse_citations
from hermes_memory_store.store import Store

TITLE = "# MEMORY_SPEC v1.0"

SCOPE_MARK = "# scope:"

LONGEST_LINE = 1024 * 1024
"""Bytes of a line that is still looked at; longer ones are reported and skipped."""

Item = TypeVar("Item")

BATCH = 2_000
"""Lines that are written together."""

OLDER_FIRST = (FactType.OBSOLETE, *OPEN_TYPES)
"""An order in which no line settles another one that still stands: `~[t]` before what came after it, answers before
questions that were asked again."""

STANDS_HERE = f"""
    SELECT 1 FROM facts
    WHERE scope_id = ? AND type = ? AND target = ? AND content = ? AND {STANDS}
"""

CHUNK = f"""
    SELECT id, target, content, cites FROM facts
    WHERE scope_id = ? AND type = ? AND tier IN ({{}}) AND id > ? AND NOT ({IS_PROPOSED})
    ORDER BY id LIMIT 2000
"""


@dataclass(frozen=True, slots=True)
class LineError:
    line: int
    """Its number in the file, from 1."""
    error: errors.StoreError

    def __str__(self) -> str:
        return f"line {self.line}: {self.error}"


@dataclass(slots=True)
class ImportReport:
    created: int = 0
    deduplicated: int = 0
    """Facts that were there already, by uid or by notation."""
    skipped: int = 0
    """Facts that were purged here on purpose, and are not brought back."""
    turns: int = 0
    """Captured turns that were not there."""
    waiting: int = 0
    """Facts that read like instructions: they wait for a person."""
    masked: int = 0
    """Facts whose secrets were masked."""
    unkept: int = 0
    """Secrets that were masked and that nothing keeps."""
    redated: int = 0
    errors: list[LineError] = field(default_factory=list)


def export_spec(
    store: Store,
    theme: str,
    *,
    scope: str | None = None,
    tiers: Collection[Tier] = LIVE_TIERS,
    with_citations: bool = False,
) -> Iterator[str]:
    """Yield a theme as MEMORY_SPEC lines, facts without a scope first, then scope by scope.

    All lines come from one snapshot of the store.

    >>> fact = store.facts.write("ops", "V[port]: 5432", scope="setup").fact
    >>> print(*export_spec(store, "ops"), sep="\\n")
    # MEMORY_SPEC...
    V[port]: 5432

    :param scope: only this scope
    :param with_citations: name the lines that a fact cites behind it: `@src/db.py:12-20`
    :raises UnknownTheme: UnknownScope, at once and not at the first line
    """
    theme = store.names.theme_name(store.names.theme(theme))
    if scope is not None:
        store.names.scope(theme, scope)
    return theme_spec_lines(store, theme, scope, tiers, with_citations=with_citations)


def export_jsonl(
    store: Store, theme: str, *, scope: str | None = None, turns: bool = False, origins: bool = True
) -> Iterator[str]:
    """Yield a theme as JSONL with everything: uids, scopes, tiers, times, links, pins, reads and origins.

    All lines come from one snapshot of the store.

    :param turns: include its captured turns, which belong to no scope
    :param origins: say where everything came from, with no path outside its repository
    :raises UnknownTheme: UnknownScope, at once and not at the first line
    """
    theme = store.names.theme_name(store.names.theme(theme))
    if scope is not None:
        store.names.scope(theme, scope)
    return jsonl_format.theme_jsonl_lines(store, theme, scope, turns=turns, origins=origins)


def selected_spec_lines(store: Store, keys: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Yield single facts by key as MEMORY_SPEC lines, each with the number of facts so far."""
    with store.reader() as reader, reader.db.snapshot():
        yield TITLE, 0
        done, label = 0, None
        proposed = {key for (key,) in reader.db.rows(f"SELECT id FROM facts WHERE {IS_PROPOSED}")}
        for some in in_chunks([key for key in keys if key not in proposed], BATCH):
            for fact in reader.facts.by_ids(some):
                if fact.scope != label:
                    label = fact.scope
                    yield f"{SCOPE_MARK} {label or ''}".rstrip(), done
                done += 1
                yield format_single_line(fact.type, fact.target, fact.content), done


def import_file(
    store: Store,
    path: str | Path,
    *,
    theme: str,
    scope: str | None = None,
    dry_run: bool = False,
    form: str | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Import facts from a file of either format, which is detected by its first line.

    :param form: `spec` or `jsonl`, where it is known
    :param scope: the scope of facts that name none
    :param dry_run: try it on a temporary copy of the store and only report
    :param progress: called with the bytes read so far and the total
    :raises ImportFileError: when the file cannot be read or is neither format
    :raises ThemeInvalid: ArgumentError, UnsafeText; the theme or the scope cannot be one
    """
    theme, file = to_theme_name(theme), Path(path).expanduser()
    label = None if scope is None else validate_label(scope)
    taker = find_importer(file)
    if form is not None:
        taker = {"spec": import_spec, "jsonl": import_jsonl}[form]
    if not dry_run:
        return taker(store, file, theme, label, progress)
    with fact_restore.temporary_store_copy(store) as tried:
        return taker(tried, file, theme, label, progress)


Importer = Callable[[Store, Path, str, str | None, Progress | None], ImportReport]


def find_importer(file: Path) -> Importer:
    """Find the importer for the file's format. :raises ImportFileError: when there is none"""
    try:
        with file.open("rb") as stream:
            head = stream.read(4096)
    except OSError as error:
        raise errors.ImportFileError(f"{file} cannot be read: {error.strerror or error}", file) from error
    if head.startswith(b"SQLite format 3"):
        raise errors.ImportFileError(f"{file} is a database, not an export; put a backup back with restore", file)
    if b"\x00" in head:
        raise errors.ImportFileError(f"{file} is not text; import MEMORY_SPEC lines or JSONL", file)
    is_json = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    parse, report = jsonl_format.parse_jsonl_line if is_json else memory_spec.parse_notation, ImportReport()
    for number, line, _ in read_import_lines(file, report):
        try:
            if line and not line.startswith("#"):
                parse(line, limit=LONGEST_LINE)
                return import_jsonl if is_json else import_spec
        except errors.StoreError as error:
            report.errors.append(LineError(number, error))
    if report.errors:
        from hermes_memory_store.files.importers.json_lines import format_first_record

        first = min(report.errors, key=attrgetter("line"))
        raise errors.ImportFileError(
            f"nothing of {file} can be read: {first}{format_first_record(file)}; what is read: MEMORY_SPEC lines, JSON "
            "with type, target and content, entities with name, entityType and observations, memories, and what --from names",
            file,
        )
    return import_spec


def import_spec(store: Store, file: Path, theme: str, scope: str | None, progress: Progress | None) -> ImportReport:
    """Import MEMORY_SPEC lines, each by the rules of a write."""
    report = ImportReport()
    label = scope
    origin = fact_restore.to_import_origin(store, file)

    def parse(line: str) -> tuple[Notation, str | None] | None:
        nonlocal label
        if line == TITLE:
            label = scope
        elif line.startswith(SCOPE_MARK):
            label = validate_label(name) if (name := line.removeprefix(SCOPE_MARK).strip()) else None
        elif not line.startswith("#"):
            return memory_spec.parse_notation(line, limit=memory_spec.MAX_LINE), label
        return None

    def write(batch: list[tuple[int, tuple[Notation, str | None]]]) -> None:
        write_missing_facts(store, theme, batch, report, origin)

    import_lines(file, report, parse, write, progress)
    report.errors.sort(key=attrgetter("line"))
    return report


def write_missing_facts(
    store: Store,
    theme: str,
    batch: list[tuple[int, tuple[Notation, str | None]]],
    report: ImportReport,
    origin: Origin,
) -> None:
    # What stands is left as it is: it may have been cooled on purpose, and a repeated `~` would hide what came after it.
    theme_id = store.names.theme_or_none(theme)
    numbers, facts = [], []
    for number, (notation, label) in batch:
        key = None if theme_id is None else store.names.scope_or_none(theme_id, label)
        if not key or not store.db.row(STANDS_HERE, (key.id, notation.type.value, notation.target, notation.content)):
            numbers.append(number)
            facts.append((notation, label))
    done = store.facts.write_many(theme, facts, actor=IMPORT, writer=Writer.AGENT, origin=origin, numbers=numbers)
    report.errors += [LineError(numbers[index], error) for index, error in done.errors]
    report.waiting += done.waiting
    report.masked += done.masked
    report.unkept += done.unkept
    report.created += done.created
    report.deduplicated += done.deduplicated + len(batch) - len(facts)


def import_jsonl(store: Store, file: Path, theme: str, scope: str | None, progress: Progress | None) -> ImportReport:
    report = ImportReport()
    restorer = fact_restore.Restorer(store, theme, scope, origin=fact_restore.to_import_origin(store, file))

    def restore(batch: list[tuple[int, PortableItem]]) -> None:
        refusals = restorer.restore_batch(batch)
        report.errors += [LineError(batch[index][0], error) for index, error in refusals]

    import_lines(file, report, partial(jsonl_format.parse_jsonl_line, limit=restorer.limit), restore, progress)
    restorer.link_superseded()
    report.created = restorer.outcomes[RestoreOutcome.CREATED]
    report.deduplicated = restorer.outcomes[RestoreOutcome.DEDUPLICATED]
    report.skipped = restorer.outcomes[RestoreOutcome.PURGED_HERE]
    report.turns = restorer.outcomes[RestoreOutcome.TURN_CREATED]
    report.waiting, report.redated = restorer.waiting, restorer.redated
    report.masked, report.unkept = restorer.masked, restorer.unkept
    return report


def import_lines(
    file: Path,
    report: ImportReport,
    parse: Callable[[str], Item | None],
    take: Callable[[list[tuple[int, Item]]], None],
    progress: Progress | None,
) -> None:
    """Parse the lines of a file that are not empty, and take what they say, with its lines, in batches."""
    batch: list[tuple[int, Item]] = []
    total = file.stat().st_size
    for number, line, done in read_import_lines(file, report):
        try:
            item = parse(line) if line else None
        except errors.StoreError as error:
            report.errors.append(LineError(number, error))
            continue
        if item is not None:
            batch.append((number, item))
        if len(batch) >= BATCH:
            take(batch)
            batch.clear()
            if progress is not None:
                progress(done, total)
    take(batch)
    if progress is not None:
        progress(file.stat().st_size, file.stat().st_size)


def read_import_lines(file: Path, report: ImportReport) -> Iterator[tuple[int, str, int]]:
    """Yield the lines of a file: number, text without its end, and bytes read. Unreadable lines are reported."""
    number = done = 0
    with file.open("rb") as stream:
        while raw := stream.readline(LONGEST_LINE + 1):
            number += 1
            size = len(raw)
            done += size
            if size > LONGEST_LINE:
                while raw and not raw.endswith(b"\n"):
                    raw = stream.readline(LONGEST_LINE)
                    size += len(raw)
                    done += len(raw)
                too_long = errors.ImportFileError(f"the line has {size} bytes; at most {LONGEST_LINE} are read", size)
                report.errors.append(LineError(number, too_long))
                continue
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                not_text = errors.ImportFileError(f"the line is not UTF-8 (byte {error.start + 1})", raw[:60])
                report.errors.append(LineError(number, not_text))
                continue
            yield number, text.strip(" \t\r\n"), done


def theme_spec_lines(
    store: Store, theme: str, scope: str | None, tiers: Collection[Tier], *, with_citations: bool
) -> Iterator[str]:
    """Yield the lines of `export_spec`, from a connection of their own, in an order in which they can be written again."""
    sql = CHUNK.format(", ".join("?" * len(tiers)))
    with store.reader() as reader, reader.db.snapshot():
        theme_id = reader.names.theme(theme)
        yield TITLE
        for label in [UNSCOPED, *reader.names.labels(theme)] if scope is None else [scope]:
            key = reader.names.scope_or_none(theme_id, label)
            if key is None:
                continue
            is_headed = label == UNSCOPED
            # A `✓` closes its scope and any other line opens it again.
            is_closed = key.status == ScopeStatus.CLOSED
            for kind in (*OLDER_FIRST, FactType.DONE) if is_closed else (FactType.DONE, *OLDER_FIRST):
                args = (key.id, kind.value, *(tier.value for tier in tiers))
                for _, target, content, cites in jsonl_format.rows_by_key(reader, sql, args, 0):
                    if not is_headed:
                        yield f"{SCOPE_MARK} {label}"
                        is_headed = True
                    line = format_single_line(kind, target, content)
                    yield line + format_suffix(line, parse_citations(cites)) if with_citations else line


def format_single_line(kind: str, target: str, content: str) -> str:
    """Format a fact in notation on one line: another program may have stored line ends in it."""
    return format_notation(kind, " ".join(target.split()), " ".join(content.split()))
