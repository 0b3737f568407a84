"""Proposals: facts that sentences of captured messages state, by the rules of `statements.txt`, for a person to let in or reject.

The uid of a proposal comes from its project and sentence. What the journal knows under that uid was decided on, and is not
proposed again; what was erased while it waited, with its message, may be.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, groupby
from pathlib import Path

from hermes_memory_store.conversations.turns import Turns
from hermes_memory_store.data_files import read_sections
from hermes_memory_store.database.db import Db
from hermes_memory_store.errors import InputError
from hermes_memory_store.find.turn_sentences import SENTENCE_ENDS
from hermes_memory_store.intake.detector import Passage, TextKind, find_suspicion
from hermes_memory_store.items.tier_columns import PROPOSED
from hermes_memory_store.language.binding_words import is_binding
from hermes_memory_store.language.stemmer import stem_word
from hermes_memory_store.language.stop_words import load_stop_words
from hermes_memory_store.language.synonyms import load_groups
from hermes_memory_store.language.tokenizer import fold_accents
from hermes_memory_store.memory.facts import Facts
from hermes_memory_store.memory.near_duplicates import find_numbers, unmatched_words, words_of
from hermes_memory_store.model import Fact, FactFilter, FactType, Notation, Tier, Turn, Way

MOST_WAITING = 20
"""Proposals of one project that wait at a time."""

MOST_TURNS, MOST_FACTS, MOST_CHARS = 10_000, 5_000, 6_000
"""Of a theme the newest messages and facts that are read, and of a message the characters: what is longer was pasted."""

SENTENCE_CHARS = range(8, 240)

LEAST, SAID_BY_AGENT, CONFIRMED = 2.0, -1.5, 1.5
"""The score of what is proposed, and what an agent's sentence gains by being one, and by the person's yes to it."""

SAME_WORDS, LEAST_SHARED = 0.6, 3
"""Share of the words of two statements that both have if they say the same; words of one that the other has all of."""

SINGLE = frozenset({FactType.VALUE, FactType.DECISION})
"""Types of which the latest holds."""

SALT = "SELECT uid FROM journal ORDER BY seq LIMIT 1"
"""Tells one store from another: two of a team may hear the same sentence, and decide differently."""

LAST_CHANGE = "SELECT op, after ->> 'tier' FROM journal WHERE uid = ? ORDER BY seq DESC LIMIT 1"


@dataclass(slots=True)
class Statement:
    """A fact that a sentence states, in several messages perhaps."""

    notation: Notation
    turn: Turn
    score: float
    is_correction: bool
    sentences: frozenset[str]
    sessions: frozenset[str | None]


class Proposals:
    def __init__(self, db: Db, turns: Turns, facts: Facts) -> None:
        self._db = db
        self._turns = turns
        self._facts = facts
        self._salt: bytes = db.value(SALT) or b""

    def propose(self, theme: str) -> list[Fact]:
        """Propose what the captured messages of a theme state, the best of each project; return the facts, the best last."""
        turns = self._turns.list(theme, limit=MOST_TURNS)
        # A commit's message says what it does, and not what holds.
        spoken = [turn for turn in turns if turn.origin.way is not Way.TEAM and turn.origin.client != "git"]
        own = sorted((turn for turn in spoken if turn.is_clean), key=find_project)
        keys = self._facts.ids(FactFilter(theme=theme, tiers=frozenset(Tier) - {Tier.WITHDRAWN}))
        facts = self._facts.by_ids(keys[:MOST_FACTS])
        waiting = [find_project(entry.fact) for entry in self._facts.quarantine_queue(theme) if entry.why == PROPOSED]
        proposed: list[tuple[bytes, Statement]] = []
        for project, messages in groupby(own, find_project):
            room, taken = MOST_WAITING - waiting.count(project), {(fact.type, fact.target) for fact in facts}
            for statement in find_stated_facts(messages):
                uids = [self._find_free_uid(project, sentence) for sentence in statement.sentences]
                if room <= 0 or None in uids or any(is_told(statement, fact) for fact in facts):
                    continue
                statement.notation = notation = to_distinct(statement.notation, taken)
                if find_suspicion(Passage(TextKind.FACT, notation.content, notation.target)) is None:
                    taken.add((notation.type, notation.target))
                    proposed.append((uids[0] or b"", statement))
                    room -= 1
        facts = []
        for uid, statement in reversed(proposed):  # lists of facts begin with the newest: with the best of these
            turn, voice = statement.turn, "said" if statement.turn.role == "user" else None
            origin = replace(turn.origin, way=Way.HISTORY, session=turn.session, title=turn.title, turns=(turn.uid,))
            more = {"uid": uid, "origin": replace(origin, voice=voice)}
            with suppress(InputError):  # its target may be a secret, for one
                notation, source = statement.notation, origin.client
                facts.append(self._facts.quarantine(theme, notation, why=PROPOSED, source=source, attributes=more))
        return facts

    def _find_free_uid(self, project: str, sentence: str) -> bytes | None:
        """Return the uid under which to propose a sentence; None where it was decided on."""
        words = f"{project}\0{' '.join(sorted(words_of(sentence)))}"
        for number in count():
            uid = hashlib.blake2b(f"{words}\0{number}".encode(), key=self._salt, digest_size=16).digest()
            last = self._db.row(LAST_CHANGE, (uid,))
            if last != ("purge", Tier.QUARANTINED):
                return uid if last is None else None
        return None


def find_project(item: Turn | Fact) -> str:
    return item.origin.project or ""


def find_stated_facts(turns: Iterable[Turn]) -> list[Statement]:
    """Find what the messages of a project state and is worth proposing, the best first; of what changed, the latest."""
    ordered = sorted(turns, key=lambda turn: (turn.session or "", turn.at, turn.uid))
    stated = [new for _, turns in groupby(ordered, lambda turn: turn.session) for new in read_conversation(turns)]
    standing: list[Statement] = []
    for new in sorted(stated, key=lambda statement: statement.turn.at):
        for old in [*standing]:
            if is_same(new.notation, old.notation):
                best, sessions = max(new, old, key=lambda statement: statement.score), old.sessions | new.sessions
                score = best.score + (sessions != old.sessions)
                new = replace(best, score=score, sessions=sessions, sentences=old.sentences | new.sentences)
                standing.remove(old)
            elif is_replaced(old, new):
                standing.remove(old)
        standing.append(new)
    worthy = [statement for statement in standing if statement.score >= LEAST]
    return sorted(worthy, key=lambda statement: (-statement.score, -statement.turn.at))


def read_conversation(turns: Iterable[Turn]) -> list[Statement]:
    """Return what the messages of a session state; the person's next word confirms what the agent stated, or takes it back."""
    stated: list[Statement] = []
    answered: list[Statement] = []
    patterns, question = load_statement_words()[0], ""
    for turn in turns:
        if turn.role == "user":
            if patterns["confirmed"].search(turn.content):
                answered = [replace(statement, score=statement.score + CONFIRMED) for statement in answered]
            stated += [] if patterns["corrected"].match(turn.content) else answered
            answered = []
        for sentence in list_sentences(turn.content) if turn.role in ("user", "assistant") else ():
            question = sentence if "?" in sentence[-3:] else question
            statement = read_sentence(sentence, turn, question)
            if statement is not None:
                (stated if turn.role == "user" else answered).append(statement)
                question = statement.notation.target.replace(".", " ")
    return stated + answered


