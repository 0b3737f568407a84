"""The keys of all facts of a filter in any order: the index of a virtual list."""

from __future__ import annotations

import itertools
import json
from array import array

from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.database.db import Db
from hermes_memory_store.items.fact_pages import KEYS, range_conditions, select_ranges, type_rank_sql
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.language.tokenizer import natural_order
from hermes_memory_store.model import FactFilter, ListOrder, Millis, Sort

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
    """Return every key in order; see `Facts.ids`."""
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
