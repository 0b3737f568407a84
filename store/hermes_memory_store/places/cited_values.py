"""The values of a fact that stand in the lines it cites, and what the lines have in their place later.

A value is a number, an address, a switch or a name. The citation holds the fact's own value and a checksum of what stands before
it in its line, so that the same place is found again; nothing of the file is kept.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MOST_HELD, NEAR, SHORTEST_NAME = 6, 4, 3
"""Values of a fact that a citation holds, lines by which cited ones may have grown, and the letters of a name that is a value."""

CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
ADDRESS = re.compile(r"https?://[^\s\"'`<>()\[\],;|]+", re.IGNORECASE)
MEASURES = (
    *(r"ms|milliseconds?|s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|weeks?|months?|years?", "[kmg]i?b?", "%"),
    *("char(?:acter)?s?|columns?", "spaces?|tabs?", "lines?", "req(?:uest)?s?", "workers?|threads?|replicas?"),
    *("reviewers?|approvals?", "times|attempts?|retries"),
)
"""Units, those that count the same in a row."""
NUMBER = re.compile(rf"(?<![\w.])v?(\d[\d_]*(?:\.\d+)*)(?= ?({'|'.join(MEASURES)})?(?!\w))", re.IGNORECASE)
NAME = re.compile(r"[^\W\d][\w]*(?:[./@+-]\w+)*")
ASSIGNING = re.compile(r"[=:] *[\"'`]?$")
GIVING = re.compile(r"(?:[=:>] *[\"'`]?|\w )[~^<>=]{0,2}v?$")
ENDING = re.compile(r"[\"'`]? *(?:[,;)\]}#/]|$)|[\"'`]? +-{0,2}[^\W\d]")
COMPUTED = re.compile(r"[\w./@+-]*[\"']?[(\[{.]|[\w.]*\)")
"""What follows a name that is a call, a variable's member or the like: what its value is does not stand there."""

OPPOSITES = {"true": "false", "yes": "no", "on": "off", "enabled": "disabled"}
SWITCHES = dict.fromkeys(OPPOSITES, True) | dict.fromkeys(OPPOSITES.values(), False)
OPPOSITES |= {off: on for on, off in OPPOSITES.items()}
SWITCHED = re.compile(r"(?:^|\b(?:is|are|be|turned|switched|stays?|=|:)\s+)(?:on|yes|no)\b", re.IGNORECASE)
"""Before or as these words a switch is meant: elsewhere they are prepositions and the like."""

OPEN = re.compile(
    r"(?:a|an|and|as|at|be|by|env|for|from|in|int|is|it|nil|no|none|not|null|of|on|or|self|set|str|the|this|to|use)"
)
"""Words that are no value, and that two texts may share by chance."""

GENERAL = frozenset({"defau", "max", "maxim", "min", "minim", "name", "numbe", "setti", "value", "versi"})
"""Beginnings of words that a target may have and a line may lack."""

NAMED = re.compile(r"([^\W\d][\w.-]*)[\"'\])]?(?: *[=:(] *| +(?:is |on |of |at )?)[\"'`]?v?$")
FILLING = frozenset({"alway", "chang", "hand", "here", "in", "keep", "never", "produ", "use", "value", "we"})
"""Beginnings of words around the one value of a short content."""
MOST_PLAIN = 5

WORD, STEM = re.compile(r"[^\W\d_]{2,}|\d+"), 5
CODE = re.compile(r"\.(?:py|[jt]sx?|mjs|go|rs|java|rb|c|cpp|cs|kt|php|swift)$")
"""Files in which a name without quotes is a variable."""

