"""What a person could tidy in a memory, each step with its reason and what it saves. Nothing is changed here.

A constraint is only ever merged into one that says the same: it is never cooled, archived or purged. Nor is what somebody marked.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile

from hermes_memory_store.clock import DAY_MS, format_iso_time
from hermes_memory_store.context.packing import LINE_TOKENS
from hermes_memory_store.context.start_choice import is_critical
from hermes_memory_store.conversations.fact_uses import FactUse
from hermes_memory_store.fact_types import FactType
from hermes_memory_store.find.fact_comparison import NUMBER, compare_lines
from hermes_memory_store.find.ranking import text_terms
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.language.stop_words import stop_terms
from hermes_memory_store.language.tokenizer import split_runs
from hermes_memory_store.memory.near_duplicates import fold_word, unmatched_words, words_of
from hermes_memory_store.model import LIVE_TIERS, Fact, FactFilter, Tier
from hermes_memory_store.places.citations import decode_lines, read_cited_file, split_file_lines
from hermes_memory_store.places.cited_values import FactWords, find_values, hold_values
from hermes_memory_store.places.git_files import find_repository, read_head
from hermes_memory_store.projects.borrowed_objects import GitFailed, borrow_objects
from hermes_memory_store.store import Store

PURGE = "purge"
TIDY_ACTIONS = ("merge", "archive", "cool", "pin", "cite", PURGE)

BINDING_TYPES = (FactType.CONSTRAINT, FactType.DECISION, FactType.VALUE)

GIVEN_OFTEN, UNTOUCHED_DAYS = 10, 14
"""Givings without a use after which a fact is not worth its tokens, if nobody changed it for so many days."""

CONTRADICTED_OFTEN, USED_OFTEN = 2, 3
"""Sessions."""

FORGOTTEN_DAYS, ARCHIVED_DAYS = 180, 365
"""Days in which nobody changed, found or was given a cold fact; and an archived one."""

MOST_COMPARED = 1_000
"""Facts for which others are looked for that say the same, hot ones first."""

PINNED_SHARE = 0.5
"""Of the budget of the hot tier: what pinned facts may hold at most."""

CITED_S, MOST_CITING = 20.0, 200
"""How long Git may look for values in a repository, and of how many facts."""

PLAIN_WORDS = 6
"""A fact of more words says more than a value: half of them must stand in the line, too."""

MOST_PLACES, MOST_HITS, SHOWN_CHARS = 3, 400, 60
"""Lines that say a value, of which one can be chosen; lines that have it; characters of one that a reason shows."""

GREP_LINE = re.compile(r"^[^:]*:([^\0]*)\0(\d+)\0(.{1,400})$", re.MULTILINE)

MOST_LIKELY, LOOKING_S = 40, 0.02
"""Lines of a file with most values of a fact, of which one may be proposed, and how long a write looks for them."""

SECONDARY = re.compile(r"test|doc|example|sample|fixture|vendor|node_modules|\.(?:md|rst|txt)$", re.IGNORECASE)
"""Files whose lines follow others, and say a word in passing."""

NEVER_CITED = re.compile(r"(?:^|/)(?:change|release|history|news)[^/]*$|lock(?:$|\.)|\.min\.", re.IGNORECASE)
"""Files that tell what was once, or that programs write."""


@dataclass(frozen=True, slots=True)
class TidyStep:
    """One thing to do to a fact."""

    action: str
    """One of `TIDY_ACTIONS`. No undo takes back a purge, so that it is never done with the others."""
    fact: Fact
    reason: str
    tokens: int = 0
    """What a start saves that would give it; less than 0 what it costs."""
    value: str | None = None
    """The uid of the fact that a merge leaves; the absolute path and line that is cited."""


def plan_tidying(store: Store, chosen: FactFilter) -> list[TidyStep]:
    """Return what could be done to the live facts of a selection, and to its archived ones, a step each.

    :param chosen: its tiers mean nothing
    :raises UnknownTheme: UnknownScope, QueryError
    """
    uses = store.fact_uses.of_facts(store.facts.ids(replace(chosen, tiers=LIVE_TIERS)))
    uses.sort(key=lambda use: (use.fact.tier is not Tier.HOT, -use.fact.updated_at))
    steps = {step.fact.uid: step for step in find_merges(store, [use.fact for use in uses])}
    survivors = {step.value for step in steps.values()}
    for step in (
        *find_worthless(uses, store.clock()),
        *find_forgotten(store, chosen),
        *find_worthy(store, uses, set(store.facts.ids(chosen.moved_out_by_pressure()))),
        *find_citable(use.fact for use in uses),
    ):
        if step.action == "cite" or step.fact.uid not in survivors:
            steps.setdefault(step.fact.uid, step)
    return sorted(steps.values(), key=lambda step: (TIDY_ACTIONS.index(step.action), -step.tokens, step.fact.id))


def find_merges(store: Store, facts: Sequence[Fact]) -> Iterator[TidyStep]:
    """Yield facts all of whose words another live fact has, in its scope or without a scope."""
    merged: set[str] = set()
    for fact in facts[:MOST_COMPARED]:
        for other in () if is_marked(fact) or fact.uid in merged else store.facts.near_duplicates(fact.uid):
            is_given = other.tier is Tier.HOT or fact.tier is not Tier.HOT
            if is_given and other.uid not in merged and says_all(other, fact) and (other.cites or not fact.cites):
                merged.add(fact.uid)
                reason = "says the same" if says_all(fact, other) else "says all of it, and more"
                yield TidyStep("merge", fact, f"{other.notation} {reason}", count_saved(fact), other.uid)
                break


def says_all(fact: Fact, other: Fact) -> bool:
    """Check whether a fact has every word of another's content, and is about no less. A word more could limit a constraint."""
    if unmatched_words(other.target, fact.target)[1]:
        return False
    if other.type is not FactType.CONSTRAINT:
        return words_of(other.content) <= words_of(fact.content)
    stems, other_stems = ([*map(fold_word, split_runs(content))] for content in (fact.content, other.content))
    return [stem for stem in stems if stem not in stop_terms()] == [s for s in other_stems if s not in stop_terms()]


