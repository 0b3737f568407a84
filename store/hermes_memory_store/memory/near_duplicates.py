"""Near-duplicates: facts like `D[cache]: redis` and `D[caching]: redis 7`, of which neither supersedes the other.

Two facts of one type are close when their targets mean the same and their contents are alike, or when they say the same in
so many words that it is no coincidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from hermes_memory_store.database.index_health import FACTS
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.fact_types import OPEN_TYPES
from hermes_memory_store.items.kinds import FACT_COLUMNS, FactRow
from hermes_memory_store.items.mutation import READ_COLUMNS
from hermes_memory_store.items.name_keys import UNSCOPED
from hermes_memory_store.language.binding_words import count_negations
from hermes_memory_store.language.stemmer import stem_word
from hermes_memory_store.language.stop_words import stop_terms
from hermes_memory_store.language.tokenizer import MAX_WORD, split_runs, to_index_text
from hermes_memory_store.notation.abbreviations import abbreviation_variants, fold_abbreviations

Query = Callable[[str, dict[str, Any]], list[tuple[Any, ...]]]

COMPARED_TYPES = frozenset(OPEN_TYPES)
"""Types of which two can say the same. What is done or obsolete is over."""

MAX_CANDIDATES = 8
"""Facts that are looked at in each of the ways that lead to similar ones."""

MAX_WORDS = 3
"""Words of a content that are looked for, the longest, which are the rarest."""

MAX_TOLD = 3

SAME_IN_WORDS = 4
"""Words that two contents must share wholly to be close under targets that mean something else."""

ALIKE, ALIKE_ENOUGH = 0.34, 0.6
"""Share of all words of two contents (Jaccard) that both have, under targets that mean the same, and under others like them."""

GENERIC_WORDS = """
    choice strategy type engine system layer policy setup settings cfg option use used using usage tool library lib backend
    service server format style rule rules convention framework method approach provider driver solution main preferred default
    current technology tech stack software platform decision selection mode svc srv impl requirement req handling guide
    management mgmt guideline standard info details
"""
GENERIC = frozenset(stem_word(fold_abbreviations(word)) for word in GENERIC_WORDS.split())
"""Words of a target that say nothing that the rest does not: `cache.backend` is what `cache` is."""

NUMERONYMS = {
    "k8s": "kubernetes",
    "i18n": "internationalization",
    "l10n": "localization",
    "a11y": "accessibility",
    "o11y": "observability",
}

NUMERONYM_FORMS = {form: frozenset(pair) for pair in NUMERONYMS.items() for form in pair}

VARIABLE = re.compile(
    r"\s*[`\"]?(?:(?:export|set|ENV|-)\s+)?(?:(?P<assigned>[A-Za-z_][\w.-]*)\s*=(?!=)|(?P<listed>[A-Z][A-Z\d]*_[A-Z\d_]+)[`\"]?:)"
)
"""A content that sets a variable, whose name says what it is about: `PGID=1000`."""

VARIABLE_TARGET = re.compile(r"(?:.*[./ ])?([A-Z][A-Z\d]*_[A-Z\d_]+)")
_PATH = re.compile(r"[\w.~@:-]*/[\w./~@:-]*\w")
_NUMBER = re.compile(r"\d")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

TARGET, CONTENT = FactRow._fields.index("target"), FactRow._fields.index("content")

STANDING = ", ".join(f"'{tier}'" for tier in ("hot", "cold", "archived"))

BEGINNING = 4
"""Letters with which targets begin that may mean the same: `cach` begins both `cache` and `caching`."""

UNSCOPED_ID = f"(SELECT id FROM scopes WHERE theme_id = :theme AND label = '{UNSCOPED}')"

BY_BEGINNING = f"""
    SELECT id, 1 AS is_by_target FROM (
      SELECT id FROM facts INDEXED BY facts_standing
      WHERE scope_id = {{scope}} AND type = :type AND target >= :from_{{n}} AND target < :to_{{n}} AND tier IN ({STANDING})
      LIMIT {MAX_CANDIDATES})
"""
"""Facts whose target begins with some letters. One that is without a scope is looked for once."""

BY_WORDS = f"""
    SELECT id, 0 FROM (
      SELECT rowid AS id FROM {FACTS} WHERE {FACTS} MATCH :words_{{n}} AND rowid BETWEEN :first AND :last
      ORDER BY rowid DESC LIMIT {MAX_CANDIDATES})
