"""Columns of the fact table: their names, widths and cell texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Fact, ListOrder, Sort
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.text import display_formats

DEFAULT = ("tier", "type", "scope", "age")

BEFORE = ("tier", "type")
"""Columns before the target; the others stand after the content."""

CONTENT_AT_LEAST = 24
"""Cells of the content below which columns are left out, the first of them first; a quarter of a narrow row is enough."""


@dataclass(frozen=True, slots=True)
class FactColumn:
    name: str
    title: str
    width: int
    """Cells, the space before it aside; where it is set flush left, at most so many, for the longest text that is shown."""
    text: Callable[[Fact, int], str]
    """What stands in it, given the fact and the present."""
    right: bool = False
    sort: Sort | ListOrder | None = None
    """The order that a click on its head chooses."""

    def fit_cell(self, text: str, cells: int) -> str:
        return f"{text:>{cells}}" if self.right else display_formats.fit_middle(text, cells)


def tokens_a_day(fact: Fact, now: int) -> float:
    """Return how many tokens of contexts a fact was, by the day since it was written; the first day counts whole."""
    return fact.tokens * fact.reads / max(1.0, (now - fact.created_at) / DAY_MS)


COLUMNS = (
    FactColumn("tier", "", 2, lambda _, __: ""),
    FactColumn("type", "type", 2, lambda fact, _: fact.type.value, sort=Sort.TYPE),
    FactColumn(
        "scope",
        "scope",
        24,
        lambda fact, _: to_printable(fact.scope or "–"),
        sort=ListOrder.SCOPE,
    ),
    FactColumn("theme", "theme", 20, lambda fact, _: to_printable(fact.theme), sort=ListOrder.THEME),
    FactColumn("by", "by", 21, lambda fact, _: display_formats.author_name(fact), sort=ListOrder.AUTHOR),
    FactColumn(
        "reads",
        "reads",
        6,
        lambda fact, _: display_formats.abbreviate_number(fact.reads),
        True,
        ListOrder.READS,
    ),
    FactColumn(
        "read",
        "read",
        5,
        lambda fact, now: "never" if fact.read_at is None else display_formats.format_age(fact.read_at, now),
        True,
        ListOrder.READ_AT,
    ),
    FactColumn(
        "given",
        "tok/d",
        6,
        lambda fact, now: display_formats.abbreviate_number(round(tokens_a_day(fact, now))),
        True,
        ListOrder.GIVEN,
    ),
    FactColumn(
        "tokens",
        "tok",
        4,
        lambda fact, _: display_formats.abbreviate_number(fact.tokens),
        True,
        ListOrder.TOKENS,
    ),
    FactColumn(
        "age",
        "age",
        4,
        lambda fact, now: display_formats.format_age(fact.updated_at, now),
        True,
        Sort.UPDATED,
    ),
)
"""All of them, in the order they stand in."""


def column_names(order: Sort | ListOrder) -> tuple[str, ...]:
    """Return the columns of a list: the usual ones, and the one that it is ordered by."""
    return tuple(column.name for column in COLUMNS if column.name in DEFAULT or column.sort is order)


def trailing_columns(
    names: Sequence[str], room: int, width: int, longest: Mapping[str, int]
) -> list[tuple[FactColumn, int]]:
    """Return the columns after the content with their widths, as many as leave the content its room.

    :param room: cells for the content and these columns
    :param width: cells of the whole row
    :param longest: cells of the longest text of each column that is set flush left
    """
    least = min(CONTENT_AT_LEAST, width // 4)
    chosen = []
    for column in COLUMNS:
        if column.name in names and column.name not in BEFORE:
            most = column.width if column.right else min(column.width, max(12, width // 5))
            needed = column.width if column.right else max(len(column.title) + 1, longest.get(column.name, 0))
            chosen.append((column, min(most, needed)))
    while chosen and room - sum(cells + 1 for _, cells in chosen) < least and len(chosen) > 1:
        chosen.pop(0)
    return chosen


ORDERS: dict[tuple[Sort | ListOrder, bool], str] = {
    (Sort.UPDATED, True): "recently changed first",
    (Sort.UPDATED, False): "least recently changed first",
    (Sort.CREATED, True): "newest first",
    (Sort.CREATED, False): "oldest first",
    (Sort.TARGET, False): "by target, a to z",
    (Sort.TARGET, True): "by target, z to a",
    (Sort.TYPE, True): "by type, constraints first",
    (Sort.TYPE, False): "by type, constraints last",
    (ListOrder.SCOPE, False): "by scope, a to z",
    (ListOrder.SCOPE, True): "by scope, z to a",
    (ListOrder.THEME, False): "by theme, a to z",
    (ListOrder.THEME, True): "by theme, z to a",
    (ListOrder.AUTHOR, False): "by author, a to z",
    (ListOrder.AUTHOR, True): "by author, z to a",
    (ListOrder.TOKENS, True): "longest first",
    (ListOrder.TOKENS, False): "shortest first",
    (ListOrder.READS, True): "most read first",
    (ListOrder.READS, False): "least read first",
    (ListOrder.READ_AT, True): "lately read first",
    (ListOrder.READ_AT, False): "longest unread first",
    (ListOrder.GIVEN, True): "most tokens a day first",
    (ListOrder.GIVEN, False): "fewest tokens a day first",
}
"""Every order of the facts in words; of each, the one that a first click on a head chooses stands first."""


def next_order(sort: Sort | ListOrder, descending: bool, chosen: Sort | ListOrder) -> bool:
    """Return whether a click on a head orders descending: its own way first, then the other way round."""
    return not descending if sort is chosen else next(way for order, way in ORDERS if order is chosen)
