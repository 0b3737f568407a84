"""Lists as a table, CSV, TSV or JSON lines: `-o`, `--fields` and `--after` of every command that lists.

A row is the JSON document of one thing (`json_documents.py`), a field is a key of it, a dot reaches into it
(`facts.hot`). `docs/cli.md` documents the formats.
"""

from __future__ import annotations

import functools
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import FactType, Tier
from hermes_memory_store.safe_text import RIGHT_TO_LEFT, load_pattern, to_printable
from hermes_memory_tui.cli.common_options import CommandSettings, F, reject_blank, store_common_option
from hermes_memory_tui.cli.pager import paged_output
from hermes_memory_tui.cli.terminal_output import (
    TIER_SHAPES,
    cell_width,
    cut_to_width,
    distinct_uid_length,
    line_width,
    style_text,
    style_tier,
    style_type,
)
from hermes_memory_tui.text.separated_values import to_csv_line, to_plain_text, to_tsv_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Row = Mapping[str, Any]

FORMATS = ("table", "csv", "tsv", "jsonl")

ALL_FIELDS = "all"

ORIGIN_FIELDS = tuple(
    f"origin.{name}"
    for name in ("way", "session", "title", "client", "project", "branch", "commit", "folder", "teammate", "file")
)
"""What is asked of an origin."""

ROWS_MEASURED = 1_000
"""Rows that decide how wide the columns of a table are; those that follow are printed as they come."""

NARROWEST_COLUMN = 6
"""Cells that a column keeps on a narrow terminal."""

COMFORTABLE_COLUMN = 19
"""Cells of a time. Where a column would be cut below that, a terminal shows fewer columns, unless they were asked for."""

GAP = "  "

LEFT_TO_RIGHT_MARK = "\u200e"
"""Ends a cell of right-to-left text, so that a terminal that reorders lines does not swap it with the next."""


@dataclass(frozen=True, slots=True)
class Listing:
    fields: tuple[str, ...]
    """Every field of a row."""
    shown: tuple[str, ...]
    """Those that stand in a table, in CSV and in TSV unless `--fields` names others."""


def add_list_options(listing: Listing) -> Callable[[F], F]:
    """Add `-o` and `--fields`, which `print_rows` obeys."""

    def add(command: F) -> F:
        @functools.wraps(command)
        def run_checked(*args: Any, **values: Any) -> Any:
            ctx = click.get_current_context()
            settings = ctx.ensure_object(CommandSettings)
            if settings.as_json and settings.is_tabular:
                raise click.UsageError("--json prints one whole document; use -o jsonl instead, or leave it out", ctx)
            if settings.fields is not None:
                parse_fields(listing, settings.fields)
            if not settings.as_json and ctx.invoked_subcommand is None and not ctx.params.get("follow"):
                ctx.with_resource(paged_output())
            return command(*args, **values)

        def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
            return complete_fields(listing, incomplete)

        for option in (
            click.option(
                "--fields", metavar="A,B,C", expose_value=False, callback=store_common_option, shell_complete=complete,
                help="Only these fields, in this order; `all` for every field.",
            ),
            click.option(
                "-o", "--output", type=click.Choice(FORMATS), expose_value=False, callback=store_common_option,
                help="Print a table, CSV for spreadsheets, TSV, or one JSON document a line.",
            ),
        ):  # fmt: skip
            run_checked = option(run_checked)
        return run_checked  # type: ignore[return-value]  # the command itself, with a check before it

    return add


def after_option(metavar: str, help_text: str) -> Callable[[F], F]:
    """Add `--after`, the cursor of the next page."""
    return click.option("--after", metavar=metavar, callback=reject_blank, help=help_text)


def print_cursor(after: str) -> None:
    """Say on standard error how the next page is asked for, so that what is piped on is rows alone."""
    click.echo(f"next page: --after {after}", err=True)


def parse_fields(listing: Listing, text: str) -> tuple[str, ...]:
    """Parse the value of `--fields`. :raises BadParameter: there is no such field; names the nearest"""
    if text.strip() == ALL_FIELDS:
        return listing.fields
    import difflib

    fields = tuple(name.strip() for name in text.split(","))
    for name in fields:
        if name not in listing.fields:
            near = difflib.get_close_matches(name.lower(), listing.fields, n=3, cutoff=0.5)
            meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            names = ", ".join(listing.fields)
            error = click.BadParameter(f"no field {name!r}{meant} The fields: {names}.", param_hint="--fields")
            error.value = name  # type: ignore[attr-defined]  # what `--json` names as the offending value
            raise error
    return fields


