"""What a fact cites: lines of a file, a commit, a command, an address, a message. Lines are compared as the file is now.

A citation holds no text of the file, but a digest of its lines, the line above that encloses them, and marks of both neighbours:
by these lines that moved are found again, and a closing bracket is not taken for another one. Nothing is ever run here.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from hermes_memory_store import safe_text
from hermes_memory_store.errors import ArgumentError, StoreError
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.places.cited_values import (
    MOST_HELD,
    NEAR,
    FactWords,
    OtherValue,
    find_replaced_value,
    find_stated_value,
    hold_values,
)
from hermes_memory_store.places.git_files import find_repository, read_head
from hermes_memory_store.system.file_handles import open_regular

MOST_CITED, MOST_LINES, MOST_BYTES, MOST_WORDS = 8, 200, 1 << 20, 1_000
"""Citations of a fact, lines of one, bytes of a file that is looked at, and characters of a path, a command or an address."""

SYMBOL_LENGTH, MOST_PATTERN = 80, 200

TELLING = 12
"""Letters and digits of lines that are hardly twice in a file by chance; fewer are believed beside the same neighbours alone."""

PLACE = re.compile(r"(.+?):(\d{1,7})(?:-(\d{1,7}))?")

QUOTED = r'"(?:[^"\\\x00-\x1f]|\\["\\])+:\d{1,7}(?:-\d{1,7})?"'

BARE = r'[^\s"]\S*:\d{1,7}(?:-\d{1,7})?'

SUFFIX = re.compile(rf"(?: @-)?((?: @(?:{BARE}|{QUOTED}))*)$")
"""What stands behind a line of MEMORY_SPEC: ` @db.py:12-20 @"my notes.md:3"`; ` @-` before it ends a content that looks alike."""

SUFFIX_PLACE = re.compile(rf"@({QUOTED}|\S+)")

HEADING = re.compile(rb"#{1,6} |\[")

LATEST = 253_402_300_800_000
"""The end of the year 9999, UTC milliseconds."""

GIVING_S = 0.01
"""How long the citations of what is given may take; what is not looked at by then is given as it is."""

KINDS = ("lines", "commit", "command", "url", "turn")

FORMS = {
    "commit": re.compile(r"[0-9a-f]{7,64}"),
    "command": re.compile(r".+"),
    "url": re.compile(r"https?://\S+"),
    "turn": re.compile(r"[0-9a-f-]{36}"),
}


class CitationState(StrEnum):
    TRUE = "true"
    MOVED = "moved"
    CHANGED = "changed"
    MISSING = "missing"
    UNKNOWN = "unknown"
    """It cannot be looked at here."""


STALE = (CitationState.CHANGED, CitationState.MISSING)

MOST_PLACES, MOST_FILES = 8, 32
"""Places between the same neighbours that are compared, and files that are held for several citations."""

EMPTY = (("\0", 0),)
"""What no content has."""

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Citation:
    """One thing that a fact cites."""

    kind: str
    """`lines`, `commit`, `command`, `url` or `turn`."""
    what: str
    """A path relative to the repository's root, a commit, a command, an address, or the uid of a message."""
    first: int = 0
    last: int = 0
    digest: str = ""
    symbol: str = ""
    """The nearest line above with a smaller indentation."""
    marks: tuple[int, ...] = ()
    """Checksums of its first line, and of the lines before and after that are not empty."""
    values: tuple[tuple[str, int], ...] = ()
    """The fact's values that stood in its lines: see `cited_values`."""
    file_lines: int = 0
    """How many its file had."""
    commit: str = ""
    """Of lines: HEAD when they were cited."""
    cited_at: int = 0
    """UTC milliseconds."""
    exit_code: int = 0
    output: str = ""
    """Of a command: a pattern that what it prints is expected to have."""
    is_disputed: bool = False
    """Whether a person holds the fact against what the lines say, as long as they say that."""

    @property
    def label(self) -> str:
        """Return it as a person writes it: `store/db.py:12-20`."""
        if self.kind != "lines":
            return self.what if self.kind in ("url", "command") else f"{self.kind} {self.what[:12]}"
        return f"{self.what}:{self.first}" + (f"-{self.last}" if self.last != self.first else "")

    def to_words(self) -> dict[str, Any]:
        """Return it for JSON, without what is empty."""
        words: dict[str, Any] = {self.kind: self.label if self.kind == "lines" else self.what}
        place = {"digest": self.digest, "in": self.symbol, "marks": list(self.marks), "of": self.file_lines}
        words |= place if self.digest else {}
        words |= {"says": [list(value) for value in self.values]} if self.values else {}
        words |= {"disputed": True} if self.is_disputed else {}
        words |= {"at": self.commit} if self.commit else {}
        words |= {"on": self.cited_at} if self.cited_at else {}
        words |= {"exit": self.exit_code} if self.kind == "command" else {}
        return words | ({"output": self.output} if self.output else {})


