"""Pages of facts in any order, by keyset and never by OFFSET.

A filter without text amounts to combinations of theme, scope, tier and type. Each combination is one sorted range
of an index; SQLite merges the ranges of a compound SELECT lazily, so a page costs the same at any size. The
tallies show which combinations hold facts at all, and how many.
"""

from __future__ import annotations

import itertools
import json
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hermes_memory_store import errors, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.items.kinds import FACT, FactRow
from hermes_memory_store.items.mutation import FACTS_WITH_READS
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.tier_columns import IS_COOLED_BY
from hermes_memory_store.language.tokenizer import natural_order
from hermes_memory_store.model import (
    Fact,
    FactFilter,
    FactPage,
    FactType,
    ListOrder,
    Millis,
    PageCursor,
    Sort,
    Tier,
    Way,
)

MAX_LIMIT = 1_000
"""Facts one page holds at most."""

SORTABLE_FACTS = 1_000
"""Up to so many facts it is cheaper to fetch and sort them all than to walk an order looking for them."""

MAX_COUNTED = 1_000
"""How far the facts of a filter are counted that the tallies cannot answer: a page must not cost a scan of the store."""

RANGES_AT_ONCE = 100
"""Ranges merged in one statement; SQLite allows 500."""

KEYS = {Sort.UPDATED: "updated_at", Sort.CREATED: "created_at", Sort.TARGET: "target"}

THEME_INDEXES = {
    Sort.UPDATED: "facts_by_update",
    Sort.CREATED: "facts_by_creation",
    Sort.TARGET: "facts_by_target",
}


@dataclass(frozen=True, slots=True)
class IndexRange:
    owner: int
    """A theme's or a scope's key."""
    tier: str
    type: str


@dataclass(frozen=True, slots=True)
class FactSelection:
    """A filter in terms of keys: the ranges that match it, and the conditions to check in addition."""

    tallies: list[tuple[int, int, str, str, int]]
    scope_ids: list[int] | None
    conditions: list[str]
    args: list[Any]
    few: str | None
    """An index condition that alone leaves at most `FEW` facts, when there is one."""
    few_args: list[Any]
    counted_by: str = "WHERE 1"
    """The index by which facts are counted that the tallies cannot count."""

    @property
    def tallied_total(self) -> int:
        return sum(row[4] for row in self.tallies)


def load_fact_page(
    db: Db,
    names: Names,
    fact_filter: FactFilter,
    *,
    sort: Sort,
    descending: bool,
    after: PageCursor | None,
    limit: int,
) -> FactPage:
    if not 1 <= limit <= MAX_LIMIT:
        raise errors.ArgumentError(f"a page holds 1 to {MAX_LIMIT} facts, not {limit}", limit)
    with db.snapshot():
        selection = select_ranges(db, names, fact_filter)
        total = count_selected_facts(db, selection, most=MAX_COUNTED)
        if sort is Sort.TYPE:
            keys = keys_by_type(db, selection, descending, after, limit)
        else:
            keys = [(row[0], row[1]) for row in sorted_keys(db, selection, sort, descending, after, limit)]
        facts = load_facts(db, names, [key for _, key in keys])
    more = len(keys) == limit
    uncounted = bool(selection.conditions) and total > MAX_COUNTED
    return FactPage(
        facts, PageCursor(keys[-1]) if more and keys else None, MAX_COUNTED if uncounted else total, uncounted
    )


def count_facts(db: Db, names: Names, fact_filter: FactFilter) -> int:
    with db.snapshot():
        return count_selected_facts(db, select_ranges(db, names, fact_filter))


def select_ranges(db: Db, names: Names, fact_filter: FactFilter) -> FactSelection:
    theme_ids = names.known_theme_keys(fact_filter.themes)
    theme_id = theme_ids[0] if len(fact_filter.themes) == len(theme_ids) == 1 else None
    if fact_filter.theme is not None and not theme_ids:
        return FactSelection([], None, ["0"], [], None, [])
    scope_ids = names.scope_ids(fact_filter)
    tiers = (fact_filter.tiers or frozenset(Tier)) - {Tier.WITHDRAWN}
    tallies = db.rows(*tally_query(theme_ids, scope_ids, tiers, fact_filter))
    selection = FactSelection(
        tallies,
        scope_ids,
        *filter_conditions(names, fact_filter),
        None,
        [],
        actor_condition(names, fact_filter, theme_id),
    )
    return use_selective_condition(db, names, fact_filter, selection, theme_id)


