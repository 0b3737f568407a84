"""The doctor: examines a store, reports its findings in sentences, restores what the journal proves, and rebuilds the rest.

The journal is the source of truth: what is derived from its facts, scopes and sessions (indexes, gauges, tallies, triggers) is
rebuilt on request. What contradicts it is reported and left alone, except dangling links, whose removal is journaled.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from functools import partial
from itertools import chain
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.database import driver, gauge_recount
from hermes_memory_store.database.database_copies import connect_plainly
from hermes_memory_store.database.index_health import INDEXES, SQLITE_FAILURES, index_troubles, is_index_usable
from hermes_memory_store.database.schema import load_schemas
from hermes_memory_store.database.store_reading import file_size
from hermes_memory_store.database.write_ahead_log import index_path, log_path
from hermes_memory_store.diagnostics.file_checks import (
    check_database,
    check_log_frames,
    describe_log_damage,
    find_file_damage,
    salvage_unopenable,
)
from hermes_memory_store.diagnostics.journal_repair import ORIGINLESS, find_related_backups, repair_journal
from hermes_memory_store.diagnostics.misnamed_themes import find_misnamed_themes, move_misnamed_theme
from hermes_memory_store.diagnostics.row_checks import BEFORE_REPAIR, check_receipt, check_rows, keep_copy
from hermes_memory_store.items import fulltext
from hermes_memory_store.items.fulltext import rebuild_damaged_indexes
from hermes_memory_store.items.kinds import FACT, STANDS, TURN, FactRow, ItemKind
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.items.tier_columns import COUNT_LINKED_WHILE_STANDING, LOST_LINKS, link_columns
from hermes_memory_store.language.tokenizer import index_terms
from hermes_memory_store.model import Actor, Check
from hermes_memory_store.projects.project_repair import find_project_faults, repair_projects
from hermes_memory_store.safe_text import pluralise
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep import backup
from hermes_memory_store.upkeep.fact_citations import count_states

DOCTOR = Actor("doctor")

LARGE_WAL = 64 * 1024 * 1024
"""Bytes of write-ahead log above which it is worth emptying: SQLite keeps it near 4 MiB unless a reader never ends."""

SAMPLE_SIZE = 500
"""Facts whose words are looked up one by one."""

MAX_HIDDEN_NAMED = 5
"""Rows from the team that are named with the reason why they are not shown."""

FIND_TERM = "SELECT 1 FROM facts_text WHERE facts_text MATCH ? AND rowid = ?"

SAMPLED_FACTS = """
    SELECT id, target, content FROM (SELECT *, row_number() OVER (ORDER BY id) n FROM facts) WHERE n % ? = 0
"""

STANDING_TWICE = f"""
    SELECT count(*), min(target) FROM (
      SELECT target FROM facts WHERE {STANDS}
      GROUP BY scope_id, type, target COLLATE NOCASE HAVING count(*) > 1)