@dataclass(frozen=True, slots=True)
class CitationCheck:
    """How a citation stands in a working tree."""

    citation: Citation
    state: CitationState
    first: int = 0
    last: int = 0
    """Where its lines stand now; of changed ones, what stands in their place."""
    note: str = ""
    """Why it is not known."""
    other: OtherValue | None = None
    """What the lines say against the fact."""


def format_citations(citations: Iterable[Citation]) -> str | None:
    """Return citations as a fact holds them; None for none."""
    return format_words([citation.to_words() for citation in citations])


def format_words(words: Sequence[Any]) -> str | None:
    return json.dumps(words, ensure_ascii=False, separators=(",", ":"), sort_keys=True) if words else None


def parse_citations(text: str | None) -> tuple[Citation, ...]:
    """Parse what a fact holds. What is not of this form, as a later program may write it, is left out."""
    try:
        document = json.loads(text or "[]")
    except ValueError:
        return ()
    parsed = (parse_citation(words) for words in document[:MOST_CITED]) if isinstance(document, list) else ()
    return tuple(citation for citation in parsed if citation is not None)


def format_suffix(line: str, citations: Iterable[Citation]) -> str:
    """Return what stands behind a line that cites lines of files; empty for other citations."""
    places = [citation.label for citation in citations if citation.kind == "lines"]
    words = [json.dumps(place, ensure_ascii=False) if re.search(r'\s|^"', place) else place for place in places]
    return (" @-" if split_suffix(line)[0] != line else "") + "".join(f" @{word}" for word in words)


def split_suffix(line: str) -> tuple[str, tuple[str, ...]]:
    """Return a line without its suffix, and the places that it cites, as `format_suffix` writes them."""
    match = SUFFIX.search(line)
    assert match is not None
    words = SUFFIX_PLACE.findall(match[1])
    return line[: match.start()], tuple(json.loads(word) if word[0] == '"' else word for word in words)


def is_portable_citing(text: Any) -> bool:
    """Check whether what a fact of somebody else cites may be kept: also kinds of a later program, but no path that leads out."""
    if text is None:
        return True
    try:
        document = json.loads(text) if isinstance(text, str) and len(text) <= MOST_CITED * 2 * MOST_WORDS else None
        if not isinstance(document, list) or len(document) > MOST_CITED:
            return False
        if not all(isinstance(words, dict) for words in document):
            return False
        for part in walk_texts(document):
            if len(safe_text.validate_text(part, "a citation")) > MOST_WORDS or "\n" in part:
                return False
    except (ValueError, RecursionError, StoreError):
        return False
    return all(is_portable(citation) for citation in parse_citations(text))


def walk_texts(document: Any) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    parts = [*document, *document.values()] if isinstance(document, dict) else document
    for part in parts if isinstance(parts, list) else ():
        yield from walk_texts(part)