def tally_query(
    theme_ids: list[int], scope_ids: list[int] | None, tiers: frozenset[Tier], fact_filter: FactFilter
) -> tuple[str, list[Any]]:
    """Return the query for the ranges that hold facts, and their counts.

    It counts by scope where scopes are named, else by theme.
    """
    scope = "0" if scope_ids is None else "scope_id"
    where, args = ["facts > 0"], []  # type: tuple[list[str], list[Any]]
    if theme_ids:
        where.append(f"theme_id IN ({join_keys(theme_ids)})")
    if scope_ids is not None:
        where.append(f"scope_id IN ({', '.join(map(str, scope_ids))})")
    for column, values in (("tier", tiers), ("type", fact_filter.types)):
        if values:
            where.append(f"{column} IN ({', '.join('?' * len(values))})")
            args += sorted(value.value for value in values)
    source = f"SELECT theme_id, {scope} AS owner, tier, type, sum(facts) FROM tallies WHERE {' AND '.join(where)}"
    return f"{source} GROUP BY 1, 2, 3, 4", args


def filter_conditions(names: Names, fact_filter: FactFilter) -> tuple[list[str], list[Any]]:
    """Return the conditions that the ranges do not cover, as SQL."""
    where: list[str] = []
    args: list[Any] = []
    if fact_filter.target is not None:
        where.append("(target = ? OR (target > ? AND target < ?))")
        args += target_bounds(fact_filter.target)
    if fact_filter.before is not None:
        # What was last changed before then was made before then, too: that bounds the order of creation.
        where += ["updated_at < ?", "created_at < ?"]
        args += [fact_filter.before, fact_filter.before]
    if fact_filter.after is not None:
        where.append("updated_at >= ?")
        args.append(fact_filter.after)
    if fact_filter.by is not None:
        actors, origins = names.authors_in(fact_filter.by, fact_filter.themes)
        where.append(f"(actor_id IN ({join_keys(actors)}) OR origin_id IN ({join_keys(origins)}))")
    if fact_filter.ways or fact_filter.projects or fact_filter.branches or fact_filter.clients:
        where.append(origin_condition(names, fact_filter))
    if fact_filter.pinned is not None:
        where.append("pinned = 1" if fact_filter.pinned else "pinned = 0")
    if fact_filter.read is not None:
        where.append(f"f.id {'' if fact_filter.read else 'NOT '}IN (SELECT fact_id FROM reads)")
    if fact_filter.cooled_by is not None:
        where.append(IS_COOLED_BY)
        args.append(fact_filter.cooled_by)
    if fact_filter.seen_from is not None and fact_filter.theme is not None:
        where.append(names.seen_from_condition([fact_filter.theme], fact_filter.seen_from))
    if fact_filter.theme is not None and names.known_theme_keys(
        fact_filter.also
    ):  # a condition makes a search check every hit
        where.append(names.seen_from_condition(fact_filter.themes, fact_filter.theme))
    return where, args


def origin_condition(names: Names, fact_filter: FactFilter) -> str:
    theme_id = (
        names.theme_or_none(fact_filter.theme) if fact_filter.theme is not None and not fact_filter.also else None
    )
    named = fact_filter.projects | fact_filter.branches | fact_filter.clients
    keys = names.origins.keys(
        theme_id, fact_filter.ways, fact_filter.projects, fact_filter.branches, fact_filter.clients
    )
    is_of_origin = f"origin_id IN ({join_keys(keys)})"
    unknown = Way.UNKNOWN in fact_filter.ways and not named
    return f"({is_of_origin} OR origin_id IS NULL)" if unknown else is_of_origin


def join_keys(keys: Iterable[int]) -> str:
    """Join keys as SQL; 0, which is no key, where there are none: a partial index does not answer an empty list."""
    return ", ".join(map(str, keys)) or "0"


def target_bounds(target: str) -> list[str]:
    """Return the target, and the open interval of the dotted names below it ('/' follows '.')."""
    return [target, target + ".", target + "/"]