"""

CANDIDATES = f"""
    SELECT min(c.is_by_target), {FACT_COLUMNS}, {READ_COLUMNS}
    FROM ({{candidates}}) c
    JOIN facts f ON f.id = c.id JOIN scopes s ON s.id = f.scope_id LEFT JOIN reads r ON r.fact_id = f.id
    WHERE f.type = :type AND f.scope_id IN (:scope, {UNSCOPED_ID}) AND f.tier IN ('hot', 'cold') AND f.target <> :target
    GROUP BY f.id ORDER BY f.id DESC
"""


def find_near_duplicates(
    query: Query, fact: FactRow, *, is_indexed: bool, is_scoped: bool = True
) -> list[tuple[Any, ...]]:
    """Return at most `MAX_TOLD` live facts close to a fact in its scope, or without a scope, newest first.

    They are rows of `FACTS_WITH_READS`. What shares nothing but common words with it may be passed over where there is much.

    :param is_indexed: whether the full-text index can be searched
    :param is_scoped: False for a fact that is known to be in no scope
    """
    if fact.type not in COMPARED_TYPES or not words_of(fact.content):
        return []
    first = fact.theme_id << THEME_SHIFT
    named = {"theme": fact.theme_id, "scope": fact.scope_id, "type": fact.type, "target": fact.target}
    named |= {"first": first, "last": first + (1 << THEME_SHIFT) - 1}
    words = split_runs(_CAMEL.sub(" ", fact.target))
    forms = frozenset().union(*map(abbreviation_variants, words), *(NUMERONYM_FORMS.get(word, ()) for word in words))
    starts = sorted({form[:BEGINNING] for form in forms})
    for n, start in enumerate(starts):
        named |= {f"from_{n}": start, f"to_{n}": start[:-1] + chr(ord(start[-1]) + 1)}
    matches = match_words(fact) if is_indexed else []
    named |= {f"words_{n}": match for n, match in enumerate(matches)}
    near = (
        row
        for is_by_target, *row in query(candidate_query(len(starts), len(matches), is_scoped), named)
        if not (is_by_target and all(unmatched_words(fact.target, row[TARGET])))
        and is_near_duplicate(fact.target, fact.content, row[TARGET], row[CONTENT])
    )
    return [tuple(row) for row in islice(near, MAX_TOLD)]


@cache
def candidate_query(starts: int, matches: int, is_scoped: bool) -> str:
    scopes = (":scope", f"{UNSCOPED_ID} AND scope_id <> :scope") if is_scoped else (":scope",)
    parts = [BY_BEGINNING.format(scope=scope, n=n) for scope in scopes for n in range(starts)]
    parts += [BY_WORDS.format(n=n) for n in range(matches)]
    return CANDIDATES.format(candidates=" UNION ALL ".join(parts))


def match_words(fact: FactRow) -> list[str]:
    terms = to_index_text(fact.target).split()  # as it was indexed a moment ago
    targets = [word for word in terms if word not in GENERIC][-2:] or terms[:1]
    words = sorted(set(to_index_text(fact.content).split()) - stop_terms(), key=lambda word: (-len(word), word))
    matches = ["target : (" + " OR ".join(f'"{word}"' for word in targets) + ")"] if targets else []
    if len(words) >= SAME_IN_WORDS:
        matches.append("content : (" + " AND ".join(f'"{word}"' for word in words[:MAX_WORDS]) + ")")
    return matches


def is_near_duplicate(target: str, content: str, other_target: str, other_content: str) -> bool:
    if target.casefold() == other_target.casefold():
        return False
    mine, theirs = words_of(content), words_of(other_content)
    extra, extra_other = unmatched_words(target, other_target)
    if extra and extra_other and (mine != theirs or len(mine) < SAME_IN_WORDS):
        return False
    if not mine or not theirs or count_negations(content) != count_negations(other_content):
        return False
    variable, variable_other = find_variable(target, content), find_variable(other_target, other_content)
    if variable and variable_other and variable != variable_other:
        return False
    shared = len(mine) - len(find_lone_words(mine, theirs))
    alike = shared / (len(mine) + len(theirs) - shared)
    numbers, numbers_other = find_numbers(mine), find_numbers(theirs)
    if not extra and not extra_other:
        # Of one thing, one content may say more than the other, and another number is a newer one.
        whole = shared >= min(len(mine), len(theirs))
        return alike >= ALIKE or whole or (mine == numbers and theirs == numbers_other)
    words = len(mine - numbers)
    if numbers != numbers_other or {*_PATH.findall(content)} != {*_PATH.findall(other_content)}:
        return False
    if extra and extra_other:
        return words >= SAME_IN_WORDS
    # A word or two are the value of many things: `localhost` is that of `host` and of `db.host`.
    return (words > 2 and alike >= ALIKE_ENOUGH) or (words == 1 < len(mine) and alike == 1)


@lru_cache(maxsize=1 << 12)
def words_of(text: str) -> frozenset[str]:
    """Return the words of a text by their stems, abbreviations folded, without those that say nothing."""
    stems = (fold_word(word) for word in split_runs(_CAMEL.sub(" ", text)))
    return frozenset(stem for stem in stems if stem not in stop_terms())


@lru_cache(maxsize=1 << 12)
def words_of_target(target: str) -> tuple[str, frozenset[str]]:
    """Return a target as one word, and its words, all by their stems: each tells it from another, even one letter."""
    words = split_runs(_CAMEL.sub(" ", target))
    return stem_word("".join(words)), frozenset(map(fold_word, words))


@lru_cache(maxsize=1 << 14)
def fold_word(word: str) -> str:
    """Return the stem of a word, of its short form where the notation has one, of what a numeronym stands for."""
    return stem_word(fold_abbreviations(NUMERONYMS.get(word, word))[:MAX_WORD])


@lru_cache(maxsize=64)
def unmatched_words(target: str, other: str) -> tuple[set[str], set[str]]:
    """Return the words of either target that are no form of one of the other's; none where they are only joined differently."""
    joined, words = words_of_target(target)
    joined_other, other_words = words_of_target(other)
    if joined == joined_other:
        return set(), set()
    extra, extra_other = find_lone_words(words, other_words), find_lone_words(other_words, words)
    if extra and not extra_other and extra < words:
        extra -= GENERIC
    if extra_other and not extra and extra_other < other_words:
        extra_other -= GENERIC
    return extra, extra_other