"""

ORPHANS = {
    "facts without their scope": "SELECT count(*) FROM facts WHERE scope_id NOT IN (SELECT id FROM scopes)",
    "facts without their theme": "SELECT count(*) FROM facts WHERE theme_id NOT IN (SELECT id FROM themes)",
    "facts without their author": "SELECT count(*) FROM facts WHERE actor_id NOT IN (SELECT id FROM actors)",
    "facts without their origin": ORIGINLESS.format("facts"),
    "turns without their origin": ORIGINLESS.format("turns"),
    "changes from an origin of another theme": (
        "SELECT count(*) FROM journal j JOIN origins o ON o.id = j.origin_id WHERE o.theme_id <> j.theme_id"
    ),
    "facts in a scope of another theme": (
        "SELECT count(*) FROM facts f JOIN scopes s ON s.id = f.scope_id WHERE s.theme_id <> f.theme_id"
    ),
    "facts outside their theme's numbers": "SELECT count(*) FROM facts WHERE id >> 40 <> theme_id",
    "facts the journal does not know": "SELECT count(*) FROM facts WHERE uid NOT IN (SELECT uid FROM journal)",
    "scopes without their theme": "SELECT count(*) FROM scopes WHERE theme_id NOT IN (SELECT id FROM themes)",
    "sessions without their theme": "SELECT count(*) FROM sessions WHERE theme_id NOT IN (SELECT id FROM themes)",
    "rules of sources without their theme": (
        "SELECT count(*) FROM source_rules WHERE theme_id NOT IN (SELECT id FROM themes)"
    ),
    "purged facts that are still there": "SELECT count(*) FROM tombstones JOIN facts USING (uid)",
    "counts of reads without a fact": "SELECT count(*) FROM reads WHERE fact_id NOT IN (SELECT id FROM facts)",
}


CITES_ANYTHING = "SELECT 1 FROM facts WHERE cites IS NOT NULL LIMIT 1"


def examine_store(store: Store, *, repair: bool = False, progress: Callable[[str], None] | None = None) -> list[Check]:
    """Run every check in turn.

    :param repair: rebuild what can be rebuilt; a store open for reading only is examined all the same
    :param progress: called with the name of each check before it begins
    """
    checks = []
    for name, check in CHECKS.items():
        if progress is not None:
            progress(name)
        try:
            checks.append(check(store, repair and not store.db.read_only))
        except (errors.StoreUnreadable, errors.ArgumentError, driver.DatabaseError) as error:
            checks.append(Check(name, False, f"could not be examined: {error}"))
    with suppress(errors.StoreUnreadable, driver.DatabaseError):  # which the check of the rows names
        if store.db.value(CITES_ANYTHING):
            checks.append(check_citations(store))
    return checks


def check_schema(store: Store, repair: bool) -> Check:
    with closing(driver.connect(":memory:", driver.Connection)) as conn:
        for statement in chain.from_iterable(load_schemas().values()):
            conn.execute(statement)
        listed = "SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL"
        needed = {name: (kind, sql) for name, kind, sql in conn.execute(listed)}
    there = {name: (kind, sql) for name, kind, sql in store.db.rows(listed)}
    # What is missing of a full-text index is told, and mended, by the checks of the indexes.
    parts = frozenset().union(*(index.parts for index in INDEXES.values()))
    missing = [name for name in needed if there.get(name) != needed[name] and (name not in parts or name in there)]
    if not missing:
        return Check("schema", True, f"all {len(needed)} tables, indexes and triggers are there")
    detail = f"missing or different: {', '.join(sorted(missing))}"
    if not repair or any(needed[name][0] == "table" for name in missing):
        return Check("schema", False, detail)
    with store.db.write_transaction() as conn:
        for name in missing:
            kind, sql = needed[name]
            conn.execute(f"DROP {kind} IF EXISTS {name}")
            conn.execute(sql)
    return Check("schema", True, f"{detail}; made anew", repaired=True)


def check_journal(store: Store, repair: bool) -> Check:
    chain = store.journal.verify()
    restored = repair_journal(store) if repair else 0
    if not restored:
        return chain
    again = store.journal.verify()
    problem = again.detail if chain.ok else chain.detail
    detail = f"{problem}; {pluralise(restored, 'row')} restored from backups by the chain"
    return Check("journal", again.ok, detail if again.ok else f"{again.detail}; {detail}", repaired=True)


def check_index(name: str, kind: ItemKind, store: Store, repair: bool) -> Check:
    """Compare the full-text index of a kind of items with one built anew from them. :param name: of the check"""
    problem = find_index_problem(store, kind)
    items = pluralise(store.db.value(f"SELECT count(*) FROM {kind.table}"), kind.table.removesuffix("s"))
    if problem is None:
        return Check(name, True, f"the index holds exactly the words of {items}")
    if not repair:
        return Check(name, False, f"{problem}; doctor --repair builds the index anew")
    rebuild_damaged_indexes(store.db, [kind.index])
    still = find_index_problem(store, kind)
    detail = f"{problem}; built anew from {items}" if still is None else still
    return Check(name, still is None, detail, repaired=still is None)


def find_index_problem(store: Store, kind: ItemKind) -> str | None:
    with store.db.snapshot() as conn, closing(driver.connect("", driver.Connection)) as fresh:
        # The nameless database lives in memory and spills to disk, so a large store fits.
        if not is_index_usable(conn, kind.index):
            return f"the index is set aside: {index_troubles(conn)[kind.index]}"
        fresh.execute("BEGIN")
        fresh.execute(conn.execute("SELECT sql FROM sqlite_master WHERE name = ?", (kind.index,)).fetchone()[0])
        fulltext.insert_index_terms(fresh, kind, conn.execute(f"{kind.indexed_rows} ORDER BY id"))
        try:
            problem = find_vocabulary_problem(conn, fresh, kind)
            return find_sample_problem(conn) if problem is None and kind is FACT else problem
        except SQLITE_FAILURES as error:
            return f"the index cannot be read ({error})"


def find_vocabulary_problem(conn: driver.Connection, fresh: driver.Connection, kind: ItemKind) -> str | None:
    """Find the first word for which an index counts other facts or positions than a fresh one."""
    index = kind.index
    for each in (conn, fresh):
        each.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{index}_seen USING fts5vocab (main, {index}, row)")
    counts = f"SELECT term, doc, cnt FROM temp.{index}_seen ORDER BY term"
    expected = fresh.execute(counts)
    with closing(conn.execute(counts)) as rows:
        for row in rows:
            if row != expected.fetchone():
                return f"the index disagrees with the {kind.table}, first at the word {row[0][:40]!r}"
    lacking = expected.fetchone()
    return f"the index lacks the word {lacking[0][:40]!r}" if lacking else None


def find_sample_problem(conn: driver.Connection) -> str | None:
    step = max(1, conn.execute("SELECT count(*) FROM facts").fetchone()[0] // SAMPLE_SIZE)
    for key, target, content in conn.execute(SAMPLED_FACTS, (step,)).fetchall():
        words = " ".join(f'"{word}"' for word in dict.fromkeys(index_terms(target) + index_terms(content)))
        if words and not conn.execute(FIND_TERM, (words, key)).fetchone():
            return f"fact {key} is not found by its words"
    return None


def check_gauges(store: Store, repair: bool) -> Check:
    with store.db.snapshot() as conn:
        wrong = gauge_recount.find_gauge_differences(conn)
    if not wrong:
        return Check("gauges", True, "every gauge and tally equals a recount")
    if repair:
        with store.db.write_transaction() as conn:
            gauge_recount.recount_gauges(conn)
    return Check("gauges", repair, wrong[0] + ("; counted anew" if repair else ""), repaired=repair)


def check_standing_facts(store: Store, _: bool) -> Check:
    twice, target = store.db.row(STANDING_TWICE) or (0, None)
    if not twice:
        return Check("standing facts", True, "one fact stands for each scope, type and target")
    return Check("standing facts", False, f"{twice} targets have more than one standing fact, among them {target!r}")


def check_orphaned_rows(store: Store, repair: bool) -> Check:
    counts = {kind: store.db.value(sql) for kind, sql in ORPHANS.items()}
    problems = [f"{count} {kind}" for kind, count in counts.items() if count]
    if not problems:
        return Check("references", True, "every fact, scope and session belongs where it says")
    reads_only = sum(counts.values()) == counts["counts of reads without a fact"]
    if repair and reads_only:
        with store.db.write_transaction() as conn:
            conn.execute("DELETE FROM reads WHERE fact_id NOT IN (SELECT id FROM facts)")
        return Check("references", True, f"{problems[0]}; removed", repaired=True)
    return Check("references", False, "; ".join(problems))


def check_projects(store: Store, repair: bool) -> Check:
    with ExitStack() as opened:
        files = [file for file in find_related_backups(store) if BEFORE_REPAIR not in file.name]
        backups = [opened.enter_context(connect_plainly(file)) for file in files]
        with store.db.snapshot() as conn:
            faults = find_project_faults(conn, backups)
        if not faults:
            return Check("projects", True, "all make sense; only backups could prove what they are called")
        problem = "; ".join(faults)
        if not repair:
            return Check("projects", False, f"{problem}; doctor --repair takes them from backups, or makes them sound")
        copy = keep_copy(store)
        with store.db.write_transaction() as conn:
            repair_projects(conn, backups, store.clock())
            store.names.forget()
            left = find_project_faults(conn, backups)
    detail = (
        "; ".join(left) or f"{problem}; mended from backups and the journal, as far as they tell; kept in {copy.name}"
    )
    return Check("projects", not left, detail, repaired=not left)


def check_supersede_links(store: Store, repair: bool) -> Check:
    lost = store.db.rows(LOST_LINKS)
    linked = store.db.value(COUNT_LINKED_WHILE_STANDING)
    if linked:
        return Check("links", False, f"{pluralise(linked, 'fact')} in force though marked as replaced")
    if not lost:
        return Check("links", True, "every superseded fact leads to one that exists")
    detail = f"{len(lost)} superseded facts lead to none that exists"
    if not repair:
        return Check("links", False, detail)
    with store.db.write_transaction() as conn:
        change = Mutation(conn, store.names, store.journal, DOCTOR)
        for row in lost:
            change.update_fact(FactRow(*row), "unlink", keep_time=True, **link_columns(None))
        change.record()
    return Check("links", True, f"{detail}; the links were taken out", repaired=True)


def check_theme_names(store: Store, repair: bool) -> Check:
    """Find facts that older versions stored under names that no agent can have, and move them to the normal form."""
    misnamed = find_misnamed_themes(store)
    if not misnamed:
        return Check("theme names", True, "every theme has a name that an agent can have")
    details, moved = [], 0
    for theme in misnamed:
        obstacle = theme.obstacle
        if repair and obstacle is None:
            try:
                move_misnamed_theme(store, theme, DOCTOR)
                moved += 1
            except errors.StoreError as error:
                obstacle = f"not moved: {error}"
        if obstacle is not None:
            details.append(f"{theme} is left as it is: {obstacle}")
        elif repair:
            details.append(f"{theme} was moved to {theme.normal!r}; undo takes it back")
        else:
            details.append(f"{theme} should be {theme.normal!r}; doctor --repair moves its facts there")
    return Check("theme names", moved == len(misnamed), "; ".join(details), repaired=moved > 0)


def check_sync_versions(store: Store, repair: bool) -> Check:
    wrong = store.sync.find_unversioned()
    count = sum(map(len, wrong.values()))
    if not count:
        return Check("sync", True, "every version says what stands here")
    detail = f"{pluralise(count, 'fact or scope', 'facts or scopes')} not as the versions say"
    if not repair:
        return Check("sync", False, detail)
    with store.db.write_transaction() as conn:
        note = "INSERT OR IGNORE INTO sync_changed VALUES (?, ?)"
        conn.executemany(note, [(theme_id, thing) for theme_id, things in wrong.items() for thing in things])
    return Check("sync", not store.sync.find_unversioned(), f"{detail}; they got new ones", repaired=True)


def check_sync_queues(store: Store, _: bool) -> Check:
    """Report what came from the team and is not shown, and what the team does not have yet."""
    sync, talk = store.sync, store.shared_turns
    hidden = [*sync.standing.hidden_versions(), *talk.skipped_turns()]
    refused = [*sync.outbox.rejected_rows(), *talk.rejected_turns()]
    unsent = sum(sync.outbox.unsent_counts().values()) + sum(talk.unsent_counts().values())
    problems = []
    if hidden:
        first = "; ".join(f"{row.uid} of {row.theme}: {row.why}" for row in hidden[:MAX_HIDDEN_NAMED])
        problems.append(f"{pluralise(len(hidden), 'row')} from the team kept aside and not shown: {first}")
    if refused:
        problems.append(f"{pluralise(len(refused), 'row')} refused by the team's database, to be tried again")
    if unsent:
        problems.append(f"{pluralise(unsent, 'row')} to be sent to the team")
    if not problems:
        return Check("team", True, "all that came from the team is shown, or waits for you; nothing waits to be sent")
    why = " (`hermes-memory-bridge sync status` says why)" if refused or unsent else ""
    return Check("team", False, "; ".join(problems) + why)


def check_citations(store: Store) -> Check:
    """Count how what facts cite stands: what changed in files is no fault of the store."""
    counts = count_states(store.citations.check_newest())
    stated = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return Check("citations", True, stated or "no fact cites anything")


def check_file_permissions(store: Store, repair: bool) -> Check:
    parts = [store.path, log_path(store.path), index_path(store.path)]
    open_ones = [part for part in parts if part.exists() and stat.S_IMODE(part.stat().st_mode) & 0o077]
    if not open_ones:
        return Check("privacy", True, "only the owner may read the file")
    modes = ", ".join(f"{part.name} is {stat.S_IMODE(part.stat().st_mode):04o}" for part in open_ones)
    if not repair:
        return Check("privacy", False, f"others may read the memory: {modes}, not 0600")
    for part in open_ones:
        part.chmod(0o600)
    return Check("privacy", True, f"{modes}; now 0600", repaired=True)


def check_leftover_copies(store: Store, repair: bool) -> Check:
    """Find what a crash left of a backup, an upgrade or a restore: copies of the memory that nobody needs."""
    left = [file for file in backup.find_unfinished_copies(store.path) if not backup.is_copy_in_progress(file)]
    left += sorted(store.path.parent.glob(f".{store.path.name}.receipt.*.tmp"))
    if not left:
        return Check("leftovers", True, "no unfinished copy lies beside the memory")
    detail = f"a crash left {', '.join(file.name for file in left)}"
    for file in left if repair else ():
        backup.remove_temporary_database(file)
    return Check("leftovers", repair, detail + ("; removed" if repair else ""), repaired=repair)


def check_log_size(store: Store, repair: bool) -> Check:
    size = file_size(f"{store.path}-wal")
    if size <= LARGE_WAL:
        return Check("write-ahead log", True, f"{size / 1024:.0f} KiB wait in the write-ahead log")
    detail = f"{size / 1024 / 1024:.0f} MiB wait in the write-ahead log"
    if not repair:
        detail += "; a process that never ends its reading keeps it from being emptied"
        return Check("write-ahead log", False, detail)
    is_busy = store.db.value("PRAGMA wal_checkpoint(TRUNCATE)")
    detail += "; a reader holds it" if is_busy else "; emptied"
    return Check("write-ahead log", not is_busy, detail, repaired=not is_busy)


def examine_file(
    path: Path,
    open_store: Callable[[], Store],
    *,
    repair: bool = False,
    progress: Callable[[str], None] | None = None,
) -> list[Check]:
    """Run every check on a file, also on one that is too damaged to be opened as a store.

    :param open_store: opens it, for writing where it is to be repaired
    :raises FileError: it cannot be opened, and not because it is damaged
    """
    log = describe_log_damage(path) if path.is_file() else None
    checks: list[Check] = []
    try:
        store = open_store()
    except (errors.StoreUnreadable, errors.StoreTooNew) as error:
        damage = find_file_damage(path)
        if damage is None:
            raise
        if not repair:
            return [Check("header", False, f"{error}; {damage}: doctor --repair puts them in a new file")]
        checks = [salvage_unopenable(path)]
        store = open_store()
    with store:
        checks += examine_store(store, repair=repair, progress=progress)
    if log is not None and not any(check.name == "log frames" and not check.ok for check in checks):
        checks.insert(0, Check("log frames", False, log))
    return checks


CHECKS: dict[str, Callable[[Store, bool], Check]] = {
    "log frames": check_log_frames,
    "database": check_database,
    "schema": check_schema,
    "journal": check_journal,
    "receipt": check_receipt,
    "projects": check_projects,
    "rows": check_rows,
    "full-text": partial(check_index, "full-text", FACT),
    "turns": partial(check_index, "turns", TURN),
    "gauges": check_gauges,
    "standing facts": check_standing_facts,
    "references": check_orphaned_rows,
    "links": check_supersede_links,
    "theme names": check_theme_names,
    "sync": check_sync_versions,
    "team": check_sync_queues,
    "privacy": check_file_permissions,
    "leftovers": check_leftover_copies,
    "write-ahead log": check_log_size,
}
"""Every check by its name, in the order they are made: what is repaired first must not depend on what comes later."""