def use_selective_condition(
    db: Db, names: Names, fact_filter: FactFilter, selection: FactSelection, theme_id: int | None
) -> FactSelection:
    """Use a condition that alone leaves few facts: those are then fetched and sorted."""
    candidates: list[tuple[str, list[Any]]] = []
    if fact_filter.pinned:
        candidates.append(("INDEXED BY facts_pinned WHERE pinned = 1", []))
    if fact_filter.by is not None:
        candidates.append((actor_condition(names, fact_filter, theme_id), []))
    elif (fact_filter.projects | fact_filter.branches | fact_filter.clients) or (
        fact_filter.ways and Way.UNKNOWN not in fact_filter.ways
    ):
        candidates.append((f"INDEXED BY facts_of_origin WHERE {origin_condition(names, fact_filter)}", []))
    if fact_filter.target is not None and theme_id is not None:
        tiers = ", ".join(sorted({f"'{row[2]}'" for row in selection.tallies})) or "''"
        types = ", ".join(sorted({f"'{row[3]}'" for row in selection.tallies})) or "''"
        for bounds, args in (
            ("= ?", [fact_filter.target]),
            ("> ? AND target < ?", target_bounds(fact_filter.target)[1:]),
        ):
            source = (
                f"INDEXED BY facts_by_target WHERE theme_id = {theme_id} AND tier IN ({tiers})"
                f" AND type IN ({types}) AND target {bounds}"
            )
            candidates.append((source, list(args)))
        exact, below = candidates[-2:]
        del candidates[-2:]
        if leaves_few(db, *exact) and leaves_few(db, *below):
            # NOT INDEXED leaves the key: the planner would rather walk the theme.
            source = (
                f"NOT INDEXED WHERE id IN (SELECT id FROM facts {exact[0]} UNION ALL SELECT id FROM facts {below[0]})"
            )
            return replace(selection, few=source, few_args=exact[1] + below[1])
    for source, args in candidates:
        if leaves_few(db, source, args):
            return replace(selection, few=source, few_args=args)
    if selection.scope_ids is not None and selection.tallied_total <= SORTABLE_FACTS:
        keys = ", ".join(map(str, selection.scope_ids))
        return replace(selection, few=f"INDEXED BY facts_of_scope WHERE scope_id IN ({keys})")
    return selection


def actor_condition(names: Names, fact_filter: FactFilter, theme_id: int | None) -> str:
    """Return the condition for facts of the actors a filter names, within its theme. A fact's key begins with its theme's."""
    if fact_filter.by is None:
        return "WHERE 1"
    actors, origins = names.authors_in(fact_filter.by, fact_filter.themes)
    source = f"INDEXED BY facts_of_actor WHERE actor_id IN ({join_keys(actors)})"
    if theme_id is not None:
        source += f" AND id BETWEEN {theme_id << THEME_SHIFT} AND {((theme_id + 1) << THEME_SHIFT) - 1}"
    if not origins:
        return source
    by_origin = f"INDEXED BY facts_of_origin WHERE origin_id IN ({join_keys(origins)})"
    return f"NOT INDEXED WHERE id IN (SELECT id FROM facts {source} UNION SELECT id FROM facts {by_origin})"


def leaves_few(db: Db, source: str, args: Sequence[Any]) -> bool:
    sql = f"SELECT count(*) FROM (SELECT 1 FROM facts f {source} LIMIT {SORTABLE_FACTS + 1})"
    return bool(db.value(sql, args) <= SORTABLE_FACTS)


def count_selected_facts(db: Db, selection: FactSelection, *, most: int | None = None) -> int:
    """Count facts: from the tallies alone when the ranges suffice, else one by one, up to `most` + 1."""
    # Without ranges the condition is never true, and SQLite plans no walk of a partial index for that.
    if not (selection.conditions and selection.tallies):
        return selection.tallied_total
    source = selection.few or selection.counted_by
    where = " AND ".join([source, *range_conditions(selection), *selection.conditions])
    bound = "" if most is None else f" LIMIT {most + 1}"
    return int(
        db.value(f"SELECT count(*) FROM (SELECT 1 FROM facts f {where}{bound})", (*selection.few_args, *selection.args))
    )


def range_conditions(selection: FactSelection) -> list[str]:
    """Return theme, scope, tier and type of the ranges as plain conditions."""
    if not selection.tallies:
        return ["0"]
    themes = ", ".join(str(key) for key in sorted({row[0] for row in selection.tallies}))
    tiers = ", ".join(f"'{tier}'" for tier in sorted({row[2] for row in selection.tallies}))
    types = ", ".join(f"'{kind}'" for kind in sorted({row[3] for row in selection.tallies}))
    conditions = [f"theme_id IN ({themes})", f"tier IN ({tiers})", f"type IN ({types})"]
    if selection.scope_ids is not None:
        conditions.append(f"scope_id IN ({', '.join(map(str, selection.scope_ids))})")
    return conditions