SCALES = {"ms": 0.001, "mi": 60, "mo": 2_592_000, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
SCALES |= {"k": 1 << 10, "mb": 1 << 20, "mib": 1 << 20, "g": 1 << 30}


class FactWords(NamedTuple):
    """What of a fact is compared with lines."""

    target: str
    content: str


class OtherValue(NamedTuple):
    """The value that a fact gives something, and the one that a text gives it."""

    ours: str
    theirs: str

    @property
    def label(self) -> str:
        return f"the file says {self.theirs}"

    def replace_in(self, content: str) -> str:
        """Return a fact's content with the other value; a switch in the words of the fact."""
        theirs = self.theirs
        if self.ours.casefold() in SWITCHES:
            theirs = OPPOSITES[self.ours.casefold()]
        return re.sub(rf"(?<!\w){re.escape(self.ours)}(?!\w)", lambda _: theirs, content, count=1)


class Value(NamedTuple):
    kind: str
    """`address`, `number`, `switch` or `name`."""
    text: str
    norm: str
    start: int
    end: int
    unit: str = ""


Placed = tuple[Value, str]
"""A value, and its line."""


def find_values(text: str) -> Iterator[Value]:
    """Yield the values of a line, those inside of an address, too."""
    for match in ADDRESS.finditer(text):
        address = match[0].rstrip("./:")
        yield Value("address", address, address.casefold(), match.start(), match.start() + len(address))
    for match in NUMBER.finditer(text):
        norm = re.sub(r"^(\d+)\.0$", r"\1", match[1].replace("_", ""))
        yield Value("number", match[1], norm, match.start(1), match.end(1), (match[2] or "").casefold())
    for match in NAME.finditer(text):
        word = match[0].casefold()
        kind = "switch" if word in SWITCHES else "name"
        yield Value(kind, match[0], str(SWITCHES.get(word, word)), *match.span())


def is_same_value(one: Value, other: Value) -> bool:
    """Check whether two values are one: written otherwise, in another unit, or a version more precisely."""
    if one.kind != other.kind or one.kind != "number":
        return one[:1] + one[2:3] == other[:1] + other[2:3]
    if one.unit and other.unit:
        return is_of_one_measure(one, other) and to_base(one) == to_base(other)
    is_precise = f"{one.text}.".startswith(f"{other.text}.") or f"{other.text}.".startswith(f"{one.text}.")
    return one.norm == other.norm or (is_precise and one.unit == other.unit)


def is_of_one_measure(one: Value, other: Value, target: str = "") -> bool:
    """Check whether two numbers count the same: seconds and hours do; a number alone counts what the target says."""
    if not one.unit and other.unit:
        return re.match(MEASURES[-1], other.unit) is not None or find_line_terms(other.unit) <= find_line_terms(target)
    return one.unit == other.unit or any(
        re.fullmatch(measure, one.unit) and re.fullmatch(measure, other.unit) for measure in MEASURES
    )


def to_base(value: Value) -> float | str:
    scales = (scale for begin, scale in SCALES.items() if value.unit.startswith(begin))
    return float(value.norm) * next(scales, 1) if value.norm.count(".") < 2 else value.norm


def hold_values(fact: FactWords, lines: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return the values of a fact that stand in lines, each with a checksum of what is before it there."""
    taken, terms = find_line_terms(fact.target), find_line_terms(f"{fact.target} {fact.content}")
    held: dict[str, int] = {}
    for own in find_values(fact.content):
        if not is_switch(own, fact.content):
            continue
        own_terms = find_line_terms(own.text)
        places: list[tuple[int, int, int]] = []
        for line in lines:
            shared = len((terms - own_terms) & find_line_terms(line))
            for value in find_values(line):
                if is_same_value(own, value) and (
                    own.kind != "name" or is_name_assigned(value, line, own_terms, taken)
                ):
                    places.append((shared, -len(places), zlib.crc32(before(line, value))))
        is_sure = own.kind == "address" or (len(own.norm) > 1 and own.kind != "switch")
        places = [place for place in places if place[0] or (is_sure and len(places) == 1)]
        if places:
            held[own.text] = max(places)[2]
    return tuple(held.items())[:MOST_HELD]


def find_line_terms(text: str) -> set[str]:
    """Return the beginnings of words, so that forms of one are the same; programs that start with a host load no stemmer."""
    return {*split_line_terms(text)}


def split_line_terms(text: str) -> list[str]:
    return [word[:STEM] for word in WORD.findall(CAMEL.sub(" ", text).casefold()) if not OPEN.fullmatch(word)]


def is_switch(own: Value, content: str) -> bool:
    """Check whether a value, where it is a switch, is meant as one."""
    is_word = own.kind == "switch" and own.text.casefold() in ("on", "yes", "no")
    return not is_word or any(match.end() == own.end for match in SWITCHED.finditer(content))


def is_name_assigned(value: Value, line: str, terms: set[str], taken: set[str]) -> bool:
    """Check whether a name in a line is the value of something: what is assigned, or spelled as no word of prose is."""
    if (terms and terms <= taken) or len(value.text) < SHORTEST_NAME or OPEN.fullmatch(value.norm):
        return False
    is_assigned = ASSIGNING.search(line[: value.start]) and ENDING.match(line[value.end :])
    return bool(is_assigned) or not value.text[1:].isalpha() or not value.text[1:].islower()


def before(line: str, value: Value) -> bytes:
    """Return what stands before a value in its line, however it is spaced and quoted."""
    return re.sub(r"[\s\"'`]", "", line[: value.start]).encode("utf-8", "surrogateescape")


def find_replaced_value(
    fact: FactWords, held: Sequence[tuple[str, int]], path: str, region: Sequence[str], lines: Sequence[str]
) -> OtherValue | None:
    """Return a value that stood in cited lines, and the one that stands in its place; None where that is not certain.

    :param held: see `hold_values`
    :param region: the lines where the cited ones stood
    :param lines: all of the file
    """
    own = [*find_values(fact.content)]
    for text, mark in held:
        kind = next(value.kind for value in find_values(text))
        alike = [value for value in own if value.kind == kind]
        ours = next((value for value in alike if value.text == text), alike[0] if len(alike) == 1 else None)
        if ours is None:
            continue
        theirs = find_marked(ours, mark, region) or find_marked(ours, mark, lines, is_only=True)
        if theirs is not None and is_other(ours, theirs, own, path):
            return OtherValue(ours.text, theirs[0].text)
    return find_stated_value(fact, path, region)


def find_stated_value(fact: FactWords, path: str, region: Sequence[str]) -> OtherValue | None:
    """Return the value that lines give to what a fact names, where they never had its own; None where it is not certain."""
    own, known = [*find_values(fact.content)], find_line_terms(" ".join(fact)) | GENERAL
    for ours, _, placed in find_given_values(fact, own, region):
        named = [place for place in placed if known.issuperset(find_key(*place))]
        if len({value.norm for value, _ in named}) == 1 and is_other(ours, named[0], own, path):
            return OtherValue(ours.text, named[0][0].text)
    return None


def find_given_values(
    fact: FactWords, own: Sequence[Value], region: Sequence[str]
) -> Iterator[tuple[Value, set[str], list[Placed]]]:
    """Yield values of a fact by which something is told, with the words of its name, and what lines give that name."""
    parts = [terms for part in fact.target.split(".") if (terms := find_line_terms(part))]
    target = [*parts[-1:], *(specific for terms in reversed(parts) if (specific := terms - GENERAL))][:2]
    own = [value for value in own if value.kind != "name" or not find_line_terms(value.text) <= FILLING.union(*parts)]
    is_plain = len(fact.content.split()) <= MOST_PLAIN and all(value.kind == "name" for value in own)
    for ours in own:
        is_only = ours.start == 0 or sum(value.kind == ours.kind for value in own) == 1
        key = find_key(ours, fact.content) if ours.kind == "number" else []
        names = [*([{key[-1]}] if key else ()), *(target if is_only else ())]
        is_told = is_plain if ours.kind == "name" else is_switch(ours, fact.content)
        named = ((terms, [line for line in region if terms <= find_line_terms(line)]) for terms in names if is_told)
        terms, lines = next(filter(all, named), (set[str](), []))
        placed = [(value, line) for line in lines for value in find_values(line) if value.kind == ours.kind]
        yield ours, terms, [(value, line) for value, line in placed if is_given_value(value, line)]


def find_key(value: Value, line: str) -> list[str]:
    """Return the words of the name before a value."""
    named = NAMED.search(line[: value.start])
    return split_line_terms(named[1]) if named else []


def is_given_value(value: Value, line: str) -> bool:
    """Check whether a line gives a value to a name."""
    giving = ASSIGNING if value.kind == "name" else GIVING
    return bool(giving.search(line[: value.start]) and ENDING.match(line[value.end :]))


def find_marked(ours: Value, mark: int, lines: Sequence[str], *, is_only: bool = False) -> Placed | None:
    """Return the value with the same before it. :param is_only: whether there may be no second one"""
    marked = [
        (value, line)
        for line in lines
        for value in find_values(line)
        if value.kind == ours.kind and zlib.crc32(before(line, value)) == mark
    ]
    return marked[0] if marked and (not is_only or len(marked) == 1) else None


def is_other(ours: Value, theirs: Placed, own: Sequence[Value], path: str) -> bool:
    """Check whether what stands in the place of a value is another one for certain."""
    value, line = theirs
    if any(is_same_value(value, other) for other in own):
        return False
    if ours.kind != "name":
        return True
    rest, is_quoted = line[value.end :], line[: value.start].endswith(("'", '"', "`"))
    if not is_name_assigned(value, line, set(), set()) or (CODE.search(path) and not is_quoted):
        return False
    return not COMPUTED.match(rest) and ours.norm not in line.casefold()
