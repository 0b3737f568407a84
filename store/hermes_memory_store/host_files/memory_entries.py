"""Entries of a memory file: list items, paragraphs, rows of tables, blocks of code. Edit one, and every other byte stays.

Each edit is proved before it is used: the file is split anew, and every other entry must be as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.notation.token_estimate import estimate_tokens

SECTIONS = "sections"
"""The form of hermes-agent's files: entries between lines of § alone. All others are Markdown."""

LINE_END = re.compile(r"\r\n|\r|\n")
LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
DELIMITING = re.compile(r"(?:\A|\r\n|\r|\n)§(?=\r\n|\r|\n|\Z)(?:\r\n|\r|\n)?")
ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+|\Z)")
HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
IMPORT = re.compile(r"@\S+")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One entry of a file, with its place in the text."""

    kind: str
    """`item`, `paragraph`, `row`, `code`, `import` or `section`."""
    text: str
    """Without its mark and its indentation, with line feeds."""
    first: int
    """Its first line, from 1."""
    last: int
    start: int
    """Where its text begins, after the mark of an item."""
    end: int
    headings: tuple[str, ...] = ()
    """The headings it stands under, and the items that an item is nested in."""
    indent: int = 0
    """Columns before the text of its first line."""
    depth: int = 0
    """Items it is nested in."""

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text)


def split_entries(text: str, form: str = "") -> tuple[FileEntry, ...]:
    """Split a text into its entries. Front matter, comments, headings and the heads of tables are none."""
    return tuple(split_sections(text) if form == SECTIONS else Splitter(text).split())


def split_sections(text: str) -> Iterator[FileEntry]:
    spans = [0, *(place for match in DELIMITING.finditer(text) for place in match.span()), len(text)]
    for start, end in zip(spans[::2], spans[1::2], strict=True):
        section = text[start:end].strip()
        if section:
            start = text.index(section, start)
            first = find_line_number(text, start)
            last = find_line_number(text, start + len(section))
            plain = "\n".join(raw.rstrip(" \t") for raw, _ in split_text_lines(section))
            yield FileEntry("section", plain, first, last, start, start + len(section))


def find_line_number(text: str, end: int) -> int:
    return 1 + len(LINE_END.findall(text, 0, end))


class Splitter:
    """Split Markdown into entries, line by line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [match for match in LINE.finditer(text) if match[0]]
        self._contents = [match[1] for match in self._lines]
        if text.startswith("\ufeff"):
            self._contents[0] = self._contents[0][1:]
        self._headings: dict[int, str] = {}
        self._items: list[tuple[int, FileEntry]] = []
        """The item that is open, after those it is nested in, each with the column of its mark."""
        self._entries: list[FileEntry] = []
        self._open = ""
        """The kind of the entry that the next line may continue."""
        self._is_after_blank = False

    def split(self) -> list[FileEntry]:
        n = self._skip_front_matter()
        while n < len(self._contents):
            n = self._take(n)
        return self._entries

    def _skip_front_matter(self) -> int:
        contents = [content.rstrip(" \t") for content in self._contents]
        if contents[:1] != ["---"]:
            return 0
        return next((n + 1 for n, content in enumerate(contents) if n and content in ("---", "...")), 0)

    def _take(self, n: int) -> int:
        """Take the block that begins at a line; return the line after it."""
        content = self._contents[n]
        bare = content.strip(" \t")
        if not bare.strip():
            self._is_after_blank = True
            return n + 1
        width = columns_before(content)
        if bare.startswith("<!--"):
            end = next((m for m in range(n, len(self._contents)) if "-->" in self._contents[m]), n)
            self._close()
            return end + 1
        fence = FENCE.match(content)
        if fence is not None:
            return self._take_fence(n, fence[1], width)
        heading = HEADING.fullmatch(content)
        if heading is not None:
            self._put_heading(len(heading[1]), heading[2] or "")
            return n + 1
        if self._open == "paragraph" and not self._is_after_blank and UNDERLINE.fullmatch(content):
            paragraph = self._entries.pop()
            self._put_heading(1 if "=" in bare else 2, " ".join(paragraph.text.split()))
            return n + 1
        if RULE.fullmatch(content):
            self._close()
            return n + 1
        item = ITEM.match(content)
        if item is not None:
            self._take_item(n, item)
            return n + 1
        if "|" in bare and TABLE_RULE.fullmatch("".join(self._contents[n + 1 : n + 2])) and self._can_begin():
            return self._take_table(n)
        if self._continues(width):
            self._extend(n)
        else:
            self._begin(
                "import" if IMPORT.fullmatch(bare) else "paragraph", n, len(content) - len(content.lstrip(" \t"))
            )
        return n + 1

    def _can_begin(self) -> bool:
        return self._is_after_blank or self._open not in ("paragraph", "item")

    def _continues(self, width: int) -> bool:
        if self._open == "item":
            return not self._is_after_blank or width >= self._items[-1][1].indent
        return self._open == "paragraph" and not self._is_after_blank

    def _take_fence(self, n: int, mark: str, width: int) -> int:
        closing = re.compile(rf"[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
        later = range(n + 1, len(self._contents))
        end = next((m for m in later if closing.fullmatch(self._contents[m])), None)
        if end is None:  # it goes on to the end of the file
            end = next((m for m in reversed(later) if self._contents[m].strip()), n)
        if self._continues(width):
            self._extend(end)
        else:
            self._begin("code", n, 0)
            self._extend(end)
            self._open = ""
        return end + 1

    def _take_table(self, n: int) -> int:
        self._close()
        end = n + 2
        while end < len(self._contents) and "|" in self._contents[end]:
            self._begin("row", end, len(self._contents[end]) - len(self._contents[end].lstrip(" \t")))
            end += 1
        self._open = ""
        return end

    def _take_item(self, n: int, item: re.Match[str]) -> None:
        if not self._contents[n][item.end() :].strip():
            self._close()
            return
        column = columns_before(item[1] + "-")
        while self._items and column <= self._items[-1][0]:
            self._items.pop()
        above = tuple(" ".join(parent.text.split()) for _, parent in self._items)
        self._begin("item", n, item.end(), above, len(self._items))
        self._items.append((column, self._entries[-1]))

    def _put_heading(self, level: int, title: str) -> None:
        self._headings = {above: text for above, text in self._headings.items() if above < level} | {level: title}
        self._close()

    def _close(self) -> None:
        self._items.clear()
        self._open, self._is_after_blank = "", False

    def _begin(self, kind: str, n: int, skipped: int, above: tuple[str, ...] = (), depth: int = 0) -> None:
        """Begin an entry at a line. :param skipped: characters before its text"""
        if kind != "item":
            self._items.clear()
        content = self._contents[n]
        start = self._lines[n].start() + len(self._lines[n][1]) - len(content) + skipped
        headings = (*(title for _, title in sorted(self._headings.items()) if title), *above)
        indent = len(content[:skipped].expandtabs(4))
        entry = FileEntry(kind, "", n + 1, n, start, start, headings, indent, depth)
        self._entries.append(entry)
        self._open, self._is_after_blank = kind, False
        self._extend(n)

    def _extend(self, n: int) -> None:
        """Let the last entry go on to the end of a line."""
        entry = self._entries[-1]
        line = self._lines[n]
        end = max(entry.start, line.start() + len(line[1].rstrip(" \t")))
        first, *more = (raw.rstrip(" \t") for raw, _ in split_text_lines(self._text[entry.start : end]))
        text = "\n".join([first, *(remove_indent(raw, entry.indent) for raw in more)])
        self._entries[-1] = replace(entry, text=text, last=n + 1, end=end)
        if self._open == "item" and self._items and self._items[-1][1].start == entry.start:
            self._items[-1] = (self._items[-1][0], self._entries[-1])
        self._is_after_blank = False


def columns_before(content: str) -> int:
    """Return the column at which a line's text begins."""
    expanded = content.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" ")) if content.strip(" \t") else len(expanded)


