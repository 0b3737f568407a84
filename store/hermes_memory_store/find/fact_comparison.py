"""Whether a text says of a fact's subject what the fact says, another value, or what it forbids: by names and values alone.

A line that an agent writes has to name the subject (`compare_lines`): what cannot be told for certain is `unsure`, and what has
nothing of the fact is `silent`. Sentences of people, as in a host's memory file (`FactComparer`), are compared by their words,
too, and by the choices that exclude each other (`alternatives.txt`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from hermes_memory_store.data_files import read_sections
from hermes_memory_store.find.touched_facts import CLAUSE_ENDS
from hermes_memory_store.language import binding_words
from hermes_memory_store.language.binding_words import count_negations, is_binding
from hermes_memory_store.language.stop_words import is_common_term
from hermes_memory_store.memory.near_duplicates import (
    COMPARED_TYPES,
    GENERIC,
    find_lone_words,
    words_of,
    words_of_target,
)
from hermes_memory_store.model import Fact
from hermes_memory_store.places.cited_values import (
    CAMEL,
    FactWords,
    OtherValue,
    Value,
    find_given_values,
    find_key,
    find_line_terms,
    find_values,
    is_of_one_measure,
    is_other,
    is_same_value,
)

PORT = re.compile(r"(?<=[\w\]]):(\d{2,5})(?![\w.:])")
NUMBER = re.compile(r"\d[\d.]*\d")
NEGATIONS = "no longer|no|avoid|don['’]?t|(?:(?:do|does|must|should) )?not|without|instead of|rather than"
FORBIDDING = re.compile(rf"(?<![\w-])(?:(is |are |be )?never|{NEGATIONS})\b *(.*)", re.IGNORECASE)
NAMED = re.compile(r"(?<!\S)[\w~-]*[./][\w./-]*\w|--?[a-z][\w-]*")
"""In prose a path, a file or an option: it stands in an act as it is written."""

MOST_COMPARED, REJECTED_WITHIN, SHORT, NEAR, PLAIN = 24, 5, 12, 5, 6
"""Facts that an entry is compared with, rare words before common ones; words before a name among which one that rejects it
stands; words of a content of which any name is compared; words around a number among which one of its target stands; and words of
a content of which any number is compared."""

MARKUP = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)|<?https?://[^\s>]+>?|<[/!]?[a-z][^>\n]*>|\*\*", re.IGNORECASE)
"""A link, of which the text is said, and addresses and tags, in which words and numbers say nothing."""

SENTENCE_ENDS = re.compile(
    r"(?<=[.!?;])\s+|\n(?=\S)|\s+(?:–|—)\s+"
    r"|(?<=\w),\s+(?=(?:and )?(?:never|not|no|always|must|don't|do not|instead)\b)",
    re.IGNORECASE,
)
REJECTING = re.compile(
    rf"(?<![\w-])(?:never|{NEGATIONS}|over|forbid\w*|ban(?:ned)?|stop\w*|replac\w+|deprecated?|moved from|away from|"
    r"migrated from|refuse)\b",
    re.IGNORECASE,
)
SCOPES = re.compile(
    r"\b(test|dev(?=\b|elopment)|prod(?=\b|uction)|staging|legacy|mobile|windows|macos|linux|docs)", re.IGNORECASE
)
"""Beginnings of words that say of what something holds."""

SAYS = re.compile(
    r"\s*(?:[:=→]|\b(?:is|are|uses?|at|runs? (?:on|in)|lives? (?:on|in|at)|go(?:es)? (?:to|through)|"
    r"\w+(?:ed|ten|ne|nt) (?:by|with|on|in|to|through|via))\b)\s*(?:(?:the|an?|now|always|currently)\s+)*(.+)",
    re.IGNORECASE,
)
NO_NUMBER = re.compile(
    r"\d+(?:st|nd|rd|th)\b|\d+ ?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|\d+:\d+|\d+(?:,\d{3})+|(?<=[\w-])-\d+",
    re.IGNORECASE,
)
"""A day of a month, a time, a number with commas, the end of a range."""

LIMITS = words_of("max maximum min minimum limit number count version")
"""Words of a target beside a number that a sentence says in other words: at most, at least."""

BINDING = re.compile(
    r"\b(?:never|not|no|don['’]?t|do|does|must|always|should|shall|avoid|cannot|can|may|before|without|only|please|ok|fine|to|be|"
    r"run(?:ning)?|us(?:e|ing)|add(?:ing)?)\b",
    re.IGNORECASE,
)
"""Words that say no more than that something is to be done, or that it is not."""
VALUE = re.compile(r"[\w./:@+-]+(?: [\w./:@+-]+){0,2}")
ALTERNATIVES = re.compile(r"\s+(?:or|and|nor)\s+|/|,")
CONDITION = re.compile(r"\b(?:outside|unless|except|even|when|if|without|until)\b", re.IGNORECASE)
CHOOSES = re.compile(r"(?:we |always |please |only )*(?:use|using|uses|prefer)\b", re.IGNORECASE)
FRAMES = (-2, r"\b{}\W+{}\W+([\w./@-]*\w)"), (1, r"([\w./@-]*\w)\W+{}\W+{}\b")
"""Where the two words beside a name are, and a pattern of both with another name."""


class Comparison(NamedTuple):
    fact: Fact
    outcome: str
    """`same` or `opposite`."""
    reason: str = ""
    """The two values that exclude each other."""


def compare_lines(fact: Fact | FactWords, place: str, lines: Sequence[str]) -> str:
    """Return whether an act `agrees` with a fact by its value, `contradicts` it, is `silent`, or is `unsure`.

    :param place: the paths that an edit wrote
    """
    outcomes = {find_rejection(fact, line, place) or compare_values(fact, line, place)[0] for line in lines} or {
        "silent"
    }
    # Where a text has the value as well as another, which one holds is not known.
    outcomes = {"unsure"} if {"agrees", "contradicts"} <= outcomes else outcomes
    return next(outcome for outcome in ("contradicts", "unsure", "agrees", "silent") if outcome in outcomes)


def find_other_value(fact: Fact | FactWords, line: str, place: str = "") -> OtherValue | None:
    """Return the value of a fact and the other one that a line gives to the same name; None where it gives none for certain."""
    return compare_values(fact, line, place)[1]


def compare_values(fact: Fact | FactWords, line: str, place: str) -> tuple[str, OtherValue | None]:
    """Compare the values that a line gives to the names of a fact."""
    own, line = [*find_values(fact.content)], PORT.sub(r" port \1", line)
    around, target = find_line_terms(f"{place} {line}"), find_line_terms(fact.target)
    for ours, names, placed in find_given_values(FactWords(fact.target, fact.content), own, [line]):
        clause = next((clause for clause in CLAUSE_ENDS.split(fact.content) if ours.text in clause), "")
        words = target | find_line_terms(clause) - find_line_terms(ours.text)
        subject = {word for word in words - names if not is_common_term(word)}
        for theirs in placed:
            key = find_key(*theirs)
            is_same = any(is_same_value(theirs[0], value) for value in own)
            if not names.intersection(key[-1:]):
                continue
            if subject & around or target.issubset(key):
                if is_same:
                    return "agrees", None
                if is_other(ours, theirs, own, place):
                    return "contradicts", OtherValue(ours.text, theirs[0].text)
            elif not is_same:  # of something else, or of this in lines around
                return "unsure", None
    numbers, line_numbers = (
        {number for number in NUMBER.findall(text) if len(number) > 2} for text in (fact.content, line)
    )
    is_of_other = numbers and line_numbers and numbers.isdisjoint(line_numbers)
    words = {word for word in target | find_line_terms(fact.content) if not is_common_term(word)}
    return "unsure" if is_of_other and words & around else "silent", None


def find_rejection(fact: Fact | FactWords, line: str, place: str) -> str:
    """Return whether a line `contradicts` what one clause of a fact forbids: has all of it; `unsure`: a part of it."""
    outcome, text = "", CAMEL.sub(" ", f"{place} {line}")
    terms, content = words_of(text), CAMEL.sub(" ", fact.content)
    for phrase in find_forbidden(content):
        rejected = words_of(phrase)
        subject = {word for word in words_of(f"{fact.target} {content}") - rejected if not is_common_term(word)}
        is_whole = rejected and rejected <= terms and all(has_name(text, name) for name in NAMED.findall(phrase))
        is_sure = not all(map(is_common_term, rejected)) or subject & terms
        if is_whole and is_sure and not FORBIDDING.search(text):
            return "contradicts"
        outcome = "unsure" if rejected & terms else outcome
    return outcome


def find_forbidden(text: str) -> Iterator[str]:
    """Yield what the clauses of a text forbid."""
    for clause in CLAUSE_ENDS.split(text):
        forbidding = FORBIDDING.search(clause)
        if forbidding is not None:
            yield clause.replace("never", "") if forbidding[1] else forbidding[2]


def has_name(line: str, name: str) -> bool:
    return re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", line, re.IGNORECASE) is not None


@cache
def load_alternatives() -> list[tuple[frozenset[str], dict[str, re.Pattern[str]]]]:
    rows = read_sections(Path(binding_words.__file__).with_name("alternatives.txt"), {"alternatives": 0})[
        "alternatives"
    ]
    groups = []
    for topic, *names in rows:
        patterns = {}
        for name in names:
            forms = "|".join(re.escape(form) for form in name.split("="))
            patterns[name.split("=")[0]] = re.compile(rf"(?<![\w./-])(?:{forms})(?![\w-]|\.\w)", re.IGNORECASE)
        groups.append((words_of(topic), patterns))
    return groups


@lru_cache(maxsize=1 << 12)
def find_choices(text: str) -> tuple[tuple[int, str, bool], ...]:
    """Return what a text chooses or rejects: the group, the name, and whether it is chosen."""
    choices = []
    for n, (_, patterns) in enumerate(load_alternatives()):
        for name, pattern in patterns.items():
            for match in pattern.finditer(text):
                before = re.split(r"[,;.]| but | use | prefer ", text[: match.start()])[-1]
                near = " ".join(before.split()[-REJECTED_WITHIN:])
                choices.append((n, name, REJECTING.search(near) is None))
    return tuple(choices)


class FactComparer:
    """Compare entries with facts, of which few are looked at for each."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.facts = [fact for fact in facts if fact.type in COMPARED_TYPES and fact.content.strip()]
        self._by_word: dict[str, list[int]] = defaultdict(list)
        for n, fact in enumerate(self.facts):
            for word in find_fact_words(fact):
                self._by_word[word].append(n)

    def compare(self, text: str, headings: Sequence[str] = ()) -> list[Comparison]:
        """Return the facts that an entry repeats or contradicts, those that it contradicts first."""
        words = words_of(text) | words_of(" ".join(headings))
        words |= {f"group {n}" for n, _, _ in find_choices(text)}
        shared: Counter[int] = Counter()
        for word in words:
            facts = self._by_word.get(word, ())
            for n in facts:
                shared[n] += max(1, 1_000 // (1 + len(facts)))
        compared = (compare_entry(self.facts[n], text, headings) for n, _ in shared.most_common(MOST_COMPARED))
        return sorted(filter(None, compared), key=lambda comparison: comparison.outcome)


def find_fact_words(fact: Fact) -> frozenset[str]:
    groups = {f"group {n}" for n, _, _ in find_choices(fact.content)}
    return words_of(fact.content) | words_of_target(fact.target)[1] | groups


def compare_entry(fact: Fact, text: str, headings: Sequence[str] = ()) -> Comparison | None:
    """Compare a fact with an entry; None where they have nothing to do with each other, or it cannot be told."""
    place = " ".join(headings)
    sentences = split_entry_sentences(text)
    if any(says_same(fact, sentence, place) for sentence in [*sentences, " ".join(sentences)]):
        return Comparison(fact, "same")
    for sentence in sentences:
        reason = find_opposite(fact, sentence, place, text)
        if reason is not None:
            return Comparison(fact, "opposite", reason)
    return None


def split_entry_sentences(text: str) -> list[str]:
    """Return the sentences of an entry; a row of two cells is a name and its value."""
    plain = MARKUP.sub(lambda match: match[1] or "", text).strip()
    if plain.startswith("|"):
        cells = [cell.strip() for cell in plain.strip("|").split("|")]
        plain = ": ".join(cells) if len(cells) == 2 else "; ".join(cells)
    return [sentence.strip(" .") for sentence in SENTENCE_ENDS.split(plain) if sentence.strip(" .")]


def says_same(fact: Fact, sentence: str, place: str) -> bool:
    mine, theirs = words_of(fact.content), words_of(sentence)
    choices, sentence_choices = {*find_choices(fact.content)}, {*find_choices(sentence)}
    is_reversed = (count_negations(fact.content) > 0) != (count_negations(sentence) > 0)
    is_rejected = any((group, name, not is_chosen) in sentence_choices for group, name, is_chosen in choices)
    if not mine or not theirs or choices - sentence_choices or is_rejected or (is_reversed and not choices):
        return False
    numbers = find_number_values(sentence)
    if any(not any(is_same_value(ours, other) for other in numbers) for ours in find_number_values(fact.content)):
        return False
    content = fact.content.strip(" .`\"'")
    if " " not in content and not choices:
        whole = re.compile(rf"(?<![\w.-]){re.escape(content)}(?![\w-])", re.IGNORECASE)
        if whole.search(sentence) is None:
            return False
    lone = find_lone_words(mine, theirs)
    is_about = is_on_topic(fact, sentence, place) or any(is_of_group(n, sentence, place) for n, _, _ in choices)
    if not lone:
        return is_about or len(mine) >= 4
    return len(mine) >= 4 and len(lone) <= len(mine) // 4 and is_about


def is_on_topic(fact: Fact, sentence: str, place: str) -> bool:
    """Check whether a sentence under its headings has a word of the fact's target that says something."""
    target = words_of_target(fact.target)[1]
    return shares_words(frozenset(target - GENERIC or target), sentence, place)


def shares_words(words: frozenset[str], sentence: str, place: str) -> bool:
    return len(find_lone_words(words, words_of(sentence) | words_of(place))) < len(words)


def is_of_group(group: int, sentence: str, place: str) -> bool:
    """Check whether a sentence chooses among alternatives, and does not only mention one."""
    return CHOOSES.match(sentence) is not None or shares_words(load_alternatives()[group][0], sentence, place)


@lru_cache(maxsize=1 << 12)
def find_number_values(text: str) -> tuple[Value, ...]:
    """Return the numbers of a text, without days of a month, times and the halves of a number that has a comma."""
    plain = NO_NUMBER.sub(lambda match: " " * len(match[0]), text)
    return tuple(value for value in find_values(plain) if value.kind == "number")


def find_opposite(fact: Fact, sentence: str, place: str, text: str) -> str | None:
    """Return the two values by which a sentence contradicts a fact; None where it does not, for certain."""
    own_scopes, sentence_scopes = (
        {*SCOPES.findall(text.casefold())}
        for text in (f"{fact.target.replace('.', ' ')} {fact.content} {place}", sentence)
    )
    if sentence_scopes - own_scopes:
        return None
    return (
        find_other_choice(fact, sentence, place)
        or find_other_number(fact, sentence, place)
        or find_other_name(fact, sentence, place)
        or find_framed_name(fact, sentence, place)
        or find_reversal(fact, sentence, place, text)
    )


def find_other_choice(fact: Fact, sentence: str, place: str) -> str | None:
    mine, theirs = find_choices(fact.content), find_choices(sentence)
    for group in dict.fromkeys(n for n, _, _ in mine):
        if not (is_on_topic(fact, sentence, place) or is_of_group(group, sentence, place)):
            continue
        chosen, rejected, their_chosen, banned = (
            {name for n, name, is_chosen in choices if n == group and is_chosen is positive}
            for choices in (mine, theirs)
            for positive in (True, False)
        )
        free, their_free = chosen - rejected, their_chosen - banned
        if chosen & their_chosen:
            continue
        for name in sorted((rejected & their_free) or (banned & free)):
            ours = min(free) if free else f"never {name}"
            return f"{ours} ≠ {name}" if name in rejected else f"{name} ≠ never {name}"
        if free and len(their_free) == 1:
            return f"{min(free)} ≠ {min(their_free)}"
    return None


def find_other_number(fact: Fact, sentence: str, place: str) -> str | None:
    ours, theirs = find_number_values(fact.content), find_number_values(sentence)
    if not ours or not theirs or any(is_same_value(own_number, number) for own_number in ours for number in theirs):
        return None
    all_words = words_of(fact.content) | words_of_target(fact.target)[1]
    own_words = frozenset(word for word in all_words - GENERIC - LIMITS if not any(map(str.isdigit, word)))
    around = words_of(sentence) | words_of(place)
    target = words_of(fact.target.replace(".", " ")) - GENERIC - LIMITS or words_of_target(fact.target)[1]
    shared = len(own_words) - len(find_lone_words(own_words, around))
    is_close = not find_lone_words(target, around) or (shared >= 2 and 2 * shared >= len(own_words))
    for number in theirs if is_close and len(fact.content.split()) <= PLAIN else ():
        near = [*sentence[: number.start].split()[-NEAR:], *sentence[number.end :].split()[: NEAR + 1]]
        for own_number in ours if is_on_topic(fact, " ".join(near), "") else ():
            if is_of_one_measure(own_number, number, fact.target):
                return f"{format_number(fact.content, own_number)} ≠ {format_number(sentence, number)}"
    return None


def format_number(text: str, value: Value) -> str:
    """Return a number of a text with its unit, as they stand there."""
    unit = re.compile(rf" ?{re.escape(value.unit)}", re.IGNORECASE).match(text, value.end)
    return value.text + (unit[0] if unit else "")


def find_other_name(fact: Fact, sentence: str, place: str) -> str | None:
    """Compare a short value, a region or an owner, with what a sentence says that the target is."""
    content, says = fact.content.strip(" .`\"'"), SAYS.search(sentence)
    if says is None or len(content.split()) > 2 or count_negations(sentence) or is_binding(content):
        return None
    subject, value = words_of(sentence[: says.start()]), says[1].strip(" .`\"'")
    words = words_of_target(fact.target)[1]
    target = words - GENERIC or words
    if not subject & words or find_lone_words(target, subject | words_of(place)):
        return None
    is_value = VALUE.fullmatch(value) and words_of(value) and not words_of(content) <= words_of(value)
    return f"{content} ≠ {value}" if is_value and len(find_lone_words(subject, target)) <= 1 else None


def find_framed_name(fact: Fact, sentence: str, place: str) -> str | None:
    """Compare what stands before or behind the same two words, `live in src/` for example."""
    words = [word.strip(".,;:") for word in fact.content.split()]
    if not is_on_topic(fact, sentence, place) or len(words) > SHORT:
        return None
    for (n, name), (shift, form) in product(enumerate(words), FRAMES):
        frame = words[n + shift : n + shift + 2] if n + shift >= 0 else []
        if len(frame) < 2 or not words_of(" ".join(frame)) or not is_plain_name(name) or has_name(sentence, name):
            continue
        match = re.search(form.format(*map(re.escape, frame)), sentence, re.IGNORECASE)
        if match and is_plain_name(match[1]) and not has_name(fact.content, match[1]):
            return f"{name} ≠ {match[1]}"
    return None


def is_plain_name(word: str) -> bool:
    """Check whether a word is the name of something, and none of the language."""
    return not word.isalpha() or not word[1:].islower() or not all(map(is_common_term, words_of(word)))


def find_reversal(fact: Fact, sentence: str, place: str, text: str) -> str | None:
    """Check whether one forbids what the other says or demands, in the same words. :param text: the entry of the sentence"""
    target, content = words_of_target(fact.target)[1] - GENERIC, words_of(fact.content)
    is_about = is_on_topic(fact, text, place)
    sentence = re.sub(r"--[\w-]+", lambda match: match[0] if match[0] in fact.content else " ", sentence)
    for forbidding, demanding, familiar, nearby, reason in (
        (fact.content, sentence, content | target, words_of(place), "never ≠ always"),
        (sentence, fact.content, words_of(f"{place} {text}") | target, target, "always ≠ never"),
    ):
        demanded = words_of(BINDING.sub(" ", CONDITION.split(demanding)[0]))
        rest = find_lone_words(demanded, familiar)
        for phrase in find_forbidden(forbidding) if demanded and not FORBIDDING.search(demanding) else ():
            whole, *conditions = CONDITION.split(phrase)
            for part in map(str.strip, ALTERNATIVES.split(whole)):
                rejected = words_of(BINDING.sub(" ", part))
                shared = rejected & demanded
                is_narrow = not conditions and (
                    len(rejected) > 1 or len(demanded & words_of(forbidding) - rejected) > 1
                )
                is_sure = len(rejected) > 1 or is_about or not all(map(is_common_term, rejected))
                is_all = not find_lone_words(rejected, demanded | nearby) and 2 * len(shared) >= len(rejected)
                is_literal = not part.isalpha() and has_name(demanding, part.strip("`."))
                if is_literal or (shared and is_all and is_sure and (is_narrow or not rest)):
                    return reason
                if len(demanded) > 1 and demanded <= rejected:
                    return reason
    return None