def sorted_keys(
    db: Db, selection: FactSelection, sort: Sort, descending: bool, after: PageCursor | None, limit: int
) -> list[tuple[Any, int]]:
    """Return (sort key, fact key) of the next facts."""
    way = "DESC" if descending else "ASC"
    key = KEYS[sort]
    beyond = "" if after is None else f" AND ({key}, id) {'<' if descending else '>'} (?, ?)"
    beyond_args = [] if after is None else list(after.key)
    tail = f" ORDER BY 1 {way}, 2 {way} LIMIT {int(limit)}"
    if not selection.tallies:
        return []
    if selection.few:
        where = " AND ".join([selection.few, *range_conditions(selection), *selection.conditions])
        sql = f"SELECT {key}, id FROM facts f {where}{beyond}{tail}"
        return db.rows(sql, (*selection.few_args, *selection.args, *beyond_args))
    index, owner, ranges = ordered_ranges(selection, sort)
    extra = "".join(f" AND {condition}" for condition in selection.conditions) + beyond
    if owner == "theme_id" and selection.scope_ids is not None:
        extra = f" AND scope_id IN ({', '.join(map(str, selection.scope_ids))})" + extra
    ordered: list[tuple[Any, int]] = []
    for some in in_chunks(ranges, RANGES_AT_ONCE):
        parts = [
            f"SELECT {key}, id FROM facts f INDEXED BY {index} WHERE {owner} = ? AND tier = ? AND type = ?{extra}"
            for _ in some
        ]
        args: list[Any] = []
        for fact_range in some:
            args += [fact_range.owner, fact_range.tier, fact_range.type, *selection.args, *beyond_args]
        ordered += db.rows(" UNION ALL ".join(parts) + tail, args)
    if len(ranges) > RANGES_AT_ONCE:
        ordered.sort(
            key=lambda row: (row[0].lower() if isinstance(row[0], str) else row[0], row[1]), reverse=descending
        )
    return ordered[:limit]


def ordered_ranges(selection: FactSelection, sort: Sort) -> tuple[str, str, list[IndexRange]]:
    if selection.scope_ids is not None and sort is Sort.UPDATED:
        index, owner = "facts_of_scope", "scope_id"
    else:
        index, owner = THEME_INDEXES[sort], "theme_id"
    ranges = {IndexRange(row[1] if owner == "scope_id" else row[0], row[2], row[3]) for row in selection.tallies}
    return index, owner, sorted(ranges, key=lambda fact_range: (fact_range.owner, fact_range.tier, fact_range.type))


def keys_by_type(
    db: Db, selection: FactSelection, descending: bool, after: PageCursor | None, limit: int
) -> list[tuple[Any, int]]:
    """Return keys by type, most binding first (last when ascending), newest first within a type.

    The sort key is (type, updated_at).
    """
    ordered: list[tuple[Any, int]] = []
    kinds = list(FactType) if descending else list(reversed(FactType))
    inner: PageCursor | None = None
    if after is not None:
        (kind, updated), key = after.key
        kinds = kinds[kinds.index(FactType(kind)) :]
        inner = PageCursor((updated, key))
    for kind in kinds:
        only = replace(selection, tallies=[row for row in selection.tallies if row[3] == kind.value])
        rows = sorted_keys(db, only, Sort.UPDATED, descending, inner, limit - len(ordered))
        ordered += [((kind.value, updated), key) for updated, key in rows]
        inner = None
        if len(ordered) == limit:
            break
    return ordered


def type_rank_sql() -> str:
    whens = " ".join(f"WHEN '{kind.value}' THEN {rank}" for rank, kind in enumerate(FactType))
    return f"CASE type {whens} END"


def load_facts(db: Db, names: Names, keys: Sequence[int]) -> list[Fact]:
    def load(missing: list[int]) -> dict[int, tuple[Any, ...]]:
        sql = f"{FACTS_WITH_READS} WHERE f.id IN (SELECT value FROM json_each(?))"
        return {row[0]: row for row in db.rows(sql, (json.dumps(missing),))}

    return to_facts(names, db.load_kept("facts", keys, load).values())


NAMED = {ListOrder.SCOPE: "scope_id", ListOrder.THEME: "theme_id", ListOrder.AUTHOR: "actor_id"}
"""Columns of orders by a name: the keys of the names."""