def is_portable(citation: Citation) -> bool:
    if citation.kind != "lines":
        return FORMS[citation.kind].fullmatch(citation.what) is not None and len(citation.output) <= MOST_PATTERN
    is_inside = os.path.normpath(citation.what) == citation.what and not citation.what.startswith(("/", "../", ".git/"))
    return is_inside and 0 < citation.first <= citation.last < citation.first + MOST_LINES


def parse_citation(words: Any) -> Citation | None:
    kind = next((kind for kind in KINDS if isinstance(words, dict) and isinstance(words.get(kind), str)), None)
    if kind is None:
        return None

    def find_text(key: str) -> str:
        return str(words.get(key) or "")

    if kind != "lines":
        exit_code = words.get("exit")
        expected = exit_code if isinstance(exit_code, int) else 0
        return Citation(kind, words[kind][:MOST_WORDS], exit_code=expected, output=find_text("output"))
    match = PLACE.fullmatch(words[kind])
    if match is None:
        return None
    first, marks = int(match[2]), words.get("marks")
    numbers = tuple(mark for mark in marks if isinstance(mark, int)) if isinstance(marks, list) else ()
    if len(numbers) != 3:
        return None
    last, digest, symbol = int(match[3] or first), find_text("digest"), find_text("in")
    cited_at = words.get("on")
    at = cited_at if isinstance(cited_at, int) and 0 <= cited_at < LATEST else 0
    values, count, commit = parse_values(words), parse_count(words), find_text("at")
    place, is_disputed = (match[1], first, last, digest, symbol, numbers), words.get("disputed") is True
    return Citation(kind, *place, values, count, commit, at, is_disputed=is_disputed)


def parse_count(words: dict[str, Any]) -> int:
    count = words.get("of")
    return count if isinstance(count, int) and 0 <= count <= MOST_BYTES else 0


