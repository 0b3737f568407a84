"""Whether a text says of a fact's subject what the fact says, another value, or what it forbids: by names and values alone.

What cannot be told for certain is `unsure`, and what has nothing of the fact is `silent`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hermes_memory_store.find.ranking import text_terms
from hermes_memory_store.find.touched_facts import CLAUSE_ENDS
from hermes_memory_store.language.stop_words import is_common_term, stop_terms
from hermes_memory_store.model import Fact
from hermes_memory_store.places.cited_values import CAMEL, FactWords, OtherValue

NUMBERED = re.compile(r"([^\W\d][\w.-]*)[\"'\])]?(?: *[=:(] *| +(?:is |on )?)[\"']?(\d[\d.]*\d)(?![\w.]*\w)")
PORT = re.compile(r"(?<=[\w\]]):(\d{2,5})(?![\w.:])")
ASSIGNED = re.compile(r"([^\W\d][\w.-]*)[\"']? *[=:] *[\"']?([^\W\d_][\w-]*)[\"']?(?=[\s,;]|$)")
NUMBER = re.compile(r"\d[\d.]*\d")
FORBIDDING = re.compile(
    r"\b(?:(is |are |be )?never|no|avoid|not (?=(?:to|in|on|with|from|for|via|through|into|an?|the) ))\b *(.*)",
    re.IGNORECASE,
)
NAMED = re.compile(r"(?<!\S)[\w~-]*[./][\w./-]*\w|--?[a-z][\w-]*")
"""In prose a path, a file or an option: it stands in an act as it is written."""

LEAVES_IT_OPEN = frozenset({"true", "false", "null", "none", "str", "int", "string", "number", "env"})


def compare_lines(fact: Fact | FactWords, place: str, lines: Sequence[str]) -> str:
    """Return whether an act `agrees` with a fact by its value, `contradicts` it, is `silent`, or is `unsure`.

    :param place: the paths that an edit wrote
    """
    outcomes = {compare_line(fact, place, line) for line in lines} or {"silent"}
    # Where a text has the value as well as another, which one holds is not known.
    outcomes = {"unsure"} if {"agrees", "contradicts"} <= outcomes else outcomes
    return next(outcome for outcome in ("contradicts", "unsure", "agrees", "silent") if outcome in outcomes)


def compare_line(fact: Fact | FactWords, place: str, line: str) -> str:
    line, content = CAMEL.sub(" ", line), CAMEL.sub(" ", fact.content)
    terms = find_terms(f"{place} {line}")
    rejection = compare_rejections(fact, content, f"{place} {line}", terms)
    return rejection if rejection != "silent" else compare_values(fact, content, line, terms)[0]


def find_other_value(fact: Fact | FactWords, line: str, place: str = "") -> OtherValue | None:
    """Return the value of a fact and the other one that a line gives to the same name; None where it gives none for certain."""
    if not (NUMBER.search(line) if NUMBER.search(fact.content) else ASSIGNED.search(line)):
        return None
    line, content = CAMEL.sub(" ", line), CAMEL.sub(" ", fact.content)
    return compare_values(fact, content, line, find_terms(f"{place} {line}"))[1]


def compare_values(fact: Fact | FactWords, content: str, line: str, terms: set[str]) -> tuple[str, OtherValue | None]:
    """Compare the numbers and words that a line gives to the names of a fact."""
    target = find_terms(CAMEL.sub(" ", fact.target))
    last = text_terms(fact.target)[-1:]
    first = NUMBER.match(content)
    subjects: dict[tuple[str, ...], tuple[set[str], str]] = {last: (target, first[0])} if first else {}
    for clause in CLAUSE_ENDS.split(content):
        for name, number in find_numbered(clause):
            subjects[text_terms(name)[-1:]] = target | find_terms(clause), number
    numbers, words = set(NUMBER.findall(content)), find_terms(content)
    is_plain = len(content.split()) <= 3
    for name, number in find_numbered(line):
        key = text_terms(name)[-1:]
        if key in subjects:
            around, own = subjects[key]
            named = {term for term in around.difference(key) if not is_common_term(term) and not term.isdigit()}
            if named & terms or target <= {*text_terms(name)}:
                return ("agrees", None) if number in numbers else ("contradicts", OtherValue(own, number))
            if number not in numbers:  # of something else, or of this in lines around
                return "unsure", None
    for name, value in ASSIGNED.findall(line) if is_plain and not numbers else ():
        named = find_terms(value)
        if text_terms(name)[-1:] == last and target <= terms and named and value.casefold() not in LEAVES_IT_OPEN:
            agrees = words & named
            return ("agrees", None) if agrees else ("contradicts", OtherValue(content, value))
    long_numbers = {number for number in NUMBER.findall(line) if len(number) > 2}
    own_words = {term for term in target | words if not is_common_term(term)}
    is_other = long_numbers and any(len(number) > 2 for number in numbers) and numbers.isdisjoint(long_numbers)
    return "unsure" if is_other and own_words & terms else "silent", None


def find_numbered(text: str) -> list[tuple[str, str]]:
    """Return the numbers of a text with the names before them; what follows a host is a port."""
    return [*NUMBERED.findall(text), *(("port", number) for number in PORT.findall(text))]


def compare_rejections(fact: Fact | FactWords, content: str, line: str, terms: set[str]) -> str:
    """Check whether a line has all that one clause of a fact forbids, or a part of it."""
    outcome, target = "silent", find_terms(fact.target)
    for clause in CLAUSE_ENDS.split(content):
        forbidding = FORBIDDING.search(clause)
        if forbidding is None:
            continue
        phrase = clause.replace("never", "") if forbidding[1] else forbidding[2]
        rejected = find_terms(phrase)
        others = {term for term in target | find_terms(content) if term not in rejected and not is_common_term(term)}
        is_whole = rejected and rejected <= terms and all(has_name(line, name) for name in NAMED.findall(phrase))
        is_sure = not all(map(is_common_term, rejected)) or others & terms
        if is_whole and is_sure and not FORBIDDING.search(line):
            return "contradicts"
        if rejected & terms:
            outcome = "unsure"
    return outcome


def has_name(line: str, name: str) -> bool:
    return re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", line, re.IGNORECASE) is not None


def find_terms(text: str) -> set[str]:
    return {*text_terms(text)} - stop_terms()