def count_saved(fact: Fact) -> int:
    return fact.tokens + LINE_TOKENS if fact.tier is Tier.HOT else 0


def is_marked(fact: Fact) -> bool:
    """Check whether somebody marked a fact, so that it stays."""
    return bool(fact.pinned or fact.guards or is_critical(fact.target, fact.content))


def may_go(fact: Fact) -> bool:
    return fact.type is not FactType.CONSTRAINT and not is_marked(fact)


def find_worthless(uses: Sequence[FactUse], now: int) -> Iterator[TidyStep]:
    """Yield facts that sessions contradict, or that none uses, in themes where uses are counted at all."""
    counted_themes = {use.fact.theme for use in uses if use.used}
    for use in uses:
        fact, saved = use.fact, count_saved(use.fact)
        if not may_go(fact) or fact.updated_at > now - UNTOUCHED_DAYS * DAY_MS:
            continue
        if use.contradicted >= max(CONTRADICTED_OFTEN, 2 * use.used):
            reason = f"acts of {use.contradicted} sessions contradicted it, {use.used or 'none'} used it"
            yield TidyStep("archive", fact, reason, saved)
        elif saved and use.given >= GIVEN_OFTEN and not use.used and fact.theme in counted_themes:
            reason = f"given {use.given} times for {use.tokens:,} tokens, and no session used it"
            yield TidyStep("cool", fact, reason, saved)
        elif saved and fact.type in (FactType.DONE, FactType.OBSOLETE) and not use.used:
            yield TidyStep("cool", fact, f"{fact.type.word} since {format_iso_time(fact.updated_at)[:10]}", saved)


def find_forgotten(store: Store, chosen: FactFilter) -> Iterator[TidyStep]:
    """Yield cold and archived facts that nobody changed, found or was given for long, where the store is older than that."""
    began = store.db.value("SELECT at FROM journal ORDER BY seq LIMIT 1") or store.clock()
    for tier, action, days in ((Tier.COLD, "archive", FORGOTTEN_DAYS), (Tier.ARCHIVED, PURGE, ARCHIVED_DAYS)):
        before = store.clock() - days * DAY_MS
        for fact in store.facts.by_ids(store.facts.ids(replace(chosen, tiers=frozenset({tier})))):
            last = max(fact.updated_at, fact.read_at or 0)
            if began < before and last < before and may_go(fact) and not fact.cites:
                day = format_iso_time(last)[:10]
                yield TidyStep(action, fact, f"{tier}, and nobody changed it, found it or was given it since {day}")


def find_worthy(store: Store, uses: Iterable[FactUse], moved_keys: set[int]) -> Iterator[TidyStep]:
    """Yield facts that sessions use although pressure cooled them, as far as there is room for pinned ones."""
    gauges = [store.tiers.gauge(theme) for theme in {use.fact.theme for use in uses}]
    room = {gauge.theme: PINNED_SHARE * gauge.budget - gauge.pinned for gauge in gauges}
    for use in sorted(uses, key=lambda use: -use.used):
        fact = use.fact
        is_useful = use.used >= USED_OFTEN and not use.contradicted and fact.type in BINDING_TYPES
        if is_useful and fact.id in moved_keys and fact.chars <= room[fact.theme]:
            room[fact.theme] -= fact.chars
            reason = f"{use.used} sessions used it, and pressure cooled it: a start does not give it"
            yield TidyStep("pin", fact, reason, -fact.tokens - LINE_TOKENS)


