"""Read the data files of the package: word lists, rules and patterns as text, one row a line.

A file has sections, each headed by its name in brackets; the columns of a row are separated by tabs. Blank lines and
lines that begin with `# ` are comments. `<<NAME>>` in a row stands for the row of that name in the section `fragments`,
which comes first and has two columns, a name and what it stands for.
"""

from __future__ import annotations

import re
from pathlib import Path

FRAGMENTS = "fragments"
FRAGMENT = re.compile(r"<<([A-Z0-9_]+)>>")

Rows = list[tuple[str, ...]]


def read_sections(file: Path, columns: dict[str, int]) -> dict[str, Rows]:
    """Read the sections of a data file.

    :param columns: the columns of a row, by the sections that the file must have; 0 for any number
    :raises ValueError: a section is missing, unknown or repeated, a row has other columns, or a fragment is unknown
    """
    fragments: dict[str, str] = {}
    sections: dict[str, Rows] = {}
    section = ""
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        place = f"{file.name}, line {number}"
        if not line or line.startswith("# "):
            continue
        if line.startswith("[") and line.endswith("]") and line[1:-1] in {FRAGMENTS, *columns}:
            section = line[1:-1]
            if section in sections:
                raise ValueError(f"{place}: the section {section} stands there before")
            sections[section] = []
            continue
        if not section:
            raise ValueError(f"{place}: a row before the first known section")
        try:
            row = tuple(FRAGMENT.sub(lambda match: fragments[match[1]], line).split("\t"))
        except KeyError as error:
            raise ValueError(f"{place}: no fragment is named {error.args[0]}") from None
        width = 2 if section == FRAGMENTS else columns[section]
        if width and len(row) != width:
            raise ValueError(f"{place}: {len(row)} columns where {section} has {width}")
        sections[section].append(row)
        if section == FRAGMENTS:
            fragments[row[0]] = row[1]
    missing = columns.keys() - sections.keys()
    if missing:
        raise ValueError(f"{file.name}: no section {', '.join(sorted(missing))}")
    return sections