def complete_fields(listing: Listing, incomplete: str) -> list[CompletionItem]:
    """Complete the last of several field names in the shell."""
    from click.shell_completion import CompletionItem

    before, comma, start = incomplete.rpartition(",")
    named = before.split(",")
    return [
        CompletionItem(f"{before}{comma}{name}")
        for name in (*listing.fields, *(() if comma else (ALL_FIELDS,)))
        if name.startswith(start) and name not in named
    ]


def print_rows(settings: CommandSettings, listing: Listing, rows: Iterable[Row]) -> None:
    """Print rows in the format that was asked for; a table unless one was."""
    RowPrinter(settings, listing).print(rows)


class RowPrinter:
    """Prints rows as they come: head once, and no more of them in memory than a table is measured by."""

    def __init__(self, settings: CommandSettings, listing: Listing) -> None:
        self._format = settings.output or "table"
        self._fields = listing.shown if settings.fields is None else parse_fields(listing, settings.fields)
        self._is_chosen = settings.fields is not None
        self._is_whole = self._format == "jsonl" and not self._is_chosen
        self._table: TablePrinter | None = None
        self._is_headed = False

    def print(self, rows: Iterable[Row]) -> None:
        if self._format == "table":
            self._print_table(iter(rows))
        elif self._format == "jsonl":
            self._print_json(rows)
        else:
            self._print_separated(rows)
        sys.stdout.flush()

    def _print_table(self, rows: Iterator[Row]) -> None:
        while some := list(itertools.islice(rows, ROWS_MEASURED)):
            cells = [[find_value(row, field) for field in self._fields] for row in some]
            if self._table is None:
                headings = [field.rpartition(".")[2].replace("_", " ").removesuffix(" at") for field in self._fields]
                self._table = TablePrinter(headings, cells, self._fields, all_columns=self._is_chosen)
            self._table.print(cells)

    def _print_json(self, rows: Iterable[Row]) -> None:
        escaped = "utf" not in (sys.stdout.encoding or "").lower()
        for row in rows:
            document = row if self._is_whole else {field: find_value(row, field) for field in self._fields}
            click.echo(json.dumps(document, ensure_ascii=escaped))

    def _print_separated(self, rows: Iterable[Row]) -> None:
        to_line = to_csv_line if self._format == "csv" else to_tsv_line
        if not self._is_headed:
            click.echo(to_line(self._fields), nl=False)
            self._is_headed = True
        for row in rows:
            click.echo(to_line([find_value(row, field) for field in self._fields]), nl=False)