def split_text_lines(text: str) -> list[tuple[str, str]]:
    """Return the lines of a text, each with its end. Unicode's separators end none: editors and hosts count none there."""
    lines = [(match[1], match[2]) for match in LINE.finditer(text) if match[0]]
    return [*lines, ("", "")] if lines and lines[-1][1] else lines or [("", "")]


def remove_indent(line: str, columns: int) -> str:
    """Remove at most so many columns of blanks from the beginning of a line."""
    while line[:1] in (" ", "\t") and columns > 0 and line:
        columns -= 4 if line[0] == "\t" else 1
        line = line[1:]
    return line


def replace_file_entry(text: str, entry: FileEntry, new: str, form: str = "") -> str:
    """Return the text with another wording of one entry; lines of it that stay the same keep their bytes, too.

    :raises ArgumentError: the wording is empty, or would not be read as this one entry
    """
    wording = "\n".join(line.rstrip(" \t") for line, _ in split_text_lines(new.strip("\r\n")))
    if not wording.strip():
        raise ArgumentError("an entry cannot be empty; remove it instead", new)
    pieces, formers, lines = (
        split_text_lines(text[entry.start : entry.end]),
        entry.text.split("\n"),
        wording.split("\n"),
    )
    line_start = find_line_start(text, entry.start)
    leads = [re.sub(r"[^ \t]", " ", text[line_start : entry.start].removeprefix("\ufeff"))]
    if len(pieces) > 1:  # as its next line is indented, where that is read so
        leads.insert(0, re.match(r"[ \t]*", next((raw for raw, _ in pieces[1:] if raw.strip(" \t")), ""))[0])  # type: ignore[index]
    newline = next((end for _, end in pieces if end), "") or find_line_end(text, entry.end)
    expected = [(other.kind, wording if other == entry else other.text) for other in split_entries(text, form)]
    after = text
    for lead in leads if form != SECTIONS else [""]:
        edited: list[tuple[str, str]] = []
        for tag, first, last, new_first, new_last in SequenceMatcher(
            None, formers, lines, autojunk=False
        ).get_opcodes():
            for n in range(new_first, new_last):
                former = first + n - new_first
                if tag == "equal" and (n == 0) == (former == 0):
                    edited.append(pieces[former])
                    continue
                blanks = re.search(r"[ \t]*\Z", pieces[former][0])[0] if former < last else ""  # type: ignore[index]
                edited.append(((lead if n and lines[n] else "") + lines[n] + blanks * bool(lines[n]), ""))
        joined = "".join(raw + (end or newline) for raw, end in edited[:-1]) + edited[-1][0].rstrip(" \t")
        after = text[: entry.start] + joined + text[entry.end :]
        if read_wordings(after, form) == expected:
            return after
    return prove_edit(after, form, expected, f"would not be read as one {entry.kind}; word it as one")