def list_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a message without code, logs and long quotations."""
    patterns = load_statement_words()[0]
    for line in patterns["quoted"].sub("…", text[:MOST_CHARS]).split("\n"):
        if not patterns["code"].search(line):
            yield from map(str.strip, SENTENCE_ENDS.split(line.replace("**", "")))


@cache
def load_statement_words() -> tuple[dict[str, re.Pattern[str]], list[tuple[str, ...]], frozenset[str], dict[str, str]]:
    """Return the patterns by section, the rules, the folded words that name nothing, and the products with what they are."""
    sections = read_sections(
        Path(__file__).with_name("statements.txt"), {"patterns": 2, "rules": 4, "products": 2, "fillers": 1}
    )
    patterns: dict[str, str] = {}
    for name, pattern in sections["patterns"]:
        patterns[name] = f"{patterns[name]}|(?:{pattern})" if name in patterns else f"(?:{pattern})"
    stop_words = [load_stop_words("questions"), load_stop_words("more")]
    fillers = fold_accents(" ".join(words for (words,) in sections["fillers"])).split()
    products = {name: kind for kind, names in sections["products"] for name in names.split()}
    compiled = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in patterns.items()}
    return (
        compiled,
        sections["rules"],
        frozenset(fillers).union(*(w for words in stop_words for w in words.values())),
        products,
    )


def read_sentence(sentence: str, turn: Turn, question: str) -> Statement | None:
    """Return the fact that a sentence states. :param question: the last one, which says what an answer is about"""
    patterns, rules, fillers, products = load_statement_words()
    whole, before, is_person = sentence, "", turn.role == "user"
    while before != whole:
        before, match = whole, patterns["openings"].match(whole)
        whole = whole[match.end() :] if match else whole
    whole = patterns["endings"].sub("", whole, count=1)
    topic = patterns["topic"].match(whole)
    content = whole[topic.end() :] if topic else whole
    words = {fold_accents(word.casefold()) for word in patterns["word"].findall(content)} - fillers
    is_technical = patterns["identifier"].search(content) or any(
        word in products or stem_word(word) in load_groups() for word in words
    )
    is_narrated = patterns["narrated"].search(content) is not None
    is_reported = not is_person and (is_narrated or patterns["reported"].search(content))
    if is_reported or not is_technical or len(content) not in SENTENCE_CHARS or patterns["untrue"].search(content):
        return None
    for kind, score, speaker, pattern in rules:
        match = re.search(pattern, content, re.IGNORECASE) or re.search(pattern, whole, re.IGNORECASE)
        if match is None or speaker not in ("all", "person" if is_person else "agent") or (is_narrated and kind != "D"):
            continue
        groups = match.groupdict()
        subject = question if "asked" in groups else topic[1] if topic else ""
        target = name_target(subject, groups.get("about") or "", content)
        if target:
            is_correction = patterns["corrected"].search(sentence) is not None
            worth = float(score) + is_correction + (patterns["lasting"].search(sentence) is not None)
            worth += is_binding(content) / 2 if is_person else SAID_BY_AGENT
            notation = Notation(FactType(kind), target, match.string)
            return Statement(notation, turn, worth, is_correction, frozenset({sentence}), frozenset({turn.session}))
    return None


def name_target(topic: str, about: str, content: str) -> str:
    """Return what a sentence is about: its topic, purpose, subject or object, or the product it names."""
    patterns, _, _, products = load_statement_words()
    purpose, is_subject = patterns["purpose"].search(about or content), bool(about) and content.startswith(about)
    names = [word.casefold().strip("`") for word in patterns["word"].findall(content)]
    nouns = find_nouns(topic)[-2:] or (find_nouns(purpose[1])[:2] if purpose else [])
    nouns = nouns or (find_nouns(about)[-2:] if is_subject else find_nouns(about or content)[:2])
    return ".".join(nouns or [products[name] for name in names if name in products][:1])


def find_nouns(text: str) -> list[str]:
    """Return the words of a text that may name a thing, in their order and singular, without products and values."""
    patterns, _, fillers, products = load_statement_words()
    nouns = []
    for word in patterns["word"].findall(text):
        name = word.strip("`").removesuffix("()")
        folded = fold_accents(name.casefold())
        if len(name) > 1 and folded not in fillers and folded not in products and not re.search(r"[\s=:@/\d'’]", name):
            singular = re.sub(r"(?<=[^aious])(?<!ic)s$|(?<=[ao])s$", "", re.sub(r"ies$", "y", name.casefold()))
            nouns.append(singular if word == name and name.isalpha() and len(name) > 3 else name)
    return list(dict.fromkeys(nouns))


def is_same(new: Notation, old: Notation | Fact) -> bool:
    words, old_words = words_of(new.content), words_of(old.content)
    numbers, shared = find_numbers(words), len(words & old_words)
    extra, old_extra = unmatched_words(new.target, old.target)
    is_close = shared >= SAME_WORDS * len(words | old_words) or bool(numbers and not (extra and old_extra))
    is_whole = shared >= LEAST_SHARED and shared == min(len(words), len(old_words))
    return is_whole or (is_close and numbers == find_numbers(old_words))


def is_replaced(old: Statement, new: Statement) -> bool:
    """Check whether a statement holds no more since a later one gives the same thing another value."""
    target, old_target = new.notation.target, old.notation.target
    extra, old_extra = unmatched_words(target, old_target)
    is_part = new.is_correction and not (extra and old_extra) and target.split(".")[-1] == old_target.split(".")[-1]
    is_alike = is_part or not (extra or old_extra)
    return is_alike and old.notation.type is new.notation.type and new.notation.type in SINGLE


def is_told(new: Statement, fact: Fact) -> bool:
    """Check whether a fact says the same already, or something newer of the same."""
    is_newer = fact.type in SINGLE and fact.updated_at > new.turn.at
    is_alike = is_newer and (fact.type, fact.target) == (new.notation.type, new.notation.target)
    return is_alike or is_same(new.notation, fact)


def to_distinct(notation: Notation, taken: set[tuple[FactType, str]]) -> Notation:
    """Return a constraint under a target of its own: two of one target would replace each other."""
    target, names = notation.target, [*find_nouns(notation.content), *map(str, range(2, len(taken) + 3))]
    while notation.type not in SINGLE and (notation.type, target) in taken:
        target = f"{notation.target}.{names.pop(0)}"
    return replace(notation, target=target)