def parse_values(words: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    values = words.get("says")
    pairs = (value for value in values if isinstance(value, list)) if isinstance(values, list) else ()
    parsed = ((str(value[0]), value[1]) for value in pairs if len(value) == 2 and isinstance(value[1], int))
    return tuple(parsed)[:MOST_HELD]


def cite_lines(root: str, place: str, commit: str = "", cited_at: int = 0, fact: FactWords | None = None) -> Citation:
    """Return the citation of lines as they are now.

    :param root: the root of a working tree
    :param place: `PATH:12-20` or `PATH:12`, relative to the root
    :param fact: which cites them
    :raises ArgumentError: there are no such lines, or they cannot be cited
    """
    match = PLACE.fullmatch(place.strip())
    if match is None:
        raise ArgumentError(f"{place!r} names no lines; say PATH:12-20, or PATH:12", place)
    path = os.path.normpath(match[1])
    first, last = int(match[2]), int(match[3] or match[2])
    if not 0 < first <= last < first + MOST_LINES:
        raise ArgumentError(
            f"{place!r}: the first line comes before the last, and they are {MOST_LINES} at most", place
        )
    content, problem = read_cited_file(root, path)
    if content is None:
        raise ArgumentError(f"{path} cannot be cited: {problem}", path)
    lines = split_file_lines(content)
    if last > len(lines):
        raise ArgumentError(f"{path} has {len(content.splitlines())} lines, none of number {last}", place)
    if not any(lines[first - 1 : last]):
        raise ArgumentError(f"{place}: these lines are empty", place)
    safe_text.validate_text(path, "the path")
    at = first - 1
    digest, symbol = digest_lines(lines[at:last]), find_symbol(lines, at)
    values = () if fact is None else hold_values(fact, decode_lines(lines[at:last]))
    return Citation(
        "lines", path, first, last, digest, symbol, mark_lines(lines, at, last), values, len(lines), commit, cited_at
    )


def cite_named(folder: str, name: str, cited_at: int, fact: FactWords | None = None) -> Citation:
    """Return the citation that a name means in a folder: an address, a commit, or lines of a file of its repository.

    :param name: `PATH:12-20`, absolute, or relative to the folder or to the repository's root
    :raises ArgumentError: it means none
    """
    name = name.strip()
    for kind in ("url", "commit"):
        if FORMS[kind].fullmatch(name):
            return cite_other(kind, name)
    repository = find_repository(os.path.realpath(folder))
    if repository is None:
        raise ArgumentError(f"{folder} is in no Git repository, so nothing in it can be cited", folder)
    root, match = repository.root, PLACE.fullmatch(name)
    if match is None:
        raise ArgumentError(f"{name!r} names no lines; say PATH:12-20, or PATH:12", name)
    path = os.path.join(os.path.realpath(folder), match[1])
    if not os.path.lexists(path):
        path = os.path.join(root, match[1])
    place = os.path.relpath(path, root) + name[match.end(1) :]
    return cite_lines(root, place, read_head(repository)[1] or "", cited_at, fact)


def cite_other(kind: str, what: str, *, exit_code: int = 0, output: str = "") -> Citation:
    """Return the citation of a commit, a command, an address or a message. :raises ArgumentError: it cannot be one"""
    what = safe_text.validate_text(what.strip(), f"the {kind}")
    is_valid = FORMS[kind].fullmatch(what)
    if not is_valid or len(what) > MOST_WORDS:
        raise ArgumentError(f"{what[:60]!r} is no {kind} that can be cited", what)
    try:
        re.compile(output)
    except re.error as error:
        raise ArgumentError(f"{output!r} is no pattern: {error}", output) from error
    return Citation(kind, what, exit_code=exit_code, output=output)


def read_cited_file(root: str, path: str) -> tuple[bytes | None, str]:
    """Read a file of a working tree as a citation may see it; None with what forbids it.

    Never one outside, behind a link, in a repository of its own, or of Git itself; nor a binary one, or one above `MOST_BYTES`.
    """
    words = path.split("/")
    if os.path.isabs(path) or ".." in words or ".git" in words or "\0" in path:
        return None, "it is not in the repository"
    folder = root
    for word in words[:-1]:
        folder = os.path.join(folder, word)
        try:
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                return None, "a link leads there"
            if os.path.lexists(os.path.join(folder, ".git")):
                return None, "it is in a repository of its own"
        except OSError:
            return None, GONE
    try:
        handle = open_regular(os.path.join(root, path), follow_links=False)
    except FileNotFoundError:
        return None, GONE
    except OSError as error:
        return None, "it is a link" if error.errno == errno.ELOOP else error.strerror or "it cannot be read"
    try:
        if os.fstat(handle).st_size > MOST_BYTES:
            return None, f"it is larger than {MOST_BYTES >> 20} MB"
        content = os.read(handle, MOST_BYTES + 1)
    except OSError as error:
        return None, error.strerror or "it cannot be read"
    finally:
        os.close(handle)
    return (None, "it is no text") if b"\0" in content else (content, "")


GONE = "there is no such file"


def split_file_lines(content: bytes) -> list[bytes]:
    """Return the lines of a file, without what ends them, of whatever system."""
    return [line.rstrip() for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]


def decode_lines(lines: Sequence[bytes]) -> list[str]:
    return [line.decode("utf-8", "replace") for line in lines]


def digest_lines(lines: Sequence[bytes]) -> str:
    return hashlib.blake2b(b"\n".join(lines), digest_size=8).hexdigest()


def find_symbol(lines: Sequence[bytes], at: int) -> str:
    """Return the line that encloses lines: the nearest above with a smaller indentation, or the heading of their section."""
    first = next((line for line in lines[at:] if line), b"")
    indent = len(first) - len(first.lstrip())
    for line in reversed(lines[:at]):
        bare = line.lstrip()
        if bare and (len(line) - len(bare) < indent if indent else HEADING.match(bare)):
            return "".join(filter(str.isprintable, bare.decode("utf-8", "replace")))[:SYMBOL_LENGTH]
    return ""


def mark_lines(lines: Sequence[bytes], at: int, end: int) -> tuple[int, int, int]:
    """Return the checksums of the first of some lines, and of those before and after that are not empty."""
    before = next((line for line in reversed(lines[:at]) if line), b"")
    after = next((line for line in lines[end:] if line), b"")
    return zlib.crc32(lines[at]), zlib.crc32(before), zlib.crc32(after)


def check_lines(
    root: str,
    citation: Citation,
    fact: FactWords | None = None,
    files: dict[str, tuple[list[bytes] | None, str]] | None = None,
) -> CitationCheck:
    """Compare cited lines with their file as it is now. :param files: those that were read for others; more come to them"""
    files = {} if files is None else files
    if citation.what not in files:
        content, problem = read_cited_file(root, citation.what)
        if len(files) >= MOST_FILES:
            files.clear()
        files[citation.what] = None if content is None else split_file_lines(content), problem
    lines, problem = files[citation.what]
    if lines is None:
        state = CitationState.MISSING if problem == GONE else CitationState.UNKNOWN
        return CitationCheck(citation, state, note=problem)
    return compare_file_lines(citation, lines, fact)


def compare_cited_lines(citation: Citation, content: bytes, fact: FactWords | None = None) -> CitationCheck:
    return compare_file_lines(citation, split_file_lines(content), fact)


def compare_file_lines(citation: Citation, lines: Sequence[bytes], fact: FactWords | None = None) -> CitationCheck:
    """Compare cited lines with those of a file; those that moved in it are found again.

    :param fact: which cites them, where another value in its place is looked for
    """
    check = find_cited_lines(citation, lines)
    is_settled = citation.is_disputed or all(fact and text in fact.content for text, _ in citation.values or EMPTY)
    if fact is None or (check.state not in STALE and is_settled):
        return check
    region, other = decode_lines(lines[max(0, check.first - 1) : check.last]), None
    if citation.values:
        other = find_replaced_value(fact, citation.values, citation.what, region, decode_lines(lines))
    else:
        stated = region or decode_lines(lines[citation.first - 1 : citation.last])
        other = find_stated_value(fact, citation.what, stated)
    return CitationCheck(citation, check.state, check.first, check.last, other=other)


def measure_shift(citation: Citation, lines: Sequence[bytes], place: int) -> int:
    """Return how far a place is from where cited lines are expected: where they were, or as far down as the file grew."""
    shift = place - citation.first + 1
    return min(abs(shift), abs(shift - len(lines) + (citation.file_lines or len(lines))))


def find_between_neighbours(citation: Citation, lines: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return the nearest places, from and to, of about as many lines between the neighbours of cited ones."""
    count, (_, before, after) = citation.last - citation.first + 1, citation.marks
    marks = [zlib.crc32(line) for line in lines]
    begins = [place + 1 for place, mark in enumerate(marks) if mark == before] if before else [0]
    begins = sorted(begins, key=lambda place: measure_shift(citation, lines, place))[:MOST_PLACES]
    ends = (
        {place for place, mark in enumerate(marks) if mark == after} if after else {len(lines) - (lines[-1:] == [b""])}
    )
    lengths = sorted(range(1, count + NEAR + 1), key=lambda length: abs(length - count))
    pairs = [(place, place + length) for place in begins for length in lengths if place + length in ends]
    return (
        pairs
        or [(place, place + count) for place in begins]
        or [(max(0, place - count), place) for place in [*ends][:1]]
    )


def find_present_place(citation: Citation, lines: Sequence[bytes]) -> tuple[int, int]:
    """Return where lines that changed stood, from and to: between their neighbours, else beside one, else as they were."""

    def likeness(pair: tuple[int, int]) -> tuple[bool, int]:
        is_below = any(find_symbol(lines, place) == citation.symbol for place in range(*pair))
        return is_below, -measure_shift(citation, lines, pair[0])

    begin, end = max(
        find_between_neighbours(citation, lines), key=likeness, default=(citation.first - 1, citation.last)
    )
    return begin, min(end, len(lines))


def find_cited_lines(citation: Citation, lines: Sequence[bytes]) -> CitationCheck:
    """Find lines as they were cited.

    Few letters are found elsewhere only between the same neighbours or below the same line; and none, as of a closing bracket,
    where they were, too.
    """
    at, count = citation.first - 1, citation.last - citation.first + 1

    def find_likeness(place: int) -> int:
        beside = zip(mark_lines(lines, place, place + count)[1:], citation.marks[1:], strict=False)
        is_below = citation.symbol != "" and find_symbol(lines, place) == citation.symbol
        return sum(one == other for one, other in beside) + is_below

    present = lines[at : at + count]
    if digest_lines(present) == citation.digest and (re.search(rb"\w", b"".join(present)) or find_likeness(at)):
        return CitationCheck(citation, CitationState.TRUE, citation.first, citation.last)
    best: tuple[int, int, int] | None = None
    for place, mark in enumerate(map(zlib.crc32, lines)):
        if mark == citation.marks[0] and digest_lines(lines[place : place + count]) == citation.digest:
            best = max(filter(None, (best, (find_likeness(place), -measure_shift(citation, lines, place), place))))
    begin, end = find_present_place(citation, lines)
    if best is None or not (best[0] or is_telling(lines[best[2] : best[2] + count])):
        return CitationCheck(citation, CitationState.CHANGED, begin + 1, end)
    # The same lines further away, where others stand between the neighbours: a second pair of them.
    is_beside = mark_lines(lines, begin, end)[1:] == citation.marks[1:]
    is_apart = best[2] + count <= begin or end <= best[2]
    if is_beside and is_apart and measure_shift(citation, lines, begin) == 0 != best[1]:
        return CitationCheck(citation, CitationState.CHANGED, begin + 1, end)
    return CitationCheck(citation, CitationState.MOVED, best[2] + 1, best[2] + count)


def is_telling(lines: Sequence[bytes]) -> bool:
    return len(re.findall(rb"\w", b"".join(lines))) >= TELLING


def check_command(citation: Citation, exit_code: int, output: str) -> CitationCheck:
    """Compare how a command came out with what is expected."""
    if exit_code != citation.exit_code:
        return CitationCheck(citation, CitationState.CHANGED, note=f"exit code {exit_code}, not {citation.exit_code}")
    if citation.output and not re.search(citation.output, output):
        return CitationCheck(citation, CitationState.CHANGED, note=f"nothing printed fits {citation.output!r}")
    return CitationCheck(citation, CitationState.TRUE)


def find_stale(root: str, facts: Iterable[tuple[Key, str, FactWords]]) -> dict[Key, str]:
    """Return the labels of facts with cited lines that changed or are missing, as far as the time of a giving suffices.

    :param facts: what names each, what it cites, and its words
    """
    stale: dict[Key, str] = {}
    files: dict[str, tuple[list[bytes] | None, str]] = {}
    ends = time.monotonic() + GIVING_S
    for key, cites, fact in facts:
        for citation in parse_citations(cites):
            if citation.kind != "lines" or key in stale or time.monotonic() > ends:
                continue
            check = check_lines(root, citation, fact, files=files)
            if check.other is not None or check.state in STALE:
                words = [] if check.state not in STALE else [f"cited lines changed{to_since(citation.cited_at)}"]
                words += [check.other.label] if check.other else []
                stale[key] = f"({'; '.join(words)})"
    return stale


def to_since(at: int) -> str:
    return f" since {time.strftime('%d %b', time.gmtime(at / 1000)).lstrip('0')}" if at else ""