def find_value(row: Row, field: str) -> Any:
    """Return the value of a field, None where the row has none."""
    value: Any = row
    for name in field.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print aligned columns under headings, numbers to the right."""
    cells = [list(row) for row in rows]
    TablePrinter(headings, cells).print(cells)


class TablePrinter:
    """Prints aligned columns that fit the terminal; into a file or a pipe, every cell is whole."""

    def __init__(
        self,
        headings: Sequence[str],
        sample: Sequence[Sequence[Any]],
        fields: Sequence[str] | None = None,
        *,
        all_columns: bool = True,
    ) -> None:
        """:param sample: the rows that decide the widths

        :param fields: what the columns are, where colour tells
        :param all_columns: False leaves some out on a narrow terminal
        """
        self._headings = headings
        self._fields = fields or [""] * len(headings)
        self._room = line_width()
        columns = list(zip(*sample, strict=True)) if sample else [()] * len(headings)
        self._right = [
            bool(column) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in column)
            for column in columns
        ]
        self._uid_lengths = [
            distinct_uid_length([str(cell) for cell in column]) if field == "uid" and self._room is not None else 0
            for field, column in zip(self._fields, columns, strict=True)
        ]
        widths = [
            max([cell_width(heading), *(cell_width(text) for text in (self._to_cell(at, cell) for cell in column))])
            for at, (heading, column) in enumerate(zip(headings, columns, strict=True))
        ]
        self._kept = list(range(len(widths)))
        if self._room is not None:
            if not all_columns:
                self._kept = choose_columns(widths, self._right, self._room)
            fitted = fit_widths([widths[at] for at in self._kept], [self._right[at] for at in self._kept], self._room)
            for at, width in zip(self._kept, fitted, strict=True):
                widths[at] = width
        self._widths = widths
        self._is_headed = False

    def print(self, rows: Iterable[Sequence[Any]]) -> None:
        """Print more rows, under the headings if they are the first."""
        if not self._is_headed:
            click.echo(style_text(self._line(self._headings, [""] * len(self._headings)), bold=True))
            self._is_headed = True
        for row in rows:
            click.echo(self._line([self._to_cell(at, cell) for at, cell in enumerate(row)], self._fields))

    def _to_cell(self, at: int, value: Any) -> str:
        field = self._fields[at]
        if field == "tier" and value in list(Tier):
            return f"{TIER_SHAPES.get(Tier(value), ' ')} {value}"
        if isinstance(value, str) and (field == "at" or field.endswith("_at")):
            return to_printable(value[:19].replace("T", " "))
        if self._uid_lengths and field == "uid" and self._uid_lengths[at]:
            return str(value)[-self._uid_lengths[at] :]
        if isinstance(value, bool):
            return "yes" if value else ""
        return to_printable(to_plain_text(value))

    def _line(self, cells: Sequence[str], fields: Sequence[str]) -> str:
        line = ""
        used = 0
        for at in self._kept:
            cell, width, field = cells[at], self._widths[at], fields[at]
            if used and self._room is not None and used + width > self._room:
                break  # a terminal too narrow for all columns has the first ones
            shown = cell if self._room is None else cut_cell(cell, width)
            space = " " * (width - cell_width(shown))
            styled = style_cell(field, shown)
            if self._room is not None and load_pattern(RIGHT_TO_LEFT).search(shown):
                styled += LEFT_TO_RIGHT_MARK
            is_last = at == self._kept[-1]
            line += space + styled if self._right[at] else styled + ("" if is_last else space)
            line += "" if is_last else GAP
            used += width + len(GAP)
        return line.rstrip(" ")


def choose_columns(widths: Sequence[int], right: Sequence[bool], room: int) -> list[int]:
    """Return the columns that fit into so many cells without being cut short: the last go first, the widest stays."""
    columns = list(range(len(widths)))
    widest = max(columns, key=lambda at: widths[at])
    while len(columns) > 1:
        natural = [widths[at] for at in columns]
        fitted = fit_widths(natural, [right[at] for at in columns], room)
        is_within = sum(fitted) + len(GAP) * (len(columns) - 1) <= room
        if is_within and all(new >= min(old, COMFORTABLE_COLUMN) for old, new in zip(natural, fitted, strict=True)):
            break
        columns.remove(next(at for at in reversed(columns) if at != widest))
    return columns


def fit_widths(widths: Sequence[int], right: Sequence[bool], room: int) -> list[int]:
    """Return the widths of columns that fit into so many cells: the widest columns of text give first."""
    fitted = list(widths)
    excess = sum(fitted) + len(GAP) * (len(fitted) - 1) - room
    texts = [at for at, is_number in enumerate(right) if not is_number]
    while excess > 0 and texts:
        sizes = sorted({fitted[at] for at in texts}, reverse=True)
        if sizes[0] <= NARROWEST_COLUMN:
            break
        widest = [at for at in texts if fitted[at] == sizes[0]]
        goal = max(NARROWEST_COLUMN, sizes[1] if len(sizes) > 1 else 0, sizes[0] - -(-excess // len(widest)))
        for at in widest:
            taken = min(fitted[at] - goal, max(excess, 0))
            fitted[at] -= taken
            excess -= taken
    return fitted


def cut_cell(text: str, width: int) -> str:
    """Return a text cut to so many cells, with an ellipsis where it was cut."""
    if cell_width(text) <= width:
        return text
    shortened = cut_to_width(text, width - 1)
    return (shortened if cell_width(shortened) < width else "") + "…"


def style_cell(field: str, text: str) -> str:
    """Colour a cell by the type or the tier that it names."""
    word = text.rpartition(" ")[2]
    if field == "type":
        kind = next((kind for kind in FactType if kind.word == word), None)
        return text if kind is None else style_type(kind, text)
    if field == "tier" and word in list(Tier):
        return style_tier(Tier(word), text)
    return text
