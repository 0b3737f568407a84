"""Whether an entry of a host's file says the same as a fact, or the opposite: another value, another choice, must against never.

Both are texts of people, in which a number need not follow its name: beside `fact_comparison`, which compares a fact with what an
agent does, sentences are compared by their words, and by the choices that exclude each other (`alternatives.txt`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from hermes_memory_store.data_files import read_sections
from hermes_memory_store.find.fact_comparison import find_other_value
from hermes_memory_store.language import binding_words
from hermes_memory_store.language.binding_words import count_negations, is_binding
from hermes_memory_store.memory.near_duplicates import (
    COMPARED_TYPES,
    GENERIC,
    find_lone_words,
    words_of,
    words_of_target,
)
from hermes_memory_store.model import Fact

MOST_COMPARED = 24
"""Facts that an entry is compared with: those that share most words with it, rare ones before common ones."""

REJECTED_WITHIN = 5
"""Words before a name among which one that rejects it stands."""

LINKED = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)")
ADDRESS = re.compile(r"<?https?://[^\s>]+>?|<[/!]?[a-z][^>\n]*>", re.IGNORECASE)
"""An address or a tag, in which words and numbers say nothing."""

SHORT = 12
"""Words of a sentence that is compared as a whole."""

SENTENCE_ENDS = re.compile(
    r"(?<=[.!?;])\s+|\n(?=\S)|\s+(?:–|—)\s+"
    r"|(?<=\w),\s+(?=(?:and )?(?:never|not|no|always|must|don't|do not|instead)\b)",
    re.IGNORECASE,
)
NUMBER = re.compile(
    r"(?<![\w.-])v?(\d+(?:[.:]\d+)*)(?!\d|(?:st|nd|rd|th)\b|\s?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))(?:\s?(%|[a-z]{1,9}\b))?",
    re.IGNORECASE,
)
"""A number with its unit; a day of a month is none."""
REJECTING = re.compile(
    r"(?<![\w-])(?:never|not|no longer|no|avoid|don['’]?t|do not|without|instead of|rather than|over|forbid\w*|ban(?:ned)?|"
    r"stop\w*|replac\w+|deprecated?|moved (?:away )?from|away from|migrated from|refuse)\b",
    re.IGNORECASE,
)
SCOPES = re.compile(
    r"\b(?:tests?|testing|ci|local(?:ly)?|dev(?:elopment)?|prod(?:uction)?|staging|docs?|legacy|front-?end|back-?end|mobile|web|"
    r"admin|scripts?|examples?|demo|windows|linux|macos|ios|android|python|node|java|rust)\b",
    re.IGNORECASE,
)
FOLDED_SCOPES = {"tests": "test", "testing": "test", "locally": "local", "development": "dev", "production": "prod"}
SAYS = re.compile(
    r"\s*(?:[:=→]|\bis\b|\bare\b|\bruns? (?:on|in)\b|\blives? (?:on|in|at)\b|\bat\b)\s*(.+)", re.IGNORECASE
)


class Comparison(NamedTuple):
    fact: Fact
    outcome: str
    """`same` or `opposite`."""
    reason: str = ""
    """The two values that exclude each other."""


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
    for clause in (clause for sentence in sentences for clause in split_clauses(sentence)):
        reason = find_opposite(fact, clause, place)
        if reason is not None:
            return Comparison(fact, "opposite", reason)
    return None


def split_entry_sentences(text: str) -> list[str]:
    """Return the sentences of an entry; a row of two cells is a name and its value."""
    plain = ADDRESS.sub(" ", LINKED.sub(r"\1", text.replace("**", ""))).strip()
    if plain.startswith("|"):
        cells = [cell.strip() for cell in plain.strip("|").split("|")]
        plain = ": ".join(cells) if len(cells) == 2 else "; ".join(cells)
    return [sentence.strip(" .") for sentence in SENTENCE_ENDS.split(plain) if sentence.strip(" .")]


def split_clauses(sentence: str) -> list[str]:
    """Return the clauses of a long sentence: what it says of one thing need not be of another that it names."""
    if len(sentence.split()) <= SHORT:
        return [sentence]
    return [clause.strip() for clause in re.split(r"[,;:()]\s+|\s[(]|[)]", sentence) if clause.strip()]


def says_same(fact: Fact, sentence: str, place: str) -> bool:
    mine, theirs = words_of(fact.content), words_of(sentence)
    choices, others = {*find_choices(fact.content)}, {*find_choices(sentence)}
    is_reversed = (count_negations(fact.content) > 0) != (count_negations(sentence) > 0)
    if not mine or not theirs or choices - others or (is_reversed and not choices):
        return False
    if not find_numbers_of(fact.content) <= find_numbers_of(sentence):
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


def find_numbers_of(text: str) -> frozenset[tuple[str, str]]:
    """Return the numbers of a text with their units."""
    return frozenset(
        (match[1], (match[2] or "").casefold() if is_unit(match[2]) else "") for match in NUMBER.finditer(text)
    )


def is_unit(word: str | None) -> bool:
    return word is not None and UNIT.fullmatch(word) is not None


LIMITS = frozenset(["max", "maximum", "min", "minimum", "limit", "number", "count", "version"])
"""Words of a target beside a number that a sentence says in other words: at most, at least."""

BINDING = re.compile(
    r"\b(?:never|not|no|don['’]?t|do|does|must|always|should|shall|avoid|cannot|can|may|before|without|only|please|ok|fine|to|be)\b",
    re.IGNORECASE,
)
VALUE = re.compile(r"[\w./:@+-]+(?: [\w./:@+-]+){0,2}")
CHOOSES = re.compile(r"(?:we |always |please |only )*(?:use|using|uses|prefer)\b", re.IGNORECASE)

MEASURES = re.compile(
    r"(s|secs?|seconds?|ms|mins?|minutes?|h|hours?|days?|weeks?|months?|years?)|([kmgt]b)|(characters?|chars|columns)|(spaces?|tabs?)|"
    r"(lines?)|(requests?)|(workers?|threads?|replicas?)|(reviewers?|approvals?)|(times|attempts?|retries)",
    re.IGNORECASE,
)

NEAR = 5
"""Words around a number among which one of its target stands."""

PLAIN = 3
"""Words of a content that is a value and nothing else; of one of up to twice as many, any number is compared."""

UNIT = re.compile(
    r"%|s|secs?|seconds?|ms|min|mins|minutes?|h|hours?|days?|weeks?|months?|years?|spaces?|tabs?|characters?|chars|columns|lines?|"
    r"[kmgt]b|requests?|attempts?|retries|times|workers?|threads?|replicas?|reviewers?|approvals?",
    re.IGNORECASE,
)


def find_opposite(fact: Fact, sentence: str, place: str) -> str | None:
    """Return the two values by which a sentence contradicts a fact; None where it does not, for certain."""
    if is_of_other_scope(fact, sentence, place):
        return None
    return (
        find_other_choice(fact, sentence, place)
        or find_other_number(fact, sentence, place)
        or find_other_name(fact, sentence, place)
        or find_reversal(fact, sentence, place)
    )


def is_of_other_scope(fact: Fact, sentence: str, place: str) -> bool:
    """Check whether both say of what they hold, tests or production for example, and of different things."""

    def scopes(text: str) -> set[str]:
        found = (match.casefold() for match in SCOPES.findall(text))
        return {FOLDED_SCOPES.get(name, name) for name in found}

    for group, name, _ in find_choices(sentence):
        sentence = load_alternatives()[group][1][name].sub(" ", sentence)
    mine, theirs = scopes(f"{fact.target.replace('.', ' ')} {fact.content}"), scopes(sentence)
    return bool(theirs - mine - scopes(place)) if not mine else not (mine & (theirs | scopes(place))) and bool(theirs)


def find_other_choice(fact: Fact, sentence: str, place: str) -> str | None:
    mine, theirs = find_choices(fact.content), find_choices(sentence)
    for group in dict.fromkeys(n for n, _, _ in mine):
        chosen, rejected = select_names(mine, group)
        others, banned = select_names(theirs, group)
        others_free, chosen_free = others - banned, chosen - rejected
        shares_topic = is_on_topic(fact, sentence, place) or is_of_group(group, sentence, place)
        if shares_topic and (clash := (rejected & others_free) or (banned & chosen_free)):
            if chosen & others:
                continue
            (name,) = sorted(clash)[:1]
            return f"never {name} ≠ {name}" if name in rejected else f"{name} ≠ never {name}"
        if chosen_free and others_free and not chosen & others and shares_topic and len(others_free) == 1:
            return f"{sorted(chosen_free)[0]} ≠ {sorted(others_free)[0]}"
    return None


def select_names(choices: Iterable[tuple[int, str, bool]], group: int) -> tuple[set[str], set[str]]:
    """Return the names of a group that are chosen, and those that are rejected."""
    names = [(name, is_chosen) for n, name, is_chosen in choices if n == group]
    return {name for name, is_chosen in names if is_chosen}, {name for name, is_chosen in names if not is_chosen}


def find_other_number(fact: Fact, sentence: str, place: str) -> str | None:
    ours, theirs = find_numbers_of(fact.content), find_numbers_of(sentence)
    if not ours or not theirs or ours & theirs:
        return None
    other = find_other_value(fact, sentence, place)
    all_words = words_of(fact.content) | words_of_target(fact.target)[1]
    own_words = frozenset(word for word in all_words - GENERIC - LIMITS if not any(map(str.isdigit, word)))
    around = frozenset(word for word in words_of(sentence) | words_of(place) if not any(map(str.isdigit, word)))
    target = frozenset(words_of_target(fact.target)[1] - GENERIC - LIMITS) or words_of_target(fact.target)[1]
    shared = len(own_words) - len(find_lone_words(own_words, around))
    is_covered = not find_lone_words(target, around) and is_on_topic(fact, sentence, "")
    words = len(fact.content.split())
    if other is not None and (is_covered or (words <= PLAIN and is_on_topic(fact, sentence, ""))):
        return f"{other.ours} ≠ {other.theirs}"
    if words > 2 * PLAIN:
        return None
    is_close = is_covered or (shared >= 2 and 2 * shared >= len(own_words) and is_on_topic(fact, sentence, place))
    for match in NUMBER.finditer(sentence) if is_close else ():
        other_number, other_unit = match[1], (match[2] or "").casefold() if is_unit(match[2]) else ""
        near = " ".join(
            [*sentence[: match.start()].split()[-NEAR:], match[2] or "", *sentence[match.end() :].split()[:NEAR]]
        )
        if (":" in other_number and other_unit == "") or not is_on_topic(
            fact, near, ""
        ):  # a time, or of something else
            continue
        for number, unit in sorted(ours):
            if number.count(".") + 1 >= other_number.count(".") and is_of_unit(unit, other_unit, fact.target):
                return f"{number} {unit}".strip() + f" ≠ {other_number} {other_unit}".rstrip()
    return None


def is_of_unit(unit: str, other: str, target: str) -> bool:
    """Check whether two numbers count the same: seconds and hours do, seconds and a number alone do not."""
    if unit == other:
        return True
    if not unit:  # times of `retry.max`, a reviewer of `reviewers`
        return other in ("times", "attempts", "retries") or bool(words_of(other) & words_of_target(target)[1])
    kinds = (MEASURES.fullmatch(unit), MEASURES.fullmatch(other))
    return all(kinds) and kinds[0].lastindex == kinds[1].lastindex  # type: ignore[union-attr]


def find_other_name(fact: Fact, sentence: str, place: str) -> str | None:
    """Compare a short value, a region or an owner, with what a sentence says that the target is."""
    content = fact.content.strip(" .`\"'")
    target = frozenset(words_of_target(fact.target)[1] - GENERIC) or words_of_target(fact.target)[1]
    says = SAYS.search(sentence)
    if (
        says is None
        or len(content.split()) > 2
        or len(says[1].split()) > 3
        or count_negations(sentence)
        or is_binding(content)
    ):
        return None
    subject = words_of(sentence[: says.start()])
    about = subject | words_of(place)
    value = re.sub(r"^(?:the|a|an|now|always|currently)\s+", "", says[1].strip(" .`\"'"), flags=re.IGNORECASE)
    if not subject & words_of(fact.target.replace(".", " ")) or find_lone_words(target, about):
        return None
    if len(find_lone_words(subject, target)) > 1 or VALUE.fullmatch(value) is None:
        return None
    if value.casefold() == content.casefold() or words_of(value) & words_of(content) == words_of(content):
        return None
    return f"{content} ≠ {value}" if words_of(value) else None


def find_reversal(fact: Fact, sentence: str, place: str) -> str | None:
    """Check whether one forbids in the same words what the other demands."""
    sentence = re.sub(r"--[\w-]+", lambda match: match[0] if match[0] in fact.content else " ", sentence)
    theirs, other = count_negations(sentence) > 0, remove_binding_words(sentence)
    is_about = is_on_topic(fact, sentence, place)
    for clause in SENTENCE_ENDS.split(fact.content):
        ours, bare = count_negations(clause) > 0, remove_binding_words(clause)
        if ours == theirs or len(sentence.split()) > 2 * len(clause.split()) + 4:
            continue
        for least, mine, others in (
            (2 / 3, words_of(bare), words_of(other)),
            (1, frozenset(bare.split()), frozenset(other.split())),
        ):
            shared = len(mine) - len(find_lone_words(mine, others))
            is_whole = 2 * len(find_lone_words(others, mine)) <= len(others) or shared == len(mine)
            if shared >= 2 and shared >= least * len(mine) and is_whole and (is_about or shared >= 3):
                return "never ≠ always" if ours else "always ≠ never"
    return None


def remove_binding_words(text: str) -> str:
    return BINDING.sub(" ", text).casefold()