def find_lone_words(words: frozenset[str], others: frozenset[str]) -> set[str]:
    """Return the words that are a form of none of the others."""
    lone = set(words - others)
    for word in words - others:
        first, swapped, end = word[0], word[1::-1], word[-3:]
        for other in others:
            # Asked first, since most pairs are none: forms begin alike, or differ in one of the first letters.
            if (first == other[0] or end == other[-3:] or swapped == other[:2]) and are_forms(word, other):
                lone.remove(word)
                break
    return lone


@lru_cache(maxsize=1 << 14)
def are_forms(word: str, other: str) -> bool:
    """Check whether two folded words are forms of one: the same stem, a beginning, an abbreviation or a slip of typing."""
    if word == other:
        return True
    if _NUMBER.search(word) or _NUMBER.search(other):
        return False
    short, long = (word, other) if len(word) <= len(other) else (other, word)
    if len(short) >= 3 and long.startswith(short):
        return len(short) >= 4 or len(long) >= 6
    if 2 <= len(short) <= 4 and len(long) >= 2 * len(short) and is_contraction(short, long):
        return True
    return len(short) >= 5 and len(long) - len(short) <= 1 and is_one_edit_apart(short, long)


def is_contraction(short: str, long: str) -> bool:
    """Check whether a word is another without its vowels or end, as `pg` of `postgres`: letters in order, no vowel inside."""
    if short[0] != long[0] or re.search("[aeiou]", short[1:]):
        return False
    rest = iter(long)
    return all(letter in rest for letter in short)


def is_one_edit_apart(short: str, long: str) -> bool:
    """Check whether one letter was left out, added or typed wrong, or two neighbours were exchanged."""
    start = next((at for at, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    a, b = short[start:], long[start:]
    return a[1:] == b[1:] if len(a) == len(b) and a[2:] != b[2:] else a == b[1:] or a[1:] == b[1:] or a[1::-1] == b[:2]


def find_variable(target: str, content: str) -> str | None:
    match = VARIABLE.match(content) or VARIABLE_TARGET.fullmatch(target)
    return None if match is None else match[match.lastindex or 0].casefold()


def find_numbers(words: Iterable[str]) -> set[str]:
    return {word for word in words if _NUMBER.search(word)}