def remove_file_entry(text: str, entry: FileEntry, form: str = "") -> str:
    """Return the text without an entry and what is nested in it. :raises ArgumentError: others would be read otherwise"""
    entries = split_entries(text, form)
    n = entries.index(entry)
    end = n + 1
    while form != SECTIONS and end < len(entries) and entries[end].depth > entry.depth:
        end += 1
    expected = [(other.kind, other.text) for other in (*entries[:n], *entries[end:])]
    if form == SECTIONS:
        start, stop = (entry.start, entries[end].start) if end < len(entries) else (entries[n - 1].end, entry.end)
        return prove_edit(
            text[: start * (len(entries) > 1)] + text[stop:], form, expected, "cannot be removed by itself"
        )
    places = [match for match in LINE.finditer(text) if match[0]]
    start, stop = (
        places[entry.first - 1].start() + text.startswith("\ufeff") * (entry.first == 1),
        places[entries[end - 1].last - 1].end(),
    )
    before, after, newline = text[:start], text[stop:], find_line_end(text, entry.end)
    tight = before.removesuffix(newline) if not after and not text.endswith(("\r", "\n")) else before
    blank = re.match(r"[ \t]*(?:\r\n|\r|\n)", after)
    is_apart = blank is not None and (not before or re.search(r"(?:\A\ufeff?|[\r\n])[ \t]*(?:\r\n|\r|\n)\Z", before))
    candidates = [before + after[blank.end() :]] if blank is not None and is_apart else []
    for candidate in (*candidates, tight + after, before + newline + after):
        if read_wordings(candidate, form) == expected:
            return candidate
    return prove_edit(before + after, form, expected, "cannot be removed by itself: what is around it would be joined")


def append_file_entry(text: str, new: str, form: str = "") -> str:
    """Return the text with one more entry at its end, in the form of the last one. :raises ArgumentError: it is not one entry"""
    entries, newline = split_entries(text, form), find_line_end(text, len(text))
    wording = " ".join(new.split())
    closed = text if not text.strip("\ufeff") or text.endswith(("\r", "\n")) else text + newline
    ending = newline * (closed == text and bool(text.strip("\ufeff")))
    if form == SECTIONS:
        added = (f"§{newline}" if entries else "") + wording
        expected = [*((entry.kind, entry.text) for entry in entries), ("section", wording)]
        return prove_edit(closed + added + ending, form, expected, "would not be read as one entry")
    last = entries[-1] if entries else None
    mark, gap = "- ", newline if entries and not re.search(r"(?:\r\n|\r|\n)[ \t]*(?:\r\n|\r|\n)\Z", closed) else ""
    is_list = last is not None and last.kind == "item" and not text[last.end :].strip()
    if is_list:
        top = next(entry for entry in reversed(entries) if entry.kind == "item" and entry.depth == 0)
        mark = text[find_line_start(text, top.start) : top.start].removeprefix("\ufeff")
        mark, gap = re.sub(r"\d+", lambda match: str(int(match[0]) + 1), mark), ""
    expected = [*((entry.kind, entry.text) for entry in entries), ("item", wording)]
    return prove_edit(closed + gap + mark + wording + ending, form, expected, "would not be read as one item")


def find_line_end(text: str, place: int) -> str:
    """Return how lines end around a place: the next end after it, else the last before it, else a line feed."""
    match = LINE_END.search(text, place)
    return match[0] if match else next((end for _, end in reversed(split_text_lines(text[:place])) if end), "\n")


def find_line_start(text: str, place: int) -> int:
    return max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1


def read_wordings(text: str, form: str) -> list[tuple[str, str]]:
    """Return the kind and text of each entry: what an edit must leave of the others."""
    return [(entry.kind, entry.text) for entry in split_entries(text, form)]


def prove_edit(after: str, form: str, expected: Iterable[tuple[str, str]], problem: str) -> str:
    """Return an edited text. :raises ArgumentError: it is not read as expected"""
    if read_wordings(after, form) != list(expected):
        raise ArgumentError(f"the text {problem}; nothing was changed", after[-200:])
    return after