COUNTED = {
    ListOrder.TOKENS: "f.tokens",
    ListOrder.READS: "coalesce(r.times, 0)",
    ListOrder.READ_AT: "coalesce(r.last_at, 0)",
    ListOrder.GIVEN: f"f.tokens * coalesce(r.times, 0) * 1.0 / max(1, (? - f.created_at) / {DAY_MS}.0)",
}
"""Orders by a number, as SQL; the argument is the present."""


def sorted_fact_keys(
    db: Db, names: Names, fact_filter: FactFilter, *, sort: Sort | ListOrder, descending: bool, now: Millis
) -> array[int]:
    way = "DESC" if descending else "ASC"
    before, joined, args = "", "", []  # type: tuple[str, str, list[str | int]]
    with db.snapshot() as conn:
        match sort:
            case Sort.TYPE:
                order = f"{type_rank_sql()} {'ASC' if descending else 'DESC'}, updated_at {way}, id {way}"
            case Sort():
                order = f"{KEYS[sort]} {way}, id {way}"
            case ListOrder.SCOPE | ListOrder.THEME | ListOrder.AUTHOR:
                before = "WITH places AS MATERIALIZED (SELECT key AS place, value AS named FROM json_each(?)) "
                args = [json.dumps(order_names(db, names, sort))]
                joined = f" JOIN places ON places.named = f.{NAMED[sort]}"
                order = f"place {way}, updated_at DESC, id DESC"
            case _:
                joined = " LEFT JOIN reads r ON r.fact_id = f.id"
                order = f"{COUNTED[sort]} {way}, updated_at DESC, id DESC"
        selection = select_ranges(db, names, fact_filter)
        where = " AND ".join(["1", *range_conditions(selection), *selection.conditions])
        after = [now] if sort is ListOrder.GIVEN else []
        sql = f"{before}SELECT id FROM facts f{joined} WHERE {where} ORDER BY {order}"
        return array("q", itertools.chain.from_iterable(conn.execute(sql, (*args, *selection.args, *after))))


def order_names(db: Db, names: Names, sort: ListOrder) -> list[int]:
    """Return the keys of the names that facts have, in natural order."""
    if sort is ListOrder.AUTHOR:
        sql = "SELECT id, coalesce((SELECT theme_id FROM sessions WHERE name = a.name LIMIT 1), 0) FROM actors a"
        authors = [(key, names.author(key, theme)) for key, theme in db.rows(sql)]
        rows = [(key, author.title or author.name or author.kind) for key, author in authors]
    else:
        rows = db.rows("SELECT id, label FROM scopes" if sort is ListOrder.SCOPE else "SELECT id, name FROM themes")
    return [key for key, _ in sorted(rows, key=lambda row: natural_order(row[1]))]


FACT_TYPES = {kind.value: kind for kind in FactType}

TIERS = {tier.value: tier for tier in Tier}


LABEL = len(FactRow._fields)
"""Place of the first of `READ_COLUMNS`."""

LINKS = tuple((name, FactRow._fields.index(name)) for name in FACT.links)

OPTIONAL = tuple((name, FactRow._fields.index(name)) for name in FACT.optional)


def to_facts(names: Names, rows: Iterable[Sequence[Any]]) -> list[Fact]:
    """Make facts of rows: the columns of `FACT_COLUMNS`, and those of `READ_COLUMNS` after them."""
    rows = list(rows)
    origins = {keys: names.origins.by_key(*keys) for keys in {(row[16], row[17]) for row in rows}}
    themes = {key: names.theme_name(key) for key in {row[2] for row in rows}}
    authors = {keys: names.author(*keys) for keys in {(row[11], row[2]) for row in rows}}
    return [
        Fact(
            id=row[0],
            uid=uid,
            theme=themes[row[2]],
            scope=row[LABEL] or None,
            type=FACT_TYPES[row[4]],
            target=row[5],
            content=row[6],
            tier=TIERS[row[7]],
            pinned=bool(row[8]),
            chars=row[9],
            tokens=row[10],
            actor=authors[row[11], row[2]],
            created_at=Millis(row[12]),
            updated_at=Millis(row[13]),
            reads=row[LABEL + 1] or 0,
            read_at=None if row[LABEL + 2] is None else Millis(row[LABEL + 2]),
            origin=origins[row[16], row[17]],
            **{name: None if row[place] is None else uids.format_uid(row[place]) for name, place in LINKS},
            **{name: row[place] for name, place in OPTIONAL},
        )
        for row, uid in zip(rows, uids.to_texts([row[1] for row in rows]), strict=True)
    ]