def find_citable(facts: Iterable[Fact]) -> Iterator[TidyStep]:
    """Yield facts whose values stand in a file of the repository that they came from, with the line that says so."""
    by_root: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.type in BINDING_TYPES and not fact.cites and fact.origin.root is not None and find_literals(fact):
            by_root.setdefault(os.path.realpath(fact.origin.root), []).append(fact)
    for root, group in by_root.items():
        with suppress(GitFailed):
            yield from find_lines_to_cite(root, group[:MOST_CITING])


def find_literals(fact: Fact) -> set[str]:
    """Return what of a fact stands in a file as it is: numbers, or the one word of its content."""
    words = fact.content.split()
    numbers = {number for number in NUMBER.findall(fact.content) if len(number) > 2}
    return numbers or {word.strip("'\"`").casefold() for word in words[:1] if len(words) == 1 and len(word) > 3}


def find_lines_to_cite(root: str, facts: Sequence[Fact]) -> Iterator[TidyStep]:
    """Yield the lines of one repository. :raises GitFailed: Git gave no answer"""
    repository = find_repository(root)
    commit = None if repository is None else read_head(repository)[1]
    if repository is None or commit is None:
        return
    literals = sorted({literal for fact in facts for literal in find_literals(fact)})
    patterns = [word for literal in literals for word in ("-e", literal)]
    with borrow_objects(repository.common, sha256=len(commit) == 64, deadline=time.monotonic() + CITED_S) as git:
        output = git.run("grep", "-I", "-i", "-n", "-z", "-w", "-F", *patterns, commit, codes=(0, 1), seconds=CITED_S)
    literal_words = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, literals))})(?!\w)")
    hits: dict[str, list[tuple[str, int, str]]] = {}
    for match in GREP_LINE.finditer(output.decode("utf-8", "surrogateescape")):
        for literal in {*literal_words.findall(match[3].casefold())}:
            hits.setdefault(literal, []).append((match[1], int(match[2]), match[3]))
    for fact in facts:
        places = [hit for literal in find_literals(fact) for hit in hits.get(literal, ())]
        agreeing = [hit for hit in places[:MOST_HITS] if gives_value(fact, hit[0], hit[2])]
        agreeing.sort(key=lambda hit: (is_secondary(hit[0]), hit[0].count("/"), hit))
        alike = [hit for hit in agreeing if is_secondary(hit[0]) == is_secondary(agreeing[0][0])]
        if not agreeing or len(alike) > MOST_PLACES or len(places) > MOST_HITS:
            continue
        path, number, text = agreeing[0]
        content, _ = read_cited_file(repository.root, path)
        if (content or b"").split(b"\n")[number - 1 : number] == [text.encode("utf-8", "surrogateescape")]:
            reason = f"{path}:{number} says so: {text.strip()[:SHOWN_CHARS]}"
            yield TidyStep("cite", fact, reason, value=f"{os.path.join(repository.root, path)}:{number}")


def find_line_seen(fact: Fact, root: str, paths: Iterable[str]) -> str:
    """Return the line that says a fact, `PATH:12`, in the first of some files that has one to three of them; else nothing."""
    words = FactWords(fact.target, fact.content)
    values, ends = {value.text.casefold() for value in find_values(fact.content)}, time.thread_time() + LOOKING_S
    for path in takewhile(lambda _: time.thread_time() < ends, paths):
        lines = decode_lines(split_file_lines(read_cited_file(root, path)[0] or b""))
        hits = [(number, sum(value in line.casefold() for value in values)) for number, line in enumerate(lines, 1)]
        hits = sorted(((number, count) for number, count in hits if count), key=lambda hit: -hit[1])[:MOST_LIKELY]
        numbers = [number for number, _ in hits if hold_values(words, [lines[number - 1]])]
        numbers = [number for number in numbers if gives_value(fact, path, lines[number - 1])]
        if 0 < len(numbers) <= MOST_PLACES:
            return f"{path}:{numbers[0]}"
    return ""


def gives_value(fact: Fact, path: str, line: str) -> bool:
    """Check whether a line that has a value of a fact gives it to what the fact is about."""
    if NEVER_CITED.search(path) or (is_secondary(path) and not NUMBER.search(fact.content)):
        return False
    outcome, terms = compare_lines(fact, path, [line]), words_of(line)
    target, content = (words_of(text) for text in (fact.target, fact.content))
    is_about = target <= terms | words_of(path) and not terms.isdisjoint(text_terms(fact.target)[-1:])
    is_most = len(content) <= PLAIN_WORDS or 2 * len(content & terms) >= len(content)
    return is_most and (outcome == "agrees" or (is_about and outcome != "contradicts"))


def is_secondary(path: str) -> bool:
    return SECONDARY.search(path) is not None
