"""Lines of CSV for spreadsheets and of TSV for programs, of what the command line and the inspector list."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from typing import Any

from hermes_memory_store.safe_text import to_printable

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins so for a formula, and a formula can send away what stands beside it. Agents write
facts, so CSV puts an apostrophe before such a text; TSV and JSON lines, which programs read, have every text as it is."""

TSV_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})

LINE_BREAKS = ("\t", "\n", "\r")

SPLIT_BREAKS = re.compile("([\t\n\r])")


def to_plain_text(value: Any) -> str:
    """Return a value as plain text: nothing for null, JSON for what is nested."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def to_csv_line(values: Sequence[Any]) -> str:
    """Return a line of CSV (RFC 4180), safe to open in a spreadsheet."""
    import csv  # here, not above: few lists are CSV

    cells = [
        f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else to_plain_text(value)
        for value in values
    ]
    line = io.StringIO()
    csv.writer(line).writerow([escape_controls(cell) for cell in cells])
    return line.getvalue()


def to_tsv_line(values: Sequence[Any]) -> str:
    r"""Return a line of TSV, in which tabs and line ends of a text are `\t`, `\n`, `\r`, and a backslash is `\\`."""
    return "\t".join(escape_controls(to_plain_text(value).translate(TSV_ESCAPES)) for value in values) + "\n"


def escape_controls(text: str) -> str:
    """Make what controls a terminal visible, and leave line ends and tabs, which belong to the text."""
    return "".join(piece if piece in LINE_BREAKS else to_printable(piece) for piece in SPLIT_BREAKS.split(text))
